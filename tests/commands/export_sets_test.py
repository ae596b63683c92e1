#!/usr/bin/env python3
"""recordfs export: sets of many files, wide tables, and sets without records."""
import csv
import gzip
import io
import json
import resource
import struct
import subprocess
import tarfile

import commands
from built import PATIENCE, program
from tfrecords import example, field, tfrecord

FEW = 100  # descriptors
MANY = 300  # shards


def messages(stream):
    """Returns the number of messages of Arrow's IPC stream: a schema, and the batches."""
    found, at = 0, 0
    while struct.unpack_from("<i", stream, at + 4)[0] > 0:
        size = struct.unpack_from("<i", stream, at + 4)[0]
        root = at + 8 + struct.unpack_from("<I", stream, at + 8)[0]
        table = root - struct.unpack_from("<i", stream, root)[0]
        body = struct.unpack_from("<q", stream, root + struct.unpack_from("<H", stream, table + 10)[0])[0]
        found, at = found + 1, at + 8 + size + body
    return found


class ExportSets(commands.Case):
    def setUp(self):
        super().setUp()
        self.target = self.folder / "target"
        self.target.mkdir()

    def exported(self, name, *words):
        self.assertEqual(self.good("export", *words, "-o", self.target / name), b"")
        return (self.target / name).read_bytes()

    def test_shards_of_a_size_are_the_same_with_any_number_of_threads(self):
        path = self.folder / "large.tfrecord"
        path.write_bytes(tfrecord([b"%d " % (i // 10) * 2000 for i in range(2000)]))
        for name, size in (("a.riegeli", "2M"), ("a.parquet", "17M"), ("a.jsonl.gz", "1M")):  # more than a group
            made = []
            for threads in ("1", "8"):
                folder = self.target / f"{threads}{name}"
                folder.mkdir()
                self.good("export", "-j", threads, "--shard-size", size, path, "-o", folder / name)
                made.append([(part.name, part.read_bytes()) for part in sorted(folder.iterdir())])
            self.assertEqual(made[0], made[1], name)
            self.assertEqual(len(made[0]), 1, name)  # compressed

    def test_tfrecord_is_the_stored_records_with_their_frames(self):
        frames = [tfrecord([b"%d" % (i % 64) * (i % 61)]) for i in range(8000)]
        whole, damaged = self.folder / "whole.tfrecord", self.folder / "damaged.tfrecord"
        whole.write_bytes(b"".join(frames))  # many batches
        damaged.write_bytes(b"".join(frames[:5000]) + frames[5000][:-1] + b"?" + b"".join(frames[5001:]))
        for name, expected, *words in (("a.tfrecord", frames, whole), ("b.tfrecord", frames[99:7001], whole, "99:7001"),
                                       ("c.tfrecord", frames * 2, whole, whole, "-j", "2"), ("d.tfrecord.gz", frames, whole)):
            made = self.exported(name, *words)
            self.assertEqual(gzip.decompress(made) if name.endswith("gz") else made, b"".join(expected), name)
        for words, largest in ((("--shards", "7"), len(whole.read_bytes())), (("--shard-size", "100k"), 100 << 10)):
            self.good("export", *words, whole, "-o", self.target / "s.tfrecord")
            shards = sorted(self.target.glob("s-*"))
            self.assertEqual(b"".join(path.read_bytes() for path in shards), whole.read_bytes())
            self.assertLessEqual(max(path.stat().st_size for path in shards), largest)
            for path in shards:
                path.unlink()
        self.assertEqual(self.recordfs("export", damaged, "-o", self.target / "e.tfrecord").status, commands.DAMAGE)
        self.assertFalse((self.target / "e.tfrecord").exists())
        done = self.recordfs("export", "--skip-damage", damaged, "-o", self.target / "e.tfrecord")
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertEqual((self.target / "e.tfrecord").read_bytes(), b"".join(frames[:5000] + frames[5001:]))

    def test_files_that_are_read_are_never_written(self):
        shards = [self.folder / f"s-{i:05}-of-00002.tfrecord" for i in range(2)]
        for i, path in enumerate(shards):
            path.write_bytes(tfrecord([example({"number": [i]})] * 9))
        read = [path.read_bytes() for path in shards]
        link = self.target / "link.tfrecord"
        link.symlink_to(shards[1])
        listed = self.folder / "list.jsonl"
        listed.write_text("".join(f"{path}\n" for path in shards))
        for words in ((self.folder / "s-*", "-o", shards[1]), (self.folder / "s-*", "-o", link), (*shards, "-o", shards[0]),
                      (self.folder / "s-*", "--shards", "2", "-o", self.folder / "s.tfrecord"),
                      (*shards, "--shard-size", "1M", "-o", self.folder / "s.tfrecord"),
                      ("--manifest", listed, "-o", listed)):
            if "--shard-size" in words:  # one file, whose name is that of a shard of one
                (self.folder / "s-00000-of-00001.tfrecord").symlink_to(shards[0])
            chosen = () if "--shards" in words else ("--where", "number = 1")
            done = self.recordfs("export", "-f", *chosen, *words)
            self.assertEqual(done.status, commands.PARTLY_DONE, words)
            self.assertIn("is a file that is read, which is never written", done.err)
        self.assertEqual([path.read_bytes() for path in shards], read)
        self.assertEqual([path.name for path in self.target.iterdir()], ["link.tfrecord"])

    def test_first_record_without_columns_does_not_hide_those_of_others(self):
        path = self.folder / "first.tfrecord"
        path.write_bytes(tfrecord([b"?", example({"number": [1]}), example({"number": [2]})]))
        for name, rows in (("a.csv", b"number\r\n1\r\n2\r\n"), ("a.jsonl", b'{"number":1}\n{"number":2}\n')):
            done = self.recordfs("export", path, "-o", self.target / name)
            self.assertEqual((done.status, (self.target / name).exists()), (commands.PARTLY_DONE, False), name)
            done = self.recordfs("export", "--skip-damage", path, "-o", self.target / name)
            self.assertEqual((done.status, (self.target / name).read_bytes()), (commands.PARTLY_DONE, rows), name)

    def test_single_numbers_may_be_missing(self):
        path = self.folder / "gaps.tfrecord"
        for rows in range(1, 20):
            for gap in (2, 3, rows):
                numbers = [None if i % gap == gap - 1 else float(i) for i in range(rows)]
                records = [example({"a": [1]} if number is None else {"a": [1], "x": [number]}) for number in numbers]
                path.write_bytes(tfrecord([example(a=[1], x=[0.0]), *records[:7], b"?", *records[7:]]))
                done = self.recordfs("export", "-f", "--skip-damage", path, "-o", self.target / "a.csv")
                self.assertEqual(done.status, commands.PARTLY_DONE)
                lines = (self.target / "a.csv").read_text(encoding="utf-8").split()
                self.assertEqual(lines, ["a,x", "1,0", *("1," if number is None else f"1,{number:g}" for number in numbers)])

    def test_packed_numbers_that_end_inside_one_are_damage(self):
        path = self.folder / "packed.tfrecord"
        for size, status in ((36, commands.GOOD), (37, commands.PARTLY_DONE)):
            feature = field(1, b"f") + field(2, field(2, field(1, b"\0\0\x80?" * 9 + b"?" * (size - 36))))
            path.write_bytes(tfrecord([example(f=[1.0, 2.0]), field(1, field(1, feature))]))
            self.assertEqual(self.recordfs("export", path, "-o", self.target / f"{size}.csv").status, status)
        self.assertEqual((self.target / "36.csv").read_text(), f'f\n"[1,2]"\n"[{",".join("1" * 9)}]"\n')

    def test_many_shards_need_few_descriptors(self):
        examples = [example({"number": [i]}) for i in range(MANY)]
        for i, record in enumerate(examples):
            (self.folder / f"x-{i:03}.tfrecord").write_bytes(tfrecord([record]))
        for name, order in (("a.csv", ()), ("a.delimited", ("--shuffle", "1")), ("a.riegeli", ()), ("b.csv", ("--shuffle", "1"))):
            done = subprocess.run([program("recordfs"), "export", *order, self.folder / "x-*", "-o", self.target / name], check=False,
                                  stderr=subprocess.PIPE, env=self.environment(), timeout=PATIENCE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW)))
            self.assertEqual((done.returncode, done.stderr), (commands.GOOD, b""), name)
            if name.endswith("csv"):
                lines = (self.target / name).read_text(encoding="utf-8").split()
                self.assertEqual(sorted(lines), sorted(["number"] + [str(i) for i in range(MANY)]))

    def table(self, name, *words):
        return list(csv.reader(io.StringIO(self.exported(name, *words).decode(), newline="")))

    def examples(self, *features):
        path = self.folder / "examples.tfrecord"
        path.write_bytes(tfrecord([example(one) for one in features]))
        return path

    def test_feature_is_a_list_if_a_record_needs_one(self):
        path = self.examples({"one": [1], "some": [2], "none": [], "two": [b"a", b"b"]}, {"one": [3], "some": [], "two": [b"c"]})
        self.assertEqual(self.table("a.csv", path), [["none", "one", "some", "two"], ["[]", "1", "[2]", '["a","b"]'], ["", "3", "[]", '["c"]']])
        self.assertEqual(self.table("b.csv", "--lists", "--select", "one", path), [["one"], ["[1]"], ["[3]"]])
        self.assertEqual(self.table("c.csv", self.examples({"none": []}, {"none": []})), [["none"], ["[]"], ["[]"]])

    def test_later_list_in_a_single_column_is_an_error(self):
        path = self.examples(*[{"a": [1], "b": [2]}] * 1024, {"a": [1, 2], "b": [3]}, {"a": [4], "b": [b"x"], "late": [1]})
        for name in ("a.csv", "a.parquet", "a.arrow", "a.jsonl"):
            self.assert_ends(commands.PARTLY_DONE, r"record 1024: feature a has several values, but at most one in each of the first 1,024 records "
                             r"\(try: --lists\)\nrecordfs: [^\n]*not written", "export", path, "-o", self.target / name)
        self.assertEqual(list(self.target.iterdir()), [])
        self.assertEqual(self.table("b.csv", "--lists", "--select", "a", path)[1024:], [["[1]"], ["[1,2]"], ["[4]"]])

    def test_all_records_decide_with_scan_columns(self):
        path = self.examples(*[{"a": [1]}] * 1500, {"a": [1, 2], "late": [b"x"]})
        for name in ("a.csv", "a.jsonl"):
            self.assert_ends(commands.PARTLY_DONE, r"record 1500: feature a has several values[^\n]*\n[^\n]*not written", "export", path, "-o", self.target / name, "--select", "a")
        rows = self.table("a.csv", path, "--scan-columns")
        self.assertEqual((rows[:2], rows[1500:]), ([["a", "late"], ["[1]", ""]], [["[1]", ""], ["[1,2]", "x"]]))
        self.assertEqual(self.exported("a.jsonl", path, "--scan-columns", "1499:").splitlines(), [b'{"a":[1]}', b'{"a":[1,2],"late":"x"}'])
        path = self.folder / "late.tfrecord"
        path.write_bytes(tfrecord([b'{"a":1,"n":null}'] * 1500 + [b'{"a":1.5,"n":5}', b"no JSON"]))
        done = self.recordfs("export", path, ":1501", "--select", "a", "-o", self.target / "b.csv")
        self.assertIn("record 1500: column a has another type than in the first 1,024 records (try: --scan-columns)\n", done.err)
        rows = self.table("b.csv", path, ":1501", "--scan-columns", "--select", "n,a")
        self.assertEqual((rows[:2], rows[1500:]), ([["n", "a"], ["", "1"]], [["", "1"], ["5", "1.5"]]))
        self.assert_ends(commands.WRONG_USE, "--scan-columns: is for", "export", path, "--scan-columns", "-o", self.target / "c.riegeli")

    def test_values_of_other_columns_are_not_looked_at(self):
        path = self.examples(*[{"a": [1], "nul\0": [1]}] * 1024, {"a": [2], "late": [1]}, {"a": [3]})
        self.assert_ends(commands.PARTLY_DONE, r"feature nul\\x00 has a NUL in its name", "export", path, "-o", self.target / "a.csv")
        self.assertEqual(self.table("a.csv", path, "--select", "a")[1024:], [["1"], ["2"], ["3"]])
        self.assertEqual(self.exported("a.jsonl", path, "--select", "a").split()[1023:], [b'{"a":%d}' % i for i in (1, 2, 3)])
        self.assertEqual(self.exported("b.jsonl", path, "1024:").splitlines(), [b'{"a":2,"late":[1]}', b'{"a":3}'])
        path = self.examples(*[{"a": [1]}] * 1024, {"a": [2], "late": [1]})
        self.assertEqual(self.exported("c.jsonl", path, "1024").splitlines(), [b'{"a":2,"late":[1]}'])
        path = self.folder / "json.tfrecord"
        path.write_bytes(tfrecord([b'{"a":1,"b":"x","c":[[1]],"e":1e999}', b'{"a":2,"b":3,"d":null}'] * 600 + [b'{"a":3,"late":1}']))
        self.assertEqual(self.table("b.csv", path, "--select", "a")[1200:], [["2"], ["3"]])
        self.assert_ends(commands.PARTLY_DONE, r"no column f \(the columns are b, c, e, d, a\)", "export", path, "--select", "a,f", "-o", self.target / "c.csv")

    def test_records_of_another_kind_are_an_error(self):
        kinds = {"text": [b"text"] * 1024, "json": [b'{"a":7}'] * 2, "example": [example({"a": [3]})] * 2}
        for name, records in kinds.items():
            (self.folder / name).write_bytes(tfrecord(records))
        for one, other, words, message in (
                ("json", "example", [], r"example: byte 0: record 2: a tensorflow\.Example, unlike other records"),
                ("json", "example", ["--select", "a"], "record 2: a tensorflow.Example, unlike other records"),
                ("example", "json", [], "json: byte 0: record 2: not a tensorflow.Example"),
                ("text", "example", [], r"example: byte 0: record 1024: has columns, unlike the first records \(try: --scan-columns, or --select ordinal,data\)"),
                ("text", "json", [], "json: byte 0: record 1024: has columns, unlike the first records")):
            done = self.recordfs("export", self.folder / one, self.folder / other, *words, "-o", self.target / "a.jsonl")
            self.assertEqual(done.status, commands.PARTLY_DONE)
            self.assertRegex(done.err, message)
        lines = self.exported("a.jsonl", self.folder / "text", self.folder / "json", "--select", "ordinal,data").splitlines()
        self.assertEqual(lines[-1], b'{"ordinal":1025,"data":"{\\"a\\":7}"}')
        typed, other = (commands.corpus() / "riegeli" / f"{name}.riegeli" for name in ("metadata_full_transposed", "transposed_regular"))
        done = self.recordfs("export", typed, other, "--select", "u32", "-o", self.target / "b.jsonl")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("the records of this shard are of another type than those of other shards", done.err)

    def test_missing_feature_is_null_and_an_empty_one_a_list(self):
        empty = field(1, field(1, b"l") + field(2, field(3, b"")))
        path = self.folder / "lists.tfrecord"
        path.write_bytes(tfrecord([example({"l": [1, 2], "n": [5]}), example({"n": [6]}), field(1, empty), b"\x0a\x00", b""]))
        self.assertEqual(self.table("a.csv", path), [["l", "n"], ["[1,2]", "5"], ["", "6"], ["[]", ""], ["", ""], ["", ""]])
        self.assertEqual(self.exported("a.jsonl", path).splitlines(), [b'{"l":[1,2],"n":5}', b'{"n":6}', b'{"l":[]}', b"{}", b"{}"])
        self.assertEqual([line.split(b"\t")[0] for line in self.good("ls", "--where", "n is null", path).splitlines()], [b"2", b"3", b"4"])
        rows = {row["name"]: row["missing"] for row in json.loads(self.good("info", "--json", "--columns", path))["columns"]}
        self.assertEqual(rows, {"l": 4, "n": 3})

    def test_name_with_a_nul_is_no_column_of_a_table_only(self):
        path = self.examples({"nul\0": [1], "b": [2]})
        self.assertEqual(self.exported("a.jsonl", path), b'{"b":2,"nul\\u0000":1}\n')

    def test_many_features_need_a_selection(self):
        path = self.examples({"a%d" % i: [i] for i in range(5000)})
        for name in ("a.csv", "a.jsonl"):
            self.assert_ends(commands.PARTLY_DONE, r"the Examples have more than 4096 features \(try: --select\)", "export", path, "-o", self.target / name)
            self.assertIn(b"4000", self.exported(name, path, "--select", "a4000,a7"))

    def test_feature_of_two_types_names_no_number_of_records(self):
        path = self.examples({"a": [1]}, {"a": [b"x"]})
        done = self.recordfs("export", path, "-o", self.target / "a.csv")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("record 1: feature a has another type than in an earlier record\n", done.err)

    def test_column_is_text_or_base64(self):
        path = self.examples({"e": [b"\xff\0"], "t": [b"a"], "x": [b"\xff"]}, {"e": [b"/wA="], "t": [b"b"], "x": [b""]})
        message = r"column e has bytes that are text and others, which would be base64 \(try: --bytes base64; "
        for words in (["-o", self.target / "a.csv"], ["-o", self.target / "a.jsonl"], ["-o", self.target / "b.csv", "--shards", "2"]):
            self.assert_ends(commands.PARTLY_DONE, message, "export", path, *words)
        self.assertEqual(list(self.target.iterdir()), [])
        self.assertEqual(self.table("a.csv", path, "--select", "t,x"), [["t", "x"], ["a", "/w=="], ["b", ""]])
        self.assertEqual(self.table("b.csv", path, "--bytes", "auto", "--select", "e"), [["e"], ["/wA="], ["/wA="]])
        self.assertEqual(self.table("c.csv", path, "--bytes", "base64", "--select", "e"), [["e"], ["/wA="], ["L3dBPQ=="]])

    def test_database_among_other_sources_is_not_read_as_its_files(self):
        path = next(path for path in sorted((commands.corpus() / "database").iterdir()) if (path / "CURRENT").exists())
        for words in ([path, path], [commands.sample("tfrecord/examples.tfrecord"), path]):
            for form in ([], ["--json"]):
                self.assert_ends(commands.WRONG_USE, "a database, which cat writes alone", "cat", *form, *words)

    def test_database_is_not_exported(self):
        path = next(path for path in sorted((commands.corpus() / "database").iterdir()) if (path / "CURRENT").exists())
        for words in ([path], [path, path], [commands.sample("tfrecord/examples.tfrecord"), path]):
            self.assert_ends(commands.WRONG_USE, "a database, which is not exported", "export", *words, "-o", self.target / "a.tfrecord")

    def test_names_of_columns_can_be_in_quotes(self):
        path = self.examples({"a,b": [1], 'c`d"': [2], "e": [3]})
        self.assertEqual(self.table("a.csv", path, "--select", '`a,b`,"c`d""",e'), [["a,b", 'c`d"', "e"], ["1", "2", "3"]])
        self.good("export", path, "--member", "x=`a,b`,y=e", "-o", self.target / "a.tar")
        with tarfile.open(self.target / "a.tar") as archive:
            self.assertEqual([archive.extractfile(member).read() for member in archive], [b"1\n", b"3\n"])
        fields = json.loads(self.good("cat", "--json", "--fields", "`a,b`", path))["decoded"]
        self.assertEqual(list(fields["features"]["feature"]), ["a,b"])
        for text, error in (("a,a", "column a is named twice"), ("`a", "a quote without its end"), ("`a`b", "a comma is expected"),
                            ("a,", "no column is named"), (",a", "no column is named"), ("", "no column is named")):
            self.assert_ends(commands.WRONG_USE, error, "export", path, "--select", text, "-o", self.target / "b.csv")

    def test_rows_of_json_have_the_selected_columns(self):
        path = self.examples({"a": [1, 2], 'q"}': [b'x"},']}, {"a": [3], "b": [0.5]})
        self.assertEqual(self.exported("a.jsonl", path), b'{"a":[1,2],"q\\"}":"x\\"},"}\n{"a":[3],"b":0.5}\n')
        self.assertEqual(self.exported("b.jsonl", path, "--select", '`q"}`,a'), b'{"q\\"}":"x\\"},","a":[1,2]}\n{"a":[3]}\n')
        self.assertEqual(self.exported("c.jsonl", path, "--select", "b", "--lists"), b'{}\n{"b":[0.5]}\n')
        self.assert_ends(commands.PARTLY_DONE, "no column c ", "export", path, "--select", "c", "-o", self.target / "d.jsonl")
        path.write_bytes(tfrecord([b"text"]))
        self.assertEqual(self.exported("d.jsonl", path, "--select", "data"), b'{"data":"text"}\n')
        self.assert_ends(commands.PARTLY_DONE, "no column a ", "export", path, "--select", "a", "-o", self.target / "e.jsonl")

    def test_shards_have_the_selected_records(self):
        path = self.examples(*({"a": [i]} for i in range(20)))
        whole = self.exported("whole.csv", path, path, "--where", "a in (1, 2, 3, 5, 7, 19)", "2:31").split(b"\r\n")[1:-1]
        self.assertEqual(len(whole), 10)
        self.good("export", path, path, "--where", "a in (1, 2, 3, 5, 7, 19)", "--shards", "3", "2:31", "-o", self.target / "s.csv")
        parts = [(self.target / f"s-0000{i}-of-00003.csv").read_bytes().split(b"\r\n")[1:-1] for i in range(3)]
        self.assertEqual((sum(parts, []), [len(part) for part in parts]), (whole, [4, 3, 3]))
        self.good("export", path, "--where", "a > 3", "--sample", "4", "--shards", "2", "-o", self.target / "t.csv")
        self.assertEqual([(self.target / f"t-0000{i}-of-00002.csv").read_bytes().count(b"\n") for i in range(2)], [3, 3])
        path.write_bytes(tfrecord([b"text", example({"a": [1]}), b"text"]))
        done = self.recordfs("export", path, "--where", "a = 1", "--shards", "1", "-o", self.target / "u.tfrecord")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\A[^\n]*--where: 2 records cannot be decoded[^\n]*\n[^\n]*not written\n\Z")

    def test_wide_table_has_small_groups(self):
        path = self.folder / "wide.tfrecord"
        wide = example({f"f{i}": [i] for i in range(3000)})
        path.write_bytes(tfrecord([wide] + [example({"f7": [i]}) for i in range(2499)]))
        self.assertEqual(messages(self.exported("a.arrows", path)), 1 + 2)

    def test_set_without_records_is_an_empty_table(self):
        for words in ((self.folder / "empty.tfrecord",), (self.folder / "text.tfrecord", ":0")):
            words[0].write_bytes(tfrecord([b"text"] * (len(words) - 1)))
            self.assertEqual(self.exported(f"{len(words)}.csv", *words), b"ordinal,data\r\n")
            self.assertEqual(self.exported(f"{len(words)}.jsonl", *words), b"")
            self.assertGreater(len(self.exported(f"{len(words)}.parquet", *words)), 8)

    def rows(self, *words):
        return self.table("a.csv", "-f", *words)

    def avro(self, name, fields, *values):
        """Writes a file of records with these fields, which are of type long. Values are from -64 to 63."""
        def sized(data):
            return bytes([2 * len(data) & 127 | 128, 2 * len(data) >> 7]) + data
        kind = {"type": "record", "name": "R", "fields": [{"name": one, "type": "long"} for one in fields]} if fields else "long"
        data = b"".join(bytes(2 * value for value in row) for row in values)
        path = self.folder / name
        path.write_bytes(b"Obj\x01\x02" + sized(b"avro.schema") + sized(json.dumps(kind).encode()) + b"\0" + b"s" * 16 + bytes([2 * len(values)]) + sized(data) + b"s" * 16)
        return path

    def test_columns_of_files_with_schemas_are_those_of_all(self):
        old = self.avro("1.avro", ["a"], [1], [2])
        new = self.avro("2.avro", ["a", "b"], [3, 4])
        more = [self.avro(f"{3 + i}.avro", ["a"], *([5],) * 60) for i in range(20)]
        last = self.avro("99.avro", ["c", "a"], [6, 7])
        self.assertEqual(self.rows(old, new), [["a", "b"], ["1", ""], ["2", ""], ["3", "4"]])
        self.assertEqual(self.rows("--select", "b,a", new, old), [["b", "a"], ["4", "3"], ["", "1"], ["", "2"]])
        rows = self.rows(*more, last, new)
        self.assertEqual((rows[0], rows[-2:]), (["a", "c", "b"], [["7", "6", ""], ["3", "", "4"]]))
        self.assertEqual(self.rows("--scan-columns", "--select", "c", *more, last)[-1], ["6"])
        self.assert_ends(commands.PARTLY_DONE, "no column d ", "export", *more, last, "--select", "d", "-o", self.folder / "d.csv")

    def test_examples_after_records_of_a_format_are_an_error(self):
        values = self.avro("a.avro", ["a"], [1])
        for name, record in (("a tensorflow.Example", example({"a": [1]})), ("a JSON object", b'{"a":1}')):
            other = self.folder / "b.tfrecord"
            other.write_bytes(tfrecord([record]))
            for form in ("a.csv", "a.parquet"):
                self.assert_ends(commands.PARTLY_DONE, rf"b.tfrecord: byte 0: record 1: {name}, unlike other records\n.*not written", "export", values, other, "-o", self.folder / form)
        self.assert_ends(commands.PARTLY_DONE, r"a.avro: .*record 1: not a tensorflow.Example\n.*not written", "export", self.examples({"a": [1]}), values, "-o", self.folder / "a.csv")

    def test_shard_without_records_does_not_decide_the_type(self):
        typed = commands.corpus() / "riegeli" / "metadata_full_transposed.riegeli"
        nothing, none_selected = self.folder / "nothing.riegeli", self.folder / "none.riegeli"
        nothing.write_bytes(b"")
        self.good("export", typed, "--where", "i32=123456789", "-o", none_selected)
        header, *rows = self.table("a.csv", typed, "--bytes", "base64")
        self.assertEqual(self.table("none.csv", none_selected, "--bytes", "base64"), [header])
        for i, sources in enumerate(((typed, nothing, typed), (nothing, typed), (none_selected, nothing, typed), (nothing, none_selected, typed))):
            expected = rows * sources.count(typed)
            self.assertEqual(self.table(f"{i}.csv", *sources, "--bytes", "base64"), [header, *expected])
            self.assertEqual(len(self.table(f"{i}b.csv", *sources, "--select", "i32")), 1 + len(expected))
            self.good("export", *sources, "-o", self.target / f"{i}.riegeli")
            self.assertIn(b"hdev.Everything", self.good("info", self.target / f"{i}.riegeli"))

    def test_shard_whose_type_is_lost_with_its_metadata_is_omitted(self):
        typed = commands.corpus() / "riegeli" / "metadata_full_transposed.riegeli"
        rows = self.table("a.csv", typed, "--bytes", "base64")
        content = bytearray(typed.read_bytes())
        content[200] ^= 1
        damaged = self.folder / "damaged.riegeli"
        damaged.write_bytes(content)
        self.assert_ends(commands.DAMAGE, r"damaged.riegeli: byte 64: .*\n.*not written", "export", typed, damaged, "--bytes", "base64", "-o", self.target / "b.csv")
        for name, sources in {"c": (typed, damaged), "d": (damaged, typed)}.items():
            for words in ([], ["--shuffle", "1"]):
                done = self.recordfs("export", *sources, "--bytes", "base64", "--skip-damage", "-f", *words, "-o", self.target / f"{name}.csv")
                self.assertEqual(done.status, commands.DAMAGE)
                self.assertRegex(done.err, r"damaged.riegeli: byte 64: .*\n.*: 150 records written; 150 omitted\n")
                with (self.target / f"{name}.csv").open(newline="") as file:
                    self.assertEqual(sorted(csv.reader(file)), sorted(rows))
            self.recordfs("export", *sources, "--bytes", "base64", "--skip-damage", "-o", self.target / f"{name}.jsonl")
            self.assertEqual(len((self.target / f"{name}.jsonl").read_text().splitlines()), len(rows) - 1)

    def test_values_of_a_format_that_are_no_objects_have_no_columns(self):
        path = self.avro("a.avro", [], [1], [2])
        self.assertEqual(self.rows(path), [["ordinal", "data"], ["0", "\2"], ["1", "\4"]])
        self.assertEqual([json.loads(line)["decoded"] for line in self.good("cat", "--json", path).splitlines()], [1, 2])
        self.assert_ends(commands.PARTLY_DONE, "2 records have no columns; .*: the value of this record is no object", "info", "--columns", path)

    def test_column_of_later_records_has_a_hint(self):
        path = self.folder / "late.tfrecord"
        path.write_bytes(tfrecord([example({"a": [1]})] * 1024 + [example({"b": [2]})]))
        for name in ("b.csv", "b.jsonl"):
            self.assert_ends(commands.PARTLY_DONE, r"no column b \(the columns are a\) in the first 1,024 records \(try: --scan-columns\)",
                             "export", path, "--select", "b", "-o", self.folder / name)
        self.assertEqual(self.rows("--scan-columns", "--select", "b", path)[-1], ["2"])

    def test_feature_of_a_sequence_is_named_by_its_path(self):
        path = commands.sample("tfrecord/sequence-examples.tfrecord")
        for name, place in (("id", "context.feature.id.bytes_list.value"), ("frames", "feature_lists.feature_list.frames.feature.bytes_list.value")):
            message = rf"no column {name} \(the columns are context, feature_lists\) \(try: {place}\)"
            self.assert_ends(commands.PARTLY_DONE, message, "export", path, "--select", name, "-o", self.folder / "a.csv")
            self.assertEqual(self.rows("--bytes", "base64", "--select", place, path)[0], [place])

    def test_list_of_a_feature_is_a_column_and_a_condition(self):
        path = self.folder / "a.tfrecord"
        path.write_bytes(tfrecord([example({"a": [1]}), example({"a": [2]})]))
        for name in ("a", "a.int64_list", "features.feature.a.int64_list", "features.feature.a.int64_list.value"):
            self.assertEqual(self.rows("--select", name, "--where", f"{name} = 2", path), [[name], ["2"]])

    def test_examples_of_a_container_without_types_have_their_columns(self):
        examples = self.folder / "examples.tfrecord"
        examples.write_bytes(tfrecord([example({"a": [i], "b": [b"x"]}) for i in range(3)]))
        self.exported("a.riegeli", examples)
        for name in ("b.csv", "b.jsonl"):
            self.assertEqual(self.exported(name, self.target / "a.riegeli"), self.exported(f"of{name}", examples))
        header = next(csv.reader(io.StringIO((self.target / "b.csv").read_text(encoding="utf-8"))))
        self.assertEqual(header, ["a", "b"])
        self.assertEqual(json.loads((self.target / "b.jsonl").read_bytes().splitlines()[2]), {"a": 2, "b": "x"})


if __name__ == "__main__":
    commands.main()
