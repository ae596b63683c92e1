#!/usr/bin/env python3
"""What a walk has found is saved for the next mount: where, when, and that it is worth it."""
import json
import os
import shutil
import stat

import mounting

FEW = 32 << 20  # bytes


class SavedIndex(mounting.Case):
    # Of the file: behind one log's records are zeros that a walk has to look at, and that take no room on the disk.
    # As many as make a walk worth saving, however fast the daemon is.
    size = 64 << 20
    is_measured = False

    def setUp(self):
        super().setUp()
        self.source, self.records = mounting.made(self.folder, 200, "leveldb")
        self.cache = self.folder / "cache-of-the-case"
        self.saved = self.cache / "recordfs"
        while not SavedIndex.is_measured:
            SavedIndex.size *= 2
            self.resize()
            self.assertLess(self.size, 32 << 30, "a walk is never saved")
            self.walked()
            if self.cache.exists():
                shutil.rmtree(self.cache)
                SavedIndex.size *= 2
                SavedIndex.is_measured = True
        self.resize()

    def resize(self):
        os.truncate(self.source, self.size)
        os.utime(self.source, (1, 1))

    def environment(self, user=None):
        return {**super().environment(user), "XDG_CACHE_HOME": str(self.cache)}

    def walked(self, *options):
        """Mounts, waits for the walk, unmounts: (how many bytes the daemon has read, index/summary.json)."""
        mounted = self.mount(self.source, options=options)
        summary = json.loads((mounted / "index/summary.json").read_text(encoding="utf-8"))
        self.assertEqual((mounted / "records/000000199").read_bytes(), self.records[199])
        with open(f"/proc/{mounted.daemon.pid}/io", encoding="ascii") as counts:
            read = int(counts.readline().split()[1])
        self.assertEqual(mounted.unmount(), 0)
        return read, summary

    def test_second_mount_does_not_read_through_the_file(self):
        read, summary = self.walked()
        self.assertGreater(read, self.size)
        self.assertEqual(len(list(self.saved.iterdir())), 1)
        read, again = self.walked()
        self.assertLess(read, FEW)
        self.assertEqual(again, summary)

    def test_what_is_saved_is_its_users_alone(self):
        self.walked()
        self.assertEqual(stat.S_IMODE(self.saved.stat().st_mode), 0o700)
        self.assertEqual([stat.S_IMODE(path.stat().st_mode) for path in self.saved.iterdir()], [0o600])

    def test_index_no_saves_nothing_and_uses_nothing(self):
        self.walked("index=no")
        self.assertFalse(self.cache.exists())
        self.walked()
        self.assertGreater(self.walked("index=no")[0], self.size)

    def test_another_directory(self):
        self.walked(f"index={self.folder}/mine")
        self.assertFalse(self.cache.exists())
        self.assertLess(self.walked(f"index={self.folder}/mine")[0], FEW)

    def test_file_that_changed_is_walked_anew(self):
        _, summary = self.walked()
        mounting.with_bit_flipped(self.source, self.size // 2)
        read, damaged = self.walked()
        self.assertGreater(read, self.size)
        self.assertNotEqual(damaged, summary)

    def test_broken_one_is_replaced(self):
        self.walked()
        saved = next(self.saved.iterdir())
        mounting.with_bit_flipped(saved, 20)
        self.assertGreater(self.walked()[0], self.size)
        self.assertLess(self.walked()[0], FEW)


if __name__ == "__main__":
    mounting.main()
