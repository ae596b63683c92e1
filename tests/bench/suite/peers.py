"""The same records as files of other read-only filesystems, of plain readers and of tmpfs, beside recordfs."""
import contextlib
import math
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from comparing import PEERS, Line, Row, least, measures
from processes import ONE_PROCESSOR, Mounted, checked, daemons, seconds
from searching import copied
from shapes import Shape

GREP = Line("peers-grep", "`grep -r`, cold mount", "none")
AGAIN = Line("peers-again", "`grep -r` again", "none")
OPEN = Line("peers-open", "open a random record", "none")
LISTING = Line("peers-listing", "mount to first listing", "none")
UNITS = {GREP: ("s", 1), AGAIN: ("s", 1), OPEN: ("us", 1e6), LISTING: ("ms", 1e3)}

LONGEST = 60  # seconds for a command; then it is stopped
SLOW = 20  # seconds; a system that takes longer is measured once
FEW, MANY, SEED = 20, 2000, 13  # random records: MANY only if they take no longer than LONGEST
SECONDS_TO_END = 5
TEXT = "worker-7 "
RECORDFS = {"Riegeli zstd": "riegeli-zstd", "TFRecord": "tfrecord", "LevelDB log": "leveldb",
            "LevelDB table": "leveldb_table-snappy"}


@dataclass(frozen=True)
class Peer:
    """A filesystem for archives. `{archive}` and `{folder}` are replaced in the commands."""

    name: str
    suffix: str
    write: tuple  # run in the folder of the files
    mount: tuple


SQUASHFS = ("mksquashfs", ".", "{archive}", "-comp", "zstd", "-noappend", "-no-progress", "-quiet")
ZIP = ("zip", "-q", "-X", "-r", "{archive}", ".")
TAR, TAR_GZ = ("tar", "--sort=name", "-cf", "{archive}", "."), ("tar", "--sort=name", "-czf", "{archive}", ".")
ARCHIVEMOUNT = ("archivemount", "-o", "ro", "{archive}")
PEERS_OF_DEBIAN = (
    Peer("squashfuse, zstd", "squashfs", SQUASHFS, ("squashfuse", "{archive}")),
    Peer("squashfuse_ll, zstd", "squashfs", SQUASHFS, ("squashfuse_ll", "{archive}")),
    Peer("fuse-zip, deflate", "zip", ZIP, ("fuse-zip", "-r", "{archive}")),
    Peer("archivemount, tar", "tar", TAR, ARCHIVEMOUNT),
    Peer("archivemount, tar.gz", "tar.gz", TAR_GZ, ARCHIVEMOUNT),
    Peer("ratarmount, tar", "tar", TAR, ("ratarmount", "--index-file", ":memory:", "{archive}")))


class Bounded(Mounted):
    """A mount that may be too slow: what it takes to mount and to end is bounded, and then its daemon is killed."""

    def __enter__(self):
        try:
            checked(self._start, timeout=LONGEST, stderr=subprocess.DEVNULL)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        subprocess.run(["fusermount3", "-u", "-z", self.point], stderr=subprocess.DEVNULL, check=False)
        end = time.monotonic() + SECONDS_TO_END
        while any(daemons(self.point)) and time.monotonic() < end:
            time.sleep(0.01)
        for daemon in daemons(self.point):
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon, signal.SIGKILL)


def bounded(action):
    """Returns the seconds that action() returns; infinity if it takes longer than LONGEST."""
    try:
        return action()
    except subprocess.TimeoutExpired:
        return math.inf


def grep(folder):
    # The output is kept, as grep would otherwise stop at each first match.
    return seconds([*ONE_PROCESSOR, "grep", "-rah", TEXT, f"{folder}/"], stdout=subprocess.PIPE, timeout=LONGEST)


class Mounts:
    """Measures mounts of one system: {line: seconds}."""

    def __init__(self, bench, mount, folder):
        self._bench, self._mount, self._folder = bench, mount, folder
        self._taken = None

    def __call__(self):
        if self._taken is None or sum(self._taken.values()) < SLOW:
            self._taken = {**self._greps(), OPEN: bounded(self._open), LISTING: bounded(self._list)}
        return self._taken

    def _greps(self):
        taken = {GREP: math.inf, AGAIN: math.inf}
        with contextlib.suppress(subprocess.TimeoutExpired), self._mount() as mounted:
            for line in taken:
                taken[line] = grep(mounted / self._folder)
        return taken

    def _open(self):
        with self._mount() as mounted:
            few = self._opened(mounted, FEW)
            return few if few * MANY > LONGEST else self._opened(mounted, MANY)

    def _opened(self, mounted, count):
        words = (mounted / self._folder, self._bench.amounts.small, min(count, self._bench.amounts.random), SEED)
        return 1e-6 * self._bench.actions("open", *words, timeout=LONGEST)["us"]

    def _list(self):
        begun = time.perf_counter()
        with self._mount() as mounted:
            checked([*ONE_PROCESSOR, "ls", "-U", mounted / self._folder], timeout=LONGEST)
            return time.perf_counter() - begun


def recordfs_systems(bench):
    for name, form in RECORDFS.items():
        source = bench.containers.file(form, bench.amounts.small)
        yield f"recordfs, {name}", Mounts(bench, lambda source=source: bench.recordfs(source), "records")


def plain_systems(bench):
    """A plain reader searches its file, and needs no mount."""
    for name, form in RECORDFS.items():
        source, shape = bench.containers.file(form, bench.amounts.small), Shape(form)
        command = [bench.settings.program("plain_readers"), shape.format, source, "grep", TEXT]

        def searched(command=command):
            taken = seconds([*ONE_PROCESSOR, *command], stderr=subprocess.DEVNULL)
            return {GREP: taken, AGAIN: taken}

        yield f"plain reader, {name}", searched


def tmpfs_system(bench, copy):
    yield "files on tmpfs", Mounts(bench, lambda: contextlib.nullcontext(Path(copy)), "")


def peer_systems(bench, copy):
    for peer in PEERS_OF_DEBIAN:
        if missing := [words[0] for words in (peer.write, peer.mount) if shutil.which(words[0]) is None]:
            print(f"{peer.name}: skipped, {' and '.join(missing)} not installed", flush=True)
            continue
        archive = written(bench, peer, copy)
        command = [word.format(archive=archive) for word in peer.mount]
        yield peer.name, Mounts(bench, lambda command=command: Bounded(command, bench.point), "")


def written(bench, peer, copy):
    """Returns the archive, which is written once, kept, and in the page cache."""
    archive = bench.settings.data / f"lines-{bench.amounts.small}.{peer.suffix}"
    if not archive.exists():
        fresh = archive.with_name(f"new-{archive.name}")
        fresh.unlink(missing_ok=True)
        checked([word.format(archive=fresh) for word in peer.write], cwd=copy)
        fresh.rename(archive)
    checked(["cat", archive])
    return archive


def row(line, system, taken):
    unit, scale = UNITS[line]
    if math.isinf(taken):
        return Row(line, system, LONGEST, None, "s", {"more than": f"{LONGEST} s"})
    return Row(line, system, taken * scale, None, unit)


@measures(GREP, AGAIN, OPEN, LISTING, part=PEERS)
def peers(bench):
    copy = copied(bench, bench.containers.file("riegeli-none", bench.amounts.small))
    systems = {name: subject for some in (recordfs_systems(bench), plain_systems(bench), tmpfs_system(bench, copy),
                                          peer_systems(bench, copy)) for name, subject in some}
    for system, taken in least(bench.runs, **systems).items():
        for line, value in taken.items():
            yield row(line, system, value)
