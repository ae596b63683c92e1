#!/usr/bin/env python3
"""Writes tests/corpus/wandb from scratch, following the public sources of wandb and SwanLab
(core/formats/wandb/FORMAT.md)."""
import json
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import samples  # noqa: E402
from samples import field, fixed64_field, flipped, noise, number_field, words

FRAME = 32768
HEADER = 7
IDENT = 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4

WANDB = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
SWANLAB_1 = struct.pack("<4sHB", b":SWL", 0xE1D6, 1)
SWANLAB_2 = struct.pack("<4sHB", b":SWL", 0xE1D6, 2)


def fragment(kind, data):
    return struct.pack("<IHB", zlib.crc32(bytes([kind]) + data), len(data), kind) + data


class Writer:
    """`origin`: the begin of the first frame, which is the begin of the file or the end of the identifier."""

    def __init__(self, ident=WANDB, origin=0):
        self.content = bytearray(ident)
        self.origin = origin
        self.places = []  # begin of each record

    def room(self):
        return FRAME - (len(self.content) - self.origin) % FRAME

    def write(self, record):
        if self.room() < HEADER:
            self.content += bytes(self.room())
        self.places.append(len(self.content))
        is_first = True
        while True:
            piece, record = record[:self.room() - HEADER], record[self.room() - HEADER:]
            kind = (FIRST if record else FULL) if is_first else (MIDDLE if record else LAST)
            self.content += fragment(kind, piece)
            is_first = False
            if not record:
                return self


def written(records, ident=WANDB, origin=0):
    writer = Writer(ident, origin)
    for record in records:
        writer.write(record)
    return bytes(writer.content)


def places(records, origin=0):
    writer = Writer(WANDB, origin)
    for record in records:
        writer.write(record)
    return writer.places


def run_record():
    run = field(1, "g9dvvkua") + field(3, "project") + field(6, "sunny-dawn-1")
    return number_field(1, 1) + field(17, run)


def history_records(count):
    """Returns messages with the shape of wandb_internal.Record: a number, and an item of history."""
    out = [run_record()]
    for step in range(count):
        item = field(1, "loss") + field(16, json.dumps(1 / (step + 1)))
        out.append(number_field(1, step + 2) + field(2, field(1, item) + field(2, number_field(1, step))))
    return out


def swanlab_texts(count):
    """Returns records of version 1, which are JSON texts."""
    out = [json.dumps({"model_type": "Header", "data": {"backup_type": "DEFAULT"}}).encode()]
    for step in range(count):
        data = {"key": "损失", "metric": {"index": step, "data": 1 / (step + 1)}, "epoch": step}
        out.append(json.dumps({"model_type": "Scalar", "data": data}, ensure_ascii=False).encode())
    return out


def swanlab_messages(count):
    """Returns messages swanlab.record.v1.Record: the start, and scalars."""
    out = [number_field(1, (1 << 64) - 1) + field(10, field(1, "project"))]
    for step in range(count):
        time = field(4, number_field(1, 1780000000 + step) + number_field(2, 500000000))
        value = field(5, fixed64_field(1, 1 / (step + 1)))
        scalar = field(1, "loss") + number_field(2, step) + number_field(3, 1) + time + value
        out.append(number_field(1, step + 1) + field(13, scalar))
    return out


def long_records():
    return [b"before", words(100000, 1), b"between", words(40000, 2), words(20, 3), b"behind"]


def edge_records(room):
    """The second record begins `room` bytes before the end of the first frame."""
    return [words(FRAME - IDENT - HEADER - room, 5), b"at the edge" * 3, b"behind"]


def write_good(corpus):
    corpus.write("empty.wandb", b"", [])
    corpus.write("no-records.wandb", WANDB, [])
    history = history_records(1000)
    corpus.write("run-g9dvvkua.wandb", written(history), history)
    corpus.write("before-first-block.wandb", written(long_records(), origin=IDENT), long_records(),
                 notes="as wandb's core wrote until 0.17.5: the ident is no part of the first block")
    corpus.write("long-records.wandb", written(long_records()), long_records())
    corpus.write("history-before-first-block.wandb", written(history_records(1200), origin=IDENT), history_records(1200))
    corpus.write("swanlab-1.swanlab", written(swanlab_texts(400), SWANLAB_1), swanlab_texts(400))
    corpus.write("swanlab-2.swanlab", written(swanlab_messages(400), SWANLAB_2), swanlab_messages(400))
    for room in (0, 1, 6, 7, 8, 12):
        inside = edge_records(room)
        corpus.write(f"edge-{room:02}.wandb", written(inside), inside)
        if room < 9:
            before = [inside[0] + bytes(IDENT), *inside[1:]]
            corpus.write(f"edge-{room:02}-before-first-block.wandb", written(before, origin=IDENT), before)
    empty = [b"", b"a", b"", b""]
    corpus.write("empty-records.wandb", written(empty), empty)


def write_real(corpus):
    """A file that wandb wrote (core/formats/wandb/FORMAT.md, "Samples")."""
    content = (corpus.folder / "real/offline-2021.wandb").read_bytes()
    records = []
    at = IDENT
    while at < len(content):  # one frame, whose records are in one fragment each
        checksum, size, kind = struct.unpack_from("<IHB", content, at)
        record = content[at + HEADER:at + HEADER + size]
        assert kind == FULL and checksum == zlib.crc32(bytes([kind]) + record)
        records.append(record)
        at += HEADER + size
    corpus.write("real/offline-2021.wandb", content, records, producer="wandb 0.10.20")


def write_damaged(corpus):
    records = history_records(1000)
    content = written(records)
    begin = places(records)[50]
    left = records[:50] + records[51:]
    name = "run-g9dvvkua.wandb"
    for what, at in (("checksum", begin + 1), ("length", begin + 4), ("type", begin + 6), ("data", begin + 15)):
        corpus.write_damaged(f"damaged/{what}-flip.wandb", name, flipped(content, at, 0x08), left, {"byte": at, "xor": 8})
    corpus.write_damaged("damaged/ident-flip.wandb", name, flipped(content, 1), records, {"byte": 1, "xor": 16})
    for what, size in (("data", begin + 15), ("header", begin + 3)):
        corpus.write_damaged(f"damaged/cut-in-{what}.wandb", name, content[:size], records[:50], {"cut": size})
    corpus.write_damaged("damaged/cut-in-ident.wandb", name, content[:5], [], {"cut": 5})
    zeroed = content[:FRAME] + bytes(len(content) - FRAME)
    whole = [i for i, place in enumerate(places(records)) if place < FRAME][:-1]
    corpus.write_damaged("damaged/zeros-from-second-block.wandb", name, zeroed, [records[i] for i in whole],
                         {"zeroed": [FRAME, len(content)]})
    long = long_records()
    for origin, suffix, source in ((0, "", "long-records.wandb"), (IDENT, "-before-first-block", "before-first-block.wandb")):
        at = origin + 2 * FRAME + 100
        corpus.write_damaged(f"damaged/middle-flip{suffix}.wandb", source, flipped(written(long, origin=origin), at),
                             [long[0], *long[2:]], {"byte": at, "xor": 16})
        cut = origin + 2 * FRAME + 100
        corpus.write_damaged(f"damaged/cut-in-middle{suffix}.wandb", source, written(long, origin=origin)[:cut],
                             long[:1], {"cut": cut})


def write_refused(corpus):
    corpus.write_refused("negative/other-number.wandb", b":W&B\x00\x00\x00" + noise(3000, 1), "the number is another one")
    corpus.write_refused("negative/name-alone.wandb", b":W&", "less than a name")
    corpus.write_refused("negative/text.swanlab", words(5000, 2), "text")


def main():
    corpus = samples.Corpus("wandb", "wandb", "tests/writers/wandb/make_samples.py")
    write_good(corpus)
    write_real(corpus)
    write_damaged(corpus)
    write_refused(corpus)


if __name__ == "__main__":
    main()
