#!/usr/bin/env python3
"""Eight concurrent readers compare every byte with what was written, for RECORDFS_READERS_SECONDS (6).

With a sanitizer, reports fail the test, as in every mount test.
"""
import multiprocessing
import os
import random
import re
import signal
import time

import mounting

SECONDS = float(os.environ.get("RECORDFS_READERS_SECONDS", "6"))
READERS = 8
RECORDS = 20000


def read(path, offset=None, length=None):
    """Reads a file or a part of it, and drops its pages, so that the daemon is asked again the next time."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        got = os.pread(descriptor, length or os.fstat(descriptor).st_size, offset or 0)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return got
    finally:
        os.close(descriptor)


class Reader:
    """Reads one container's views at random. Each step returns a description of wrong bytes, or a false value."""

    def __init__(self, top, records, lines, seed):
        self.top, self.records, self.lines, self.random = top, records, lines, random.Random(seed)
        rows = (top / "index/chunks.tsv").read_text(encoding="utf-8").splitlines()[1:]
        self.chunks = [tuple(int(row.split("\t")[i]) for i in (0, 4, 5)) for row in rows]
        self.chunks = [chunk for chunk in self.chunks if chunk[2]]

    def record_by_ordinal(self):
        ordinal = self.random.randrange(len(self.records))
        return read(self.top / f"records/{ordinal:09}") != self.records[ordinal] and f"record {ordinal}"

    def consecutive_records(self):
        first = self.random.randrange(len(self.records) - 50)
        got = [read(self.top / f"records/{first + i}") for i in range(50)]
        return got != self.records[first:first + 50] and f"records from {first}"

    def record_of_a_chunk(self):
        begin, first, count = self.random.choice(self.chunks)
        index = self.random.randrange(count)
        got = read(self.top / f".views/chunks/{begin:015}/records/{index:06}")
        return got != self.records[first + index] and f"record {begin}/{index}"

    def payload(self):
        begin, first, count = self.random.choice(self.chunks)
        return read(self.top / f".views/chunks/{begin:015}/data") != b"".join(self.records[first:first + count]) and f"data {begin}"

    def part_of_the_lines(self):
        at, length = self.random.randrange(len(self.lines)), self.random.randrange(1, 300000)
        return read(self.top / "streams/lines", at, length) != self.lines[at:at + length] and f"lines {at} {length}"

    def listing(self):
        thousand = self.random.randrange(len(self.records) // 1000)
        want = [f"{thousand * 1000 + i:09}" for i in range(1000)]
        return sorted(os.listdir(self.top / f".views/thousands/{thousand:06}")) != want and f"thousand {thousand}"

    def step(self):
        steps = [self.record_by_ordinal] * 8 + [self.record_of_a_chunk] * 8 + [self.part_of_the_lines] * 2
        return self.random.choice(steps + [self.consecutive_records, self.payload, self.listing])()


def read_on(containers, seed, seconds, wrong, steps):
    readers = [Reader(*container, seed + i) for i, container in enumerate(containers)]
    choice = random.Random(seed)
    done, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        complaint = choice.choice(readers).step()
        done += 1
        if complaint:
            wrong.put(complaint)
            break
    steps.put(done)


class Readers(mounting.Case):
    def run_readers(self, options):
        files = [mounting.make_container(self.folder, RECORDS, form) for form in ("riegeli-zstd", "leveldb")]
        mounted = self.mount(*(path for path, _ in files), options=options)
        containers = [(mounted / path.name, records, b"".join(record + b"\n" for record in records)) for path, records in files]
        fork = multiprocessing.get_context("fork")
        wrong, steps = fork.Queue(), fork.Queue()
        processes = [fork.Process(target=read_on, args=(containers, 100 * i, SECONDS / 2, wrong, steps)) for i in range(READERS)]
        for process in processes:
            process.start()
        done = sum(steps.get(timeout=SECONDS + mounting.PATIENCE) for _ in processes)
        for process in processes:
            process.join(mounting.PATIENCE)
        self.assertTrue(wrong.empty(), "wrong bytes")
        self.assertEqual([process.exitcode for process in processes], [0] * READERS)
        self.assertEqual(mounted.log(), "")
        self.assertEqual(mounted.unmount(), 0)
        print(f"{done} reads compared in {SECONDS / 2} s", flush=True)
        self.assertGreater(done, READERS)

    def test_eight_readers_with_a_small_cache_read_correct_bytes(self):
        self.run_readers(["cache_size=4M"])

    def test_eight_readers_right_after_mounting_read_correct_bytes(self):
        self.run_readers([])


class LargeRecord(mounting.Case):
    def test_compressed_record_larger_than_the_cache_is_decoded_once(self):
        source = self.folder / "large.riegeli"
        mounting.run(mounting.program("make_data"), "riegeli-zstd", "1", source, "--kind=large", timeout=10 * mounting.PATIENCE)
        mounted = self.mount(source)
        record = mounted / "records/000000000"
        with open(record, "rb", buffering=0) as file:
            for _ in range(8):
                self.assertEqual(len(file.read(1 << 20)), 1 << 20)
        mounted.send(signal.SIGUSR1)
        mounted.wait_for_log(r"decoded: \d+ bytes")
        decoded = int(re.findall(r"decoded: (\d+) bytes", mounted.log())[-1])
        self.assertLess(decoded, 2 * record.stat().st_size)


if __name__ == "__main__":
    mounting.main()
