#!/usr/bin/env python3
"""Speed of the Python package beside a C++ loop over the same store: python_bench.py --bin BUILD [--records N]

Prints a table. Both sides run alternately, each in a process of its own; the fastest of the runs counts. "One processor" is
taskset -c 0 with one thread.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = "/usr/bin/python3"

LOOPS = {
    "iterate": """
import sys, time, recordfs
ds = recordfs.open(sys.argv[1], index="no", threads=int(sys.argv[2]))
begin = time.perf_counter()
records = 0
for record in ds:
    records += 1
print(time.perf_counter() - begin, records)
""",
    "batches": """
import sys, time, recordfs
ds = recordfs.open(sys.argv[1], index="no", threads=int(sys.argv[2]))
begin = time.perf_counter()
records = 0
for data, offsets in ds.batches(1024):
    records += len(offsets) - 1
print(time.perf_counter() - begin, records)
""",
    "random": """
import random, sys, time, recordfs
ds = recordfs.open(sys.argv[1], index="no", threads=int(sys.argv[2]))
some = random.Random(1)
first = [some.randrange(256) for _ in range(100_000)]
for i in first:
    ds[i]
begin = time.perf_counter()
for i in first:
    ds[i]
print(time.perf_counter() - begin, len(first))
""",
}


def ran(words, processors, environment=None):
    pinned = ["taskset", "-c", "0"] if processors == 1 else []
    done = subprocess.run([*pinned, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    seconds, records, *_ = done.stdout.split()
    return float(seconds), int(records)


class Bench:
    def __init__(self, options):
        self.options = options
        self.environment = {**os.environ, "PYTHONPATH": str(options.bin / "python")}

    def python(self, loop, path, threads):
        return ran([PYTHON, "-B", "-c", LOOPS[loop], path, threads], threads, self.environment)

    def cxx(self, loop, path, threads):
        return ran([self.options.bin / "records_loop", path, loop, threads], threads)

    def fastest(self, *sides):
        """Returns (seconds, records) of the fastest run of each side."""
        results = [[] for _ in sides]
        for _ in range(self.options.runs):
            for side, found in zip(sides, results):
                found.append(side())
        return [min(found) for found in results]

    def compare(self, name, loop, path, threads):
        (ours, records), (yardstick, _) = self.fastest(lambda: self.python(loop, path, threads),
                                                       lambda: self.cxx(loop, path, threads))
        print(f"{name:<44} {records / ours:>12,.0f} records/s   C++ {records / yardstick:>12,.0f}   ratio {ours / yardstick:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    bench = Bench(options)
    with tempfile.TemporaryDirectory(prefix="recordfs-bench-") as folder:
        for form in ("tfrecord", "riegeli-none", "riegeli-zstd"):
            path = Path(folder) / form
            subprocess.run([options.bin / "make_data", form, str(options.records), path, "--size=600"], check=True)
            path.read_bytes()  # into the page cache
            bench.compare(f"{form}: iterate, one processor", "iterate", path, 1)
            bench.compare(f"{form}: batches(1024), one processor", "batches", path, 1)
            bench.compare(f"{form}: batches(1024), two threads", "batches", path, 2)
            (one, _), (two, _) = bench.fastest(lambda: bench.python("batches", path, 1), lambda: bench.python("batches", path, 2))
            print(f"{form + ': two processors / one':<44} {one / two:.2f}")
            seconds, records = bench.fastest(lambda: bench.python("random", path, 1))[0]
            print(f"{form + ': ds[i] of a cached chunk':<44} {seconds / records * 1e6:.2f} us")
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
