#!/usr/bin/env python3
"""The index that a scan builds is saved for the next mount: where, when, and that a later mount uses it.

The source is on slowfs, whose reads can be stopped, so that each scan takes long enough to be saved.
"""
import json
import os
import time

import mounting
import slow

SIZE = 64 << 20  # the records of a log, followed by a hole of zeros that has to be scanned
FEW = SIZE // 4
HELD = 1 << 20  # after the records
WORTH_SAVING = 0.4  # seconds; twice the minimum


class SavedIndex(mounting.Case):
    def setUp(self):
        super().setUp()
        self.backing = self.folder / "backing"
        self.backing.mkdir()
        made, self.records = mounting.make_container(self.backing, 200, "leveldb")
        os.truncate(made, SIZE)
        os.utime(made, (1, 1))
        self.slow = slow.FileSystem(self)
        self.made, self.source = made, self.slow / made.name
        self.cache = self.folder / "cache-of-the-case"
        self.saved = self.cache / "recordfs"

    def environment(self, user=None):
        return {**super().environment(user), "XDG_CACHE_HOME": str(self.cache)}

    def scanned(self, *options, flags=("-f",)):
        """Mounts, waits for the scan, unmounts. Returns (bytes that the daemon has read, index/summary.json)."""
        mounted = self.mount(self.source, options=options, flags=flags)
        self.last = mounted
        self.slow.hold_reads_beyond(HELD)
        with mounting.started("cat", mounted / "index/summary.json") as reader:
            self.wait_for_the_scan(mounted)
            time.sleep(WORTH_SAVING)
            self.slow.open_gate()
            summary = json.loads(reader.communicate(timeout=mounting.PATIENCE)[0])
        self.assertEqual((mounted / "records/000000199").read_bytes(), self.records[199])
        read = self.read_by(mounted)
        self.assertEqual(mounted.unmount(), 0)
        return read, summary

    @staticmethod
    def read_by(mounted):
        with open(f"/proc/{mounted.daemon.pid}/io", encoding="ascii") as counts:
            return int(counts.readline().split()[1])

    def wait_for_the_scan(self, mounted):
        """Waits until the scan is stopped at HELD, at most a second: there may be no scan."""
        end = time.monotonic() + 1
        while self.read_by(mounted) < HELD // 2 and time.monotonic() < end:
            time.sleep(0.01)

    def test_second_mount_does_not_scan_the_file(self):
        read, summary = self.scanned()
        self.assertGreater(read, SIZE)
        self.assertEqual(len(list(self.saved.iterdir())), 1)
        read, again = self.scanned()
        self.assertLess(read, FEW)
        self.assertEqual(again, summary)

    def test_mount_uses_an_index_saved_by_recordfs_index(self):
        done = self.recordfs("index", self.source)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(len(list(self.saved.iterdir())), 1)
        self.assertLess(self.scanned()[0], FEW)

    def test_index_no_neither_saves_nor_uses_an_index(self):
        self.scanned("index=no")
        self.assertFalse(self.cache.exists())
        self.scanned()
        self.assertGreater(self.scanned("index=no")[0], SIZE)

    def test_index_directory_can_be_chosen(self):
        self.scanned(f"index={self.folder}/mine")
        self.assertFalse(self.cache.exists())
        self.assertLess(self.scanned(f"index={self.folder}/mine")[0], FEW)

    def test_relative_directory_starts_at_the_current_directory(self):
        point = self.new_point()
        started = self.recordfs(self.source, point, "-o", "index=not-there/mine", cwd=self.folder)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.slow.hold_reads_beyond(HELD)
        with mounting.started("cat", point / "index/summary.json") as reader:
            time.sleep(2 * WORTH_SAVING)
            self.slow.open_gate()
            reader.communicate(timeout=mounting.PATIENCE)
        mounting.run("fusermount3", "-u", point)
        mounting.wait_for(lambda: not mounting.daemons(point), "the daemon's end")
        self.assertEqual(len(list((self.folder / "not-there/mine").iterdir())), 1)

    def test_impossible_directory_is_a_usage_error(self):
        (self.folder / "loop").symlink_to("loop")
        started = self.recordfs(self.source, self.new_point(), "-o", "index=loop", cwd=self.folder)
        self.assertEqual(started.returncode, 1)
        self.assertRegex(started.stderr, "index=loop: .*symbolic links")


if __name__ == "__main__":
    mounting.main()
