#!/usr/bin/env python3
"""Resource-exhaustion attacks: memory stays within bounds, and other files are served meanwhile."""
import contextlib
import os
import stat
import threading
import time

import mounting
from hostile import MAX_MEMORY, HostileCase, files

MAX_ENTRIES = 200  # read from a directory
MAX_BYTES = 64 << 20  # read from a file
PIECE = 1 << 20
MAX_SIZE = 1 << 30  # of a file; no attack has more bytes than that
# A request that takes this long never ends, on any machine and under any sanitizer: bombs are decoded in 0.1 s.
MAX_SECONDS = 100


class Walk:
    """Lists, stats and reads a tree, up to a limit per directory and per file."""

    def __init__(self, top):
        self.nodes = 0
        self.longest = 0  # seconds that a request took
        self.largest = 0  # st_size of a file
        self.visit(top)

    @contextlib.contextmanager
    def request(self):
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            yield
        self.longest = max(self.longest, time.monotonic() - begun)

    def visit(self, top, depth=0):
        names = []
        with self.request(), os.scandir(top) as entries:
            names += (entry.name for entry, _ in zip(entries, range(MAX_ENTRIES)))
        for name in sorted(names):
            path = top / name
            self.nodes += 1
            mode = 0
            with self.request():
                status = path.lstat()
                mode = status.st_mode
                self.largest = max(self.largest, status.st_size)
            if stat.S_ISDIR(mode) and depth < 5:
                self.visit(path, depth + 1)
            elif stat.S_ISREG(mode):
                with contextlib.suppress(OSError):
                    self.read_all(path)

    def read_all(self, path):
        """Reads a file to its end. Skips pieces that fail."""
        with path.open("rb", buffering=0) as file:
            for at in range(0, min(os.fstat(file.fileno()).st_size, MAX_BYTES), PIECE):
                with self.request():
                    os.pread(file.fileno(), PIECE, at)


class Attacks(HostileCase):
    def walk_beside_a_reader(self, mounted, path):
        """Walks a hostile container while reading a good one. Returns the Walk, and the seconds that the slowest of those
        reads took."""
        walks = []
        walker = threading.Thread(target=lambda: walks.append(Walk(path)), daemon=True)
        walker.start()
        answered, longest = 0, 0
        while walker.is_alive() or answered == 0:
            begun = time.monotonic()
            self.read_a_good_record(mounted, answered)
            longest = max(longest, time.monotonic() - begun)
            answered += 1
            walker.join(0.01 if answered < 10 else 0.2)
        self.assertEqual(len(walks), 1, f"the walk of {path} failed")
        return walks[0], longest

    def attack(self, hostile):
        hostile = dict(mounting.some_of(list(hostile.items()), 3))
        for name, data in hostile.items():
            (self.source / name).write_bytes(data)
        mounted = self.mounted()
        nodes, longest, of_good = 0, 0, 0
        for name in hostile:
            with self.subTest(file=name):
                self.assertTrue((mounted / name).is_dir(), "not opened")
                walk, longest_beside = self.walk_beside_a_reader(mounted, mounted / name)
                nodes, longest, of_good = nodes + walk.nodes, max(longest, walk.longest), max(of_good, longest_beside)
                self.assertLess(max(walk.longest, longest_beside), MAX_SECONDS)
                self.assertLessEqual(walk.largest, MAX_SIZE, "st_size comes from an unchecked header")
                self.assert_in_bounds(mounted, MAX_MEMORY, name)
                self.assertIsNone(mounted.daemon.poll(), mounted.log())
        peak = self.peak_memory(mounted)
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{self.id().rsplit('.', 1)[1]}: {len(hostile)} attacks, {nodes} nodes, at most {peak >> 20} MiB, slowest "
              f"request {longest:.2f} s, slowest read of the good file {of_good:.2f} s", flush=True)


for form in files.FORMATS:
    setattr(Attacks, f"test_{form}", lambda self, form=form: self.attack(files.FORMATS[form]()))


if __name__ == "__main__":
    mounting.main()
