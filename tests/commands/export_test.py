#!/usr/bin/env python3
"""recordfs export: the files it writes, and what it leaves of them if something fails."""
import base64
import csv
import gzip
import io
import json
import os
import resource
import signal
import struct
import subprocess
import tarfile
import time

import commands
from built import PATIENCE, program
from tfrecords import example, field as part, tfrecord

LINES = "riegeli/simple_zstd9.riegeli"  # 500 records
DAMAGED = "riegeli/fuzz_simple_zstd.riegeli"
EXAMPLES = "tfrecord/examples.tfrecord"
EVENTS = "events.out.tfevents.1700000000.host"
LARGE = 3000  # records of a file that takes a while



def row_of(line, is_typed=False):
    """Returns the row that a line of `cat --json` with an Example means."""
    def values(feature):
        return [value.get("text", value.get("base64")) if isinstance(value, dict) else value
                for of_kind in feature.values() for value in of_kind["value"]]
    return {name: values(feature) if feature or not is_typed else None for name, feature in line["decoded"]["features"]["feature"].items()}


def described(rows, of_set):
    """Returns rows of Examples as tables have them: a feature is a list if one of the records of the set needs it."""
    names = sorted({name for row in of_set for name in row})
    lists = {name for name in names if any(row.get(name) is not None and len(row[name]) != 1 for row in of_set)}
    return [{name: row.get(name) if name in lists else (row.get(name) or [None])[0] for name in names} for row in rows]


class Export(commands.Case):
    def setUp(self):
        super().setUp()
        self.file = commands.sample(LINES)
        self.target = self.folder / "target"
        self.target.mkdir()

    def names(self):
        return sorted(os.listdir(self.target))

    def examples_of(self, path):
        """Returns the features of the Examples in a file; one without a type is None."""
        lines = [json.loads(line)["decoded"] for line in self.good("cat", "--json", path).splitlines() if b'"decoded"' in line]
        return [row_of({"decoded": decoded}, is_typed=True) for decoded in lines if list(decoded) == ["features"]]

    def exported(self, name, *words):
        """Exports to the target directory. Returns the file's bytes."""
        self.assertEqual(self.good("export", *words, "-o", self.target / name), b"")
        return (self.target / name).read_bytes()

    def rows(self, name, *words):
        return [json.loads(line) for line in self.exported(name, *words).splitlines()]

    def test_progress_is_in_bytes_of_all_sources_or_in_records(self):
        files = [self.folder / name for name in ("a.tfrecord", "b.tfrecord")]
        for file in files:
            file.write_bytes(tfrecord([b'{"a":%d}' % number for number in range(100)]))
        size = f"{sum(file.stat().st_size for file in files) / 1024:.1f} KiB"
        for words, amount in (([*files], size), ([*files, "--where", "a > 90"], size), ([*files, "--shards", "2"], "200 records"),
                              ([*files, "--shuffle", "1"], "200 records")):
            shown = self.stderr_on_terminal("export", *words, "-f", "-o", self.target / "a.jsonl")
            self.assertIn(f"export: {amount} of {amount} (100 %), ".encode(), shown, words)

    def test_records_without_columns_are_rows_of_ordinal_and_data(self):
        texts = [json.loads(line)["text"] for line in self.good("cat", "--json", self.file).splitlines()]
        self.assertEqual(self.rows("a.jsonl", self.file), [{"ordinal": i, "data": text} for i, text in enumerate(texts)])
        self.assertEqual(self.rows("b.ndjson", self.file, "-2:"), [{"ordinal": i, "data": texts[i]} for i in (498, 499)])

    def test_bytes_that_are_not_text_are_base64(self):
        path = self.folder / "bytes.tfrecord"
        path.write_bytes(tfrecord([b"text", b"\xff\0", b""]))
        for form, expected in (("auto", ["text", "/wA=", ""]), ("base64", ["dGV4dA==", "/wA=", ""]), ("hex", ["74657874", "ff00", ""])):
            rows = self.rows(f"{form}.jsonl", "--bytes", form, path)
            self.assertEqual([row["data"] for row in rows], expected)

    def test_columns_of_an_example_are_its_features(self):
        lines = [json.loads(line) for line in self.good("cat", "--json", commands.sample(EXAMPLES), ":5").splitlines()]
        rows = self.rows("a.jsonl", "--bytes", "auto", commands.sample(EXAMPLES), ":5")
        typed = self.examples_of(commands.sample(EXAMPLES))
        columns = described(typed[:5], typed)
        for row, line, values in zip(rows, lines, columns, strict=True):
            self.assertEqual(row, {name: values[name] for name in row_of(line) if values.get(name) is not None})
        self.assertEqual(rows[1]["not finite"], ["Infinity", "-Infinity", "NaN"])

    def test_columns_of_a_record_are_the_members_of_its_decoded_object(self):
        for name in ("avro/many-values.avro", "leveldb_table/number-keys.sst", "avro/logical.avro"):
            path = commands.corpus() / name
            lines = [json.loads(line) for line in self.good("cat", "--json", path, ":20").splitlines()]
            rows = self.rows(f"{path.name}.jsonl", path, ":20")
            for row, line in zip(rows, lines, strict=True):
                self.assertEqual(set(row), {key.removesuffix("_base64") for key in line["decoded"]})

    def test_record_without_the_columns_of_the_first_is_an_error(self):
        done = self.recordfs("export", commands.sample(EXAMPLES), "-o", self.target / "a.jsonl")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"record 7: not a tensorflow.Example\nrecordfs: \S+: not written \(try: --skip-damage\)\n\Z")
        self.assertEqual(self.names(), [])

    def table(self, name, *words, **reading):
        """Returns the lines of a table as lists of cells."""
        text = self.exported(name, *words).decode()
        return list(csv.reader(io.StringIO(text, newline=""), strict=True, **reading))

    def test_table_has_the_columns_of_the_records(self):
        examples = commands.sample(EXAMPLES)
        typed = self.examples_of(examples)
        rows = described(typed[:5], typed)
        for name, reading in (("a.csv", {}), ("b.tsv", {"delimiter": "\t"})):
            header, *lines = self.table(name, "--bytes", "auto", examples, ":5", **reading)
            self.assertEqual(header, list(rows[0]))
            for line, row in zip(lines, rows, strict=True):
                self.assertEqual([cell if isinstance(value, str) else json.loads(cell or "null") for cell, value in zip(line, row.values())],
                                 list(row.values()))
        chosen = self.table("c.csv", "--select", "image/width,image/height", examples, "0")
        self.assertEqual(chosen, [["image/width", "image/height"], ["640", "480"]])
        self.assert_ends(commands.PARTLY_DONE, r"no column image/widht \(the columns are image/width, ", "export", examples, ":5", "--select", "image/widht",
                         "-o", self.target / "d.csv")

    def test_cells_are_quoted_where_csv_needs_it(self):
        texts = [b"plain", b'a "quoted" text', b"two\r\nlines", b"a,comma", b"a\ttab", b"", b"\xff"]
        path = self.folder / "texts.tfrecord"
        path.write_bytes(tfrecord(texts))
        expected = [["ordinal", "data"]] + [[str(i), text.decode()] for i, text in enumerate(texts[:-1])] + [["6", "/w=="]]
        self.assertEqual(self.table("a.csv", "--bytes", "auto", path), expected)
        self.assertEqual(self.table("a.tsv", "--bytes", "auto", path, delimiter="\t"), expected)
        self.assertIn(b'\r\n5,""\r\n', (self.target / "a.csv").read_bytes())

    def test_null_of_the_only_column_is_no_empty_line(self):
        path = self.folder / "lines.jsonl.tfrecord"
        path.write_bytes(tfrecord([b'{"a":1,"b":"x"}', b'{"b":"y"}', b'{"a":3,"b":null}']))
        self.assertEqual(self.exported("a.csv", "--select", "a", path), b'a\r\n1\r\n""\r\n3\r\n')
        self.assertEqual(self.exported("b.csv", path), b"a,b\r\n1,x\r\n,y\r\n3,\r\n")

    def test_value_of_a_wrong_wire_type_is_an_error(self):
        wrong = part(1, part(1, part(1, "a") + part(2, part(3, b"\x0d\1\0\0\0"))))  # a fixed32 in an Int64List
        path = self.folder / "wrong.tfrecord"
        path.write_bytes(tfrecord([example({"a": [1]}), wrong]))
        done = self.recordfs("export", path, "-o", self.target / "a.csv")
        self.assertEqual((done.status, self.names()), (commands.PARTLY_DONE, []))
        self.assertIn("record 1: not a valid tensorflow.Example", done.err)

    def test_records_of_json_have_columns(self):
        path = self.folder / "json.tfrecord"
        path.write_bytes(tfrecord([b'{"a":1,"b":{"c":"x"}}', b'{"a":2,"n":-Infinity}']))
        self.assertEqual(self.table("a.csv", path), [["a", "b", "n"], ["1", '{"c":"x"}', ""], ["2", "", "-Infinity"]])
        self.assertEqual(self.table("b.csv", path, "--select", "a"), [["a"], ["1"], ["2"]])
        self.assertEqual(self.rows("a.jsonl", path), [{"a": 1, "b": {"c": "x"}}, {"a": 2, "n": "-Infinity"}])
        self.assertEqual(self.exported("b.jsonl", path, "--select", "n,b"), b'{"b":{"c":"x"}}\n{"n":"-Infinity"}\n')

    def test_record_that_does_not_fit_the_table_is_an_error(self):
        examples = commands.sample(EXAMPLES)
        path = self.folder / "late.tfrecord"
        first = self.good("cat", examples, "2")
        path.write_bytes(tfrecord([first] * 1100 + [b"no example"]))
        done = self.recordfs("export", path, "-o", self.target / "a.csv")
        self.assertEqual((done.status, self.names()), (commands.PARTLY_DONE, []))
        self.assertIn("record 1100: ", done.err)
        done = self.recordfs("export", "--skip-damage", path, "-o", self.target / "a.csv")
        self.assertEqual((done.status, (self.target / "a.csv").read_bytes().count(b"\n")), (commands.PARTLY_DONE, 1101))

    def test_tables_for_other_programs_have_their_marks(self):
        for name, begin, end in (("a.parquet", b"PAR1", b"PAR1"), ("a.arrow", b"ARROW1\0\0", b"ARROW1"),
                                 ("a.arrows", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0")):
            made = self.exported(name, self.file)
            self.assertTrue(made.startswith(begin) and made.endswith(end), name)

    def test_scalars_of_a_run_are_a_table(self):
        run = self.folder / "logs" / "run"
        run.mkdir(parents=True)
        (run / EVENTS).write_bytes((commands.corpus() / "tfrecord" / EVENTS).read_bytes())
        header, *lines = self.table("a.csv", run / EVENTS)
        self.assertEqual(header, ["run", "step", "wall_time", "tag", "value"])
        self.assertEqual([line[1:2] + line[3:] for line in lines[:3]], [["0", "loss", "1"], ["1", "loss", "0.5"], ["2", "loss", "0.3333333432674408"]])
        self.assertEqual([[str(row.get(name, "")) for name in ("run", "step", "tag")] for row in self.rows("a.jsonl", run / EVENTS)],
                         [[*line[:2], line[3]] for line in lines])
        chosen = self.exported("b.jsonl.gz", run / EVENTS, "--select", "value,step")
        self.assertEqual(gzip.decompress(chosen).splitlines()[:2], [b'{"value":1,"step":0}', b'{"value":0.5,"step":1}'])

    def test_condition_selects_rows(self):
        path = self.folder / "few.tfrecord"
        path.write_bytes(tfrecord([self.good("cat", commands.sample(EXAMPLES), "0")] * 3 + [self.good("cat", commands.sample(EXAMPLES), "1")]))
        self.assertEqual(len(self.rows("a.jsonl", "--bytes", "auto", "--where", "image/width > 600", path)), 3)
        self.assertEqual(len(self.table("a.csv", "--where", "not image/width > 600", path)), 2)
        self.exported("a.tfrecord", "--where", "image/width > 600", path)
        self.assertEqual(self.good("cat", self.target / "a.tfrecord"), self.good("cat", path, ":3"))
        done = self.recordfs("export", "--where", "widht > 600", path, "-o", self.target / "b.jsonl")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertNotIn("b.jsonl", self.names())

    def test_random_order_is_that_of_cat(self):
        for words in (("--shuffle", "7"), ("--sample", "20"), ("--sample", "20", "--seed", "3", "--shuffle", "1")):
            made = self.exported("".join(words) + ".delimited", *words, self.file)
            self.assertEqual(made, self.good("cat", "--delimited", *words, self.file))
        ordinals = [json.loads(line)["ordinal"] for line in self.good("cat", "--json", "--shuffle", "7", self.file).splitlines()]
        self.assertEqual([int(line[0]) for line in self.table("a.csv", "--shuffle", "7", self.file)[1:]], ordinals)
        self.good("export", "--shuffle", "7", "--sample", "30", "--shards", "4", self.file, "-o", self.target / "s.jsonl")
        parts = [(self.target / f"s-{i:05}-of-00004.jsonl").read_bytes().splitlines() for i in range(4)]
        self.assertEqual([len(part) for part in parts], [8, 8, 7, 7])
        self.assertEqual([json.loads(line)["ordinal"] for part in parts for line in part], ordinals[:30])

    def test_archive_has_the_wanted_members(self):
        examples = commands.sample(EXAMPLES)
        words = ("--member", "jpg=image/encoded,width.txt=image/width,pb", examples, "0")
        path = self.target / "a.tar"
        made = self.exported("a.tar", *words)
        row = json.loads(self.good("cat", "--json", examples, "0"))["decoded"]["features"]["feature"]
        with tarfile.open(path) as archive:
            found = {member.name: archive.extractfile(member).read() for member in archive}
            kinds = {(member.mtime, member.uid, member.gid, member.mode, member.isreg()) for member in archive}
        jpeg = base64.b64decode(row["image/encoded"]["bytes_list"]["value"][0]["base64"])
        self.assertEqual(found, {"000000000.jpg": jpeg, "000000000.width.txt": b"640\n",
                                 "000000000.pb": self.good("cat", examples, "0")})
        self.assertEqual(kinds, {(0, 0, 0, 0o644, True)})
        self.assertEqual(gzip.decompress(self.exported("b.tar.gz", *words)), made)
        self.assertEqual(self.recordfs("export", "--member", "x=image/width", examples, ":2", "-o", self.target / "c.tar").status,
                         commands.PARTLY_DONE)
        with tarfile.open(self.target / "a.tar") as archive:
            self.assertEqual(len(archive.getnames()), 3)
        for text, error in (("a/b=x", "not NAME=PART"), ("jpg=", "not NAME=PART"), ("a=x,a=y", "the same name")):
            self.assert_ends(commands.WRONG_USE, error, "export", examples, "--member", text, "-o", "x.tar")

    def test_keys_of_an_archive_come_from_a_column(self):
        def written(name, *records):
            (self.folder / name).write_bytes(tfrecord([json.dumps({"m": {"k": key}}).encode() for key in records]))
            return self.folder / name
        words = ("--key", "m.k", "--member", "json,copy.json", "-o")
        keys = ("cat-1", "Zoë", 7, -3, "x" * 89, "a b")
        self.good("export", written("a.tfrecord", *keys), *words, self.target / "a.tar")
        with tarfile.open(self.target / "a.tar") as archive:
            self.assertEqual(archive.getnames(), [f"{key}.{name}" for key in keys for name in ("json", "copy.json")])
        for key, why in (("", "is empty"), ("a.b", "has a dot"), (0.5, "has a dot"), ("a/b", "has a slash"), ("a\n", "control"),
                         ("x" * 91, "too long"), (None, "no value of the key m.k"), ([1, 2], "several values"),
                         ("good", "the key good is also that of record 0")):
            file = written("b.tfrecord", "good", key, "last")
            self.assert_ends(commands.PARTLY_DONE, rf"b\.tfrecord: .*record 1: .*{why}[^\n]*\n[^\n]*not written",
                             "export", file, *words, self.target / "b.tar")
            done = self.recordfs("export", "--skip-damage", file, *words, "-", "--to", "tar")
            self.assertEqual(done.status, commands.PARTLY_DONE, key)
            with tarfile.open(fileobj=io.BytesIO(done.out)) as archive:
                self.assertEqual([name.split(".")[0] for name in archive.getnames()[::2]], ["good", "last"], key)
        done = self.recordfs("export", commands.sample(EXAMPLES), "--key", "image/widht", "-o", self.target / "b.tar")
        self.assertIn("record 0: no value of the key image/widht (the nearest are image/width, ", done.err)
        self.assertEqual(self.names(), ["a.tar"])
        shards = ("--shards", "2", self.target / "s.tar")
        self.good("export", written("c.tfrecord", "a", "b", "a", "b"), *words[:-1], *shards[:2], "-o", shards[2])
        self.assert_ends(commands.WRONG_USE, "is for archives", "export", file, "--key", "m", "-o", "x.csv")

    def test_records_without_parts_have_no_members(self):
        error = r"the records of \w+ have no parts\nrecordfs: \S+: not written"
        for name in (LINES, "recordio/v2-text-100.grail-rio"):
            for order in ((), ("--shuffle", "1")):
                words = (*order, "--member", "jpg=image/encoded", commands.corpus() / name, "-o", self.target / "a.tar")
                self.assert_ends(commands.PARTLY_DONE, error, "export", *words)
        self.assertEqual(self.names(), [])

    def test_container_has_the_same_records(self):
        records = self.good("cat", "--delimited", self.file)
        self.assertEqual(self.exported("a.delimited", self.file), records)
        for name in ("b.tfrecord", "c.tfrecord.gz", "d.riegeli", "e.array_record"):
            self.exported(name, self.file)
            self.assertEqual(self.good("cat", "--delimited", self.target / name), records)
            self.good("verify", self.target / name)

    def test_output_is_compressed_by_its_name(self):
        plain = self.exported("a.jsonl", self.file)
        self.assertEqual(gzip.decompress(self.exported("a.jsonl.gz", self.file)), plain)
        packed = self.exported("a.jsonl.zst", self.file)
        self.assertEqual(struct.unpack("<I", packed[:4])[0], 0xFD2FB528)
        self.assertEqual(gzip.decompress(self.good("export", self.file, "--to", "jsonl.gz", "-o", "-")), plain)
        self.assert_ends(commands.WRONG_USE, r"no known format: a.csv.xz \(the formats are jsonl, csv, tsv, parquet, ", "export", self.file, "-o", "a.csv.xz")

    def test_same_bytes_with_any_number_of_threads(self):
        path = self.large()
        for name in ("a.jsonl", "a.jsonl.gz", "a.tfrecord", "a.riegeli", "a.parquet", "a.arrow", "a.csv", "a.tar.zst"):
            made = {self.exported(f"{threads}{name}", "-j", str(threads), path) for threads in (1, 2, 4)}
            self.assertEqual(len(made), 1, name)

    def large(self):
        path = self.folder / "large.tfrecord"
        path.write_bytes(tfrecord([b"%06d " % i + os.urandom(2000) for i in range(LARGE)]))
        return path

    def test_several_files_are_one_set(self):
        self.assertEqual([row["ordinal"] for row in self.rows("a.jsonl", self.file, self.file, "499:501")], [499, 500])
        self.assertEqual(self.rows("b.jsonl", self.file, "3", ":2"), self.rows("c.jsonl", self.file, "3", "0", "1"))

    def test_shards_have_consecutive_records(self):
        whole = self.exported("a.jsonl", self.file)
        (self.target / "a.jsonl").unlink()
        self.good("export", self.file, "--shards", "7", "-o", self.target / "s.jsonl")
        self.assertEqual(self.names(), [f"s-{i:05}-of-00007.jsonl" for i in range(7)])
        parts = [(self.target / name).read_bytes() for name in self.names()]
        self.assertEqual(b"".join(parts), whole)
        self.assertEqual({part.count(b"\n") for part in parts}, {71, 72})


    def test_many_shards_become_few(self):
        self.good("export", self.file, "--shards", "100", "-o", self.target / "s.tfrecord")
        self.good("export", self.target / "s-*", "--shards", "16", "-o", self.target / "t.tfrecord")
        self.assertEqual(self.good("cat", self.target / "t-*"), self.good("cat", self.file))
        self.good("export", self.file, ":3", "--shards", "5", "-o", self.target / "few.jsonl")
        self.assertEqual([(self.target / f"few-{i:05}-of-00005.jsonl").stat().st_size > 0 for i in range(5)], [1, 1, 1, 0, 0])

    def test_shards_have_about_the_wanted_size(self):
        whole = self.exported("a.jsonl", self.file)
        (self.target / "a.jsonl").unlink()
        self.good("export", self.file, "--shard-size", "10k", "-o", self.target / "s.jsonl")
        parts = [(self.target / name).read_bytes() for name in self.names()]
        self.assertEqual(b"".join(parts), whole)
        self.assertTrue(all(9000 < len(part) <= 10240 for part in parts[:-1]), [len(part) for part in parts])

    def test_existing_file_is_replaced_only_if_asked(self):
        path = self.target / "a.jsonl"
        path.write_bytes(b"old")
        self.assert_ends(commands.PARTLY_DONE, r"a\.jsonl: File exists \(-f replaces it\)", "export", self.file, "-o", path)
        self.assertEqual(path.read_bytes(), b"old")
        self.good("export", "-f", self.file, "-o", path)
        self.assertEqual(path.read_bytes().count(b"\n"), 500)
        (self.target / "s-00002-of-00003.jsonl").touch()
        self.assert_ends(commands.PARTLY_DONE, "s-00002-of-00003", "export", self.file, "--shards", "3", "-o", self.target / "s.jsonl")
        self.assertEqual(self.names(), ["a.jsonl", "s-00002-of-00003.jsonl"])

    def test_damage_leaves_no_output_unless_skipped(self):
        damaged = commands.sample(DAMAGED)
        expected = self.recordfs("cat", "--skip-damage", "--delimited", damaged)
        path = self.target / "a.delimited"
        self.assertEqual(self.recordfs("export", damaged, "-o", path).status, self.recordfs("cat", damaged).status)
        self.assertEqual(self.names(), [])
        done = self.recordfs("export", "--skip-damage", damaged, "-o", path)
        self.assertEqual((done.status, path.read_bytes()), (commands.DAMAGE, expected.out))

    def test_all_records_that_are_skipped_are_counted(self):
        path = self.folder / "mixed.tfrecord"
        path.write_bytes(tfrecord([example({"a": [1]})] * 1100 + [b"?", b"?", example({"a": [2]}), b"?"]))
        for words in ((), ("--shuffle", "1"), ("--threads", "1")):
            done = self.recordfs("export", "-f", "--skip-damage", *words, path, "-o", self.target / "a.csv")
            self.assertRegex(done.err, r"a\.csv: 1101 records written; 3 omitted\n\Z")
        self.assertEqual(self.recordfs("export", "-f", "--skip-damage", path, ":1100", "-o", self.target / "a.csv").err, "")
        damaged = self.recordfs("export", "-f", "--skip-damage", commands.sample(DAMAGED), "-o", self.target / "a.delimited").err
        self.assertIn(" 156 records written; 575 omitted\n", damaged)
        path.write_bytes(tfrecord([example({"a": [1]})] * 30).replace(tfrecord([example({"a": [1]})]), b"?" * 30, 1))
        for words in ((), ("--shards", "2")):  # which reads twice
            done = self.recordfs("export", "-f", "--skip-damage", "--where", "a = 1", *words, path, "-o", self.target / "a.csv")
            self.assertRegex(done.err, r"a\.csv: 29 records written; .* omitted\n\Z")
            self.assertNotRegex(done.err, r"; [2-9] omitted")

    def test_type_and_descriptors_of_records_are_kept(self):
        def metadata(path):
            return {row["key"]: row for row in json.loads(self.good("info", "--json", path))["metadata"]}
        typed = commands.sample("riegeli/metadata_full_simple_uncompressed.riegeli")
        for name in ("a.riegeli", "a.array_record"):
            self.exported(name, typed, ":3")
            found = metadata(self.target / name)
            found.pop("records_metadata")
            self.assertEqual(found, {key: metadata(typed)[key] for key in ("file_comment", "record_type_name", "file_descriptor_set")})
        same = self.target / "same.riegeli"
        self.assertEqual(self.recordfs("export", typed, self.target / "a.riegeli", "-o", same).err, "")
        self.assertEqual(metadata(same)["file_descriptor_set"], metadata(typed)["file_descriptor_set"])
        for other in (commands.sample("riegeli/metadata_extension.riegeli"), commands.sample(LINES)):
            done = self.recordfs("export", "-f", typed, other, "-o", same)
            self.assertEqual((done.status, json.loads(self.good("info", "--json", same)).get("metadata", [])), (0, []))
            self.assertIn("states no type of the records", done.err)

    def test_full_disk_leaves_nothing(self):
        path = self.large()
        for name in ("a.jsonl", "a.tfrecord"):
            done = subprocess.run([program("recordfs"), "export", path, "-o", self.target / name], stderr=subprocess.PIPE, check=False,
                                  env=self.environment(), timeout=PATIENCE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
            self.assertEqual(done.returncode, commands.PARTLY_DONE)
            self.assertRegex(done.stderr, rb"\Arecordfs: \S+: File too large\n")
            self.assertEqual(self.names(), [])
        done = self.recordfs("export", path, "--to", "jsonl", "-o", "/dev/full")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("No space left on device", done.err)

    def test_name_of_an_open_file_is_no_name_to_replace(self):
        path, out = self.large(), self.folder / "out"
        whole = self.good("export", path, "--to", "jsonl", "-o", "-")
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"):
            was_link = os.path.islink(name)
            with open(out, "wb") as file:
                done = subprocess.run([program("recordfs"), "export", path, "--to", "jsonl", "-f", "-o", name], check=False, timeout=PATIENCE,
                                      env=self.environment(), **{"stderr" if name == "/dev/stderr" else "stdout": file})
            self.assertEqual((done.returncode, out.read_bytes() == whole, os.path.islink(name)), (commands.GOOD, True, was_link), name)
        was_link = os.path.islink("/dev/stdout")
        with open(out, "wb") as file:
            done = subprocess.run([program("recordfs"), "recover", path, "-f", "-o", "/dev/stdout"], check=False, timeout=PATIENCE,
                                  env=self.environment(), stdout=file, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, os.path.islink("/dev/stdout")), (commands.WRONG_USE, was_link))
        self.assertIn(b"regular files only", done.stderr)

    def test_closed_pipe_ends_silently(self):
        done = self.until_the_pipe_closes(10, "export", self.large(), "--to", "jsonl", "-o", "-")
        self.assertEqual((done.out[:2], done.err), (b'{"', ""))

    def test_interrupted_export_leaves_nothing(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        path = self.large()
        with subprocess.Popen([program("recordfs"), "export", path, pipe, "-o", self.target / "a.jsonl"], env=self.environment(),
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            with pipe.open("wb") as writer:
                writer.write(path.read_bytes()[:100000])
                writer.flush()
                time.sleep(0.2)
                running.send_signal(signal.SIGINT)
                time.sleep(0.2)
            self.assertEqual(running.wait(PATIENCE), -signal.SIGINT)
        self.assertEqual(self.names(), [])

    def test_wrong_words(self):
        for words, error in ((("-o", "x"), "no known format: x"), ((), "-o is required"), (("-o", "-"), "no known format: -"),
                             (("-o", "-", "--to", "jsonl", "--shards", "2"), "needs a file"),
                             (("-o", "a.jsonl", "--shards", "0"), "not a number from 1"),
                             (("-o", "a.jsonl", "--shards", "2", "--shard-size", "1"), "only one of")):
            self.assert_ends(commands.WRONG_USE, error, "export", self.file, *words)
        self.assert_ends(commands.PARTLY_DONE, "none/a.jsonl: there is no directory none/", "export", self.file, "-o", "none/a.jsonl")
        self.assert_ends(commands.PARTLY_DONE, "Is a directory", "export", self.file, "--to", "jsonl", "-o", self.target)


if __name__ == "__main__":
    commands.main()
