#!/usr/bin/env python3
"""The examples in docstrings run, and so does the program `python -m recordfs`."""
import doctest
import json
import subprocess
import sys
import unittest

import cases
import recordfs
from cases import EMBEDDED, Case, sample


class Examples(Case):
    def test_docstrings(self):
        sound = self.write("sound.tfrecord", [b"record", b"", b"x" * 300, b"record"])
        failed, tried = doctest.testmod(recordfs, extraglobs={"sample": str(sound)})
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 4)


class Program(Case):
    def program(self, *words):
        return subprocess.run([sys.executable, "-B", "-m", "recordfs", *map(str, words)], capture_output=True, text=True,
                              check=False)

    def test_info(self):
        done = self.program("info", sample(EMBEDDED))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), self.open(EMBEDDED).info)

    def test_file_that_does_not_exist(self):
        done = self.program("info", self.folder / "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)


if __name__ == "__main__":
    cases.main()
