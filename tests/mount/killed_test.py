#!/usr/bin/env python3
"""Readers and daemons that are killed during a read: other readers go on, and mounts and processes end."""
import contextlib
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import mounting
import waiting_test

SAMPLE = waiting_test.SAMPLE
PAGE = 4096
FILE_NOT_KEPT = "cache_size=100k"  # less than the sample, so that reads of the stream read the source
# Copies a stream to stdout page by page. POSIX_FADV_RANDOM turns the kernel's read-ahead off.
READER = f"""
import os, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
file = os.open("streams/concat", os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
while data := os.read(file, {PAGE}):
    os.write(1, data)
"""


def is_waiting_for_a_page(reader):
    return Path(f"/proc/{reader.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "D"


class Reading(waiting_test.SlowSource):
    """A reader that has reached the middle of a stream, where reads of the source are stopped."""

    def setUp(self):
        super().setUp()
        self.records = subprocess.run([mounting.program("recordfs"), "cat", mounting.sample(SAMPLE)], check=True,
                                      stdout=subprocess.PIPE, timeout=mounting.PATIENCE).stdout
        chunks = mounting.expectation(SAMPLE)["chunks"]
        self.readable = sum(chunk["decoded_data_size"] for chunk in chunks if chunk["end"] <= waiting_test.HELD)

    def hold(self):
        """Stops reads of the source from the middle on. The mount has scanned the file before."""
        self.assertEqual(len(os.listdir(self.mounted / "records")), waiting_test.RECORDS)
        self.hold_reads_beyond(waiting_test.HELD)

    def start_reading(self):
        """Starts a reader that has copied everything readable and waits for the next page."""
        reader = self.start(sys.executable, "-c", READER)
        length = self.readable // PAGE * PAGE
        self.assertEqual(reader.stdout.read(length), self.records[:length])
        mounting.wait_for(lambda: is_waiting_for_a_page(reader), "the reader to wait")
        return reader


class KilledReaders(Reading):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.slow / "slow.riegeli", options=(FILE_NOT_KEPT,))
        self.hold()

    def assert_readable_and_unmount(self):
        """The whole stream is correct, and nothing is logged."""
        self.open_gate()
        self.assertEqual((self.mounted / "streams/concat").read_bytes(), self.records)
        self.assertEqual(self.mounted.unmount(), 0)
        self.assertEqual(self.mounted.log(), "")

    def test_killed_reader_ends_at_once_and_others_are_served(self):
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                reader = self.start_reading()
                reader.send_signal(number)
                self.assertEqual(reader.wait(waiting_test.AT_ONCE), -number)
                first = mounting.expectation(SAMPLE)["sample"][0]["sha256"]
                self.assertTrue(self.assert_answers("sha256sum", "records/0").startswith(first))
        self.assert_readable_and_unmount()

    def test_another_reader_of_the_same_page_continues(self):
        first, second = self.start_reading(), self.start_reading()
        first.kill()
        self.assertEqual(first.wait(waiting_test.AT_ONCE), -signal.SIGKILL)
        self.open_gate()
        self.assertEqual(second.stdout.read(), self.records[self.readable // PAGE * PAGE:])
        self.assertEqual(second.wait(mounting.PATIENCE), 0)
        self.assert_readable_and_unmount()

    def test_killed_direct_read_ends_with_its_reply(self):
        """Once the daemon has started a request, the kernel and the reader wait for the reply."""
        reader = self.start("dd", "if=streams/concat", "iflag=direct", "bs=1M")
        mounting.wait_for(lambda: Path(f"/proc/{reader.pid}/wchan").read_text(encoding="utf-8") != "0", "the reader to wait")
        reader.kill()
        self.assert_answers("sha256sum", "records/0")
        self.open_gate()
        self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)
        self.assert_readable_and_unmount()


class KilledDaemons(Reading):
    """Daemons killed during a read, in the foreground and the background: the place is unmounted and can be mounted again."""

    def setUp(self):
        super().setUp()
        self.point = self.new_point()

    def mount_anywhere(self, in_background):
        """Returns the daemon's process id."""
        if not in_background:
            self.mounted = self.mount(self.slow / "slow.riegeli", options=(FILE_NOT_KEPT,), point=self.point)
            return self.mounted.daemon.pid
        done = self.recordfs(self.slow / "slow.riegeli", self.point, "-o", FILE_NOT_KEPT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.mounted = InBackground(self.point)
        return mounting.daemons(self.point)[0]

    def assert_nothing_left(self):
        mounting.wait_for(lambda: not mounting.processes(self.point), "the end")
        self.assertNotIn(str(self.point), mounting.mounts())
        self.assertEqual(os.listdir(self.point), [])

    @contextlib.contextmanager
    def opened(self, path):
        """Opens a descriptor and closes it after the block, even if the block fails: children must not inherit it."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            yield descriptor
        finally:
            self.open_gate()  # before the close: a live daemon must answer FLUSH
            with contextlib.suppress(OSError):  # the daemon may be dead
                os.close(descriptor)

    def test_reader_fails_and_a_new_mount_serves(self):
        for in_background in (False, True):
            for number in (signal.SIGKILL, signal.SIGTERM):
                with self.subTest(in_background=in_background, number=number):
                    daemon = self.mount_anywhere(in_background)
                    mounting.wait_for(lambda: mounting.unmount_guards(self.point), "the unmount guard")
                    self.hold()
                    reader = self.start_reading()
                    with self.opened(self.mounted / "streams/concat") as held:
                        os.kill(daemon, number)
                        if number == signal.SIGTERM:
                            self.open_gate()  # the daemon waits for its threads
                        reader.communicate(timeout=mounting.PATIENCE)
                        self.assert_nothing_left()
                        # The reader may have read the page before the daemon ended.
                        os.posix_fadvise(held, 0, 0, os.POSIX_FADV_DONTNEED)
                        with self.assertRaises(OSError) as raised:
                            os.pread(held, PAGE, len(self.records) // PAGE * PAGE)
                        self.assertIn(raised.exception.errno, (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO))
                    self.open_gate()
                    again = self.mount_anywhere(in_background)
                    self.assertEqual((self.point / "streams/concat").read_bytes(), self.records)
                    os.kill(again, signal.SIGTERM)
                    mounting.wait_for(lambda: not mounting.daemons(self.point), "the end")
                    self.assert_nothing_left()


class DeadMounts(mounting.Case):
    """Mounts whose daemon and unmount guard were killed together, as when systemd kills a service."""

    user = None

    def kill_all_of(self, point, name):
        """Kills daemon and unmount guard of the mount that was made with `name`. Its connection is dead afterwards."""
        mounting.wait_for(lambda: mounting.unmount_guards(name), "the unmount guard")
        for process in (mounting.unmount_guards(name)[0], mounting.daemons(name)[0]):
            os.kill(process, signal.SIGKILL)
        mounting.wait_for(lambda: not mounting.processes(name), "the end")
        self.assertEqual(mounting.mounts()[str(point)][0], "fuse.recordfs")
        mounting.wait_for(lambda: self.is_dead(point), "the connection to be closed")

    def is_dead(self, point):
        return "Transport endpoint is not connected" in mounting.run("ls", point, user=self.user).stderr

    def assert_mounts(self, point, *words):
        done = self.recordfs(*words, user=self.user, cwd=point.parent)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(mounting.run("ls", point / "records", user=self.user).stdout.count("\n"), waiting_test.RECORDS)

    def test_next_mount_replaces_a_dead_mount(self):
        point = self.new_point(self.user)
        for name in (point, f"{point}/", point.name, f"./{point.name}"):
            self.assert_mounts(point, mounting.sample(SAMPLE), name)
            self.kill_all_of(point, name)
        self.assert_mounts(point, mounting.sample(SAMPLE), point)
        self.assertEqual(mounting.run("fusermount3", "-u", point, user=self.user).returncode, 0)
        self.assertNotIn(str(point), mounting.mounts())

    def test_dead_mount_with_a_space_in_its_name_is_replaced(self):
        point = self.new_point(self.user)
        point = point.rename(point.with_name("two words\\"))
        self.assert_mounts(point, mounting.sample(SAMPLE), point)
        self.kill_all_of(point, point)
        self.assert_mounts(point, mounting.sample(SAMPLE), point)

    def test_dead_mount_of_another_program_stays(self):
        (self.folder / "backing").mkdir()
        point = self.new_point(self.user)
        with mounting.started(mounting.program("slowfs"), self.folder / "backing", point, user=self.user) as other:
            mounting.wait_for(lambda: str(point) in mounting.mounts(), "slowfs")
            other.kill()
            other.wait()
        done = self.recordfs(mounting.sample(SAMPLE), point, user=self.user)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr, f"recordfs: {point}: cannot mount: Transport endpoint is not connected\n")
        self.assertEqual(mounting.mounts()[str(point)][0], "fuse.slowfs")


@mounting.only_root
class DeadMountsOfOrdinaryUsers(DeadMounts):
    user = mounting.NOBODY


class InBackground:
    """A mount in the background, with the same path syntax as a mount in the foreground."""

    def __init__(self, point):
        self.point = point

    def __truediv__(self, name):
        return self.point / name


if __name__ == "__main__":
    mounting.main()
