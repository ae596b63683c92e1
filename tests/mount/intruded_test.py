#!/usr/bin/env python3
"""What code in a daemon under an intruder's control can do. The intruder runs in the unmodified program, in a thread that
answers a request of a complete mount."""
import ctypes
import errno
import os
import re
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
REFUSED = {errno.EPERM, errno.EACCES}
# seccomp cannot inspect clone3's arguments, which are in memory. With ENOSYS the C library uses clone instead.
MISSING = {"program clone3": {errno.ENOSYS}}
CREATE_RULESET, GET_ABI_VERSION = 444, 1
# Until the sources are open, libprotobuf may be loaded; then another filter is added.
LOADING = {"program code", "program code later", "right seccomp"}
NEVER_DUE = 1000  # seconds that the victim process sleeps


def has_landlock():
    """Returns whether the kernel can confine file access."""
    return ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), GET_ABI_VERSION) > 0


class Intruder(mounting.ConfinedCase):
    user = None
    landlock = ""  # the version that the kernel seems to have; empty: its own
    other_errors = {}

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
        """Returns the container's path below the mount point."""
        self.copy(SAMPLE, source)
        return "."

    def give(self, path):
        if self.user is not None:
            os.chown(path, self.user, self.user)

    def environment(self, user=None):
        values = {"TOLD": self.folder / "told", "REPORT": self.report, "FOLDER": self.inside, "HOME": self.home,
                  "OTHER": self.other.pid, "ONLY": self.only, "LANDLOCK": self.landlock}
        changed = dict(super().environment(user), LD_PRELOAD=mounting.program("intruder.so"),
                       **{f"RECORDFS_INTRUDER_{name}": str(value) for name, value in values.items()})
        changed["ASAN_OPTIONS"] += ":verify_asan_link_order=0"  # the intruder is loaded first
        return changed

    def outcomes(self, *words, told=False):
        """Returns {attempt: errno} of the intruder in a new mount's daemon, which must go on serving. With `told`, the
        intruder comes with the first bytes of the source that are read."""
        if told:
            (self.folder / "told").touch()
        before = {path: path.read_bytes() for path in self.inside.rglob("*") if path.is_file()}
        # Without a cache, so that the request reads the file.
        mounted = self.mount(self.inside / "source", user=self.user,
                             options=(*words, "cache_size=1", f"index={self.inside}/index", f"metrics={self.home}/metrics.prom"))
        listed = mounting.run("ls", mounted / self.container / "records", user=self.user)
        self.assertTrue(listed.stdout, (listed.stderr, mounted.log()))
        (self.folder / "told").touch()
        done = mounting.run("cat", mounted / self.container / "streams/concat", user=self.user)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual(mounted.log(), "")
        self.assertEqual({path.name: path.read_text(encoding="utf-8") for path in self.home.iterdir()}, {"secret": "secret"})
        after = {path: path.read_bytes() for path in self.inside.rglob("*") if path.is_file()}
        self.assertEqual({path: data for path, data in after.items() if "/index/" not in str(path)}, before)
        self.assertIsNone(self.other.poll(), "the intruder ended another process")
        lines = [line.split("\t") for line in self.report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(lines[-1], ["end", "0"])
        self.assertEqual(len({name for name, _ in lines}), len(lines), "two attempts have one name")
        return {name: int(number) for name, number in lines[:-1]}

    def test_confined_daemon_is_refused_what_it_does_not_need(self):
        self.assert_refused(self.outcomes("sandbox=yes"))

    def test_daemon_is_confined_before_it_reads_a_source(self):
        found = self.outcomes("sandbox=yes", told=True)
        self.assertLessEqual(LOADING, found.keys())
        self.assert_refused({name: number for name, number in found.items() if name not in LOADING})

    def assert_refused(self, found):
        is_of_files = ("read ", "write ", "process /")
        self.assertGreater(len(found), 100)
        for name, number in found.items():
            with self.subTest(name):
                if name.startswith("work "):
                    self.assertEqual(number, 0, os.strerror(number))
                elif has_landlock() or not name.startswith(is_of_files):
                    self.assertIn(number, MISSING.get(name, REFUSED) | self.other_errors.get(name, set()), os.strerror(number))

    def test_unconfined_daemon_can_open_any_file(self):
        self.only = "read "
        found = self.outcomes("sandbox=no")
        self.assertGreater(len(found), 4)
        self.assertEqual({name: os.strerror(number) for name, number in found.items() if number != 0}, {})


@mounting.only_root
class IntruderForOrdinaryUsers(Intruder):
    user = mounting.NOBODY


class IntruderOnLandlock2(Intruder):
    """Without a right to truncate, so that openat2, whose flags are in memory, is missing."""
    landlock = 2
    other_errors = {"write source anew by openat2": {errno.ENOSYS}}


class IntruderOnLandlock4(Intruder):
    """Without scopes for signals and sockets, and a right to control devices."""
    landlock = 4


@mounting.only_root
class IntruderOnLandlock2ForOrdinaryUsers(IntruderOnLandlock2):
    user = mounting.NOBODY


class IntruderInADirectoryMount(Intruder):
    """Root's daemon keeps the capability to read any folder; it must not reach outside the source."""
    other_errors = dict.fromkeys(("write source", "write source anew", "write source anew by openat2", "write by truncate"),
                                 {errno.EISDIR})

    def make_source(self, source):
        source.mkdir()
        self.copy(SAMPLE, source / "x.riegeli")
        return "x.riegeli"


@mounting.only_root
class IntruderInADirectoryMountForOrdinaryUsers(IntruderInADirectoryMount):
    user = mounting.NOBODY


class UnmountGuards(mounting.ConfinedCase):
    """Privileges and descriptors of the process that unmounts after its daemon has died."""

    def guarded_mount(self, user=None):
        """Returns a mount that has answered a request; its unmount guard is running then."""
        mounted = self.mount(mounting.sample(SAMPLE), user=user, options=("sandbox=yes",))
        self.assertEqual(mounting.run("ls", mounted / "records", user=user).returncode, 0)
        return mounted

    def status(self, user=None):
        """Returns {name: value} of the unmount guard's /proc/PID/status, and {number: target} of its descriptors."""
        mounted = self.guarded_mount(user)
        (guard,) = mounting.unmount_guards(mounted.point)
        process = Path(f"/proc/{guard}")
        # It is fully confined once it waits on its socket.
        mounting.wait_for(lambda: re.match(r"\d+ 0x3 ", (process / "syscall").read_text()), "the unmount guard to wait")
        opened = {int(number.name): os.readlink(number) for number in (process / "fd").iterdir()}
        fields = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual(mounted.wait(), 0)
        return fields, opened

    def assert_only_its_socket_is_open(self, opened):
        self.assertEqual([opened.pop(number) for number in range(3)], ["/dev/null"] * 3)
        self.assertEqual(len(opened), 1, opened)
        self.assertRegex(opened[3], "^socket:")

    @mounting.only_root
    def test_guard_of_root_keeps_only_capabilities_for_unmounting(self):
        fields, opened = self.status()
        self.assert_only_its_socket_is_open(opened)
        self.assertEqual(fields["NoNewPrivs"].strip(), "1")
        self.assertEqual(fields["Seccomp"].strip(), "2")
        allowed = sum(1 << number for number in (1, 2, 3, 21))  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SYS_ADMIN
        for name in ("CapEff", "CapPrm"):
            self.assertEqual(int(fields[name], 16) & ~allowed, 0, name)

    @mounting.only_root
    def test_guard_of_an_ordinary_user_has_no_capabilities(self):
        fields, opened = self.status(mounting.NOBODY)
        self.assert_only_its_socket_is_open(opened)
        self.assertEqual([int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh")], [0] * 3)

    def test_guard_unmounts_when_its_daemon_is_killed(self):
        mounted = self.guarded_mount()
        mounted.daemon.kill()
        mounting.wait_for(lambda: not mounted.is_mounted(), "the end of the mount")


if __name__ == "__main__":
    mounting.main()
