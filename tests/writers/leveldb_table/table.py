"""Writes and parses LevelDB tables, following LevelDB's doc/table_format.md. Uses no code of recordfs.

Writes valid and invalid tables: a block may have any content and type, and be in the index or not.
"""
import struct
import subprocess
import sys
import zlib
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from samples import masked_crc32c as masked_crc, varint  # noqa: E402

MAGIC = 0xDB4775248B80FB57
PUT, DELETE = 1, 0
NONE, SNAPPY, ZSTD, ZLIB, RAW_DEFLATE = 0, 1, 2, 2, 4


def read_varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def internal(key, sequence, kind=PUT):
    return key + struct.pack("<Q", sequence << 8 | kind)


def record(key, value):
    """Returns an entry as recordfs shows it, in LevelDB's in-memory encoding."""
    return varint(len(key)) + key + varint(len(value)) + value


def snappy(data):
    """Encodes literals only: valid but not smaller."""
    out = bytearray(varint(len(data)))
    for at in range(0, len(data), 60):
        piece = data[at : at + 60]
        out.append(len(piece) - 1 << 2)
        out += piece
    return bytes(out)


def unsnappy(data):
    size, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                width = length - 59
                length = int.from_bytes(data[at : at + width], "little")
                at += width
            out += data[at : at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, offset = (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[at]
            at += 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(data[at : at + width], "little")
            at += width
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == size
    return bytes(out)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-1", "--no-check"], input=data, capture_output=True, check=True).stdout


def raw_deflate(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKERS = {"none": (NONE, bytes), "snappy": (SNAPPY, snappy), "zstd": (ZSTD, zstd), "zlib": (ZLIB, zlib.compress),
           "raw-deflate": (RAW_DEFLATE, raw_deflate)}


def block(entries, interval=16, restarts=None):
    """Returns the content of a block with these keys and values."""
    out = bytearray()
    found = []
    last = b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % interval == 0:
            found.append(len(out))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    found = restarts if restarts is not None else found or [0]
    return bytes(out) + b"".join(struct.pack("<I", at) for at in found) + struct.pack("<I", len(found))


class Table:
    """Builds a file block by block; finish() returns it."""

    def __init__(self, packing="none", interval=16):
        self.out = bytearray()
        self.packing = packing
        self.interval = interval
        self.index = []
        self.meta = []
        self.places = {}  # blocks that finish() writes, by name

    def add_raw(self, content, packing="none"):
        number, pack = packing if isinstance(packing, tuple) else PACKERS[packing]
        stored = pack(content)
        place = varint(len(self.out)) + varint(len(stored))
        begin = len(self.out)
        self.out += stored + bytes([number])
        self.out += struct.pack("<I", masked_crc(stored + bytes([number])))
        return place, (begin, len(self.out))

    def add(self, entries, packing=None):
        """Appends a data block. Returns its range as (begin, end)."""
        place, span = self.add_raw(block(entries, self.interval), packing or self.packing)
        self.index.append((entries[-1][0], place))
        return span

    def add_filter(self, content=b"\x00\x01\x02\x06\x00\x00\x00\x00\x04\x00\x00\x00\x0b"):
        place, span = self.add_raw(content)
        self.meta.append((b"filter.test.NoRealFilter", place))
        self.places["filter"] = span

    def finish(self):
        metaindex, self.places["metaindex"] = self.add_raw(block(self.meta), self.packing)
        index, self.places["index"] = self.add_raw(block(self.index, 1), self.packing)
        self.out += (metaindex + index).ljust(40, b"\0") + struct.pack("<Q", MAGIC)
        return bytes(self.out)


def _entries(content):
    (count,) = struct.unpack("<I", content[-4:])
    end = len(content) - 4 * count - 4
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(content, at)
        suffix, at = read_varint(content, at)
        size, at = read_varint(content, at)
        key = key[:shared] + content[at : at + suffix]
        at += suffix
        yield key, content[at : at + size]
        at += size


def _content(table, at, size):
    stored, number = table[at : at + size], table[at + size]
    assert struct.unpack("<I", table[at + size + 1 : at + size + 5])[0] == masked_crc(table[at : at + size + 1])
    if number == NONE:
        return stored
    if number == SNAPPY:
        return unsnappy(stored)
    if number == RAW_DEFLATE:
        return zlib.decompress(stored, -15)
    if stored[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dq"], input=stored, capture_output=True, check=True).stdout
    return zlib.decompress(stored)


def data_blocks(table):
    """Yields (begin, end, [(key, value)...]) of each data block of a valid table."""
    footer = table[-48:]
    assert struct.unpack("<Q", footer[-8:])[0] == MAGIC
    at = 0
    for _ in range(2):
        _, at = read_varint(footer, at)
    index, at = read_varint(footer, at)
    size, _ = read_varint(footer, at)
    blocks = []
    for _, place in _entries(_content(table, index, size)):
        begin, at = read_varint(place, 0)
        size, _ = read_varint(place, at)
        blocks.append((begin, begin + size + 5, list(_entries(_content(table, begin, size)))))
    return blocks
