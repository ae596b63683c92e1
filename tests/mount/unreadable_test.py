#!/usr/bin/env python3
"""Bytes that a disk cannot read: commands and mounts report them as damage, with their place, and read all others."""
import base64
import errno
import gzip
import json
import os
import random
import re

import faulty
import mounting
from keys_agree_test import recordfs
from tfrecords import tfrecord

DAMAGE = 4
SIZE = 3000  # bytes of a record, less than a page
FRAME = 16  # bytes around it in the file
PLACE = re.compile(r"bytes (\d+) to (\d+) cannot be read: Input/output error")


def record(number):
    return f"record {number:05} ".encode().ljust(SIZE, b".")


def block_of(bad):
    """Returns the blocks that the kernel reads together and that a bad sector at this byte spoils."""
    return bad // 4096 * 4096, (bad + 512 + 4095) // 4096 * 4096


def is_local(folder):
    """Returns whether recordfs takes a folder's filesystem for a local one."""
    return mounting.run("stat", "-f", "-c", "%T", folder).stdout.strip() in ("tmpfs", "ext2/ext3", "xfs", "btrfs")


class Commands(faulty.Case):
    def setUp(self):
        super().setUp()
        self.records = [record(number) for number in range(400)]
        (self.backing / "x.tfrecord").write_bytes(tfrecord(self.records))
        self.file = self.below / "x.tfrecord"

    def fault_sector(self, bad):
        begin, end = block_of(bad)
        self.fault(f"eio-range {begin} {end}")

    def command(self, *words):
        return mounting.run(mounting.program("recordfs"), *words, env=self.environment(), timeout=120)

    def unreadable_in(self, text):
        place = PLACE.search(text)
        self.assertTrue(place, text)
        return int(place[1]), int(place[2])

    def readable(self, begin, end):
        """Returns the records outside of these bytes of the file."""
        return [one for number, one in enumerate(self.records)
                if (number + 1) * (SIZE + FRAME) <= begin or number * (SIZE + FRAME) >= end]

    def check_around(self, bad):
        self.fault_sector(bad)
        verified = self.command("verify", "--json", self.file)
        self.assertEqual((verified.returncode, verified.stderr), (DAMAGE, ""))
        found = json.loads(verified.stdout)
        begin, end = self.unreadable_in(found["damage"][0]["reason"])
        self.assertLessEqual(begin, bad)
        self.assertGreaterEqual(end, bad + 512)
        self.assertLessEqual(end - begin, 3 * 4096)
        kept = self.readable(begin, end)
        self.assertEqual(found["records"], len(kept))
        self.assertEqual(found["status"], "damaged")
        copied = self.command("cat", "--lines", "--skip-damage", self.file)
        self.assertEqual(copied.returncode, DAMAGE)
        self.assertEqual(copied.stdout.encode().splitlines(), kept)
        self.assertRegex(copied.stderr, PLACE)

    def test_verify_and_cat_skip_a_bad_sector_in_the_data_of_a_record(self):
        self.check_around(100 * (SIZE + FRAME) + 1000)

    def test_verify_and_cat_skip_a_bad_sector_at_the_headers_of_records(self):
        self.check_around(100 * (SIZE + FRAME) - 100)

    def test_verify_and_cat_skip_a_bad_sector_at_the_beginning_and_at_the_end(self):
        self.check_around(2048)
        self.check_around(len(self.records) * (SIZE + FRAME) - 512)

    def test_listing_and_counts_go_on_after_a_bad_sector(self):
        bad = 100 * (SIZE + FRAME) - 100
        self.fault_sector(bad)
        listed = self.command("ls", self.file)
        self.assertEqual(listed.returncode, DAMAGE)
        begin, end = self.unreadable_in(listed.stderr)
        rows = [line for line in listed.stdout.splitlines() if line[0].isdigit()]
        self.assertGreaterEqual(len(rows), len(self.readable(begin, end)))
        info = self.command("info", "--scan", "--json", self.file)
        known = json.loads(info.stdout)
        self.assertEqual((known["records"], known["damaged_regions"]), (len(rows), 1))

    def check_packed(self, bad, least, damage):
        """Checks that records of x.tfrecord.gz before the bytes from `bad` on are read, at least so many."""
        self.fault_sector(bad)
        file = self.below / "x.tfrecord.gz"
        found = json.loads(self.command("verify", "--json", file).stdout)
        begin, end = self.unreadable_in(found["damage"][0]["reason"])
        self.assertLessEqual((begin, bad + 512), (bad, end))
        self.assertEqual([row["records_lost"] for row in found["damage"]], [None] * damage)
        copied = self.command("cat", "--lines", "--skip-damage", file)
        self.assertEqual(copied.returncode, DAMAGE)
        self.assertRegex(copied.stderr, PLACE)
        records = copied.stdout.encode().splitlines()
        self.assertEqual(len(records), found["records"])
        self.assertGreaterEqual(len(records), least)
        return records

    def test_bad_sector_ends_a_compressed_stream_like_a_cut(self):
        noise = [base64.b64encode(random.Random(number).randbytes(1500)) for number in range(400)]
        packed = gzip.compress(tfrecord(noise))
        for bad, least in ((len(packed) - 11, 390), (len(packed) // 2, 180), (5000, 0)):
            with self.subTest(bad=bad):
                (self.backing / "x.tfrecord.gz").write_bytes(packed)
                records = self.check_packed(bad, least, 1)
                self.assertEqual(records, noise[:len(records)])
                begin = self.unreadable_in(self.command("verify", self.below / "x.tfrecord.gz").stdout)[0]
                (self.backing / "cut.tfrecord.gz").write_bytes(packed[:begin])
                self.fault()
                cut = self.command("cat", "--lines", "--skip-damage", self.below / "cut.tfrecord.gz")
                self.assertEqual(cut.stdout.encode().splitlines(), records)

    def test_stream_after_that_with_a_bad_sector_is_read(self):
        noise = [base64.b64encode(random.Random(number).randbytes(1500)) for number in range(400)]
        first = gzip.compress(tfrecord(noise[:200]))
        (self.backing / "x.tfrecord.gz").write_bytes(first + gzip.compress(tfrecord(noise[200:])))
        records = self.check_packed(len(first) // 2, 280, 1)
        self.assertEqual(records[-200:], noise[200:])
        self.assertEqual(records[:-200], noise[:len(records) - 200])

    def test_nothing_is_remembered_of_a_disk_that_works_again(self):
        self.fault_sector(300_000)
        self.assertEqual(self.command("index", self.file).returncode, DAMAGE)
        self.fault()
        self.assertEqual(self.command("verify", self.file).returncode, 0)
        self.assertEqual(self.command("cat", "--lines", self.file).stdout.encode().splitlines(), self.records)

    def test_file_whose_end_could_not_be_read_does_not_look_rewritten(self):
        self.fault_sector(self.file.stat().st_size - 512)
        opened = recordfs().open(str(self.file), on_damage="skip")
        self.assertEqual(opened[0], self.records[0])
        self.fault()
        os.utime(self.backing / self.file.name)
        self.assertEqual(opened[200], self.records[200])

    def test_few_reads_fail_where_much_of_a_disk_cannot_be_read(self):
        (self.backing / "large.tfrecord").write_bytes(tfrecord([record(number) for number in range(3000)]))
        file = self.below / "large.tfrecord"
        self.command("verify", file)
        before = self.reads()
        self.fault(f"eio-range {1_000_000} {8_000_000}")
        found = json.loads(self.command("verify", "--json", file).stdout)
        self.assertLessEqual(len(found["damage"]), 2)
        self.assertGreater(found["records"], 600)
        self.assertLess(self.reads(), before + 400)  # of 13,672 sectors


class Mount(mounting.Case):
    """A mount of a file on a local disk. On other filesystems each read is tried again: see mount_below."""

    def setUp(self):
        super().setUp()
        if not is_local(self.folder):
            self.skipTest("the files of tests are not on a local filesystem")
        self.records = [record(number) for number in range(400)]
        self.file = self.folder / "x.tfrecord"
        self.file.write_bytes(tfrecord(self.records))
        self.begin, self.end = block_of(100 * (SIZE + FRAME) + 1000)

    def environment(self, user=None):
        sector = f"{self.file.stat().st_ino} {self.begin} {self.end}"
        return dict(super().environment(user), LD_PRELOAD=str(mounting.program("bad_sector.so")),
                    RECORDFS_BAD_SECTOR=sector)

    def test_records_around_a_bad_sector_are_listed_and_read(self):
        mounted = self.mount(self.file, options=["index=no"])
        names = sorted(os.listdir(mounted / "records"))
        first = -(-self.begin // (SIZE + FRAME))  # the first record whose header cannot be read
        after = -(-self.end // (SIZE + FRAME))
        self.assertGreater(after, first)
        found = self.records[:first] + self.records[after:]
        self.assertEqual(len(names), len(found))
        failed = []
        for name, expected in zip(names, found):
            try:
                self.assertEqual((mounted / "records" / name).read_bytes(), expected)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                failed.append(int(name))
        self.assertEqual(failed, [first - 1])
        mounted.wait_for_log(PLACE.pattern)


if __name__ == "__main__":
    mounting.main()
