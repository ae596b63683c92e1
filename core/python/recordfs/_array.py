"""numpy arrays. Imports numpy only when an array is asked for."""
from __future__ import annotations


def array_of(file: memoryview):
    """Returns the array of an .npy file in memory, without a copy."""
    import io

    import numpy

    header = io.BytesIO(file[:65536 + 16])  # a header has at most so many bytes
    version = numpy.lib.format.read_magic(header)
    read = numpy.lib.format.read_array_header_1_0 if version == (1, 0) else numpy.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(header)
    if dtype.hasobject:
        raise ValueError("the array holds Python objects")
    array = numpy.frombuffer(file, dtype, offset=header.tell(), count=int(numpy.prod(shape, dtype=numpy.int64)))
    return array.reshape(shape, order="F" if is_fortran else "C")
