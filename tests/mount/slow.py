"""A file system whose reads a test can stop: slowfs, or the storage of tests/storage, which does the same."""
import os
import sys
from pathlib import Path

import mounting

_held = set()  # file systems whose reads are stopped


class FileSystem:
    """Shows the files of CASE/backing at CASE/slow, until the end of the case."""

    def __init__(self, case):
        self.backing, self.point = case.folder / "backing", case.folder / "slow"
        self._gate = self.backing / "gate"
        self.backing.mkdir(exist_ok=True)
        case.addCleanup(self.open_gate)
        if mounting.STORAGE:
            return
        self.point.mkdir()
        self.daemon = case.enter(mounting.started(mounting.program("slowfs"), self.backing, self.point))
        mounting.wait_for(lambda: str(self.point) in mounting.mounts(), "slowfs")
        case.addCleanup(mounting.run, "fusermount3", "-u", "-z", self.point)
        case.addCleanup(self.open_gate)

    def __truediv__(self, name):
        return mounting.stored(self.backing / name) if mounting.STORAGE else self.point / name

    def hold_reads_beyond(self, position):
        """Makes reads beyond byte `position` of any file wait until open_gate()."""
        _held.add(self)
        new = self.backing.with_name("gate.new")
        new.write_text(f"{position}\n", encoding="utf-8")
        os.replace(new, self._gate)

    def stop(self):
        """Makes every request wait until restart()."""
        _held.add(self)
        (self.backing / "stopped").touch()

    def restart(self):
        (self.backing / "stopped").unlink(missing_ok=True)
        _held.discard(self)

    def open_gate(self):
        self._gate.unlink(missing_ok=True)
        _held.discard(self)


def _descriptors_on_fuse():
    """Returns the paths of open descriptors on FUSE mounts, without a request to a mount."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    mounts = {line.split()[0] for line in lines if line.partition(" - ")[2].startswith("fuse")}
    found = []
    for entry in Path("/proc/self/fdinfo").iterdir():
        try:
            fields = dict(line.split(":", 1) for line in entry.read_text(encoding="utf-8").splitlines() if ":" in line)
            if fields["mnt_id"].strip() in mounts:
                found.append(os.readlink(f"/proc/self/fd/{entry.name}"))
        except FileNotFoundError:  # the descriptor of this listing
            continue
    return found


def _refuse_to_fork(event, _):
    """A child closes its copies of the descriptors, which sends FLUSH for each. A stopped file system may not reply, while
    the parent waits in vfork until the child continues. Then neither can be killed."""
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and _held and (paths := _descriptors_on_fuse()):
        raise AssertionError(f"a child is started while reads are stopped and these files are open: {paths}")


sys.addaudithook(_refuse_to_fork)
