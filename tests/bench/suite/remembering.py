"""The daemon's memory, and how much of the source it reads for one record."""
from comparing import Line, Row, measures, medians
from processes import checked, io_of

MEMORY = Line("memory", "peak memory while all records are found, or searched", "32 MiB and the cache's 64 MiB", 1)
SOURCE = Line("source", "source read for one record of the last chunk", "1 MiB", 1)
MEBIBYTE = 1 << 20
ALLOWED = 96  # MiB
COMMANDS = {"find": ["find", "-type", "f"], "grep": ["grep", "-rah", "worker-7 "]}
FORMS = ("riegeli-none", "riegeli-zstd", "leveldb")


@measures(MEMORY)
def peak(bench):
    for form in FORMS:
        source = bench.containers.file(form, bench.amounts.lines)
        for name, command in COMMANDS.items():
            with bench.recordfs(source) as mounted:
                checked(command, cwd=mounted / "records")
                yield Row(MEMORY, f"{form}, {name}", mounted.peak_memory() / MEBIBYTE, ALLOWED, "MiB")


@measures(SOURCE)
def one_record(bench):
    for form in FORMS:
        source = bench.containers.file(form, bench.amounts.lines)
        with bench.recordfs(source) as mounted:
            begin = (mounted / "index/chunks.tsv").read_text(encoding="ascii").splitlines()[-1].split("\t")[0]

        def read():
            with bench.recordfs(source) as mounted:
                before = io_of(mounted.daemon())["rchar"]
                checked(["cat", mounted / "chunks" / begin / "records/0"])
                return (io_of(mounted.daemon())["rchar"] - before) / MEBIBYTE

        yield Row(SOURCE, form, medians(bench.runs, read=read)["read"], 1, "MiB")
