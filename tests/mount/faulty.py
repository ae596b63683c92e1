"""faultfs, a file system whose reads meet faults, and what a mount over it shows."""
import os

import mounting

FEW = 25  # records that are read from each end of a file


class Case(mounting.Case):
    """A case with files in `backing`, which are read through faultfs at `below`."""

    def setUp(self):
        super().setUp()
        self.backing, self.below = self.folder / "backing", self.folder / "below"
        self.backing.mkdir()
        self.below.mkdir()
        self.enter(mounting.started(mounting.program("faultfs"), self.backing, self.below))
        mounting.wait_for(lambda: str(self.below) in mounting.mounts(), "faultfs")
        self.addCleanup(mounting.run, "fusermount3", "-u", "-z", self.below)

    def put(self, name):
        """Puts a sample on faultfs. Returns its path."""
        copied = self.copy(name, "backing/" + os.path.basename(name))
        return self.below / copied.name

    def fault(self, words="none"):
        os.setxattr(self.below, "user.fault", words.encode())

    def reads(self):
        return int(os.getxattr(self.below, "user.reads"))

    @staticmethod
    def result_or_errno(action, *arguments):
        """Calls action(*arguments). Returns its result, or the errno that it fails with."""
        try:
            return action(*arguments)
        except OSError as failed:
            return failed.errno

    def snapshot(self, top, names=None):
        """Returns {path: bytes, listing or errno} of `names`, or of a selection of the whole tree."""
        found = {name: self.result_or_errno(lambda path: sorted(os.listdir(path)), top / name)
                 for name in ("records", "chunks", "index", "streams", "damage")}
        if names is None:
            names = [f"records/{name}" for name in found["records"][:FEW] + found["records"][-FEW:]]
            names += ["info.json", "index/chunks.tsv", "index/damage.tsv", "index/summary.json", "streams/concat"]
            names += [f"chunks/{name}/raw" for name in found["chunks"][-2:]]
        for name in names:
            found[name] = self.result_or_errno((top / name).read_bytes)
        return found

    def truth(self, source):
        """Returns the snapshot without faults, and how many reads it takes."""
        self.fault()
        mounted = self.mount(source, options=["index=no"])
        found = self.snapshot(mounted.point)
        self.assertEqual([name for name, what in found.items() if isinstance(what, int)], [])
        count = self.reads()
        mounted.unmount()
        return found, count

    def files_of(self, truth):
        return [name for name, what in truth.items() if isinstance(what, bytes)]
