#!/usr/bin/env python3
"""recordfs export: wide tables, and sets without records."""
import csv
import io
import json
import struct

import commands
from tfrecords import example, tfrecord


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

    def test_examples_of_a_container_without_types_have_their_columns(self):
        examples = self.folder / "examples.tfrecord"
        examples.write_bytes(tfrecord([example({"a": [i], "b": [b"x"]}) for i in range(3)]))
        self.exported("a.riegeli", examples)
        for name in ("b.csv", "b.jsonl"):
            self.assertEqual(self.exported(name, self.target / "a.riegeli"), self.exported(f"of{name}", examples))
        header = next(csv.reader(io.StringIO((self.target / "b.csv").read_text(encoding="utf-8"))))
        self.assertEqual(header, ["a", "b"])
        self.assertEqual(json.loads((self.target / "b.jsonl").read_bytes().splitlines()[2]), {"a": [2], "b": ["x"]})


if __name__ == "__main__":
    commands.main()
