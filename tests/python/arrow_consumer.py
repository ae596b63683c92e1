"""A consumer of Arrow's C interface in ctypes, which reads it as its specification says."""
import ctypes
from typing import NamedTuple


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

NUMBERS = {"l": ctypes.c_int64, "L": ctypes.c_uint64, "i": ctypes.c_int32, "I": ctypes.c_uint32, "f": ctypes.c_float,
           "g": ctypes.c_double}
NULLABLE = 2


class Type(NamedTuple):
    """A copy of a schema."""

    name: str
    format: str
    is_nullable: bool
    children: list

    def __getitem__(self, name):
        return next(child for child in self.children if child.name == name)


def stream_of(capsule):
    return ctypes.cast(_pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(Stream))


def _type_of(schema):
    return Type(schema.name.decode(), schema.format.decode(), bool(schema.flags & NULLABLE),
                [_type_of(schema.children[i].contents) for i in range(schema.n_children)])


def type_of(stream):
    """Returns the type of a stream."""
    schema = Schema()
    if stream.contents.get_schema(stream, schema) != 0:
        raise AssertionError(stream.contents.get_last_error(stream))
    copy = _type_of(schema)
    schema.release(schema)
    if schema.release:
        raise AssertionError("a released schema still has a release")
    return copy


def _bits(address, count):
    data = ctypes.string_at(address, (count + 7) // 8)
    return [bool(data[i // 8] >> i % 8 & 1) for i in range(count)]


def _numbers(array, count, kind, buffer=1):
    return list(ctypes.cast(array.buffers[buffer], ctypes.POINTER(kind))[:count])


def values(kind, array):
    """Returns the values of an array: None, numbers, bool, str, bytes, lists and dicts."""
    if array.offset != 0 or array.n_children != len(kind.children):
        raise AssertionError("an array has an offset, or other children than its type")
    count = array.length
    if kind.format in NUMBERS:
        found = _numbers(array, count, NUMBERS[kind.format])
    elif kind.format == "b":
        found = _bits(array.buffers[1], count)
    elif kind.format in "UZ":
        offsets = _numbers(array, count + 1, ctypes.c_int64)
        data = ctypes.string_at(array.buffers[2], offsets[-1])
        found = [data[a:b] for a, b in zip(offsets, offsets[1:])]
        found = [one.decode() for one in found] if kind.format == "U" else found
    elif kind.format == "+L":
        offsets = _numbers(array, count + 1, ctypes.c_int64)
        items = values(kind.children[0], array.children[0].contents)
        if len(items) != offsets[-1]:
            raise AssertionError("a list has more items than its offsets")
        found = [items[a:b] for a, b in zip(offsets, offsets[1:])]
    else:
        if kind.format != "+s":
            raise AssertionError(kind.format)
        columns = [values(child, array.children[i].contents) for i, child in enumerate(kind.children)]
        if any(len(column) != count for column in columns):
            raise AssertionError("the columns of a struct have different lengths")
        found = [dict(zip([child.name for child in kind.children], row)) for row in zip(*columns)]
        found = found if columns else [{} for _ in range(count)]
    is_valid = _bits(array.buffers[0], count) if array.buffers[0] else [True] * count
    if is_valid.count(False) != array.null_count or array.null_count and not kind.is_nullable:
        raise AssertionError("wrong null_count")
    return [value if valid else None for value, valid in zip(found, is_valid)]


def arrays(source, read=values):
    """Returns the rows of each array as dicts, or what `read` returns, and the error that ended the stream."""
    stream = stream_of(capsule := source.__arrow_c_stream__())
    kind = type_of(stream)
    found = []
    while True:
        array = Array()
        status = stream.contents.get_next(stream, array)
        if status != 0:
            return found, stream.contents.get_last_error(stream).decode()
        if not array.release:
            return found, None
        found.append(read(kind, array))
        array.release(array)
        if array.release:
            raise AssertionError("a released array still has a release")
    del capsule


def rows(source):
    """Returns all rows, and the error."""
    found, error = arrays(source)
    return [row for array in found for row in array], error
