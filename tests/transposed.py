"""A transposed Riegeli file of which some fields cannot be decompressed, although all checksums match."""
import struct
import sys
from pathlib import Path

from tfrecords import field

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "writers"), str(HERE / "writers/array_record")]

import riegeli  # noqa: E402

SOUND = HERE / "corpus/riegeli/transposed_brotli_bucket_0.riegeli"
FIRST_CHUNK, HEADER = 64, 40
IN_A_BUCKET = 21298  # of other fields than those of the type M and after them, in the data of the first chunk
INT64, UINT64 = 3, 4


def damaged():
    """Returns the bytes of SOUND with damage that only a reader of whole records finds."""
    file = bytearray(SOUND.read_bytes())
    size, = struct.unpack_from("<Q", file, FIRST_CHUNK + 8)
    data = FIRST_CHUNK + HEADER
    file[data + IN_A_BUCKET] ^= 0x55
    struct.pack_into("<Q", file, FIRST_CHUNK + 16, riegeli.highway(file[data : data + size]))
    struct.pack_into("<Q", file, FIRST_CHUNK, riegeli.highway(file[FIRST_CHUNK + 8 : data]))
    return bytes(file)


def descriptors():
    """Returns the type M of its records, with a few of their fields."""
    fields = [("id", 3, INT64), ("time", 4, UINT64)]
    message = field(1, "M") + b"".join(field(2, field(1, name) + field(3, number) + field(4, 1) + field(5, kind))
                                       for name, number, kind in fields)
    return field(1, field(1, "m.proto") + field(4, message))
