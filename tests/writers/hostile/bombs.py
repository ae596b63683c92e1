"""Compressed streams of few bytes that stand for many, and such as claim what they do not hold. Written by hand where
Python's library has no such codec."""
import lzma
import struct
import zlib

HUGE = (1 << 31, 1 << 32, 1 << 60, (1 << 64) - 1)


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def zstd(size, claim=None):
    """Blocks of one repeated byte, 4 bytes for 128 KiB; `claim`: what the header says instead of nothing."""
    out = bytearray(struct.pack("<I", 0xFD2FB528))
    out += b"\x00\x38" if claim is None else b"\xC0\x38" + struct.pack("<Q", claim)
    while size > 0:
        step = min(size, 1 << 17)
        size -= step
        out += ((size == 0) | 1 << 1 | step << 3).to_bytes(3, "little") + b"z"
    return bytes(out)


def zstd_stored(data):
    """A frame that holds its few bytes as they are."""
    return struct.pack("<IBB", 0xFD2FB528, 0, 0x38) + (1 | len(data) << 3).to_bytes(3, "little") + data


def zstd_window(log):
    """A frame that wants a window of 2^log bytes for nothing."""
    return struct.pack("<IBB", 0xFD2FB528, 0, log - 10 << 3) + b"\x01\x00\x00"


def snappy(size, claim=None):
    """Copies of 64 bytes, 3 bytes each."""
    out = bytearray(varint(size if claim is None else claim) + b"\x00s")
    left = size - 1
    while left > 0:
        step = min(left, 64)
        out += bytes([step - 1 << 2 | 2, 1, 0])
        left -= step
    return bytes(out)


def _xxh32(data):
    one, two, three, five = 2654435761, 2246822519, 3266489917, 374761393
    state = five + len(data)
    for byte in data:
        state = state + byte * five & 0xFFFFFFFF
        state = (state << 11 | state >> 21) * one & 0xFFFFFFFF
    state = (state ^ state >> 15) * two & 0xFFFFFFFF
    state = (state ^ state >> 13) * three & 0xFFFFFFFF
    return state ^ state >> 16


def lz4_block(size):
    """One literal, one match of nearly all, five literals. `size`: at least 300."""
    more = size - 1 - 5 - 19
    return b"\x1Fl\x01\x00" + b"\xFF" * (more // 255) + bytes([more % 255]) + b"\x50lllll"


def lz4(size, claim=None):
    """Blocks of 4 MiB."""
    flags = bytes([0x60 if claim is None else 0x68, 0x70]) + (b"" if claim is None else struct.pack("<Q", claim))
    out = bytearray(struct.pack("<I", 0x184D2204) + flags + bytes([_xxh32(flags) >> 8 & 0xFF]))
    for _ in range(size >> 22):
        block = lz4_block(1 << 22)
        out += struct.pack("<I", len(block)) + block
    return bytes(out + bytes(4))


def _deflated(size, window):
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    out = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20))
    return out + packer.flush()


def gzip(size):
    return _deflated(size, 31)


def deflate(size):
    return _deflated(size, 15)


def lzma_alone(size):
    return lzma.compress(bytes(size), format=lzma.FORMAT_ALONE, preset=0)


def lzma_dictionary(size):
    """Nothing, behind a header that wants a dictionary of so many bytes."""
    return b"\x5D" + struct.pack("<I", size) + b"\xFF" * 8 + lzma.compress(b"", format=lzma.FORMAT_ALONE)[13:]
