"""Single records by address, without a mount: recordfs cat FILE @OFFSET/INDEX... against a plain reader."""
import random
import subprocess

from comparing import Line, Row, measures, medians
from processes import ONE_PROCESSOR, output_of, timed

PICK = Line("pick", "recordfs cat of random @OFFSET/INDEX, per record, the program's start included",
            "plain reader, which trusts the offsets")
START = Line("pick-start", "recordfs cat of no record", "plain reader of one record")

SEED = 13
FORMS = (("riegeli-none, 1 MiB chunks", ()), ("riegeli-none, 4 KiB chunks", ("--per-chunk=7",)),
         ("riegeli-none, 1 a chunk", ("--per-chunk=1",)))


def addresses(bench, source, count):
    """Returns OFFSET/INDEX of random records."""
    lines = output_of([bench.settings.program("recordfs"), "ls", "--index", "no", source]).splitlines()
    return [line.split()[-1] for line in random.Random(SEED).sample(lines, min(count, len(lines)))]


def ours(bench, source, *ranges):
    return [bench.settings.program("recordfs"), "cat", "--index", "no", source, *ranges]


def plain(bench, source, picks):
    return [bench.settings.program("plain_readers"), "riegeli", source, "pick", *picks]


def check(source, *commands):
    if len({output_of(command, stderr=subprocess.DEVNULL) for command in commands}) > 1:
        raise RuntimeError(f"{source.name}: recordfs and the plain reader pick different records")


def compared(bench, mine, yardstick):
    """Returns the medians of both processor times, in seconds."""
    def side(command):
        return lambda: timed([*ONE_PROCESSOR, *command], stderr=subprocess.DEVNULL)["processor"]

    return medians(2 * bench.runs, ours=side(mine), plain=side(yardstick))


@measures(PICK)
def pick(bench):
    for case, options in FORMS:
        source = bench.containers.file("riegeli-none", bench.amounts.small, options=options)
        picks = addresses(bench, source, bench.amounts.picked)
        commands = ours(bench, source, *(f"@{one}" for one in picks)), plain(bench, source, picks)
        check(source, *commands)
        taken = compared(bench, *commands)
        yield Row(PICK, case, 1e6 * taken["ours"] / len(picks), 1e6 * taken["plain"] / len(picks), "us")


@measures(START)
def start(bench):
    source = bench.containers.file("riegeli-none", bench.amounts.small)
    taken = compared(bench, ours(bench, source, "0:0"), plain(bench, source, addresses(bench, source, 1)))
    yield Row(START, "riegeli-none", 1e3 * taken["ours"], 1e3 * taken["plain"], "ms")
