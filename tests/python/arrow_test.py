#!/usr/bin/env python3
"""The stream of Arrow's C interface, read as its specification says, by a consumer in ctypes."""
import ctypes
import gc
import unittest

import cases
import recordfs
from arrow_consumer import Array, Type, rows, stream_of, type_of
from cases import Case


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.records = [b"%d" % i * (i % 9) for i in range(70000)]
        self.path = self.write("a.tfrecord", self.records)

    def test_schema(self):
        capsule = recordfs.open(self.path).__arrow_c_stream__()
        columns = [("ordinal", "l"), ("shard", "l"), ("offset", "l"), ("index", "l"), ("data", "Z")]
        self.assertEqual(type_of(stream_of(capsule)),
                         Type("", "+s", False, [Type(name, kind, False, []) for name, kind in columns]))

    def test_rows_have_records_and_their_addresses(self):
        ds = recordfs.open(self.path)
        found, error = rows(ds)
        self.assertIsNone(error)
        self.assertEqual([row["data"] for row in found], self.records)
        self.assertEqual([row["ordinal"] for row in found], list(range(70000)))
        for row in found[::7001]:
            self.assertEqual(ds.at(row["offset"], row["index"], row["shard"]), row["data"])
        self.assertEqual(rows(ds.arrow(decode=False)), (found, None))

    def test_range_of_a_data_set(self):
        ds = recordfs.open(self.path, self.write("b.tfrecord", [b"x", b"y"]))
        self.assertEqual([(row["ordinal"], row["shard"], row["data"]) for row in rows(ds[69999:70001])[0]],
                         [(69999, 0, self.records[-1]), (70000, 1, b"x")])
        self.assertEqual(rows(ds[5:5]), ([], None))
        with self.assertRaises(ValueError):
            ds.shuffled().__arrow_c_stream__()

    def test_column_outlives_its_array_and_the_stream(self):
        capsule = recordfs.open(self.path).__arrow_c_stream__()
        stream, array = stream_of(capsule), Array()
        self.assertEqual(stream.contents.get_next(stream, array), 0)
        moved = Array.from_buffer_copy(array.children[4].contents)
        array.children[4].contents.release = type(array.release)(0)
        array.release(array)
        del capsule, stream
        gc.collect()
        self.assertEqual(ctypes.string_at(moved.buffers[2], 10), b"".join(self.records)[:10])
        moved.release(moved)

    def test_damage_ends_the_stream_after_the_records_before_it(self):
        with self.path.open("r+b") as file:
            file.seek(-6, 2)
            file.write(b"??????")
        found, error = rows(recordfs.open(self.path))
        self.assertEqual([row["data"] for row in found], self.records[:-1])
        self.assertIn("a.tfrecord: byte ", error)
        self.assertEqual(len(rows(recordfs.open(self.path, on_damage="skip"))[0]), 69999)

    def test_stream_that_is_not_read_is_released_with_its_capsule(self):
        for _ in range(100):
            recordfs.open(self.path).__arrow_c_stream__()


if __name__ == "__main__":
    cases.main()
