"""Writes Riegeli/records files chunk by chunk, and reads their chunks. Follows the public specification and uses no
code of recordfs. HighwayHash-64 is written after its portable implementation."""
import struct
import subprocess

from samples import varint

BLOCK, BLOCK_HEADER, CHUNK_HEADER = 65536, 24, 40
USABLE = BLOCK - BLOCK_HEADER
MASK = (1 << 64) - 1
LOW = (1 << 32) - 1
KEY = struct.unpack("<4Q", b"Riegeli/records\nRiegeli/records\n")
MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)


def _swapped(value):
    return value >> 32 | (value & LOW) << 32


def _zipped(high, low):
    """Returns both lanes of a zipper merge, the lower one first."""
    to_low = (
        ((low & 0xFF000000) | (high & 0xFF00000000)) >> 24 | ((low & 0xFF0000000000) | (high & 0xFF000000000000)) >> 16
        | (low & 0xFF0000) | (low & 0xFF00) << 32 | (high & 0xFF00000000000000) >> 8 | low << 56 & MASK
    )
    to_high = (
        ((high & 0xFF000000) | (low & 0xFF00000000)) >> 24 | (high & 0xFF0000) | (high & 0xFF0000000000) >> 16
        | (high & 0xFF00) << 24 | (low & 0xFF000000000000) >> 8 | (high & 0xFF) << 48 | (low & 0xFF00000000000000)
    )
    return to_low, to_high


class _Highway:
    def __init__(self):
        self.mul0, self.mul1 = list(MUL0), list(MUL1)
        self.v0 = [a ^ b for a, b in zip(MUL0, KEY)]
        self.v1 = [a ^ _swapped(b) for a, b in zip(MUL1, KEY)]

    def update(self, lanes):
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i in range(4):
            v1[i] = v1[i] + mul0[i] + lanes[i] & MASK
            mul0[i] ^= (v1[i] & LOW) * (v0[i] >> 32)
            v0[i] = v0[i] + mul1[i] & MASK
            mul1[i] ^= (v0[i] & LOW) * (v1[i] >> 32)
        for into, of in ((v0, v1), (v1, v0)):
            for i in (0, 2):
                low, high = _zipped(of[i + 1], of[i])
                into[i] = into[i] + low & MASK
                into[i + 1] = into[i + 1] + high & MASK

    def rest(self, data):
        size = len(data)
        self.v0 = [value + (size << 32) + size & MASK for value in self.v0]
        self.v1 = [self._turned(value >> 32, size) << 32 | self._turned(value & LOW, size) for value in self.v1]
        packet = bytearray(32)
        whole = size & ~3
        packet[:whole] = data[:whole]
        if size & 16:
            packet[28:] = data[size - 4 :]
        elif size & 3:
            tail = data[whole:]
            packet[16:19] = bytes([tail[0], tail[len(tail) >> 1], tail[-1]])
        self.update(struct.unpack("<4Q", packet))

    @staticmethod
    def _turned(half, by):
        return (half << by | half >> 32 - by) & LOW

    def finish(self):
        for _ in range(4):
            self.update([_swapped(self.v0[i]) for i in (2, 3, 0, 1)])
        return (self.v0[0] + self.v1[0] + self.mul0[0] + self.mul1[0]) & MASK


_KNOWN = {}


def highway(data):
    """Returns HighwayHash-64 with Riegeli's key."""
    data = bytes(data)
    if data not in _KNOWN:
        state = _Highway()
        whole = len(data) & ~31
        for at in range(0, whole, 32):
            state.update(struct.unpack_from("<4Q", data, at))
        if len(data) & 31:
            state.rest(data[whole:])
        _KNOWN[data] = state.finish()
    return _KNOWN[data]


def _zstd(data):
    return subprocess.run(["zstd", "-q", "-3", "--no-check"], input=data, capture_output=True, check=True).stdout


def _snappy(data):
    """Encodes literals only: valid but not smaller."""
    pieces = [data[at : at + 60] for at in range(0, len(data), 60)]
    return varint(len(data)) + b"".join(bytes([len(piece) - 1 << 2]) + piece for piece in pieces)


def _brotli(data):
    """Encodes uncompressed meta-blocks: valid but not smaller."""
    bits, count, out = 0, 1, bytearray()  # one bit for a window of 64 KiB
    for at in range(0, len(data), 65536):
        piece = data[at : at + 65536]
        # Not the last, 4 nibbles of length, the length minus 1, uncompressed.
        bits |= (len(piece) - 1 << 3 | 1 << 19) << count
        out += bits.to_bytes((count + 20 + 7) // 8, "little") + piece
        bits, count = 0, 0
    bits |= 3 << count  # the last, empty
    return bytes(out) + bytes([bits])


PACKERS = {"uncompressed": (b"\0", None), "zstd": (b"z", _zstd), "brotli": (b"b", _brotli), "snappy": (b"s", _snappy)}


def simple(records, packing="uncompressed"):
    """Returns the arguments of add() for a simple chunk."""
    number, pack = PACKERS[packing]
    sizes = b"".join(varint(len(record)) for record in records)
    values = b"".join(records)
    if pack:
        sizes, values = (varint(len(part)) + pack(part) for part in (sizes, values))
        sizes, values = bytes(sizes), bytes(values)
    return b"r", len(records), sum(map(len, records)), number + varint(len(sizes)) + sizes + values


def _chunk_end(begin, size, records):
    size += CHUNK_HEADER
    content_end = begin + size + (size + (begin + USABLE - 1) % BLOCK) // USABLE * BLOCK_HEADER
    last = begin + records
    left = BLOCK - 1 - (last + BLOCK - 1) % BLOCK
    return max(content_end, last + max(0, left - (USABLE - 1)))


class Writer:
    def __init__(self):
        self.out = bytearray()
        self.add(b"s", 0, 0, b"")

    def add(self, kind, records, decoded_size, data):
        """Appends a chunk, and returns its begin."""
        begin = len(self.out)
        end = _chunk_end(begin, len(data), records)
        header = struct.pack("<QQ", len(data), highway(data)) + kind + records.to_bytes(7, "little")
        header += struct.pack("<Q", decoded_size)
        content = struct.pack("<Q", highway(header)) + header + data
        while len(self.out) < end:
            at = len(self.out)
            if at % BLOCK == 0:
                block = struct.pack("<QQ", at - begin, end - at)
                self.out += struct.pack("<Q", highway(block)) + block
                at += BLOCK_HEADER
            room = min(end, at // BLOCK * BLOCK + BLOCK) - at
            self.out += content[:room].ljust(room, b"\0")
            content = content[room:]
        return begin

    def pad(self):
        """Appends a padding chunk up to the next block."""
        room = -len(self.out) % BLOCK
        if room == 0:
            return
        if room < CHUNK_HEADER:
            room += USABLE
        self.add(b"p", 0, 0, bytes(room - CHUNK_HEADER))


def chunks(data):
    """Yields the arguments of add() and the position of each chunk of a valid file."""
    begin = 0
    while begin < len(data):
        run, at = bytearray(), begin

        def read(size):
            nonlocal at
            while len(run) < size:
                if at % BLOCK == 0:
                    at += BLOCK_HEADER
                step = min(size - len(run), BLOCK - at % BLOCK)
                run.extend(data[at : at + step])
                at += step

        read(CHUNK_HEADER)
        stored, size = struct.unpack_from("<QQ", run)
        assert stored == highway(run[8:])
        read(CHUNK_HEADER + size)
        records = int.from_bytes(run[25:32], "little")
        (decoded,) = struct.unpack_from("<Q", run, 32)
        yield begin, (bytes(run[24:25]), records, decoded, bytes(run[CHUNK_HEADER:]))
        begin = _chunk_end(begin, size, records)
