#!/usr/bin/env python3
"""Chunks that decode to nearly 1 GiB: who reads small records does not wait for those who read them."""
import os
import signal
import sys
import time

import mounting
from hostile import GOOD, ITSELF, Beside, files

# Reads here and there, past what the kernel has kept, and tells of each read.
BOMB_READER = """
import itertools, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for step in itertools.count():
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 1, (step * 37 << 22) % (63 << 24))
    os.write(1, b".")
"""


class Bombs(Beside):
    """Readers of chunks that decode to nearly 1 GiB, with the options that a mount has by default."""

    SIZE = 63 << 24
    READERS = 16
    GOOD_FILES = 8
    GOOD_RECORDS = 20  # and a few, of each
    # A chunk as it is decoded, what the codec needs besides and what the kernel takes time to get back, the cache, and
    # what quick threads decode meanwhile.
    MOST_MEMORY = (1 << 30) + (256 << 20) + (64 << 20) + ITSELF

    def setUp(self):
        super().setUp()
        self.bombs = files.large(self.SIZE)
        for name, data in self.bombs.items():
            (self.source / name).write_bytes(data)
        for number in range(self.GOOD_FILES):
            self.copy(GOOD, self.source / f"good-{number}.riegeli")
        self.mounted = self.mount(self.source, options=("index=no",))
        self.paths = [self.mounted / name / path for name in self.bombs for path in ("records/000000001", "streams/concat")]

    def start_readers(self):
        readers = []
        for number in range(self.READERS):
            reader = self.enter(mounting.started(sys.executable, "-c", BOMB_READER, self.paths[number % len(self.paths)]))
            os.set_blocking(reader.stdout.fileno(), False)
            readers.append(reader)
        return readers

    def progress(self, readers):
        """How many reads have come to an end since the last time."""
        return sum(len(reader.stdout.read() or b"") for reader in readers)

    def end_readers(self, readers):
        for reader in readers:
            reader.kill()
        for reader in readers:
            self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)

    def read_all_that_is_good(self):
        """Opens the good files, and reads what nobody has read before. Returns how many that were, and how long the longest
        took."""
        count = 0
        longest = 0
        for number in range(self.GOOD_FILES):
            for name, data in self.good[::len(self.good) // self.GOOD_RECORDS]:
                begin = time.monotonic()
                self.assertEqual((self.mounted / f"good-{number}.riegeli" / "records" / name).read_bytes(), data)
                longest = max(longest, time.monotonic() - begin)
                count += 1
        return count, longest

    def test_good_records_are_read_before_bombs_are(self):
        readers = self.start_readers()
        mounting.wait_for(lambda: self.progress(readers) > 0, "a bomb to be decoded")
        time.sleep(1)  # all of them wait by then
        self.progress(readers)
        count, longest = self.read_all_that_is_good()
        meanwhile = self.progress(readers)
        print(f"{count} good records, the longest in {1000 * longest:.0f} ms; {meanwhile} reads of bombs meanwhile", flush=True)
        # Who had to wait for a thread would have to wait for a bomb each time.
        self.assertLess(meanwhile, count)
        mounting.wait_for(lambda: self.most_memory(self.mounted) > self.SIZE, "all of a bomb to be in memory")
        for _ in range(self.READERS // 2):
            mounting.wait_for(lambda: self.progress(readers) > 0, "the bombs to be read on")
        self.end_readers(readers)
        most = self.assert_in_bounds(self.mounted, self.MOST_MEMORY, "bombs")
        self.assertEqual(self.mounted.unmount(), 0, self.mounted.log())
        print(f"at most {most >> 20} MiB", flush=True)

    def test_killed_readers_of_bombs_end_at_once(self):
        readers = self.start_readers()
        mounting.wait_for(lambda: self.progress(readers) > 0, "a bomb to be decoded")
        for reader in readers:
            reader.kill()
            self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)
        self.assertEqual(self.mounted.unmount(), 0, self.mounted.log())


if __name__ == "__main__":
    mounting.main()
