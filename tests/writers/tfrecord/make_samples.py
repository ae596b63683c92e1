#!/usr/bin/env python3
"""Writes tests/corpus/tfrecord from scratch, following the public description of TFRecord
(core/formats/tfrecord/FORMAT.md)."""
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import samples  # noqa: E402
from samples import field, fixed32_field, fixed64_field, flipped, masked_crc32c, noise, number_field, varint, words

HEADER = 12
FRAME = 16
PICKED = 203  # the record of small.tfrecord that is damaged, of 21 bytes


def framed(record):
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked_crc32c(length)) + record + struct.pack("<I", masked_crc32c(record))


def joined(records):
    return b"".join(map(framed, records))


def begin_of(records, index):
    return sum(len(record) + FRAME for record in records[:index])


def bytes_list(*values):
    return field(1, b"".join(field(1, value) for value in values))


def float_list(*values, packed=True):
    if packed:
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(2, b"".join(fixed32_field(1, value) for value in values))


def int64_list(*values, packed=True):
    if packed:
        return field(3, field(1, b"".join(map(varint, values))))
    return field(3, b"".join(number_field(1, value) for value in values))


def features(*pairs):
    return b"".join(field(1, field(1, key) + field(2, feature)) for key, feature in pairs)


def example(*pairs):
    return field(1, features(*pairs))


def feature_list(*steps):
    return b"".join(field(1, step) for step in steps)


def sequence_example(context, lists):
    lists = b"".join(field(1, field(1, key) + field(2, steps)) for key, steps in lists)
    return field(1, features(*context)) + field(2, lists)


JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + noise(300, 1) + b"\xff\xd9"


def some_examples():
    return [
        example(("image/encoded", bytes_list(JPEG)), ("image/format", bytes_list("jpeg")),
                ("image/height", int64_list(480)), ("image/width", int64_list(640)),
                ("image/object/bbox/xmin", float_list(0.1, 0.25, 1 / 3)),
                ("image/object/class/text", bytes_list("cat", b"\xc3\xa9t\xc3\xa9", b"\xff\x00\x01"))),
        example(("unpacked ints", int64_list(1, -1, 1 << 62, packed=False)),
                ("unpacked floats", float_list(1.5, -0.0, 1e-40, 3.4028234e38, packed=False)),
                ("not finite", float_list(float("inf"), float("-inf"), float("nan")))),
        example(("no kind", b""), ("no bytes", field(1, b"")), ("no floats", field(2, b"")), ("no ints", field(3, b"")),
                ("one empty value", bytes_list(b""))),
        example(("", int64_list(7)), ("..", bytes_list("up")), ("a\nb", float_list(2.0)), ("k" * 300, int64_list(1, 2))),
        example(*[(f"feature {i:03}", int64_list(*range(i))) for i in range(40)]),
        example(),
        b"",
        # Merged as protobuf does: the last kind wins, lists of one kind are concatenated, a key's last entry wins.
        field(1, features(("twice", int64_list(1)))) + field(1, features(("twice", int64_list(2, 3)))),
        example(("two kinds", int64_list(1) + bytes_list("the last"))),
        example(("lists add up", int64_list(1, 2) + int64_list(3, packed=False))),
    ]


def some_strangers():
    """Returns records that are not an Example."""
    return [b"text", b"\x00\x01\x02", number_field(1, 5), field(1, number_field(1, 3)), field(1, field(2, "x")),
            example(("a", int64_list(1))) + field(3, "more"), example(("a", field(4, "other kind"))),
            field(1, field(1, field(1, b"\xff\xfe") + field(2, int64_list(1)))), example(("a", bytes_list("x")))[:-1]]


def some_sequence_examples():
    steps = [bytes_list(frame) for frame in (b"frame 0", b"frame 1", JPEG)]
    return [
        sequence_example([("id", bytes_list("clip")), ("length", int64_list(3))],
                         [("frames", feature_list(*steps)), ("labels", feature_list(int64_list(1, 2), int64_list(3)))]),
        sequence_example([], [("only lists", feature_list(float_list(0.5)))]),
        sequence_example([("no steps follow", int64_list(1))], [("empty", feature_list())]),
    ]


def some_events():
    events = [fixed64_field(1, 1700000000.5) + field(3, "brain.Event:2")]
    for step in range(20):
        value = field(1, "loss") + fixed32_field(2, 1.0 / (step + 1))
        events.append(fixed64_field(1, 1700000001.0 + step) + number_field(2, step) + field(5, field(1, value)))
    return events


def some_small():
    return [noise(size * 7 % 200, size) for size in range(300)]


def write_good(corpus):
    corpus.write("empty.tfrecord", b"", [])
    corpus.write("one.tfrecord", framed(b"hello"), [b"hello"])
    corpus.write("one-empty-record.tfrecord", framed(b""), [b""])
    many_empty = [b""] * 1000
    corpus.write("empty-records.tfrecords", joined(many_empty), many_empty)
    small = some_small()
    corpus.write("small.tfrecord", joined(small), small)
    runs = [words(9000 + i, i) for i in range(70)]
    corpus.write("runs.tfrecord", joined(runs), runs, notes="more than one run of 256 KiB")
    large = [b"before", words(300000, 3), b"behind", b""]
    corpus.write("large-record.tfrecord", joined(large), large, notes="a record that is larger than a run")
    inside = joined([noise(40, i) for i in range(20)])
    nested = [b"before", inside, inside[:300], b"behind"]
    corpus.write("embedded.tfrecord", joined(nested), nested, notes="records that are TFRecord files themselves")
    for name, records in (("examples.tfrecord", some_examples()), ("train-00000-of-00002", some_examples()[:3]),
                          ("strangers.tfrecord", some_strangers()),
                          ("sequence-examples.tfrecord", some_sequence_examples()),
                          ("events.out.tfevents.1700000000.host", some_events())):
        corpus.write(name, joined(records), records)


def write_real(corpus):
    """A file that PyTorch's SummaryWriter wrote (core/formats/tfrecord/FORMAT.md, "Event files")."""
    name = "real/events.out.tfevents.1622543341.torch"
    content = (corpus.folder / name).read_bytes()
    records = []
    at = 0
    while at < len(content):
        size, = struct.unpack_from("<Q", content, at)
        records.append(content[at + HEADER:at + HEADER + size])
        at += HEADER + size + 4
    assert joined(records) == content
    corpus.write(name, content, records, producer="the SummaryWriter of PyTorch")


def write_flips(corpus):
    small = some_small()
    content = joined(small)
    begin = begin_of(small, PICKED)
    left = small[:PICKED] + small[PICKED + 1:]
    for what, at in (("length", begin), ("high-byte-of-length", begin + 6), ("length-checksum", begin + 9),
                     ("data", begin + HEADER + 5), ("data-checksum", begin + HEADER + len(small[PICKED]))):
        corpus.write_damaged(f"damaged/{what}-flip.tfrecord", "small.tfrecord", flipped(content, at), left,
                             {"byte": at, "xor": 16})
    corpus.write_damaged("damaged/first-header-flip.tfrecord", "small.tfrecord", flipped(content, 1), small[1:],
                         {"byte": 1, "xor": 16})
    two = flipped(flipped(content, begin), begin + 10)
    corpus.write_damaged("damaged/header-two-bytes.tfrecord", "small.tfrecord", two, left, {"bytes": [begin, begin + 10]})
    nested = [b"before", joined([noise(40, i) for i in range(20)]), joined([noise(40, i) for i in range(20)])[:300],
              b"behind"]
    at = begin_of(nested, 1)
    corpus.write_damaged("damaged/length-flip-of-embedded.tfrecord", "embedded.tfrecord", flipped(joined(nested), at),
                         [nested[0], *nested[2:]], {"byte": at, "xor": 16}, unchecked=True,
                         notes="with one more wrong byte there, the records inside are taken for the file's own")


def write_cuts(corpus):
    small = some_small()
    content = joined(small)
    begin = begin_of(small, PICKED)
    for what, size, count in (("data", begin + HEADER + 3, PICKED), ("header", begin + 7, PICKED),
                              ("header-behind-length", begin + 8, PICKED),
                              ("checksum", begin_of(small, PICKED + 1) - 1, PICKED), ("first-record", 13, 0)):
        corpus.write_damaged(f"damaged/cut-in-{what}.tfrecord", "small.tfrecord", content[:size], small[:count],
                             {"cut": size})
    # The length of the picked record covers as many bytes after the hole as the record lacks.
    lacking = len(small[PICKED]) + FRAME - 20
    corpus.write_damaged("damaged/hole.tfrecord", "small.tfrecord", content[:begin + 20] + content[begin + 3020:],
                         small[:PICKED] + small[first_behind(small, begin + 3020 + lacking):],
                         {"removed": [begin + 20, begin + 3020]})
    zeroed = content[:begin] + bytes(1000) + content[begin + 1000:]
    corpus.write_damaged("damaged/zeros-inside.tfrecord", "small.tfrecord", zeroed,
                         small[:PICKED] + small[first_behind(small, begin + 1000):], {"zeroed": [begin, begin + 1000]})
    corpus.write_damaged("damaged/zeros-at-end.tfrecord", "small.tfrecord", content + bytes(5000), small, {"added": 5000})
    corpus.write_damaged("damaged/bytes-between.tfrecord", "small.tfrecord",
                         content[:begin] + noise(100, 9) + content[begin:], small, {"added": [begin, 100]})


def first_behind(records, at):
    return next(i for i in range(len(records) + 1) if begin_of(records, i) >= at)


def packed(content, bits=31, level=6):
    """Returns one gzip member, or with 15 bits a zlib stream."""
    stream = zlib.compressobj(level, zlib.DEFLATED, bits)
    return stream.compress(content) + stream.flush()


def flushed(records, bits=31):
    """Compresses like a writer that flushes after each record."""
    stream = zlib.compressobj(6, zlib.DEFLATED, bits)
    return b"".join(stream.compress(framed(record)) + stream.flush(zlib.Z_SYNC_FLUSH) for record in records) + stream.flush()


def write_packed(corpus):
    small = some_small()
    runs = [words(9000 + i, i) for i in range(110)]
    noisy = [noise(700 + i, i) for i in range(220)]
    long = [b"before", words(400000, 3), noise(80000, 4), b"behind", b""]
    same = [bytes(50000)] * 30
    for name, records, content in (
            ("small.tfrecord.gz", small, packed(joined(small))), ("small.tfrecord.zlib", small, packed(joined(small), 15)),
            ("examples.tfrecord.gz", some_examples(), packed(joined(some_examples()))),
            ("runs.tfrecord.gz", runs, packed(joined(runs))), ("noise.tfrecord.gz", noisy, packed(joined(noisy))),
            ("noise.tfrecord.zlib", noisy[:130], packed(joined(noisy[:130]), 15)),
            ("stored.tfrecord.gz", noisy, packed(joined(noisy), level=0)),
            ("long-records.tfrecord.gz", long, packed(joined(long))), ("same.tfrecord.gz", same, packed(joined(same))),
            ("many-empty.tfrecord.gz", [b""] * 50000, packed(framed(b"") * 50000)),
            ("flushed.tfrecord.gz", noisy, flushed(noisy)),
            ("members.tfrecord.gz", noisy, packed(joined(noisy[:7])) + packed(b"") + packed(joined(noisy[7:]))),
            ("member-inside-record.tfrecord.gz", small, packed(joined(small)[:9000]) + packed(joined(small)[9000:])),
            ("no-records.tfrecord.gz", [], packed(b""))):
        corpus.write(f"packed/{name}", content, records)


def unpacked(content):
    """Decompresses as far as possible."""
    stream = zlib.decompressobj(31)
    out = bytearray()
    try:
        for byte in content:
            out += stream.decompress(bytes([byte]))
    except zlib.error:
        pass
    return bytes(out)


def sound_records(content):
    """Returns the records with valid data checksums, up to the first invalid length."""
    at = 0
    while len(content) - at >= FRAME and content[at + 8:at + HEADER] == struct.pack("<I", masked_crc32c(content[at:at + 8])):
        end = at + HEADER + struct.unpack_from("<Q", content, at)[0]
        if end + 4 > len(content):
            return
        if content[end:end + 4] == struct.pack("<I", masked_crc32c(content[at + HEADER:end])):
            yield content[at + HEADER:end]
        at = end + 4


def write_packed_damage(corpus):
    noisy = [noise(700 + i, i) for i in range(220)]
    content = packed(joined(noisy))
    source = "packed/noise.tfrecord.gz"
    # Nearly all data is stored uncompressed, so a byte of the file is a byte of a record.
    for what, at in (("data", 90000), ("trailer", len(content) - 6), ("end", len(content) - 20)):
        changed = flipped(content, at)
        corpus.write_damaged(f"damaged/packed-{what}-flip.tfrecord.gz", source, changed,
                             list(sound_records(unpacked(changed))), {"byte": at, "xor": 16})
    for what, size in (("data", 90000), ("trailer", len(content) - 3), ("head", 40)):
        corpus.write_damaged(f"damaged/packed-cut-in-{what}.tfrecord.gz", source, content[:size],
                             list(sound_records(unpacked(content[:size]))), {"cut": size})
    squeezed = packed(joined([words(9000 + i, i) for i in range(110)]))
    changed = flipped(squeezed, 40000)
    corpus.write_damaged("damaged/packed-words-flip.tfrecord.gz", "packed/runs.tfrecord.gz", changed,
                         list(sound_records(unpacked(changed))), {"byte": 40000, "xor": 16})
    corpus.write_damaged("damaged/packed-bytes-behind.tfrecord.gz", source, content + b"behind", noisy, {"added": 6})
    inner = joined(noisy)
    begin = begin_of(noisy, PICKED)
    corpus.write_damaged("damaged/packed-wrong-data.tfrecord.gz", source, packed(flipped(inner, begin + 20)),
                         noisy[:PICKED] + noisy[PICKED + 1:], {"before packing": begin + 20})
    corpus.write_damaged("damaged/packed-wrong-length.tfrecord.gz", source, packed(flipped(inner, begin + 1)),
                         noisy[:PICKED], {"before packing": begin + 1})
    corpus.write_damaged("damaged/packed-cut-before-packing.tfrecord.gz", source, packed(inner[:begin + 50]),
                         noisy[:PICKED], {"cut before packing": begin + 50})
    # Alternating damage and records, many in one byte of the file.
    dense = (framed(b"") + b"x" * 40) * 21 + noise(1000, 12)
    corpus.write_damaged("damaged/packed-damage-within-a-byte.tfrecord.gz", "empty-records.tfrecords", packed(dense),
                         [b""] * 21, {"before packing": FRAME})


def write_refused(corpus):
    corpus.write_refused("negative/zeros.tfrecord", bytes(4096), "nothing but zeros")
    corpus.write_refused("negative/noise.tfrecord", noise(4096, 11), "nothing that verifies")
    corpus.write_refused("negative/text.gz", packed(b"text " * 1000), "a compressed file of something else")
    corpus.write_refused("negative/short.tfrecord", framed(b"hello")[:11], "less than a header")


def main():
    corpus = samples.Corpus("tfrecord", "tfrecord", "tests/writers/tfrecord/make_samples.py")
    write_good(corpus)
    write_real(corpus)
    write_flips(corpus)
    write_cuts(corpus)
    write_packed(corpus)
    write_packed_damage(corpus)
    write_refused(corpus)


if __name__ == "__main__":
    main()
