#!/usr/bin/env python3
"""Writes tests/corpus/avro: files of Apache Avro's Python package (python3-avro), and files from scratch with what it cannot
write. Each record's bytes come from that package's encoder, or are made here."""
import bz2
import datetime
import decimal
import io
import json
import lzma
import struct
import sys
import zlib
from pathlib import Path

import avro.datafile
import avro.io
import avro.schema
import snappy
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import samples  # noqa: E402
from samples import flipped, noise, varint, words  # noqa: E402

SYNC = noise(16, 34)
avro.datafile.randbytes = lambda size: SYNC[:size]


def long(value):
    return varint((value << 1) ^ (value >> 63))


def data(content):
    content = content.encode() if isinstance(content, str) else content
    return long(len(content)) + content


def header(schema, codec="null", magic=b"Obj\x01", sync=SYNC, entries=None):
    """Returns the header of a file; `entries`: the encoded map, if it is not the usual one."""
    schema = schema if isinstance(schema, str) else json.dumps(schema)
    if entries is None:
        pairs = data("avro.schema") + data(schema) + (data("avro.codec") + data(codec) if codec else b"")
        entries = long(2 if codec else 1) + pairs + long(0)
    return magic + entries + sync


def deflate(content):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


PACK = {
    "null": lambda content: content,
    "deflate": deflate,
    "snappy": lambda content: snappy.compress(content) + struct.pack(">I", zlib.crc32(content)),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def block(records, codec="null", sync=SYNC, count=None, size=None, pack=None):
    """Returns a block. `count`, `size`: what its header says instead of the truth."""
    content = (pack or PACK[codec])(b"".join(records))
    return (long(len(records) if count is None else count) + long(len(content) if size is None else size) + content + sync)


def encoded(schema, datum):
    out = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(json.dumps(schema))).write(datum, avro.io.BinaryEncoder(out))
    return out.getvalue()


USER = {
    "type": "record", "name": "User", "namespace": "com.example", "doc": "A user of the shop.", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "score", "type": ["null", "double", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "level", "type": {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "raw", "type": "bytes"},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "other", "type": ["null", "Level"]},
    ]}
SMALL = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "s", "type": "string"}]}


def user(i):
    return {"id": (i - 3) * 1000003, "name": f"user {i} ü", "score": [None, i / 4, f"s{i}"][i % 3], "tags": [f"t{n}" for n in range(i % 4)],
            "counts": {f"k{n}": n - i for n in range(i % 3)}, "level": ["LOW", "HIGH"][i % 2], "hash": bytes([i, 255, 0, i]),
            "raw": bytes(range(i % 7)) + b"\xff" * (i % 2), "born": datetime.date(1970 + i, 1 + i % 12, 1 + i % 28),
            "seen": datetime.datetime(2026, 3, 14, 9, 0, 2, 123456 + i, tzinfo=datetime.timezone.utc),
            "price": decimal.Decimal(i * 1234 - 5000).scaleb(-2), "other": [None, "HIGH"][i % 2]}


def write_by_python(files):
    """Files of the package, 25 records to a block. Its deflate blocks end with bytes of a zlib stream's checksum."""
    files.common["producer"] = "Apache Avro 1.11.1, Python"
    users = [user(i) for i in range(60)]
    records = [encoded(USER, datum) for datum in users]
    for codec in ("null", "deflate", "snappy", "bzip2", "zstandard"):
        out = io.BytesIO()
        out.close = lambda: None
        writer = avro.datafile.DataFileWriter(out, avro.io.DatumWriter(), avro.schema.parse(json.dumps(USER)), codec=codec)
        for number, datum in enumerate(users, 1):
            writer.append(datum)
            if number % 25 == 0:
                writer.sync()
        writer.flush()
        files.write(f"users-{codec}.avro", out.getvalue(), records, unchecked=codec in ("null", "deflate", "zstandard"))
    files.common["producer"] = "tests/writers/avro/make_samples.py"
    content = header(USER, "xz") + b"".join(block(records[n:n + 25], "xz") for n in range(0, 60, 25))
    files.write("users-xz.avro", content, records)


def small_records():
    return [encoded(SMALL, {"a": n * 100 - 7, "s": f"text {n}"}) for n in range(5)]


def write_small(files):
    records = small_records()
    for codec in PACK:
        content = header(SMALL, codec) + block(records[:3], codec) + block(records[3:], codec)
        files.write(f"small/{codec}.avro", content, records, unchecked=codec in ("null", "deflate"))


def write_headers(files):
    records = small_records()
    rest = block(records)
    key = data("avro.schema"), data(json.dumps(SMALL))
    files.write("empty.avro", b"", [])
    files.write("header-only.avro", header(SMALL), [], unchecked=True)
    files.write("no-codec.avro", header(SMALL, None) + rest, records, unchecked=True)
    several = long(1) + b"".join(key) + long(2) + data("x") + data(b"\xff\x00") + data("") + data("") + long(0)
    files.write("header-in-blocks.avro", header("", entries=several) + rest, records, unchecked=True)
    negative = long(-1) + long(len(b"".join(key))) + b"".join(key) + long(0)
    files.write("header-with-sizes.avro", header("", entries=negative) + rest, records, unchecked=True)
    large = dict(SMALL, doc="long " * 3000)
    files.write("large-header.avro", header(large) + rest, records, unchecked=True)
    many = long(300) + b"".join(data(f"key {n}") + data(f"{n}") for n in range(300)) + long(1) + b"".join(key) + long(0)
    files.write("many-values.avro", header("", entries=many) + rest, records, unchecked=True)
    whole = [b"".join(records[:2]), b"".join(records[2:])]
    blocks = block(records[:2]) + block([]) + block(records[2:])
    for name, schema in {"schema-not-json": "{", "schema-of-unknown-type": '{"type":"rekord","name":"R"}',
                         "schema-undefined": '["null","R"]'}.items():
        files.write(f"{name}.avro", header(schema) + blocks, whole, unchecked=True, damaged=True)
    files.write("no-schema.avro", header("", entries=long(1) + data("avro.codec") + data("null") + long(0)) + blocks, whole,
                unchecked=True, damaged=True)


def write_blocks(files):
    records = small_records()
    files.write("empty-blocks.avro", header(SMALL) + block([]) + block(records[:2]) + block([]) + block([]) + block(records[2:])
                + block([]), records, unchecked=True)
    for codec in ("deflate", "snappy", "zstandard"):
        files.write(f"empty-blocks-{codec}.avro", header(SMALL, codec) + block([], codec) + block(records, codec) + block([], codec),
                    records, unchecked=codec == "deflate")
    raw = block(records, pack=snappy.compress)
    files.write("snappy-without-checksum.avro", header(SMALL, "snappy") + raw + raw, records * 2, unchecked=True)
    unchecked = {"xz": lambda content: lzma.compress(content, check=lzma.CHECK_NONE),
                 "zstandard": zstandard.ZstdCompressor().compress}
    for codec, pack in unchecked.items():
        files.write(f"{codec}-without-checksum.avro", header(SMALL, codec) + block(records, pack=pack), records, unchecked=True)
    files.write("bzip2-two-streams.avro",
                header(SMALL, "bzip2") + block(records, pack=lambda c: bz2.compress(c[:9]) + bz2.compress(c[9:])), records)
    # Markers across the borders of windows that readers use.
    texts = [encoded("string", words(size, size).decode()) for size in [*range(470, 520, 3), 65500, 65530, 4000]]
    files.write("marker-at-window-borders.avro", header('"string"') + b"".join(block([text]) for text in texts), texts, unchecked=True)
    files.write("zero-marker.avro", header(SMALL, sync=bytes(16)) + block(records[:3], sync=bytes(16))
                + block(records[3:], sync=bytes(16)), records, unchecked=True)


def write_schemas(files):
    def one(name, schema, records):
        files.write(f"{name}.avro", header(json.dumps(schema)) + block(records), records, unchecked=True)

    one("nulls", "null", [b""] * 7)
    one("strings", "string", [data("first"), data(""), data(b"\xff\xfe")])
    one("unions", ["null", "int", {"type": "map", "values": "string"}, {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}],
        [long(0), long(1) + long(5), long(2) + long(1) + data("k") + data("v") + long(0), long(3) + long(-1)])
    array = {"type": "array", "items": "long"}
    one("negative-counts", array, [long(-2) + long(3) + long(1) + long(300) + long(1) + long(9) + long(0), long(0), long(2) + long(7) + long(8) + long(0)])
    node = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "Node"]}]}
    chains = [b"".join(long(n) + long(1) for n in range(length)) + long(99) + long(0) for length in (0, 3, 60, 400)]
    one("recursive", node, chains)
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "inner", "type": {"type": "array", "items": "Tree"}}]}
    one("tree", tree, [long(0), long(2) + long(0) + long(1) + long(0) + long(0) + long(0)])
    maps = {"type": "map", "values": "null"}
    one("map-keys", maps, [long(2) + data("a") + data("b") + long(0), long(2) + data("a") + data("a") + long(0), long(1) + data(b"\xff") + long(0)])
    one("many-nulls", {"type": "array", "items": "null"}, [long(1 << 62) + long(0), long(3) + long(0)])
    levels = [{"type": "record", "name": "R0", "fields": []}]
    levels += [{"type": "record", "name": f"R{n}", "fields": [{"name": "a", "type": f"R{n - 1}"}, {"name": "b", "type": f"R{n - 1}"}]}
               for n in range(1, 41)]
    one("exponential", levels, [long(40), long(0)])
    named = {"type": "record", "name": "a.b.Top", "fields": [
        {"name": "one", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "two", "type": "a.b.F"},
        {"name": "three", "type": {"type": "enum", "name": "E", "namespace": "c", "symbols": ["X", "Y"]}},
        {"name": "four", "type": ["null", "F", "c.E"]},
        {"name": "five", "type": {"type": "record", "name": "Inner", "namespace": "", "fields": [{"name": "x", "type": {"type": "int"}}]}}]}
    one("namespaces", named, [b"\x01\x02" + b"\x03\x04" + long(1) + long(2) + long(0) + long(7)])
    logical = {"type": "record", "name": "L", "fields": [
        {"name": "date", "type": {"type": "int", "logicalType": "date"}},
        {"name": "time_millis", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "time_micros", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "nanos", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "decimal", "type": {"type": "fixed", "name": "D", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 5}},
        {"name": "uuid", "type": {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}},
        {"name": "duration", "type": {"type": "fixed", "name": "W", "size": 12, "logicalType": "duration"}},
        {"name": "unknown", "type": {"type": "int", "logicalType": "no-such-type"}},
        {"name": "float", "type": "float"}, {"name": "double", "type": "double"}, {"name": "bool", "type": "boolean"}]}

    def of(date, time, moment, number, single, double):
        return (long(date) + long(time) + long(time * 1000) + long(moment) + long(moment * 1000) + long(moment) + number.to_bytes(9, "big", signed=True)
                + bytes(range(16)) + struct.pack("<III", 1, 2, 3) + long(5) + struct.pack("<fd", single, double) + b"\x01")

    nan = float("nan")
    one("logical", logical, [of(20526, 32402123, 1773478802123, 1234567, 0.1, 0.1), of(-1, 0, -1, -1, nan, float("inf")),
                             of(-(1 << 31), 86399999, -(1 << 52), -(1 << 71), -0.0, 1e300), of(2932896, 86400000, 1 << 53, 0, 3.4e38, 5e-324)])


def write_damaged(files):
    records = small_records()
    start = header(SMALL)
    blocks = [block(records[:2]), block(records[2:4]), block(records[4:])]
    three = start + b"".join(blocks)
    files.write("three-blocks.avro", three, records, unchecked=True)
    first = len(start)
    second = first + len(blocks[0])
    third = second + len(blocks[1])
    outside = records[:2] + records[4:]

    def bad(name, content, left, damage, source="three-blocks.avro"):
        files.write_damaged(f"damaged/{name}.avro", f"../{source}", content, left, damage, unchecked=True)

    def with_second(**more):
        return start + blocks[0] + block(records[2:4], **more) + blocks[2]

    bad("marker-byte", flipped(three, third - 5), records, {"byte": third - 5})
    bad("marker-lost", three[:third - 16] + noise(16, 1) + three[third:], records, {"at": third - 16})
    bad("last-marker-lost", three[:-16] + noise(16, 1), records[:4], {"at": len(three) - 16})
    bad("header-marker-byte", flipped(three, first - 1), records, {"byte": first - 1})
    for name, count in {"count-up": 3, "count-down": 1, "count-zero": 0, "count-huge": 1 << 40, "count-negative": -2}.items():
        bad(name, with_second(count=count), outside if name != "count-up" else outside, {"count": count})
    true = len(b"".join(records[2:4]))
    for name, size in {"size-up": true + 1, "size-down": true - 1, "size-huge": 1 << 40, "size-negative": -1, "size-largest": (1 << 63) - 1}.items():
        bad(name, with_second(size=size), outside, {"size": size})
    for name, end in {"cut-in-block-header": third + 1, "cut-in-payload": third + 4, "cut-in-marker": len(three) - 3}.items():
        bad(name, three[:end], records[:4], {"cut": end})
    bad("cut-in-first-marker", three[:second - 3], [], {"cut": second - 3})
    bad("cut-in-header", three[:40], [], {"cut": 40})
    bad("cut-in-magic", three[:3], [], {"cut": 3})
    bad("magic-byte", flipped(three, 1), records, {"byte": 1})
    bad("version", flipped(three, 3, 3), records, {"byte": 3})
    bad("entry-size", flipped(three, 5, 0x40), [], {"byte": 5})
    bad("entries-huge", three[:4] + long(1 << 30) + three[5:], [], {"entries": 1 << 30})
    bad("garbage-between", three[:second] + noise(50, 2) + three[second:], outside, {"inserted": 50})
    bad("garbage-after", three + noise(30, 3), records, {"appended": 30})
    bad("zeros-after", three + bytes(100), records, {"appended": 100})
    bad("string-too-long", start + blocks[0] + block([records[2], flipped(records[3], 2, 0x40)]) + blocks[2], records[:3] + records[4:], {"string": 3})
    bad("many-nulls-in-a-block", header('"null"') + block([], count=1 << 40) + block([b""]), [b""], {"count": 1 << 40}, "nulls.avro")
    for codec in ("deflate", "snappy", "bzip2", "xz", "zstandard"):
        good = header(SMALL, codec) + block(records[:3], codec) + block(records[3:], codec)
        at = len(good) - 16 - (3 if codec == "snappy" else 8 if codec == "deflate" else 9)
        if codec != "deflate":
            bad(f"{codec}-byte", flipped(good, at, 0x7f), records[:3], {"byte": at}, f"small/{codec}.avro")
        short = header(SMALL, codec) + block(records[:3], codec) + block(records[3:], pack=lambda c: PACK[codec](c)[:-5])
        bad(f"{codec}-short", short, records[:3], {"payload": "short"}, f"small/{codec}.avro")
    bad("deflate-then-more", header(SMALL, "deflate") + block(records[:3], "deflate") + block(records[3:], pack=lambda c: deflate(c) + bytes(5)),
        records[:3], {"payload": "long"}, "small/deflate.avro")
    bad("unknown-codec", header(SMALL, "lzo") + blocks[0], [], {"codec": "lzo"})
    loop = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}, {"name": "b", "type": "A"}]}
    bad("endless-record", header(loop) + block([b"\0"]), [], {"schema": "contains itself"})


def write_refused(files):
    files.write_refused("negative/text.avro", b"Objects, not a file of them\n", "text")
    files.write_refused("negative/short.avro", b"Ob", "two bytes")
    files.write_refused("negative/other.avro", b"abc", "three bytes")


def main():
    files = samples.Corpus("avro", "avro", "tests/writers/avro/make_samples.py")
    write_by_python(files)
    write_small(files)
    write_headers(files)
    write_blocks(files)
    write_schemas(files)
    write_damaged(files)
    write_refused(files)


if __name__ == "__main__":
    main()
