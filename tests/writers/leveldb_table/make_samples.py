#!/usr/bin/env python3
"""Writes the samples of tests/corpus/leveldb_table, except those of RocksDB: make_samples.py FOLDER. Needs zstd, and
plyvel for LevelDB's own tables.

The tables whose names begin with leveldb- are written by libleveldb, and only read here; all others are written by
table.py. Those that begin with rocksdb7- are written by write_rocksdb.cc.
"""
import hashlib
import json
import random
import shutil
import struct
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import plyvel

import rocksdb
import table
from table import DELETE, Table, internal

SEQUENCES = 1000


class Corpus:
    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "damaged").mkdir(parents=True, exist_ok=True)

    def write(self, name, data, records, producer, **more):
        digest = hashlib.sha256()
        for one in records:
            digest.update(struct.pack("<Q", len(one)) + one)
        picked = sorted({0, len(records) // 2, len(records) - 1} & set(range(len(records))))
        want = {
            "file": Path(name).name, "format": "leveldb-table", "producer": producer, "file_size": len(data),
            "num_records": len(records), "stream_sha256": digest.hexdigest(),
            "sample": [{"ordinal": i, "size": len(records[i]), "sha256": hashlib.sha256(records[i]).hexdigest()}
                       for i in picked],
            "damaged": False,
        }
        want.update(more)
        (self.folder / name).write_bytes(data)
        (self.folder / f"{name}.expect.json").write_text(json.dumps(want, separators=(",", ":")) + "\n")

    def sound(self, name, data, producer, **more):
        blocks = table.data_blocks(data)
        records = [table.record(*entry) for _, _, entries in blocks for entry in entries]
        chunks = [{"begin": begin, "end": end} for begin, end, _ in blocks]
        self.write(name, data, records, producer, data_blocks=chunks, **more)

    def damaged(self, name, data, records, source, notes):
        self.write(f"damaged/{name}", data, records, "table.py, then damaged", damaged=True, source=source, notes=notes)


def written_by_leveldb(puts, deletes=(), compact=False, **options):
    """Returns the bytes of the only table that a database has after these changes."""
    folder = tempfile.mkdtemp()
    try:
        with closing(plyvel.DB(folder, create_if_missing=True, **options)) as database:
            for key, value in puts:
                database.put(key, value)
            for key in deletes:
                database.delete(key)
            if compact:
                database.compact_range()
        if not compact:
            plyvel.DB(folder, **options).close()  # opening the database converts its log to a table
        (only,) = Path(folder).glob("*.ldb")
        data = only.read_bytes()
        blocks = table.data_blocks(data)
        with closing(plyvel.DB(folder, **options)) as database:
            check_against(database, blocks)
        return data
    finally:
        shutil.rmtree(folder)


def check_against(database, blocks):
    """Checks that LevelDB and table.py read the same from a table."""
    seen = {}
    for _, _, entries in blocks:
        for key, value in entries:
            tag = struct.unpack("<Q", key[-8:])[0]
            seen.setdefault(key[:-8], (tag & 0xFF, value))  # the newest is first
    live = [(key, value) for key, (kind, value) in seen.items() if kind == table.PUT]
    assert list(database) == live


def leveldb_samples(corpus):
    random.seed(1)
    lines = [(b"key%05d" % i, b"value of %d " % i * 5) for i in range(300)]
    gone = [b"key%05d" % i for i in range(0, 300, 7)]
    noise = [(b"large%d" % i, random.randbytes(20000)) for i in range(3)]
    prefixes = [(b"p" * i, b"%d" % i) for i in range(0, 200, 3)] + [(b"", b"of the empty key"), (b"q", b"")]
    versions = [(b"counter", b"%d" % i) for i in range(50)]
    wide = dict(compression=None, block_size=1024)
    producer = "libleveldb 1.23 through plyvel 1.5"
    for name, data in {
        "leveldb-deletes": written_by_leveldb(lines, gone, bloom_filter_bits=10, **wide),
        "leveldb-snappy": written_by_leveldb(lines, compression="snappy"),
        "leveldb-compacted": written_by_leveldb(lines * 2, compact=True, compression="snappy", block_size=512),
        "leveldb-large-values": written_by_leveldb(noise, compression="snappy"),
        "leveldb-prefixes": written_by_leveldb(prefixes, **wide),
        "leveldb-versions": written_by_leveldb(versions, [b"counter"], compression=None),
        "leveldb-restarts": written_by_leveldb(lines[:40], compression=None, block_restart_interval=1),
    }.items():
        corpus.sound(f"{name}.ldb", data, producer)


def some_entries(count, first=0):
    for i in range(first, first + count):
        kind = DELETE if i % 5 == 4 else table.PUT
        yield internal(b"entry/%04d" % i, SEQUENCES + i, kind), b"" if kind == DELETE else b"<%d>" % i * (1 + i % 9)


def in_blocks(packing="none", blocks=6, per_block=9, has_filter=True, interval=4):
    made = Table(packing, interval)
    spans = [made.add(list(some_entries(per_block, n * per_block))) for n in range(blocks)]
    if has_filter:
        made.add_filter()
    return made, spans


def own_samples(corpus):
    producer = "tests/writers/leveldb_table"
    for packing in table.PACKERS:
        corpus.sound(f"{packing}.ldb", in_blocks(packing)[0].finish(), producer)
    mixed = Table()
    for n, packing in enumerate(table.PACKERS):
        mixed.add(list(some_entries(12, n * 12)), packing)
    corpus.sound("mixed.ldb", mixed.finish(), producer)
    corpus.sound("empty.ldb", Table().finish(), producer)
    one = Table()
    one.add([(internal(b"", 1), b"")])
    corpus.sound("one-empty-entry.ldb", one.finish(), producer)
    short = Table()
    for n in range(3):
        short.add([(b"k%d%d" % (n, i), b"v%d" % i) for i in range(10)])
    corpus.sound("short-keys.sst", short.finish(), producer, notes="keys of somebody's own, not a database's")
    numbers = Table("snappy")
    for n in range(3):
        numbers.add([(struct.pack(">Q", n * 10 + i), b"v%d" % i) for i in range(10)])
    corpus.sound("number-keys.sst", numbers.finish(), producer, notes="8 bytes of key: as long as a database's tag")
    unordered = Table()
    unordered.add([(internal(b"zebra", 3), b"z"), (internal(b"ant", 9), b"a"), (internal(b"zebra", 4), b"y")])
    corpus.sound("unordered.ldb", unordered.finish(), producer)


def flipped(data, at, bit=1):
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def damaged_samples(corpus):
    made, spans = in_blocks()
    whole = made.finish()
    source = "none.ldb"
    blocks = table.data_blocks(whole)
    records = [[table.record(*entry) for entry in entries] for _, _, entries in blocks]

    def without(*lost):
        return [one for n, block in enumerate(records) if n not in lost for one in block]

    def add(name, data, kept, notes):
        corpus.damaged(f"{name}.ldb", data, kept, source, notes)

    add("flip-in-data", flipped(whole, spans[2][0] + 20), without(2), "one bit of the third data block")
    add("flip-in-type", flipped(whole, spans[3][1] - 5), without(3), "the number of a block's compression")
    add("flip-in-checksum", flipped(whole, spans[3][1] - 1), without(3), "one bit of a block's checksum")
    add("flip-in-filter", flipped(whole, made.places["filter"][0]), without(), "one bit of the filter block")
    add("flip-in-metaindex", flipped(whole, made.places["metaindex"][0] + 4), without(), "one bit of the meta index")
    add("flip-in-index", flipped(whole, made.places["index"][0] + 30), without(), "one bit of the index")
    add("flip-in-magic", flipped(whole, len(whole) - 3), without(), "one bit of the magic")
    add("flip-in-footer", flipped(whole, len(whole) - 46), without(), "one bit of the index's place")
    add("cut-in-data", whole[: spans[4][0] + 30], without(4, 5), "cut off in the fifth data block")
    add("cut-behind-data", whole[: spans[4][1]], without(5), "cut off right behind the fifth data block")
    add("cut-in-index", whole[: made.places["index"][0] + 30], without(), "cut off in the index")
    add("cut-in-footer", whole[:-1], without(), "the last byte is missing")
    add("zeros-in-data", whole[: spans[1][0]] + bytes(spans[1][1] - spans[1][0]) + whole[spans[1][1] :], without(1),
        "a data block of zeros")
    both = flipped(flipped(whole, spans[2][0] + 20), made.places["index"][0] + 30)
    add("flip-in-data-and-index", both, without(2), "one bit of the third data block, and one of the index")
    snappy = in_blocks("snappy")[0].finish()
    corpus.damaged("snappy-cut.ldb", snappy[: len(snappy) // 2],
                   records_in(snappy, len(snappy) // 2), "snappy.ldb", "cut off in the middle")
    hostile_samples(corpus)


def records_in(whole, size):
    return [table.record(*entry) for _, end, entries in table.data_blocks(whole) if end <= size for entry in entries]


def hostile_samples(corpus):
    good = list(some_entries(8))
    kept = [table.record(*entry) for entry in good]

    def entry(shared, key, value, size=None):
        size = len(value) if size is None else size
        return table.varint(shared) + table.varint(len(key)) + table.varint(size) + key + value

    def end(*restarts):
        return b"".join(struct.pack("<I", at) for at in restarts) + struct.pack("<I", len(restarts))

    def write(name, content, records, notes, packing="none"):
        made = Table()
        made.add(good)
        place, _ = made.add_raw(content, packing)
        made.index.append((internal(b"zz", 1), place))
        made.add([(internal(b"zzz", 7), b"last")])
        last = [table.record(internal(b"zzz", 7), b"last")]
        corpus.damaged(f"{name}.ldb", made.finish(), kept + records + last, "", notes)

    first = entry(0, internal(b"x", 1), b"1")
    one = [table.record(internal(b"x", 1), b"1")]
    two = [table.record(internal(b"y", 2), b"2")]
    write("shares-too-much", first + entry(10, b"y", b"2") + end(0), one,
          "an entry shares more than the key before has")
    restart = first + entry(10, b"y", b"2")
    write("goes-on-at-restart", restart + entry(0, internal(b"y", 2), b"2") + end(0, len(restart)),
          one + two, "behind a bad entry stands a restart point")
    write("value-too-long", first + entry(0, internal(b"y", 2), b"2", 1 << 30) + end(0), one,
          "a value leaves the block")
    write("entry-torn", first + b"\x00" + end(0), one, "an entry ends in its head")
    write("restarts-too-many", first + struct.pack("<I", 1 << 30), [], "more restart points than bytes")
    write("no-restarts", b"\x01", [], "a block of one byte")
    write("unknown-compression", first + end(0), [], "a compression that nobody knows", (77, bytes))
    write("not-compressed", first + end(0), [], "no snappy although the block says so", (table.SNAPPY, bytes))
    write("no-lengths", b"\xff" * 20 + end(0), [], "lengths that are no numbers")
    index_samples(corpus, good, kept)


def index_samples(corpus, good, kept):
    overlapping = Table()
    begin, end = overlapping.add(good)
    overlapping.index.append((internal(b"zz", 1), table.varint(begin + 10) + table.varint(end - begin - 20)))
    corpus.damaged("index-overlaps.ldb", overlapping.finish(), kept, "", "the index has a block inside another one")
    beyond = Table()
    beyond.add(good)
    beyond.index.append((internal(b"zz", 1), table.varint(1 << 40) + table.varint(100)))
    corpus.damaged("index-beyond.ldb", beyond.finish(), kept, "", "the index has a block behind the end")
    twice = Table()
    twice.add(good)
    twice.index.append(twice.index[0])
    corpus.damaged("index-twice.ldb", twice.finish(), kept, "", "the index has a block twice")
    forgotten = Table()
    forgotten.add(good)
    forgotten.add(list(some_entries(8, 8)))
    del forgotten.index[0]
    corpus.damaged("index-forgets.ldb", forgotten.finish(), [table.record(*one) for one in some_entries(16)], "",
                   "the index lacks the first block")


def rocksdb_samples(corpus):
    producer = "tests/writers/leveldb_table"

    def write(name, align=0, range_deletions=(), **how):
        made = rocksdb.RocksTable(**how)
        for n in range(6):
            made.add(list(some_entries(9, n * 9)), align)
        if range_deletions:
            made.add_range_deletions(range_deletions)
        entries = list(some_entries(54)) + list(range_deletions)
        corpus.write(f"{name}.sst", made.finish(), [table.record(*entry) for entry in entries], producer)
        return made

    for packing in rocksdb.PACKERS:
        write(f"rocksdb-{packing}", packing=packing)
    write("rocksdb-version-2", version=2, is_delta_encoded=False, packing="zstd")
    write("rocksdb-two-levels", levels=2)
    write("rocksdb-aligned", align=512, is_delta_encoded=False)
    write("rocksdb-range-deletions", range_deletions=[(internal(b"entry/0003", 2000, 15), b"entry/0009")])
    context = rocksdb.RocksTable("snappy", version=6, context=0x12345678)
    context.add(list(some_entries(9)))
    corpus.write("rocksdb-version-6.sst", context.finish(), [table.record(*one) for one in some_entries(9)], producer,
                 end_tells=True)
    made = rocksdb.RocksTable()
    made.add(list(some_entries(9)))
    whole = made.finish()
    unknown = rocksdb.RocksTable(checksum=rocksdb.XXH3)
    unknown.add(list(some_entries(9)))
    corpus.damaged("rocksdb-xxh3.sst", unknown.finish(), [], "", "blocks whose checksums are not the XXH3 that the footer says")
    corpus.damaged("rocksdb-flip-in-metaindex.sst", flipped(whole, len(whole) - 60),
                   [table.record(*entry) for entry in some_entries(9)], "", "one bit of the meta index")


if __name__ == "__main__":
    made = Corpus(sys.argv[1])
    leveldb_samples(made)
    own_samples(made)
    rocksdb_samples(made)
    damaged_samples(made)
