#!/usr/bin/env python3
"""What a walk has found is saved for the next mount: where, when, and that it is worth it.

The source lies on a file system whose reads can be held up, so each walk takes as long as one that is worth saving.
"""
import json
import os
import stat
import time

import mounting
import slow

SIZE = 64 << 20  # one log's records, and behind them zeros that a walk has to look at and that take no room on the disk
FEW = SIZE // 4
HELD = 1 << 20  # behind the records
WORTH_SAVING = 0.4  # seconds; twice the least


class SavedIndex(mounting.Case):
    def setUp(self):
        super().setUp()
        self.backing = self.folder / "backing"
        self.backing.mkdir()
        made, self.records = mounting.made(self.backing, 200, "leveldb")
        os.truncate(made, SIZE)
        os.utime(made, (1, 1))
        self.slow = slow.FileSystem(self)
        self.made, self.source = made, self.slow / made.name
        self.cache = self.folder / "cache-of-the-case"
        self.saved = self.cache / "recordfs"

    def environment(self, user=None):
        return {**super().environment(user), "XDG_CACHE_HOME": str(self.cache)}

    def walked(self, *options, flags=("-f",)):
        """Mounts, waits for the walk, unmounts: (how many bytes the daemon has read, index/summary.json)."""
        mounted = self.mount(self.source, options=options, flags=flags)
        self.last = mounted
        self.slow.hold_reads_beyond(HELD)
        with mounting.started("cat", mounted / "index/summary.json") as asking:
            self.wait_for_the_walk(mounted)
            time.sleep(WORTH_SAVING)
            self.slow.open_gate()
            summary = json.loads(asking.communicate(timeout=mounting.PATIENCE)[0])
        self.assertEqual((mounted / "records/000000199").read_bytes(), self.records[199])
        read = self.read_by(mounted)
        self.assertEqual(mounted.unmount(), 0)
        return read, summary

    @staticmethod
    def read_by(mounted):
        with open(f"/proc/{mounted.daemon.pid}/io", encoding="ascii") as counts:
            return int(counts.readline().split()[1])

    def wait_for_the_walk(self, mounted):
        """Until it is held up, or for a while: there may be none."""
        end = time.monotonic() + 1
        while self.read_by(mounted) < HELD // 2 and time.monotonic() < end:
            time.sleep(0.01)

    def test_second_mount_does_not_read_through_the_file(self):
        read, summary = self.walked()
        self.assertGreater(read, SIZE)
        self.assertEqual(len(list(self.saved.iterdir())), 1)
        read, again = self.walked()
        self.assertLess(read, FEW)
        self.assertEqual(again, summary)

    def test_mount_uses_what_recordfs_index_has_saved(self):
        done = self.recordfs("index", self.source)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(len(list(self.saved.iterdir())), 1)
        self.assertLess(self.walked()[0], FEW)

    def test_what_is_saved_is_its_users_alone(self):
        self.walked()
        self.assertEqual(stat.S_IMODE(self.saved.stat().st_mode), 0o700)
        self.assertEqual([stat.S_IMODE(path.stat().st_mode) for path in self.saved.iterdir()], [0o600])

    def test_index_no_saves_nothing_and_uses_nothing(self):
        self.walked("index=no")
        self.assertFalse(self.cache.exists())
        self.walked()
        self.assertGreater(self.walked("index=no")[0], SIZE)

    def test_another_directory(self):
        self.walked(f"index={self.folder}/mine")
        self.assertFalse(self.cache.exists())
        self.assertLess(self.walked(f"index={self.folder}/mine")[0], FEW)

    def test_directory_is_named_from_where_recordfs_was_started(self):
        point = self.new_point()
        started = self.recordfs(self.source, point, "-o", "index=not-there/mine", cwd=self.folder)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.slow.hold_reads_beyond(HELD)
        with mounting.started("cat", point / "index/summary.json") as asking:
            time.sleep(2 * WORTH_SAVING)
            self.slow.open_gate()
            asking.communicate(timeout=mounting.PATIENCE)
        mounting.run("fusermount3", "-u", point)
        mounting.wait_for(lambda: not mounting.daemons(point), "the daemon's end")
        self.assertEqual(len(list((self.folder / "not-there/mine").iterdir())), 1)

    def test_directory_that_cannot_be_is_wrong_use(self):
        (self.folder / "loop").symlink_to("loop")
        started = self.recordfs(self.source, self.new_point(), "-o", "index=loop", cwd=self.folder)
        self.assertEqual(started.returncode, 1)
        self.assertRegex(started.stderr, "index=loop: .*symbolic links")

    def test_file_that_changed_is_walked_anew(self):
        _, summary = self.walked()
        mounting.with_bit_flipped(self.made, SIZE // 2)
        read, damaged = self.walked()
        self.assertGreater(read, SIZE)
        self.assertNotEqual(damaged, summary)

    def test_broken_one_is_replaced(self):
        self.walked()
        saved = next(self.saved.iterdir())
        mounting.with_bit_flipped(saved, 20)
        self.assertGreater(self.walked()[0], SIZE)
        self.assertLess(self.walked()[0], FEW)

    def test_verbose_tells_of_it(self):
        for want, other in (("what the walk has found is saved in", "found the saved"), ("found the saved index", "is saved in")):
            self.walked(flags=["-f", "-v"])
            self.assertIn(f"{want} {self.saved}/", self.last.log())
            self.assertNotIn(other, self.last.log())


if __name__ == "__main__":
    mounting.main()
