#!/usr/bin/env python3
"""Packs sample databases as inputs of the fuzz target `database` (tests/fuzz/database_target.cc).

    pack.py tests/corpus/database
"""
import re
import sys
from pathlib import Path

KINDS = ["CURRENT", "MANIFEST-", ".ldb", ".sst", ".log", ".blob"]
PACKED = ["leveldb-levels", "leveldb-log-only", "rocksdb7-blobs", "rocksdb7-families", "rocksdb7-partitioned",
          "rocksdb7-range-deletions", "rocksdb7-transactions"]


def name_byte(name):
    """Returns the byte for a file name; None for a file that is no part of an input."""
    number = int((re.findall(r"\d+", name) or ["0"])[0])
    for kind, part in enumerate(KINDS):
        if part in name and number < 32:
            return kind * 32 + number
    return None


def pack(folder):
    parts = []
    for path in sorted(folder.iterdir()):
        byte = name_byte(path.name)
        if byte is not None:
            content = path.read_bytes()
            parts.append(bytes([byte]) + len(content).to_bytes(3, "little") + content)
    return b"".join(parts)


if __name__ == "__main__":
    corpus = Path(sys.argv[1])
    (corpus / "archives").mkdir(exist_ok=True)
    for name in PACKED:
        (corpus / "archives" / name).write_bytes(pack(corpus / name))
