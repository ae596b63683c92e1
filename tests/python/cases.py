"""Shared by the tests of the Python package."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import recordfs
import tfrecords

# Some of these are used only by the test files.
from built import EXPECTATION, PATIENCE, bytes_of, corpus, expectation, main, place, program, sample, some_of, stream_digest

EMBEDDED = "tfrecord/embedded.tfrecord"


def containers():
    """Returns the sorted paths of all samples that are containers, damaged or not, and no databases."""
    known = sorted(str(path)[: -len(EXPECTATION)] for path in corpus().rglob(f"*{EXPECTATION}"))
    return [Path(path) for path in known if Path(path).is_file()]


def is_refused(path):
    return expectation(path).get("format", "").startswith("not-a-")


def run(*words):
    """Runs recordfs. Returns its status and output."""
    done = subprocess.run([program("recordfs"), *map(os.fsencode, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


class Case(unittest.TestCase):
    """A case with a new folder."""

    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "caches")

    def write(self, name, records):
        """Writes a TFRecord file. Returns its path."""
        path = self.folder / name
        path.write_bytes(tfrecords.tfrecord(records))
        return path

    def open(self, name, **options):
        return recordfs.open(sample(name), **options)
