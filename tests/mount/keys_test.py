#!/usr/bin/env python3
"""keys/: the last value that a write-ahead log writes for each key, under the key's name."""
import os
import struct
import sys
import time
from pathlib import Path

import mounting
import waiting_test
from tfrecords import log_fragment, varint

sys.path.append(str(Path(__file__).resolve().parent.parent / "writers" / "leveldb_table"))

import rocksdb  # noqa: E402
import table  # noqa: E402


def log(records):
    out = bytearray()
    for record in records:
        first, last = True, False
        while not last:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += bytes(left)
                continue
            piece, record = record[:left - 7], record[left - 7:]
            last = not record
            out += log_fragment({(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, last], piece)
            first = False
    return bytes(out)


def string(text):
    return varint(len(text)) + text


class Batches:
    """Write batches with sequence numbers, as a database writes them."""

    def __init__(self):
        self.records, self.sequence = [], 1

    def add(self, *operations):
        operations = [each for operation in operations for each in (operation if isinstance(operation, list) else [operation])]
        counted = sum(operation[0] in (0, 1, 2, 5, 7, 15) for operation in operations)
        self.records.append(struct.pack("<QI", self.sequence, counted) + b"".join(operations))
        self.sequence += counted
        return self


def put(key, value, family=None):
    return (b"\x01" if family is None else b"\x05" + bytes([family])) + string(key) + string(value)


def delete(key):
    return b"\x00" + string(key)


class Keys(mounting.Case):
    def mounted(self, batches, **how):
        self.path = self.folder / "000003.log"
        self.path.write_bytes(log(batches.records))
        self.mount_point = self.mount(self.path, **how)
        return self.mount_point.point / "keys"

    def values(self, folder):
        return {name: (folder / name).read_bytes() for name in os.listdir(folder)}

    def assert_missing(self, path):
        with self.assertRaises(FileNotFoundError):
            os.lstat(path)

    def test_names_are_keys_where_file_names_allow_it(self):
        names = {b"a/b": "a%2Fb", b"\xff\x00": "%FF%00", "ä b".encode(): "ä b", b"%": "%25", b"k" * 200: "k" * 200}
        hashed = [b"", b".", b"..", b"names.tsv", b"column-families", b"k" * 201, b"like~0123456789abcdef"]
        every = [*names, *hashed]
        keys = self.mounted(Batches().add(*(put(key, b"%d" % number) for number, key in enumerate(every))))
        table = dict(line.split("\t") for line in (keys / "names.tsv").read_text().split("\n")[1:-1])
        found = {every[int(value)]: name for name, value in self.values(keys).items() if name != "names.tsv"}
        self.assertEqual(sorted(found), sorted(every))
        for key, name in found.items():
            if key in names:
                self.assertEqual(name, names[key])
            else:
                self.assertRegex(name, f"^{key.decode()[:100]}~[0-9a-f]{{16}}$")
            self.assertEqual(name in table, name.encode() != key, name)
        self.assertEqual(table[found[b"k" * 201]], "k" * 201)
        self.assertEqual(len(table), len(hashed) + 3)
        self.assertEqual(self.mount_point.log(), "")
        for alias in ("%ff%00", "a%2fb", "%6B", "%", "%4", "k~0123456789abcdef", "k" * 201):
            self.assert_missing(keys / alias)

    def test_keys_of_a_table_are_in_its_column_family(self):
        written = rocksdb.RocksTable(family=7)
        written.add([(table.internal(b"k", 1), b"seven")])
        path = self.folder / "000012.sst"
        path.write_bytes(written.finish())
        keys = self.mount(path).point / "keys"
        self.assertEqual(os.listdir(keys), ["column-families"])
        self.assertEqual(os.listdir(keys / "column-families"), ["7"])
        self.assertEqual(self.values(keys / "column-families/7"), {"k": b"seven"})
        self.assert_missing(keys / "k")

    def test_keys_are_listed_without_a_table_of_names_that_is_too_large(self):
        long = b"\xff" * 65536  # three bytes for each in names.tsv, whose limit is 64 MiB
        ends = [table.internal(b"%03d" % number, 1) for number in range(400)]
        content = varint(0) + varint(len(long + ends[0])) + varint(0) + long + ends[0]
        content += b"".join(varint(len(long)) + varint(len(end)) + varint(0) + end for end in ends[1:])
        written = table.Table()
        place, _ = written.add_raw(content + struct.pack("<II", 0, 1))
        written.index.append((long + ends[-1], place))
        path = self.folder / "000012.ldb"
        path.write_bytes(written.finish())
        self.assertEqual(len(os.listdir(self.mount(path).point / "keys")), len(ends))

    def test_long_key_is_found_by_its_hash_before_a_listing(self):
        batches = Batches().add(put(b"z" * 300, b"long"), put(b"a", b"short"))
        name = next(name for name in os.listdir(self.mounted(batches)) if name.startswith("z"))
        self.assertEqual((self.mounted(batches) / name).read_bytes(), b"long")

    def test_damaged_record_leaves_the_previous_value(self):
        batches = Batches().add(put(b"a", b"old"), put(b"b", b"old")).add(put(b"a", b"new")).add(delete(b"b")).add(put(b"c", b"new"))
        whole = bytearray(log(batches.records))
        whole[whole.index(b"new")] ^= 1
        path = self.folder / "damaged.log"
        path.write_bytes(whole)
        mounted = self.mount(path)
        self.assertEqual(self.values(mounted.point / "keys"), {"a": b"old", "c": b"new"})
        self.assertIn("damage", mounted.log())

    def test_only_write_ahead_logs_have_keys(self):
        for name in ("leveldb_log/rocksdb-manifest/MANIFEST-000005", "leveldb_log/spec-abc.log"):
            self.assertFalse(os.path.lexists(self.mount(mounting.sample(name)) / "keys"), name)

    def test_record_that_is_not_a_batch_has_an_empty_directory(self):
        mounted = self.mount(mounting.sample("leveldb_log/batch-with-wrong-count.log"))
        self.assertEqual(len((mounted / "records/1").read_bytes()), len((mounted / "records/000000001").read_bytes()))
        self.assertEqual(os.listdir(mounted / "inside/000000001"), [])
        self.assertEqual(self.values(mounted / "keys"), {"a": (mounted / "inside/0/000000/value").read_bytes()})
        mounted.wait_for_log("the record is not a write batch .keys may be missing, or their values older ones.")

    def test_keys_of_a_followed_log_are_updated(self):
        batches = Batches().add(put(b"a", b"old"), put(b"gone", b"x"))
        keys = self.mounted(batches, options=["follow"])
        self.assertEqual((keys / "a").read_bytes(), b"old")
        inode = (keys / "a").stat().st_ino
        whole = log(batches.add(put(b"a", b"newer"), put(b"b", b"added"), delete(b"gone")).records)
        with self.path.open("ab") as file:
            file.write(whole[self.path.stat().st_size:])
        mounting.wait_for(lambda: (keys / "a").read_bytes() == b"newer", "the appended value")
        mounting.wait_for(lambda: sorted(os.listdir(keys)) == ["a", "b"], "the current keys")
        self.assertEqual((keys / "a").stat().st_ino, inode)


class WaitingForKeys(waiting_test.SlowSource):
    """The keys of a log whose reads are stopped in the middle."""

    def setUp(self):
        super().setUp()
        batches = Batches()
        for number in range(400):
            batches.add(put(b"%06d" % number, b"v" * 5000))
        (self.folder / "backing/slow.log").write_bytes(log(batches.records))
        time.sleep(0.05)  # as in waiting_test.SlowSource
        self.mounted = self.mount(self.slow / "slow.log")
        self.hold_reads_beyond(1500000)

    def test_waiting_reader_is_interrupted_and_delays_no_other(self):
        for command, name in [("ls", "keys/"), ("stat", "keys/00000{}"), ("cat", "keys/00039{}")]:
            with self.subTest(command=command):
                readers = [self.start(command, name.format(number)) for number in range(10)]
                self.assert_waits(readers[0])
                self.assert_answers("cat", "info.json")
                for reader in readers:
                    self.assert_interrupted_at_once(reader)
        waiting = self.start("ls", "keys/")
        self.assert_waits(waiting)
        self.open_gate()
        self.assertEqual(len(waiting.communicate(timeout=mounting.PATIENCE)[0].split()), 400)


if __name__ == "__main__":
    mounting.main()
