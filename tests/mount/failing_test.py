#!/usr/bin/env python3
"""A mount in the background: the command returns once it is mounted, or prints one line and exits with a status."""
import os
import socket
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
CANNOT_OPEN = 2
CANNOT_MOUNT = 3


class Succeeding(mounting.Case):
    def test_command_returns_once_the_mount_is_usable(self):
        for _ in range(5):
            point = self.new_point()
            done = self.recordfs(mounting.sample(SAMPLE), point)
            self.assertTrue((point / "info.json").is_file())
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(len(mounting.daemons(point)), 1)

    def test_pipe_of_the_shell_is_closed(self):
        point = self.new_point()
        done = mounting.run("bash", "-c", 'x=$("$@" 2>&1); echo "[$x]"', "bash", mounting.program("recordfs"),
                            mounting.sample(SAMPLE), point, env=self.environment(), timeout=20)
        self.assertEqual(done.stdout, "[]\n")

    def test_descriptors_of_the_shell_are_closed(self):
        other = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, other)
        point = self.new_point()
        self.recordfs(mounting.sample(SAMPLE), point, pass_fds=[other])
        for process in mounting.processes(point):
            opened = [os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir()]
            self.assertNotIn(str(self.folder), opened)

    def test_command_succeeds_only_if_the_mount_answers(self):
        """However little memory there is."""
        outcomes = set()
        for mebibytes in (20, 40, 60, 80, 100, 120, 160, 200, 400, 4000):
            point = self.new_point()
            done = mounting.run("prlimit", f"--as={mebibytes << 20}", mounting.program("recordfs"), mounting.sample(SAMPLE), point,
                                env=self.environment())
            outcomes.add(done.returncode == 0)
            self.assertEqual(str(point) in mounting.mounts(), done.returncode == 0, (mebibytes, done))
            if done.returncode == 0:
                self.assertTrue((point / "info.json").is_file(), mebibytes)
        self.assertEqual(outcomes, {False, True})

    @mounting.only_root
    def test_command_fails_without_processes(self):
        point = self.new_point(mounting.NOBODY)
        for most in (1, 2, 3, 4, 6, 8):
            done = mounting.run("prlimit", f"--nproc={most}", mounting.program("recordfs"), mounting.sample(SAMPLE), point,
                                user=mounting.NOBODY, env=self.environment(mounting.NOBODY))
            self.assertEqual(str(point) in mounting.mounts(), done.returncode == 0, (most, done))
            if done.returncode == 0:
                self.assertEqual(mounting.run("fusermount3", "-u", point, user=mounting.NOBODY).returncode, 0)
            else:
                self.assertTrue(done.stderr)

    def test_daemon_does_not_keep_the_working_directory(self):
        point = self.new_point()
        self.recordfs(mounting.sample(SAMPLE), point, cwd=self.folder)
        self.assertEqual(os.readlink(f"/proc/{mounting.daemons(point)[0]}/cwd"), "/")


class Failing(mounting.Case):
    def assert_fails(self, status, *sources, point=None, message="", user=None, options=()):
        point = point or self.new_point(user)
        before = mounting.mounts()
        done = self.recordfs(*sources, point, *options, user=user)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertRegex(done.stderr, r"^recordfs: /")
        self.assertEqual(mounting.mounts(), before)
        self.assertEqual(mounting.daemons(point), [])
        return done.stderr

    def file(self, name, content=b""):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_file_that_is_not_a_container_is_refused(self):
        for content in (b"plain text\n" * 100, os.urandom(50000), bytes(65536), b"x"):
            self.assert_fails(CANNOT_OPEN, self.file("something.txt", content), message="something.txt")

    def test_empty_file_with_a_known_extension_has_no_records(self):
        for name in ("new.riegeli", "000004.log"):
            point = self.new_point()
            done = self.recordfs(self.file(name), point)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(os.listdir(point / "records"), [])

    def test_newline_in_a_name_is_escaped(self):
        self.assert_fails(CANNOT_OPEN, self.file("some\nthing.txt", b"text"), message="some\\x0athing.txt: not a record container")

    def test_missing_file_is_reported(self):
        self.assert_fails(CANNOT_OPEN, self.folder / "gone", message="No such file")

    def test_missing_source_that_is_also_the_mount_point_is_not_made(self):
        path = self.folder / "missing"
        for _ in range(5):
            self.assert_fails(CANNOT_OPEN, path, point=path, message="No such file")
            self.assertFalse(path.exists())

    def test_sources_that_are_neither_file_nor_device_are_refused(self):
        os.mkfifo(self.folder / "pipe")
        self.assert_fails(CANNOT_OPEN, self.folder / "pipe", message="pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.folder / "socket"))
            self.assert_fails(CANNOT_OPEN, self.folder / "socket", message="socket")
        self.assert_fails(CANNOT_OPEN, "/dev/null", message="/dev/null")

    def test_missing_folder_of_the_mount_point_is_reported(self):
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=self.folder / "gone" / "mnt", message="No such file")

    def test_file_as_mount_point_is_refused(self):
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=self.file("plain"), message="not a directory")

    def test_mount_point_in_use_is_refused(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        self.assert_fails_over(mounted.point, "mounted")
        self.assertEqual(len(os.listdir(mounted / "records")), 500)

    def assert_fails_over(self, point, message):
        done = self.recordfs(mounting.sample(SAMPLE), point)
        self.assertEqual((done.returncode, done.stdout), (CANNOT_MOUNT, ""))
        self.assertRegex(done.stderr, rf"^recordfs: .*{message}.*\n$")


@mounting.only_root
class FailingForOrdinaryUsers(Failing):
    """The same as an ordinary user, and failures that only such a user meets."""

    def assert_fails(self, status, *sources, user=mounting.NOBODY, **more):
        return super().assert_fails(status, *sources, user=user, **more)

    def test_unreadable_file_is_reported(self):
        source = self.copy(SAMPLE)
        source.chmod(0o600)
        self.assert_fails(CANNOT_OPEN, source, message="Permission denied")

    def test_unreadable_directory_is_reported(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o700)
        self.assert_fails(CANNOT_OPEN, folder, message="Permission denied")

    def test_mount_point_of_another_user_is_refused(self):
        point = self.folder / "theirs"
        point.mkdir(mode=0o755)
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=point, message=f"{point}: cannot mount: user has no")

    def test_allow_other_needs_user_allow_other(self):
        mounting.run("mount", "--bind", "/dev/null", "/etc/fuse.conf")
        self.addCleanup(mounting.run, "umount", "/etc/fuse.conf")
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), options=["-o", "allow_other"], message="user_allow_other")


if __name__ == "__main__":
    mounting.main()
