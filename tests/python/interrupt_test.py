#!/usr/bin/env python3
"""Ctrl-C in calls that take long: they raise KeyboardInterrupt, and the data set can be used again."""
import os
import signal
import threading
import time
import unittest
import warnings

import cases
import recordfs
from built import wait_for
from cases import Case

FIRST = b'{"a": 1}'
INTERVAL = 0.01  # seconds between signals
ENDED = ""  # the text of a StopIteration


class Interrupted(Case):
    """A file of zeros after a record: a scan has to search all of them."""

    def setUp(self):
        super().setUp()
        self.path = self.write("a.tfrecord", [FIRST])
        # Not a hole, which a scan would skip: each page has a byte.
        with self.path.open("ab") as file:
            page = b"\1" + bytes(4095)
            for _ in range(64):
                file.write(page * 1024)

    def interrupted(self, function):
        """Calls function() until a signal interrupts it. Returns whether that happened."""
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            function()
        except KeyboardInterrupt:
            return True
        finally:
            timer.join()
            try:
                time.sleep(0)  # a late signal
            except KeyboardInterrupt:
                pass
        return False

    def ends(self, function):
        begin = time.monotonic()
        try:
            if not self.interrupted(function):
                self.skipTest("the call was faster than the signal")
        except KeyboardInterrupt:
            self.skipTest("the call was faster than the signal")
        self.assertLess(time.monotonic() - begin, cases.PATIENCE)

    def test_length(self):
        ds = recordfs.open(self.path, index="no")
        self.ends(lambda: [len(recordfs.open(self.path, index="no")) for _ in range(100)])
        self.assertEqual(ds[0], FIRST)

    def test_iteration(self):
        self.ends(lambda: [list(recordfs.open(self.path, index="no", on_damage="skip")) for _ in range(100)])

    def test_record(self):
        def missing():
            for _ in range(100):
                try:
                    recordfs.open(self.path, index="no")[5]
                except IndexError:
                    pass

        self.ends(missing)

    def test_batches(self):
        self.ends(lambda: [list(recordfs.open(self.path, index="no", on_damage="skip").batches(10)) for _ in range(100)])

    def test_columns(self):
        ds = recordfs.open(self.write("0.tfrecord", [FIRST]), self.path, index="no", on_damage="skip")
        self.ends(ds._column_reader().next)

    def test_data_set_works_after_an_interrupt(self):
        ds = recordfs.open(self.path, index="no", on_damage="skip")
        self.ends(lambda: [list(ds) for _ in range(100)])
        self.assertEqual(list(ds), [FIRST])


class Handlers(Case):
    """Code that runs in the middle of a call, on the same thread, and reads what that call reads."""

    def raised_by(self, handler, read):
        """Calls read() while SIGALRM arrives again and again. Returns what handler() raised."""
        failures = []
        reading = True

        def handle(*_):
            try:
                handler()
            except (RuntimeError, ValueError, StopIteration) as failed:
                failures.append(str(failed))
            # Not at regular times: signals would arrive during a handler that takes longer, and their handlers would nest.
            if reading:
                signal.setitimer(signal.ITIMER_REAL, INTERVAL)

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL)
        try:
            read()
        finally:
            reading = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return failures

    def zeros(self):
        """Returns the path of a record before bytes that a scan searches."""
        path = self.write("a.tfrecord", [b"first"])
        with path.open("ab") as file:
            file.write((b"\1" + bytes(4095)) * (8 << 10))
        return path

    def test_signal_handler_that_reads_the_same_stream(self):
        path = self.zeros()

        def failures():
            stream = recordfs.open(path, index="no", on_damage="skip")._stream()
            raised = self.raised_by(lambda: next(stream), lambda: [record for some in stream for record in some])
            return set(raised) - {ENDED}  # a handler that ran before the first read has read everything

        refused = "reentrant call: this thread is already reading from this iterator"
        self.assertEqual(wait_for(failures, "a signal during a read"), {refused})

    def test_signal_handler_that_reads_the_same_data_set(self):
        ds = recordfs.open(self.zeros(), index="no", on_damage="skip")
        read = []
        self.raised_by(lambda: read.append(ds[0]), lambda: [list(ds), len(ds)])
        self.assertEqual(set(read), {b"first"})

    def test_warning_hook_that_reads_the_same_stream(self):
        path = self.write("a.tfrecord", [b"%04d" % i for i in range(100)])
        with path.open("r+b") as file:
            file.seek(20 * 50 + 13)
            file.write(b"X")
        stream = recordfs.open(path, on_damage="report")._stream()
        failures = []

        def hook(*_, **__):
            try:
                next(stream)
            except RuntimeError as failed:
                failures.append(str(failed))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = hook
            read = [record for some in stream for record in some]
        self.assertEqual(len(read), 99)
        self.assertEqual(failures, ["reentrant call: this thread is already reading from this iterator"])

    def test_signal_handler_that_reads_the_same_keys(self):
        database = self.open("database/leveldb-levels")
        def read():
            for _ in range(200):
                list(database.keys.items())

        self.raised_by(lambda: list(database.keys)[:1], read)


if __name__ == "__main__":
    cases.main()
