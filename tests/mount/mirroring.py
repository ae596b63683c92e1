"""Shared by the tests of mirrored directories: a source directory, and reading a whole tree."""
import os
import shutil
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
OTHER = "riegeli/simple_zstd9.riegeli"


def tree_of(top):
    """Returns {path: ("d", "l" or "f", target or bytes)} of everything below `top`."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, os.fsencode(top))
            if os.path.islink(path):
                found[key] = ("l", os.readlink(path))
            elif os.path.isdir(path):
                found[key] = ("d", None)
            else:
                found[key] = ("f", Path(os.fsdecode(path)).read_bytes())
    return found


class Mirrored(mounting.Case):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()

    def put(self, name, sample=SAMPLE):
        target = self.source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(mounting.sample(sample), target)
        return target

    def write(self, name, content):
        target = self.source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return target

    def mirror(self, **options):
        return self.mount(self.source, **options)

    def names(self, mounted, path="."):
        return sorted(os.listdir(mounted / path))
