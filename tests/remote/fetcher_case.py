"""A case of tests that drive recordfs-fetch: a server with one object, and fetchers that must end well."""
import contextlib
import random
import signal
import tempfile
import unittest
from pathlib import Path

import fetcher
from server import Server

BLOCK = 256 << 10
DATA = random.Random(1).randbytes(5 * BLOCK + 1000)
TIMEOUT = "--timeout=3"


class FetcherTest(unittest.TestCase):
    def setUp(self):
        self.exits = contextlib.ExitStack()
        self.addCleanup(self.exits.close)
        self.folder = Path(self.exits.enter_context(tempfile.TemporaryDirectory()))
        self.cache = self.folder / "cache"
        self.root = self.folder / "root"
        self.root.mkdir()
        self.server = self.serve()
        self.server.put("x", DATA)
        self.url = f"{self.server.origin}/x"

    def serve(self, kind=Server, **options):
        server = self.exits.enter_context(kind(self.root, **options))
        self.addCleanup(lambda: self.assertEqual(server.problems, []))
        return server

    def start(self, *options, **more):
        """Returns a running fetcher that has ended well at the end of the test."""
        started = fetcher.Fetcher(TIMEOUT, *options, **more)
        self.addCleanup(lambda: self.assertIn(started.close(), (0, -signal.SIGKILL)))
        return started

    def assert_read(self, fetching, opened, begin, size):
        reply = fetching.read(opened, begin, size)
        self.assertIsNone(reply.failure, reply.text)
        self.assertEqual(reply.data, DATA[begin:begin + size])
        return reply
