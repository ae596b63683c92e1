"""Hostile files of each format, with correct checksums so that the data after them is reached: {name: bytes}.

Bombs decode to BOMB bytes; false claims use bombs.HUGE. Valid records precede and follow if the format can continue
after the bomb."""
import hashlib
import struct
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent), str(HERE.parent / "array_record"), str(HERE.parent / "leveldb_table"), str(HERE.parent / "rocksdb_blob")]

import blob as blob_writer  # noqa: E402
import bombs  # noqa: E402
import riegeli as riegeli_writer  # noqa: E402
import samples  # noqa: E402
import table as table_writer  # noqa: E402
from bombs import HUGE, varint  # noqa: E402

BOMB = 128 << 20
SNAPPY_BOMB = 4 << 20
LOG_BLOCK = 32768
# Long enough that a search reads even a small file, and incompressible.
BEFORE, BEHIND = (b"".join(hashlib.sha256(word + bytes([i])).digest() for i in range(6)) for word in (b"before", b"behind"))
MASK32, MASK56, MASK64 = (1 << 32) - 1, (1 << 56) - 1, (1 << 64) - 1


# Riegeli's code, a function that stores bytes uncompressed, and a bomb.
_CODECS = {"zstd": (b"z", bombs.zstd_stored, bombs.zstd), "brotli": (b"b", bombs.brotli_stored, bombs.brotli),
           "snappy": (b"s", bombs.snappy_stored, bombs.snappy)}


def _riegeli_file(kind, records, decoded, data):
    writer = riegeli_writer.Writer()
    writer.add(*riegeli_writer.simple([BEFORE]))
    if records > 1 << 20:
        # A chunk takes at least one byte for each of its records: this one is cut off after its data.
        header = struct.pack("<QQ", len(data), riegeli_writer.highway(data)) + kind + records.to_bytes(7, "little")
        header += struct.pack("<Q", decoded)
        return bytes(writer.out) + struct.pack("<Q", riegeli_writer.highway(header)) + header + data
    writer.add(kind, records, decoded, data)
    writer.add(*riegeli_writer.simple([BEHIND]))
    return bytes(writer.out)


def _simple(packing, sizes, values, sizes_claim=None, values_claim=None):
    """Returns the data of a simple chunk from two compressed units and the sizes before them."""
    sizes = varint(sizes_claim if sizes_claim is not None else 0) + sizes
    return packing + varint(len(sizes)) + sizes + varint(values_claim if values_claim is not None else 0) + values


def _transposed(header, kind=b"\0"):
    return kind + varint(len(header)) + header


def _transposed_bombs(kind, stored, bomb, size):
    """{what the bomb is in: data of a transposed chunk}."""
    def of(header, *parts):
        return _transposed(varint(len(header)) + stored(header), kind) + b"".join(parts)

    packed = varint(size) + bomb
    no_state = b"\0\0\1\0\0\0"  # no buckets and no buffers, and a state that does nothing
    one_record = b"\1\2" + b"".join(map(varint, (len(packed), size - 1, 1))) + b"\1\1\0\0\0"
    return {"header": _transposed(packed, kind), "transitions": of(no_state, packed), "bucket": of(one_record, packed)}


def riegeli():
    files = {}
    for name, (kind, stored, bomb) in _CODECS.items():
        size = SNAPPY_BOMB if name == "snappy" else BOMB
        raw, packed = varint(size), bomb(size)
        files[f"simple-{name}-bomb"] = _riegeli_file(b"r", 1, size, _simple(kind, stored(raw), packed, len(raw), size))
        files[f"simple-{name}-bomb-that-says-1"] = _riegeli_file(b"r", 1, 1, _simple(kind, stored(raw), packed, len(raw), 1))
        files[f"simple-{name}-bomb-of-sizes"] = _riegeli_file(b"r", 1, 1, _simple(kind, packed, b"", size, 0))
        for place, data in _transposed_bombs(kind, stored, packed, size).items():
            files[f"transposed-{name}-bomb-of-{place}"] = _riegeli_file(b"t", 1, 122, data)
    files["simple-zstd-window"] = _riegeli_file(
        b"r", 1, 1, _simple(b"z", bombs.zstd_window(31), bombs.zstd_window(31), 1, 1))
    for claim in HUGE:
        files[f"records-{claim:x}"] = _riegeli_file(b"r", min(claim, MASK56), 1, b"\0\1\1x")
        files[f"decoded-{claim:x}"] = _riegeli_file(b"r", 1, claim, b"\0\1\1x")
        files[f"sizes-{claim:x}"] = _riegeli_file(b"r", 1, 1, b"\0" + varint(claim) + b"\1x")
        files[f"record-of-{claim:x}"] = _riegeli_file(
            b"r", 1, claim, b"\0" + varint(len(varint(claim))) + varint(claim) + b"x")
        files[f"transposed-records-{claim:x}"] = _riegeli_file(b"t", min(claim, MASK56), claim, _transposed(b"\0\0\1\3\0\0"))
        files[f"transposed-header-{claim:x}"] = _riegeli_file(b"t", 1, 1, b"\0" + varint(claim) + b"\0\0")
        for place, name in enumerate(("buckets", "buffers", "states")):
            files[f"transposed-{name}-{claim:x}"] = _riegeli_file(
                b"t", 1, 1, _transposed(bytes(place) + varint(claim & MASK32)))
            files[f"transposed-{name}-{claim:x}-unmasked"] = _riegeli_file(
                b"t", 1, 1, _transposed(bytes(place) + varint(claim)))
    # A thousand no-op states that follow each other implicitly, run by each of 60,000 transitions; a state that opens a
    # submessage each time; a state that writes more records than are declared.
    states = 1001
    idle = _state_machine([0] * states, [states + i + 1 for i in range(states - 1)] + [0], b"\3" * 60000)
    files["transposed-implicit-chain"] = _riegeli_file(b"t", 0, 0, idle)
    files["transposed-implicit-loop"] = _riegeli_file(b"t", 1, 0, _state_machine([0, 0, 3], [3 + 1, 3, 0], b""))
    files["transposed-submessages"] = _riegeli_file(b"t", 0, 0, _state_machine([0x0E], [0], b"\3" * 60000))
    files["transposed-submessages-and-records"] = _riegeli_file(
        b"t", 1 << 20, 1 << 24, _state_machine([0x0E, 3], [1, 0], b"\3" * 60000))
    return {f"{name}.riegeli": data for name, data in files.items()}


def _state_machine(tags, following, transitions, first=0):
    """Returns the data of an uncompressed transposed chunk without buffers, with all numbers in the header."""
    header = varint(0) + varint(0) + varint(len(tags)) + b"".join(map(varint, tags)) + b"".join(map(varint, following))
    return _transposed(header + varint(first)) + transitions


def array_record():
    files = {}

    def of(name, footer, place=None, footer_chunk=None):
        writer = riegeli_writer.Writer()
        begin = writer.add(*riegeli_writer.simple([BEFORE, BEHIND]))
        size = len(BEFORE) + len(BEHIND)
        at = writer.add(*(footer_chunk or riegeli_writer.simple(footer(begin, size))))
        writer.pad()
        ending = samples.number_field(1, at if place is None else place) + samples.number_field(2, 0x71930E704FDAE05E)
        writer.add(*riegeli_writer.simple([ending] * 3))
        writer.pad()
        files[f"{name}.array_record"] = bytes(writer.out)

    def head(chunks=1, records=2):
        numbers = ((1, 1), (2, chunks), (3, records))
        return samples.field(1, b"".join(samples.number_field(*one) for one in numbers))

    def entry(begin, size, records=2):
        return b"".join(samples.number_field(*one) for one in ((1, begin), (2, size), (3, records)))

    for claim in HUGE:
        of(f"chunks-{claim:x}", lambda begin, size: [head(chunks=claim), entry(begin, size)])
        of(f"records-{claim:x}", lambda begin, size: [head(records=claim), entry(begin, size)])
        of(f"chunk-at-{claim:x}", lambda begin, size: [head(), entry(claim, size)])
        of(f"chunk-of-{claim:x}", lambda begin, size: [head(), entry(begin, claim)])
        of(f"chunk-of-{claim:x}-records", lambda begin, size: [head(records=claim), entry(begin, size, claim)])
        of(f"footer-at-{claim:x}", lambda begin, size: [head(), entry(begin, size)], place=claim)
    # 1,000,000 entries for the same chunk, and a footer that is a bomb.
    of("entries-of-one-chunk", lambda begin, size: [head(1000000, 2000000)] + [entry(begin, size)] * 1000000)
    bomb = bombs.zstd(BOMB)
    sizes = varint(BOMB)
    of("footer-bomb", None, footer_chunk=(b"r", 1, BOMB, _simple(b"z", bombs.zstd_stored(sizes), bomb, len(sizes), BOMB)))
    return files


def _framed(data, claim=None):
    length = struct.pack("<Q", len(data) if claim is None else claim)
    return b"".join(part + struct.pack("<I", table_writer.masked_crc(part)) for part in (length, data))


def tfrecord():
    good = _framed(BEFORE)
    files = {f"length-{claim:x}.tfrecord": good + _framed(b"x", claim) + _framed(BEHIND) for claim in HUGE}
    for name, window in (("gzip", 31), ("zlib", 15)):
        packer = zlib.compressobj(9, zlib.DEFLATED, window)
        length = struct.pack("<Q", BOMB)
        out = packer.compress(good + length + struct.pack("<I", table_writer.masked_crc(length)))
        out += b"".join(packer.compress(bytes(1 << 20)) for _ in range(BOMB >> 20))
        files[f"{name}-bomb.tfrecord.gz"] = out + packer.flush()
        for claim in HUGE:
            packer = zlib.compressobj(9, zlib.DEFLATED, window)
            files[f"{name}-length-{claim:x}.tfrecord.gz"] = packer.compress(good + _framed(b"x", claim)) + packer.flush()
    # 8,000,000 empty records in a few kilobytes.
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    empty = _framed(b"") * 65536
    files["empty-records.tfrecord.gz"] = b"".join(packer.compress(empty) for _ in range(128)) + packer.flush()
    return files


def _fragment(kind, payload):
    covered = bytes([kind]) + payload
    return struct.pack("<IH", table_writer.masked_crc(covered), len(payload)) + covered


def leveldb_log():
    good = _fragment(1, BEFORE)
    # The following records are declared as zstd frames; this one stores its bytes uncompressed.
    mark = _fragment(9, struct.pack("<I", 7)) + _fragment(1, bombs.zstd_stored(BEFORE))
    files = {}
    for claim in HUGE:
        files[f"zstd-size-{claim:x}"] = mark + _fragment(1, bombs.zstd(10, claim))
        files[f"batch-{claim:x}"] = good + _fragment(1, struct.pack("<QI", 1, claim & MASK32) + b"\1\1k\1v")
        files[f"key-of-{claim:x}"] = good + _fragment(1, struct.pack("<QI", 1, 1) + b"\1" + varint(claim) + b"k")
    files["zstd-bomb"] = mark + _fragment(1, bombs.zstd(BOMB))
    files["zstd-window"] = mark + _fragment(1, bombs.zstd_window(31))
    files["endless-record"] = _endless(_fragment)
    return {f"{name}.log": data for name, data in files.items()}


def _endless(fragment, ident=b""):
    """Returns a record of BOMB bytes without an end, between valid records. Blocks of 32 KiB, all identical except the
    first."""
    good = ident + fragment(1, BEFORE)
    return (good + fragment(2, bytes(LOG_BLOCK - len(good) - 14)) + fragment(3, bytes(LOG_BLOCK - 7)) * (BOMB // LOG_BLOCK)
            + fragment(1, BEHIND))


def _plain_fragment(kind, payload):
    return struct.pack("<IHB", zlib.crc32(bytes([kind]) + payload), len(payload), kind) + payload


def wandb():
    ident = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)

    def of(record):
        return ident + b"".join(_plain_fragment(1, one) for one in (BEFORE, record, BEHIND))

    files = {"endless-record": _endless(_plain_fragment, ident)}
    # Nested messages, in every field that a record has.
    deep = b""
    while len(deep) < 32000:
        deep = samples.field(2, deep)
    files["deep-message"] = of(deep)
    for claim in HUGE:
        files[f"field-of-{claim:x}"] = of(varint(2 << 3 | 2) + varint(claim) + b"x")
    return {f"{name}.wandb": data for name, data in files.items()}


def leveldb_table():
    def of(block, packing="none", index=None):
        made = table_writer.Table()
        made.add([(table_writer.internal(b"a", 1), BEFORE)])
        place, _ = made.add_raw(block, packing)
        made.index.append((table_writer.internal(b"b", 1), index or place))
        made.add([(table_writer.internal(b"c", 1), BEHIND)])
        return made.finish()

    as_it_is = bytes
    files = {
        "zstd-bomb": of(bombs.zstd(BOMB), (table_writer.ZSTD, as_it_is)),
        "zstd-window": of(bombs.zstd_window(31), (table_writer.ZSTD, as_it_is)),
        "zlib-bomb": of(bombs.deflate(BOMB), (table_writer.ZLIB, as_it_is)),
        "snappy-bomb": of(bombs.snappy(4 << 20), (table_writer.SNAPPY, as_it_is)),
        "rocksdb-lz4-bomb": of(varint(BOMB) + bombs.lz4_block(BOMB), (4, as_it_is)),
    }
    entry = table_writer.internal(b"b", 1)
    for claim in HUGE:
        files[f"snappy-size-{claim:x}"] = of(bombs.snappy(100, claim), (table_writer.SNAPPY, as_it_is))
        files[f"restarts-{claim:x}"] = of(b"\0\1\1kv" + struct.pack("<II", 0, claim & MASK32))
        for name, lengths in (("shared", (claim, 1, 1)), ("suffix", (0, claim, 1)), ("value", (0, len(entry), claim))):
            files[f"{name}-{claim:x}"] = of(b"".join(map(varint, lengths)) + entry + b"v" + struct.pack("<II", 0, 1))
        files[f"index-offset-{claim:x}"] = of(b"", index=varint(claim) + varint(10))
        files[f"index-size-{claim:x}"] = of(b"", index=varint(0) + varint(claim))
    # An index whose entries all refer to the same block.
    made = table_writer.Table()
    _, span = made.add_raw(table_writer.block([(table_writer.internal(b"a", 1), b"again")]))
    place = varint(span[0]) + varint(span[1] - span[0] - 5)
    made.index = [(table_writer.internal(b"k%06d" % i, 1), place) for i in range(100000)]
    files["index-of-one-block"] = made.finish()
    return {f"{name}.ldb": data for name, data in files.items()}


def rocksdb_blob():
    def of(compression, stored=None, value=b"x", sizes=None):
        """Returns a file of three values; `stored` is a function that stores the first and the last one."""
        middle = blob_writer.record(b"b", value)
        if sizes is not None:
            middle = blob_writer.sizes_of(*sizes) + middle[28:]
        first, last = (blob_writer.record(key, stored(one) if stored else one) for key, one in ((b"a", BEFORE), (b"c", BEHIND)))
        return blob_writer.header(compression) + first + middle + last + blob_writer.footer(3)

    def sized(stored):
        return lambda value: varint(len(value)) + stored(value)

    zstd, snappy = sized(bombs.zstd_stored), sized(lambda value: bytes([60 << 2, len(value) - 1]) + value)
    lz4 = sized(lambda value: b"\xF0" + bytes([len(value) - 15]) + value)
    size = varint(BOMB)
    files = {
        "zstd-bomb": of(blob_writer.ZSTD, zstd, size + bombs.zstd(BOMB)),
        "zstd-bomb-that-says-1": of(blob_writer.ZSTD, zstd, varint(1) + bombs.zstd(BOMB)),
        "zstd-window": of(blob_writer.ZSTD, zstd, varint(1) + bombs.zstd_window(31)),
        "zlib-bomb": of(blob_writer.ZLIB, blob_writer.deflated, size + bombs._deflated(BOMB, -15)),
        "lz4-bomb": of(blob_writer.LZ4, lz4, size + bombs.lz4_block(BOMB)),
        "snappy-bomb": of(blob_writer.SNAPPY, snappy, bombs.snappy(SNAPPY_BOMB)),
    }
    for claim in HUGE:
        files[f"zstd-size-{claim:x}"] = of(blob_writer.ZSTD, zstd, varint(claim) + bombs.zstd(10))
        files[f"snappy-size-{claim:x}"] = of(blob_writer.SNAPPY, snappy, bombs.snappy(100, claim))
        files[f"key-of-{claim:x}"] = of(blob_writer.NONE, sizes=(claim, 1))
        files[f"value-of-{claim:x}"] = of(blob_writer.NONE, sizes=(1, claim))
        files[f"key-and-value-of-{claim:x}"] = of(blob_writer.NONE, sizes=(claim, claim))
        files[f"records-{claim:x}"] = of(blob_writer.NONE)[:-blob_writer.FOOTER] + blob_writer.footer(claim)
    # Each record is damaged, and ends in the middle of a later one.
    overlapping = b"".join(blob_writer.sizes_of(0, 1000) + bytes(9) for _ in range(100000))
    files["overlapping-records"] = blob_writer.header() + overlapping
    return {f"{name}.blob": data for name, data in files.items()}


def bucket(events=1, payload=b"\0\0\0\0", size=None, compression=0, more=b""):
    """Returns a bucket of proio."""
    header = b"\x08" + varint(events) + b"\x10" + varint(len(payload) if size is None else size)
    if compression:
        header += b"\x18" + varint(compression)
    header += more
    return b"\xE1\xC1" + bytes(14) + struct.pack("<I", len(header)) + header + payload


def proio():
    good = bucket(1, struct.pack("<I", len(BEFORE)) + BEFORE)

    def of(*arguments, **named):
        return good + bucket(*arguments, **named) + bucket(1, struct.pack("<I", len(BEHIND)) + BEHIND)

    packed = {"gzip": (1, bombs.gzip(BOMB)), "lz4": (2, bombs.lz4(BOMB)), "lzma": (3, bombs.lzma_alone(BOMB))}
    files = {f"{name}-bomb": of(1, data, compression=number) for name, (number, data) in packed.items()}
    # 33,554,432 empty events.
    files["gzip-empty-events"] = of(BOMB // 4, packed["gzip"][1], compression=1)
    files["lzma-dictionary"] = of(1, bombs.lzma_dictionary(MASK32), compression=3)
    for claim in HUGE:
        files[f"events-{claim:x}"] = of(claim)
        files[f"gzip-events-{claim:x}"] = of(claim, bombs.gzip(1 << 20), compression=1)
        files[f"bucket-size-{claim:x}"] = of(1, size=claim)
        files[f"event-of-{claim:x}"] = of(1, struct.pack("<I", claim & MASK32) + b"x")
        files[f"lz4-size-{claim:x}"] = of(1, bombs.lz4(4 << 20, claim), compression=2)
        for field in (5, 7):
            files[f"field-{field}-of-{claim:x}"] = of(1, more=bytes([field << 3 | 2]) + varint(claim))
        files[f"header-of-{claim:x}"] = good + b"\xE1\xC1" + bytes(14) + struct.pack("<I", claim & MASK32) + good
    files["descriptors"] = of(1, more=(b"\x2A\x06\x0A\x04" + b"file") * 500000)
    return {f"{name}.proio": data for name, data in files.items()}


def _blpk(chunks, count, chunk_size=1 << 20, options=0, offsets=b"", spare=0):
    return b"blpk" + struct.pack("<BBBBiiqq", 3, options, 0, 8, chunk_size, chunk_size, count, spare) + offsets + chunks


def _blosc(flags, typesize, size, block, body, stored=None):
    stored = 16 + len(body) if stored is None else stored
    return struct.pack("<BBBBIII", 2, 1, flags, typesize, size & MASK32, block & MASK32, stored & MASK32) + body


def _one_block(codec, size, stream):
    """Returns a chunk of one block with one stream."""
    return _blosc(codec << 5 | 0x10, 1, size, size, struct.pack("<II", 20, len(stream)) + stream)


def _blocks(codec, count, block, stream):
    """Returns a chunk of `count` such blocks."""
    begins = b"".join(struct.pack("<I", 16 + 4 * count + index * (4 + len(stream))) for index in range(count))
    return _blosc(codec << 5 | 0x10, 1, count * block, block, begins + (struct.pack("<I", len(stream)) + stream) * count)


def bloscpack():
    plain = _blosc(2, 1, len(BEFORE), len(BEFORE), BEFORE)
    files = {
        "zstd-bomb": _one_block(4, BOMB, bombs.zstd(BOMB)),
        "zstd-window": _one_block(4, 1 << 20, bombs.zstd_window(31)),
        "zlib-bomb": _one_block(3, BOMB, bombs.deflate(BOMB)),
        "lz4-bomb": _one_block(1, BOMB, bombs.lz4_block(BOMB)),
        "snappy-bomb": _one_block(2, 4 << 20, bombs.snappy(4 << 20)),
        # A match length that overflows 32 bits: Debian's libblosc 1.21.3 writes out of bounds.
        "blosclz-match": _one_block(0, 16 << 20, b"\x00A\xE0" + b"\xFF" * 8500000 + b"\0\0\0B"),
    }
    files = {name: _blpk(plain + chunk, 2) for name, chunk in files.items()}
    for claim in HUGE:
        short = claim & MASK32
        files[f"chunks-{claim:x}"] = _blpk(plain, claim - (1 << 64) if claim >> 63 else claim)
        files[f"chunks-{claim:x}-with-offsets"] = _blpk(plain, claim - (1 << 64) if claim >> 63 else claim, options=1,
                                                       offsets=struct.pack("<q", 40))
        files[f"spare-{claim:x}"] = _blpk(plain, 1, options=1, offsets=struct.pack("<q", 40),
                                         spare=claim - (1 << 64) if claim >> 63 else claim)
        files[f"offset-{claim:x}"] = _blpk(plain, 2, options=1, offsets=struct.pack("<QQ", 48, claim))
        files[f"size-{claim:x}"] = _blpk(plain + _blosc(0x90, 1, short, 1 << 20, bytes(100)), 2)
        files[f"plain-size-{claim:x}"] = _blpk(plain + _blosc(2, 1, short, short, b"x", short + 16), 2)
        files[f"block-{claim:x}"] = _blpk(plain + _blosc(0x90, 1, 1 << 20, short, bytes(100)), 2)
        files[f"stored-{claim:x}"] = _blpk(plain + _blosc(0x90, 1, 1 << 20, 1 << 20, bytes(100), short), 2)
        for name, options in (("variable-chunks", 5), ("variable-metadata", 7)):
            count = claim - (1 << 64) if claim >> 63 else claim
            head = struct.pack("<BBBBii", 3, options, 0, 8, -1, -1)
            tail = struct.pack("<qII", count, 0, 0) if options == 5 else struct.pack("<qII", 1, short, 0)
            files[f"{name}-{claim:x}"] = b"blpk" + head + tail + struct.pack("<q", 40) + plain
        section = b"JSON" + bytes(4) + struct.pack("<BBBBIII", 0, 0, 1, 6, short, short, short) + bytes(8)
        files[f"metadata-{claim:x}"] = _blpk(section + b"{}" + plain, 1, options=2)
    packed = bombs.deflate(BOMB)
    section = b"JSON" + bytes(4) + struct.pack("<BBBBIII", 0, 0, 1, 6, BOMB, len(packed), len(packed)) + bytes(8)
    files["metadata-bomb"] = _blpk(section + packed + plain, 1, options=2)
    deep = b"[" * 1000000
    section = b"JSON" + bytes(4) + struct.pack("<BBBBIII", 0, 0, 0, 6, len(deep), len(deep), len(deep)) + bytes(8)
    files["metadata-deep"] = _blpk(section + deep + plain, 1, options=2)
    return {f"{name}.blp": data for name, data in files.items()}


_HEADER_MAGIC, _BODY_MAGIC, _TRAILER_MAGIC = 0xF70416C25CD9E1D9, 0x2E3C0734EB47762E, 0x3A75DFCBD71ABAFE


def _recordio_block(magic, content, total=None):
    """Splits content into chunks of 32 KiB."""
    pieces = [content[at : at + 32740] for at in range(0, len(content), 32740)] or [b""]
    out = b""
    for index, piece in enumerate(pieces):
        covered = struct.pack("<IIII", 0, len(piece), len(pieces) if total is None else total, index) + piece
        out += (struct.pack("<QI", magic, zlib.crc32(covered)) + covered).ljust(32768, b"\xDE")
    return out


def _items(*items):
    return varint(len(items)) + b"".join(varint(len(item)) for item in items) + b"".join(items)


def _text(text):
    return b"\4\3" + varint(len(text)) + text


def _recordio_header(*transformers):
    pairs = b"".join(_text(b"transformer") + _text(name) for name in transformers)
    return _recordio_block(_HEADER_MAGIC, _items(b"\3" + varint(len(transformers)) + pairs))


def recordio():
    def of(content, *transformers, good=_items, total=None):
        # If items are compressed, an uncompressed block is ordinary damage.
        return (_recordio_header(*transformers) + _recordio_block(_BODY_MAGIC, good(BEFORE))
                + _recordio_block(_BODY_MAGIC, content, total) + _recordio_block(_BODY_MAGIC, good(BEHIND)))

    def raw(*items):
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        return packer.compress(_items(*items)) + packer.flush()

    files = {
        "zstd-bomb": of(bombs.zstd(BOMB), b"zstd"),
        "zstd-window": of(bombs.zstd_window(31), b"zstd"),
        "flate-bomb": of(bombs._deflated(BOMB, -15), b"flate", good=raw),
        "zstd-chain": of(bombs.zstd(BOMB), b"zstd", b"zstd"),
    }
    for claim in HUGE:
        files[f"items-{claim:x}"] = of(varint(claim) + b"xx")
        files[f"item-of-{claim:x}"] = of(varint(1) + varint(claim) + b"x")
        files[f"total-{claim:x}"] = of(_items(b"x"), total=claim & MASK32)
        files[f"zstd-size-{claim:x}"] = of(bombs.zstd(10, claim), b"zstd")
        files[f"pairs-{claim:x}"] = (_recordio_block(_HEADER_MAGIC, _items(b"\3" + varint(claim)))
                                     + _recordio_block(_BODY_MAGIC, _items(BEHIND)))
        files[f"text-of-{claim:x}"] = (_recordio_block(_HEADER_MAGIC, _items(b"\3\1\4\3" + varint(claim)))
                                       + _recordio_block(_BODY_MAGIC, _items(BEHIND)))
    for magic, name in ((_BODY_MAGIC, "legacy-packed"), (0x20BDD9F03195AEFC, "legacy")):
        for claim in HUGE:
            length = struct.pack("<Q", claim)
            files[f"{name}-{claim:x}"] = struct.pack("<Q", magic) + length + struct.pack("<I", zlib.crc32(length)) + BEHIND
    for name, packed in (("zstd", bombs.zstd(BOMB)), ("flate", bombs._deflated(BOMB, -15))):
        files[f"legacy-packed-{name}-bomb"] = _legacy_packed(varint(1) + varint(BOMB), packed)
    files["legacy-items"] = b"".join(_legacy_packed(varint(claim)) for claim in HUGE)
    return {f"{name}.grail-rio": data for name, data in files.items()}


def _legacy_packed(table, items=b"x"):
    payload = struct.pack("<I", zlib.crc32(table)) + table + items
    length = struct.pack("<Q", len(payload))
    return struct.pack("<Q", _BODY_MAGIC) + length + struct.pack("<I", zlib.crc32(length)) + payload


def large(size):
    """{name: bytes}: files with a readable bomb of `size` bytes, for each codec of each format, selected by the header
    or not. The bomb is record 1. `size`: a multiple of 16 MiB."""
    raw = varint(size)
    files = {f"{name}.riegeli": _riegeli_file(b"r", 1, size, _simple(kind, stored(raw), bomb(size), len(raw), size))
             for name, (kind, stored, bomb) in _CODECS.items() if name != "snappy"}
    # A Blosc block has at most 700 MB.
    streams = {"zstd": (4, bombs.zstd), "lz4": (1, bombs.lz4_block), "snappy": (2, bombs.snappy)}
    files |= {f"{name}.blp": _blpk(2 * _blocks(codec, size >> 24, 1 << 24, bomb(1 << 24)), 2, size)
              for name, (codec, bomb) in streams.items()}
    framed = _framed(bytes(1 << 20))
    body = bombs.deflate_of(framed, size >> 20)
    check = 0
    for _ in range(size >> 20):
        check = zlib.crc32(framed, check)
    files["gzip.tfrecord.gz"] = (b"\x1F\x8B\x08" + bytes(7) + body
                                 + struct.pack("<II", check, len(framed) * (size >> 20) & MASK32))
    return files


FORMATS = {"riegeli": riegeli, "array_record": array_record, "wandb": wandb, "tfrecord": tfrecord, "leveldb_log": leveldb_log, "leveldb_table": leveldb_table,
           "rocksdb_blob": rocksdb_blob,
           "proio": proio, "bloscpack": bloscpack, "recordio": recordio}
