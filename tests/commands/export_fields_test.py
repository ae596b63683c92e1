#!/usr/bin/env python3
"""recordfs export --select, of transposed chunks that are read for some fields only."""
import pathlib
import struct

import commands
from tfrecords import example, tfrecord

TRANSPOSED = pathlib.Path("tests/corpus/riegeli/transposed_regular.riegeli")


def part(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


def field(name, number, kind, type_name=b""):
    return part(2, part(1, name) + bytes([3 << 3, number, 4 << 3, 1, 5 << 3, kind]) + type_name)


def descriptors():
    """Returns the types of the records."""
    host = part(1, b"Host") + field(b"id", 1, 3) + field(b"name", 2, 9) + field(b"load", 3, 1)
    host += field(b"note", 4, 11, part(6, b".Note"))
    note = part(1, b"Note") + field(b"level", 1, 3) + field(b"text", 2, 9)
    return part(1, part(1, b"hosts.proto") + part(4, host) + part(4, note))


class ExportFields(commands.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "types.pb").write_bytes(descriptors())
        self.types = ["--descriptors", self.folder / "types.pb", "--type", "Host"]
        self.plain = self.folder / "plain.riegeli"
        self.good("export", TRANSPOSED, "-o", self.plain)
        self.assertIn(b"transposed", self.good("info", TRANSPOSED))
        self.assertNotIn(b"transposed", self.good("info", self.plain))

    def exported(self, source, *words):
        return self.good("export", source, *self.types, *words, "-o", "-")

    def test_transposed_chunks_have_the_same_columns_as_simple_ones(self):
        conditions = ([], ["--where", "id > 100 and load < 900"], ["--where", "note.level is null or name ~ '1$'"])
        for form in ("arrows", "parquet", "csv", "jsonl"):
            for selected in ("id", "note", "name,load", "load,note,id,name", "note.level", "note.text,id"):
                for condition in conditions:
                    words = ("--to", form, "--select", selected, *condition)
                    rows = self.exported(TRANSPOSED, *words)
                    self.assertEqual(rows, self.exported(self.plain, *words), words)
                    self.assertGreater(len(rows), 200, words)

    def test_formats_of_records_have_whole_records(self):
        condition = ("--where", "id > 10 and id < 20")
        want = self.exported(self.plain, "--to", "tfrecord", *condition)
        self.assertEqual(self.exported(TRANSPOSED, "--to", "tfrecord", *condition), want)
        self.assertEqual(self.good("cat", TRANSPOSED, *self.types, *condition),
                         self.good("cat", self.plain, *self.types, *condition))

    def test_records_of_another_type_are_reported(self):
        path = self.folder / "others.tfrecord"
        other = bytes([2 << 3, 7, 9 << 3, 1])  # field 2 is a number here
        path.write_bytes(tfrecord([b"", other, other]))
        message = "others.tfrecord: no field of the first records is one of Host\n"
        for words in (["export", "-o", self.folder / "a.csv"], ["export", "-o", self.folder / "a.jsonl"], ["ls", "--where", "id = 0"],
                      ["info", "--columns"], ["cat", "--json"]):
            done = self.recordfs(*words, *self.types, path)
            self.assertIn(message, done.err, words)
            self.assertNotEqual(done.status, 0, words)
        self.assertFalse((self.folder / "a.csv").exists() or (self.folder / "a.jsonl").exists())
        path.write_bytes(tfrecord([b"", other, bytes([1 << 3, 7])]))
        self.assertEqual(self.good("ls", "--where", "id = 7", *self.types, path).split(b"\t")[0], b"2")

    def test_type_without_descriptors_has_no_columns(self):
        path = self.folder / "examples.tfrecord"
        path.write_bytes(tfrecord([example(a=[1])]))
        for name in ("a.csv", "a.jsonl"):
            self.assert_ends(commands.PARTLY_DONE, r"no descriptors of no\.Such \(try: --descriptors\)",
                             "export", path, "--type", "no.Such", "-o", self.folder / name)
        self.assertEqual(self.good("export", path, "--type", "tensorflow.Example", "--to", "csv", "-o", "-"), b"a\r\n1\r\n")

    def test_damage_of_other_fields_is_reported(self):
        data = bytearray(TRANSPOSED.read_bytes())
        data[300] ^= 1  # of the first chunk, which its hash covers
        damaged = self.folder / "damaged.riegeli"
        damaged.write_bytes(data)
        for words in ([], ["--select", "id"]):
            done = self.recordfs("export", damaged, *self.types, *words, "-o", "-", "--to", "csv")
            self.assertEqual(done.status, commands.DAMAGE, words)
            self.assertIn("hash", done.err, words)


if __name__ == "__main__":
    commands.main()
