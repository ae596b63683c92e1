"""How cost grows: records in one file, containers in one directory, mounts at once. Measured only when asked for."""
import contextlib
import itertools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from comparing import SCALE, Line, Row, measures
from processes import ENVIRONMENT, ONE_PROCESSOR, SECONDS_TO_END, checked, kernel_memory, output_of, seconds

SIZE = Line("records-size", "size of the file", "none")
FIRST = Line("records-first", "mount to first record read", "none")
LAST = Line("records-last", "mount to last record read", "none")
NAMES = Line("records-names", "mount to first 1,000 names", "none")
FIND = Line("records-find", "`find records`", "none")
DAEMON = Line("records-daemon", "peak memory of the daemon", "none")
KERNEL = Line("records-kernel", "growth of kernel memory", "none")
INDEX = Line("records-index", "`recordfs index`", "none")
SAVED = Line("records-saved", "size of the saved index", "none")
INDEXED = Line("records-indexed", "mount to last record read, with the index", "none")
RECORDS = (SIZE, FIRST, LAST, NAMES, FIND, DAEMON, KERNEL, INDEX, SAVED, INDEXED)

MOUNTED = Line("containers-mount", "mount command", "none")
LISTED = Line("containers-ls", "mount to `ls -U` of the directory", "none")
ONE = Line("containers-one", "first record of the last container", "none")
EACH = Line("containers-each", "first record of each container", "none")
HELD = Line("containers-daemon", "peak memory of the daemon", "none")
DESCRIPTORS = Line("containers-descriptors", "its open descriptors", "none")
CONTAINERS = (MOUNTED, LISTED, ONE, EACH, HELD, DESCRIPTORS)

PER_MOUNT = Line("mounts-time", "mount, each", "none")
USED = Line("mounts-used", "first record of each mount, each", "none")
ALL = Line("mounts-daemons", "memory of all their processes (PSS)", "none")
ALL_KERNEL = Line("mounts-kernel", "growth of kernel memory", "none")
UNMOUNT = Line("mounts-unmount", "unmount, each", "none")
MOUNTS = (PER_MOUNT, USED, ALL, ALL_KERNEL, UNMOUNT)

FORMS = ("tfrecord", "riegeli-zstd")
FIRST_NAMES = 1000
LONGEST = 60  # seconds for find; then the rest is extrapolated
LARGEST = 8 << 30  # bytes by which kernel memory may grow meanwhile, with the same consequence
RECORDS_A_CONTAINER = 100
MEBIBYTE = 1 << 20


# --- records in one file

@measures(*RECORDS, part=SCALE)
def records(bench):
    for form in FORMS:
        for count in bench.amounts.growing:
            source = bench.containers.file(form, count, "tiny")
            values = {SIZE: (source.stat().st_size / MEBIBYTE, "MiB"), **without_index(bench, source, count),
                      **listed(bench, source, count), **indexed(bench, source, count)}
            for line, (value, unit, *notes) in values.items():
                yield Row(line, f"{form}, {count:,} records", value, None, unit, *notes)


def read_after_mount(bench, source, record, index=None):
    """Returns (milliseconds, "ms") from the start of the mount command until the record is read."""
    command = [*ONE_PROCESSOR, *bench.recordfs_command(source, index=index), bench.point]
    try:
        taken = bench.actions("first", bench.point / "records" / f"{record:09}", *command)
    finally:
        unmounted([bench.point])
    return 1e3 * taken["s"], "ms"


def without_index(bench, source, count):
    return {FIRST: read_after_mount(bench, source, 0), LAST: read_after_mount(bench, source, count - 1)}


def listed(bench, source, count):
    begun = time.perf_counter()
    with bench.recordfs(source) as mounted:
        with os.scandir(mounted / "records") as entries:
            names = sum(1 for _ in itertools.islice(entries, FIRST_NAMES))
        taken = time.perf_counter() - begun
        if names != min(count, FIRST_NAMES):
            raise RuntimeError(f"{source.name}: {names} names")
    before = kernel_memory()
    with bench.recordfs(source) as mounted:
        found, spent = find(mounted / "records", count)
        notes = {} if found == count else {"extrapolated from": f"{found:,}"}
        return {NAMES: (1e3 * taken, "ms"), FIND: (spent * count / found, "s", notes),
                DAEMON: (mounted.peak_memory() / MEBIBYTE, "MiB", notes and {"after": f"{found:,} names"}),
                KERNEL: ((kernel_memory() - before) / MEBIBYTE, "MiB", notes and {"after": f"{found:,} names"})}


def find(folder, count):
    """Returns (names found, seconds), after LONGEST or with LARGEST more kernel memory at the latest."""
    begun, before, found = time.perf_counter(), kernel_memory(), 0
    with subprocess.Popen([*ONE_PROCESSOR, "find", str(folder), "-type", "f"], stdout=subprocess.PIPE,
                          env=ENVIRONMENT) as process:
        while block := process.stdout.read(1 << 20):
            found += block.count(b"\n")
            if time.perf_counter() - begun > LONGEST or kernel_memory() - before > LARGEST:
                process.kill()
                break
    spent = time.perf_counter() - begun
    if found != count and (process.returncode == 0 or found == 0):
        raise RuntimeError(f"find saw {found} files")
    return found, spent


def indexed(bench, source, count):
    folder = bench.folder / "scale-index"
    folder.mkdir()
    try:
        taken = seconds([*ONE_PROCESSOR, bench.settings.program("recordfs"), "index", "-j", 1, "--index", folder, source])
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return {INDEX: (taken, "s"), SAVED: (size / 1024, "KiB"),
                INDEXED: read_after_mount(bench, source, count - 1, index=folder)}
    finally:
        shutil.rmtree(folder)


# --- containers in one directory

@measures(*CONTAINERS, part=SCALE)
def containers(bench):
    original = bench.containers.file("tfrecord", RECORDS_A_CONTAINER, "tiny")
    for count in bench.amounts.containers:
        folder = bench.folder / "many"
        folder.mkdir()
        for number in range(count):
            shutil.copyfile(original, folder / f"{number:06}.tfrecord")
        for line, (value, unit) in of_containers(bench, folder, count).items():
            yield Row(line, f"{count:,} containers", value, None, unit)
        shutil.rmtree(folder)


def of_containers(bench, folder, count):
    begun = time.perf_counter()
    with bench.recordfs(folder) as mounted:
        mount = time.perf_counter() - begun
        if output_of([*ONE_PROCESSOR, "ls", "-U", mounted.point]).count("\n") != count:
            raise RuntimeError(f"ls does not see {count} containers")
        listing = time.perf_counter() - begun
        last = seconds([*ONE_PROCESSOR, "cat", mounted / f"{count - 1:06}.tfrecord/records/0"])
        each = seconds([*ONE_PROCESSOR, "sh", "-c", 'for one in "$1"/*; do echo "$one/records/0"; done | xargs cat', "sh",
                        mounted.point])
        return {MOUNTED: (1e3 * mount, "ms"), LISTED: (1e3 * listing, "ms"), ONE: (1e3 * last, "ms"), EACH: (each, "s"),
                HELD: (mounted.peak_memory() / MEBIBYTE, "MiB"),
                DESCRIPTORS: (len(os.listdir(f"/proc/{mounted.daemon()}/fd")), "descriptors")}


# --- mounts at once

@measures(*MOUNTS, part=SCALE)
def mounts(bench):
    source = bench.containers.file("riegeli-zstd", RECORDS_A_CONTAINER, "tiny")
    for count in bench.amounts.mounts:
        points = [bench.folder / "mounts" / f"{number:05}" for number in range(count)]
        for point in points:
            point.mkdir(parents=True)
        for line, (value, unit) in of_mounts(bench, source, points).items():
            yield Row(line, f"{count:,} mounts", value, None, unit)
        shutil.rmtree(bench.folder / "mounts")


def of_mounts(bench, source, points):
    before, count = kernel_memory(), len(points)
    try:
        begun = time.perf_counter()
        for point in points:
            checked([*ONE_PROCESSOR, bench.settings.program("recordfs"), "-o", "index=no", source, point])
        mounted = time.perf_counter()
        checked([*ONE_PROCESSOR, "cat", *(point / "records/0" for point in points)])
        used = time.perf_counter()
        processes = daemons_of(points)
        if len(processes) < count:
            raise RuntimeError(f"{len(processes)} processes serve {count} mounts")
        memory, kernel = sum(map(proportional, processes)), kernel_memory() - before
    finally:
        ending = unmounted(points)
    return {PER_MOUNT: (1e3 * (mounted - begun) / count, "ms"), USED: (1e3 * (used - mounted) / count, "ms"),
            ALL: (memory / MEBIBYTE, "MiB"), ALL_KERNEL: (kernel / MEBIBYTE, "MiB"),
            UNMOUNT: (1e3 * ending / count, "ms")}


def daemons_of(points):
    """Returns the ids of the processes that serve the mounts, from one pass over all processes."""
    names, found = {os.fsencode(point) for point in points}, []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if not names.isdisjoint((entry / "cmdline").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found


def proportional(process):
    """Returns the memory of a process in bytes. Pages that several processes share are divided among them."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    return 1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE).group(1))


def unmounted(points):
    """Unmounts what is mounted. Returns the seconds until all daemons have ended."""
    begun = time.perf_counter()
    for point in points:
        if os.path.ismount(point):
            checked(["fusermount3", "-u", point])
    while left := daemons_of(points):
        if time.perf_counter() - begun > SECONDS_TO_END:
            raise TimeoutError(f"{len(left)} daemons do not end")
        time.sleep(0.01)
    return time.perf_counter() - begun
