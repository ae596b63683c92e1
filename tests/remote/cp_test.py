#!/usr/bin/env python3
"""recordfs cp --raw: whole files, which an interrupted copy does not begin again."""
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.parse
from pathlib import Path

import built
import faults
import remoting
import server

SIZE = (24 << 20) + 12345
AGAIN = 1 << 20      # bytes at the end of an unfinished copy that may be copied again
ROUNDED = 256 << 10  # a request begins and ends with a block
UNFINISHED = re.compile(r"\.big\.[0-9a-f]{16}\.part")


def first_byte(request):
    return int(re.match(r"bytes=(\d+)-", request.range)[1])


def forbidden_from(byte):
    """Returns the fault that refuses requests for bytes from this one on."""
    return lambda exchange: server.Answer(403) if first_byte(exchange.request) >= byte else exchange.answer


def stalled_from(byte):
    def fault(exchange):
        if first_byte(exchange.request) >= byte:
            exchange.wait_for_the_client_to_leave()
        return exchange.answer
    return fault


class RawCopyTest(remoting.Served, unittest.TestCase):
    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = self.folder / "served"
        self.root.mkdir()
        self.target = self.folder / "target"
        self.server = self.serve(self.root)
        self.data = random.Random(35).randbytes(SIZE)
        self.server.put("big", self.data)
        self.url = self.server.url("big")

    def copy(self, *words):
        done = remoting.run(["cp", "--raw", "--no-cache", *words, ":", self.target], self.environment())
        self.assertIsNone(built.COMPLAINT.search(done.err), done.err)
        return done

    def copied(self):
        return {path.name: path.read_bytes() for path in self.target.iterdir()}

    def unfinished(self):
        part, sums = sorted(path.name for path in self.target.iterdir())
        self.assertTrue(UNFINISHED.fullmatch(part), part)
        self.assertEqual(sums, part.replace(".part", ".sums"))
        return self.target / part

    def stop_in_the_middle(self):
        """Leaves an unfinished copy. Returns its size."""
        self.server.rules = [server.Rule("big", forbidden_from(SIZE // 2))]
        done = self.copy(self.url)
        self.server.rules = []
        self.server.take_log()
        self.assertNotEqual(done.status, 0)
        self.assertIn("the same command continues the copy", done.err)
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        size = self.unfinished().stat().st_size
        self.assertGreater(size, 2 * AGAIN)
        self.assertLess(size, SIZE)
        return size

    def test_file_is_copied(self):
        done = self.copy(self.url)
        self.assertEqual((done.status, done.out, done.err), (0, b"", ""))
        self.assertEqual(self.copied(), {"big": self.data})
        self.assertLess(self.server.bytes_sent(), 1.05 * SIZE)

    def test_files_of_a_bucket_are_copied(self):
        bucket = self.folder / "buckets" / "data"
        bucket.mkdir(parents=True)
        names = [f"train-{i:05}-of-00009.riegeli" for i in range(9)]
        for name in names:
            shutil.copy(built.sample("riegeli/simple_zstd9.riegeli"), bucket / name)
        (bucket / "a b=*+.txt").write_bytes(b"text")
        (bucket / "empty").touch()
        self.serve_s3(self.folder / "buckets")
        done = self.copy("s3://data/train-*.riegeli", "s3://data/a b=*+.txt", "s3://data/empty")
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(self.copied(), {path.name: path.read_bytes() for path in bucket.iterdir()})

    def test_copy_has_the_name_of_the_file_and_not_of_its_url(self):
        for encoded, name in (("a%20b%23c%3F.tfrecord", "a b#c?.tfrecord"), ("100%.tfrecord", "100%.tfrecord"),
                              ("100%25.tfrecord", "100%.tfrecord"), ("%c3%a9?x=1", "\u00e9"), ("a%2Fb", "a%2Fb"), ("a%00b", "a%00b")):
            with self.subTest(encoded):
                self.server.put(urllib.parse.unquote(encoded.partition("?")[0]), b"text")
                self.assertEqual(self.copy("-f", self.server.url("") + encoded).err, "")
                self.assertEqual(self.copied(), {name: b"text"})
                (self.target / name).unlink()

    def test_copy_continues_after_a_failure(self):
        size = self.stop_in_the_middle()
        done = self.copy(self.url)
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(self.copied(), {"big": self.data})
        first, *rest = sorted(first_byte(request) for request in self.server.take_log())
        self.assertEqual(first, 0)  # to open it
        self.assertGreaterEqual(min(rest), size - AGAIN - ROUNDED)

    def test_copy_continues_after_a_kill(self):
        self.server.rules = [server.Rule("big", stalled_from(SIZE // 2))]
        words = [built.program("recordfs"), "cp", "--raw", "--no-cache", self.url, ":", self.target]
        with subprocess.Popen(words, env=self.environment(), stderr=subprocess.DEVNULL) as process:
            try:
                built.wait_for(lambda: any(path.stat().st_size > 2 * AGAIN for path in self.target.glob(".big.*")),
                               "an unfinished copy")
            finally:
                process.send_signal(signal.SIGKILL)
        self.assertGreater(self.unfinished().stat().st_size, 2 * AGAIN)
        self.server.rules = []
        self.server.take_log()
        self.assertEqual(self.copy(self.url).status, 0)
        self.assertEqual(self.copied(), {"big": self.data})
        self.assertLess(self.server.bytes_sent(), SIZE)

    def test_copy_of_a_changed_file_begins_again(self):
        self.stop_in_the_middle()
        changed = bytes(byte ^ 1 for byte in self.data[:AGAIN]) + self.data[AGAIN:]
        self.server.put("big", changed)
        self.assertEqual(self.copy(self.url).status, 0)
        self.assertEqual(self.copied(), {"big": changed})

    def test_file_that_changes_meanwhile_is_not_copied(self):
        def change(exchange):
            if first_byte(exchange.request) >= SIZE // 2:
                return faults.precondition_failed(exchange)
            return exchange.answer
        self.server.rules = [server.Rule("big", change)]
        done = self.copy(self.url)
        self.assertNotEqual(done.status, 0)
        self.assertIn("big", done.err)
        self.assertNotIn("big", self.copied())

    def test_copy_without_a_strong_version_leaves_nothing(self):
        self.server.rules = [server.Rule("big", lambda exchange: forbidden_from(SIZE // 2)(self.weakened(exchange)))]
        self.assertNotEqual(self.copy(self.url).status, 0)
        self.assertEqual(self.copied(), {})
        self.server.rules = [server.Rule("big", lambda exchange: self.weakened(exchange).answer)]
        self.assertEqual(self.copy(self.url).status, 0)
        self.assertEqual(self.copied(), {"big": self.data})

    @staticmethod
    def weakened(exchange):
        exchange.answer.headers.pop("ETag", None)
        exchange.answer.headers.pop("Last-Modified", None)
        return exchange

    def test_existing_file_is_replaced_only_by_force(self):
        self.target.mkdir()
        (self.target / "big").write_bytes(b"mine")
        done = self.copy(self.url)
        self.assertEqual(done.status, 5)
        self.assertIn("File exists (-f replaces it)", done.err)
        self.assertEqual(self.copied(), {"big": b"mine"})
        self.assertEqual(self.copy("-f", self.url).status, 0)
        self.assertEqual(self.copied(), {"big": self.data})

    def test_one_missing_file_does_not_stop_the_others(self):
        done = self.copy(self.server.url("none"), self.url)
        self.assertEqual(done.status, 2)
        self.assertRegex(done.err, r"\Arecordfs: \S+/none: [^\n]*\n\Z")
        self.assertEqual(self.copied(), {"big": self.data})


if __name__ == "__main__":
    remoting.main()
