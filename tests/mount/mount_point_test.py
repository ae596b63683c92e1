#!/usr/bin/env python3
"""Where a source can be mounted: on an empty directory, on another filesystem's root, on an automounter's trigger."""
import ctypes
import fcntl
import os
import struct
import threading

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
GOOD, CANNOT_MOUNT = 0, 3


class OnFileSystems(mounting.Case):
    def assert_serves(self, point):
        self.assertEqual(mounting.mounts()[str(point)][0], "fuse.recordfs")
        self.assertEqual(len(os.listdir(point / "records")), 500)

    @mounting.only_root
    def test_root_of_a_new_tmpfs_can_be_a_mount_point(self):
        point = self.new_point()
        self.assertEqual(mounting.run("mount", "-t", "tmpfs", "none", point).returncode, 0)
        self.addCleanup(mounting.run, "umount", "-l", point)
        self.assertEqual(self.recordfs(mounting.sample(SAMPLE), point).returncode, GOOD)
        self.assert_serves(point)
        self.assertEqual(mounting.run("umount", point).returncode, 0)
        self.assertEqual(mounting.mounts()[str(point)][0], "tmpfs")

    @mounting.only_root
    def test_filesystem_with_files_needs_nonempty(self):
        point = self.new_point()
        self.assertEqual(mounting.run("mount", "-t", "tmpfs", "none", point).returncode, 0)
        self.addCleanup(mounting.run, "umount", "-l", point)
        (point / "file").touch()
        done = self.recordfs(mounting.sample(SAMPLE), point)
        self.assertEqual(done.returncode, CANNOT_MOUNT)
        self.assertIn("the directory is not empty (try: -o nonempty)", done.stderr)
        self.assertEqual(self.recordfs(mounting.sample(SAMPLE), point, "-o", "nonempty").returncode, GOOD)
        self.assert_serves(point)
        self.assertEqual(mounting.run("umount", point).returncode, 0)

    def test_second_mount_of_recordfs_at_one_place_is_refused(self):
        point = self.mount(mounting.sample(SAMPLE)).point
        done = self.recordfs(mounting.sample(SAMPLE), point)
        self.assertEqual(done.returncode, CANNOT_MOUNT)
        self.assertIn("recordfs has already mounted a source there (try: recordfs umount)", done.stderr)


class Automounter:
    """Serves a direct trigger, as systemd does for x-systemd.automount: mounts when another process group accesses it."""

    MISSING_DIRECT = 5
    READY, FAIL = 0x9360, 0x9361
    PACKET = struct.Struct("=iiIIQIIIII256s")

    def __init__(self, point, mount):
        self._mount = mount
        self.statuses = []
        requests, kernels = os.pipe()
        os.set_inheritable(kernels, True)
        data = f"fd={kernels},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
        mounting.mount2("systemd-1", point, "autofs", 0, data)
        os.close(kernels)
        self._requests = requests
        self._root = os.open(point, os.O_RDONLY | os.O_DIRECTORY)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while len(packet := os.read(self._requests, 1024)) >= self.PACKET.size:
            _, kind, token = self.PACKET.unpack_from(packet)[:3]
            status = self._mount() if kind == self.MISSING_DIRECT else 1
            self.statuses.append(status)
            fcntl.ioctl(self._root, self.READY if status == 0 else self.FAIL, token)

    def close(self):
        os.close(self._root)


@mounting.only_root
class OnTriggers(mounting.Case):
    def setUp(self):
        super().setUp()
        self.point = self.new_point()
        self.source = self.copy(SAMPLE)
        (self.folder / "mount.recordfs").symlink_to(mounting.program("recordfs"))

    def automount(self, *command):
        try:
            automounter = Automounter(self.point, lambda: mounting.run(*command, env=self.environment()).returncode)
        except OSError as error:
            self.skipTest(f"the kernel has no autofs: {error}")
        self.addCleanup(lambda: ctypes.CDLL(None).umount2(os.fsencode(self.point), 2))
        self.addCleanup(automounter.close)
        return automounter

    def check(self, *command):
        automounter = self.automount(*command)
        # Another process group: the automounter's own is let through.
        listed = mounting.run("ls", self.point / "records", start_new_session=True)
        self.assertEqual((listed.stderr, listed.stdout.count("\n")), ("", 500))
        self.assertEqual(automounter.statuses, [GOOD])
        self.assertEqual(mounting.mounts()[str(self.point)][0], "fuse.recordfs")
        self.assertEqual(mounting.run("umount", self.point).returncode, 0)
        mounting.wait_for(lambda: not mounting.processes(self.point), "the daemon's end")
        self.assertEqual(mounting.mounts()[str(self.point)][0], "autofs")

    def test_direct_trigger_is_mounted_on_by_mount_recordfs(self):
        self.check(self.folder / "mount.recordfs", self.source, self.point, "-o", "rw,x-systemd.automount")

    def test_direct_trigger_is_mounted_on_by_the_program(self):
        self.check(mounting.program("recordfs"), "mount", self.source, self.point)

    def test_daemon_of_a_trigger_can_be_killed(self):
        self.automount(self.folder / "mount.recordfs", self.source, self.point)
        mounting.run("ls", self.point / "records", start_new_session=True)
        os.kill(mounting.daemons(self.point)[0], mounting.signal.SIGKILL)
        mounting.wait_for(lambda: not mounting.processes(self.point), "the end")
        self.assertEqual(mounting.mounts()[str(self.point)][0], "autofs")


if __name__ == "__main__":
    mounting.main()
