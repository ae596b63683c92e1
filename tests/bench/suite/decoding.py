"""Without a mount: header scans, decoding by format and codec, single records, streams."""
from comparing import Line, Row, measures
from inprocess import measured
from processes import ALL_PROCESSORS

# Speed of transposed Brotli relative to simple zstd in the reference C++ library, in records per second.
REFERENCE = 750_000 / 1_490_000

ZSTD = Line("decode", "decode of a Riegeli chunk, zstd simple", "the same zstd and HighwayHash calls alone", 0.9,
            faster=True)
TRANSPOSED = Line("transposed", "decode of a transposed Brotli chunk", "our own simple zstd", REFERENCE, faster=True)
FIELD = Line("field", "decode of one of 40 fields of a transposed zstd chunk", "all 40 fields", 0.5)
WALK = Line("walk", "header walk, warm", "the file read once with 1 MiB reads", 1.2)
RECORD = Line("record", "random record of a Riegeli zstd file with 1 MiB chunks, nothing cached",
              "half a chunk decompressed", 1.3)
CACHED = Line("cached", "random record, its chunk decoded", "none")
STREAM = Line("stream", "streams/concat without a mount, 128 KiB at a time", "plain, one thread", faster=True)

BOUNDED = "riegeli-zstd"
OTHERS = ("riegeli-none", "riegeli-brotli", "leveldb", "recordio-none", "recordio-zstd", "recordio-flate", "proio-none",
          "proio-lz4", "proio-gzip", "bloscpack-lz4", "bloscpack-zstd")
WIDE = "riegeli-wide.wide"
EVENTS, SIMPLE_EVENTS = "riegeli-transposed.events", "riegeli-zstd.events"


def compared(bench, line, form, ours, yardstick, unit, scale, processors=None):
    names = [f"{ours}/{form}", f"{yardstick}/{form}"]
    taken = measured(bench, names, bench.runs, **({} if processors is None else {"processors": processors}))
    metric = "bytes" if line.faster else "seconds"
    return [taken[name][metric] * scale for name in names], unit


def speeds(bench, line, ours, processors=None):
    """Yields a row in MB/s for each form; the line's bound applies to one of them."""
    for form in (BOUNDED, *OTHERS, EVENTS):
        (one, other), unit = compared(bench, line, form, ours, "plain", "MB/s", 1e-6, processors)
        yield Row(line, form, one, other, unit, bounded=form == BOUNDED)


@measures(ZSTD)
def decode(bench):
    yield from speeds(bench, ZSTD, "decode")


@measures(TRANSPOSED)
def transposed(bench):
    names = [f"decode/{EVENTS}", f"decode/{SIMPLE_EVENTS}", f"plain/{EVENTS}"]
    taken = measured(bench, names, bench.runs)
    ours, simple, brotli = (taken[name] for name in names)
    # The time of Brotli alone limits the ratio, and depends on the content of the messages.
    notes = {"MB/s": f"{ours['bytes'] / 1e6:.0f} / {simple['bytes'] / 1e6:.0f}",
             "ratio of Brotli alone": f"{brotli['records'] / simple['records']:.2f}"}
    yield Row(TRANSPOSED, EVENTS, ours["records"] / 1e3, simple["records"] / 1e3, "k records/s", notes)


@measures(FIELD)
def field(bench):
    (ours, whole), unit = compared(bench, FIELD, WIDE, "field", "decode", "us", 1e6)
    yield Row(FIELD, WIDE, ours, whole, unit)


@measures(WALK)
def walk(bench):
    for form in ("leveldb", "riegeli-none", "riegeli-zstd", "recordio-none", "proio-none"):
        (ours, read), unit = compared(bench, WALK, form, "scan", "read", "ms", 1e3)
        yield Row(WALK, form, ours, read, unit, bounded=form == "leveldb")


@measures(RECORD)
def record(bench):
    (ours, half), unit = compared(bench, RECORD, BOUNDED, "ordinal", "half", "us", 1e6)
    yield Row(RECORD, BOUNDED, ours, half, unit)


@measures(CACHED)
def cached(bench):
    for form in ("riegeli-none", BOUNDED, "leveldb"):
        name = f"cached/{form}"
        yield Row(CACHED, form, measured(bench, [name], bench.runs)[name]["seconds"] * 1e6, None, "us")


@measures(STREAM)
def stream(bench):
    yield from speeds(bench, STREAM, "stream", ALL_PROCESSORS)
