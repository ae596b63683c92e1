#!/usr/bin/env python3
"""Every sample, intact or damaged, gives Python what its expectation says and what the commands write."""
import functools
import hashlib
import json
import struct
import time
import unittest
import zlib
from pathlib import Path

import cases
import recordfs
from cases import Case, bytes_of, containers, expectation, is_refused, run, stream_digest

try:
    import numpy
except ImportError:
    numpy = None


@functools.cache
def about_samples(command):
    """Runs `info` or `verify` on all samples at once. Returns {path: its line of JSON} of those that have one."""
    lines = run(command, "--json", *(path for path in containers() if not is_refused(path)))[1].splitlines()
    return {Path(line.pop("file")): line for line in map(json.loads, lines)}


def is_opened(path):
    return path in about_samples("info")


def is_intact(path):
    if not is_opened(path) or "stream_sha256" not in expectation(path):
        return False
    return all(row["class"] in ("stale", "unchecked") for row in about_samples("verify")[path]["damage"])


@functools.cache
def lines_until_damage(path):
    """Returns the exit status of `cat --json`, and the lines that it writes."""
    status, out = run("cat", "--json", path)
    return status, out.decode().splitlines()


@functools.cache
def lines_of(path):
    """Returns the lines that `cat --skip-damage --json` writes."""
    status, lines = lines_until_damage(path)
    return run("cat", "--skip-damage", "--json", path)[1].decode().splitlines() if status != 0 else lines


def records_in(lines):
    return [bytes_of(json.loads(line)) for line in lines]


def array_of_zeros(chunks):
    """Returns a Bloscpack file with a numpy array of float64 zeros, 1 MiB in each chunk."""
    size = 1 << 20
    text = b'{"dtype":"\'<f8\'","shape":[%d],"order":"C","container":"numpy"}' % (chunks * size // 8)
    metadata = b"JSON\0\0\0\0" + bytes(4) + struct.pack("<III", len(text), len(text), len(text)) + bytes(8) + text
    packed = zlib.compress(bytes(size))
    stream = struct.pack("<i", len(packed)) + packed
    chunk = struct.pack("<BBBBIII", 2, 1, 0x60 | 0x10, 8, size, size, 20 + len(stream)) + struct.pack("<i", 20) + stream
    return b"blpk\3\2\0\x08" + struct.pack("<iiqq", size, size, chunks, 0) + metadata + chunk * chunks


class EverySample(Case):
    def each(self, check, of=is_opened):
        """Calls check(path) for each sample for which `of` is true."""
        for path in filter(of, containers()):
            with self.subTest(path=str(path)):
                check(path)

    def test_intact_sample_has_the_expected_records(self):
        def check(path):
            known = expectation(path)
            ds = recordfs.open(path)
            self.assertEqual(len(ds), known["num_records"])
            self.assertEqual(stream_digest(ds), known["stream_sha256"])
            self.assertEqual(ds.damage, [damage for damage in ds.damage if damage.kind == "stale"])
            for some in known.get("sample", ()):
                self.assertEqual(hashlib.sha256(ds[some["ordinal"]]).hexdigest(), some["sha256"])

        self.each(check, is_intact)

    def test_readable_records_are_those_of_cat(self):
        def check(path):
            expected = records_in(lines_of(path))
            ds = recordfs.open(path, on_damage="skip")
            self.assertEqual(list(ds), expected)
            self.assertEqual([bytes(view) for view in recordfs.open(path, on_damage="skip", copy=False)], expected)
            batches = [[bytes(data[a:b]) for a, b in zip(offsets, offsets[1:])] for data, offsets in ds.batches(7)]
            self.assertEqual([record for batch in batches for record in batch], expected)
            self.assertTrue(all(len(batch) == 7 for batch in batches[:-1]))

        self.each(check)

    def test_damage_raises_where_cat_fails(self):
        def check(path):
            status, lines = lines_until_damage(path)
            read = []
            try:
                for record in recordfs.open(path):
                    read.append(record)
            except recordfs.Error as failed:
                self.assertNotEqual(status, 0, str(failed))
                self.assertEqual(failed.path, str(path))
            else:
                self.assertEqual(status, 0)
                self.assertEqual(read, records_in(lines))

        self.each(check)

    def test_decoded_content_has_the_members_of_the_json(self):
        def names(value):
            return {name.removesuffix("_base64") for name in value} if isinstance(value, dict) else type(value)

        def check(path):
            ds = recordfs.open(path)
            for line in lines_of(path)[:5]:
                known = json.loads(line)
                if "decoded" in known:
                    self.assertEqual(names(ds.decode(known["ordinal"])), names(known["decoded"]))

        self.each(check)

    def test_info_is_that_of_the_command(self):
        def check(path):
            self.assertEqual(recordfs.open(path).info, about_samples("info")[path])

        self.each(check)

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_arrays(self):
        found = []

        def check(path):
            try:
                array = recordfs.open(path).array
            except recordfs.UnsupportedError:
                return
            found.append(path)
            self.assertEqual(array.tobytes("A"), b"".join(recordfs.open(path)))

        self.each(check, lambda path: path.parts[-2] == "bloscpack" and is_intact(path))
        self.assertGreater(len(found), 3)

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_time_of_an_array_is_linear(self):
        def seconds(chunks):
            path = self.folder / "a.blp"
            path.write_bytes(array_of_zeros(chunks))
            begin = time.process_time()
            self.assertEqual(recordfs.open(path).array.shape, (chunks << 17,))
            return time.process_time() - begin

        few = min(seconds(40) for _ in range(3))
        self.assertLess(seconds(320), 20 * few + 0.1)  # 60 times, if each MiB copied those before it


if __name__ == "__main__":
    cases.main()
