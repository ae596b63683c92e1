"""Writes RocksDB's block-based tables, following its table/format.cc and table/block_based/. Uses no code of recordfs.
"""
import struct

import table
from table import varint

MAGIC = 0x88E241B785F4CFF7
CRC32C, XXH3 = 1, 4
NONE, SNAPPY, DEFLATE, ZSTD = 0, 1, 2, 7


def _sized(pack):
    return lambda content: varint(len(content)) + pack(content)


PACKERS = {"none": (NONE, bytes), "snappy": (SNAPPY, table.snappy), "deflate": (DEFLATE, _sized(table.raw_deflate)),
           "zstd": (ZSTD, _sized(table.zstd))}


def _signed(number):
    return varint(number << 1 if number >= 0 else -number * 2 - 1)


def delta_index(entries, interval=4):
    """Returns the content of an index that delta-encodes block handles if keys share a prefix."""
    out, restarts, last_key, last_size = bytearray(), [], b"", 0
    for number, (key, (begin, size)) in enumerate(entries):
        shared = 0
        if number % interval == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(last_key)) and key[shared] == last_key[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + key[shared:]
        out += _signed(size - last_size) if shared else varint(begin) + varint(size)
        last_key, last_size = key, size
    return bytes(out) + b"".join(struct.pack("<I", at) for at in restarts) + struct.pack("<I", len(restarts))


class RocksTable:
    def __init__(self, packing="none", version=5, context=0, is_delta_encoded=True, levels=1, checksum=CRC32C,
                 family=None):
        self.out = bytearray()
        self.packing, self.version, self.context = packing, version, context
        self.is_delta_encoded, self.levels, self.checksum = is_delta_encoded, levels, checksum
        self.family = family  # the column family's number
        self.index, self.meta = [], []

    def _modifier(self, at):
        return (self.context ^ (at & 0xFFFFFFFF) + (at >> 32) & 0xFFFFFFFF) if self.context else 0

    def add_raw(self, content, packing="none"):
        number, pack = PACKERS[packing]
        begin = len(self.out)
        stored = pack(content)
        # For files to be refused, any number other than a CRC-32C will do.
        checksum = table.masked_crc(stored + bytes([number])) + self._modifier(begin) + (self.checksum != CRC32C)
        self.out += stored + bytes([number]) + struct.pack("<I", checksum & 0xFFFFFFFF)
        return begin, len(stored)

    def add(self, entries, align=0):
        place = self.add_raw(table.block(entries, 4), self.packing)
        self.index.append((entries[-1][0], place))
        if align:
            self.out += bytes(-len(self.out) % align)

    def add_range_deletions(self, entries):
        self.meta.append((b"rocksdb.range_del2", self.add_raw(table.block(entries, 1))))

    def _add_index(self, entries):
        if self.is_delta_encoded:
            return self.add_raw(delta_index(entries), self.packing)
        places = [(key, varint(at) + varint(size)) for key, (at, size) in entries]
        return self.add_raw(table.block(places, 1), self.packing)

    def _add_indexes(self):
        if self.levels == 1:
            return self._add_index(self.index)
        halves = self.index[: len(self.index) // 2], self.index[len(self.index) // 2 :]
        return self._add_index([(half[-1][0], self._add_index(half)) for half in halves])

    def finish(self):
        index = self._add_indexes()
        properties = [
            (b"rocksdb.block.based.table.index.type", struct.pack("<I", 2 if self.levels == 2 else 0)),
            (b"rocksdb.comparator", b"leveldb.BytewiseComparator"),
            (b"rocksdb.index.value.is.delta.encoded", varint(int(self.is_delta_encoded))),
        ]
        if self.family is not None:
            properties.append((b"rocksdb.column.family.id", varint(self.family)))
        self.meta.append((b"rocksdb.properties", self.add_raw(table.block(properties, 1))))
        if self.version >= 6:
            self.meta.append((b"rocksdb.index", index))
        names = sorted((name, varint(at) + varint(size)) for name, (at, size) in self.meta)
        metaindex = self.add_raw(table.block(names, 1))
        return bytes(self.out) + self._footer(metaindex, index)

    def _footer(self, metaindex, index):
        end = struct.pack("<IQ", self.version, MAGIC)
        if self.version < 6:
            places = b"".join(varint(number) for number in metaindex + index)
            return bytes([self.checksum]) + places.ljust(40, b"\0") + end

        def footer(checksum):
            parts = struct.pack("<III", checksum, self.context, metaindex[1])
            return bytes([CRC32C]) + b"\x3e\0\x7a\0" + parts + bytes(24) + end

        return footer((table.masked_crc(footer(0)) + self._modifier(len(self.out))) & 0xFFFFFFFF)
