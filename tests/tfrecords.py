"""Writes TFRecord files, and the checksum that LevelDB's logs share with them."""
import functools
import struct


def _table_entry(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_table_entry(byte) for byte in range(256)]


@functools.lru_cache(maxsize=64)  # many records are equal, or have equal sizes
def masked_crc32c(data):
    """Returns the masked CRC-32C of bytes, encoded in 4 bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(records):
    """Returns the bytes of a TFRecord file with these records."""
    parts = []
    for record in records:
        size = struct.pack("<Q", len(record))
        parts += [size, masked_crc32c(size), record, masked_crc32c(record)]
    return b"".join(parts)
