#!/usr/bin/env python3
"""The content of Avro records. Avro's own readers find the same in the samples: its Python package, and avrocat of its C
library. Those are skipped without them."""
import base64
import json
import shutil
import subprocess
import unittest
from pathlib import Path

import commands

PYTHON = "/usr/bin/python3"  # Debian's packages are for it
HAS_PYTHON = Path(PYTHON).exists() and subprocess.run([PYTHON, "-c", "import avro, snappy, zstandard"], stderr=subprocess.DEVNULL,
                                                      check=False).returncode == 0
# Prints for each record its bytes, and its content as recordfs shows it, with {"bytes": base64} for bytes.
READ = r"""
import base64, datetime, decimal, io, json, sys
import avro.datafile, avro.io

def shown(schema, datum):
    kind = schema.type
    if kind in ("union", "error_union"):
        return next(shown(one, datum) for one in schema.schemas if one.validate(datum) is not None)
    if kind in ("record", "error"):
        return {field.name: shown(field.type, datum[field.name]) for field in schema.fields}
    if kind == "array":
        return [shown(schema.items, item) for item in datum]
    if kind == "map":
        return {key: shown(schema.values, value) for key, value in datum.items()}
    if isinstance(datum, decimal.Decimal):
        return format(datum, "f")
    if isinstance(datum, datetime.datetime):
        return datum.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(datum, datetime.date):
        return datum.isoformat()
    return {"bytes": base64.b64encode(datum).decode()} if isinstance(datum, bytes) else datum

with avro.datafile.DataFileReader(open(sys.argv[1], "rb"), avro.io.DatumReader()) as reader:
    schema = reader.datum_reader.writers_schema
    for datum in reader:
        out = io.BytesIO()
        avro.io.DatumWriter(schema).write(datum, avro.io.BinaryEncoder(out))
        print(json.dumps([base64.b64encode(out.getvalue()).decode(), shown(schema, datum)]))
"""
# The package does not read these: schemas that it refuses, strings that are not UTF-8, codecs and forms that it lacks.
NOT_BY_PYTHON = {"users-xz", "xz-without-checksum", "snappy-without-checksum", "strings", "map-keys", "many-nulls", "exponential", "logical", "recursive",
                 "no-schema", "schema-not-json", "schema-of-unknown-type", "schema-undefined", "unions", "empty", "negative-counts",
                 "namespaces", "bzip2-two-streams"}


def comparable(theirs, ours):
    """Returns our content in the form of theirs, where bytes may be text or base64."""
    if isinstance(theirs, dict) and set(theirs) == {"bytes"}:
        return {"bytes": base64.b64encode(ours.encode()).decode()} if isinstance(ours, str) else ours
    if isinstance(theirs, dict) and isinstance(ours, dict):
        plain = {}
        for key, value in ours.items():
            name = key.removesuffix("_base64")
            plain[name] = {"bytes": value} if name != key and name in theirs else comparable(theirs.get(key), value)
        return plain
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [comparable(*both) for both in zip(theirs, ours)]
    return ours


def zigzag(number):
    rest, out = number << 1 if number >= 0 else ~number << 1 | 1, b""
    while rest >= 128:
        rest, out = rest >> 7, out + bytes([rest & 127 | 128])
    return out + bytes([rest])


def sized(content):
    return zigzag(len(content)) + content


class Values(commands.Case):
    def decoded(self, schema, record):
        """Returns the decoded form of a file with one record, which must not repeat a name."""
        def without_repetition(members):
            self.assertEqual(len(dict(members)), len(members), members)
            return dict(members)
        path = self.folder / "one.avro"
        header = b"Obj\x01" + zigzag(1) + sized(b"avro.schema") + sized(json.dumps(schema).encode()) + zigzag(0) + bytes(16)
        path.write_bytes(header + zigzag(1) + sized(record) + bytes(16))
        return json.loads(self.good("cat", "--json", path), object_pairs_hook=without_repetition)["decoded"]

    def test_bytes_do_not_get_the_name_of_another_field(self):
        fields = [{"name": "k", "type": "bytes"}, {"name": "k_base64", "type": "string"}]
        self.assertEqual(self.decoded({"type": "record", "name": "R", "fields": fields}, sized(b"\xff") + sized(b"text")),
                         {"k": {"base64": "/w=="}, "k_base64": "text"})
        self.assertEqual(self.decoded({"type": "map", "values": "bytes"}, zigzag(2) + sized(b"k") + sized(b"\xff") + sized(b"k_base64") + sized(b"text") + zigzag(0)),
                         {"k": {"base64": "/w=="}, "k_base64": "text"})

    def test_invalid_logical_types_are_ignored(self):
        for name in ("timestamp-foo-millis", "timestamp-", "timestamp-seconds", "local-timestamp"):
            self.assertEqual(self.decoded({"type": "long", "logicalType": name}, zigzag(5)), 5, name)
        for more in ({}, {"precision": 0}, {"precision": 2, "scale": 3}, {"precision": 2, "scale": -1}, {"scale": 1}):
            self.assertEqual(self.decoded({"type": "bytes", "logicalType": "decimal", **more}, sized(b"a")), "a", more)
        self.assertEqual(self.decoded({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 1}, sized(b"a")), "9.7")


class Oracles(commands.Case):
    def records(self, path):
        return [json.loads(line) for line in self.good("cat", "--json", path).decode("utf-8").splitlines()]

    def good_samples(self):
        folder = commands.place.checkout / "tests" / "corpus" / "avro"
        return sorted([*folder.glob("*.avro"), *folder.glob("small/*.avro")])

    @unittest.skipUnless(HAS_PYTHON, "python3-avro is not installed")
    def test_package_of_python_finds_the_same_records(self):
        compared = 0
        for path in self.good_samples():
            if path.stem in NOT_BY_PYTHON and path.parent.name != "small" or path.name == "xz.avro":
                continue
            with self.subTest(path.name):
                read = subprocess.run([PYTHON, "-c", READ, path], stdout=subprocess.PIPE, text=True, check=True).stdout
                theirs = [json.loads(line) for line in read.splitlines()]
                ours = self.records(path)
                self.assertEqual(len(ours), len(theirs))
                for (stored, content), record in zip(theirs, ours):
                    ours_stored = record["base64"] if "base64" in record else base64.b64encode(record["text"].encode()).decode()
                    self.assertEqual(ours_stored, stored)
                    self.assertEqual(comparable(content, record["decoded"]), content)
                compared += len(ours)
        self.assertGreater(compared, 400)

    @unittest.skipUnless(shutil.which("avrocat"), "avrocat is not installed")
    def test_avrocat_finds_the_same_content(self):
        for name in ("null", "deflate", "xz", "snappy"):
            path = commands.sample(f"avro/small/{name}.avro")
            done = subprocess.run(["avrocat", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            if done.returncode != 0 and name != "null":
                continue  # built without this codec
            with self.subTest(name):
                self.assertEqual([record["decoded"] for record in self.records(path)], [json.loads(line) for line in done.stdout.splitlines()])


if __name__ == "__main__":
    commands.main()
