#!/usr/bin/env python3
"""Times recordfs on a large RocksDB database, beside ldb (Debian: rocksdb-tools). To be run by hand.

    speed.py --bin FOLDER [--keys N] [--overlapping] [--folder DIR]

Makes the database in DIR (default: a new temporary folder) unless it is there. "Cold": its files are not in the page cache.
With --overlapping, a tenth of the keys have newer values in a middle level, and a hundredth in each of eight tables of
level 0. Prints medians in milliseconds, with the start of the program, and the peak of its memory.
"""
import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def drop(folder):
    """Drops a folder's files from the page cache."""
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def median(command, runs, before=lambda: None):
    """Returns the median time in milliseconds of `command()`, which returns words."""
    times = []
    for _ in range(runs):
        before()
        words = command()
        begin = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--overlapping", action="store_true")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    kind = ["overlapping"] if options.overlapping else []
    database = (options.folder or Path(tempfile.mkdtemp(prefix="recordfs-speed-"))) / "-".join(["db", *kind])
    recordfs = options.bin / "recordfs"
    if not database.exists():
        subprocess.run([options.bin / "large_rocksdb", database, str(options.keys), *kind], check=True)

    def key():
        return f"user:{random.randrange(options.keys):010}"

    def cold():
        drop(database)

    print(f"start of the program  {median(lambda: [recordfs, '--version'], 20):8.1f} ms")
    print(f"get                   {median(lambda: [recordfs, 'get', database, key()], 20):8.1f} ms")
    print(f"get, cold             {median(lambda: [recordfs, 'get', database, key()], 20, cold):8.1f} ms")
    print(f"keys --limit 10       {median(lambda: [recordfs, 'keys', '--limit', '10', database], 20):8.1f} ms")
    print(f"keys --limit 10, cold {median(lambda: [recordfs, 'keys', '--limit', '10', database], 20, cold):8.1f} ms")
    print(f"cat --json            {median(lambda: [recordfs, 'cat', '--json', database], 3):8.1f} ms")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory           {peak / 1024:8.1f} MiB")
    if shutil.which("ldb"):
        print(f"ldb get               {median(lambda: ['ldb', f'--db={database}', 'get', key()], 5):8.1f} ms")
        print(f"ldb scan              {median(lambda: ['ldb', f'--db={database}', 'scan'], 3):8.1f} ms")


if __name__ == "__main__":
    main()
