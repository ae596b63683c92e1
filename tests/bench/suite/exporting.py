"""`recordfs export` beside cp, Python's Arrow stream and DuckDB; two threads beside one; its memory."""
import os
import shlex
import subprocess
from pathlib import Path

from comparing import Line, Row, Skipped, measures, medians
from processes import ALL_PROCESSORS, ENVIRONMENT, ONE_PROCESSOR, check_status, timed

EXAMPLES = "Examples to a table, one processor"
COPY = Line("export-copy", "export of TFRecord to TFRecord, one processor", "cp", 1.67)
STREAM = Line("export-stream", EXAMPLES, "Python's Arrow stream, discarded")
DUCKDB = Line("export-duckdb", EXAMPLES, "DuckDB writes Python's Arrow stream as Parquet", 1)
JSON = Line("export-json", EXAMPLES, "DuckDB writes `cat --json` as Parquet")
THREADS = Line("export-threads", "export of Examples, two threads on two processors", "one thread on one", 0.59)
MEMORY = Line("export-memory", "peak memory of an export of Examples, two threads", "of a tenth of them", 2)

PYTHON = "/usr/bin/python3"  # which the package is built for
YARDSTICKS = Path(__file__).resolve().parents[1] / "export/yardsticks.py"
TABLES = ("parquet", "arrow")
PROCESSOR, WALL = "processor", "wall"


def target_of(bench, source, name):
    """Returns a path in memory, with room for several times the source."""
    return bench.memory_folder(4 * source.stat().st_size) / name


def export(bench, source, form, threads=1):
    target = target_of(bench, source, f"out.{form}")
    return [bench.settings.program("recordfs"), "export", "-f", "-j", threads, source, "-o", target]


def yardstick(bench, name, *words):
    return [PYTHON, "-B", YARDSTICKS, bench.settings.program("python"), name, *words]


def compared(bench, line, case, ours, yardstick_command, clock=PROCESSOR, bounded=True):
    """Each side is (command, processors)."""
    sides = {name: lambda side=side: timed([*side[1], *side[0]], stderr=subprocess.DEVNULL)
             for name, side in (("ours", ours), ("yardstick", yardstick_command))}
    taken = medians(bench.runs, **sides)
    mine, other = (1e3 * taken[name][clock] for name in ("ours", "yardstick"))
    return Row(line, case, mine, other, "ms", bounded=bounded)


def examples(bench, records=None):
    return bench.containers.file("tfrecord", records or bench.amounts.lines, "examples")


@measures(COPY)
def copies(bench):
    for case, options in (("records of 600 bytes", ()), ("records of 60 bytes", ("--size=60",))):
        source = bench.containers.file("tfrecord", bench.amounts.whole, options=options)
        copy = ["cp", source, target_of(bench, source, "copy")]
        yield compared(bench, COPY, case, (export(bench, source, "tfrecord"), ONE_PROCESSOR), (copy, ONE_PROCESSOR),
                       bounded=not options)


@measures(STREAM, DUCKDB, JSON)
def tables(bench):
    source = examples(bench)
    for form in TABLES:
        ours = export(bench, source, form), ONE_PROCESSOR
        yield compared(bench, STREAM, form, ours, (yardstick(bench, "stream", source), ONE_PROCESSOR))
    library = bench.settings.duckdb
    if library is None:
        raise Skipped("no DuckDB (try: --duckdb LIBRARY)")
    target = target_of(bench, source, "duckdb.parquet")
    for form in TABLES:
        ours = export(bench, source, form), ONE_PROCESSOR
        of_stream = yardstick(bench, "stream-to-parquet", source, target, library)
        yield compared(bench, DUCKDB, form, ours, (of_stream, ONE_PROCESSOR))
    json = [bench.settings.program("recordfs"), "cat", "--json", "--no-raw", "-j", 1, source]
    read = yardstick(bench, "json-to-parquet", "/dev/stdin", target, library)
    piped = ["bash", "-c", " | ".join(shlex.join(map(str, words)) for words in (json, read))]
    yield compared(bench, JSON, "parquet", (export(bench, source, "parquet"), ONE_PROCESSOR), (piped, ONE_PROCESSOR))


@measures(THREADS)
def threads(bench):
    if len(os.sched_getaffinity(0)) < 2:
        raise Skipped("one processor")
    source = examples(bench)
    for form in ("parquet", "arrow", "csv", "jsonl"):
        yield compared(bench, THREADS, form, (export(bench, source, form, threads=2), ALL_PROCESSORS),
                       (export(bench, source, form), ONE_PROCESSOR), WALL)


@measures(MEMORY)
def memory(bench):
    sources = [examples(bench, records) for records in (bench.amounts.lines, bench.amounts.lines // 10)]
    are_many = bench.amounts.lines >= 300_000  # so that a tenth fills the groups of rows that are encoded at once
    for form in ("parquet", "arrow", "csv", "riegeli", "tfrecord"):
        peaks = [peak_memory(export(bench, source, form, threads=2)) for source in sources]
        target_of(bench, sources[0], f"out.{form}").unlink()
        yield Row(MEMORY, form, *peaks, "MiB", bounded=are_many)


def peak_memory(command):
    """Returns the peak memory of a command in MiB."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=ENVIRONMENT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check_status(process.returncode, words)
    return usage.ru_maxrss / 1024
