#!/usr/bin/env python3
"""Compares recordfs with LevelDB and RocksDB on many random databases. To be run by hand; prints each difference.

    campaign.py --bin FOLDER [--databases N] [--damaged N] [--killed N] [--concurrent N] [--seed FIRST]
                [--engine PROGRAM]... [--folder DIR] [--mount] [--python]

PROGRAM: one that drives an engine (README.md); default: those of the build folder. --mount, --python: also
compares what a mount and the Python package (target recordfs_python) show of intact databases. A database with a difference stays in DIR (default: a new temporary folder). Exit status: 1 after a difference.
"""
import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import built
import engines
import oracle
import surfaces


def run(check, what, seeds):
    """Runs one check with each seed. Returns how many had differences."""
    failed = unusable = 0
    for seed in seeds:
        begin = time.monotonic()
        try:
            if what == "concurrent":
                differences = check.concurrent(seed, 20)
            else:
                differences = getattr(check, what)(seed)
        except engines.Refused as refused:
            unusable += 1
            print(f"{check.engine.title()} {what} seed {seed}: the engine fails: {str(refused)[-200:].strip()}")
            differences = []
        except AssertionError as error:
            differences = [str(error)]
        if differences:
            failed += 1
            print(f"{check.engine.title()} {what} seed {seed}: {len(differences)} differences "
                  f"({time.monotonic() - begin:.1f} s): {check.engine.writer(seed).options.unusual()}")
            for line in differences[:4]:
                print(f"    {line[:250]}")
            sys.stdout.flush()
            continue
        for path in [check.folder_of(seed), *check.folder.glob(f"{check.folder_of(seed).name}.*")]:
            shutil.rmtree(path, ignore_errors=True)
    return failed, unusable


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    for what in ("databases", "damaged", "killed", "concurrent"):
        parser.add_argument(f"--{what}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", type=Path, action="append")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--mount", action="store_const", const=surfaces.compare_mount)
    parser.add_argument("--python", action="store_const", const=surfaces.compare_python)
    options = parser.parse_args()
    built.place.programs = options.bin.resolve()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="recordfs-campaign-"))
    total = 0
    for program in options.engine or map(built.program, ("drive_leveldb", "drive_rocksdb")):
        engine = engines.Engine(program)
        check = oracle.Check(engine, folder, list(filter(None, (options.mount, options.python))))
        for what, option in (("intact", "databases"), ("damaged", "damaged"), ("killed", "killed"),
                             ("concurrent", "concurrent")):
            count = getattr(options, option)
            failed, unusable = run(check, what, range(options.seed, options.seed + count))
            if count:
                print(f"{engine.title()} {what}: {failed} of {count - unusable} with differences")
            total += failed
    print(f"databases with differences are in {folder}" if total else "no differences")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
