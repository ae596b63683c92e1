#!/usr/bin/env python3
"""array.npy of a Bloscpack file that holds a numpy array: exact, seekable and suitable for mmap."""
import ast
import json
import mmap
import os
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
    def test_unlisted_link_at_the_root_points_to_the_stream(self):
        top = self.mount(mounting.sample("bloscpack/v3-np-f8-2d.blp")).point
        self.assertNotIn("array.npy", os.listdir(top))
        self.assertEqual(os.readlink(top / "array.npy"), ".views/streams/array.npy")
        self.assertEqual(sorted(os.listdir(top / "streams")), ["array.npy", "concat", "lines"])

    def test_header_describes_the_array_and_all_records_follow(self):
        for sample, (descr, shape, fortran_order) in ARRAYS.items():
            with self.subTest(sample):
                top = self.mount(mounting.sample(sample)).point
                whole = (top / "array.npy").read_bytes()
                self.assertEqual(len(whole), (top / "array.npy").stat().st_size)
                header, data = split_npy(whole)
                self.assertEqual(header, {"descr": descr, "fortran_order": fortran_order, "shape": shape})
                self.assertEqual(data, (top / "streams/concat").read_bytes())

    def test_memory_map_gives_the_same_bytes(self):
        top = self.mount(mounting.sample("bloscpack/v3-np-f8-2d.blp")).point
        with open(top / "array.npy", "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                header, data = split_npy(mapped[:])
        at = 8 * (31 * 100 + 7)
        self.assertEqual(data[at : at + 8], (top / "streams/concat").read_bytes()[at : at + 8])
        self.assertEqual(len(data), 8 * header["shape"][0] * header["shape"][1])

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

    def test_file_without_an_array_has_no_array_npy(self):
        top = self.mount(mounting.sample("bloscpack/v3-onechunk.blp")).point
        self.assertFalse(os.path.lexists(top / "array.npy"))
        self.assertFalse(os.path.lexists(top / ".views/streams/array.npy"))
        self.assertNotIn("array", json.loads((top / "info.json").read_text(encoding="utf-8")))

    def test_array_larger_than_the_file_can_hold_has_no_array_npy(self):
        metadata = json.dumps({"container": "numpy", "dtype": "<f8", "shape": [1 << 58], "order": "C"}).encode()
        sizes = struct.pack("<III", *[len(metadata)] * 3)
        section = b"JSON" + bytes(4) + bytes([0, 0, 0, 6]) + sizes + bytes(8) + metadata
        header = b"blpk" + struct.pack("<BBBBiiqq", 3, 2, 0, 8, 1 << 30, 1 << 30, 1 << 31, 0)
        source = self.folder / "claim.blp"
        source.write_bytes(header + section)
        top = self.mount(source).point
        self.assertFalse(os.path.lexists(top / "array.npy"))
        info = json.loads((top / "info.json").read_text(encoding="utf-8"))
        self.assertIn("more than the file could hold", info["no_array"])


if __name__ == "__main__":
    mounting.main()
