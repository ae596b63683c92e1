#!/usr/bin/env python3
"""Files that are made to exhaust whoever reads them: memory stays in bounds, and other files are served meanwhile."""
import contextlib
import os
import stat
import threading

import mounting
from hostile import MOST_MEMORY, Beside, files

MOST_ENTRIES = 200        # of a directory
MOST_BYTES = 64 << 20     # of a file
PIECE = 1 << 20


def read_all(path):
    """Reads on behind what fails. Returns how many reads failed."""
    failures = 0
    with path.open("rb", buffering=0) as file:
        for at in range(0, min(os.fstat(file.fileno()).st_size, MOST_BYTES), PIECE):
            try:
                os.pread(file.fileno(), PIECE, at)
            except OSError:
                failures += 1
    return failures


def walk(top, depth=0):
    """Lists, asks and reads all of a tree, as far as it is not too much of one kind. Returns how many nodes it has seen."""
    seen = 0
    try:
        with os.scandir(top) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_ENTRIES))]
    except OSError:
        return 1
    for name in sorted(names):
        path = top / name
        seen += 1
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and depth < 5:
                seen += walk(path, depth + 1)
            elif stat.S_ISREG(mode):
                read_all(path)
    return seen


class Attacks(Beside):
    def walk_beside_a_reader(self, mounted, path):
        """Walks through a hostile container while somebody reads a good one. Returns how many nodes there were."""
        seen = []
        walker = threading.Thread(target=lambda: seen.append(walk(path)), daemon=True)
        walker.start()
        answered = 0
        while walker.is_alive() or answered == 0:
            self.read_a_good_record(mounted, answered)
            answered += 1
            walker.join(0.01 if answered < 10 else 0.2)
        self.assertEqual(len(seen), 1, f"the walk through {path} did not end well")
        return seen[0]

    def attack(self, hostile):
        hostile = dict(mounting.some_of(list(hostile.items()), 3))
        for name, data in hostile.items():
            (self.source / name).write_bytes(data)
        mounted = self.mounted()
        nodes = 0
        for name in hostile:
            with self.subTest(file=name):
                self.assertTrue((mounted / name).is_dir(), "it was not even opened")
                nodes += self.walk_beside_a_reader(mounted, mounted / name)
                self.assert_in_bounds(mounted, MOST_MEMORY, name)
                self.assertIsNone(mounted.daemon.poll(), mounted.log())
        most = self.most_memory(mounted)
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{self.id().rsplit('.', 1)[1]}: {len(hostile)} attacks, {nodes} nodes, at most {most >> 20} MiB", flush=True)


for form in files.FORMATS:
    setattr(Attacks, f"test_{form}", lambda self, form=form: self.attack(files.FORMATS[form]()))


if __name__ == "__main__":
    mounting.main()
