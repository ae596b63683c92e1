#!/usr/bin/env python3
"""recordfs export --select, of transposed chunks that are read for some fields only."""
import pathlib
import struct

import commands

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
