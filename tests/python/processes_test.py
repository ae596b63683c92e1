#!/usr/bin/env python3
"""Data sets in other processes and in several threads."""
import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import cases
import recordfs
from cases import Case


def count_and_first(ds):
    """Runs in another process."""
    return len(ds), ds[0], sum(map(len, ds))


class Pickled(Case):
    def setUp(self):
        super().setUp()
        self.records = [b"%d" % i for i in range(500)]
        self.path = self.write("a.tfrecord", self.records)
        self.ds = recordfs.open(self.path)

    def test_copy_has_the_same_records(self):
        for view in (self.ds, self.ds[10:20], self.ds.shuffled(3)[5:50], self.ds.sample(10)):
            self.assertEqual(list(pickle.loads(pickle.dumps(view))), list(view))

    def test_copy_finds_its_file_from_another_directory(self):
        os.chdir(self.folder)
        pickled = pickle.dumps(recordfs.open("a.tfrecord"))
        os.chdir("/")
        self.assertEqual(pickle.loads(pickled)[3], b"3")

    def test_changed_file_is_refused(self):
        self.assertEqual(len(self.ds), 500)
        pickled = pickle.dumps(self.ds)
        self.write("a.tfrecord", [b"other"])
        with self.assertRaisesRegex(OSError, "changed"):
            pickle.loads(pickled)

    def test_options_are_kept(self):
        ds = recordfs.open(self.path, copy=False, on_damage="skip")
        self.assertIsInstance(pickle.loads(pickle.dumps(ds))[0], memoryview)

    def test_keys(self):
        keys = self.open("database/leveldb-levels").keys
        first = next(iter(keys))
        self.assertEqual(pickle.loads(pickle.dumps(keys))[first], keys[first])


class TamperedPickle(Case):
    """What a pickle says of a data set is checked like any other argument."""

    def setUp(self):
        super().setUp()
        self.native = recordfs.open(self.write("a.tfrecord", [b"x"] * 10))._opened.native

    def reopened(self, shards, files=(), **changed):
        options = {"index": b"no", "cache_size": 1 << 20, "threads": 1, "max_chunk": 0, "descriptors": b"", "type": "", **changed}
        return recordfs._opened._unpickled(shards, options, recordfs._opened.DatabasePlace(), list(files))

    def test_shard_that_does_not_exist(self):
        path = os.fsdecode(self.native.path(0))
        for shard in (1, 1 << 20, 1 << 63):
            with self.assertRaises(IndexError):
                self.reopened([(path, False, 0)], [(shard, "")])
            for read in (self.native.path, self.native.name, self.native.open_shard, self.native.info, self.native.damage):
                with self.assertRaises(IndexError):
                    read(shard)

    def test_no_shards(self):
        with self.assertRaisesRegex(ValueError, "no shards"):
            self.reopened([])

    def test_impossible_options(self):
        path = os.fsdecode(self.native.path(0))
        for wrong in ({"threads": 1 << 31}, {"index": b"a\0"}, {"descriptors": b"a\0"}):
            with self.assertRaises(ValueError):
                self.reopened([(path, False, 0)], **wrong)
        with self.assertRaisesRegex(ValueError, "embedded null byte"):
            self.reopened([(path + "\0x", False, 0)])

    def test_places_beyond_a_permutation(self):
        order = recordfs._recordfs.Permutation(10, 1)
        self.assertEqual(sorted(order.places(0, 1 << 40)), list(range(10)))
        with self.assertRaises(IndexError):
            order.at(10)


class Interpreter(Case):
    """The end of the interpreter, and a second one."""

    def python(self, code, *words):
        return subprocess.run([sys.executable, "-B", "-c", code, *map(str, words)], capture_output=True, text=True,
                              timeout=cases.PATIENCE, check=False)

    def test_daemon_threads_that_read_do_not_abort_the_exit(self):
        path = self.write("a.tfrecord", [b"%d" % i for i in range(2000)])
        database = cases.sample("database/leveldb-levels")
        for kind, read in DAEMONS.items():
            with self.subTest(kind=kind):
                for _ in range(2):
                    done = self.python(DAEMON, path, database, read)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ends\n", ""))

    def test_second_interpreter_is_refused(self):
        for before in ("", "import recordfs"):
            done = self.python(f"import sys\n{before}\n" + SECOND)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("recordfs works in the first interpreter of a process only", done.stdout)

    def test_first_interpreter_works_after_a_second_one_was_made(self):
        path = self.write("a.tfrecord", [b"%d" % i for i in range(2000)])
        code = "import recordfs, sys\n" + SECOND + """
import gc, threading
def read():
    global ds
    print(sum(1 for _ in recordfs.open(sys.argv[1])), len(recordfs.open(sys.argv[1]).shuffled()))
thread = threading.Thread(target=read)
thread.start()
thread.join()
read()
"""
        done = self.python(code, path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-2:], ["2000 2000"] * 2)


DAEMONS = {"index": "ds[i % 100]", "iterate": "sum(1 for _ in ds)", "batches": "sum(1 for _ in ds.batches(64))",
           "grep": "sum(1 for _ in ds.grep('z'))", "shuffled": "list(ds.shuffled(i))", "json": "ds.json(i % 100)",
           "length": "len(recordfs.open(path))", "keys": "keys.get(b'key%05d' % (i % 300))", "every key": "list(keys)",
           "errors": "ds.at(1) if 0 else one_error()", "arrow": "ds.__arrow_c_stream__()"}
DAEMON = """
import itertools, recordfs, sys, threading, time
path, database, read = sys.argv[1:]
ds, keys = recordfs.open(path), recordfs.open(database).keys
def one_error():
    try:
        ds.decode(0)
    except recordfs.UnsupportedError:
        pass
begun = threading.Event()
def work():
    code = compile(read, "read", "eval")
    for i in itertools.count():
        eval(code)
        begun.set()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(.02)
print("ends")
"""
SECOND = """
try:
    import _interpreters as interpreters
    of = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    of = interpreters.create()
try:
    failed = interpreters.run_string(of, "import recordfs")
    print(failed and failed.formatted, flush=True)
except interpreters.RunFailedError as raised:
    print(raised, flush=True)
interpreters.destroy(of)
"""


class OtherProcesses(Pickled):
    def expected(self):
        return 500, b"0", sum(map(len, self.records))

    def test_spawned_process(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.apply(count_and_first, [self.ds]), self.expected())

    def test_forked_process_while_the_parent_reads(self):
        self.assertEqual(len(self.ds), 500)
        iterator = iter(self.ds)
        next(iterator)
        for _ in range(5):
            self.assertEqual(self.in_child(lambda: count_and_first(self.ds)), self.expected())
        self.assertEqual(len(list(iterator)), 499)

    def test_iterator_of_the_parent_is_refused_in_a_child(self):
        iterator = iter(recordfs.open(self.write("b.tfrecord", [b"x"] * 5000)))
        next(iterator)

        def read_on():
            try:
                list(iterator)
            except RuntimeError as failed:
                return str(failed)

        self.assertIn("forked", self.in_child(read_on))

    def test_child_drops_what_the_parent_has(self):
        held = [recordfs.open(self.path, copy=False)[7], iter(self.ds), self.ds.shards[0], self.ds.keys]
        next(held[1])

        def drop():
            held.clear()
            return len(self.ds)

        self.assertEqual(self.in_child(drop), 500)

    def in_child(self, function):
        """Returns function() of a forked child, which ends as Python usually does."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, pickle.dumps(function()))
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader, "rb") as answer:
            result = answer.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return pickle.loads(result)


class Threads(Case):
    def test_threads_share_a_data_set(self):
        records = [b"%d" % i * (i % 50) for i in range(5000)]
        ds = recordfs.open(self.write("a.tfrecord", records), cache_size=100_000)

        def read(seed):
            shuffled = ds.shuffled(seed)[:500]
            return (list(ds) == records and all(ds[i] == records[i] for i in range(seed, 5000, 97))
                    and len(list(shuffled)) == 500 and len(list(ds.grep("99"))) > 0)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(read, range(16))), [True] * 16)

    def test_threads_share_an_iterator(self):
        records = [b"%d" % i for i in range(20000)]
        stream = recordfs.open(self.write("a.tfrecord", records)).batches(100)
        found, lock = [], threading.Lock()

        def read():
            while True:
                with lock:
                    batch = next(stream, None)
                if batch is None:
                    return
                data, offsets = batch
                found.extend(bytes(data[a:b]) for a, b in zip(offsets, offsets[1:]))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), sorted(records))

    def test_other_threads_run_while_one_reads(self):
        ds = recordfs.open(self.write("a.tfrecord", [b"x" * 100] * 20000))
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(1)
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(20):
            for _ in ds.batches(1000):
                pass
        stop.set()
        thread.join()
        self.assertGreater(len(ticks), 3)

    def test_helper_threads_are_confined_and_the_users_are_not(self):
        path = self.write("many.tfrecord", [bytes(1000)] * 20_000)
        stream = iter(recordfs.open(path, threads=3))
        next(stream)
        user = threading.Thread(target=time.sleep, args=(1,))
        user.start()
        confined = {}
        for thread in Path("/proc/self/task").iterdir():
            fields = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines())
            confined[int(thread.name)] = (fields["NoNewPrivs"], fields["Seccomp"])
        own = {threading.main_thread().native_id, user.native_id}
        user.join()
        before = ("0", confined[threading.main_thread().native_id][1])
        self.assertEqual({confined[number] for number in own}, {before})
        self.assertEqual({state for number, state in confined.items() if number not in own}, {("1", "2")})
        (self.folder / "new").write_text("the main thread still writes")
        self.assertEqual(subprocess.run(["true"], check=False).returncode, 0)


if __name__ == "__main__":
    cases.main()
