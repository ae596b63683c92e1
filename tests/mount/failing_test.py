#!/usr/bin/env python3
"""A mount in the background: the shell goes on when it stands, and learns in one line and a status why it does not."""
import os
import socket

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
CANNOT_OPEN = 2
CANNOT_MOUNT = 3


class Standing(mounting.Case):
    def test_mount_stands_when_the_shell_goes_on(self):
        for _ in range(5):
            point = self.new_point()
            done = self.recordfs(mounting.sample(SAMPLE), point)
            self.assertTrue((point / "info.json").is_file())
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(len(mounting.daemons(point)), 1)

    def test_pipe_of_the_shell_is_not_held_open(self):
        point = self.new_point()
        done = mounting.run("bash", "-c", 'x=$("$@" 2>&1); echo "[$x]"', "bash", mounting.program("recordfs"),
                            mounting.sample(SAMPLE), point, env=self.environment(), timeout=20)
        self.assertEqual(done.stdout, "[]\n")

    def test_daemon_does_not_hold_the_working_directory(self):
        point = self.new_point()
        self.recordfs(mounting.sample(SAMPLE), point, cwd=self.folder)
        self.assertEqual(os.readlink(f"/proc/{mounting.daemons(point)[0]}/cwd"), "/")


class Failing(mounting.Case):
    def assert_fails(self, status, *sources, point=None, saying="", user=None, options=()):
        point = point or self.new_point(user)
        before = mounting.mounts()
        done = self.recordfs(*sources, point, *options, user=user)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(saying, done.stderr)
        self.assertRegex(done.stderr, r"^recordfs: /")
        self.assertEqual(mounting.mounts(), before)
        self.assertEqual(mounting.daemons(point), [])
        return done.stderr

    def file(self, name, content=b""):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_file_that_is_no_container(self):
        for content in (b"plain text\n" * 100, os.urandom(50000), bytes(65536), b"x"):
            self.assert_fails(CANNOT_OPEN, self.file("something.txt", content), saying="something.txt")

    def test_empty_file_of_an_unknown_name(self):
        self.assert_fails(CANNOT_OPEN, self.file("nothing.txt"), saying="nothing.txt")

    def test_empty_file_of_a_known_name_has_no_records(self):
        for name in ("new.riegeli", "000004.log"):
            point = self.new_point()
            done = self.recordfs(self.file(name), point)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(os.listdir(point / "records"), [])

    def test_name_with_a_newline_is_no_second_line(self):
        self.assert_fails(CANNOT_OPEN, self.file("some\nthing.txt", b"text"), saying="some\\x0athing.txt: no container")

    def test_file_that_is_missing(self):
        self.assert_fails(CANNOT_OPEN, self.folder / "gone", saying="No such file")

    def test_one_of_several_sources_is_missing(self):
        self.assert_fails(CANNOT_OPEN, mounting.sample(SAMPLE), self.folder / "gone", saying="gone: ")

    def test_sources_that_are_neither_file_nor_device(self):
        os.mkfifo(self.folder / "pipe")
        self.assert_fails(CANNOT_OPEN, self.folder / "pipe", saying="pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.folder / "socket"))
            self.assert_fails(CANNOT_OPEN, self.folder / "socket", saying="socket")
        self.assert_fails(CANNOT_OPEN, "/dev/null", saying="/dev/null")

    def test_link_that_leads_nowhere(self):
        (self.folder / "link").symlink_to("nowhere")
        self.assert_fails(CANNOT_OPEN, self.folder / "link", saying="link")

    def test_folder_of_the_mount_point_is_missing(self):
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=self.folder / "gone" / "mnt", saying="No such file")

    def test_mount_point_is_a_file(self):
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=self.file("plain"), saying="not a directory")

    def test_mount_point_is_a_mount_already(self):
        standing = self.mount(mounting.sample(SAMPLE))
        self.assert_fails_over(standing.point, "mounted")
        self.assertEqual(len(os.listdir(standing / "records")), 500)

    def assert_fails_over(self, point, saying):
        done = self.recordfs(mounting.sample(SAMPLE), point)
        self.assertEqual((done.returncode, done.stdout), (CANNOT_MOUNT, ""))
        self.assertRegex(done.stderr, rf"^recordfs: .*{saying}.*\n$")

    def test_mount_point_is_not_empty(self):
        point = self.new_point()
        (point / "something").touch()
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=point, saying="not empty")

    def test_failing_source_says_more_than_a_number(self):
        said = self.assert_fails(CANNOT_OPEN, self.file("notes.txt", b"text\n"))
        self.assertIn("no container of a known format", said)


@mounting.only_root
class FailingForOrdinaryUsers(Failing):
    """The same as an ordinary user sees it, and what only such a user meets."""

    def assert_fails(self, status, *sources, user=mounting.NOBODY, **more):
        return super().assert_fails(status, *sources, user=user, **more)

    def test_file_that_may_not_be_read(self):
        source = self.copy(SAMPLE)
        source.chmod(0o600)
        self.assert_fails(CANNOT_OPEN, source, saying="Permission denied")

    def test_directory_that_may_not_be_read(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o700)
        self.assert_fails(CANNOT_OPEN, folder, saying="Permission denied")

    def test_file_in_a_folder_that_may_not_be_entered(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o700)
        self.copy(SAMPLE, "closed/in.riegeli")
        self.assert_fails(CANNOT_OPEN, folder / "in.riegeli", saying="Permission denied")

    def test_mount_point_of_somebody_else(self):
        point = self.folder / "theirs"
        point.mkdir(mode=0o755)
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), point=point, saying=f"{point}: cannot mount: user has no")

    def test_mount_for_others_without_leave_to_do_so(self):
        mounting.run("mount", "--bind", "/dev/null", "/etc/fuse.conf")
        self.addCleanup(mounting.run, "umount", "/etc/fuse.conf")
        self.assert_fails(CANNOT_MOUNT, mounting.sample(SAMPLE), options=["-o", "allow_other"], saying="user_allow_other")


if __name__ == "__main__":
    mounting.main()
