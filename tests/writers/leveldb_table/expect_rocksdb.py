#!/usr/bin/env python3
"""Writes the expectations of the tables that write_rocksdb.cc made, from the output of RocksDB's own sst_dump:
expect_rocksdb.py FOLDER. Needs Debian's rocksdb-tools.
"""
import hashlib
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from table import record

SCANNED = re.compile(r"'([0-9A-F]*)' seq:(\d+), type:(\d+) => ([0-9A-F]*)")
DELETED = re.compile(r"^  HEX    ([0-9A-F]+): ([0-9A-F]+)$", re.MULTILINE)
DELETE_RANGE = 15
# Missing in sst_dump's output; counted in write_rocksdb.cc.
SEQUENCES_OF_RANGES = {"rocksdb7-range-deletions.sst": [64, 65]}


def dump(path, command, folder):
    what = ["sst_dump", f"--file={path}", f"--command={command}", "--output_hex", "--verify_checksum"]
    return subprocess.run(what, cwd=folder, check=True, capture_output=True, text=True).stdout


def internal(key, sequence, kind):
    return bytes.fromhex(key) + struct.pack("<Q", int(sequence) << 8 | int(kind))


def records_of(path):
    with tempfile.TemporaryDirectory() as folder:
        records = [record(internal(*found[:3]), bytes.fromhex(found[3]))
                   for found in SCANNED.findall(dump(path, "scan", folder))]
        dump(path, "raw", folder)
        raw = Path(folder, path.name).with_name(f"{path.stem}_dump.txt")
        text = raw.read_text() if raw.exists() else path.with_name(raw.name).read_text()
        path.with_name(raw.name).unlink(missing_ok=True)
    if "Range deletions:\n" not in text:
        return records
    ranges = DELETED.findall(text.split("Range deletions:\n")[1].split("\nData Block")[0])
    sequences = SEQUENCES_OF_RANGES[path.name]
    assert len(ranges) == len(sequences)
    return records + [record(internal(begin, sequence, DELETE_RANGE), bytes.fromhex(end))
                      for (begin, end), sequence in zip(ranges, sequences)]


def expect(path):
    records = records_of(path)
    digest = hashlib.sha256(b"".join(struct.pack("<Q", len(one)) + one for one in records))
    want = {
        "file": path.name, "format": "leveldb-table", "producer": "RocksDB 7.8.3", "file_size": path.stat().st_size,
        "num_records": len(records), "stream_sha256": digest.hexdigest(),
        "sample": [{"ordinal": i, "size": len(records[i]), "sha256": hashlib.sha256(records[i]).hexdigest()}
                   for i in (0, len(records) // 2, len(records) - 1)],
        "damaged": False,
    }
    # Without the indexes, blocks can only be found by their CRC-32C, and not in files of RocksDB's format version 1.
    # RocksDB's 1.
    if path.stem not in ("rocksdb7-lz4hc", "rocksdb7-version-2-filter-in-parts"):
        want["end_tells"] = True
    path.with_name(f"{path.name}.expect.json").write_text(json.dumps(want, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    for table in sorted(Path(sys.argv[1]).resolve().glob("rocksdb7-*.sst")):
        expect(table)
