#!/usr/bin/env python3
"""What each way to handle damage does, and which exceptions there are."""
import errno
import os
import unittest
import warnings

import cases
import recordfs
from cases import Case


class FlippedByte(Case):
    def setUp(self):
        super().setUp()
        self.records = [b"%04d" % i for i in range(100)]
        self.path = self.write("a.tfrecord", self.records)
        with self.path.open("r+b") as file:
            file.seek(20 * 50 + 13)
            file.write(b"X")  # in record 50

    def test_raise_is_the_default(self):
        read = []
        with self.assertRaises(recordfs.DamageError) as raised:
            for record in recordfs.open(self.path):
                read.append(record)
        self.assertEqual(read, self.records[:50])
        self.assertEqual(raised.exception.path, str(self.path))
        self.assertEqual(raised.exception.offset // 20, 50)
        self.assertIn("checksum", raised.exception.reason)
        self.assertIn(f"{self.path}: byte ", str(raised.exception))

    def test_iteration_ends_after_it_has_raised(self):
        records = iter(recordfs.open(self.path))
        with self.assertRaises(recordfs.DamageError):
            list(records)
        self.assertEqual(list(records), [])

    def test_skip(self):
        ds = recordfs.open(self.path, on_damage="skip")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(list(ds), self.records[:50] + self.records[51:])

    def test_report_warns(self):
        ds = recordfs.open(self.path, on_damage="report")
        with self.assertWarns(recordfs.DamageWarning):
            self.assertEqual(list(ds), self.records[:50] + self.records[51:])

    def test_what_was_skipped_is_listed(self):
        for read in (list, lambda ds: list(ds.shuffled(1)), lambda ds: list(ds.batches(7)), lambda ds: list(ds.grep("0")),
                     lambda ds: [record for split in ds.splits(500) for record in ds.read_split(split)],
                     lambda ds: list(recordfs.Dataset(ds._opened, on_damage="skip")[40:60])):
            for how in ("skip", "report"):
                ds = recordfs.open(self.path, on_damage=how)
                self.assertEqual(ds.damage, [])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    read(ds)
                    read(ds)
                found, = ds.damage
                self.assertEqual((found.shard, found.begin // 20, found.kind), (0, 50, "damage"))
                self.assertGreaterEqual(found.end, 20 * 51)
                self.assertIn("checksum", found.reason)
                self.assertIn(found.first_ordinal, (51, None))
        with self.assertRaises(recordfs.DamageError):
            list(ds := recordfs.open(self.path))
        self.assertEqual(ds.damage, [])

    def test_skipped_region_that_a_scan_finds_is_listed_once(self):
        with self.path.open("r+b") as file:
            file.seek(20 * 70)
            file.write(b"\xff" * 12)  # a header
        ds = recordfs.open(self.path, on_damage="skip")
        before = ds.damage
        self.assertEqual([damage.begin // 20 for damage in before], [70])
        self.assertEqual(len(list(ds)), 98)
        self.assertEqual([damage.begin // 20 for damage in ds.damage], [70, 50])
        self.assertEqual(ds.damage[:1], before)

    def test_damage_is_listed(self):
        found = [(damage.shard, damage.begin // 20, damage.kind) for damage in recordfs.open(self.path).damage]
        self.assertLessEqual(found, [(0, 50, "damage")])

    def test_random_order(self):
        skipping = recordfs.open(self.path, on_damage="skip")
        self.assertEqual(len(list(skipping.shuffled(1))), 99)
        with self.assertRaises(recordfs.DamageError):
            list(recordfs.open(self.path).shuffled(1))


class OtherErrors(Case):
    def test_file_that_is_rewritten(self):
        path = self.write("a.tfrecord", [b"x" * 100] * 1000)
        ds = recordfs.open(path, cache_size=0)
        self.assertEqual(len(ds), 1000)
        path.write_bytes(os.urandom(path.stat().st_size))
        with self.assertRaises((OSError, recordfs.DamageError)) as raised:
            list(ds)
        if isinstance(raised.exception, OSError):
            self.assertEqual(raised.exception.errno, errno.ESTALE)

    def test_limit(self):
        path = self.write("a.tfrecord", [b"x" * 100_000])
        with self.assertRaises(recordfs.LimitError):
            list(recordfs.open(path, max_chunk=10_000))

    def test_errno_of_the_system(self):
        with self.assertRaises(OSError) as raised:
            recordfs.open(self.folder / "nothing")
        self.assertEqual(raised.exception.errno, errno.ENOENT)
        self.assertEqual(raised.exception.filename, str(self.folder / "nothing"))

    def test_messages_have_only_what_is_known(self):
        self.assertEqual(str(recordfs.DamageError("a", 0, "why")), "a: byte 0: why")
        self.assertEqual(str(recordfs.UnsupportedError("a", 0, "why")), "a: why")
        self.assertEqual(str(recordfs.DamageError("", 0, "why")), "why")

    def test_exceptions_pickle(self):
        import pickle

        failed = recordfs.DamageError("a", 5, "why")
        copy = pickle.loads(pickle.dumps(failed))
        self.assertEqual((copy.path, copy.offset, copy.reason), ("a", 5, "why"))


if __name__ == "__main__":
    cases.main()
