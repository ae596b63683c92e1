"""Shared code of the programs that write samples into tests/corpus: checksums, protobuf's wire format, and the
expectations. Standard library only; deterministic."""
import hashlib
import json
import random
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "corpus"

_CRC32C = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _CRC32C.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, content):
    """Returns a length-delimited field."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number, value):
    return varint(number << 3) + varint(value)


def fixed32_field(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def fixed64_field(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def noise(size, seed):
    return random.Random(seed).randbytes(size)


def words(size, seed):
    """Returns compressible text."""
    picks = random.Random(seed)
    text = b""
    while len(text) < size:
        text += picks.choice([b"alpha ", b"beta ", b"gamma ", b"delta ", b"epsilon "])
    return text[:size]


class Corpus:
    """A folder of samples."""

    def __init__(self, folder, format_name, producer):
        self.folder = CORPUS / folder
        self.common = {"format": format_name, "producer": producer}

    def write(self, name, content, records, **more):
        """Writes a file, and the records that it has to give."""
        digest = hashlib.sha256()
        for record in records:
            digest.update(struct.pack("<Q", len(record)) + record)
        picked = sorted({0, len(records) // 2, len(records) - 1} & set(range(len(records))))
        sample = [{"ordinal": i, "size": len(records[i]), "sha256": hashlib.sha256(records[i]).hexdigest()}
                  for i in picked]
        want = {**self.common, "num_records": len(records), "stream_sha256": digest.hexdigest(), "sample": sample, **more}
        want.setdefault("damaged", False)
        self._write(name, content, want)

    def write_damaged(self, name, source, content, records, damage, **more):
        """Writes a file made from the sample `source`, and the records that are left. `damage` describes the change."""
        self.write(name, content, records, damaged=True, damage=damage, source=source, **more)

    def write_refused(self, name, content, why):
        """Writes a file that is not of the format."""
        self._write(name, content, {"format": "not-a-" + self.common["format"], "damaged": True, "notes": why})

    def _write(self, name, content, want):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        want = dict(want, file=path.name, file_size=len(content), file_sha256=hashlib.sha256(content).hexdigest())
        (path.parent / (path.name + ".expect.json")).write_text(json.dumps(want, sort_keys=True) + "\n")


def flipped(content, at, mask=0x10):
    changed = bytearray(content)
    changed[at] ^= mask
    return bytes(changed)
