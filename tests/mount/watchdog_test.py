#!/usr/bin/env python3
"""The watchdog ends a test file that hangs, and slow.py prevents the known way to hang."""
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import mounting
import waiting_test
import watchdog

SECONDS = 3


class HangingFile(mounting.Case):
    """hanging.py, run as CTest would run it."""

    def started(self, seconds):
        command = [sys.executable, "-B", Path(__file__).with_name("hanging.py"), "--bin", mounting.place.programs,
                   "--root", mounting.place.checkout]
        environment = dict(os.environ, RECORDFS_TEST_DEADLINE=str(seconds), RECORDFS_HANGING=str(self.folder))
        environment.pop(mounting.IN_NAMESPACE, None)
        return self.enter(mounting.started(*command, env=environment))

    def left(self):
        """Returns hanging.py and the processes that it has started."""
        mark = os.fsencode(f"RECORDFS_HANGING={self.folder}")
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in entry.read_bytes():
                    found.append(entry.parent.name)
        return found

    def test_file_that_takes_too_long_fails_and_loses_its_mounts(self):
        begun = time.monotonic()
        hanging = self.started(SECONDS)
        out, errors = hanging.communicate(timeout=mounting.PATIENCE)
        self.assertEqual((out, hanging.returncode), (b"hanging\n", 1), errors)
        self.assertGreaterEqual(time.monotonic() - begun, SECONDS)
        self.assertIn(f"hanging.py has not ended within {SECONDS} seconds", errors.decode())
        if mounting.is_root():  # others cannot mount the directory of connections
            self.assertRegex(errors.decode(), r"watchdog: aborted the connection of /\S+/slow\n")
        self.assertRegex(errors.decode(), r'File ".*hanging.py", line \d+ in test_child_started')
        self.assertNotIn("cannot be killed", errors.decode())
        self.assertEqual(self.left(), [])

    @mounting.only_root
    def test_killed_file_leaves_no_process(self):
        hanging = self.started(1000)
        self.assertEqual(hanging.stdout.readline(), b"hanging\n")
        time.sleep(0.5)
        hanging.send_signal(signal.SIGKILL)
        self.assertEqual(hanging.wait(mounting.PATIENCE), -signal.SIGKILL)
        mounting.wait_for(lambda: not self.left(), "the end of all processes")


class StoppedReads(waiting_test.SlowSource):
    def test_child_is_refused_while_a_file_with_stopped_reads_is_open(self):
        with open(self.slow / "slow.riegeli", "rb"):
            self.assertEqual(mounting.run("true").returncode, 0)
            self.hold_reads_beyond(0)
            with self.assertRaisesRegex(AssertionError, "slow.riegeli"):
                mounting.run("true")
            with self.assertRaisesRegex(AssertionError, "slow.riegeli"):
                os.fork()
            self.open_gate()
            self.assertEqual(mounting.run("true").returncode, 0)


class Connections(waiting_test.SlowSource):
    def test_connections_of_mounts_below_a_folder_are_found(self):
        self.assertEqual(list(watchdog.connections(self.folder).values()), [str(self.slow)])
        self.assertEqual(list(watchdog.connections(self.folder)), [os.stat(self.slow).st_dev])
        self.assertEqual(watchdog.connections(self.folder / "backing"), {})


if __name__ == "__main__":
    mounting.main()
