#!/usr/bin/env python3
"""Chunks that decode to nearly 1 GiB: readers of small records do not wait for them."""
import os
import signal
import sys
import time

import mounting
from built import is_thorough
from hostile import GOOD, DAEMON_MEMORY, HostileCase, files

# Reads at changing offsets without the page cache, and prints a dot after each read.
BOMB_READER = """
import itertools, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for step in itertools.count():
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 1, (step * 37 << 22) % (63 << 24))
    os.write(1, b".")
"""


class Bombs(HostileCase):
    """Concurrent readers of such chunks, with the mount's default options."""

    SIZE = 63 << 24
    READERS = 16
    GOOD_FILES = 8
    GOOD_RECORDS = 20  # read from each good file, about
    # The chunk that is being decoded, the one before it (freed by its last reader, which the scheduler may have
    # stopped), and the cache. Without a bound, 16 readers need 16 GiB.
    MAX_MEMORY = (2 << 30) + (64 << 20) + DAEMON_MEMORY

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
        """Returns how many reads have completed since the last call."""
        return sum(len(reader.stdout.read() or b"") for reader in readers)

    def end_readers(self, readers):
        for reader in readers:
            reader.kill()
        for reader in readers:
            self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)

    def read_all_that_is_good(self):
        """Opens the good files and reads records that are not cached. Returns their number, and the seconds that the slowest
        read took."""
        count = 0
        longest = 0
        for number in range(self.GOOD_FILES):
            for name, data in self.good[::len(self.good) // self.GOOD_RECORDS]:
                begin = time.monotonic()
                self.assertEqual((self.mounted / f"good-{number}.riegeli" / "records" / name).read_bytes(), data)
                longest = max(longest, time.monotonic() - begin)
                count += 1
        return count, longest

    def test_good_records_do_not_wait_for_bombs(self):
        readers = self.start_readers()
        mounting.wait_for(lambda: self.progress(readers) > 0, "a bomb to be decoded")
        time.sleep(1)  # until all of them wait
        self.progress(readers)
        count, longest = self.read_all_that_is_good()
        meanwhile = self.progress(readers)
        print(f"{count} good records, the slowest in {1000 * longest:.0f} ms; {meanwhile} reads of bombs meanwhile", flush=True)
        # A read that had to wait for a thread would wait for one bomb each time.
        self.assertLess(meanwhile, count)
        mounting.wait_for(lambda: self.peak_memory(self.mounted) > self.SIZE, "a whole bomb to be in memory")
        for _ in range(self.READERS // 2 if is_thorough() else 2):  # each decodes 1 GiB
            mounting.wait_for(lambda: self.progress(readers) > 0, "reads of the bombs to continue")
        self.end_readers(readers)
        most = self.assert_in_bounds(self.mounted, self.MAX_MEMORY, "bombs")
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
