#!/usr/bin/env python3
"""Mounts that end without a command: -o timeout and -o auto_unmount."""
import os
import signal
import subprocess

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"


class Idle(mounting.Case):
    user = None

    def start(self, *flags, options=("timeout=1",)):
        return self.mount(mounting.sample(SAMPLE), flags=["-f", "-v", *flags], options=options, user=self.user)

    def names_in(self, mounted):
        return mounting.run("ls", mounted / "records", user=self.user).stdout.split()

    def test_unused_mount_ends_with_status_0(self):
        mounted = self.start()
        self.assertEqual(mounted.wait(), 0)
        self.assertFalse(mounted.is_mounted())
        self.assertEqual(os.listdir(mounted.point), [])

    def test_mount_ends_after_its_last_use(self):
        mounted = self.start()
        self.assertEqual(len(self.names_in(mounted)), 500)
        self.assertEqual(mounted.wait(), 0)
        self.assertFalse(mounted.is_mounted())

    def test_background_mount_ends_and_removes_its_mount_point(self):
        point = self.new_point(self.user) / "made"
        self.assertEqual(self.recordfs(mounting.sample(SAMPLE), point, "-o", "timeout=1", user=self.user).returncode, 0)
        mounting.wait_for(lambda: str(point) not in mounting.mounts() and not mounting.daemons(point), "the end")
        mounting.wait_for(lambda: point.name not in os.listdir(point.parent), "the directory to be removed")

    def assert_stays_while(self, mounted, command):
        """The mount stays as long as the command runs, without any request."""
        with mounting.started("sh", "-c", f"{command}; echo; read end", stdin=subprocess.PIPE, user=self.user) as using:
            using.stdout.read(1)
            before = mounted.log().count("in use")
            mounting.wait_for(lambda: mounted.log().count("in use") >= before + 2, "two attempts to unmount")
            self.assertTrue(mounted.is_mounted())
            self.assertIsNone(mounted.daemon.poll())
            # Not killed: the kernel would interrupt the FLUSH of its file. libfuse frees an interrupt that comes after the
            # reply with the next request, and there is none.
            using.stdin.close()
            using.wait(mounting.PATIENCE)
        self.assertEqual(mounted.wait(), 0)
        self.assertFalse(mounted.is_mounted())

    def test_open_file_keeps_the_mount(self):
        mounted = self.start()
        self.assert_stays_while(mounted, f"exec 3<{mounted.point}/records/000000001")

    def test_current_directory_keeps_the_mount(self):
        mounted = self.start()
        self.assert_stays_while(mounted, f"cd {mounted.point}/records")

    def test_signals_do_not_postpone_the_end(self):
        mounted = self.start()

        def has_ended():
            if mounted.daemon.poll() is None:
                mounted.send(signal.SIGUSR1)
            return mounted.daemon.poll() is not None
        mounting.wait_for(has_ended, "the end")
        self.assertEqual(mounted.wait(), 0)

    def test_signals_are_handled_between_two_checks(self):
        for number in (signal.SIGUSR1, signal.SIGTERM):
            mounted = self.start(options=["timeout=1000"])
            mounted.send(signal.SIGUSR1)
            mounted.wait_for_log("requests: ")
            mounted.send(number)
            if number == signal.SIGTERM:
                self.assertEqual(mounted.wait(), 0)
            else:
                self.assertEqual(mounted.unmount(), 0)


@mounting.only_root
class IdleForOrdinaryUsers(Idle):
    user = mounting.NOBODY


class AutoUnmount(mounting.Case):
    user = None
    more_options = ()

    def test_mount_of_a_killed_daemon_is_unmounted(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["auto_unmount", *self.more_options], user=self.user)
        listing = mounting.run("ls", mounted / "records", user=self.user)
        self.assertEqual(listing.stdout.count("\n"), 500, listing.stderr)
        mounted.send(signal.SIGKILL)
        self.assertEqual(mounted.wait(), -signal.SIGKILL)
        mounting.wait_for(lambda: not mounted.is_mounted(), "the mount's end")
        self.assertEqual(os.listdir(mounted.point), [])

    def test_timeout_works_with_auto_unmount(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["auto_unmount,timeout=1"], user=self.user)
        self.assertEqual(mounted.wait(), 0)
        self.assertFalse(mounted.is_mounted())


@mounting.only_root
class AutoUnmountForOrdinaryUsers(AutoUnmount):
    """fusermount3 checks the mount as root, which needs allow_root before 3.15."""

    user = mounting.NOBODY
    more_options = ("allow_root",)

    def setUp(self):
        super().setUp()
        mounting.enable_user_allow_other(self)


if __name__ == "__main__":
    mounting.main()
