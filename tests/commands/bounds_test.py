#!/usr/bin/env python3
"""Every command on a small file needs bounded memory and time, whatever the file decodes to.

The archives in small_files/ are named by what is large in them. All are below 1 MB.
"""
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import commands

MEMORY = 512 << 20  # bytes resident
CHUNK = 1 << 30  # bytes of the largest chunk, which counts once if it is asked for
SECONDS = 60  # of processor time, several times as long as needed

COMMANDS = (["info"], ["info", "--scan"], ["ls"], ["cat", "--json"], ["head"], ["tail"], ["grep", "-c", "nosuch"],
            ["keys"], ["verify"], ["splits", "-n", "3"], ["index"], ["report"])


class Used(NamedTuple):
    """What a command used, and its exit status and messages."""

    status: int
    memory: int
    seconds: float
    err: str


class SmallFiles(commands.Case):
    def unpack(self, name):
        """Returns the path of the file or database in an archive."""
        archive = Path(__file__).parent / "small_files" / f"{name}.tar.gz"
        with tarfile.open(archive) as packed:
            packed.extractall(self.folder)
            return self.folder / packed.getnames()[0].split("/")[0]

    def measure(self, *words):
        """Runs a command whose output is dropped. Returns what it used."""
        with tempfile.TemporaryFile() as messages, open(os.devnull, "wb") as nothing:
            running = subprocess.Popen([commands.program("recordfs"), *map(os.fsencode, words)], stdin=nothing,
                                       stdout=nothing, stderr=messages, env=self.environment())
            status, used = os.wait4(running.pid, 0)[1:]  # CTest ends a test that hangs
            running.returncode = os.waitstatus_to_exitcode(status)
            messages.seek(0)
            err = messages.read().decode(errors="backslashreplace")
        return Used(running.returncode, used.ru_maxrss << 10, used.ru_utime + used.ru_stime, err)

    def assert_bounded(self, words, memory=MEMORY):
        used = self.measure(*words)
        self.assertGreaterEqual(used.status, 0, (words, used))
        self.assertLess(used.memory, memory, (words, used))
        self.assertLess(used.seconds, SECONDS, (words, used))
        return used

    def assert_all_bounded(self, path, memory=MEMORY):
        for words in [*([*words, path] for words in COMMANDS), ["get", path, "k"]]:
            with self.subTest(words=words):
                self.assert_bounded(words, memory)

    def test_dictionaries(self):
        database = self.unpack("dictionaries-of-one-gib")
        self.assert_all_bounded(database)
        self.assert_refused(database, "the dictionary of the table exceeds the limit")

    def test_properties(self):
        database = self.unpack("properties-of-one-gib")
        self.assert_all_bounded(database)
        self.assert_refused(database, "the block of properties of the table exceeds the limit")

    def test_index_of_more_blocks_than_the_file_has_room_for(self):
        self.assert_all_bounded(self.unpack("index-of-22-million-blocks"))

    def test_range_deletions(self):
        database = self.unpack("range-deletions-of-one-gib")
        self.assert_all_bounded(database, MEMORY + CHUNK)  # the block is a chunk of records
        self.assert_refused(database, "the block of range deletions of the table exceeds the limit")
        database = self.unpack("range-deletions-with-long-keys")
        self.assert_all_bounded(database)
        self.assert_refused(database, "the block of range deletions of the table exceeds the limit")

    def test_blocks_are_decoded_one_at_a_time(self):
        table = self.unpack("blocks-of-one-gib")
        self.assert_all_bounded(table, MEMORY + CHUNK)
        self.assert_bounded(["cat", table, "0:1"], MEMORY + CHUNK)
        self.assert_bounded(["cat", table], MEMORY + CHUNK)

    def test_file_that_decodes_to_too_much_is_read_in_part(self):
        table = self.unpack("blocks-of-one-gib")
        used = self.measure("verify", table)
        self.assertEqual(used.status, commands.PARTLY_DONE, used)
        done = self.recordfs("verify", table)
        self.assertIn(b"the limit for a file of 821123 bytes (see --max-chunk)", done.out)
        done = self.recordfs("ls", table, "0:6")
        self.assertEqual(done.status, commands.PARTLY_DONE, done.err)
        self.assertEqual(len(done.out.splitlines()), 4)
        self.assertIn("blocks-of-one-gib.sst: byte ", done.err)
        self.assertEqual(self.recordfs("ls", table, "0:6", "--max-chunk=2G").status, commands.GOOD)

    def test_few_bytes_that_cost_much_each(self):
        for name in ("long-symbols", "long-namespace", "unions-of-65000-types", "chain-of-99-transformers", "false-headers",
                     "options-of-a-field"):
            self.assert_all_bounded(self.unpack(name))

    def test_text_of_empty_records(self):
        events = self.unpack("many-empty-events")
        self.assert_all_bounded(events)
        lines = self.recordfs("cat", "--json", events, "15999998:").out.splitlines()
        self.assertEqual([line[:12 + 8] for line in lines], [b'{"ordinal":%d,' % n for n in range(15999998, 16000000)])

    def test_empty_records_count(self):
        events = self.unpack("many-empty-events")
        events.write_bytes(10 * events.read_bytes())
        for words in (["cat", "--json"], ["ls"], ["verify"]):
            with self.subTest(words=words):
                self.assertEqual(self.assert_bounded([*words, events]).status, commands.PARTLY_DONE)

    def assert_refused(self, database, why):
        """The keys that are not known cost the status, and the message names the option."""
        done = self.recordfs("keys", database)
        self.assertEqual(done.status, commands.PARTLY_DONE, done.err)
        self.assertIn(why, done.err)
        self.assertIn("--max-chunk", done.err)


if __name__ == "__main__":
    commands.main()
