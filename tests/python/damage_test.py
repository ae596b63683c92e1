#!/usr/bin/env python3
"""What each way to handle damage does, and which exceptions there are."""
import errno
import os
import re
import subprocess
import sys
import warnings

import cases
import recordfs
from arrow_consumer import rows
from cases import Case

try:
    import numpy
except ImportError:
    numpy = None


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
                self.assertEqual(found.end - found.begin, 20)
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


# Reads a whole data set, in several ways.
READERS = {
    "shuffled": lambda ds: list(ds.shuffled(1)),
    "part of shuffled": lambda ds: list(ds.shuffled(1)[3:]),
    "reversed": lambda ds: list(reversed(ds)),
    "slice with a step": lambda ds: list(ds[::2]),
    "sample": lambda ds: list(ds.sample(5)),
    "batch of a DataLoader": lambda ds: ds.__getitems__(range(len(ds))),
    "slice of the counted records": lambda ds: list(ds[: len(ds)]),
    "slice from the end": lambda ds: list(ds[-len(ds):]),
    "long slice": lambda ds: list(ds[:4000]),
    "counted slice": lambda ds: [len(view := ds[:4000]), list(view)],
    "batches": lambda ds: list(ds[:4000].batches(7)),
}


class LostRecords(Case):
    """Records that the count does not include."""

    def check(self, ways, words, expected):
        for name, read in ways.items():
            with self.subTest(name=name):
                with self.assertRaisesRegex(recordfs.DamageError, expected):
                    read(recordfs.open(words))
                with self.assertWarnsRegex(recordfs.DamageWarning, expected):
                    read(recordfs.open(words, on_damage="report"))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    read(recordfs.open(words, on_damage="skip"))

    def write_set(self, missing):
        """Writes a set of four shards with ten records each, without the missing ones. Returns its name."""
        name = "without" + "".join(map(str, missing))
        for shard in set(range(4)) - set(missing):
            self.write(f"{name}-{shard:05}-of-00004", [b"%d" % (10 * shard + i) for i in range(10)])
        return self.folder / f"{name}@4"

    def write_cut(self, count=100):
        """Writes a file that ends in a record. Returns its path."""
        path = self.write("cut.tfrecord", [b"%04d" % i for i in range(count + 1)])
        os.truncate(path, 20 * count + 7)
        return path

    def test_no_view_of_a_cut_file_is_silently_short(self):
        self.check(READERS, self.write_cut(), "byte 2000: the file ends inside a record")

    def test_no_view_of_a_set_without_a_shard_is_silently_short(self):
        for missing in ([0], [1], [3], [1, 2], [2, 3]):
            with self.subTest(missing=missing):
                self.check(READERS, self.write_set(missing), "missing")

    def test_no_view_of_a_file_with_a_damaged_header_is_silently_short(self):
        path = self.write("a.tfrecord", [b"%04d" % i for i in range(100)])
        with path.open("r+b") as file:
            file.seek(20 * 50)
            file.write(b"\xff" * 12)
        self.check(READERS, path, "byte 1000: ")

    def test_slice_that_begins_at_the_damaged_end(self):
        ways = {str(bounds): lambda ds, bounds=bounds: self.assertEqual(list(ds[slice(*bounds)]), [])
                for bounds in ((100, None), (100, 101), (100, 2000), (150, None))}
        self.check(ways, self.write_cut(), "byte 2000: the file ends inside a record")
        ways = {str(bounds): lambda ds, bounds=bounds: self.assertEqual(list(ds[slice(*bounds)]), [])
                for bounds in ((20, None), (20, 21), (25, 35))}
        self.check(ways, self.write_set([2, 3]), "missing")

    def test_views_without_the_lost_records_are_read(self):
        ds = recordfs.open(self.write_cut())
        self.assertEqual(len(ds), 100)
        self.assertEqual(len(ds[:10].shuffled().__getitems__(range(10))), 10)
        for view, count in ((ds[:99], 99), (ds[:10].shuffled(), 10), (ds[5:50:3], 15), (ds[-10:-1], 9), (ds[9::-1], 10), (ds[100:100], 0),
                            (ds[20:50].sample(100), 30), (ds[10:20][::-1][2:5], 3), (ds[10:20][::-1][2:5][::-1], 3)):
            self.assertEqual(len(list(view)), count)
        ds = recordfs.open(self.write_set([2]))
        self.assertEqual(sorted(ds[:20].shuffled()), sorted(b"%d" % i for i in range(20)))
        self.assertEqual(list(ds[29:20:-1]), [b"%d" % i for i in range(39, 30, -1)])

    def test_lower_bound_of_the_lost_records(self):
        found, = recordfs.open(self.write_cut()).damage
        self.assertEqual((found.begin, found.kind, found.first_ordinal, found.records_lost, found.least_lost),
                         (2000, "unfinished", 100, None, 1))

    def test_consecutive_missing_shards_are_one_entry(self):
        self.write("x-00001-of-100000", [b"a"])
        self.write("x-00777-of-100000", [b"b"])
        ds = recordfs.open(self.folder / "x@100000", on_damage="skip")
        self.assertEqual(sorted(ds.shuffled(1)), [b"a", b"b"])
        found = ds.damage
        self.assertEqual([(one.shard, one.kind) for one in found], [(0, "missing"), (2, "missing"), (778, "missing")])
        self.assertIn("x-00000-of-100000: this shard is missing", found[0].reason)
        self.assertIn("shards 00002-00776 (775) are missing", found[1].reason)
        with self.assertWarnsRegex(recordfs.DamageWarning, "00778-99999") as warned:
            list(recordfs.open(self.folder / "x@100000", on_damage="report").shuffled(1))
        self.assertLessEqual(len(warned.warnings), 3)

    def test_end_of_the_damage_is_that_of_the_bad_record(self):
        path = self.write("a.tfrecord", [b"%04d" % i for i in range(3000)])
        with path.open("r+b") as file:
            file.seek(20 * 1500 + 13)
            file.write(b"X")
        for read in (list, lambda ds: list(ds.shuffled(1)), lambda ds: list(ds.grep("0")), lambda ds: list(ds.batches(100))):
            read(ds := recordfs.open(path, on_damage="skip"))
            found, = ds.damage
            self.assertEqual((found.begin, found.end), (20 * 1500, 20 * 1501))


class Columns(Case):
    """What reads columns, of a file with a damaged record and one that cannot be decoded."""

    READERS = {
        "select": lambda ds: list(ds.select()),
        "picked rows": lambda ds: list(ds[::-1].select()),
        "column_statistics": lambda ds: ds.column_statistics(),
        "to_numpy": lambda ds: ds.to_numpy(),
        "Arrow": lambda ds: rows(ds.arrow(decode=True)),
    }

    def setUp(self):
        super().setUp()
        self.path = self.write("a.tfrecord", [b'{"a": 1}', b'{"a": 2}', b"no JSON.", b'{"a": 4}'])
        with self.path.open("r+b") as file:
            file.seek(24 + 17)
            file.write(b"X")  # in record 1

    def test_report_warns_of_each_record_that_is_left_out(self):
        for name, read in self.READERS.items():
            if name == "to_numpy" and numpy is None:
                continue
            with self.subTest(name=name):
                with self.assertWarns(recordfs.DamageWarning) as warned:
                    read(recordfs.open(self.path, on_damage="report"))
                texts = [str(one.message) for one in warned.warnings]
                self.assertEqual(len(texts), 2, texts)
                for expected in ("a.tfrecord: byte 24: .*checksum", "a.tfrecord: (not a JSON object|1 record cannot be decoded)"):
                    self.assertEqual(len([text for text in texts if re.search(expected, text)]), 1, texts)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    read(recordfs.open(self.path, on_damage="skip"))

    def test_warning_that_is_an_error_ends_the_reading(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(recordfs.DamageWarning):
                list(recordfs.open(self.path, on_damage="report").select())
            _, error = rows(recordfs.open(self.path, on_damage="report"))
            self.assertIn("a warning of what was skipped raised an exception", error)


class BadSector(Case):
    SCRIPT = """
import sys, warnings, recordfs
path, records = sys.argv[1], int(sys.argv[2])
warnings.simplefilter("ignore")
for how in ("skip", "report"):
    ds = recordfs.open(path, on_damage=how, index="no")
    read = list(ds)
    assert records - 20 < len(read) < records, len(read)
    assert read[0] == ds[0] and read[-1] == ds[-1]
    assert len(ds) - 20 <= len(read) <= len(ds)
    for other in (lambda: ds.shuffled(1), lambda: [record for _, record in ds.grep("")],
                  lambda: [record for split in ds.splits(9999) for record in ds.read_split(split)]):
        assert sorted(other()) == sorted(read)
    found = ds.damage
    assert any("cannot be read: Input/output error" in one.reason for one in found), found
    assert all(abs(one.begin - 100000) < 9000 for one in found), found
ds = recordfs.open(path, index="no")
assert len(ds[:600]) == 600 and ds[0] == read[0]
for use in (list, lambda ds: list(ds.shuffled(1)), lambda ds: list(ds.grep("x"))):
    try:
        use(ds)
    except recordfs.DamageError as error:
        assert abs(error.offset - 100000) < 9000, error.offset
        assert "cannot be read: Input/output error" in error.reason, error.reason
    except OSError:
        assert not %(is_local)r
    else:
        raise AssertionError("nothing was raised")
"""

    def test_only_records_in_a_bad_sector_are_lost(self):
        library = cases.program("bad_sector.so")
        if not os.path.exists(library):
            self.skipTest("built without the tests of mounts")
        path = self.write("a.tfrecord", [b"%06d" % i * 20 for i in range(2000)])
        kind = subprocess.run(["stat", "-f", "-c", "%T", path], stdout=subprocess.PIPE, check=True).stdout.strip()
        is_local = kind in (b"tmpfs", b"ext2/ext3", b"xfs", b"btrfs")
        done = subprocess.run([sys.executable, "-c", self.SCRIPT % {"is_local": is_local}, path, "2000"],
                              env={**os.environ, "LD_PRELOAD": library,
                                   "RECORDFS_BAD_SECTOR": f"{path.stat().st_ino} 100000 100512"},
                              stderr=subprocess.PIPE, check=False, timeout=cases.PATIENCE)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))


class OtherErrors(Case):
    def test_error_of_a_set_names_the_shard(self):
        path = self.write("a.tfrecord", [b"a"] * 10)
        nothing = self.folder / "nothing"
        for use in (len, lambda ds: ds[10], lambda ds: list(ds), lambda ds: list(ds[20:]), lambda ds: list(ds.shuffled()),
                    lambda ds: ds.splits(count=2)):
            with self.assertRaises(FileNotFoundError) as raised:
                use(recordfs.open([path, nothing]))
            self.assertEqual((raised.exception.filename, raised.exception.strerror), (str(nothing), "No such file or directory"))

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


class DamagedMetadata(Case):
    def setUp(self):
        super().setUp()
        content = bytearray(cases.sample("riegeli/metadata_full_transposed.riegeli").read_bytes())
        self.whole = recordfs.open(cases.sample("riegeli/metadata_full_transposed.riegeli"))
        content[300] ^= 1
        self.path = self.folder / "damaged.riegeli"
        self.path.write_bytes(content)

    def test_all_that_decodes_records_raises(self):
        ds = recordfs.open(self.path)
        self.assertEqual(list(ds), list(self.whole))
        for read in (lambda: ds.decode(0), lambda: ds.json(0), lambda: ds.row(0), lambda: ds.columns, lambda: ds.column_statistics(),
                     lambda: list(ds.where("b = true")), lambda: ds.select("b"), lambda: ds.to_numpy(), lambda: list(ds.grep("1", field="b")),
                     lambda: ds.arrow().__arrow_c_stream__(), lambda: ds.metadata):
            with self.assertRaisesRegex(recordfs.DamageError, r"damaged.riegeli: byte \d+: the hash of the chunk's data does not match"):
                read()
        skipping = recordfs.open(self.path, on_damage="skip")
        self.assertEqual(list(skipping.grep("1", field="b")), [])
        self.assertIn("hash", skipping.damage[0].reason)

    def test_types_that_are_given_need_none(self):
        types = self.folder / "types"
        types.write_bytes(self.whole.metadata["file_descriptor_set"])
        ds = recordfs.open(self.path, type=self.whole.metadata["record_type_name"].decode(), descriptors=types)
        self.assertEqual((ds.row(0), ds.decode(3)), (self.whole.row(0), self.whole.decode(3)))

    def test_file_without_damage_gives_the_columns_of_a_set(self):
        good = self.folder / "good.riegeli"
        good.write_bytes(cases.sample("riegeli/metadata_full_transposed.riegeli").read_bytes())
        ds = recordfs.open([self.path, good])
        self.assertEqual(ds.columns, self.whole.columns)
        with self.assertRaises(recordfs.DamageError):
            ds.to_numpy(["u64"])
        skipping = recordfs.open([self.path, good], on_damage="skip")
        self.assertEqual(len(list(skipping.select("u64"))), len(self.whole))
        self.assertEqual({one.reason.split(": ")[-1] for one in skipping.damage}, {"the hash of the chunk's data does not match"})


if __name__ == "__main__":
    cases.main()
