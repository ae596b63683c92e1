#!/usr/bin/env python3
"""Fetchers and daemons that are killed at any moment leave no wrong byte, neither in the cache nor in saved indexes.

    death_test.py --bin FOLDER --root CHECKOUT [--kills N] [unittest's options]
"""
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import built
import mounting
import remoting
from tfrecords import tfrecord

KILLS = 20
RECORDS, SIZE = 4000, 3000


class Case(remoting.Served, mounting.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.random = random.Random(KILLS)
        self.records = [b"%06d " % number + self.random.randbytes(SIZE) for number in range(RECORDS)]
        (self.root / "a.tfrecord").write_bytes(tfrecord(self.records))
        os.utime(self.root / "a.tfrecord", (1_700_000_000, 1_700_000_000))
        self.started = self.serve(self.root, delay=0.002)
        self.url = self.started.url("a.tfrecord")
        self.whole = b"".join(self.records)

    def assert_all_is_right(self):
        """A command that finishes writes everything, whatever the cache holds. Returns the bytes that a server has sent for it."""
        self.started.take_log()
        done = remoting.run(["cat", self.url], self.environment())
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertTrue(done.out == self.whole, "wrong bytes")
        return sum(request.sent for request in self.started.take_log())

    def kill_at_random(self, victims, most=0.25):
        time.sleep(self.random.uniform(0, most))
        for victim in victims():
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)


class Commands(Case):
    def test_killed_fetcher(self):
        """`cat` fails, or a new fetcher goes on; its output is right as far as it goes."""
        for kill in range(KILLS):
            with subprocess.Popen([built.program("recordfs"), "cat", self.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=self.environment()) as running:
                killer = threading.Thread(target=self.kill_at_random, args=(lambda: remoting.fetchers(running.pid),))
                killer.start()
                out, err = running.communicate(timeout=remoting.HANGS)
                killer.join()
            self.assertTrue(self.whole.startswith(out), f"wrong bytes after kill {kill}")
            self.assertTrue(running.returncode != 0 or out == self.whole, kill)
            if running.returncode != 0:
                self.assertRegex(err.decode(), r"\A(recordfs: [^\n]+\n)+\Z")
        self.assert_all_is_right()
        self.assertLess(self.assert_all_is_right(), len(self.whole) / 2, "the cache is used")

    def test_killed_command(self):
        for kill in range(KILLS):
            with subprocess.Popen([built.program("recordfs"), "cat", self.url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env=self.environment()) as running:
                killer = threading.Thread(target=self.kill_at_random, args=(lambda: [running.pid],))
                killer.start()
                out = running.communicate(timeout=remoting.HANGS)[0]
                killer.join()
            self.assertTrue(self.whole.startswith(out), f"wrong bytes after kill {kill}")
        self.assert_all_is_right()
        built.wait_for(lambda: not remoting.fetchers(), "the end of all fetchers")

    def test_killed_fetchers_of_commands_that_share_the_cache(self):
        def read(_):
            return remoting.run(["cat", self.url], self.environment())
        stop = threading.Event()
        def kill():
            while not stop.wait(0.05):
                for fetcher in remoting.fetchers()[:1]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(fetcher, signal.SIGKILL)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            results = remoting.in_parallel(read, range(KILLS))
        finally:
            stop.set()
            killer.join()
        for done in results:
            self.assertTrue(self.whole.startswith(done.out), done.err)
            self.assertTrue(done.status != 0 or done.out == self.whole, done)
        self.assert_all_is_right()


class Mounts(Case):
    def read_some(self, mounted):
        """Reads records at random until one fails or 40 were read. Returns whether one has failed; wrong bytes fail the test."""
        for _ in range(40):
            number = self.random.randrange(RECORDS)
            try:
                found = (mounted / f"records/{number}").read_bytes()
            except OSError:
                return True
            self.assertEqual(found, self.records[number])
        return False

    def test_killed_fetcher_of_a_mount(self):
        """Reads fail with an error or succeed, and the mount stays alive."""
        for _ in range(max(2, KILLS // 5)):
            mounted = self.mount(self.url)
            killer = threading.Thread(target=self.kill_at_random, args=(remoting.fetchers,))
            killer.start()
            self.read_some(mounted)
            killer.join()
            self.read_some(mounted)
            self.assertIn("info.json", os.listdir(mounted.point))
            self.assertEqual(mounted.unmount(), 0, mounted.log())
        self.assert_all_is_right()

    def test_killed_daemon(self):
        for _ in range(max(2, KILLS // 5)):
            mounted = self.mount(self.url)
            killer = threading.Thread(target=self.kill_at_random, args=(lambda: [mounted.daemon.pid],))
            killer.start()
            self.read_some(mounted)
            killer.join()
            mounted.daemon.wait(built.PATIENCE)
            built.wait_for(lambda: not remoting.fetchers(), "the fetcher's end")
            mounting.run("fusermount3", "-u", "-z", mounted.point)
        self.assert_all_is_right()


if __name__ == "__main__":
    if "--kills" in sys.argv:
        at = sys.argv.index("--kills")
        KILLS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    mounting.main()
