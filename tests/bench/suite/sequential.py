"""Whole containers from beginning to end, without a mount: cat, verify and grep against plain readers; system calls and
bytes read of these, of index and of cp."""
import os
import shutil
import subprocess

import calls
from comparing import Line, Row, Skipped, least, measures
from processes import ALL_PROCESSORS, ONE_PROCESSOR, bytes_of, output_of, timed
from shapes import COPIED, LEAST, SHAPES

PLAIN, THREADS = "plain reader, one processor", "recordfs {}, two threads"
CAT = Line("sequential-cat", "recordfs cat, one thread, one processor", PLAIN, 1.1)
CAT_THREADS = Line("sequential-cat-threads", THREADS.format("cat"), PLAIN, 0.65)
VERIFY = Line("sequential-verify", "recordfs verify, one thread, one processor", PLAIN, 1.1)
VERIFY_THREADS = Line("sequential-verify-threads", THREADS.format("verify"), PLAIN, 0.65)
GREP = Line("sequential-grep", "recordfs grep, one thread, one processor", "plain reader that also searches", 1.1)
GREP_THREADS = Line("sequential-grep-threads", THREADS.format("grep"), GREP.yardstick, 0.65)
CALLS = Line("sequential-calls", "system calls, without those of the start and those that create files", "1 a MiB", 4)
READ = Line("sequential-read", "bytes read from a container", "its size", 1.1)

MEBIBYTE = 1 << 20
TEXT = "worker-7 "
PLAIN_WORDS = {"cat": ["cat"], "verify": [], "grep": ["grep", TEXT]}
OUR_WORDS = {"cat": ["cat"], "verify": ["verify"], "grep": ["grep", "-c", "-F", TEXT]}
READING_VERBS = ("verify", "cat", "grep", "index")
EVERY_VERB = (*READING_VERBS, "cp")
COPIED_LINES = 50_000  # at most: strace slows the calls that create files
# The calls by which cp creates the file of a record.
CREATION = ("newfstatat", "fstatat", "unlinkat", "openat", "write", "close", "renameat2", "getpid")


def ours(bench, verb, threads, source, fresh=None):
    """Returns a command. index and cp write to the empty folder `fresh`."""
    recordfs = bench.settings.program("recordfs")
    if verb == "index":
        return [recordfs, "index", "-j", threads, "--index", fresh, source]
    if verb == "cp":
        return [recordfs, "cp", "-j", threads, "--index", "no", source, ":", fresh]
    return [recordfs, *OUR_WORDS[verb], "-j", threads, "--index", "no", source]


class Fresh:
    """An empty folder in memory, removed at exit."""

    def __init__(self, bench):
        self._folder = bench.memory_folder(2 * 4096 * bench.amounts.lines) / "fresh"

    def __enter__(self):
        self._folder.mkdir()
        return self._folder

    def __exit__(self, *failure):
        shutil.rmtree(self._folder)


def plain(bench, verb, shape, source):
    return [bench.settings.program("plain_readers"), shape.format, source, *PLAIN_WORDS[verb]]


def compared(bench, verb, one_thread, two_threads):
    """Yields the rows of one verb. The runs of all sides alternate."""
    for shape in SHAPES:
        source = shape.file(bench, bench.amounts.whole)
        if verb == "grep":
            check_findings(bench, shape, source)
        subjects = {"plain": side(plain(bench, verb, shape, source), ONE_PROCESSOR),
                    "one": side(ours(bench, verb, 1, source), ONE_PROCESSOR)}
        if len(os.sched_getaffinity(0)) >= 2:
            subjects["two"] = side(ours(bench, verb, 2, source), ALL_PROCESSORS)
        taken = least(bench.runs, **subjects)
        for line, name in ((one_thread, "one"), (two_threads, "two")):
            if name in taken:
                yield row(line, shape, taken[name], taken["plain"], bounded=source.stat().st_size >= LEAST)


def side(command, processors):
    return lambda: timed([*processors, *command], stderr=subprocess.DEVNULL)


def check_findings(bench, shape, source):
    commands = ours(bench, "grep", 1, source), plain(bench, "grep", shape, source)
    if len({output_of(command, stderr=subprocess.DEVNULL) for command in commands}) > 1:
        raise RuntimeError(f"{shape.case}: recordfs and the plain reader find different numbers of records")


def row(line, shape, mine, yardstick, bounded):
    notes = {"processor time": f"{1e3 * mine['processor']:.0f} / {1e3 * yardstick['processor']:.0f} ms"}
    return Row(line, shape.case, 1e3 * mine["wall"], 1e3 * yardstick["wall"], "ms", notes, bounded)


@measures(CAT, CAT_THREADS)
def cat(bench):
    yield from compared(bench, "cat", CAT, CAT_THREADS)


@measures(VERIFY, VERIFY_THREADS)
def verify(bench):
    yield from compared(bench, "verify", VERIFY, VERIFY_THREADS)


@measures(GREP, GREP_THREADS)
def grep(bench):
    yield from compared(bench, "grep", GREP, GREP_THREADS)


@measures(CALLS)
def system_calls(bench):
    """For each MiB of the container, or of what is written if that is more."""
    for shape in SHAPES:
        tiny = bench.containers.file(shape.form, 1, options=shape.options)
        for verb in EVERY_VERB if shape in COPIED else READING_VERBS:
            source = shape.file(bench, min(bench.amounts.lines, COPIED_LINES) if verb == "cp" else None)
            counts = [counted(bench, verb, one) for one in (source, tiny)]
            size = source.stat().st_size
            if verb in ("cat", "cp"):
                size = max(size, bytes_of(ours(bench, "cat", 1, source))["wchar"])
            yield Row(CALLS, f"{shape.case}, {verb}", (counts[0] - counts[1]) * MEBIBYTE / size, 1, "calls/MiB",
                      bounded=size >= LEAST)


def counted(bench, verb, source):
    with Fresh(bench) as fresh:
        count = calls.counted(ours(bench, verb, 1, source, fresh), CREATION if verb == "cp" else ())
    if count is None:
        raise Skipped("neither strace nor perf trace counts system calls")
    return count


@measures(READ)
def bytes_read(bench):
    for shape in SHAPES:
        source = shape.file(bench)
        size = source.stat().st_size
        for verb in EVERY_VERB if shape in COPIED else READING_VERBS:
            with Fresh(bench) as fresh:
                got = bytes_of(ours(bench, verb, 1, source, fresh))["rchar"]
            yield Row(READ, f"{shape.case}, {verb}", got / MEBIBYTE, size / MEBIBYTE, "MiB", bounded=size >= LEAST)
