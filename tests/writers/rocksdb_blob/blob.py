"""Writes blob files of RocksDB, following db/blob/blob_log_format.h. Uses no code of recordfs."""
import struct
import sys
import zlib
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from samples import masked_crc32c, varint  # noqa: E402

MAGIC = 0x00248F37
NONE, SNAPPY, ZLIB, BZIP2, LZ4, LZ4HC, XPRESS, ZSTD = range(8)
HEADER, RECORD_HEADER, FOOTER = 30, 32, 32  # sizes


def header(compression=NONE, family=0, expirations=None):
    return struct.pack("<IIIBBQQ", MAGIC, 1, family, expirations is not None, compression, *(expirations or (0, 0)))


def sizes_of(key, value, expiration=0):
    """Returns the sizes at the begin of a record, with their checksum."""
    sizes = struct.pack("<QQQ", key, value, expiration)
    return sizes + struct.pack("<I", masked_crc32c(sizes))


def record(key, value, expiration=0):
    """`value`: as stored."""
    return sizes_of(len(key), len(value), expiration) + struct.pack("<I", masked_crc32c(key + value)) + key + value


def footer(count, expirations=(0, 0)):
    content = struct.pack("<IQQQ", MAGIC, count, *expirations)
    return content + struct.pack("<I", masked_crc32c(content))


def deflated(value):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return varint(len(value)) + packer.compress(value) + packer.flush()


def blob_file(rows):
    """Returns a complete file without compression."""
    return header() + b"".join(record(*row) for row in rows) + footer(len(rows))


def shown(key, value):
    """Returns a record as recordfs shows it."""
    return varint(len(key)) + key + varint(len(value)) + value


def places(content):
    """Returns [(begin of the header, begin of the key, begin of the value, end)] of the records of a valid file."""
    found, at = [], HEADER
    while at < len(content) - FOOTER:
        key, value = struct.unpack_from("<QQ", content, at)
        found.append((at, at + RECORD_HEADER, at + RECORD_HEADER + key, at + RECORD_HEADER + key + value))
        at = found[-1][-1]
    return found
