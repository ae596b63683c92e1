#!/usr/bin/env python3
"""Yardsticks of `recordfs export`, with one thread: yardsticks.py PYTHON_FOLDER YARDSTICK [WORDS]

    stream SOURCE                       takes the columns of a container from Python's Arrow stream
    stream-to-parquet SOURCE TARGET LIBRARY     DuckDB writes them as Parquet with zstd
    json-to-parquet SOURCE TARGET LIBRARY       DuckDB reads lines of JSON instead

PYTHON_FOLDER has the built package, and LIBRARY is a libduckdb.so.
"""
import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from arrow_consumer import Array, stream_of  # noqa: E402


class DuckDB:
    """DuckDB's C interface, as far as it is needed here."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library)
        self._database, self._connection = ctypes.c_void_p(), ctypes.c_void_p()
        self._checked("duckdb_open", None, ctypes.byref(self._database))
        self._checked("duckdb_connect", self._database, ctypes.byref(self._connection))
        self.run("SET threads = 1")

    def _checked(self, name, *words):
        if getattr(self._library, name)(*words) != 0:
            raise RuntimeError(f"{name} fails: {words}")

    def run(self, query):
        self._checked("duckdb_query", self._connection, query.encode(), None)

    def copy(self, query, target):
        self.run(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")

    def scan(self, name, stream):
        """Makes a view of a capsule with an Arrow stream."""
        self._checked("duckdb_arrow_scan", self._connection, name.encode(), stream_of(stream))


def arrow_stream(source):
    import recordfs  # pylint: disable=import-outside-toplevel

    return recordfs.open(source, index="no", threads=1).arrow().__arrow_c_stream__()


def stream(source):
    capsule = arrow_stream(source)  # owns the stream
    taken = stream_of(capsule)
    while True:
        rows = Array()
        if taken.contents.get_next(taken, rows) != 0:
            raise RuntimeError(taken.contents.get_last_error(taken))
        if not rows.release:
            return
        rows.release(rows)


def stream_to_parquet(source, target, library):
    duckdb = DuckDB(library)
    capsule = arrow_stream(source)
    duckdb.scan("source", capsule)
    duckdb.copy("SELECT * FROM source", target)


def json_to_parquet(source, target, library):
    DuckDB(library).copy(f"SELECT decoded.* FROM read_json('{source}', format = 'newline_delimited')", target)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    {"stream": stream, "stream-to-parquet": stream_to_parquet, "json-to-parquet": json_to_parquet}[sys.argv[2]](*sys.argv[3:])
