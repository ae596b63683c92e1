#!/usr/bin/env python3
"""recordfs export: rows of records that are JSON, and of records of which only some have columns."""
import csv
import io
import json

import commands
from tfrecords import example, tfrecord

TABLES = ("a.csv", "a.tsv", "a.parquet", "a.arrow", "a.jsonl")


class ExportJson(commands.Case):
    def setUp(self):
        super().setUp()
        self.target = self.folder / "target"
        self.target.mkdir()

    def file(self, *records):
        path = self.folder / "records.tfrecord"
        path.write_bytes(tfrecord([record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]))
        return path

    def exported(self, name, *words):
        self.assertEqual(self.good("export", "-f", *words, "-o", self.target / name), b"")
        return (self.target / name).read_bytes()

    def table(self, *words):
        return list(csv.reader(io.StringIO(self.exported("a.csv", *words).decode(), newline="")))

    def assert_unfit(self, message, *words, names=TABLES):
        for name in names:
            done = self.recordfs("export", *words, "-o", self.target / name)
            self.assertEqual(done.status, commands.PARTLY_DONE, name)
            self.assertRegex(done.err, rf"\A[^\n]*{message}[^\n]*\n[^\n]*not written[^\n]*\n\Z")
        self.assertEqual(list(self.target.iterdir()), [])

    def test_null_differs_from_an_empty_list(self):
        path = self.file({"id": 0, "l": [1], "p": {"q": [2]}}, {"id": 1, "l": None}, {"id": 2}, {"id": 3, "l": [], "p": {"q": []}})
        self.assertEqual(self.table("--select", "id,l,p.q", path),
                         [["id", "l", "p.q"], ["0", "[1]", "[2]"], ["1", "", ""], ["2", "", ""], ["3", "[]", "[]"]])
        self.assertEqual(self.exported("a.jsonl", "--select", "id,p.q", path).splitlines(),
                         [b'{"id":0,"p.q":[2]}', b'{"id":1}', b'{"id":2}', b'{"id":3,"p.q":[]}'])

    def test_lists_may_be_in_lists(self):
        boxes = [[[1, 2], [3]], [], None, [[], None, [4, None]]]
        path = self.file(*({"boxes": one} for one in boxes))
        cells = [cell for cell, in self.table(path)[1:]]
        self.assertEqual([json.loads(cell or "null") for cell in cells], boxes)
        for name in TABLES:
            self.exported(name, path)
        deepest = "[" * 8 + "1" + "]" * 8
        self.assertEqual(self.table(self.file(b'{"a":%s}' % deepest.encode())), [["a"], [deepest]])
        self.assert_ends(commands.PARTLY_DONE, r"column a has more than 8 lists in each other \(try: JSON Lines", "export",
                         self.file(b'{"a":[%s]}' % deepest.encode()), "-o", self.target / "b.csv")

    def test_objects_without_members_are_true(self):
        path = self.file({"e": {}, "n": 1}, {"e": None, "n": 2}, {"n": 3})
        self.assertEqual(self.table(path), [["e", "n"], ["true", "1"], ["", "2"], ["", "3"]])
        for name in TABLES:
            self.exported(name, path)

    def test_columns_after_the_first_records_are_no_data(self):
        for first, last, name in ((b"text", b'{"i":1}', "i"), (b"", example({"i": [1]}), "i"), (b"{}", b'{"i":1}', "i")):
            path = self.file(*[first] * 1100, last)
            if first == b"{}":
                self.assert_ends(commands.PARTLY_DONE, r"no values in the first 1,024 records \(try: --scan-columns\)", "export", path,
                                 "-o", self.target / "a.csv")
            else:
                self.assert_unfit(r"record 1100: has columns, unlike the first records \(try: --scan-columns, or --select ordinal,data\)", path)
            if first == b"text":
                self.assert_unfit("record 0: not a JSON object", path, "--scan-columns", names=["a.csv"])
                self.assertEqual(self.table("--scan-columns", path, "1100"), [[name], ["1"]])
            else:
                self.assertEqual(self.table("--scan-columns", path)[-1], ["1"], first)
            (self.target / "a.csv").unlink(missing_ok=True)

    def test_ordinal_and_data_are_the_records(self):
        path = self.file({"a": 1}, b"text", {"a": 2})
        self.assertEqual(self.table("--select", "ordinal,data", path), [["ordinal", "data"], ["0", '{"a": 1}'], ["1", "text"], ["2", '{"a": 2}']])
        self.assertEqual(self.exported("a.jsonl", "--select", "data,ordinal", path).splitlines()[1], b'{"data":"text","ordinal":1}')
        self.assertEqual(self.table("--select", "ordinal,data", self.file({"data": 5, "ordinal": 7})), [["ordinal", "data"], ["7", "5"]])
        self.assert_ends(commands.PARTLY_DONE, "no column ordinal", "export", self.file({"data": 5}), "--select", "ordinal", "-o", self.target / "b.csv")

    def test_values_that_are_no_objects_are_decoded_and_no_columns(self):
        path = self.file(b" 42\n", b'"x"', b"[1, {}]", b"null", b"text", b"NaN", b'"\\ud800"')
        made = [json.loads(line) for line in self.good("cat", "--json", path).splitlines()]
        self.assertEqual([one.get("decoded", "none") for one in made], [42, "x", [1, {}], None, "none", "none", "none"])
        self.assertEqual(made[0]["text"], " 42\n")
        self.assertEqual(self.good("grep", "--decoded", "--ordinals", "[2x]", self.file(b"42", b'"x"', b"2 of 2")), b"0\n1\n")
        path = self.file(b"start", b"42", b"[1]")
        self.assertEqual(self.table(path), [["ordinal", "data"], ["0", "start"], ["1", "42"], ["2", "[1]"]])
        self.assertEqual(self.exported("a.jsonl", path).splitlines()[1], b'{"ordinal":1,"data":"42"}')
        self.assertIn(b"\n0 records with columns\n", self.recordfs("info", "--columns", path).out)
        self.assert_ends(commands.PARTLY_DONE, "2 records have no columns; .*: the value of this record is no object",
                         "info", "--columns", self.file(b"42", {"a": 1}, b"[2]"))
        for records, message in (((b"42", b"[1]"), b"None: 2 records without columns."), (({"a": 1}, b"42"), b"1 record without columns.")):
            self.assertIn(message, self.recordfs("report", self.file(*records)).out)
        (self.target / "a.csv").unlink()
        (self.target / "a.jsonl").unlink()
        self.assert_unfit("record 1: (not a JSON object|no columns)", self.file({"a": 1}, b"42"))

    def test_list_in_a_list_without_the_path_is_null(self):
        path = self.file({"a": [[1, 2], [3]]}, {"a": [None, {"b": 1}, {}]}, {"a": [[{}], []]})
        self.assertEqual(self.table("--select", "a.b", path), [["a.b"], ["[null,null]"], ["[null,1,null]"], ["[null,null]"]])
        self.assert_ends(commands.PARTLY_DONE, "column a has values of different types", "export", self.file({"a": [[{"b": 1}]]}, {"a": [{"b": 1}]}),
                         "--select", "a.b", "-o", self.target / "b.csv")

    def test_half_of_a_surrogate_pair_is_no_text(self):
        path = self.file({"a": "x"}, b'{"a":"\\ud800"}')
        self.assert_unfit("record 1: a string of the JSON text has half of a surrogate pair", path)
        self.assertEqual([sorted(json.loads(line)) for line in self.good("cat", "--json", path).splitlines()][1].count("decoded"), 0)
        self.assertIn(b'"error":"a string of the JSON text', self.good("cat", "--json", path))

    def test_deep_texts_are_rows_of_json_lines_or_errors(self):
        deep = b'{"a":' * 18 + b"1" + b"}" * 18
        self.assertEqual(self.exported("a.jsonl", self.file(deep)), deep + b"\n")
        self.assert_ends(commands.PARTLY_DONE, r"nests too deeply \(try: JSON Lines, or only other columns\)", "export", self.file(deep),
                         "-o", self.target / "a.csv")
        self.assert_ends(commands.PARTLY_DONE, r"100 levels \(try: --select ordinal,data\)", "export", self.file(b'{"a":' + b"[" * 101 + b"]" * 101 + b"}"),
                         "-o", self.target / "a.csv")
        path = self.file({"a": 1}, b'{"a":' + b"[" * 101 + b"]" * 101 + b"}")
        self.assertIn(b'"error":"the JSON text nests more than 100 levels"', self.good("cat", "--json", path))
        for words in (["--decoded", "x"], ["-v", "--decoded", "1"], ["--field", "a", "x"]):
            done = self.recordfs("grep", *words, path)
            self.assertEqual((done.status, done.out), (commands.CANNOT_OPEN, b""), words)
            self.assertIn("1 record cannot be decoded, so they are not searched", done.err)

    def test_number_out_of_range_names_its_record(self):
        self.assert_unfit("record 1: the number 18446744073709551616 is out of range", self.file({"a": 1}, {"a": 2**64}), names=TABLES[:-1])
        self.assertEqual(self.table(self.file({"a": 2**63}, {"a": -1}, {"a": 1.5})), [["a"], ["9223372036854775808"], ["-1"], ["1.5"]])
        for number in (b"1e400", b"-1e-400", b"18446744073709551616"):
            self.assert_ends(commands.PARTLY_DONE, f"1 record cannot be decoded.*: the number {number.decode()} is out of range", "info", "--columns",
                             self.file({"a": 1}, b'{"a":%s}' % number))
        self.good("info", "--columns", self.file(b'{"a":[0e9, 0.0, Infinity]}'))

    def test_record_that_does_not_fit_has_one_status_in_any_order(self):
        path = self.file({"a": 1}, b"text", {"a": 2})
        for words in ((), ("--shuffle", "1"), ("--sample", "3")):
            self.assert_unfit("record 1: no(t a JSON object| columns)", path, *words)
            done = self.recordfs("export", "-f", "--skip-damage", *words, path, "-o", self.target / "b.jsonl")
            self.assertEqual((done.status, len((self.target / "b.jsonl").read_bytes().splitlines())), (commands.PARTLY_DONE, 2), done.err)
            (self.target / "b.jsonl").unlink()

    def test_last_line_counts_records_that_the_condition_does_not_apply_to(self):
        path = self.file({"a": "b"}, b"text", {"a": "c"})
        done = self.recordfs("export", "--skip-damage", "--where", "a ~ 'b'", path, "-o", self.target / "a.jsonl")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"--where: 1 record cannot be decoded[^\n]*\n[^\n]*a.jsonl: 1 record written; 1 omitted\n\Z")

    def test_options_without_effect_are_wrong(self):
        path = self.file({"a": 1})
        for option, name in ((("--bytes", "hex"), "a.parquet"), (("--bytes", "auto"), "a.tfrecord"), (("--bytes", "hex"), "a.tar"),
                             (("--lists",), "a.tfrecord")):
            self.assert_ends(commands.WRONG_USE, f"{option[0]}: is for", "export", *option, path, "-o", self.target / name)


if __name__ == "__main__":
    commands.main()
