#!/usr/bin/env python3
"""Ctrl-C in calls that take long: they raise KeyboardInterrupt, and the data set can be used again."""
import os
import signal
import threading
import time
import unittest

import cases
import recordfs
from cases import Case


class Interrupted(Case):
    """A file of zeros after a record: a scan has to search all of them."""

    def setUp(self):
        super().setUp()
        self.path = self.write("a.tfrecord", [b"first"])
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
        self.assertEqual(ds[0], b"first")

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

    def test_data_set_works_after_an_interrupt(self):
        ds = recordfs.open(self.path, index="no", on_damage="skip")
        self.ends(lambda: [list(ds) for _ in range(100)])
        self.assertEqual(list(ds), [b"first"])


if __name__ == "__main__":
    cases.main()
