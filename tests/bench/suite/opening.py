"""Single files: the first access, random records, their status, random offsets of a stream."""
from comparing import Line, Row, measures, medians
from processes import checked

INFO = Line("info", "command to first served info.json", "the floor's mount", 1.5)
OPEN = Line("open", "open+read+close of a random record, its chunk cached", "floor", 1.15)
STAT = Line("stat", "lstat of a random record", "floor")
PREAD = Line("pread", "4 KiB at a random place of streams/concat, its chunk cached", "the container itself")
ALL_CACHED = "cache_size=1G"
SEED = 11


@measures(INFO)
def first_look(bench):
    amounts = bench.amounts
    for form in ("riegeli-none", "riegeli-zstd", "leveldb"):
        for records in sorted({amounts.small, amounts.lines}):
            yield first_info(bench, f"{form}, {records} records", bench.containers.file(form, records))
    if amounts.large:
        source = bench.containers.file("riegeli-zstd", amounts.large, "large")
        yield first_info(bench, f"{amounts.large} records of 200 MB", source)


def first_info(bench, case, source):
    def first(command):
        taken = bench.actions("first", bench.point / "info.json", *command, bench.point)
        return taken["s"] * 1e3

    def ours():
        with Unmounting(bench):
            return first(bench.recordfs_command(source))

    def floor():
        with Unmounting(bench):
            return first(bench.floor_command())

    taken = medians(2 * bench.runs, ours=ours, floor=floor)
    return Row(INFO, case, taken["ours"], taken["floor"], "ms")


class Unmounting:
    """Unmounts at exit what was mounted in its block."""

    def __init__(self, bench):
        self._mounted = bench.floor()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._mounted.__exit__(*failure)


def of_random_records(bench, verb):
    """Time of a verb over random records, first and repeated, on a mount whose chunks are all decoded."""

    def times(mounted):
        words = (mounted / "records", bench.amounts.small, bench.amounts.random, SEED)
        # At the first open the kernel learns that open is not implemented.
        bench.actions("open", mounted / "records", bench.amounts.small, 1, SEED + 1)
        cold, warm = bench.actions(verb, *words), bench.actions(verb, *words)
        return {"cold": cold["p50_us"], "cold p99": cold["p99_us"], "warm": warm["p50_us"], "warm p99": warm["p99_us"]}

    def ours(source):
        with bench.recordfs(source, ALL_CACHED) as mounted:
            checked(["cat", mounted / "streams/concat"])
            return times(mounted)

    def floor(*switches):
        with bench.floor(f"--records={bench.amounts.small}", *switches) as mounted:
            return times(mounted)

    return ours, floor


def rows_of(line, case, taken, bounded=True):
    for name in ("cold", "warm"):
        notes = {"p99": f"{taken['ours'][f'{name} p99']:.1f} / {taken['floor'][f'{name} p99']:.1f} us"}
        yield Row(line, f"{case}, {name}", taken["ours"][name], taken["floor"][name], "us", notes,
                  bounded and name == "cold")


@measures(OPEN)
def random_records(bench):
    ours, floor = of_random_records(bench, "open")
    for form in ("riegeli-none", "riegeli-zstd", "leveldb"):
        source = bench.containers.file(form, bench.amounts.small)
        yield from rows_of(OPEN, form, medians(bench.runs, ours=lambda: ours(source), floor=floor))
    taken = medians(bench.runs, ours=lambda: ours(source), floor=lambda: floor("--threads=0"))
    yield from rows_of(OPEN, f"{form}, floor one thread", taken, bounded=False)


@measures(STAT)
def status(bench):
    ours, floor = of_random_records(bench, "stat")
    source = bench.containers.file("riegeli-zstd", bench.amounts.small)
    yield from rows_of(STAT, "riegeli-zstd", medians(bench.runs, ours=lambda: ours(source), floor=floor), bounded=False)


@measures(PREAD)
def random_places(bench):
    for form in ("riegeli-none", "riegeli-zstd"):
        source = bench.containers.file(form, bench.amounts.small)

        def ours():
            with bench.recordfs(source, ALL_CACHED) as mounted:
                # the chunks are decoded, and concat is not in the page cache
                checked(["cat", mounted / "streams/lines"])
                return bench.actions("pread", mounted / "streams/concat", bench.amounts.random, 4096, SEED)["p50_us"]

        def plain():
            return bench.actions("pread", source, bench.amounts.random, 4096, SEED)["p50_us"]

        taken = medians(bench.runs, ours=ours, plain=plain)
        yield Row(PREAD, form, taken["ours"], taken["plain"], "us")
