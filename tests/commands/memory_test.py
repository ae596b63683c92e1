#!/usr/bin/env python3
"""Commands whose memory is too short for some chunks of a file: that is reported once, and it is no damage."""
import gzip
import json
import resource
import struct

import commands

LIMIT = 300 << 20  # of address space; the program alone takes a tenth of it
LARGE = 256 << 20  # bytes of an event that does not fit
STACK = 1 << 20    # of each thread: on many processors stacks of the usual size would be most of the memory


def varint(number):
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def bucket(packed):
    """A proio bucket of one event that is compressed with gzip."""
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

    def test_verify_says_once_that_chunks_were_not_checked(self):
        file = self.file(self.small, *[self.large] * 3, self.small)
        done = self.limited("verify", "-j", "2", file)
        self.assertEqual((done.status, done.err), (commands.PARTLY_DONE, ""))
        self.assertRegex(done.out, rb"\A\S+: byte \d+: no memory for \d+ bytes; 3 chunks not checked\n\Z")

    def test_json_has_a_status_of_its_own(self):
        done = self.limited("verify", "-j", "2", "--json", self.file(self.small, self.large))
        told = json.loads(done.out)
        self.assertEqual((done.status, told["status"], told["records"]), (commands.PARTLY_DONE, "unchecked", 1))
        (row,) = told["damage"]
        self.assertEqual((row["class"], row["records_lost"], row["chunks_unchecked"]), ("unchecked", 0, 1))

    def test_damage_elsewhere_is_found_all_the_same(self):
        broken = bytearray(self.small)
        broken[-8] ^= 1
        done = self.limited("verify", "-j", "2", self.file(self.large, bytes(broken)))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out, rb"\A\S+: byte 0: no memory for [^\n]+; 1 chunk not checked\n[^\n]+; 1 record lost\n\Z")

    def test_other_commands_say_it_in_one_line(self):
        file = self.file(*[self.large] * 3)
        target = self.folder / "out"
        target.mkdir()
        for words in (["cat"], ["cat", "--skip-damage"], ["head"], ["ls"], ["index"], ["info", "--scan"]):
            self.assert_says_it_once(commands.PARTLY_DONE, self.limited(*words, file))
        self.assert_says_it_once(commands.PARTLY_DONE, self.limited("cp", file, ":", target))
        self.assert_says_it_once(commands.CANNOT_OPEN, self.limited("grep", "x", file))

    def assert_says_it_once(self, status, done):
        self.assertEqual(done.status, status, done.err)
        self.assertRegex(done.err, r"\Arecordfs: \S+: byte \d+: no memory for \d+ bytes\n\Z")


if __name__ == "__main__":
    commands.main()
