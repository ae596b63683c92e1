#!/usr/bin/env python3
"""Compares recordfs with LevelDB and RocksDB on many random databases. To be run by hand; prints each difference.

    campaign.py --bin FOLDER [--databases N] [--damaged N] [--killed N] [--concurrent N] [--seed FIRST]
                [--engine leveldb|rocksdb] [--folder DIR]

A database with a difference stays in DIR (default: a new temporary folder). Exit status: 1 after a difference.
"""
import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import built
import oracle


def run(check, what, seeds):
    """Runs one check with each seed. Returns how many had differences."""
    failed = 0
    for seed in seeds:
        begin = time.monotonic()
        try:
            if what == "damaged":
                check.oracle.write(seed, check.directory(seed))
                differences = check.damaged(seed)
            elif what == "concurrent":
                differences = check.concurrent(seed, 20)
            else:
                differences = getattr(check, what)(seed)
        except AssertionError as error:
            differences = [str(error)]
        if differences:
            failed += 1
            print(f"{check.oracle.engine} {what} seed {seed}: {len(differences)} differences "
                  f"({time.monotonic() - begin:.1f} s)")
            for line in differences[:8]:
                print(f"    {line[:400]}")
            sys.stdout.flush()
            continue
        for path in check.folder.glob(f"{check.oracle.engine}-{seed}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    for what in ("databases", "damaged", "killed", "concurrent"):
        parser.add_argument(f"--{what}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("leveldb", "rocksdb"))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    built.place.programs = options.bin.resolve()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="recordfs-campaign-"))
    total = 0
    for engine in [options.engine] if options.engine else ["leveldb", "rocksdb"]:
        check = oracle.Check(oracle.Oracle(engine), folder)
        for what, option in (("intact", "databases"), ("damaged", "damaged"), ("killed", "killed"),
                             ("concurrent", "concurrent")):
            count = getattr(options, option)
            failed = run(check, what, range(options.seed, options.seed + count))
            if count:
                print(f"{engine} {what}: {failed} of {count} with differences")
            total += failed
    print(f"databases with differences are in {folder}" if total else "no differences")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
