"""Directories with very many files."""
from comparing import Line, Row, Skipped, measures, medians
from processes import ONE_PROCESSOR, kernel_memory, seconds_and_lines

FIND = Line("find", "find over all records", "floor with readdirplus", 1.3)
NAMES = Line("ls", "ls -U of tiny records", "floor, names only", 1.5)
KERNEL = Line("ls-memory", "GiB that the kernel's memory grows by meanwhile", "1.5 GiB", 1)
MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30


def per_entry(mount, command, entries):
    """A subject: microseconds per entry of a command in records/ of a fresh mount, and the growth of kernel memory."""

    def subject():
        before = kernel_memory()
        with mount() as mounted:
            taken, lines = seconds_and_lines([*ONE_PROCESSOR, *command, mounted / "records"])
            if not entries <= lines <= entries + 1:
                raise RuntimeError(f"{command[0]} saw {lines} files")
            return {"us": 1e6 * taken / entries, "kernel": kernel_memory() - before,
                    "daemon": mounted.peak_memory()}

    return subject


def compared(bench, line, case, source, command, entries, *switches):
    ours = per_entry(lambda: bench.recordfs(source), command, entries)
    floor = per_entry(lambda: bench.floor(f"--records={entries}", *switches), command, entries)
    taken = medians(bench.runs, ours=ours, floor=floor)
    notes = {"daemon's memory": f"{taken['ours']['daemon'] / MEBIBYTE:.0f} MiB",
             "kernel's": f"{taken['ours']['kernel'] / MEBIBYTE:.0f} MiB"}
    return Row(line, case, taken["ours"]["us"], taken["floor"]["us"], "us/entry", notes), taken["ours"]["kernel"]


@measures(FIND)
def find(bench):
    for form in ("riegeli-none", "riegeli-zstd", "leveldb"):
        source = bench.containers.file(form, bench.amounts.lines)
        row, _ = compared(bench, FIND, f"{form}, {bench.amounts.lines} records", source, ["find"], bench.amounts.lines)
        yield row


@measures(NAMES, KERNEL)
def names(bench):
    entries = bench.amounts.tiny
    if entries == 0:
        raise Skipped("there are no tiny records in a run this small")
    for form in ("riegeli-none", "leveldb"):
        source = bench.containers.file(form, entries, "tiny")
        case = f"{form}, {entries} records"
        row, grown = compared(bench, NAMES, case, source, ["ls", "-U"], entries, "--listing=names", "--kind=tiny")
        yield row
        yield Row(KERNEL, case, grown / GIBIBYTE, 1.5, "GiB")
