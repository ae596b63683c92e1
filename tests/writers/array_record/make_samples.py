#!/usr/bin/env python3
"""Writes tests/corpus/array_record: ArrayRecord files, following google/array_record's layout.proto and writer.

Needs zstd, and the samples of Riegeli in tests/corpus/riegeli, from which it takes transposed chunks."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import riegeli
import samples
from samples import field, flipped, number_field

MAGIC = 0x71930E704FDAE05E
PRODUCER = "tests/writers/array_record"


def postscript(footer):
    return number_field(1, footer) + number_field(2, MAGIC)


class File:
    """Builds a file chunk by chunk; finish() returns it."""

    def __init__(self, options, padded=False, packing="uncompressed"):
        self.writer = riegeli.Writer()
        self.options, self.padded, self.packing = options, padded, packing
        self.index = []
        self.records = []
        self.spans = {}

    def add(self, records, packing=None):
        self.add_chunk(riegeli.simple(records, packing or self.packing), records)

    def add_chunk(self, chunk, records):
        begin = self.writer.add(*chunk)
        self.spans[len(self.index)] = (begin, len(self.writer.out))
        self.index.append((begin, chunk[2], chunk[1]))
        self.records.append(list(records))
        if self.padded:
            self.writer.pad()

    def footer(self, version=1, index=None, chunks=None):
        index = self.index if index is None else index
        head = number_field(1, version) + number_field(2, len(index) if chunks is None else chunks)
        head += number_field(3, sum(records for _, _, records in index)) + field(4, self.options)
        entries = [number_field(1, at) + number_field(2, size) + number_field(3, n) for at, size, n in index]
        return [field(1, head)] + entries

    def finish(self, footer=None):
        place = self.writer.add(*riegeli.simple(footer or self.footer(), self.packing))
        self.spans["footer"] = (place, len(self.writer.out))
        self.writer.pad()
        begin = self.writer.add(*riegeli.simple([postscript(place)] * 3))
        self.spans["postscript"] = (begin, len(self.writer.out))
        self.writer.pad()
        return bytes(self.writer.out)

    def all_records(self, *lost):
        return [record for n, records in enumerate(self.records) if n not in lost for record in records]


def options(group, packing, padded=False, transposed=False):
    words = {"zstd": "zstd:3,window_log:20", "brotli": "brotli:6"}.get(packing, packing)
    flag = {True: "true", False: "false"}
    text = f"group_size:{group},transpose:{flag[transposed]},pad_to_block_boundary:{flag[padded]}"
    return text + (",transpose_bucket_size:256" if transposed else "") + f",{words},max_parallelism:1"


def text_records(count, seed=1):
    return [samples.words(20 + 7 * (i % 11), seed * 1000 + i) + b"%d" % i for i in range(count)]


def grouped(records, group, packing="uncompressed", padded=False):
    made = File(options(group, packing, padded), padded, packing)
    for at in range(0, len(records), group):
        made.add(records[at : at + group])
    return made


def example(i):
    def feature(kind, content):
        return field(kind, content)

    features = [("id", feature(3, field(1, riegeli.varint(i)))),
                ("image/encoded", feature(1, field(1, b"\xff\xd8" + b"%d" % i)))]
    return field(1, b"".join(field(1, field(1, key) + field(2, value)) for key, value in features))


def riegeli_sample(name):
    """Returns the chunks of a sample by Riegeli's own writer, by type."""
    found = {}
    data = (samples.CORPUS / "riegeli" / name).read_bytes()
    for _, chunk in riegeli.chunks(data):
        found.setdefault(chunk[0], []).append(chunk)
    return found


def good(corpus):
    def write(name, made, **more):
        corpus.write(f"{name}.array_record", made.finish(), made.all_records(), **more)

    write("group-1", grouped(text_records(200), 1))
    write("group-1-zstd", grouped(text_records(40), 1, "zstd"))
    for packing in ("uncompressed", "zstd", "brotli", "snappy"):
        write(f"group-10-{packing}", grouped(text_records(95), 10, packing))
    write("padded", grouped(text_records(12), 6, padded=True))
    write("empty", grouped([], 1))
    write("empty-records", grouped([b""] * 9, 4))
    write("large", grouped([samples.noise(50000, i) for i in range(5)], 2))
    write("two-blocks", grouped([samples.noise(5000, i) for i in range(20)], 4))
    write("examples", grouped([example(i) for i in range(20)], 5, "zstd"))


class Transposed(samples.Corpus):
    """The chunks of a writer, with records known from the expectation of its own sample."""

    def add(self, name, source, with_metadata=None):
        want = json.loads((samples.CORPUS / "riegeli" / f"{source}.expect.json").read_text())
        made = File(options(1, "uncompressed", transposed=True))
        if with_metadata:
            made.writer.add(*riegeli_sample(with_metadata)[b"m"][0])
        for chunk in riegeli_sample(source).get(b"t", []):
            made.add_chunk(chunk, [])
        self._write(f"{name}.array_record", made.finish(), dict(
            self.common, num_records=want["num_records"], stream_sha256=want["stream_sha256"], damaged=False,
            sample=[], notes=f"the chunks of riegeli/{source}"))


def damaged(corpus):
    made = grouped(text_records(60), 5)
    whole = made.finish()
    source = "sound.array_record"
    corpus.write(source, whole, made.all_records())
    spans = made.spans
    footer, post = spans["footer"], spans["postscript"]

    def write(name, content, lost, damage):
        corpus.write_damaged(f"damaged/{name}.array_record", source, content, made.all_records(*lost), damage)

    write("flip-in-chunk-header", flipped(whole, spans[4][0] + 9), [4], "one bit of a chunk's header")
    write("flip-in-chunk-data", flipped(whole, spans[4][1] - 3), [4], "one bit of a chunk's data")
    write("flip-in-signature", flipped(whole, 3), [], "one bit of the signature")
    write("flip-in-footer-header", flipped(whole, footer[0] + 3), [], "one bit of the header of the footer")
    write("flip-in-footer-data", flipped(whole, footer[1] - 3), [], "one bit of the footer")
    write("flip-in-postscript-header", flipped(whole, post[0] + riegeli.BLOCK_HEADER + 3), [], "one bit of its header")
    write("flip-in-postscript", flipped(whole, post[1] - 34), [], "one bit of the first copy of the postscript")
    write("no-postscript", whole[: post[0]], [], "cut off before the postscript")
    write("cut-in-postscript", whole[: post[0] + 80], [], "cut off in the postscript")
    write("cut-in-padding", whole[: footer[1] + 100], [], "cut off behind the footer")
    write("cut-in-footer", whole[: footer[1] - 10], [], "cut off in the footer")
    write("cut-in-chunk", whole[: spans[6][0] + 60], range(6, 12), "cut off in a chunk")
    write("bytes-behind", whole + samples.noise(100, 9), [], "100 bytes behind the end")
    write("zeros-in-postscript", whole[: post[0]] + bytes(riegeli.BLOCK), [], "zeros in place of the postscript")
    hole = whole[: spans[2][0] + 5] + b"\xAA" * (spans[5][0] - spans[2][0]) + whole[spans[5][0] + 5 :]
    write("hole", hole, range(2, 6), "four chunk headers overwritten")
    hostile(corpus)


def hostile(corpus):
    def write(name, change, damage, records=None, **more):
        made = grouped(text_records(20), 5)
        content = made.finish(change(made))
        corpus.write(f"damaged/{name}.array_record", content, made.all_records() if records is None else records,
                     damaged=True, damage=damage, **more)

    write("unknown-version", lambda made: made.footer(version=2), "a version that nobody knows")
    write("wrong-count", lambda made: made.footer(chunks=9), "another number of chunks than there are")
    write("index-backwards", lambda made: made.footer(index=made.index[::-1]), "the index goes backwards")
    write("index-beyond", lambda made: made.footer(index=made.index + [(1 << 40, 1, 1)]), "a chunk far behind")
    write("index-forgets", lambda made: made.footer(index=made.index[:1] + made.index[2:]),
          "the index lacks a chunk")


if __name__ == "__main__":
    made_corpus = samples.Corpus("array_record", "array-record", PRODUCER)
    good(made_corpus)
    damaged(made_corpus)
    transposed = Transposed("array_record", "array-record", PRODUCER + ", with chunks of Riegeli's writer")
    transposed.add("transposed", "transposed_one_chunk.riegeli")
    transposed.add("transposed-with-metadata", "transposed_regular.riegeli", "metadata_full_transposed.riegeli")
