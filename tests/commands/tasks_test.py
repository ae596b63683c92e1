#!/usr/bin/env python3
"""cat --split as the task of a scheduler: parts of data sets, retries, what was skipped, and exit statuses."""
import itertools
import json
import os
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import commands
from built import is_thorough, share_of
from splits_test import Splits
from tfrecords import tfrecord

BINARY = "riegeli/multiblock_zstd.riegeli"
DAMAGED = "riegeli/dmg_flip_header.riegeli"
TRY_AGAIN = 75


class WholeCorpus(Splits):
    """All samples, good and damaged, are one data set, which is read in parts."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.samples = commands.containers()
        cls.manifest = Path(folder.name) / "all.txt"
        cls.manifest.write_text("".join(f"{path}\n" for path in cls.samples), encoding="utf-8")
        cls.wanted = None

    def setUp(self):
        super().setUp()
        if self.wanted is None:
            type(self).wanted = b"".join(self.all_in_file_order())

    def all_in_file_order(self):
        """Yields the readable records of all samples, of several samples at a time."""
        words = ("cat", "--skip-damage", "--allow-missing", "--delimited")
        for is_unordered, some in itertools.groupby(self.samples, self.out_of_order().__contains__):
            yield from map(self.in_file_order, some) if is_unordered else [self.recordfs(*words, *some).out]

    def read(self, split, is_retried):
        run = self.recordfs if is_retried else self.once
        done = run("cat", "--manifest", self.manifest, "--allow-missing", "--skip-damage", "--delimited", "--split", split)
        self.assertIn(done.status, (commands.GOOD, commands.CANNOT_OPEN, commands.DAMAGE, commands.PARTLY_DONE), done.err)
        return done.out

    def check(self, splits, workers, retries=1):
        """Any number of workers takes the splits in any order, some of them twice."""
        tasks = [i for i in range(len(splits)) for _ in range(retries)]
        random.Random(workers).shuffle(tasks)
        with ThreadPoolExecutor(workers) as pool:
            outputs = list(pool.map(lambda i: (i, self.read(splits[i], retries > 1)), tasks))
        results = dict(outputs)
        for i, output in outputs:
            self.assertEqual(results[i], output, splits[i])
        self.assertEqual(b"".join(results[i] for i in range(len(splits))), self.wanted)

    def test_any_number_of_parts_contains_each_record_once(self):
        for count in (1, 2, 40):
            with self.subTest(parts=count):
                self.check([f"{i}/{count}" for i in range(count)], workers=2)

    def test_retried_tasks_write_the_same(self):
        self.check([f"{i}/17" for i in range(17)], workers=3, retries=2)

    def test_splits_by_records_contain_each_record_once(self):
        self.check_ids("--records", "1000" if is_thorough() else "5000")

    def test_splits_by_size_contain_each_record_once(self):
        self.check_ids("--size", "1M" if is_thorough() else "4M")

    def check_ids(self, *words):
        lines = self.recordfs("splits", *words, "--json", "--manifest", self.manifest, "--allow-missing").out.splitlines()
        ids = [json.loads(line)["id"] for line in lines]
        self.assertEqual(len(set(ids)), len(ids))
        self.check(ids, workers=2)


class Skipped(Splits):
    def setUp(self):
        super().setUp()
        self.list = self.folder / "skipped.jsonl"

    def read(self, split, *paths):
        done = self.recordfs("cat", "--delimited", "--skip-damage", "--skipped", self.list, "--split", split, *paths)
        return done, [json.loads(line) for line in self.list.read_text(encoding="utf-8").splitlines()]

    def check(self, path):
        """The list has an entry if and only if the exit status would tell so without it."""
        listed = self.folder / f"{path.name}.skipped"
        words = ("cat", "--delimited", "--skip-damage", "--split", ":", path)
        done = self.recordfs(*words, "--skipped", listed)
        rows = [json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()]
        without = self.recordfs(*words)
        self.assertEqual(done.out, without.out, path)
        self.assertEqual(done.err, without.err, path)
        counted = [row for row in rows if row["class"] in ("damage", "unfinished")]
        self.assertEqual(bool(counted), without.status == commands.DAMAGE, (path, without.err))
        self.assertEqual(done.status == commands.GOOD, len(counted) == len(rows), (path, done))
        for row in rows:
            self.assertEqual(row["file"], str(path))
            self.assertLessEqual(row["begin"], row["end"])

    def test_every_sample_lists_the_damage_that_its_status_tells(self):
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for done in workers.map(self.check, share_of(self.about_samples("info"), 0, 3)):
                self.assertIsNone(done)

    def test_listed_damage_is_not_counted_in_the_status(self):
        path = commands.sample(DAMAGED)
        self.assertEqual(self.recordfs("cat", "--skip-damage", "--split", "0/1", path).status, commands.DAMAGE)
        done, skipped = self.read("0/1", path)
        self.assertEqual(done.status, commands.GOOD)
        self.assertEqual([list(row) for row in skipped], [["file", "begin", "end", "class", "reason", "records_lost"]])
        self.assertRegex(done.err, "damage")

    def test_parts_list_each_damaged_region_once(self):
        path = commands.sample(DAMAGED)
        whole = self.read("0/1", path)[1]
        self.assertEqual([row["begin"] for i in range(7) for row in self.read(f"{i}/7", path)[1]],
                         [row["begin"] for row in whole])

    def test_list_of_a_good_file_is_empty(self):
        self.list.write_text("old\n", encoding="utf-8")
        done, skipped = self.read("0/1", commands.sample(BINARY))
        self.assertEqual((done.status, skipped), (commands.GOOD, []))

    def test_list_that_cannot_be_written_fails(self):
        self.assert_ends(commands.PARTLY_DONE, "No such file or directory", "cat", "--skip-damage", "--split", "0/1",
                         "--skipped", self.folder / "no" / "folder", commands.sample(BINARY))
        if os.access("/dev/full", os.W_OK):
            done = self.recordfs("cat", "--skip-damage", "--split", "0/1", "--skipped", "/dev/full", commands.sample(DAMAGED))
            self.assertEqual(done.status, commands.PARTLY_DONE)
            self.assertRegex(done.err, "/dev/full: No space left on device")


class Statuses(Splits):
    def setUp(self):
        super().setUp()
        self.set = [self.folder / f"set-{i:05}-of-00003.tfrecord" for i in range(3)]
        for i, path in enumerate(self.set):
            path.write_bytes(tfrecord([f"{i}.{n}".encode() for n in range(100)]))
        self.pattern = self.folder / "set-*"

    def split(self, number):
        return self.good("splits", "--count", "4", self.pattern).decode().splitlines()[number]

    def test_changed_data_set_is_refused(self):
        last = self.split(3)
        self.assertEqual(self.good("cat", "--split", last, self.pattern), self.good("cat", "--split", "3/4", self.pattern))
        self.set[0].write_bytes(tfrecord([b"other"]))
        self.assert_ends(commands.PARTLY_DONE, "have changed since this split was made: 3/4@", "cat", "--split", last, self.pattern)

    def test_missing_shard_needs_permission(self):
        self.set[1].unlink()
        self.assertEqual(self.recordfs("cat", "--split", "0/2", self.pattern).status, commands.DAMAGE)
        done = [self.recordfs("cat", "--lines", "--split", f"{i}/2", "--allow-missing", self.pattern) for i in range(2)]
        self.assertEqual(b"".join(part.out for part in done).count(b"\n"), 200)
        self.assertEqual({part.status for part in done}, {commands.GOOD})

    def test_missing_shard_is_in_the_list_of_one_part(self):
        self.set[1].unlink()
        surplus = self.folder / "set-00007-of-00003.tfrecord"
        surplus.write_bytes(tfrecord([b"surplus"]))
        words = ["--allow-missing", self.pattern]
        by_size = self.recordfs("splits", "--size", "1K", *words).out.decode().splitlines()
        for splits in ([f"{i}/3" for i in range(3)], by_size):
            rows = []
            for split in splits:
                listed = self.folder / "skipped"
                done = self.recordfs("cat", "--skip-damage", "--skipped", listed, "--split", split, *words)
                self.assertEqual(done.status, commands.GOOD, done.err)
                rows += [json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()]
            self.assertEqual([(row["file"], row["class"]) for row in rows],
                             [(str(self.set[1]), "missing"), (str(surplus), "surplus")])

    def test_failure_that_may_pass_is_distinguished(self):
        # The process has too few descriptors to open all shards.
        few = ("bash", "-c", 'ulimit -n 4 && exec "$@"', "bash", commands.program("recordfs"), "cat", "--split", "0/1",
               *self.set)
        done = subprocess.run(few, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), check=False)
        self.assertEqual(done.returncode, TRY_AGAIN, done.stderr)
        self.assertIn(b"Too many open files", done.stderr)


if __name__ == "__main__":
    commands.main()
