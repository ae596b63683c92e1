"""streams/concat through the mount, by format and codec. All processors."""
import inprocess
from comparing import Line, Row, Skipped, measures, medians
from processes import ALL_PROCESSORS, seconds

PLAIN = Line("cat-plain", "cat streams/concat, uncompressed container", "cat of the container", 0.6, faster=True)
PACKED = Line("cat-packed", "cat streams/concat, sizes known, compressed container",
              "one thread that decompresses and verifies the same chunks in memory", 1.6, faster=True)
LARGE = Line("cat-large", "cat of a record of 200 MB, Riegeli zstd", "streams/concat of log lines", faster=True)
UNCOMPRESSED = ("riegeli-none", "leveldb", "recordio-none", "proio-none")
COMPRESSED = ("riegeli-zstd", "riegeli-brotli", "riegeli-transposed.events", "recordio-zstd", "recordio-flate",
              "proio-lz4", "proio-gzip", "bloscpack-lz4", "bloscpack-zstd")
NOT_ASKED_FOR = ("riegeli-brotli",)
DEFAULT_CACHE, LEAST_CACHE = 64 << 20, 4 << 20


def cat_stream(bench, source):
    """A subject: MB/s of the whole stream on a fresh mount. If finding the size is slow enough to be saved, an earlier
    mount has done so."""
    index = bench.folder / "saved"
    with bench.recordfs(source, index=index, processors=ALL_PROCESSORS) as mounted:
        (mounted / "streams/concat").stat()

    def subject():
        # Chunks cached while finding the size must not be measured.
        cache = max(LEAST_CACHE, min(DEFAULT_CACHE, source.stat().st_size // 4))
        with bench.recordfs(source, f"cache_size={cache >> 20}M", index=index, processors=ALL_PROCESSORS) as mounted:
            stream = mounted / "streams/concat"
            return stream.stat().st_size / seconds(["cat", stream]) / 1e6

    return subject


@measures(PLAIN)
def uncompressed(bench):
    for form in UNCOMPRESSED:
        source = bench.containers.file(form, bench.amounts.lines)
        taken = medians(bench.runs, ours=cat_stream(bench, source),
                        container=lambda: source.stat().st_size / seconds(["cat", source]) / 1e6)
        yield Row(PLAIN, form, taken["ours"], taken["container"], "MB/s")


@measures(PACKED)
def compressed(bench):
    for subject in COMPRESSED:
        form, _, kind = subject.partition(".")
        source = bench.containers.file(form, bench.amounts.lines, kind or "lines")
        plain = f"plain/{subject}"
        taken = medians(bench.runs, ours=cat_stream(bench, source),
                        plain=lambda: inprocess.measured(bench, [plain], 1)[plain]["bytes"] / 1e6)
        yield Row(PACKED, subject, taken["ours"], taken["plain"], "MB/s", bounded=subject not in NOT_ASKED_FOR)


@measures(LARGE)
def large(bench):
    if bench.amounts.large == 0:
        raise Skipped("large records are in the full run alone")
    source = bench.containers.file("riegeli-zstd", bench.amounts.large, "large")
    lines = bench.containers.file("riegeli-zstd", bench.amounts.lines)

    def ours():
        with bench.recordfs(source, processors=ALL_PROCESSORS) as mounted:
            record = mounted / "records/0"
            return record.stat().st_size / seconds(["cat", record]) / 1e6

    taken = medians(bench.runs, ours=ours, lines=cat_stream(bench, lines))
    yield Row(LARGE, f"{bench.amounts.large} records", taken["ours"], taken["lines"], "MB/s")
