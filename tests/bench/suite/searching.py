"""grep -r over all records."""
import shutil

from comparing import Line, Row, least, measures
from processes import ONE_PROCESSOR, checked, io_of, seconds_and_lines
from shapes import LEAST, SEARCHED

COLD = Line("grep-cold", "grep -r over records/, cold mount", "floor with pushing", 1.3)
AGAIN = Line("grep-again", "the same, again", "tmpfs", 1.15)
BESIDE = Line("grep-beside", "grep -r, cold mount: another codec, another tree", "floor, also without some of it")
READ = Line("grep-read", "bytes that the daemon reads for grep -r, cold mount", "the container's size", 1.1)
MEBIBYTE = 1 << 20
FLOORS = {"one thread": ("--threads=0",), "without pushing": ("--push=0",)}


def grep(folder):
    """(seconds, lines found). The output is kept, as grep would otherwise stop at each first match."""
    return seconds_and_lines([*ONE_PROCESSOR, "grep", "-rah", "worker-7 ", f"{folder}/"])


class Search:
    """grep over a folder of a mount: microseconds per file, cold and repeated, and the number of requests."""

    def __init__(self, bench, mount, folder):
        self._bench, self._mount, self._folder = bench, mount, folder
        self.found = None

    def __call__(self):
        with self._mount() as mounted:
            return {"cold": self._microseconds(mounted), "again": self._microseconds(mounted)}

    def _microseconds(self, mounted):
        taken, self.found = grep(mounted / self._folder)
        return 1e6 * taken / self._bench.amounts.small

    def messages(self):
        """{"cold": requests per file, "again": ...}, as text. Counted in separate runs, because counting costs time."""
        with self._mount() as mounted:
            return {name: self._counted(mounted) for name in ("cold", "again")}

    def _counted(self, mounted):
        count = self._bench.messages.of(mounted.point, lambda: grep(mounted / self._folder))
        return "-" if count is None else f"{count / self._bench.amounts.small:.3f}"


@measures(COLD, AGAIN)
def flat(bench):
    records = bench.amounts.small
    floor = Search(bench, lambda: bench.floor(f"--records={records}"), "records")
    copy = copied(bench, SEARCHED[0].file(bench, records))  # every shape has the same records
    expected = grep(copy)[1]
    least_sent = floor.messages()
    for shape in SEARCHED:
        source = shape.file(bench, records)
        ours = Search(bench, lambda: bench.recordfs(source), "records")
        taken = least(bench.runs, ours=ours, floor=floor, copy=lambda: 1e6 * grep(copy)[0] / records)
        if ours.found != expected:
            raise RuntimeError(f"{shape.case}: {ours.found} lines found")
        sent = ours.messages()
        yield Row(COLD, shape.case, taken["ours"]["cold"], taken["floor"]["cold"], "us/file",
                  {"messages a file": f"{sent['cold']} / {least_sent['cold']}"})
        yield Row(AGAIN, shape.case, taken["ours"]["again"], taken["copy"], "us/file",
                  {"messages a file": f"{sent['again']} / 0", "floor": f"{taken['floor']['again']:.2f} us/file"})


@measures(READ)
def bytes_read(bench):
    for shape in SEARCHED:
        source = shape.file(bench, bench.amounts.small)
        size = source.stat().st_size
        with bench.recordfs(source) as mounted:
            grep(mounted / "records")
            got = io_of(mounted.daemon())["rchar"]  # from its start on, as it scans the container at once
        yield Row(READ, shape.case, got / MEBIBYTE, size / MEBIBYTE, "MiB", bounded=size >= LEAST)


@measures(BESIDE)
def beside(bench):
    records = bench.amounts.small
    source = bench.containers.file("riegeli-none", records)
    yield from compared(bench, "riegeli-zstd", bench.containers.file("riegeli-zstd", records), "records")
    yield from compared(bench, "riegeli-none, thousands/", source, "thousands", "--layout=thousands")
    for name, switches in FLOORS.items():
        yield from compared(bench, f"riegeli-none, floor {name}", source, "records", *switches)


def compared(bench, case, source, folder, *switches):
    ours = Search(bench, lambda: bench.recordfs(source), folder)
    floor = Search(bench, lambda: bench.floor(f"--records={bench.amounts.small}", *switches), folder)
    taken = least(bench.runs, ours=ours, floor=floor)
    notes = {"messages a file": f"{ours.messages()['cold']} / {floor.messages()['cold']}"}
    yield Row(BESIDE, case, taken["ours"]["cold"], taken["floor"]["cold"], "us/file", notes)


def copied(bench, source):
    """Returns a folder with the records as plain files in memory."""
    target = bench.memory_folder(2 * 4096 * bench.amounts.small) / "records"
    if target.exists():
        shutil.rmtree(target)
    with bench.recordfs(source) as mounted:
        checked(["cp", "-r", "--no-preserve=mode", mounted / "records", target])
    return target
