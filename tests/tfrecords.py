"""Writes TFRecord files, fragments of LevelDB's logs, which share their checksum, and fields of protobuf messages."""
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


def log_fragment(kind, payload):
    """Encodes a fragment of a LevelDB log."""
    body = bytes([kind]) + payload
    return masked_crc32c(body) + struct.pack("<H", len(payload)) + body


def varint(number):
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def field(number, content):
    """Encodes a field of a message: text, bytes, or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(features=None, **more):
    """Returns a serialized tensorflow.Example. Each feature is a list of bytes, of floats, or of integers."""
    entries = []
    for name, values in {**(features or {}), **more}.items():
        if values and isinstance(values[0], bytes):
            kind, content = 1, b"".join(field(1, value) for value in values)
        elif values and isinstance(values[0], float):
            kind, content = 2, field(1, struct.pack(f"<{len(values)}f", *values))
        else:
            kind, content = 3, field(1, b"".join(map(varint, values)))
        entries.append(field(1, field(1, name.encode()) + field(2, field(kind, content))))
    return field(1, b"".join(entries))
