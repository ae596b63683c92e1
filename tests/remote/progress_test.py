#!/usr/bin/env python3
"""Progress on a terminal for remote files that take longer than a second."""
import os
import re
import subprocess

import built
import commands_test
import remoting
from tfrecords import tfrecord

SLOW = 1.6  # seconds until the server answers
ERASE = b"\r\x1b[K"


class Progress(commands_test.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        (self.root / "x.tfrecord").write_bytes(tfrecord([b"first", b"second"]))
        self.server = self.serve(self.root, delay=SLOW)
        self.url = self.server.url("x.tfrecord")

    def on_terminal(self, *words, stdout=subprocess.DEVNULL, **more):
        """Returns what a command writes to a terminal: standard error, and standard output if `stdout` is None."""
        ours, theirs = os.openpty()
        with subprocess.Popen([built.program("recordfs"), *map(os.fsencode, words)], stdin=subprocess.DEVNULL, stderr=theirs,
                              stdout=theirs if stdout is None else stdout, env=self.environment() | more) as running:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 4096)
                except OSError:
                    break
                if not piece:
                    break
                shown += piece
            self.assertEqual(running.wait(built.PATIENCE), 0, shown)
        os.close(ours)
        return shown

    def test_bytes_rate_and_requests_are_shown(self):
        for words in [[name, "--no-cache", self.url] for name in ("cat", "info", "ls")]:
            with self.subTest(words=words):
                shown = self.on_terminal(*words)
                line = re.escape(words[0].encode()) + rb": [\d.]+ (bytes|KiB), [\d.]+ (bytes|KiB)/s, \d+ requests?"
                self.assertRegex(shown, rb"\A(" + re.escape(ERASE) + line + rb")+" + re.escape(ERASE) + rb"\Z")

    def test_command_with_progress_of_its_own_adds_the_requests(self):
        shown = self.on_terminal("verify", "--no-cache", self.url)
        self.assertRegex(shown, rb"verify: .*/s, \d+ requests?" + re.escape(ERASE))
        self.assertTrue(shown.endswith(ERASE), shown)

    def test_output_on_the_same_terminal_replaces_the_line(self):
        shown = self.on_terminal("cat", "--lines", "--no-cache", self.url, stdout=None)
        self.assertRegex(shown, re.escape(ERASE) + rb"cat: [^\r]*" + re.escape(ERASE) + rb"first\r\nsecond\r\n\Z")

    def test_nothing_is_shown_elsewhere(self):
        self.assertEqual(self.on_terminal("cat", "--no-cache", self.url, TERM="dumb"), b"")
        done = self.answer(["cat", self.url])
        self.assertEqual((done.status, done.err), (0, ""))


main = remoting.main

if __name__ == "__main__":
    main()
