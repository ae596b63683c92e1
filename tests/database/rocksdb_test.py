#!/usr/bin/env python3
"""recordfs shows what RocksDB itself reads from its databases."""
import random
import unittest

import ldb
import oracle_case


# Seeds of databases that need nothing that recordfs lacks, with RocksDB 7.8 and 9.10.
SEEDS = (1, 2, 8, 17, 23, 34)


class RocksDB(oracle_case.OracleCase):
    engine = "rocksdb"

    def test_intact_databases_are_shown_as_the_library_reads_them(self):
        self.intact_databases_are_shown_as_their_library_reads_them(SEEDS)

    @unittest.skipUnless(ldb.is_installed(), "rocksdb-tools is not installed (scripts/packages oracles)")
    def test_levels_and_stored_versions_are_those_of_ldb(self):
        keys = 0
        for seed in SEEDS:
            folder = self.check.folder_of(seed)
            truth = self.check.engine.read(self.check.engine.write(seed, folder), folder)
            differences, compared = ldb.compare(folder / "db", truth, random.Random(seed))
            self.assert_same(differences, seed)
            keys += compared
        self.assertGreater(keys, 60)

    def test_damage_loses_only_keys_of_the_damaged_file_and_is_marked(self):
        self.damage_loses_only_keys_of_the_damaged_file_and_is_marked(17)

    def test_killed_writers_leave_what_recovery_finds(self):
        self.killed_writers_leave_what_recovery_finds((101,))

    def test_database_in_use_is_shown_in_one_state(self):
        self.database_in_use_is_shown_in_one_state(214)


if __name__ == "__main__":
    oracle_case.main("rocksdb")
