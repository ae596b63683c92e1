#!/usr/bin/env python3
"""How a mount ends, and where its daemon logs."""
import contextlib
import mmap
import os
import signal
import socket

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
OTHER = "riegeli/simple_snappy.riegeli"


class Ending(mounting.Case):
    def assert_nothing_left(self, mounted, status=0):
        self.assertEqual(mounted.wait(), status, mounted.log())
        self.assertNotIn(str(mounted.point), mounting.mounts())
        self.assertEqual(mounting.daemons(mounted.point), [])
        self.assertEqual(os.listdir(mounted.point), [])

    def test_unmounting_ends_the_daemon_with_status_0(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        os.listdir(mounted / "records")
        self.assertEqual(mounted.unmount(), 0)
        self.assert_nothing_left(mounted)
        self.assertEqual(mounted.log(), "")

    def test_unmounting_at_once_leaves_nothing(self):
        for _ in range(10):
            mounted = self.mount(mounting.sample(SAMPLE))
            os.lstat(mounted / "info.json")  # waits until the mount is complete
            self.assertEqual(mounted.unmount(), 0)
            self.assert_nothing_left(mounted)

    def test_signals_unmount_and_end_the_daemon_with_status_0(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for used in (False, True):
                mounted = self.mount(mounting.sample(SAMPLE))
                if used:
                    os.listdir(mounted / "records")
                mounted.send(number)
                self.assert_nothing_left(mounted)
                self.assertEqual(mounted.log(), "")

    def test_signal_right_after_mounting_unmounts(self):
        for _ in range(10):
            mounted = self.mount(mounting.sample(SAMPLE))
            mounted.send(signal.SIGTERM)
            self.assert_nothing_left(mounted)

    def test_signal_unmounts_although_the_caller_blocks_sigusr2(self):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        self.addCleanup(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        mounted = self.mount(mounting.sample(SAMPLE))
        os.listdir(mounted / "records")
        mounted.send(signal.SIGTERM)
        self.assert_nothing_left(mounted)
        self.assertEqual(mounted.log(), "")

    def test_signal_that_the_caller_ignores_is_ignored(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        mounted = self.mount(mounting.sample(SAMPLE))
        mounted.send(signal.SIGHUP)
        self.assertEqual(len(os.listdir(mounted / "records")), 1250)
        self.assertIsNone(mounted.daemon.poll())
        self.assertEqual(mounted.unmount(), 0)

    def test_sigpipe_does_not_end_the_daemon(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        mounted.send(signal.SIGPIPE)
        self.assertEqual(len(os.listdir(mounted / "records")), 1250)

    def test_signal_ends_a_daemon_in_the_background(self):
        for _ in range(10):  # the signal arrives at different points of the start
            point = self.new_point()
            self.recordfs(mounting.sample(SAMPLE), point)
            for daemon in mounting.daemons(point):
                os.kill(daemon, signal.SIGTERM)
            mounting.wait_for(lambda at=point: str(at) not in mounting.mounts() and not mounting.daemons(at), "the end")

    def kill(self, point):
        """Kills the daemon that serves a mount point."""
        mounting.wait_for(lambda: mounting.unmount_guards(point), "the unmount guard")
        os.kill(mounting.wait_for(lambda: mounting.daemons(point), "the daemon")[0], signal.SIGKILL)
        mounting.wait_for(lambda: not mounting.processes(point), "the end")

    def test_mount_point_of_a_killed_daemon_is_unmounted(self):
        point = self.new_point()
        for _ in range(3):
            self.mount(mounting.sample(SAMPLE), point=point)
            self.kill(point)
            self.assertNotIn(str(point), mounting.mounts())

    def test_mount_point_that_a_killed_daemon_created_is_removed(self):
        point = self.folder / "made"
        self.assertEqual(self.recordfs(mounting.sample(SAMPLE), point).returncode, 0)
        self.kill(point)
        self.assertFalse(point.exists())

    @mounting.only_root
    def test_mount_that_another_program_made_on_top_stays(self):
        point = self.mount(mounting.sample(SAMPLE)).point
        mounting.wait_for(lambda: mounting.unmount_guards(point), "the unmount guard")
        self.assertEqual(mounting.run("mount", "-t", "tmpfs", "none", point).returncode, 0)
        self.addCleanup(mounting.run, "umount", "-l", point)
        self.kill(point)
        self.assertEqual(mounting.mounts()[str(point)][0], "tmpfs")

    def test_open_file_is_readable_after_a_lazy_unmount(self):
        want = (self.mount(mounting.sample(SAMPLE)) / "streams/concat").read_bytes()
        mounted = self.mount(mounting.sample(SAMPLE))
        with (mounted / "streams/concat").open("rb", buffering=0) as file:
            first = file.read(1000)
            self.assertEqual(mounting.run("fusermount3", "-u", "-z", mounted.point).returncode, 0)
            self.assertEqual(os.listdir(mounted.point), [])
            self.assertIsNone(mounted.daemon.poll())
            self.assertEqual(first + file.readall(), want)
        self.assert_nothing_left(mounted)

    @mounting.only_root
    def test_lazily_unmounted_place_can_be_mounted_again(self):
        """After `umount -l`, open files of the old mount stay readable, and do not affect the new one."""
        first = self.mount(mounting.sample(SAMPLE))
        want = (first / "streams/concat").read_bytes()
        file = self.enter((first / "streams/concat").open("rb", buffering=0))
        folder = os.open(first / "records", os.O_RDONLY)
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        file.read(1000)
        self.assertEqual(mounting.run("umount", "-l", first.point).returncode, 0)
        second = self.mount(mounting.sample(OTHER), point=first.point)
        number = len(os.listdir(second / "records"))
        self.assertEqual(file.readall(), want[1000:])
        self.assertEqual(mapped[:], want)
        self.assertEqual(len(os.listdir(folder)), 1250)
        file.close()
        mapped.close()
        self.assertIsNone(first.daemon.poll())
        os.close(folder)
        self.assertEqual(first.wait(), 0)
        mounting.wait_for(lambda: len(mounting.unmount_guards(first.point)) == 1, "the first unmount guard to end")
        self.assertEqual(len(os.listdir(second / "records")), number)
        self.assertEqual(second.unmount(), 0)
        self.assert_nothing_left(second)

    def test_signal_unmounts_while_files_are_open(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        with contextlib.suppress(OSError), (mounted / "streams/concat").open("rb", buffering=0) as file:
            file.read(10)
            mounted.send(signal.SIGTERM)
            mounted.wait()
            file.read(10)
        self.assert_nothing_left(mounted)


class Logging(mounting.Case):
    def setUp(self):
        super().setUp()
        self.damaged = mounting.with_bit_flipped(self.copy(SAMPLE), 84003)

    def read_damage(self, point):
        for name in os.listdir(point / "records"):
            with contextlib.suppress(OSError):
                (point / "records" / name).read_bytes()

    @mounting.only_root
    def test_background_daemon_logs_to_the_system_log(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system_log:
            mounting.remove_system_log(self)
            system_log.bind("/dev/log")
            system_log.settimeout(mounting.PATIENCE)
            point = self.new_point()
            self.assertEqual(self.recordfs(self.damaged, point).returncode, 0)
            self.read_damage(point)
            lines = iter(lambda: system_log.recv(65536).decode(), "")
            line = next(line for line in lines if "byte" in line.replace(" bytes", ""))
            self.assertRegex(line, r"^<28>.* recordfs\[\d+\]: .*multiblock_zstd.riegeli: byte 83928: ")


if __name__ == "__main__":
    mounting.main()
