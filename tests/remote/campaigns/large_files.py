#!/usr/bin/env python3
"""A remote file that is much larger than the memory is browsed in a mount within a bound.

    large_files.py --bin FOLDER --root CHECKOUT [--gigabytes N] [unittest's options]

nginx serves a sparse TFRecord file whose records are zeros, but for a number at their beginning. The memory of the daemon
and of its fetcher together, without the pages of their programs, must stay below 64 MiB.
"""
import os
import random
import re
import shutil
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mounting
import nginx_test
import remoting

GIGABYTES = int(os.environ.get("RECORDFS_TEST_GIGABYTES", "24"))  # in the environment, because the test starts itself again
RECORD = 8 << 20
MOST = 64 << 20
SHOWN = re.compile(r"^(RssAnon|RssShmem):\s+(\d+) kB$", re.MULTILINE)


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def zeros_operator(size):
    """Returns the columns of the matrix that appends `size` zeros to the state of a CRC-32C."""
    def times(matrix, vector):
        result, column = 0, 0
        while vector:
            if vector & 1:
                result ^= matrix[column]
            vector >>= 1
            column += 1
        return result
    power = [TABLE[1 << bit] if bit < 8 else 1 << (bit - 8) for bit in range(32)]  # one zero byte
    result = [1 << bit for bit in range(32)]
    while size:
        if size & 1:
            result = [times(power, column) for column in result]
        power = [times(power, column) for column in power]
        size >>= 1
    return lambda state: times(result, state)


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def write_sparse(path, count):
    """Writes records of RECORD bytes: a number of 16 digits, then zeros."""
    append_zeros = zeros_operator(RECORD - 16)
    header = RECORD.to_bytes(8, "little")
    header += masked(crc32c(header))
    with open(path, "wb") as file:
        for number in range(count):
            begin = b"%016d" % number
            crc = append_zeros(crc32c(begin) ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
            file.write(header + begin)
            file.seek(RECORD - 16, os.SEEK_CUR)
            file.write(masked(crc))


class Watch:
    """Looks at the memory of processes until its block ends."""

    def __init__(self, processes):
        self.processes, self.most, self.stopped = processes, 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def look(self):
        while not self.stopped.wait(0.02):
            now = 0
            for process in self.processes:
                text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
                now += sum(int(found[2]) << 10 for found in SHOWN.finditer(text))
            self.most = max(self.most, now)


class Large(nginx_test.Case, mounting.Case):
    def setUp(self):
        mounting.Case.setUp(self)
        self.root = self.folder / "root"
        self.root.mkdir()
        self.count = GIGABYTES * (1 << 30) // RECORD
        write_sparse(self.root / "large.tfrecord", self.count)
        nginx_test.make_certificates(self.folder)
        self.start()

    def check(self, mounted, number):
        with open(mounted / f"records/{number}", "rb") as file:
            self.assertEqual(os.fstat(file.fileno()).st_size, RECORD)
            self.assertEqual(file.read(16), b"%016d" % number)
            size = 16
            while piece := file.read(1 << 20):
                self.assertEqual(piece.count(0), len(piece))
                size += len(piece)
            self.assertEqual(size, RECORD)

    def test_browsing_needs_little_memory(self):
        mounted = self.mount(self.prefix + "large.tfrecord", options=["cache_size=16M"])
        chance = random.Random(1)
        processes = [mounted.daemon.pid, *remoting.fetchers(mounted.daemon.pid)]
        self.assertEqual(len(processes), 2)
        with Watch(processes) as watch:
            for number in (0, 1, 2):
                self.check(mounted, number)
            self.assertEqual(len(os.listdir(mounted / "records")), self.count)
            for number in (self.count - 1, *(chance.randrange(self.count) for _ in range(20))):
                self.check(mounted, number)
            threads = [threading.Thread(target=self.check, args=(mounted, chance.randrange(self.count))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{watch.most >> 10} KiB of memory at most")
        self.assertLess(watch.most, MOST)


if __name__ == "__main__":
    if "--gigabytes" in sys.argv:
        at = sys.argv.index("--gigabytes")
        os.environ["RECORDFS_TEST_GIGABYTES"] = sys.argv[at + 1]
        GIGABYTES = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    os.environ["PATH"] += ":/usr/sbin"
    if shutil.which("nginx") is None:
        print("SKIPPED: nginx is not installed (Debian: nginx-light)")
        sys.exit(77)
    mounting.main()
