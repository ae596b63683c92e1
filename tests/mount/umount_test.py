#!/usr/bin/env python3
"""recordfs mounts lists mounts, and recordfs umount ends them."""
import json
import os
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
GOOD, CANNOT_MOUNT = 0, 3


class Case(mounting.Case):
    def setUp(self):
        super().setUp()
        self.here = self.folder / "here"
        self.here.mkdir()
        self.copy(SAMPLE, "here/data.riegeli")

    def run_here(self, *words, status=GOOD):
        done = self.recordfs(*words, cwd=self.here)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, *words):
        self.run_here("mount", *words)
        return self.here / words[-1]

    def listed(self):
        """Returns the mounts below the case's folder by name, as JSON lists them."""
        lines = [json.loads(line) for line in self.run_here("mounts", "--json").stdout.splitlines()]
        return {os.path.basename(line["mountpoint"]): line for line in lines
                if line["mountpoint"].startswith(f"{self.folder}/")}


class Mounts(Case):
    def test_mounts_are_listed_with_their_daemons(self):
        one, two = self.start("data.riegeli", "one"), self.start(self.here / "data.riegeli", "two words")
        listed = self.listed()
        self.assertEqual({name: line["source"] for name, line in listed.items()},
                         {"one": str(self.here / "data.riegeli"), "two words": str(self.here / "data.riegeli")})
        for point, name in ((one, "one"), (two, "two words")):
            self.assertEqual(listed[name]["mountpoint"], str(point))
            self.assertEqual([listed[name]["pid"]], mounting.daemons(name))
            self.assertLess(listed[name]["uptime"], mounting.PATIENCE)

    def test_line_has_four_fields(self):
        point = self.start("data.riegeli", "one")
        line = next(line for line in self.run_here("mounts").stdout.splitlines() if str(point) in line)
        self.assertRegex(line, rf"\A{self.here}/data\.riegeli\t{point}\t{mounting.daemons('one')[0]}\t(\d+m )?\d+s\Z")

    def test_mount_without_a_daemon_has_no_process(self):
        self.start("data.riegeli", "one")
        # All at once: the guard would unmount.
        for signal in (mounting.signal.SIGSTOP, mounting.signal.SIGKILL):
            for process in mounting.processes("one"):
                os.kill(process, signal)
        mounting.wait_for(lambda: not mounting.processes("one"), "the daemon's end")
        listed = self.listed()
        self.assertEqual((listed["one"]["pid"], listed["one"]["uptime"]), (None, None))
        self.assertIn(f"{self.here}/one\t-\t-\n", self.run_here("mounts").stdout)
        self.run_here("umount", "one")
        self.assertEqual(self.listed(), {})


# A process that claims to serve a mount point: its name, and a memory file. Arguments: the mount point, and the size.
CLAIM = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, b"recordfs-x", 0, 0, 0)
if sys.argv[2] == "fifo":
    os.open("/memfd:recordfs-mount (deleted)", os.O_RDWR)
else:
    mark = os.memfd_create("recordfs-mount")
    os.write(mark, sys.argv[1].encode() + bytes(1))
    os.ftruncate(mark, max(int(sys.argv[2]), len(sys.argv[1]) + 1))
print(flush=True)
time.sleep(1000)
"""


@mounting.only_root
class MountsAsRoot(Case):
    """Processes of any user can look like daemons."""

    def claim(self, point, size):
        claiming = self.enter(mounting.started("/usr/bin/python3", "-c", CLAIM, point, size, user=mounting.NOBODY))
        claiming.stdout.readline()
        return claiming

    def test_process_of_another_user_is_not_shown_as_the_daemon(self):
        point = self.start("data.riegeli", "one")
        self.claim(point, 0)
        self.assertEqual([self.listed()["one"]["pid"]], mounting.daemons("one"))

    def test_fifos_and_large_files_of_users_with_mounts_are_not_read(self):
        mounted = self.mount(self.here / "data.riegeli", user=mounting.NOBODY)
        fifo = Path("/memfd:recordfs-mount (deleted)")
        os.mkfifo(fifo, 0o666)
        self.addCleanup(fifo.unlink)
        fifo.chmod(0o666)
        self.claim(mounted.point, "fifo")
        self.claim(mounted.point, 1 << 40)
        done = self.recordfs("mounts", "--json", timeout=10)
        pids = [line["pid"] for line in map(json.loads, done.stdout.splitlines()) if line["mountpoint"] == str(mounted.point)]
        self.assertEqual(pids, [mounted.daemon.pid])
        self.assertEqual(mounted.unmount(), 0)


class Umount(Case):
    def test_mount_point_is_unmounted_and_removed(self):
        for word in ("new", self.here / "new", "./new/", "data.riegeli", self.here / "data.riegeli"):
            self.start("data.riegeli", "new")
            done = self.run_here("umount", word)
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            self.assertEqual(os.listdir(self.here), ["data.riegeli"])
            self.assertEqual(mounting.daemons("new"), [])

    def test_source_of_two_mounts_is_refused(self):
        points = [self.start("data.riegeli", name) for name in ("one", "two")]
        done = self.run_here("umount", "data.riegeli", status=CANNOT_MOUNT)
        self.assertEqual(done.stderr,
                         f"recordfs: data.riegeli: mounted at {points[0]} and {points[1]} (name one of them)\n")
        self.assertEqual(len(self.listed()), 2)

    def test_what_is_not_mounted_is_reported_and_the_rest_unmounted(self):
        self.start("data.riegeli", "one")
        done = self.run_here("umount", "none", "one", status=CANNOT_MOUNT)
        self.assertEqual(done.stderr, "recordfs: none: not mounted (recordfs mounts lists what is)\n")
        self.assertEqual(self.listed(), {})

    def test_mount_of_another_program_is_left_alone(self):
        done = self.run_here("umount", "/proc", status=CANNOT_MOUNT)
        self.assertEqual(done.stderr, "recordfs: /proc: a mount of type proc, not of recordfs (try: umount)\n")

    def test_mount_in_use_is_only_detached(self):
        point = self.start("data.riegeli", "one")
        with open(point / "records/000000042", "rb") as file:
            done = self.run_here("umount", "one", status=CANNOT_MOUNT)
            self.assertEqual(done.stderr,
                             f"recordfs: {point}: cannot unmount: it is in use, or another user's (try: --lazy)\n")
            self.run_here("umount", "--lazy", "one")
            self.assertEqual(self.listed(), {})
            self.assertTrue(file.read())
        mounting.wait_for(lambda: not mounting.daemons("one"), "the daemon's end")


if __name__ == "__main__":
    mounting.main()
