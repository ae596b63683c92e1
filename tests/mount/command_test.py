#!/usr/bin/env python3
"""Mount points that the program creates, names and removes: `recordfs mount`, and the form without a command."""
import os
import signal

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"


class Case(mounting.Case):
    """Runs the commands in a new current directory that belongs to the user."""

    user = None

    def setUp(self):
        super().setUp()
        self.here = self.folder / "here"
        self.here.mkdir()
        self.copy(SAMPLE, "here/data.riegeli")
        if self.user is not None:
            os.chown(self.here, self.user, self.user)

    def start(self, *words, status=0):
        done = self.recordfs(*words, user=self.user, cwd=self.here)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def assert_serves(self, point):
        done = mounting.run("ls", self.here / point / "records", user=self.user)
        self.assertEqual(done.stdout.count("\n"), 500, done.stderr)

    def unmount(self, point):
        self.assertEqual(mounting.run("fusermount3", "-u", self.here / point, user=self.user).returncode, 0)

    def wait_until_gone(self, point):
        mounting.wait_for(lambda: point not in self.listing(), f"the end of {point}")

    def listing(self):
        return sorted(os.listdir(self.here))


class Making(Case):
    def test_form_without_a_command_creates_and_removes_the_mount_point(self):
        done = self.start("data.riegeli", "new")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assert_serves("new")
        self.unmount("new")
        self.wait_until_gone("new")

    def test_signal_removes_the_mount_point(self):
        self.start("mount", "data.riegeli", "new")
        self.assert_serves("new")
        for daemon in mounting.daemons("new"):
            os.kill(daemon, signal.SIGTERM)
        self.wait_until_gone("new")

    def test_foreground_mount_removes_the_mount_point(self):
        mounted = self.mount(self.here / "data.riegeli", point=self.here / "new", user=self.user)
        self.assert_serves("new")
        self.assertEqual(mounted.unmount(), 0)
        self.assertFalse((self.here / "new").exists())

    def test_auto_unmount_removes_the_mount_point(self):
        self.start("data.riegeli", "new", "-o", "auto_unmount")
        self.assert_serves("new")
        self.unmount("new")
        self.wait_until_gone("new")

    def test_lazy_unmount_removes_the_mount_point_once_it_is_unused(self):
        self.start("data.riegeli", "new")
        with mounting.started("sh", "-c", "cd new && echo && exec sleep 1000", user=self.user, cwd=self.here) as inside:
            inside.stdout.read(1)
            self.assertEqual(mounting.run("fusermount3", "-u", "-z", self.here / "new", user=self.user).returncode, 0)
            self.assertEqual(len(mounting.daemons("new")), 1)
        self.wait_until_gone("new")

    def test_failed_mount_leaves_no_mount_point(self):
        (self.here / "plain.txt").write_text("no container\n", encoding="utf-8")
        self.start("plain.txt", "new", status=2)
        self.start("mount", "plain.txt", status=2)
        self.start("mount", "data.riegeli", "missing.riegeli", "new", status=2)
        self.start("data.riegeli", "new", "-o", "context=nonsense,max_read=4096,allow_other,allow_root", status=3)
        self.assertEqual(self.listing(), ["data.riegeli", "plain.txt"])


class Naming(Case):
    def test_mount_point_is_named_after_the_file(self):
        self.assertEqual(self.start("mount", "data.riegeli").stdout, "data\n")
        self.assert_serves("data")
        self.unmount("data")
        self.wait_until_gone("data")

    def test_second_mount_gets_another_name(self):
        self.assertEqual(self.start("mount", "data.riegeli").stdout, "data\n")
        self.assertEqual(self.start("mount", "data.riegeli").stdout, "data.mnt\n")
        self.assert_serves("data.mnt")
        done = self.start("mount", "data.riegeli", status=3)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("data.mnt: cannot mount: the name is taken", done.stderr)

    def test_name_with_a_newline_is_mounted_and_removed(self):
        (self.here / "data.riegeli").rename(self.here / "da\nta.riegeli")
        self.assertEqual(self.start("mount", "da\nta.riegeli").stdout, "da\nta\n")
        self.assert_serves("da\nta")
        self.unmount("da\nta")
        self.wait_until_gone("da\nta")

    def test_missing_mount_point_is_reported_with_a_hint(self):
        done = self.start("data.riegeli", status=1)
        self.assertEqual(done.stderr, "recordfs: no mount point given (recordfs mount data.riegeli creates one) (try recordfs --help)\n")
        self.assertEqual(self.listing(), ["data.riegeli"])

    def test_options_after_mount_belong_to_mount(self):
        for flag in ("--help", "-h"):
            self.assertIn("recordfs mount [OPTION]", self.start("mount", flag).stdout.splitlines()[2])
        self.assertIn("no source", self.start("mount", status=1).stderr)
        self.assertIn("--frobnicate", self.start("mount", "--frobnicate", status=1).stderr)


@mounting.only_root
class MakingForOrdinaryUsers(Making):
    user = mounting.NOBODY


@mounting.only_root
class NamingForOrdinaryUsers(Naming):
    user = mounting.NOBODY


if __name__ == "__main__":
    mounting.main()
