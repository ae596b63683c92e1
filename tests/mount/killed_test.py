#!/usr/bin/env python3
"""Readers that are killed in the middle of a read, and daemons: what others read meanwhile, and what is left."""
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
# Writes out what it reads, a page at a time, and lets the kernel read no further than it has come.
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
    """Somebody who has come to the middle of a stream, where the source gives nothing more."""

    def setUp(self):
        super().setUp()
        self.records = subprocess.run([mounting.program("recordfs"), "cat", mounting.sample(SAMPLE)], check=True,
                                      stdout=subprocess.PIPE, timeout=mounting.PATIENCE).stdout
        chunks = mounting.expectation(SAMPLE)["chunks"]
        self.readable = sum(chunk["decoded_data_size"] for chunk in chunks if chunk["end"] <= waiting_test.HELD)

    def hold(self):
        """From the middle on the source gives nothing more, and the mount knows what is where."""
        self.assertEqual(len(os.listdir(self.mounted / "records")), waiting_test.RECORDS)
        self.hold_reads_beyond(waiting_test.HELD)

    def start_reading(self):
        """A reader that has given out all that is there and waits for the next page."""
        reader = self.start(sys.executable, "-c", READER)
        length = self.readable // PAGE * PAGE
        self.assertEqual(reader.stdout.read(length), self.records[:length])
        mounting.wait_for(lambda: is_waiting_for_a_page(reader), "the reader to wait")
        return reader


class KilledReaders(Reading):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.slow / "slow.riegeli")
        self.hold()

    def assert_good(self):
        """To whoever comes now, and to the end."""
        self.open_gate()
        self.assertEqual((self.mounted / "streams/concat").read_bytes(), self.records)
        self.assertEqual(self.mounted.unmount(), 0)
        self.assertEqual(self.mounted.log(), "")

    def test_reader_ends_at_once_and_others_are_served(self):
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                reader = self.start_reading()
                reader.send_signal(number)
                self.assertEqual(reader.wait(waiting_test.AT_ONCE), -number)
                first = mounting.expectation(SAMPLE)["sample"][0]["sha256"]
                self.assertTrue(self.assert_answers("sha256sum", "records/0").startswith(first))
        self.assert_good()

    def test_another_reader_of_the_same_page_goes_on(self):
        first, second = self.start_reading(), self.start_reading()
        first.kill()
        self.assertEqual(first.wait(waiting_test.AT_ONCE), -signal.SIGKILL)
        self.open_gate()
        self.assertEqual(second.stdout.read(), self.records[self.readable // PAGE * PAGE:])
        self.assertEqual(second.wait(mounting.PATIENCE), 0)
        self.assert_good()

    def test_read_past_the_kernels_cache_ends_with_its_answer(self):
        """The kernel waits for the answer to one that the daemon has begun, and the reader with it."""
        reader = self.start("dd", "if=streams/concat", "iflag=direct", "bs=1M")
        mounting.wait_for(lambda: Path(f"/proc/{reader.pid}/wchan").read_text(encoding="utf-8") != "0", "the reader to wait")
        reader.kill()
        self.assert_answers("sha256sum", "records/0")
        self.open_gate()
        self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)
        self.assert_good()


class KilledDaemons(Reading):
    """In the foreground or the background, in the middle of a read: the place is free, and can be mounted again."""

    def setUp(self):
        super().setUp()
        self.point = self.new_point()

    def mount_anywhere(self, in_background):
        """Returns the daemon's id."""
        if not in_background:
            self.mounted = self.mount(self.slow / "slow.riegeli", point=self.point)
            return self.mounted.daemon.pid
        done = self.recordfs(self.slow / "slow.riegeli", self.point)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.mounted = InBackground(self.point)
        return mounting.daemons(self.point)[0]

    def assert_nothing_left(self):
        mounting.wait_for(lambda: not mounting.daemons(self.point) and not mounting.keepers(self.point), "the end")
        self.assertNotIn(str(self.point), mounting.mounts())
        self.assertEqual(os.listdir(self.point), [])

    @contextlib.contextmanager
    def opened(self, path):
        """A descriptor that is closed at the end of the block, even if the block fails: later mounts start children."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            yield descriptor
        finally:
            self.open_gate()  # before the close, whose FLUSH a live daemon has to answer
            with contextlib.suppress(OSError):  # closing notifies the daemon, which is gone
                os.close(descriptor)

    def test_reader_fails_and_a_later_mount_serves(self):
        for in_background in (False, True):
            for number in (signal.SIGKILL, signal.SIGTERM):
                with self.subTest(in_background=in_background, number=number):
                    daemon = self.mount_anywhere(in_background)
                    mounting.wait_for(lambda: mounting.keepers(self.point), "the keeper")
                    self.hold()
                    reader = self.start_reading()
                    with self.opened(self.mounted / "streams/concat") as held:
                        os.kill(daemon, number)
                        if number == signal.SIGTERM:
                            self.open_gate()  # it lets its threads end what they do
                        reader.communicate(timeout=mounting.PATIENCE)
                        self.assert_nothing_left()
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
    """What stands where daemon and keeper were killed together, as with everything of a service."""

    user = None

    def kill_all_of(self, point, name):
        """Leaves a dead mount where somebody has mounted by that name."""
        mounting.wait_for(lambda: mounting.keepers(name), "the keeper")
        for process in (mounting.keepers(name)[0], mounting.daemons(name)[0]):
            os.kill(process, signal.SIGKILL)
        mounting.wait_for(lambda: not mounting.daemons(name) and not mounting.keepers(name), "the end")
        self.assertEqual(mounting.mounts()[str(point)][0], "fuse.recordfs")
        mounting.wait_for(lambda: self.is_dead(point), "the end of the connection, which a process closes late")

    def is_dead(self, point):
        return "Transport endpoint is not connected" in mounting.run("ls", point, user=self.user).stderr

    def assert_mounts(self, point, *words):
        done = self.recordfs(*words, user=self.user, cwd=point.parent)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(mounting.run("ls", point / "records", user=self.user).stdout.count("\n"), waiting_test.RECORDS)

    def test_next_one_takes_it_away(self):
        point = self.new_point(self.user)
        for name in (point, f"{point}/", point.name, f"./{point.name}"):
            self.assert_mounts(point, mounting.sample(SAMPLE), name)
            self.kill_all_of(point, name)
        self.assert_mounts(point, mounting.sample(SAMPLE), point)
        self.assertEqual(mounting.run("fusermount3", "-u", point, user=self.user).returncode, 0)
        self.assertNotIn(str(point), mounting.mounts())

    def test_name_with_a_space(self):
        point = self.new_point(self.user)
        point = point.rename(point.with_name("two words\\"))
        self.assert_mounts(point, mounting.sample(SAMPLE), point)
        self.kill_all_of(point, point)
        self.assert_mounts(point, mounting.sample(SAMPLE), point)

    def test_dead_mount_of_somebody_else_stays(self):
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
    """Where a daemon in the background serves, as far as a reader has to know."""

    def __init__(self, point):
        self.point = point

    def __truediv__(self, name):
        return self.point / name


if __name__ == "__main__":
    mounting.main()
