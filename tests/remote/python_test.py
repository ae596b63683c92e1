#!/usr/bin/env python3
"""The Python package reads http:// and s3:// URLs. Each process has a fetcher of its own, which ends with it."""
import contextlib
import errno
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import built
import faults
import recordfs
import remoting
from server import Rule

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250


def read_all(ds):
    """Runs in another process. Returns the number of records, the last one, and how many fetchers this process has."""
    return len(ds), ds[-1], len(remoting.fetchers(os.getpid()))


class Case(remoting.Served, unittest.TestCase):
    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.started = self.serve(built.corpus())
        self.url = self.started.url(SAMPLE)
        self.local = list(recordfs.open(built.sample(SAMPLE)))
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "caches")

    def script(self, text, **more):
        """Starts a Python program that has the arguments URL and reads lines from its standard input."""
        given = self.environment() | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
        return subprocess.Popen([sys.executable, "-B", "-c", text, self.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given,
                                text=True)


class Reading(Case):
    def test_records_are_those_of_the_local_file(self):
        with recordfs.open(self.url) as ds:
            self.assertEqual(len(ds), RECORDS)
            self.assertEqual(ds[777], self.local[777])
            self.assertEqual(list(ds), self.local)
            self.assertEqual(list(ds.shuffled(3)), list(recordfs.open(built.sample(SAMPLE)).shuffled(3)))

    def test_s3_url_is_read(self):
        self.serve_s3(built.corpus().parent)
        done = subprocess.run([sys.executable, "-B", "-c", "import recordfs, sys; print(len(recordfs.open(sys.argv[1])))",
                               f"s3://corpus/{SAMPLE}"],
                              env=self.environment() | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.stdout, done.stderr), (f"{RECORDS}\n", ""))

    def test_several_urls_and_patterns_are_data_sets(self):
        urls = [self.started.url("riegeli/simple_zstd9.riegeli"), self.url]
        self.assertEqual(len(recordfs.open(urls)), 500 + RECORDS)
        self.assertEqual(len(recordfs.open(self.started.url("riegeli/") + "simple_z*.riegeli")), 500)

    def test_keys_of_a_database(self):
        local, remote = (list(recordfs.open(each).keys)
                         for each in (built.sample("database/leveldb-levels"), self.started.url("database/leveldb-levels")))
        self.assertEqual(remote, local)

    def test_missing_object_is_not_found(self):
        with self.assertRaises(FileNotFoundError):
            recordfs.open(self.started.url("riegeli/nothing.riegeli"))[0]

    def test_failure_has_the_reason_of_the_server(self):
        for status, fault in ((403, faults.forbidden), (401, faults.unauthorized)):
            self.started.rules.append(Rule(f"none{status}", fault))
            with self.assertRaisesRegex(PermissionError, f"HTTP {status}: .*/none{status}") as raised:
                recordfs.open(self.started.url(f"none{status}"))
            self.assertEqual(raised.exception.errno, errno.EACCES)
        with self.assertRaisesRegex(OSError, "not a URL that recordfs can read"):
            recordfs.open("http://")

    def test_pickle_has_no_secret_and_the_same_records(self):
        with recordfs.open(self.url) as ds:
            pickled = pickle.dumps(ds)
            self.assertEqual(list(pickle.loads(pickled)), self.local)
        with recordfs.open(self.url.replace("http://", "http://me:passW0rd@")) as ds:
            self.assertEqual(ds[3], self.local[3])
            self.assertNotIn(b"passW0rd", pickle.dumps(ds))
            self.assertNotIn("passW0rd", repr(ds))

    def test_threads_share_a_fetcher(self):
        found = []
        with recordfs.open(self.url) as ds:
            threads = [threading.Thread(target=lambda: found.append(list(ds))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(built.PATIENCE)
        self.assertEqual([each == self.local for each in found], [True] * 8)
        self.assertEqual(len(remoting.fetchers(os.getpid())), 1)

    def test_signal_ends_waiting(self):
        """Ctrl-C while a server does not answer."""
        import faults  # pylint: disable=import-outside-toplevel
        import server  # pylint: disable=import-outside-toplevel
        self.started.rules = [server.Rule("multiblock", faults.stall_before_headers)]
        with self.script("import recordfs, sys; print('ready', flush=True); recordfs.open(sys.argv[1])[0]") as running:
            running.stdout.readline()
            built.wait_for(lambda: self.started.requests, "a request")
            running.send_signal(signal.SIGINT)
            self.assertNotEqual(running.wait(10), 0)


class Workers(Case):
    def test_forked_and_spawned_processes_have_fetchers_of_their_own(self):
        with recordfs.open(self.url) as ds:
            self.assertEqual(ds[0], self.local[0])
            for method in ("fork", "spawn", "forkserver"):
                with self.subTest(method=method), multiprocessing.get_context(method).Pool(3) as pool:
                    for count, last, fetchers in pool.map(read_all, [ds] * 6):
                        self.assertEqual((count, last, fetchers), (RECORDS, self.local[-1], 1))
            self.assertEqual(ds[5], self.local[5])

    def test_parent_reads_on_after_a_forked_child_has_read(self):
        with recordfs.open(self.url) as ds:
            for number in range(3):
                child = os.fork()
                if child == 0:
                    os._exit(0 if list(ds) == self.local else 1)
                self.assertEqual(ds[number * 100], self.local[number * 100])
                self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(list(ds), self.local)


class EndOfTheOwner(Case):
    """No fetcher is left, however its owner ends."""

    START = "import recordfs, os, sys, signal, subprocess; ds = recordfs.open(sys.argv[1]); ds[0]; print('ready', flush=True); sys.stdin.readline(); "

    def assert_no_fetcher_is_left(self, end, act=lambda running: None):
        with self.script(self.START + end) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            fetchers = remoting.fetchers(running.pid)
            self.assertEqual(len(fetchers), 1)
            act(running)
            with contextlib.suppress(BrokenPipeError):
                running.stdin.write("go\n")
                running.stdin.flush()
            with contextlib.suppress(BrokenPipeError):
                running.stdin.close()
            built.wait_for(lambda: not remoting.is_running(fetchers[0]), "the fetcher's end", 10)
            running.kill()

    def test_exit(self):
        self.assert_no_fetcher_is_left("sys.exit(3)")

    def test_exit_without_cleaning_up(self):
        self.assert_no_fetcher_is_left("os._exit(3)")

    def test_kill(self):
        self.assert_no_fetcher_is_left("pass", lambda running: running.kill())

    def test_abort(self):
        self.assert_no_fetcher_is_left("os.abort()")

    def test_exec(self):
        self.assert_no_fetcher_is_left("os.execv('/bin/sleep', ['sleep', '60'])")

    def test_exit_while_a_program_runs_that_it_has_started(self):
        """The other program has not inherited the socket."""
        self.assert_no_fetcher_is_left("subprocess.Popen(['sleep', '20'], close_fds=False, stdout=subprocess.DEVNULL); os._exit(0)")

    def test_exit_while_a_forked_child_lives(self):
        self.assert_no_fetcher_is_left("os.fork() or (os.close(1), __import__('time').sleep(20)); os._exit(0)")

    def test_killed_fetcher_is_replaced_or_reported(self):
        with recordfs.open(self.url) as ds:
            self.assertEqual(ds[0], self.local[0])
            for fetcher in remoting.fetchers(os.getpid()):
                os.kill(fetcher, signal.SIGKILL)
            try:
                found = list(ds)
            except OSError as failed:
                self.assertRegex(str(failed), r"fetch")
            else:
                self.assertEqual(found, self.local)
        with recordfs.open(self.url) as ds:
            self.assertEqual(list(ds), self.local)


if __name__ == "__main__":
    built.main()
