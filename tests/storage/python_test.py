#!/usr/bin/env python3
"""The Python package reads sources of the slow storage."""
import pickle
import tempfile
import unittest
from pathlib import Path

import built
import recordfs

GOOD_FILE = "riegeli/simple_zstd9.riegeli"
DATABASE = "database/leveldb-levels"


class SlowStorage(unittest.TestCase):
    def test_records_are_those_of_the_local_file(self):
        path = built.sample(GOOD_FILE)
        with recordfs.open(path) as local, recordfs.open(built.stored(path)) as slow:
            self.assertEqual(list(slow), list(local))
            self.assertEqual(slow[len(local) - 1], local[-1])
            with pickle.loads(pickle.dumps(slow)) as copy:
                self.assertEqual(copy[1], local[1])

    def test_data_set_of_a_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(3):
                built.copy_of(GOOD_FILE, Path(folder), f"t-{number:05}-of-00003")
            with recordfs.open(folder) as local, recordfs.open(built.stored(folder)) as slow:
                self.assertEqual(list(slow), list(local))
            with recordfs.open(built.stored(f"{folder}/t-*")) as slow, recordfs.open(built.stored(f"{folder}/t@3")) as other:
                self.assertEqual(len(slow), len(other))

    def test_keys_of_a_database(self):
        path = built.sample(DATABASE)
        self.assertEqual(list(recordfs.open(built.stored(path)).keys), list(recordfs.open(path).keys))

    def test_missing_file(self):
        with self.assertRaises(FileNotFoundError):
            recordfs.open(built.stored("/nothing"))[0]


if __name__ == "__main__":
    built.main()
