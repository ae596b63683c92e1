#!/usr/bin/env python3
"""Writes tests/corpus/rocksdb_blob: files that RocksDB wrote (write_rocksdb.cc), damaged copies of them, and generated ones.

    make_samples.py FOLDER    # of write_rocksdb's output
"""
import sys
from pathlib import Path

import blob
import samples
from samples import flipped


def rows_of(path):
    lines = path.with_name(path.name + ".rows").read_text().splitlines()
    return [tuple(bytes.fromhex(part) for part in line.split(" ")) for line in lines]


def copy_of_rocksdb(files, folder):
    """Returns {name: (content, records)}."""
    written = {}
    for path in sorted(folder.glob("rocksdb7-*.blob")):
        records = [blob.shown(*row) for row in rows_of(path)]
        files.common["producer"] = "RocksDB 7.8.3"
        files.write(path.name, path.read_bytes(), records)
        written[path.name] = path.read_bytes(), records
    return written


def write_generated(files):
    rows = [(b"key%d" % n, b"value %d " % n * (n + 1)) for n in range(6)]
    records = [blob.shown(*row) for row in rows]
    stored = b"".join(blob.record(*row) for row in rows)
    files.write("000004.blob", b"", [])
    files.write("no-records.blob", blob.header(), [])
    files.write("no-records-closed.blob", blob.blob_file([]), [])
    files.write("expiring.blob", blob.header(blob.NONE, 0, (100, 200))
                + b"".join(blob.record(*row, 100 + n) for n, row in enumerate(rows)) + blob.footer(6, (100, 105)), records)
    files.write("deflate.blob", blob.header(blob.ZLIB) + b"".join(blob.record(key, blob.deflated(value)) for key, value in rows)
                + blob.footer(6), records)
    few = [(b"", b""), (b"a", b""), (b"", b"b")]
    files.write("empty-keys-and-values.blob", blob.blob_file(few), [blob.shown(*row) for row in few])
    inner = [rows[0], (b"a file", blob.blob_file(rows)), rows[1]]
    files.write("embedded.blob", blob.blob_file(inner), [blob.shown(*row) for row in inner])
    again = rows + [(key, b"newer " + value) for key, value in rows]
    files.write("unclosed.blob", blob.header() + b"".join(blob.record(*row) for row in again),
                [blob.shown(*row) for row in again])
    lying = blob.varint(100) + blob.deflated(b"short")[1:]
    some = blob.header(blob.ZLIB) + blob.record(b"a", blob.deflated(b"first")), blob.record(b"c", blob.deflated(b"last"))
    good = b"".join(some) + blob.footer(2)
    left = [blob.shown(b"a", b"first"), blob.shown(b"c", b"last")]
    files.write("two.blob", good, left)
    for name, value in (("size-too-large", lying), ("size-missing", b""), ("size-endless", b"\xff" * 20)):
        files.write_damaged(f"damaged/{name}.blob", "two.blob", some[0] + blob.record(b"b", value) + some[1] + blob.footer(3),
                            left, {"value": name})
    files.write_damaged("damaged/bzip2.blob", "two.blob", blob.header(blob.BZIP2) + stored + blob.footer(6), [],
                        {"byte": 13, "compression": blob.BZIP2})


def write_damaged(files, name, content, records):
    """Writes damaged copies of a file of five records."""
    which = name.removeprefix("rocksdb7-").removesuffix("-small.blob")
    places = blob.places(content)
    header, key, value, end = places[2]
    others = records[:2] + records[3:]

    def write(what, changed, left, damage):
        files.write_damaged(f"damaged/{which}-{what}.blob", name, changed, left, damage)

    for what, at, left in (("magic", 0, records), ("version", 4, records), ("key-size", header, others),
                           ("value-size", header + 8, others), ("expiration", header + 16, others),
                           ("header-checksum", header + 24, others), ("value-checksum", header + 28, others), ("key", key, others),
                           ("value", value, others), ("end-of-value", end - 1, others), ("footer", len(content) - 20, records),
                           ("footer-magic", len(content) - 32, records)):
        write(f"flip-in-{what}", flipped(content, at, 0x24), left, {"byte": at, "xor": 0x24})
    for what, size, left in (("header", 20, []), ("record-header", header + 20, records[:2]), ("key", key + 1, records[:2]),
                             ("value", value + 5, records[:2]), ("footer", len(content) - 5, records)):
        write(f"cut-in-{what}", content[:size], left, {"cut": size})
    write("deleted-in-value", content[: value + 3] + content[value + 8 :], others, {"deleted": [value + 3, 5]})
    write("deleted-over-two", content[: key + 4] + content[places[3][2] :], records[:2] + records[4:],
          {"deleted": [key + 4, places[3][2] - key - 4]})
    write("inserted-in-value", content[: value + 3] + b"insert" + content[value + 3 :], others, {"inserted": [value + 3, 6]})
    write("zeros-over-two", content[: key + 4] + bytes(places[3][2] - key - 4) + content[places[3][2] :],
          records[:2] + records[4:], {"zeros": [key + 4, places[3][2] - key - 4]})
    write("header-lost", bytes(blob.HEADER) + content[blob.HEADER :], [], {"zeros": [0, blob.HEADER]})
    write("bytes-after-footer", content + bytes(100), records, {"appended": 100})
    write("two-headers-lost", flipped(flipped(content, header, 0x24), places[3][0], 0x24), records[:2] + records[4:],
          {"bytes": [header, places[3][0]], "xor": 0x24})


def main():
    files = samples.Corpus("rocksdb_blob", "rocksdb-blob", "tests/writers/rocksdb_blob/make_samples.py")
    written = copy_of_rocksdb(files, Path(sys.argv[1]))
    files.common["producer"] = "tests/writers/rocksdb_blob/make_samples.py"
    write_generated(files)
    content, records = written["rocksdb7-zstd.blob"]
    files.write("rocksdb7-zstd-unclosed.blob", content[: -blob.FOOTER], records,
                notes="as RocksDB leaves it when it is killed before it closes the file")
    for name in ("rocksdb7-none-small.blob", "rocksdb7-zstd-small.blob"):
        write_damaged(files, name, *written[name])
    files.write_refused("negative/other-magic.blob", b"\x38\x8f\x24\0" + samples.noise(500, 1), "another magic")
    files.write_refused("negative/short.blob", b"\x37\x8f\x24", "less than a magic")
    files.write_refused("negative/text.blob", samples.words(500, 1), "text")


if __name__ == "__main__":
    main()
