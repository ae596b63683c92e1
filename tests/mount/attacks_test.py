#!/usr/bin/env python3
"""Files that are made to exhaust whoever reads them: memory stays in bounds, and other files are served meanwhile."""
import contextlib
import os
import stat
import threading
import time

import mounting
from hostile import MOST_MEMORY, Beside, files

MOST_ENTRIES = 200        # of a directory
MOST_BYTES = 64 << 20     # of a file
PIECE = 1 << 20
MOST_SIZE = 1 << 30  # of a file; no attack has more bytes than that
# A request that takes as long does not end, whatever the machine and the sanitizer: bombs are decoded in 0.1 s.
MOST_SECONDS = 100


class Walk:
    """Lists, asks and reads all of a tree, as far as it is not too much of one kind."""

    def __init__(self, top):
        self.nodes = 0
        self.longest = 0  # request, in seconds
        self.largest = 0  # file, in bytes
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
            names += (entry.name for entry, _ in zip(entries, range(MOST_ENTRIES)))
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
        """Reads on behind what fails."""
        with path.open("rb", buffering=0) as file:
            for at in range(0, min(os.fstat(file.fileno()).st_size, MOST_BYTES), PIECE):
                with self.request():
                    os.pread(file.fileno(), PIECE, at)


class Attacks(Beside):
    def walk_beside_a_reader(self, mounted, path):
        """Walks through a hostile container while somebody reads a good one. Returns the walk, and the longest of those
        reads in seconds."""
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
        self.assertEqual(len(walks), 1, f"the walk through {path} did not end well")
        return walks[0], longest

    def attack(self, hostile):
        hostile = dict(mounting.some_of(list(hostile.items()), 3))
        for name, data in hostile.items():
            (self.source / name).write_bytes(data)
        mounted = self.mounted()
        nodes, longest, of_good = 0, 0, 0
        for name in hostile:
            with self.subTest(file=name):
                self.assertTrue((mounted / name).is_dir(), "it was not even opened")
                walk, longest_beside = self.walk_beside_a_reader(mounted, mounted / name)
                nodes, longest, of_good = nodes + walk.nodes, max(longest, walk.longest), max(of_good, longest_beside)
                self.assertLess(max(walk.longest, longest_beside), MOST_SECONDS)
                self.assertLessEqual(walk.largest, MOST_SIZE, "a size that only a header declares")
                self.assert_in_bounds(mounted, MOST_MEMORY, name)
                self.assertIsNone(mounted.daemon.poll(), mounted.log())
        most = self.most_memory(mounted)
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{self.id().rsplit('.', 1)[1]}: {len(hostile)} attacks, {nodes} nodes, at most {most >> 20} MiB, the longest "
              f"request {longest:.2f} s, of the good file {of_good:.2f} s", flush=True)


for form in files.FORMATS:
    setattr(Attacks, f"test_{form}", lambda self, form=form: self.attack(files.FORMATS[form]()))


if __name__ == "__main__":
    mounting.main()
