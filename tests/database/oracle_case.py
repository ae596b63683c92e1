"""The cases of leveldb_test.py and rocksdb_test.py: a few databases with fixed seeds."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import built
import engines
import oracle

NOT_BUILT = 77


def program(engine):
    return built.program(f"drive_{engine}")


class OracleCase(unittest.TestCase):
    """Compares recordfs with the library of an engine. `campaign.py` does it with many more databases."""

    longMessage = True
    maxDiff = 4000
    engine = ""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="recordfs-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.check = oracle.Check(engines.Engine(program(self.engine)), self.folder)

    def assert_same(self, differences, seed):
        self.assertEqual(differences, [], f"{self.engine}, seed {seed}")

    def intact_databases_are_shown_as_their_library_reads_them(self, seeds):
        for seed in seeds:
            self.assert_same(self.check.intact(seed), seed)

    def damage_loses_only_keys_of_the_damaged_file_and_is_marked(self, seed):
        self.assert_same(self.check.damaged(seed), seed)

    def killed_writers_leave_what_recovery_finds(self, seeds):
        for seed in seeds:
            self.assert_same(self.check.killed(seed), seed)

    def database_in_use_is_shown_in_one_state(self, seed):
        self.assert_same(self.check.concurrent(seed, 5), seed)


def main(engine):
    """Runs the cases, or exits with 77 if the library was missing at build time."""
    built.parse_places()
    if not engines.Engine.is_built(program(engine)):
        print(f"SKIPPED: drive_{engine} is not built, because lib{engine}-dev is not installed "
              f"(scripts/packages oracles). recordfs was not compared with {engine}.", file=sys.stderr)
        sys.exit(NOT_BUILT)
    built.main()
