#!/usr/bin/env python3
"""Remote files are read right, or refused with a message, where the system lacks something: disk, descriptors, a home."""
import os
import random
import resource
import signal
import subprocess
import threading
import time

import built
import faults
import mounting
import remoting
from hostile import is_sanitized
from server import Rule
from tfrecords import tfrecord

RECORDS = [b"%06d " % number + random.Random(number).randbytes(900) for number in range(2000)]
WHOLE = b"".join(RECORDS)


class Case(remoting.Served, mounting.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        (self.root / "a.tfrecord").write_bytes(tfrecord(RECORDS))
        os.utime(self.root / "a.tfrecord", (1_700_000_000, 1_700_000_000))
        self.started = self.serve(self.root)
        self.url = self.started.url("a.tfrecord")
        self.blocks = self.folder / "caches/recordfs/blocks"

    def cat(self, *words, limits=(), **more):
        """Runs cat with changed variables of the environment; None removes one. `limits`: pairs for setrlimit(2)."""
        given = {name: value for name, value in (self.environment() | more).items() if value is not None}
        def limit():
            for kind, most in limits:
                resource.setrlimit(kind, (most, most))
        ran = subprocess.run([built.program("recordfs"), "cat", *words, self.url], stdin=subprocess.DEVNULL, capture_output=True, env=given,
                             check=False, timeout=remoting.HANGS, preexec_fn=limit)
        return remoting.Done(ran.returncode, ran.stdout, ran.stderr.decode())

    def assert_all_is_read(self, *words, **more):
        done = self.cat(*words, **more)
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertTrue(done.out == WHOLE, "wrong bytes")


class Disks(Case):
    def fill(self, name, flags=0):
        """Returns a folder with a filesystem that has room for one MiB."""
        folder = self.folder / name
        folder.mkdir()
        mounting.mount2("none", folder, "tmpfs", flags, "size=1m")
        self.addCleanup(mounting.run, "umount", "-l", folder)
        return str(folder)

    @mounting.only_root
    def test_full_disk_is_no_failure(self):
        small = self.fill("small")
        self.assert_all_is_read(XDG_CACHE_HOME=small)
        self.assert_all_is_read(XDG_CACHE_HOME=small)

    @mounting.only_root
    def test_whole_object_is_stored_in_memory_if_the_disk_is_full(self):
        self.started.rules.append(Rule(r"\.tfrecord", faults.whole_object))
        self.assert_all_is_read("--timeout", "20", XDG_CACHE_HOME=self.fill("small"))

    @mounting.only_root
    def test_home_that_cannot_be_written_is_no_failure(self):
        self.assert_all_is_read(HOME=self.fill("home", mounting.MS_RDONLY), XDG_CACHE_HOME=None)

    def test_missing_home_is_no_failure(self):
        for home in (None, "", "relative"):
            self.assert_all_is_read(HOME=home, XDG_CACHE_HOME=home)

    def test_cache_that_is_no_folder_is_no_failure(self):
        (self.folder / "file").touch()
        self.assert_all_is_read(XDG_CACHE_HOME=str(self.folder / "file"))
        self.blocks.parent.mkdir(parents=True)
        os.mkfifo(self.blocks)
        self.assert_all_is_read()

    def test_cache_that_others_change_while_it_is_read_leads_to_no_wrong_byte(self):
        self.assert_all_is_read()
        self.assertEqual(len(list(self.blocks.iterdir())), 1)
        stop = threading.Event()
        changes = threading.Thread(target=self.change, args=(stop,))
        changes.start()
        try:
            for _ in range(10):
                self.assert_all_is_read()
        finally:
            stop.set()
            changes.join()

    def change(self, stop):
        """Damages files of the cache at random, cuts them, and replaces them by others."""
        chance = random.Random(1)
        while not stop.wait(0.003):
            for file in list(self.blocks.iterdir()):
                how = chance.randrange(12)
                try:
                    if how < 8:
                        with open(file, "r+b") as opened:
                            opened.seek(chance.randrange(1, file.stat().st_size))
                            opened.write(chance.randbytes(chance.choice((1, 8, 5000))))
                    elif how < 10:
                        os.truncate(file, chance.randrange(file.stat().st_size))
                    else:
                        file.unlink()
                        (os.mkfifo if how == 10 else os.mkdir)(file)
                except (OSError, ValueError):
                    pass  # gone, or no file any more


class Limits(Case):
    def test_few_descriptors_suffice(self):
        self.assert_all_is_read("--no-cache", limits=[(resource.RLIMIT_NOFILE, 24)])

    def test_limit_of_the_size_of_files_is_reported(self):
        done = self.cat(limits=[(resource.RLIMIT_FSIZE, 1 << 20)])
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertRegex(done.err, r"\Arecordfs: [^\n]*ulimit -f[^\n]*\n\Z")

    def test_cached_files_respect_the_limit_of_their_size(self):
        """The fetcher is not killed by a signal."""
        mounted = self.mount(self.url)
        for fetcher in remoting.fetchers(mounted.daemon.pid):
            resource.prlimit(fetcher, resource.RLIMIT_FSIZE, (4096, 4096))
        for number in range(0, len(RECORDS), 100):
            self.assertEqual((mounted / f"records/{number}").read_bytes(), RECORDS[number])

    def test_little_memory_is_reported(self):
        if is_sanitized():
            self.skipTest("sanitizers need more memory")
        done = self.cat("--no-cache", limits=[(resource.RLIMIT_AS, 100 << 20)])
        self.assertNotEqual(done.status, 0)
        self.assertTrue(WHOLE.startswith(done.out))
        self.assertRegex(done.err, r"\Arecordfs: [^\n]+\n\Z")


class StoppedFetchers(Case):
    def test_command_that_waits_for_a_stopped_fetcher_can_be_interrupted(self):
        self.started.delay = 0.2
        with subprocess.Popen([built.program("recordfs"), "cat", "--no-cache", self.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment()) as running:
            fetcher = built.wait_for(lambda: remoting.fetchers(running.pid), "a fetcher")[0]
            os.kill(fetcher, signal.SIGSTOP)
            self.addCleanup(os.kill, fetcher, signal.SIGKILL)
            time.sleep(0.2)
            self.assertIsNone(running.poll())
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=remoting.HANGS)
        self.assertEqual(running.returncode, -signal.SIGINT)
        self.assertTrue(WHOLE.startswith(out))


if __name__ == "__main__":
    mounting.main()
