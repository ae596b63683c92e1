#!/usr/bin/env python3
"""Damaged databases: all commands have the same answer, and the exit status tells it."""
import shutil
import subprocess
import unittest

import commands
import databases


class DamagedDatabases(databases.Case):
    def setUp(self):
        super().setUp()
        self.name = ""  # of the sample
        self.said = []  # the messages of the commands that read the database

    def statuses(self, source, *options, key=None):
        """Returns the exit statuses of the commands that read keys, and those of verify, report and recover."""
        key = key or self.recordfs("keys", *options, commands.sample(self.name)).out.decode().splitlines()[0]
        words = [("keys",), ("cat", "--json"), ("info",), ("grep", "no such text")]
        read = [self.recordfs(*word, *options, source) for word in words] + [self.recordfs("get", *options, source, key)]
        self.said = [done.err for done in read]
        whole = [self.recordfs(*word, *options, source).status
                 for word in (("verify",), ("report", "-o", self.folder / "page"), ("recover", "-o", self.folder / "new"))]
        shutil.rmtree(self.folder / "new", ignore_errors=True)
        return [done.status for done in read], whole

    def copy(self, name):
        self.name = name
        shutil.rmtree(self.folder / "database", ignore_errors=True)
        return self.copy_database(name)

    def assert_damaged(self, source, reason):
        damage = commands.DAMAGE
        self.assertEqual(self.statuses(source), ([damage, damage, damage, databases.FAILED, databases.FAILED], [damage] * 3))
        for said in self.said:
            self.assertIn(reason, said)

    def test_intact_database_is_no_damage(self):
        for name in (databases.LEVELS, databases.FAMILIES):
            self.assertEqual(self.statuses(self.copy(name)), ([0, 0, 0, databases.NOT_FOUND, 0], [0, 0, 0]))
            self.assertEqual("".join(self.said), "")

    def test_swapped_logs(self):
        for name, one, other in (("rocksdb7-merge-operators", 20, 24), ("rocksdb11-predecessor-records-recycled", 10, 12)):
            source = self.copy(f"database/{name}")
            first, second = (source / f"{number:06}.log" for number in (one, other))
            before = first.read_bytes()
            first.write_bytes(second.read_bytes())
            second.write_bytes(before)
            self.assert_damaged(source, "is not the log of its name")

    def test_tables_that_cannot_be_opened(self):
        for cut in (lambda data: b"", lambda data: bytes(len(data))):
            source = self.copy(databases.LEVELS)
            for table in source.glob("*.ldb"):
                table.write_bytes(cut(table.read_bytes()))
            statuses, whole = self.statuses(source)
            self.assertEqual((statuses[:3], whole), ([commands.DAMAGE] * 3, [commands.DAMAGE] * 3))

    def test_current_names_no_manifest(self):
        source = self.copy(databases.LEVELS)
        (source / "CURRENT").write_text("MANI")
        self.assert_damaged(source, "is the newest MANIFEST")

    def test_tables_and_options_are_what_is_left_of_a_database(self):
        source = self.copy("database/rocksdb7-format1-zstd")
        (source / "OPTIONS-000007").write_bytes(b"")
        for name in ("CURRENT", "MANIFEST-*", "*.log"):
            for path in source.glob(name):
                path.unlink()
        self.assert_damaged(source, "without the MANIFEST, all tables and logs count")

    def test_torn_ends_are_noted_and_are_damage_of_files_only(self):
        for pattern in ("MANIFEST-*", "*.log"):
            source = self.copy("database/rocksdb11-levels-100")
            torn, = source.glob(pattern)
            torn.write_bytes(torn.read_bytes()[:-3])
            self.assertEqual(self.statuses(source), ([0, 0, 0, databases.NOT_FOUND, 0], [commands.DAMAGE] * 3), torn)
            for said in self.said:
                self.assertRegex(said, rf"\Arecordfs: {torn}: byte \d+: .*, as after a crash, and the database opens without it"
                                       r" \(try: recordfs verify\)\n\Z")

    @unittest.skipUnless(shutil.which("ldb"), "no ldb (Debian: rocksdb-tools)")
    def test_tables_in_another_order_than_the_manifest_says(self):
        for name in ("rocksdb7-reverse", "rocksdb7-timestamps"):
            source = self.copy(f"database/{name}")
            subprocess.run(["ldb", "repair", f"--db={source}"], check=True, capture_output=True)
            statuses, whole = self.statuses(source, key="key00001")
            self.assertEqual((statuses[:3], whole[:2]), ([commands.DAMAGE] * 3, [commands.DAMAGE] * 2), name)
            self.assertRegex(self.said[0], "the keys of the table are in the order of .*, and those of its family in that of leveldb.Bytewise")

    def test_files_in_other_directories_are_no_damage(self):
        name = "database/rocksdb11-db-paths"
        self.name = name
        options = ("--db-path", commands.sample(name) / "path1")
        self.assertEqual(self.statuses(commands.sample(name), *options), ([0, 0, 0, databases.NOT_FOUND, 0], [0, 0, 0]))


if __name__ == "__main__":
    commands.main()
