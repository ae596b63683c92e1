#!/usr/bin/env python3
"""Whole files, read from a server that is a round trip of 50 ms away: each byte once, and several requests in flight."""
import hashlib
import os
import random
import re
import signal
import socket
import subprocess
import time

import built
import commands_test
import delay
import remoting
from server import Rule
from tfrecords import tfrecord

RECORDS = [random.Random(number).randbytes((1 << 20) + 77 * number) for number in range(4)]
REPEATED = 20  # together more than recordfs keeps in memory
CONTENT = tfrecord(RECORDS) * REPEATED
MOST = 1.05  # of a file's size may be fetched to read all of it
PART = 8 << 20  # bytes of one request
DEADLINE = 60  # seconds


class WholeFiles(commands_test.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.path = self.root / "large.tfrecord"
        self.path.write_bytes(CONTENT)
        os.utime(self.path, (1_700_000_000, 1_700_000_000))  # old enough to be cached
        self.server = self.serve(self.root)
        self.proxy = self.enterContext(delay.Delayed(("127.0.0.1", self.server.port)))
        self.url = f"http://127.0.0.1:{self.proxy.port}/large.tfrecord"

    def read(self, *words):
        """Runs a command for the file and its URL, which must answer the same. Checks the requests."""
        self.server.take_log()
        remote = self.answer([word if word != "FILE" else self.url for word in words])
        log = self.server.take_log()
        local = self.answer([word if word != "FILE" else self.path for word in words])
        self.assertEqual((remote.status, hashlib.sha256(remote.out).digest(), remote.err),
                         (local.status, hashlib.sha256(local.out).digest(), local.err))
        size = self.path.stat().st_size
        self.assertLessEqual(sum(request.sent for request in log), size * MOST, log)
        self.assertLessEqual(max(request.sent for request in log), PART, log)
        self.assertLessEqual(len(log), 8 + 2 * size // PART, log)
        self.assertGreater(self.server.most_at_once, 1)

    def test_cat(self):
        self.read("cat", "FILE")
        self.read("cat", "--no-cache", "FILE")

    def test_grep(self):
        self.read("grep", "--no-cache", "-c", "no such text", "FILE")

    def test_verify(self):
        done = self.answer(["verify", "-v", "--no-cache", self.url])
        self.assertEqual(done.status, 0, done.err)
        size = self.path.stat().st_size
        counted = re.search(r"^recordfs: servers: (\d+) requests, 0 repeated; (\d+) bytes; 0 blocks found on the disk$", done.err,
                                          re.MULTILINE)
        self.assertIsNotNone(counted, done.err)
        self.assertEqual(int(counted[1]), len(self.server.take_log()))
        self.assertTrue(size <= int(counted[2]) <= size * MOST, counted[2])

    def test_index(self):
        done = self.answer(["index", "-v", self.url])
        self.assertEqual(done.status, 0, done.err)
        self.assertRegex(done.err, r"(?m)^recordfs: servers: \d+ requests, 0 repeated; \d+ bytes; \d+ blocks? found on the disk$")

    def test_copy_of_all_records(self):
        self.assertEqual(self.answer(["cp", "--no-cache", self.url, ":", self.folder / "records"]).status, 0)
        copies = sorted((self.folder / "records").iterdir())
        self.assertEqual(b"".join(path.read_bytes() for path in copies), b"".join(RECORDS) * REPEATED)
        self.assertLessEqual(self.server.bytes_sent(), self.path.stat().st_size * MOST)

    def test_copy_of_the_file(self):
        done = self.answer(["cp", "--raw", "--no-cache", self.url, ":", self.folder / "copy"])
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual((self.folder / "copy" / "large.tfrecord").read_bytes(), self.path.read_bytes())
        self.assertLessEqual(self.server.bytes_sent(), self.path.stat().st_size * MOST)

    def test_second_reading_comes_from_the_disk(self):
        self.read("cat", "FILE")
        self.server.take_log()
        done = self.answer(["verify", "-v", self.url])
        self.assertLess(sum(request.sent for request in self.server.take_log()), self.path.stat().st_size / 4)
        self.assertRegex(done.err, r"; \d+ blocks found on the disk\n")


class Refused(commands_test.Case):
    def test_server_that_is_not_there_is_reported_long_before_the_deadline(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}/x.tfrecord"
            begun = time.monotonic()
            done = self.answer(["cat", "--timeout", str(DEADLINE), url])
            self.assertLess(time.monotonic() - begun, DEADLINE / 3)
        self.assertEqual(done.out, b"")
        self.assertNotEqual(done.status, 0)
        self.assertRegex(done.err, r"127\.0\.0\.1: .*connect")


class Interrupted(commands_test.Case):
    """Ctrl-C ends a command that waits for a server, and not after the time of the request."""

    def test_signal_ends_waiting(self):
        root = self.folder / "root"
        root.mkdir()
        (root / "x.tfrecord").write_bytes(tfrecord([b"first"]))
        (self.folder / "copies").mkdir()
        server = self.serve(root)
        server.rules.append(Rule(r"x\.tfrecord", stalled))
        url = server.url("x.tfrecord")
        for words in (["cat", url], ["info", url], ["grep", "x", url], ["verify", url], ["report", url, "-o", self.folder / "report.html"],
                      ["cp", url, ":", self.folder / "copies"], ["cp", "--raw", url, ":", self.folder / "copies"]):
            with self.subTest(words=words):
                server.take_log()
                with subprocess.Popen([built.program("recordfs"), *map(os.fsencode, words)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, env=self.environment()) as running:
                    built.wait_for(lambda: server.requests, "a request")
                    running.send_signal(signal.SIGINT)
                    running.communicate(timeout=DEADLINE)
                self.assertEqual(running.returncode, -signal.SIGINT)


def stalled(exchange):
    exchange.wait_for_the_client_to_leave()
    return exchange.answer


main = remoting.main

if __name__ == "__main__":
    main()
