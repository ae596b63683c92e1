"""Whole containers from beginning to end, without a mount: cat, verify and grep against plain readers."""
import os
import subprocess
from dataclasses import dataclass

import calls
from comparing import Line, Row, Skipped, measures, medians
from processes import ALL_PROCESSORS, ONE_PROCESSOR, bytes_of, output_of, timed

PLAIN, THREADS = "plain reader, one processor", "recordfs {}, two threads"
CAT = Line("sequential-cat", "recordfs cat, one thread, one processor", PLAIN, 1.1)
CAT_THREADS = Line("sequential-cat-threads", THREADS.format("cat"), PLAIN, 0.65)
VERIFY = Line("sequential-verify", "recordfs verify, one thread, one processor", PLAIN, 1.1)
VERIFY_THREADS = Line("sequential-verify-threads", THREADS.format("verify"), PLAIN, 0.65)
GREP = Line("sequential-grep", "recordfs grep, one thread, one processor", "plain reader that also searches", 1.1)
GREP_THREADS = Line("sequential-grep-threads", THREADS.format("grep"), GREP.yardstick, 0.65)
CALLS = Line("sequential-calls", "system calls, those of the start not counted", "1 a MiB", 4)
READ = Line("sequential-read", "bytes read from a container", "its size", 1.1)

MEBIBYTE = 1 << 20
LEAST = 16 * MEBIBYTE  # in smaller files the start of the program counts more than the reading
TEXT = "worker-7 "
PLAIN_WORDS = {"cat": ["cat"], "verify": [], "grep": ["grep", TEXT]}
OUR_WORDS = {"cat": ["cat"], "verify": ["verify"], "grep": ["grep", "-c", "-F", TEXT]}


@dataclass(frozen=True)
class Shape:
    """A container: its form, and as many times the lines of the run. Without options its lines have 200 to 1,000
    bytes, its chunks 1 MiB."""

    form: str
    note: str = ""
    times: int = 1
    options: tuple = ()  # of make_data

    @property
    def case(self):
        return f"{self.form}, {self.note}" if self.note else self.form

    @property
    def format(self):
        """The format's name for plain_readers."""
        name = self.form.partition("-")[0]
        return {"leveldb": "leveldb_log"}.get(name, name)

    def file(self, bench):
        return bench.containers.file(self.form, self.times * bench.amounts.lines, options=self.options)


SHORT = {"note": "60 bytes", "times": 4, "options": ("--size=60",)}
ONE = {"note": "1 a chunk", "options": ("--per-chunk=1",)}
SHAPES = (
    Shape("riegeli-zstd"), Shape("riegeli-none"), Shape("riegeli-none", "4 KiB chunks", options=("--per-chunk=7",)),
    Shape("riegeli-none", **ONE), Shape("riegeli-zstd", **ONE), Shape("riegeli-snappy"), Shape("riegeli-brotli"),
    Shape("array_record-none", **ONE), Shape("tfrecord"), Shape("tfrecord", **SHORT), Shape("leveldb"),
    Shape("leveldb", **SHORT), Shape("leveldb_table-none"), Shape("leveldb_table-snappy"), Shape("leveldb_table-zstd"),
    Shape("recordio-none"), Shape("recordio-zstd"), Shape("recordio-flate"), Shape("proio-none"), Shape("proio-lz4"),
    Shape("proio-gzip"), Shape("bloscpack-lz4"), Shape("bloscpack-zstd"))


def ours(bench, verb, threads, source):
    return [bench.settings.program("recordfs"), *OUR_WORDS[verb], "-j", threads, "--index", "no", source]


def plain(bench, verb, shape, source):
    return [bench.settings.program("plain_readers"), shape.format, source, *PLAIN_WORDS[verb]]


def compared(bench, verb, one_thread, two_threads):
    """Yields the rows of one verb. The runs of all sides alternate."""
    for shape in SHAPES:
        source = shape.file(bench)
        if verb == "grep":
            check_findings(bench, shape, source)
        subjects = {"plain": side(plain(bench, verb, shape, source), ONE_PROCESSOR),
                    "one": side(ours(bench, verb, 1, source), ONE_PROCESSOR)}
        if len(os.sched_getaffinity(0)) >= 2:
            subjects["two"] = side(ours(bench, verb, 2, source), ALL_PROCESSORS)
        taken = medians(bench.runs, **subjects)
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
    """For each MiB of the container, or with cat of what is written if that is more."""
    for shape in SHAPES:
        source, tiny = shape.file(bench), bench.containers.file(shape.form, 1, options=shape.options)
        for verb in ("verify", "cat"):
            command = ours(bench, verb, 1, source)
            counts = [calls.counted(one) for one in (command, ours(bench, verb, 1, tiny))]
            if None in counts:
                raise Skipped("neither strace nor perf trace counts system calls")
            size = max(source.stat().st_size, bytes_of(command)["wchar"])
            yield Row(CALLS, f"{shape.case}, {verb}", (counts[0] - counts[1]) * MEBIBYTE / size, 1, "calls/MiB",
                      bounded=size >= LEAST)


@measures(READ)
def bytes_read(bench):
    for shape in SHAPES:
        source = shape.file(bench)
        size = source.stat().st_size
        for verb in ("verify", "cat"):
            got = bytes_of(ours(bench, verb, 1, source))["rchar"]
            yield Row(READ, f"{shape.case}, {verb}", got / MEBIBYTE, size / MEBIBYTE, "MiB", bounded=size >= LEAST)
