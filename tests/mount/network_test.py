#!/usr/bin/env python3
"""Commands that read whole files send few large reads in file order, as a slow network filesystem needs them."""
import importlib.util
import os
import random
import subprocess
import sys
import time

import mounting
from tfrecords import tfrecord

MEBIBYTE = 1 << 20
LARGE = 128 << 10
PROBES = 56  # small reads at both ends: they determine the format and check that the file has not changed
# To the end, to the beginning, and to metadata. The storage of tests/storage has no page cache, so it sees these reads again.
JUMPS = 7 if mounting.STORAGE else 4
COMMANDS = [("verify", "-j1"), ("verify", "-j4"), ("cat", "-j1"), ("cat", "-j4"), ("grep", "-j4", "-c", "no such text")]
FORMS = {"riegeli-zstd": 28000, "riegeli-none": 10000, "leveldb": 10000, "recordio-zstd": 20000, "proio-lz4": 16000,
         "bloscpack-lz4": 16000}


def _writer(name):
    """Imports a module of tests/writers."""
    path = mounting.place.checkout / "tests/writers" / name
    for folder in (path.parent, path.parent.parent):
        sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    del sys.path[:2]
    return module


def tfrecords():
    made = random.Random(1)
    return tfrecord([made.randbytes(1000) for _ in range(100)]) * 60


def table():
    writer = _writer("leveldb_table/table.py")
    made = writer.Table()
    for block in range(1000):
        keys = [b"key%08d" % number for number in range(block * 4, block * 4 + 4)]
        made.add([(writer.internal(key, 1), random.Random(key).randbytes(1000)) for key in keys])
    return made.finish()


def array_record():
    made = _writer("array_record/make_samples.py").File(b"group_size:128")
    for chunk in range(24):
        made.add([random.Random(chunk * 128 + i).randbytes(1000) for i in range(128)])
    return made.finish()


class WholeFiles(mounting.Case):
    def setUp(self):
        super().setUp()
        self.backing = self.folder / "backing"
        self.backing.mkdir()
        self.slow = self.folder / "slow"
        self.slow.mkdir()
        for form, records in FORMS.items():
            mounting.make_container(self.backing, records, form)[0].rename(self.backing / form)
        for name, make in (("a.tfrecord", tfrecords), ("a.ldb", table), ("a.array_record", array_record)):
            (self.backing / name).write_bytes(make())
        self.files = sorted(self.backing.iterdir())
        for file in self.files:
            os.utime(file, (1, 1))
        time.sleep(0.1)  # the ends of a file that has just changed are read repeatedly

    def slowfs(self, *mode):
        """Shows the files through slowfs, or through the storage of tests/storage, which takes the same words."""
        if mounting.STORAGE:
            os.environ.update(RECORDFS_SLOW=" ".join(mode), RECORDFS_SLOW_LOG=str(self.backing / "requests"))
            return
        self.enter(mounting.started(mounting.program("slowfs"), self.backing, self.slow, *mode))
        mounting.wait_for(lambda: str(self.slow) in mounting.mounts(), "slowfs")
        self.addCleanup(mounting.run, "fusermount3", "-u", "-z", self.slow)

    def requests(self, file, command):
        """Returns (offset, size, whether it was a jump) of each read of a command."""
        log = self.backing / "requests"
        log.unlink(missing_ok=True)
        source = mounting.stored(file) if mounting.STORAGE else self.slow / file.name
        done = subprocess.run([mounting.program("recordfs"), *command, source],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=self.environment(), timeout=mounting.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (1 if command[0] == "grep" else 0, b""), command)
        return [tuple(map(int, line.split())) for line in log.read_text(encoding="ascii").rstrip("\0").splitlines()]

    def reads_of_commands(self):
        """Runs each command on each file. Yields (subTest parameters, file size, reads)."""
        for file in self.files:
            for command in COMMANDS:
                yield {"file": file.name, "command": command}, file.stat().st_size, self.requests(file, command)

    def test_commands_read_each_byte_once_in_file_order_in_large_reads(self):
        self.slowfs("0")
        for name, size, reads in self.reads_of_commands():
            with self.subTest(**name):
                self.assertLessEqual(len(reads), PROBES + 2 * (size // MEBIBYTE + 1))
                self.assertLessEqual(sum(length for _, length, _ in reads), size + MEBIBYTE)
                large = [(at, at + length) for at, length, _ in reads if length >= LARGE and at < size - 2 * LARGE]
                self.assertGreaterEqual(sum(end - at for at, end in large), size * 9 // 10 - MEBIBYTE)
                for (_, end), (begin, _) in zip(large, large[1:]):
                    self.assertGreaterEqual(begin, end)

    def test_commands_rarely_jump(self):
        self.slowfs("1", "jump")
        for name, size, reads in self.reads_of_commands():
            with self.subTest(**name):
                self.assertLessEqual(sum(jump for _, _, jump in reads), JUMPS)
                self.assertLessEqual(sum(length for _, length, _ in reads), size + MEBIBYTE)

    def test_index_of_small_chunks_takes_one_pass(self):
        self.slowfs("1", "jump")
        file = self.backing / "riegeli-zstd"
        reads = self.requests(file, ("index",))
        self.assertLessEqual(sum(jump for _, _, jump in reads), 2 * JUMPS)  # the file is opened twice
        self.assertLessEqual(len(reads), file.stat().st_size // LARGE + PROBES)


if __name__ == "__main__":
    mounting.main()
