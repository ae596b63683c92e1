#!/usr/bin/env python3
"""Output of scripts/progress for a build and an installation, on a terminal and in a pipe."""
import os
import pty
import subprocess
import tempfile
import unittest
from pathlib import Path

from built import read_terminal

PROGRESS = Path(__file__).resolve().parents[2] / "scripts" / "progress"
STEPS = 40
BUILD = "".join(f"[{n}/{STEPS}] Building CXX object {n}.o\n" for n in range(1, STEPS + 1))
FAILURE = "FAILED: 3.o\ng++ -c 3.cc\n3.cc:1: error: expected ';'\n[5/40] Building CXX object 5.o\n"
INSTALLATION = ("dlstatus:1:50.0000:Retrieving file 1 of 2\ndlstatus:2:100.0000:Retrieving file 2 of 2\n"
                "Preparing to unpack one.deb ...\npmstatus:one:5.5:Unpacking\npmstatus:one:100.0:Installed\n")


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"

    def run_with(self, output, stderr=subprocess.PIPE):
        return subprocess.run([PROGRESS, "building", self.log], input=output, stdout=subprocess.PIPE, stderr=stderr,
                              text=True, timeout=60, check=True)

    def lines_of(self, output):
        done = self.run_with(output)
        self.assertEqual(done.stdout, "")
        return done.stderr.splitlines()

    def test_pipe_gets_a_line_per_ten_percent(self):
        lines = self.lines_of(BUILD)
        self.assertEqual(lines[0], "building: 2 % (1 of 40 steps)")
        self.assertEqual([line.split()[1] for line in lines[1:]], [str(n) for n in range(10, 101, 10)])

    def test_terminal_gets_one_updated_line(self):
        ours, theirs = pty.openpty()
        self.run_with(BUILD, stderr=theirs)
        os.close(theirs)
        shown = read_terminal(ours).decode()
        os.close(ours)
        self.assertEqual(shown.count("\r\033[K"), STEPS)
        self.assertEqual(shown.count("\n"), 1)
        self.assertTrue(shown.endswith("building: 100 % (40 of 40 steps)\r\n"), shown)

    def test_log_contains_the_whole_output(self):
        self.run_with("-- Configuring\n" + BUILD + "last line without an end")
        self.assertEqual(self.log.read_text(encoding="utf-8"), "-- Configuring\n" + BUILD + "last line without an end\n")

    def test_failure_is_passed_on_unchanged(self):
        lines = self.lines_of("[1/40] Building CXX object 1.o\n" + FAILURE)
        self.assertEqual(lines[1:], FAILURE.splitlines())

    def test_installation_has_a_download_and_an_install_part(self):
        self.assertEqual(self.lines_of(INSTALLATION),
                         ["building: 50 % (downloading)", "building: 100 % (downloading)", "building: 5 % (installing)",
                          "building: 100 % (installing)"])

    def test_up_to_date_build_shows_nothing(self):
        self.assertEqual(self.lines_of("ninja: no work to do.\n"), [])


if __name__ == "__main__":
    unittest.main()
