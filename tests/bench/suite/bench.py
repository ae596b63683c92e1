#!/usr/bin/env python3
"""Benchmarks recordfs against its yardsticks: bench.py --bin BUILD (see ../README.md).

Exit status: 0 measured, and with --check no row is worse than recorded; 1 a row is, or something failed; 77 mounting is
not possible here.
"""
import argparse
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import checking
import machine
import results
import table
from comparing import LIMITS, MEASUREMENTS, PEERS, SCALE, Skipped
from containers import Containers
from messages import Messages
from processes import ONE_PROCESSOR, Actions, Mounted, checked
from settings import AMOUNTS, FULL, QUICK, SMOKE, Settings

# Each registers its lines; the import order is the order of the table.
import searching  # noqa: F401  isort: skip
import opening  # noqa: F401  isort: skip
import listing  # noqa: F401  isort: skip
import streaming  # noqa: F401  isort: skip
import decoding  # noqa: F401  isort: skip
import picking  # noqa: F401  isort: skip
import remembering  # noqa: F401  isort: skip
import sequential  # noqa: F401  isort: skip
import exporting  # noqa: F401  isort: skip
import peers  # noqa: F401  isort: skip
import scaling  # noqa: F401  isort: skip

SKIPPED = 77
IN_NAMESPACE = "RECORDFS_BENCH_IN_NAMESPACE"
RECORD = Path(__file__).resolve().parents[1] / "results.json"


class Bench:
    """Everything that a measurement works with."""

    def __init__(self, settings, folder):
        self.settings, self.amounts, self.runs = settings, settings.amounts, settings.runs
        self.folder = folder
        self.point = folder / "mnt"
        self.point.mkdir()
        self.containers = Containers(settings)
        self.messages = Messages()
        self.actions = Actions(settings)
        self.failed = False
        self._in_memory = None  # created on first use

    def recordfs(self, source, *options, index=None, processors=ONE_PROCESSOR):
        """Returns a mount of a container, not yet entered. `index` is the folder of saved indexes; without it, there is
        none of an earlier mount."""
        return Mounted(self.recordfs_command(source, *options, index=index), self.point, processors)

    def recordfs_command(self, source, *options, index=None):
        if index is None:
            index = self.folder / "index"
            shutil.rmtree(index, ignore_errors=True)
        options = (*options, f"index={index}")
        return [self.settings.program("recordfs"), *(word for option in options for word in ("-o", option)), source]

    def floor(self, *switches, processors=ONE_PROCESSOR):
        """Returns a mount of the floor filesystem, not yet entered."""
        return Mounted(self.floor_command(*switches), self.point, processors)

    def floor_command(self, *switches):
        return [self.settings.program("floorfs"), *switches]

    def memory_folder(self, size):
        """Returns a folder of an in-memory filesystem with room for `size` bytes. Raises Skipped if there is none."""
        if self._in_memory is None and os.geteuid() == 0:
            self._in_memory = self.folder / "tmpfs"
            self._in_memory.mkdir()
            checked(["mount", "-t", "tmpfs", "-o", "size=90%", "none", self._in_memory])
        elif self._in_memory is None:
            if not os.access("/dev/shm", os.W_OK) or shutil.disk_usage("/dev/shm").free < size:
                raise Skipped("no tmpfs with room enough")
            self._in_memory = Path(tempfile.mkdtemp(prefix="recordfs-bench-", dir="/dev/shm"))
        return self._in_memory

    def close(self):
        if self._in_memory is not None and os.geteuid() == 0:
            checked(["umount", self._in_memory])
        elif self._in_memory is not None:
            shutil.rmtree(self._in_memory)
        shutil.rmtree(self.folder)


def enter_namespace():
    """Restarts this program in a private mount namespace, so that its mounts disappear with it. Returns only there."""
    if os.geteuid() == 0 and IN_NAMESPACE not in os.environ:
        os.environ[IN_NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv])


def parsed():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--bin", type=lambda text: Path(text).resolve(), required=True,
                        help="folder of the built programs")
    parser.add_argument("--data", type=Path, help="where containers are kept (default: BIN/data)")
    parser.add_argument("--quick", action="store_true", help="100,000 records instead of 300,000, no large ones")
    parser.add_argument("--smoke", action="store_true", help="a few records, to see that the suite works")
    parser.add_argument("--records", type=int, help="another number of log lines")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", metavar="PATTERN", help="lines of this name, like 'grep*'; several with commas")
    parser.add_argument("--duckdb", type=lambda text: Path(text).resolve(), metavar="LIBRARY",
                        help="a libduckdb.so, beside which exports are measured")
    parser.add_argument("--scale", action="store_true", help="how cost grows with records, containers and mounts")
    parser.add_argument("--list", action="store_true", help="print the names of the lines")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--results", type=Path, metavar="PAGE",
                        help="write the tables of this page, and results.json and results.svg beside it")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a row is 10 %% worse than recorded")
    parser.add_argument("--record", type=Path, metavar="FILE", default=RECORD,
                        help="what --check compares with (default: tests/bench/results.json)")
    options = parser.parse_args()
    if options.results and options.only:
        parser.error("--results needs every line, so it does not go with --only")
    return options


def settings_of(options):
    amounts = AMOUNTS[SMOKE if options.smoke else QUICK if options.quick else FULL]
    if options.records:
        amounts = replace(amounts, lines=options.records, whole=options.records,
                          small=min(options.records, amounts.small))
    data = (options.data or options.bin / "data").resolve()
    data.mkdir(parents=True, exist_ok=True)
    return Settings(options.bin, data, options.runs, amounts, options.duckdb)


def selected(options):
    """Yields the part, the selected lines, and the function of each measurement that has any."""
    parts = {LIMITS, PEERS, SCALE} if options.only else {SCALE} if options.scale else {LIMITS, PEERS}
    patterns = (options.only or "*").split(",")
    for part, lines, function in MEASUREMENTS:
        wanted = [line for line in lines if any(fnmatch.fnmatch(line.name, one) for one in patterns)]
        if part in parts and wanted:
            yield part, wanted, function


def measured(bench, lines, function):
    """Returns (line, rows, why some or all are missing) for each line."""
    rows, skipped = [], None
    try:
        for row in function(bench):
            rows.append(row)
    except Skipped as reason:
        skipped = str(reason)
    except (OSError, RuntimeError, subprocess.SubprocessError) as failure:
        skipped = f"FAILED: {failure}"  # the other lines are still measured
        bench.failed = True
    return [(line, [row for row in rows if row.line is line], skipped) for line in lines]


def measured_again(bench, lines, function, taken):
    """Returns the better of `taken` and a second measurement, row by row."""
    again = {(line.name, row.case): row for line, rows, _ in measured(bench, lines, function) for row in rows}
    return [(line, [checking.better(row, again.get((line.name, row.case))) for row in rows], skipped)
            for line, rows, skipped in taken]


def why_not():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "cannot open /dev/fuse"
    return "" if shutil.which("fusermount3") else "there is no fusermount3"


def rows_of(taken):
    return [row for _, rows, _ in taken for row in rows]


class Check:
    """Compares rows with the record, as --check asks."""

    def __init__(self, bench, record):
        self._bench, self._record = bench, json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        self.found, self.missing, self.measured, self.known = [], [], 0, 0

    def __call__(self, part, lines, function, taken):
        """Returns the rows to print. Measures once more if a row fails, since other load can slow a single run."""
        recorded = checking.recorded_rows(self._record, part, table.amounts_of(self._bench.settings))
        if any(finding.fails for finding in checking.findings(rows_of(taken), recorded)):
            taken = measured_again(self._bench, lines, function, taken)
        self.found += checking.findings(rows_of(taken), recorded)
        self.missing += checking.not_measured(rows_of(taken), recorded)
        measured, known = checking.compared(rows_of(taken), recorded)
        self.measured, self.known = self.measured + measured, self.known + known
        return taken

    def fails(self):
        print("\n" + checking.report(self.found, self.missing, self.measured, self.known), flush=True)
        return any(finding.fails for finding in self.found)


def run(options, bench, description):
    page = results.Page(options.results) if options.results else None
    check = Check(bench, options.record) if options.check else None
    parts = {}
    table.print_heading(description)
    for part, lines, function in selected(options):
        taken = measured(bench, lines, function)
        if check:
            taken = check(part, lines, function, taken)
        for result in taken:
            table.print_line(*result)
        parts.setdefault(part, []).extend(taken)
    documents = {part: table.document(description, bench.settings, taken) for part, taken in parts.items()}
    if options.json:
        options.json.write_text(results.as_json(documents), encoding="utf-8")
    if page:
        page.write(documents)
    return 1 if bench.failed or (check and check.fails()) else 0


def main():
    options = parsed()
    if options.list:
        print("\n".join(line.name for _, lines, _ in MEASUREMENTS for line in lines))
        return 0
    if reason := why_not():
        print(f"SKIPPED: no measurements: {reason}")
        return SKIPPED
    enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that mounts and files are cleaned up
    settings = settings_of(options)
    bench = Bench(settings, Path(tempfile.mkdtemp(prefix="recordfs-bench-")).resolve())
    try:
        return run(options, bench, machine.described(settings.program("recordfs")))
    finally:
        bench.close()


if __name__ == "__main__":
    sys.exit(main())
