#!/usr/bin/env python3
"""What code in a command under an intruder's control can do. The intruder runs in the unmodified program, when that reads
the first bytes of a file."""
import errno
import os
import subprocess
from pathlib import Path

import commands

SAMPLE = "riegeli/simple_snappy.riegeli"
REFUSED = {errno.EPERM, errno.EACCES, errno.EXDEV}
# Names of attempts. Times of files are not protected.
CHANGES = "write "
GROUPS = (CHANGES, "program exec", "connection ", "process ")
HARMLESS = {"write times", "program in memory"}
OTHER_CALLS = ("connection pair", "connection message", "connection abstract", "connection datagram", "connection bound",
               "connection listen", "connection accept")  # need a socket
PROCESS = {"process ptrace", "process seize", "process read", "process written", "process descriptor",
           "process signal by pidfd", "process kill"}


def is_sanitized():
    """Returns whether the program has sanitizers, with which it is not confined."""
    return b"__asan_init" in Path(commands.program("recordfs")).read_bytes()


class Intruder(commands.Case):
    landlock = ""  # the version that the kernel seems to have; empty: its own

    def setUp(self):
        super().setUp()
        if is_sanitized():
            self.skipTest("a build with sanitizers is not confined")
        self.home, self.inside, self.report = (self.folder / name for name in ("home", "inside", "report"))
        for made in (self.home, self.inside, self.inside / "index", self.folder / "caches"):
            made.mkdir()
        (self.home / "metrics.prom").write_text("mine", encoding="utf-8")
        (self.inside / "beside").write_text("beside", encoding="utf-8")
        self.source = self.copy(SAMPLE, "inside/source")
        (self.folder / "told").touch()
        self.other = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self.other.wait)
        self.addCleanup(self.other.kill)
        self.only = CHANGES

    def environment(self):
        values = {"TOLD": self.folder / "told", "REPORT": self.report, "FOLDER": self.inside, "HOME": self.home,
                  "OTHER": self.other.pid, "ONLY": self.only, "LANDLOCK": self.landlock}
        return dict(super().environment(), LD_PRELOAD=str(commands.program("intruder.so")),
                    **{f"RECORDFS_INTRUDER_{name}": str(value) for name, value in values.items()})

    def files(self):
        return {path: path.read_bytes() for top in (self.home, self.inside) for path in top.rglob("*") if path.is_file()}

    def outcomes(self, *words):
        """Returns {attempt: errno} of the intruder in a command, which must succeed and change no other file."""
        self.report.write_text("", encoding="utf-8")
        before = self.files()
        done = self.recordfs(*words)
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(self.files(), before)
        self.assertFalse((self.folder / "new-of-intruder").exists())
        lines = [line.split("\t") for line in self.report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(lines[-1:], [["end", "0"]])
        return {name: int(number) for name, number in lines[:-1] if name not in HARMLESS}

    def assert_refused(self, *words):
        for self.only in GROUPS:
            found = {name: number for name, number in self.outcomes(*words).items() if name.startswith(self.only)}
            self.assertTrue(found)
            for name, number in found.items():
                is_needless = name.startswith(OTHER_CALLS) or (name.startswith("process ") and name not in PROCESS)
                if is_needless or self.is_covered_otherwise(name):
                    continue
                with self.subTest(name, words=words):
                    self.assertIn(number, REFUSED, os.strerror(number))

    def is_covered_otherwise(self, name):
        # The intruder's descriptor is for reading.
        return name == "write by ftruncate" or (name.endswith("openat2") and self.landlock == "2")

    def test_command_that_reads_can_change_nothing(self):
        self.assert_refused("info", self.source)

    def test_copy_can_change_only_its_directory(self):
        self.assert_refused("cp", "-f", self.source, ":3", self.folder / "copied")
        self.assertEqual(len(list((self.folder / "copied").iterdir())), 3)

    def test_report_can_change_only_its_page(self):
        self.assert_refused("report", self.source, "-o", self.folder / "page.html")
        self.assertIn("</html>", (self.folder / "page.html").read_text(encoding="utf-8"))

    def test_verify_can_change_only_its_state(self):
        self.assert_refused("verify", "--max-age", "0", "--state", self.folder / "state", self.source)
        self.assertTrue((self.folder / "state").read_bytes())

    def test_list_of_what_was_skipped_is_the_only_output(self):
        self.assert_refused("cat", "--split", "0/1", "--skip-damage", "--skipped", self.folder / "skipped", self.source)
        self.assertEqual((self.folder / "skipped").read_text(encoding="utf-8"), "")


class IntruderOnLandlock2(Intruder):
    """Without a right to truncate."""
    landlock = "2"


class IntruderOnLandlock4(Intruder):
    """Without scopes for signals and sockets."""
    landlock = "4"


if __name__ == "__main__":
    commands.main()
