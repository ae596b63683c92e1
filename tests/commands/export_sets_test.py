#!/usr/bin/env python3
"""recordfs export: sets without records, and without types."""
import csv
import io
import json

import commands
from tfrecords import example, tfrecord


class ExportSets(commands.Case):
    def setUp(self):
        super().setUp()
        self.target = self.folder / "target"
        self.target.mkdir()

    def exported(self, name, *words):
        self.assertEqual(self.good("export", *words, "-o", self.target / name), b"")
        return (self.target / name).read_bytes()

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
