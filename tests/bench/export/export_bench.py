#!/usr/bin/env python3
"""Speed and memory of `recordfs export`: export_bench.py --bin BUILD [--duckdb LIBRARY] [--records N] [--runs N]

Prints a table in Markdown. Both sides run alternately, each in a process of its own, and the median of the ratios of
their processor times counts, because these depend little on the machine's other load. "One processor" is taskset -c 0
with -j 1. Files are in /dev/shm. LIBRARY is a libduckdb.so; without one, its rows are left out.
"""
import argparse
import ctypes
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = "/usr/bin/python3"
ONE = ("taskset", "-c", "0")
CALL = """
import sys
sys.path[:0] = sys.argv[1:3]
import export_bench
getattr(export_bench, sys.argv[3])(*sys.argv[4:])
"""


class DuckDB:
    """DuckDB's C interface, as far as it is needed here."""

    def __init__(self, library, threads):
        self._library = ctypes.CDLL(library)
        self._database, self._connection = ctypes.c_void_p(), ctypes.c_void_p()
        self._checked("duckdb_open", None, ctypes.byref(self._database))
        self._checked("duckdb_connect", self._database, ctypes.byref(self._connection))
        self.run(f"SET threads = {threads}")

    def _checked(self, name, *words):
        if getattr(self._library, name)(*words) != 0:
            raise RuntimeError(f"{name} fails: {words}")

    def run(self, query):
        self._checked("duckdb_query", self._connection, query.encode(), None)

    def scan(self, name, stream):
        """Makes a view of a capsule with an Arrow stream."""
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        address = ctypes.c_void_p(pointer(stream, b"arrow_array_stream"))
        self._checked("duckdb_arrow_scan", self._connection, name.encode(), address)


def copy_stream(library, source, target, threads):
    """Writes the columns of a container's Arrow stream as Parquet with zstd."""
    import recordfs  # pylint: disable=import-outside-toplevel

    duckdb = DuckDB(library, threads)
    stream = recordfs.open(source, index="no", threads=int(threads)).arrow().__arrow_c_stream__()
    duckdb.scan("source", stream)
    duckdb.run(f"COPY (SELECT * FROM source) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def copy_json(library, source, target, threads):
    """Writes JSON Lines as Parquet with zstd."""
    DuckDB(library, threads).run(f"COPY (SELECT decoded.* FROM read_json('{source}', format = 'newline_delimited')) "
                                 f"TO '{target}' (FORMAT parquet, COMPRESSION zstd)")


def used(command):
    """Runs a command. Returns its (processor, wall) seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def peak_memory(command):
    """Returns the peak memory of a command in MiB."""
    with subprocess.Popen(command) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_maxrss / 1024


class Bench:
    def __init__(self, options, folder):
        self._options, self._folder = options, folder
        print("| work | case | recordfs | yardstick | ratio | limit |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)

    def data(self, name, records, *options):
        path = self._folder / name
        subprocess.run([self._options.bin / "make_data", "tfrecord", str(records), path, *options], check=True)
        return path

    def export(self, source, target, threads=1):
        processors = ONE if threads == 1 else ()
        return [*processors, self._options.bin / "recordfs", "export", "-f", "-j", str(threads), source, "-o",
                self._folder / target]

    def pairs(self, ours, yardstick):
        """Returns the pairs of (processor, wall) seconds."""
        used(ours), used(yardstick)
        return [(used(ours), used(yardstick)) for _ in range(self._options.runs)]

    def compare(self, work, case, ours, yardstick, limit, clock=0):
        """Compares processor times (clock 0) or wall times (clock 1)."""
        pairs = [(mine[clock], other[clock]) for mine, other in self.pairs(ours, yardstick)]
        ratio = statistics.median(mine / other for mine, other in pairs)
        times = [statistics.median(side) for side in zip(*pairs)]
        print(f"| {work} | {case} | {times[0]:.3f} s | {times[1]:.3f} s | {ratio:.2f} | {limit} |", flush=True)

    def copies(self):
        for case, records, *options in (("600 bytes", self._options.records,), ("60 bytes", self._options.records * 10, "--size=60")):
            source = self.data("lines.tfrecord", records, *options)
            copy = [*ONE, "cp", source, self._folder / "copy"]
            self.compare("TFRecord to TFRecord / cp", f"records of {case}", self.export(source, "out.tfrecord"), copy,
                         "1.67" if case == "600 bytes" else "")

    def tables(self, source):
        here, library = Path(__file__).resolve().parent, self._options.duckdb
        if not library:
            return
        python = [PYTHON, "-B", "-c", CALL, here, self._options.bin / "python"]
        stream = [*ONE, *python, "copy_stream", library, source, self._folder / "duckdb.parquet", "1"]
        for form in ("parquet", "arrow"):
            self.compare("Examples to a table / DuckDB writes Python's Arrow stream as Parquet", form,
                         self.export(source, f"out.{form}"), stream, "1")
        json = [self._options.bin / "recordfs", "cat", "--json", "--no-raw", "-j", "1", source]
        read = [*python, "copy_json", library, "/dev/stdin", self._folder / "duckdb.parquet", "1"]
        piped = [*ONE, "bash", "-c", " ".join(shlex.quote(str(word)) for word in json) + " | " +
                 " ".join(shlex.quote(str(word)) for word in read)]
        self.compare("Examples to a table / DuckDB writes `cat --json` as Parquet", "parquet",
                     self.export(source, "out.parquet"), piped, "")

    def threads(self, source):
        for form in ("parquet", "arrow", "csv", "jsonl"):
            self.compare("time of two processors / one", form, self.export(source, f"out.{form}", threads=2),
                         self.export(source, f"out.{form}"), "0.59", clock=1)

    def memory(self):
        sizes = (self._options.records // 3, self._options.records * 5)
        for form in ("parquet", "arrow", "csv", "riegeli", "tfrecord"):
            peaks = []
            for records in sizes:
                source = self.data("examples.tfrecord", records, "--kind=examples")
                peaks.append(peak_memory(self.export(source, f"out.{form}", threads=2)))
                (self._folder / f"out.{form}").unlink()
            print(f"| peak memory of {sizes[1]:,} Examples / {sizes[0]:,} | {form} | {peaks[1]:.0f} MiB | {peaks[0]:.0f} MiB | "
                  f"{peaks[1] / peaks[0]:.2f} | |", flush=True)

    def run(self):
        self.copies()
        source = self.data("examples.tfrecord", self._options.records, "--kind=examples")
        self.tables(source)
        self.threads(source)
        self.memory()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--duckdb", type=Path)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    folder = Path(tempfile.mkdtemp(prefix="recordfs-bench-", dir="/dev/shm"))
    try:
        Bench(options, folder).run()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
