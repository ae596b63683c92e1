"""A file system whose reads meet faults, and what a mount over it shows."""
import os

import mounting

FEW = 25  # records of a file that are read by name


class Case(mounting.Case):
    """A case with files below `backing`, which are seen through `below`."""

    def setUp(self):
        super().setUp()
        self.backing, self.below = self.folder / "backing", self.folder / "below"
        self.backing.mkdir()
        self.below.mkdir()
        self.enter(mounting.started(mounting.program("faultfs"), self.backing, self.below))
        mounting.wait_for(lambda: str(self.below) in mounting.mounts(), "faultfs")
        self.addCleanup(mounting.run, "fusermount3", "-u", "-z", self.below)

    def put(self, name):
        """A sample on the file system with the faults, and another file that may be put in its place."""
        copied = self.copy(name, "backing/" + os.path.basename(name))
        (self.backing / "other").write_bytes(mounting.sample("riegeli/one_byte_records.riegeli").read_bytes())
        return self.below / copied.name

    def fault(self, words="none"):
        os.setxattr(self.below, "user.fault", words.encode())

    def reads(self):
        return int(os.getxattr(self.below, "user.reads"))

    @staticmethod
    def asked(action, *arguments):
        """What it gives, or the number of its failure."""
        try:
            return action(*arguments)
        except OSError as failed:
            return failed.errno

    def seen(self, top, names=None):
        """{path: bytes, names in it, or the number of a failure}: of `names`, or of what stands for the whole tree."""
        found = {name: self.asked(lambda path: sorted(os.listdir(path)), top / name)
                 for name in ("records", "chunks", "index", "streams", "damage")}
        if names is None:
            names = [f"records/{name}" for name in found["records"][:FEW] + found["records"][-FEW:]]
            names += ["info.json", "index/chunks.tsv", "index/damage.tsv", "index/summary.json", "streams/concat"]
            names += [f"chunks/{name}/raw" for name in found["chunks"][-2:]]
        for name in names:
            found[name] = self.asked((top / name).read_bytes)
        return found

    def truth(self, source):
        """What is right, and how many reads it takes."""
        self.fault()
        mounted = self.mount(source, options=["index=no"])
        found = self.seen(mounted.point)
        self.assertEqual([name for name, what in found.items() if isinstance(what, int)], [])
        count = self.reads()
        mounted.unmount()
        return found, count

    def files_of(self, truth):
        return [name for name, what in truth.items() if isinstance(what, bytes)]
