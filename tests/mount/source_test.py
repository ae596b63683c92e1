#!/usr/bin/env python3
"""The source changes while it is mounted: reads return its original content or fail, and never return anything else."""
import contextlib
import errno
import os
import subprocess
import time

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
OTHER = "riegeli/simple_snappy.riegeli"
RECORDS = 1250
CHANGED = (errno.EIO, errno.ENOENT)


class ChangingSource(mounting.Case):
    def setUp(self):
        super().setUp()
        self.source = self.copy(SAMPLE)
        self.bytes = self.source.read_bytes()
        top = self.mount(mounting.sample(SAMPLE)).point
        self.expected = {name: (top / "records" / name).read_bytes() for name in os.listdir(top / "records")}
        self.mounted = self.mount(self.source)

    def outcomes(self):
        """Reads each record by its name. Returns {record: bytes or errno}."""
        found = {}
        for name in self.expected:
            try:
                found[name] = (self.mounted / "records" / name).read_bytes()
            except OSError as failed:
                found[name] = failed.errno
        return found

    def assert_correct_or_failed(self, found):
        """Returns how many reads failed."""
        failures = {name: what for name, what in found.items() if isinstance(what, int)}
        self.assertEqual(set(failures.values()) - set(CHANGED), set())
        for name, what in found.items():
            if name not in failures:
                self.assertEqual(what, self.expected[name], name)
        self.assertIsNone(self.mounted.daemon.poll(), self.mounted.log())
        return len(failures)

    def rewrite(self, content):
        with self.source.open("r+b") as file:
            file.write(content)
            file.truncate()

    def assert_fails_reading(self, name):
        self.assert_fails_with(errno.EIO, (self.mounted / name).read_bytes)

    def test_records_of_an_overwritten_range_fail(self):
        os.listdir(self.mounted / "records")
        with self.source.open("r+b") as file:
            file.seek(60000)
            file.write(os.urandom(30000))
        self.assertGreater(self.assert_correct_or_failed(self.outcomes()), 100)
        self.mounted.wait_for_log(f"{self.source}: byte ")

    def test_raw_bytes_of_an_overwritten_chunk_fail(self):
        first, second = sorted(os.listdir(self.mounted / "chunks"))[1:3]
        with self.source.open("r+b") as file:
            file.seek(int(second) + 1000)
            file.write(os.urandom(64))
        self.assert_fails_reading(f"chunks/{second}/raw")
        self.mounted.wait_for_log(f"{self.source}: byte {int(second)}: .*modified")
        self.assertEqual((self.mounted / f"chunks/{first}/raw").read_bytes(), self.bytes[int(first):int(second)])

    def test_source_rewritten_during_reads_never_returns_wrong_bytes(self):
        other = mounting.sample(OTHER).read_bytes()
        for turn in range(10):
            # cp prints a line per failure, which could fill a pipe without a reader.
            with mounting.started("cp", "-r", self.mounted / "records", self.folder / f"copy{turn}",
                                  stderr=subprocess.DEVNULL) as copying:
                while copying.poll() is None:
                    self.rewrite(other)
                    self.rewrite(self.bytes)
            for path in (self.folder / f"copy{turn}").iterdir():
                self.assertIn(path.read_bytes(), (self.expected[path.name], b""), "cp leaves an empty file if it fails")
        self.assertIsNone(self.mounted.daemon.poll())

    def test_source_that_grew_is_served_as_before_and_logged_once(self):
        with self.source.open("ab") as file:
            file.write(self.bytes[64:7028])
        self.assertEqual(self.assert_correct_or_failed(self.outcomes()), 0)
        self.assertEqual(len(os.listdir(self.mounted / "records")), RECORDS)
        self.mounted.wait_for_log("grown")
        with self.source.open("ab") as file:
            file.write(self.bytes[64:7028])
        (self.mounted / "chunks/000000000083928/data").read_bytes()
        self.assertEqual(self.mounted.log().count("\n"), 1, self.mounted.log())
        self.assertNotIn("EIO", self.mounted.log())

    def test_sizes_that_the_kernel_has_cached_stay_after_a_failure(self):
        """No file becomes empty."""
        os.listdir(self.mounted / "records")
        os.truncate(self.source, 20000)
        with contextlib.suppress(OSError):
            (self.mounted / "records/000001000").read_bytes()
        time.sleep(0.01)
        self.assertEqual((self.mounted / "records/000001000").stat().st_size, len(self.expected["000001000"]))


if __name__ == "__main__":
    mounting.main()
