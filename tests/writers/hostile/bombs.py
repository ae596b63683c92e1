"""Small compressed streams with huge content, and streams that claim more content than they have. Written by hand if
Python's library lacks the codec."""
import lzma
import struct
import zlib

from samples import varint

HUGE = (1 << 31, 1 << 32, 1 << 60, (1 << 64) - 1)


def zstd(size, claim=None):
    """Blocks of one repeated byte, 4 bytes for 128 KiB; `claim`: a false content size in the header."""
    out = bytearray(struct.pack("<I", 0xFD2FB528))
    out += b"\x00\x38" if claim is None else b"\xC0\x38" + struct.pack("<Q", claim)
    while size > 0:
        step = min(size, 1 << 17)
        size -= step
        out += ((size == 0) | 1 << 1 | step << 3).to_bytes(3, "little") + b"z"
    return bytes(out)


def zstd_stored(data):
    """A frame that stores its few bytes uncompressed."""
    return struct.pack("<IBB", 0xFD2FB528, 0, 0x38) + (1 | len(data) << 3).to_bytes(3, "little") + data


def zstd_window(log):
    """An empty frame that requires a window of 2^log bytes."""
    return struct.pack("<IBB", 0xFD2FB528, 0, log - 10 << 3) + b"\x01\x00\x00"


def snappy(size, claim=None):
    """Copies of 64 bytes, 3 bytes each."""
    out = bytearray(varint(size if claim is None else claim) + b"\x00s")
    whole, rest = divmod(size - 1, 64)
    return bytes(out) + b"\xFE\1\0" * whole + (bytes([rest - 1 << 2 | 2, 1, 0]) if rest else b"")


def snappy_stored(data):
    """A stream of up to 60 uncompressed bytes."""
    return varint(len(data)) + bytes([len(data) - 1 << 2]) + data


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
    """One literal, one match of nearly the whole size, five literals. `size`: at least 300."""
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


class _Bits:
    """Appends numbers of a given width, lowest bit first."""

    def __init__(self):
        self.number = self.count = 0

    def add(self, number, count):
        self.number |= number << self.count
        self.count += count

    def to_bytes(self):
        return self.number.to_bytes((self.count + 7) // 8, "little")


def brotli(size):
    """Meta-blocks of 16 MiB: a literal, and a copy at distance 1. `size`: a multiple of 16 MiB."""
    block = _Bits()
    for number, count in ((0, 1), (2, 2), ((1 << 24) - 1, 24), (0, 1),   # not the last; its length; compressed
                          (0, 3), (0, 6), (0, 2), (0, 2),                # one of each type, and of each tree
                          (1, 2), (0, 2), (ord("b"), 8),                 # the only literal, ...
                          (1, 2), (0, 2), (384 + (1 << 3 | 7), 10),      # ... one of it and a long copy, ...
                          (1, 2), (0, 2), (16, 6),                       # ... at a distance coded in one bit
                          ((1 << 24) - 1 - 2118, 24), (0, 1)):
        block.add(number, count)
    out = _Bits()
    out.add(0, 1)
    for _ in range(size >> 24):
        out.add(block.number, block.count)
    out.add(3, 2)
    return out.to_bytes()


def brotli_stored(data):
    """A stream that stores its few bytes uncompressed."""
    head = _Bits()
    for number, count in ((0, 1), (0, 1), (0, 2), (len(data) - 1, 16), (1, 1)):
        head.add(number, count)
    return head.to_bytes() + data + b"\3"


def deflate_of(piece, times):
    """A raw stream of a repeated piece, created quickly."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return packed * times + b"\3\0"


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
    """Empty content, after a header that requires a dictionary of `size` bytes."""
    return b"\x5D" + struct.pack("<I", size) + b"\xFF" * 8 + lzma.compress(b"", format=lzma.FORMAT_ALONE)[13:]
