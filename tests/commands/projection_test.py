#!/usr/bin/env python3
"""Commands that decompress only some fields of transposed chunks print what they print of whole records."""
import commands
import transposed
from export_fields_test import TRANSPOSED, descriptors

RANDOM = (["--shuffle", "7"], ["--shuffle", "7", "--sample", "100"], ["--sample", "50", "--seed", "3"])
SHOWN = ([], ["-c"], ["-l"], ["-q"], ["--ordinals"], ["-o"], ["-m", "5"], ["--json", "--no-raw"], ["-v"], ["-v", "-c"])


class SameOutput(commands.Case):
    """Transposed chunks beside simple ones of the same records."""

    def setUp(self):
        super().setUp()
        (self.folder / "types.pb").write_bytes(descriptors())
        self.types = ["--descriptors", self.folder / "types.pb", "--type", "Host"]
        self.transposed, self.plain = (self.folder / name / "x.riegeli" for name in ("transposed", "plain"))
        for path in (self.transposed, self.plain):
            path.parent.mkdir()
        self.transposed.write_bytes(TRANSPOSED.read_bytes())
        self.good("export", TRANSPOSED, "-o", self.plain)

    def assert_same(self, verb, *words):
        mine, want = (self.recordfs(verb, *self.types, *words, path) for path in (self.transposed, self.plain))
        printed = [done.out.replace(b"/transposed/", b"/plain/") for done in (mine, want)]
        self.assertEqual((mine.status, *printed[:1]), (want.status, *printed[1:]), words)
        self.assertEqual(mine.err.replace("/transposed/", "/plain/"), want.err, words)
        return want

    def test_grep(self):
        for field, pattern in (("name", "host1$"), ("id", "99"), ("load", "^1[.]5$"), ("note.level", "7"), ("note", "x"), ("name", "nothing")):
            for words in SHOWN:
                for condition in ([], ["--where", "id > 100 and load < 900"])[: 2 if words in ([], ["-c"]) else 1]:
                    self.assert_same("grep", "--field", field, *words, *condition, "-e", pattern)
        self.assertGreater(len(self.assert_same("grep", "--field", "id", "-e", "99").out), 1000)

    def test_records_of_a_condition(self):
        for condition in ("id > 100 and load < 900", "name ~ '1$'", "note.level is null", "id < 0", "id == 2500"):
            for verb, *words in (("cat",), ("cat", "--json"), ("head", "-n", "3"), ("tail", "-n", "3", "--json"), ("head", "-n", "-9")):
                self.assert_same(verb, *words, "--where", condition)
        self.assertGreater(len(self.assert_same("cat", "--where", "id > 100 and load < 900").out), 1000)

    def test_rows_in_a_random_order(self):
        for order in RANDOM:
            for selected in ("id", "name,load", "note"):
                for condition in ([], ["--where", "id > 100 and name ~ '1$'"]):
                    for form in ("csv", "jsonl", "parquet"):
                        self.assert_same("export", *order, "--select", selected, *condition, "--to", form, "-o", "-")
        both = [self.good("export", *self.types, "--shuffle", "7", "--select", "id", "--to", "csv", "-o", "-", *files)
                for files in ((self.transposed, self.plain), (self.plain, self.plain))]
        self.assertEqual(*both)
        self.assertEqual(both[0].count(b"\n"), 6001)


class OtherFields(commands.Case):
    """Only what needs a damaged field finds its damage."""

    def setUp(self):
        super().setUp()
        self.damaged, types = (self.folder / name for name in ("damaged.riegeli", "types.pb"))
        self.damaged.write_bytes(transposed.damaged())
        types.write_bytes(transposed.descriptors())
        self.types = ["--descriptors", types, "--type", "M"]

    def test_are_not_decompressed(self):
        for words in (["grep", "-c", "--field", "id", "-e", "1"], ["grep", "--ordinals", "--field", "id", "-e", "26", "--where", "time > 1000"],
                      ["grep", "-o", "--field", "id", "-e", "9+"], ["grep", "--field", "id", "-e", "nothing"],
                      ["cat", "--where", "id < 0"], ["head", "--json", "--where", "id < 0 and time > 1"],
                      *(["export", *order, "--select", "id,time", "--to", form, "-o", "-"] for order in ([], *RANDOM) for form in ("csv", "jsonl"))):
            verb, *words = words
            mine, want = (self.recordfs(verb, *self.types, *words, path) for path in (self.damaged, transposed.SOUND))
            self.assertEqual(mine, want, words)
            self.assertIn(want.status, (0, 1) if verb == "grep" else (0,), words)

    def test_are_decompressed_for_whole_records(self):
        for verb, *words in (["cat"], ["cat", "--json", "--fields", "id"], ["cat", "--where", "id > 0"], ["grep", "--field", "id", "-e", "1"],
                             ["grep", "-c", "-e", "1"], ["head", "-n", "1", "--where", "id > 0"],
                             ["export", "--shuffle", "7", "--to", "tfrecord", "-o", "-"]):
            types = self.types if {"--fields", "--field", "--where"} & set(words) else []
            done = self.recordfs(verb, *types, *words, self.damaged)
            self.assertEqual(done.status, 2 if verb == "grep" else commands.DAMAGE, words)
            self.assertIn("brotli", done.err, words)


if __name__ == "__main__":
    commands.main()
