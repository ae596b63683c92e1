#!/usr/bin/env python3
"""A cluster of Dask: a scheduler and three workers on 127.0.0.1 read a damaged data set, and one worker is killed.

RECORDFS_CLUSTER_RECORDS is the number of records (200,000).
"""
import collections
import contextlib
import hashlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import cases
import recordfs
from built import PATIENCE, wait_for
from cases import Case

RECORDS = int(os.environ.get("RECORDFS_CLUSTER_RECORDS", "200000"))
SHARDS = 8
WORKERS = 3
DAMAGED = 20  # places in each shard
SPLITS_OF_A_SHARD = 12
HAS_DASK = all(importlib.util.find_spec(name) for name in ("dask", "distributed"))


def totals(records, log):
    """Returns the number of records and a sum of their hashes. Appends this process to a file."""
    count = total = 0
    for record in records:
        count += 1
        total += int.from_bytes(hashlib.blake2b(record, digest_size=8).digest(), "little")
    with open(log, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()} {count} {total}\n")
    return count, total % 2**64


def added(parts):
    counts, sums = zip(*parts)
    return sum(counts), sum(sums) % 2**64


@unittest.skipUnless(HAS_DASK, "needs dask and distributed")
class Cluster(Case):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        for number in range(SHARDS):
            path = self.write(f"train-{number:05}-of-{SHARDS:05}",
                              (b"%d" % i * (1 + i % 3) for i in range(number, RECORDS, SHARDS)))
            chosen = random.Random(number)
            with path.open("r+b") as file:
                for _ in range(DAMAGED):
                    file.seek(chosen.randrange(path.stat().st_size))
                    file.write(b"\xff\xee")

    def start(self, module, *words):
        """Starts a process of the cluster, which ends with the test."""
        with (self.folder / f"{module}.err").open("ab") as errors:
            process = subprocess.Popen([sys.executable, "-B", "-m", f"distributed.cli.{module}", *map(str, words)],
                                       cwd=self.folder, stdout=errors, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    @contextlib.contextmanager
    def cluster(self):
        """Yields a client, and the workers as a dict of processes by their names."""
        import distributed

        where = self.folder / "scheduler.json"
        self.start("dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--no-show",
                   "--dashboard-address", "127.0.0.1:0", "--scheduler-file", where)
        wait_for(where.exists, "the scheduler")
        workers = {f"worker{i}": self.start("dask_worker", "--host", "127.0.0.1", "--nthreads", 1, "--no-nanny",
                                            "--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--name", f"worker{i}",
                                            "--local-directory", self.folder, "--scheduler-file", where)
                   for i in range(WORKERS)}
        with distributed.Client(scheduler_file=str(where), timeout=PATIENCE) as client:
            client.wait_for_workers(WORKERS, timeout=PATIENCE)
            yield client, workers

    def test_killed_worker_changes_nothing(self):
        import distributed

        import recordfs.dask

        set_of_shards = self.folder / f"train@{SHARDS}"
        size = sum(path.stat().st_size for path in self.folder.glob("train-*"))
        begin = time.monotonic()
        expected = totals(recordfs.open(set_of_shards, on_damage="skip"), self.log)
        one = time.monotonic() - begin
        self.assertLess(RECORDS * 0.9, expected[0])
        self.assertLess(expected[0], RECORDS)
        self.log.unlink()

        with self.cluster() as (client, workers):
            begin = time.monotonic()
            bag = recordfs.dask.bag(set_of_shards, split_size=size // SHARDS // SPLITS_OF_A_SHARD, on_damage="skip")
            futures = client.compute([part for part in bag.map_partitions(totals, str(self.log)).to_delayed()])
            done = distributed.as_completed(futures)
            for _ in range(len(futures) // 3):
                next(done)
            names = {worker["id"]: address for address, worker in client.scheduler_info()["workers"].items()}
            has_results = collections.Counter(address for holders in client.who_has(futures).values() for address in holders)
            victim = max(workers, key=lambda name: has_results[names[name]])
            self.assertGreater(has_results[names[victim]], 0)
            workers[victim].send_signal(signal.SIGKILL)
            self.assertEqual(added(client.gather(futures)), expected)
            took = time.monotonic() - begin
        processes = [int(line.split()[0]) for line in self.log.read_text().splitlines()]
        self.assertEqual(set(processes), {worker.pid for worker in workers.values()})
        self.assertGreater(len(processes), len(futures), "the results of the killed worker were not made again")
        print(f"{expected[0]:,} records in {len(futures)} tasks: {took:.1f} s; one process: {one:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    cases.main()
