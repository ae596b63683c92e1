"""The shapes of containers that the lines about whole containers and about grep -r use."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A container: its form, and as many times the lines of the run. Without options its lines have 200 to 1,000
    bytes, its chunks 1 MiB."""

    form: str
    note: str = ""
    times: int = 1
    options: tuple = ()  # of make_data

    @property
    def case(self):
        return f"{self.form}, {self.note}" if self.note else self.form

    @property
    def format(self):
        """The format's name for plain_readers."""
        name = self.form.partition("-")[0]
        return {"leveldb": "leveldb_log"}.get(name, name)

    def file(self, bench, lines=None):
        """Returns the container's path. `lines` replaces the number of lines of the run."""
        return bench.containers.file(self.form, self.times * (lines or bench.amounts.lines), options=self.options)


SHORT = {"note": "60 bytes", "times": 4, "options": ("--size=60",)}
ONE = {"note": "1 a chunk", "options": ("--per-chunk=1",)}
SMALL = {"note": "4 KiB chunks", "options": ("--per-chunk=7",)}
SHAPES = (
    Shape("riegeli-zstd"), Shape("riegeli-none"), Shape("riegeli-none", **SMALL), Shape("riegeli-none", **ONE),
    Shape("riegeli-zstd", **ONE), Shape("riegeli-snappy"), Shape("riegeli-brotli"), Shape("array_record-none", **ONE),
    Shape("tfrecord"), Shape("tfrecord", **SHORT), Shape("leveldb"), Shape("leveldb", **SHORT),
    Shape("leveldb_table-none"), Shape("leveldb_table-snappy"), Shape("leveldb_table-zstd"), Shape("recordio-none"),
    Shape("recordio-zstd"), Shape("recordio-flate"), Shape("proio-none"), Shape("proio-lz4"), Shape("proio-gzip"),
    Shape("bloscpack-lz4"), Shape("bloscpack-zstd"))
# What grep -r through a mount is measured on.
SEARCHED = (
    Shape("riegeli-none"), Shape("riegeli-none", **ONE), Shape("riegeli-zstd", **ONE), Shape("riegeli-none", **SMALL),
    Shape("leveldb"), Shape("leveldb_table-none"), Shape("leveldb_table-snappy"), Shape("leveldb_table-zstd"),
    Shape("tfrecord"))
# What cp is measured on. The time goes into the files that it writes, whatever the shape.
COPIED = (Shape("riegeli-zstd"), Shape("riegeli-none", **ONE), Shape("tfrecord"), Shape("leveldb"),
          Shape("leveldb_table-snappy"))
LEAST = 16 << 20  # bytes; in a smaller file the start of the program counts more than the reading
