#!/usr/bin/env python3
"""Commands with too little memory for some chunks report that once, and not as damage."""
import gzip
import json
import resource
import struct
import subprocess

import commands
from tfrecords import varint

LIMIT = 300 << 20  # of address space; the program needs a tenth of it
LARGE = 256 << 20  # bytes of an event that does not fit
STACK = 1 << 20  # of a thread: default stacks on many processors would exceed the limit


def bucket(packed):
    """Encodes a proio bucket of one event, compressed with gzip."""
    header = b"\x08" + varint(1) + b"\x10" + varint(len(packed)) + b"\x18" + varint(1)
    return b"\xe1\xc1" + bytes(14) + struct.pack("<I", len(header)) + header + packed


def pack(event):
    return gzip.compress(struct.pack("<I", len(event)) + event, compresslevel=1)


def lower_limits():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


class ShortOfMemory(commands.Case):
    @classmethod
    def setUpClass(cls):
        cls.large = bucket(pack(bytes(LARGE)))
        cls.small = bucket(pack(b"word"))

    def file(self, *buckets):
        path = self.folder / "events.proio"
        path.write_bytes(b"".join(buckets))
        return path

    def limited(self, *words):
        return self.recordfs(*words, preexec_fn=lower_limits)

    def test_verify_reports_unchecked_chunks_once(self):
        file = self.file(self.small, *[self.large] * 3, self.small)
        done = self.limited("verify", "-j", "2", file)
        self.assertEqual((done.status, done.err), (commands.PARTLY_DONE, ""))
        self.assertRegex(done.out, rb"\A\S+: byte \d+: no memory for \d+ bytes; 3 chunks not checked\n\Z")

    def test_json_status_is_unchecked(self):
        done = self.limited("verify", "-j", "2", "--json", self.file(self.small, self.large))
        found = json.loads(done.out)
        self.assertEqual((done.status, found["status"], found["records"]), (commands.PARTLY_DONE, "unchecked", 1))
        (row,) = found["damage"]
        self.assertEqual((row["class"], row["records_lost"], row["chunks_unchecked"]), ("unchecked", 0, 1))

    def test_damage_in_other_chunks_is_found(self):
        broken = bytearray(self.small)
        broken[-8] ^= 1
        done = self.limited("verify", "-j", "2", self.file(self.large, bytes(broken)))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out, rb"\A\S+: byte 0: no memory for [^\n]+; 1 chunk not checked\n[^\n]+; 1 record lost\n\Z")

    def test_other_commands_report_it_in_one_line(self):
        file = self.file(*[self.large] * 3)
        target = self.folder / "out"
        target.mkdir()
        for words in (["cat"], ["cat", "--skip-damage"], ["head"], ["ls"], ["index"], ["info", "--scan"]):
            self.assert_reported_once(commands.PARTLY_DONE, self.limited(*words, file))
        self.assert_reported_once(commands.PARTLY_DONE, self.limited("cp", file, ":", target))
        self.assert_reported_once(commands.CANNOT_OPEN, self.limited("grep", "x", file))

    def test_no_command_crashes_at_any_limit(self):
        file = self.folder / "chunks.riegeli"
        subprocess.run([commands.program("make_data"), "riegeli-zstd", "100000", file], check=True)
        for kibibytes in range(24000, 56000, 2000):
            limit = kibibytes << 10
            for words in (["ls"], ["grep", "-c", "nosuch"], ["cat"]):
                done = self.recordfs(*words, file, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
                self.assertGreaterEqual(done.status, 0, (words, kibibytes, done.err))

    def assert_reported_once(self, status, done):
        self.assertEqual(done.status, status, done.err)
        self.assertRegex(done.err, r"\Arecordfs: \S+: byte \d+: no memory for \d+ bytes\n\Z")


if __name__ == "__main__":
    commands.main()
