#!/usr/bin/env python3
"""The stream of Arrow's C interface, read as its specification says, by a consumer in ctypes."""
import ctypes
import gc
import unittest

import cases
import recordfs
from cases import Case


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
                  ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def stream_of(capsule):
    return ctypes.cast(_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(Stream))


def numbers(array, count, buffer=1):
    return list(ctypes.cast(array.buffers[buffer], ctypes.POINTER(ctypes.c_int64))[:count])


def rows(array):
    """Returns the rows of an array of structs."""
    columns = [array.children[i].contents for i in range(array.n_children)]
    offsets = numbers(columns[4], array.length + 1)
    data = ctypes.string_at(columns[4].buffers[2], offsets[-1])
    return list(zip(*(numbers(column, array.length) for column in columns[:4]),
                    (data[a:b] for a, b in zip(offsets, offsets[1:]))))


def read(ds):
    """Returns all rows, and the error that ended the stream."""
    stream = stream_of(capsule := ds.__arrow_c_stream__())
    found = []
    while True:
        array = Array()
        status = stream.contents.get_next(stream, array)
        if status != 0:
            return found, stream.contents.get_last_error(stream).decode()
        if not array.release:
            return found, None
        found += rows(array)
        array.release(array)
        if array.release:
            raise AssertionError("a released array still has a release")
    del capsule


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.records = [b"%d" % i * (i % 9) for i in range(70000)]
        self.path = self.write("a.tfrecord", self.records)

    def test_schema(self):
        capsule = recordfs.open(self.path).__arrow_c_stream__()
        stream, schema = stream_of(capsule), Schema()
        self.assertEqual(stream.contents.get_schema(stream, schema), 0)
        fields = [(schema.children[i].contents.name, schema.children[i].contents.format) for i in range(schema.n_children)]
        self.assertEqual((schema.format, fields), (b"+s", [(b"ordinal", b"l"), (b"shard", b"l"), (b"offset", b"l"),
                                                            (b"index", b"l"), (b"data", b"Z")]))
        schema.release(schema)
        self.assertFalse(schema.release)

    def test_rows_have_records_and_their_addresses(self):
        ds = recordfs.open(self.path)
        found, error = read(ds)
        self.assertIsNone(error)
        self.assertEqual([row[4] for row in found], self.records)
        self.assertEqual([row[0] for row in found], list(range(70000)))
        for _, shard, offset, index, data in found[::7001]:
            self.assertEqual(ds.at(offset, index, shard), data)

    def test_range_of_a_data_set(self):
        ds = recordfs.open(self.path, self.write("b.tfrecord", [b"x", b"y"]))
        self.assertEqual([(row[0], row[1], row[4]) for row in read(ds[69999:70001])[0]],
                         [(69999, 0, self.records[-1]), (70000, 1, b"x")])
        self.assertEqual(read(ds[5:5]), ([], None))
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
        found, error = read(recordfs.open(self.path))
        self.assertEqual([row[4] for row in found], self.records[:-1])
        self.assertIn("a.tfrecord: byte ", error)
        self.assertEqual(len(read(recordfs.open(self.path, on_damage="skip"))[0]), 69999)

    def test_stream_that_is_not_read_is_released_with_its_capsule(self):
        for _ in range(100):
            recordfs.open(self.path).__arrow_c_stream__()


if __name__ == "__main__":
    cases.main()
