#!/usr/bin/env python3
"""Writes tests/corpus/FORMAT/small: for each variant of each format, a file small enough to change each of its bytes.
Also writes tests/corpus/riegeli/small/shop_log.riegeli, whose records are readable text.

Needs zstd, lz4, and the libraries of Blosc, Brotli and Snappy. Takes a transposed chunk and metadata from
tests/corpus/riegeli."""
import hashlib
import json
import struct
import sys
import zlib
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "array_record")]
import packers
import riegeli
import samples
import shop_log
from samples import field, masked_crc32c, number_field, varint

PRODUCER = "tests/writers/small"


def corpus(folder, name):
    return samples.Corpus(folder + "/small", name, PRODUCER)


def records_of(first, count):
    """Returns compressible records, all different."""
    return [b"record %d: " % n + b"to be or not to be " * (1 + n % 3) + b"%d" % (n * n) for n in range(first, first + count)]


# --- riegeli

RIEGELI = {"uncompressed": (b"\0", None), "brotli": (b"b", packers.brotli), "zstd": (b"z", packers.zstd),
           "snappy": (b"s", packers.snappy)}


def unit(content, pack):
    return varint(len(content)) + pack(content) if pack else content


def simple(records, packing):
    number, pack = RIEGELI[packing]
    sizes = unit(b"".join(varint(len(record)) for record in records), pack)
    values = unit(b"".join(records), pack)
    return b"r", len(records), sum(map(len, records)), number + varint(len(sizes)) + sizes + values


class Numbers:
    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value


def transposed(chunk, packing):
    """Compresses an uncompressed transposed chunk."""
    kind, count, size, data = chunk
    assert data[0] == 0
    number, pack = RIEGELI[packing]
    outer = Numbers(data[1:])
    header_size = outer.next()
    header = data[1 + outer.at :][:header_size]
    rest = data[1 + outer.at + header_size :]
    inner = Numbers(header)
    buckets, buffers = inner.next(), inner.next()
    packed, lengths = b"", b""
    for _ in range(buckets):
        length = inner.next()
        bucket, rest = unit(rest[:length], pack), rest[length:]
        packed += bucket
        lengths += varint(len(bucket))
    header = unit(varint(buckets) + varint(buffers) + lengths + header[inner.at :], pack)
    return kind, count, size, number + varint(len(header)) + header + packed + unit(rest, pack)


def chunks_in(name):
    return [chunk for _, chunk in riegeli.chunks((samples.CORPUS / "riegeli" / name).read_bytes())]


def write_riegeli():
    files = corpus("riegeli", "riegeli")
    metadata = chunks_in("metadata_extension.riegeli")[1]
    for packing in RIEGELI:
        writer = riegeli.Writer()
        if packing != "snappy":
            writer.add(*metadata)
        writer.add(*simple(records_of(0, 4), packing))
        writer.add(*simple(records_of(4, 3), packing))
        if packing == "uncompressed":
            writer.add(b"p", 0, 0, bytes(20))
        writer.add(*simple(records_of(7, 4), packing))
        files.write(f"simple-{packing}.riegeli", bytes(writer.out), records_of(0, 11))
    # More records than bytes. Each record has its own number, so the chunk is followed by padding.
    writer = riegeli.Writer()
    empty = [b""] * 150 + [b"last"]
    writer.add(*simple(empty, "zstd"))
    writer.add(*simple(records_of(0, 2), "zstd"))
    files.write("filled.riegeli", bytes(writer.out), empty + records_of(0, 2))
    # Crosses a border of 64 KiB.
    writer = riegeli.Writer()
    long = samples.noise(65300, 7)
    for records in ([b"first"], records_of(0, 2), [long], records_of(2, 2), records_of(4, 2)):
        writer.add(*simple(records, "uncompressed"))
    files.write("two-blocks.riegeli", bytes(writer.out), [b"first", *records_of(0, 2), long, *records_of(2, 4)])


def write_shop_log():
    """Writes the sample of scripts/demo and of the README."""
    records = shop_log.lines(500)
    writer = riegeli.Writer()
    for first in range(0, len(records), 100):
        writer.add(*simple(records[first:first + 100], "zstd"))
    corpus("riegeli", "riegeli").write("shop_log.riegeli", bytes(writer.out), records)


def write_declared():
    """Chunks with right hashes that declare one record of 2^62 bytes each. Their sum is above 2^64."""
    declared = 1 << 62
    writer = riegeli.Writer()
    writer.add(*simple([b"before"], "uncompressed"))
    lost = []
    for _ in range(5):
        size = varint(declared)
        begin = writer.add(b"r", 1, declared, b"\0" + varint(len(size)) + size + b"x")
        lost.append({"begin": begin, "end": len(writer.out)})
    writer.add(*simple([b"behind"], "uncompressed"))
    samples.Corpus("riegeli", "riegeli", PRODUCER).write(
        "declared_size_2_62.riegeli", bytes(writer.out), [b"before", b"behind"], damaged=True, chunks=[], num_chunks=8,
        skipped=lost, damage="five chunks that declare 2^62 decoded bytes each")


def write_transposed():
    """Writes files of messages that Riegeli's own writer transposed."""
    files = corpus("riegeli", "riegeli")
    (_, chunk) = chunks_in("transposed_varints.riegeli")
    messages = varint_messages()
    for packing in RIEGELI:
        writer = riegeli.Writer()
        writer.add(*simple(records_of(0, 2), packing))
        writer.add(*transposed(chunk, packing))
        writer.add(*simple(records_of(2, 2), packing))
        files.write(f"transposed-{packing}.riegeli", bytes(writer.out),
                    records_of(0, 2) + messages + records_of(2, 2))


def varint_messages():
    """Returns the records of transposed_varints.riegeli, decoded by following the chunk's state machine."""
    (_, (_, count, size, data)) = chunks_in("transposed_varints.riegeli")
    outer = Numbers(data[1:])
    header_size = outer.next()
    header, rest = data[1 + outer.at :][:header_size], data[1 + outer.at + header_size :]
    inner = Numbers(header)
    buckets, buffer_count = inner.next(), inner.next()
    bucket_sizes = [inner.next() for _ in range(buckets)]
    buffer_sizes = [inner.next() for _ in range(buffer_count)]
    buffers = []
    for length in buffer_sizes:
        buffers.append(Numbers(rest[:length]))
        rest = rest[length:]
    assert sum(bucket_sizes) == sum(buffer_sizes)
    transitions = iter(rest)
    nodes = inner.next()
    tags = [inner.next() for _ in range(nodes)]
    successors = [inner.next() for _ in range(nodes)]
    subtypes = []
    for tag in tags:
        is_varint = tag >= 8 and tag % 8 == 0
        subtypes.append(header[inner.at] if is_varint else None)
        inner.at += is_varint

    def reads(tag, subtype):
        return tag == 1 or tag >= 8 and (tag % 8 in (1, 2, 5) or tag % 8 == 0 and subtype < 10)

    buffer_of = [inner.next() if reads(*node) else None for node in zip(tags, subtypes)]
    node = inner.next()
    assert inner.at == len(header)
    out, records, follow = b"", [], 0
    while True:
        tag, subtype = tags[node], subtypes[node]
        if tag == 3:
            records.append(out)
            out = b""
        elif subtype is not None and subtype >= 10:
            out = varint(tag) + bytes([subtype - 10]) + out
        elif subtype is not None:
            source = buffers[buffer_of[node]]
            value = source.data[source.at : source.at + subtype + 1]
            source.at += subtype + 1
            out = varint(tag) + bytes(b | 0x80 for b in value[:-1]) + value[-1:] + out
        else:
            assert tag == 0, tag
        node = successors[node]
        if node >= nodes:
            node -= nodes
        elif follow:
            follow -= 1
        else:
            byte = next(transitions, None)
            if byte is None:
                break
            node += byte >> 2
            follow = byte & 3
    records.reverse()
    assert len(records) == count and sum(map(len, records)) == size
    return records


# --- recordio

MAGICS = {"header": "d9e1d95cc21604f7", "body": "2e7647eb34073c2e", "trailer": "feba1ad7cbdf753a",
          "unpacked": "fcae9531f0d9bd20"}


def content_of(items):
    return varint(len(items)) + b"".join(varint(len(item)) for item in items) + b"".join(items)


def frames(kind, content):
    pieces = [content[at : at + 32740] for at in range(0, len(content), 32740)] or [b""]
    out = b""
    for n, piece in enumerate(pieces):
        rest = struct.pack("<IIII", 0, len(piece), len(pieces), n) + piece
        out += (bytes.fromhex(MAGICS[kind]) + struct.pack("<I", zlib.crc32(rest)) + rest).ljust(32768, b"\0")
    return out


def text_value(text):
    return b"\x04\x03" + varint(len(text)) + text


def header_of(pairs):
    content = b"\x03" + varint(len(pairs)) + b"".join(key + value for key, value in pairs)
    return frames("header", content_of([content]))


def write_recordio():
    files = corpus("recordio", "grail-recordio")
    for name, packs in {"plain": [], "flate": [packers.deflate], "zstd": [packers.zstd],
                        "flate-zstd": [packers.deflate, packers.zstd]}.items():
        words = {packers.deflate: b"flate", packers.zstd: b"zstd 3"}
        pairs = [(text_value(b"transformer"), text_value(words[pack])) for pack in packs]
        trailer = b""
        if name in ("plain", "zstd"):
            pairs += [(text_value(b"trailer"), b"\x01\x01"), (text_value(b"who"), text_value(b"nobody"))]
            trailer = content_of([b"this is the trailer"])
            for pack in packs:
                trailer = pack(trailer)
            trailer = frames("trailer", trailer)
        out = header_of(pairs)
        for first in (0, 4):
            content = content_of(records_of(first, 4))
            for pack in packs:
                content = pack(content)
            out += frames("body", content)
        files.write(f"{name}.grail-rio", out + trailer, records_of(0, 8))


def legacy(kind, payload):
    length = struct.pack("<Q", len(payload))
    return bytes.fromhex(MAGICS[kind]) + length + struct.pack("<I", zlib.crc32(length)) + payload


def packed_legacy(items, pack=None):
    table = varint(len(items)) + b"".join(varint(len(item)) for item in items)
    content = b"".join(items)
    return legacy("body", struct.pack("<I", zlib.crc32(table)) + table + (pack(content) if pack else content))


def write_legacy():
    files = corpus("recordio", "grail-recordio-legacy")
    some = records_of(0, 4)
    files.write("legacy-unpacked.grail-rio", b"".join(legacy("unpacked", record) for record in some), some, unchecked=True)
    for name, pack in {"plain": None, "flate": packers.deflate, "zstd": packers.zstd, "zstd-checked": packers.zstd_checked}.items():
        out = packed_legacy(records_of(0, 4), pack) + packed_legacy(records_of(4, 3), pack)
        files.write(f"legacy-packed-{name}.grail-rpk", out, records_of(0, 7), unchecked=True)


# --- leveldb_log, wandb

def cut(records, head, checksum, log_number=None, frame=32768):
    """Returns records as fragments in frames; `head` is at the start of the first frame."""
    out = bytearray(head)
    number = b"" if log_number is None else struct.pack("<I", log_number)
    header = 7 + len(number)
    for record in records:
        rest, is_first = record, True
        while is_first or rest:
            left = frame - len(out) % frame
            if left < header:
                out += bytes(left)
                left = frame
            piece, rest = rest[: left - header], rest[left - header :]
            role = (1 if not rest else 2) if is_first else (4 if not rest else 3)
            kind = bytes([role + (4 if number else 0)])
            out += checksum(kind + number + piece) + struct.pack("<H", len(piece)) + kind + number + piece
            is_first = False
    return bytes(out)


def log_checksum(data):
    return struct.pack("<I", masked_crc32c(data))


def write_log():
    files = corpus("leveldb_log", "leveldb-log")
    few = records_of(0, 10)
    files.write("plain.log", cut(few, b"", log_checksum), few)
    files.write("recyclable.log", cut(few, b"", log_checksum, 17), few)
    files.write("preallocated.log", cut(few, b"", log_checksum) + bytes(500), few)
    # Three frames: one record crosses from the first frame to the second, whose last four bytes hold no fragment.
    for name, number in (("three-blocks", None), ("three-blocks-recyclable", 17)):
        long = [*few, samples.noise(40000, 3), *records_of(10, 4)]
        header = 7 if number is None else 11
        long.append(samples.noise(2 * 32768 - 4 - header - len(cut(long, b"", log_checksum, number)), 4))
        long += records_of(14, 4)
        files.write(name + ".log", cut(long, b"", log_checksum, number), long)


def write_wandb():
    files = corpus("wandb", "wandb")

    def checksum(data):
        return struct.pack("<I", zlib.crc32(data))

    texts = [b'{"step":%d,"loss":%d.5}' % (n, n * n) for n in range(8)]
    for name, head, records in (("run.wandb", b":W&B\xe1\xbe\0", records_of(0, 8)),
                                ("text.swanlab", b":SWL\xd6\xe1\x01", texts),
                                ("messages.swanlab", b":SWL\xd6\xe1\x02", records_of(0, 8)),
                                ("two-blocks.wandb", b":W&B\xe1\xbe\0",
                                 [*records_of(0, 4), samples.noise(33000, 5), *records_of(4, 4)])):
        files.write(name, cut(records, head, checksum), records)


# --- tfrecord

def tf_record(data):
    length = struct.pack("<Q", len(data))
    return length + log_checksum(length) + data + log_checksum(data)


def gzip_member(data, flags=0):
    """Returns a header with a time, an extra field, a name and a comment; with `flags` 2 also a checksum of it."""
    head = b"\x1f\x8b\x08" + bytes([0x1C | flags]) + struct.pack("<I", 1700000000) + b"\0\x03"
    head += struct.pack("<H", 4) + b"extr" + b"name\0" + b"comment\0"
    if flags & 2:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    return head + packers.deflate(data) + struct.pack("<II", zlib.crc32(data), len(data))


def write_tfrecord():
    files = corpus("tfrecord", "tfrecord")
    some = records_of(0, 6)
    plain = b"".join(map(tf_record, some))
    half = len(b"".join(map(tf_record, some[:3]))) + 5
    files.write("plain.tfrecord", plain, some)
    files.write("whole.tfrecord.gz", packers.gzip(plain), some)
    files.write("members.tfrecord.gz", gzip_member(plain[:half]) + gzip_member(plain[half:], 2), some)
    files.write("whole.tfrecord.zlib", zlib.compress(plain, 6), some)
    files.write("stored.tfrecord.gz", zlib.compress(plain, 0, 31), some)


# --- proio

PROIO_PACKS = {"plain": (0, bytes), "gzip": (1, packers.gzip), "lz4": (2, packers.lz4), "lz4-checked": (2, packers.lz4_checked),
               "lzma": (3, packers.lzma_alone)}


def event_of(n):
    entry = number_field(1, 1) + field(2, b"payload of event %d, and again of event %d" % (n, n))
    tag = field(1, varint(n + 1))
    return (field(1, field(1, b"Particle") + field(2, tag)) + field(3, number_field(1, n + 1) + field(2, entry))
            + field(5, number_field(1, 1) + field(2, b"some.Type")))


def bucket(events, number, pack, metadata=()):
    payload = pack(b"".join(struct.pack("<I", len(event)) + event for event in events))
    header = number_field(1, len(events)) + number_field(2, len(payload))
    if number:
        header += number_field(3, number)
    for key, value in metadata:
        header += field(7, field(1, key) + field(2, value))
    return b"\xe1\xc1" + bytes(14) + struct.pack("<I", len(header)) + header + payload


def write_proio():
    files = corpus("proio", "proio")
    for name, (number, pack) in PROIO_PACKS.items():
        events = [event_of(n) for n in range(8)]
        out = bucket(events[:3], number, pack, [("Run", b"number 1")]) + bucket(events[3:6], number, pack)
        out += bucket(events[6:], number, pack, [("End", b"of the run")])
        files.write(f"{name}.proio", out, events, unchecked=name in ("plain", "lz4", "lzma"))


# --- bloscpack

DIGESTS = [None, lambda data: struct.pack("<I", zlib.adler32(data)), lambda data: struct.pack("<I", zlib.crc32(data)),
           *(lambda data, name=name: hashlib.new(name, data).digest()
             for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"))]
NAMES = ["none", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]


def digest(number, data):
    return DIGESTS[number](data) if number else b""


def metadata_section(text, number=1):
    packed, room = zlib.compress(text), 60
    head = b"JSON\0\0\0\0" + bytes([0, number, 1, 6])
    head += struct.pack("<III", len(text), room, len(packed)) + bytes(8)
    return head + packed.ljust(room, b"\0") + digest(number, packed)


def bloscpack(chunks, size, last, number, has_offsets=True, metadata=None, is_variable=False, spare=0,
              version=3, is_unset=False):
    """Returns a file of any version, or of the proposal for variable-length chunks. With `is_unset`, its writer was
    interrupted before it wrote the offsets."""
    if version < 2:  # these versions only have a count
        assert number == 0 and not has_offsets
        head = b"blpk" + (struct.pack("<I", len(chunks)) if version == 0 else struct.pack("<IQ", 1, len(chunks)))
        return head + b"".join(chunks)
    options = (1 if has_offsets else 0) + (2 if metadata else 0) + (4 if is_variable else 0)
    section = b"" if metadata is None else metadata if is_variable else metadata_section(metadata)
    out = b"blpk" + bytes([version, options, number, 4])
    out += struct.pack("<iiqq", -1 if is_variable else size, -1 if is_variable else last, len(chunks),
                       len(section) if is_variable else spare)
    out += section
    begin = len(out) + 8 * (len(chunks) + spare) * has_offsets
    for chunk in chunks * has_offsets:
        out += struct.pack("<q", -1 if is_unset else begin)
        begin += len(chunk) + len(digest(number, chunk))
    out += b"\xff" * 8 * spare * has_offsets
    return out + b"".join(chunk + digest(number, chunk) for chunk in chunks)


def write_bloscpack():
    files = corpus("bloscpack", "bloscpack")
    blob = b"".join(struct.pack("<i", n // 3 * 7) for n in range(130))
    parts = [blob[at : at + 208] for at in range(0, len(blob), 208)]
    last = len(parts[-1])

    def write(name, codec, number, **options):
        shown = parts if not options.get("is_variable") else [parts[0], b"", parts[1][:150], parts[2]]
        chunks = [packers.blosc(codec, part) for part in shown]
        files.write(name + ".blp", bloscpack(chunks, 208, last, number, **options), shown, unchecked=number == 0)

    for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"):
        write(codec, codec, 1)
    for number, name in enumerate(NAMES):
        write(f"stored-{name}", None, number)
    write("no-offsets", "lz4", 2, has_offsets=False)
    write("no-offsets-unchecked", "lz4", 0, has_offsets=False)
    write("unchecked", "zstd", 0)
    write("metadata", "lz4", 1, metadata=b'{"what":"a test","number":7}')
    write("spare-offsets", "lz4", 1, spare=3)
    for version in range(3):
        write(f"version-{version}", "lz4", 0, version=version, has_offsets=False)
    write("offsets-unset", "lz4", 2, version=2, is_unset=True)
    write("variable", "lz4", 2, is_variable=True, metadata=b'{"what":"items"}')
    write("variable-unchecked", "zstd", 0, is_variable=True)
    write("variable-no-offsets", "lz4", 1, is_variable=True, has_offsets=False)


def main():
    for write in (write_riegeli, write_shop_log, write_declared, write_transposed, write_recordio, write_legacy, write_log,
                  write_wandb, write_tfrecord, write_proio, write_bloscpack):
        write()


if __name__ == "__main__":
    main()
