#!/usr/bin/env python3
"""recordfs shows what RocksDB itself reads from its databases."""
import random
import unittest

import ldb
import oracle_case


class RocksDB(oracle_case.OracleCase):
    engine = "rocksdb"

    def test_intact_databases_are_shown_as_the_library_reads_them(self):
        self.intact_databases_are_shown_as_their_library_reads_them(range(1, 13))

    @unittest.skipUnless(ldb.is_installed(), "rocksdb-tools is not installed (scripts/packages oracles)")
    def test_levels_and_stored_versions_are_those_of_ldb(self):
        keys = 0
        for seed in range(1, 9):
            directory = self.check.directory(seed)
            self.check.oracle.write(seed, directory)
            differences, compared = ldb.compare(directory, self.check.oracle.read(seed, directory), random.Random(seed))
            self.assert_same(differences, seed)
            keys += compared
        self.assertGreater(keys, 100)

    def test_damage_loses_only_keys_of_the_damaged_file_and_is_marked(self):
        self.damage_loses_only_keys_of_the_damaged_file_and_is_marked(3)

    def test_killed_writers_leave_what_recovery_finds(self):
        self.killed_writers_leave_what_recovery_finds(range(101, 105))

    def test_database_in_use_is_shown_in_one_state(self):
        self.database_in_use_is_shown_in_one_state(201)


if __name__ == "__main__":
    oracle_case.main("rocksdb")
