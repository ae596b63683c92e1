#!/usr/bin/env python3
"""What code that runs inside a daemon can do: whoever took it over finds nothing there. It runs inside the program as
it is, in a thread that answers a request of a mount that stands."""
import ctypes
import errno
import os
import re
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
REFUSED = {errno.EPERM, errno.EACCES}
# Its arguments stand in memory, where no filter sees them: the C library is told that there is none, and takes clone.
MISSING = {"program clone3": {errno.ENOSYS}}
CREATE_RULESET, TELL_VERSION = 444, 1
NEVER_DUE = 1000  # seconds that a process may take which is there to be harmed


def has_landlock():
    """Where the kernel has none, files are not confined."""
    return ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), TELL_VERSION) > 0


class Intruded(mounting.ConfinedCase):
    user = None
    other_refusals = {}

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.inside = self.folder / "inside"
        for made in (self.home, self.inside, self.inside / "index"):
            made.mkdir()
        (self.home / "secret").write_text("secret", encoding="utf-8")
        (self.inside / "beside").write_text("beside", encoding="utf-8")
        self.container = self.make_source(self.inside / "source")
        self.report = self.folder / "report"
        self.report.touch()
        for top in (self.home, self.inside):
            for path in (top, *top.rglob("*")):
                self.give(path)
        self.give(self.report)
        self.other = self.enter(mounting.started("sleep", NEVER_DUE, user=self.user))
        self.only = ""

    def make_source(self, source):
        """Returns where the container stands below the mount point."""
        self.copy(SAMPLE, source)
        return "."

    def give(self, path):
        if self.user is not None:
            os.chown(path, self.user, self.user)

    def environment(self, user=None):
        told = {"TOLD": self.folder / "told", "REPORT": self.report, "FOLDER": self.inside, "HOME": self.home,
                "OTHER": self.other.pid, "ONLY": self.only}
        changed = dict(super().environment(user), LD_PRELOAD=mounting.program("intruder.so"),
                       **{f"RECORDFS_INTRUDER_{name}": str(value) for name, value in told.items()})
        changed["ASAN_OPTIONS"] += ":verify_asan_link_order=0"  # the intruder is loaded first
        return changed

    def outcomes(self, *words):
        """{what was tried: errno} in the daemon of a new mount, which goes on serving."""
        before = {path: path.read_bytes() for path in self.inside.rglob("*") if path.is_file()}
        mounted = self.mount(self.inside / "source", user=self.user, options=(*words, f"index={self.inside}/index"))
        self.assertTrue(mounting.run("ls", mounted / self.container / "records", user=self.user).stdout)
        (self.folder / "told").touch()
        done = mounting.run("cat", mounted / self.container / "streams/concat", user=self.user)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual(mounted.log(), "")
        after = {path: path.read_bytes() for path in self.inside.rglob("*") if path.is_file()}
        self.assertEqual({path: data for path, data in after.items() if "/index/" not in str(path)}, before)
        self.assertIsNone(self.other.poll(), "another process was ended")
        lines = [line.split("\t") for line in self.report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(lines[-1], ["end", "0"])
        self.assertEqual(len({name for name, _ in lines}), len(lines), "a name stands for two")
        return {name: int(number) for name, number in lines[:-1]}

    def test_what_a_daemon_does_not_need_is_refused(self):
        found = self.outcomes("sandbox=yes")
        is_of_files = ("read ", "write ", "process /")
        self.assertGreater(len(found), 100)
        for name, number in found.items():
            with self.subTest(name):
                if name.startswith("work "):
                    self.assertEqual(number, 0, os.strerror(number))
                elif has_landlock() or not name.startswith(is_of_files):
                    self.assertIn(number, MISSING.get(name, REFUSED) | self.other_refusals.get(name, set()), os.strerror(number))

    def test_the_same_code_opens_any_file_of_a_daemon_that_is_not_confined(self):
        self.only = "read "
        found = self.outcomes("sandbox=no")
        self.assertGreater(len(found), 4)
        self.assertEqual({name: os.strerror(number) for name, number in found.items() if number != 0}, {})


@mounting.only_root
class IntrudedOfOrdinaryUsers(Intruded):
    user = mounting.NOBODY


class IntrudedWithADirectory(Intruded):
    """Root's daemon keeps the right to read any folder, and it does not lead out of the source."""
    other_refusals = dict.fromkeys(("write source", "write source anew", "write by truncate"), {errno.EISDIR})

    def make_source(self, source):
        source.mkdir()
        self.copy(SAMPLE, source / "x.riegeli")
        return "x.riegeli"


@mounting.only_root
class IntrudedWithADirectoryOfOrdinaryUsers(IntrudedWithADirectory):
    user = mounting.NOBODY


class Keepers(mounting.ConfinedCase):
    """The process that unmounts: what it has, and what it may."""

    def kept(self, user=None):
        """A mount that answers: the process is there then."""
        mounted = self.mount(mounting.sample(SAMPLE), user=user, options=("sandbox=yes",))
        self.assertEqual(mounting.run("ls", mounted / "records", user=user).returncode, 0)
        return mounted

    def status(self, user=None):
        """{name: value} of /proc/PID/status, and its open descriptors."""
        mounted = self.kept(user)
        (keeper,) = mounting.keepers(mounted.point)
        process = Path(f"/proc/{keeper}")
        # When it waits for its line it has done all that comes before.
        mounting.wait_for(lambda: re.match(r"\d+ 0x3 ", (process / "syscall").read_text()), "the keeper to wait")
        opened = {int(number.name): os.readlink(number) for number in (process / "fd").iterdir()}
        fields = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual(mounted.wait(), 0)
        return fields, opened

    def assert_holds_its_line_alone(self, opened):
        self.assertEqual([opened.pop(number) for number in range(3)], ["/dev/null"] * 3)
        self.assertEqual(len(opened), 1, opened)
        self.assertRegex(opened[3], "^socket:")

    @mounting.only_root
    def test_of_root_keeps_what_unmounting_takes(self):
        fields, opened = self.status()
        self.assert_holds_its_line_alone(opened)
        self.assertEqual(fields["NoNewPrivs"].strip(), "1")
        self.assertEqual(fields["Seccomp"].strip(), "2")
        of_keeper = sum(1 << number for number in (1, 2, 3, 21))  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SYS_ADMIN
        for name in ("CapEff", "CapPrm"):
            self.assertEqual(int(fields[name], 16) & ~of_keeper, 0, name)

    @mounting.only_root
    def test_of_an_ordinary_user_has_no_rights_at_all(self):
        fields, opened = self.status(mounting.NOBODY)
        self.assert_holds_its_line_alone(opened)
        self.assertEqual([int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh")], [0] * 3)

    def test_it_unmounts_when_its_daemon_is_killed(self):
        mounted = self.kept()
        mounted.daemon.kill()
        mounting.wait_for(lambda: not mounted.is_mounted(), "the end of the mount")


if __name__ == "__main__":
    mounting.main()
