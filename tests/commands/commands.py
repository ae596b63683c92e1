"""Running commands in tests: in a pipe or on a terminal. Does not depend on FUSE.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER: the build folder
"""
import fcntl
import functools
import json
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path
from typing import NamedTuple

# Some of these are used only by the test files.
import built
from built import (COMPLAINT, EXPECTATION, PATIENCE, copy_of, corpus, expectation, is_source, place, program, read_terminal, sample,
                   stored, with_bit_flipped)

GOOD, WRONG_USE, CANNOT_OPEN, CANNOT_MOUNT, DAMAGE, PARTLY_DONE = range(6)


def encoded(words):
    """Returns the words of a command line, in which paths of files are sources."""
    return [os.fsencode(stored(word) if is_source(word) else word) for word in words]


@functools.cache
def containers():
    """Returns the sorted paths of all samples that are containers, damaged or not."""
    known = sorted(str(path)[: -len(EXPECTATION)] for path in corpus().rglob(f"*{EXPECTATION}"))
    files = [Path(path) for path in known if Path(path).is_file()]  # without databases, which are directories
    return [path for path in files if not expectation(path).get("format", "").startswith("not-a-")]


def status_of(verified):
    """Returns the exit status of `verify` for a file, from the file's line of `verify --json`."""
    if verified["status"] == "unreadable":
        return CANNOT_OPEN
    classes = {row["class"] for row in verified["damage"]} - {"stale"}
    return DAMAGE if classes & {"damage", "unfinished"} else PARTLY_DONE if classes else GOOD


def is_sound(verified):
    """Returns whether `verify` found no fault in a file, whose records may have no checksums."""
    return verified["status"] != "unreadable" and {row["class"] for row in verified["damage"]} <= {"stale", "unchecked"}


class Done(NamedTuple):
    """A finished command: exit status, or minus the signal's number, and its output."""

    status: int
    out: bytes
    err: str


class Case(unittest.TestCase):
    """A case with a new folder."""

    longMessage = True
    maxDiff = 4000
    _results = {}  # of once()

    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)

    def environment(self):
        """Puts saved indexes into the case's folder, and names a terminal that shows everything."""
        return dict(os.environ, XDG_CACHE_HOME=str(self.folder / "caches"), LC_ALL="C.UTF-8", TERM="xterm")

    def copy(self, name, to=None):
        """Copies a sample of tests/corpus into the case's folder."""
        return copy_of(name, self.folder, to)

    def recordfs(self, *words, **options):
        """Runs recordfs as a script would, with its output in pipes."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "timeout": PATIENCE, **options}
        ran = subprocess.run([program("recordfs"), *encoded(words)], stderr=subprocess.PIPE,
                             env=self.environment(), check=False, **options)
        return self._sane(Done(ran.returncode, ran.stdout or b"", ran.stderr.decode(errors="backslashreplace")))

    def input_of(self, text):
        """Returns a file with this text, for the argument `stdin` of recordfs()."""
        path = self.folder / "standard input"
        path.write_text(text, encoding="utf-8")
        file = path.open("rb")
        self.addCleanup(file.close)
        return file

    def once(self, *words):
        """Runs a command that only reads samples. A test file runs each command once, since it takes some milliseconds."""
        if words not in Case._results:
            Case._results[words] = self.recordfs(*words)
        return Case._results[words]

    def about_samples(self, *words):
        """Runs `info` or `verify` on all samples at once. Returns {path: its line of JSON} of those that have one."""
        lines = self.once(*words, "--json", *containers()).out.splitlines()
        self.assertGreater(len(lines), len(containers()) / 2)
        return {Path(row["file"]): row for row in map(json.loads, lines)}

    def good(self, *words):
        """Runs a command that must succeed without a message. Returns its output."""
        done = self.recordfs(*words)
        self.assertEqual((done.status, done.err), (GOOD, ""), words)
        return done.out

    def assert_ends(self, status, error, *words):
        """The command exits with `status` and prints one line that matches `error`. Returns its output."""
        done = self.recordfs(*words)
        self.assertEqual(done.status, status, (words, done.err))
        self.assertRegex(done.err, rf"\Arecordfs: [^\n]*{error}[^\n]*\n\Z", words)
        return done.out

    def on_terminal(self, *words, **environment):
        """Runs a command with standard output on a terminal, and with these variables of the environment."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([program("recordfs"), *encoded(words)], stdin=subprocess.DEVNULL, stdout=theirs,
                              stderr=subprocess.PIPE, env=self.environment() | environment) as running:
            os.close(theirs)
            shown = read_terminal(ours)
            os.close(ours)
            err = running.stderr.read().decode(errors="backslashreplace")
            status = running.wait(PATIENCE)
        return self._sane(Done(status, shown.replace(b"\r\n", b"\n"), err))

    def stderr_on_terminal(self, *words, columns=0, **environment):
        """Runs a command with standard error on a terminal of this width, and returns what that shows."""
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([program("recordfs"), *encoded(words)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=theirs, env=self.environment() | environment) as running:
            os.close(theirs)
            shown = read_terminal(ours)
            running.wait(PATIENCE)
        os.close(ours)
        return shown

    def until_the_pipe_closes(self, size, *words):
        """Runs a command whose reader takes `size` bytes and closes the pipe."""
        with subprocess.Popen([program("recordfs"), *encoded(words)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as running:
            taken = running.stdout.read(size)
            running.stdout.close()
            err = running.stderr.read().decode(errors="backslashreplace")
            status = running.wait(PATIENCE)
        return self._sane(Done(status, taken, err))

    def _sane(self, done):
        self.assertIsNone(COMPLAINT.search(done.err), done.err)
        return done


main = built.main
