"""Compression for small samples, with the libraries that the formats' own writers use."""
import ctypes
import ctypes.util
import lzma
import subprocess
import zlib


def _library(name):
    return ctypes.CDLL(ctypes.util.find_library(name))


def _sized(function, room, data, *before):
    """Returns the output of a function that takes a buffer and a pointer to its size."""
    out = ctypes.create_string_buffer(room)
    size = ctypes.c_size_t(room)
    function(*before, ctypes.c_size_t(len(data)), data, ctypes.byref(size), out)
    return out.raw[: size.value]


def brotli(data):
    return _sized(_library("brotlienc").BrotliEncoderCompress, len(data) + 1000, data, 5, 18, 0)


def snappy(data):
    out = ctypes.create_string_buffer(len(data) * 2 + 100)
    size = ctypes.c_size_t(len(out))
    assert _library("snappy").snappy_compress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)) == 0
    return out.raw[: size.value]


def _by_program(data, *words):
    return subprocess.run(words, input=data, capture_output=True, check=True).stdout


def zstd(data):
    return _by_program(data, "zstd", "-q", "-3", "--no-check")


def zstd_checked(data):
    return _by_program(data, "zstd", "-q", "-3", "--check")


def lz4(data):
    return _by_program(data, "lz4", "-q", "-c", "--no-frame-crc")


def lz4_checked(data):
    return _by_program(data, "lz4", "-q", "-c", "-BX")


def gzip(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def deflate(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def lzma_alone(data):
    return lzma.compress(data, lzma.FORMAT_ALONE)


def blosc(codec, data, shuffle=1, typesize=4):
    """Returns one Blosc chunk; if `codec` is None, the data is stored uncompressed."""
    library = _library("blosc")
    out = ctypes.create_string_buffer(len(data) + 16)
    size = library.blosc_compress_ctx(5 if codec else 0, shuffle, ctypes.c_size_t(typesize), ctypes.c_size_t(len(data)),
                                      data, out, ctypes.c_size_t(len(out)), (codec or "lz4").encode(),
                                      ctypes.c_size_t(0), 1)
    assert size > 0
    return out.raw[:size]
