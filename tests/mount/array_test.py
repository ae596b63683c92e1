#!/usr/bin/env python3
"""array.npy of a Bloscpack file that holds a numpy array: exact, seekable and suitable for mmap."""
import ast
import mmap
import struct

import mounting

# As numpy describes these arrays: dtype, shape, Fortran order.
ARRAYS = {
    "bloscpack/v3-np-f8-2d.blp": ("<f8", (60, 100), False),
    "bloscpack/v3-np-i4-fortran.blp": ("<i4", (120, 100), True),
    "bloscpack/v3-np-bigendian.blp": (">u2", (3000,), False),
    "bloscpack/v3-np-scalar.blp": ("<f8", (), False),
    "bloscpack/v3-np-strings.blp": ("<U8", (1200,), False),
    "bloscpack/v3-np-struct.blp": ([("id", "<i4"), ("v", "<f8"), ("s", "|S6")], (1500,), False),
}


def split_npy(bytes_):
    """Returns the header's dictionary and the bytes after it, as numpy.lib.format reads them."""
    assert bytes_[:8] == b"\x93NUMPY\x01\x00", bytes_[:8]
    (length,) = struct.unpack("<H", bytes_[8:10])
    header = bytes_[10 : 10 + length]
    assert header.endswith(b"\n") and (10 + length) % 64 == 0, header
    return ast.literal_eval(header.decode("latin-1").strip()), bytes_[10 + length :]


class Arrays(mounting.Case):
    def test_header_describes_the_array_and_all_records_follow(self):
        for sample, (descr, shape, fortran_order) in ARRAYS.items():
            with self.subTest(sample):
                top = self.mount(mounting.sample(sample)).point
                whole = (top / "array.npy").read_bytes()
                self.assertEqual(len(whole), (top / "array.npy").stat().st_size)
                header, data = split_npy(whole)
                self.assertEqual(header, {"descr": descr, "fortran_order": fortran_order, "shape": shape})
                self.assertEqual(data, (top / "streams/concat").read_bytes())

    def test_numpy_memory_maps_the_array(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        for sample in ARRAYS:
            with self.subTest(sample):
                top = self.mount(mounting.sample(sample)).point
                mapped = numpy.load(top / "array.npy", mmap_mode="r")
                self.assertEqual(mapped.tobytes(order="A"), (top / "streams/concat").read_bytes())


if __name__ == "__main__":
    mounting.main()
