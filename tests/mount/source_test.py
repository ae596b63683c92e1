#!/usr/bin/env python3
"""The source changes under its mount: what is served stays what it was, or fails; it is never something else."""
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
        self.truth = {name: (top / "records" / name).read_bytes() for name in os.listdir(top / "records")}
        self.mounted = self.mount(self.source)

    def outcomes(self):
        """{record: its bytes, or an errno} for all records, each asked for by its name."""
        found = {}
        for name in self.truth:
            try:
                found[name] = (self.mounted / "records" / name).read_bytes()
            except OSError as failed:
                found[name] = failed.errno
        return found

    def assert_right_or_failed(self, found):
        """Returns how many failed."""
        failures = {name: what for name, what in found.items() if isinstance(what, int)}
        self.assertEqual(set(failures.values()) - set(CHANGED), set())
        for name, what in found.items():
            if name not in failures:
                self.assertEqual(what, self.truth[name], name)
        self.assertIsNone(self.mounted.daemon.poll(), self.mounted.log())
        return len(failures)

    def rewrite(self, content):
        with self.source.open("r+b") as file:
            file.write(content)
            file.truncate()

    def test_cut_off_before_anything_was_read(self):
        os.truncate(self.source, 20000)
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), RECORDS)
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def test_cut_off_to_nothing(self):
        (self.mounted / "records/000000000").read_bytes()
        os.truncate(self.source, 0)
        self.assert_fails_reading("records/000001249")
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def assert_fails_reading(self, name):
        self.assert_fails_with(errno.EIO, (self.mounted / name).read_bytes)

    def test_cut_off_after_the_listing(self):
        os.listdir(self.mounted / "records")
        os.truncate(self.source, 20000)
        self.assertGreater(self.assert_right_or_failed(self.outcomes()), RECORDS // 2)
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def test_stream_of_a_file_that_was_cut_off(self):
        size = (self.mounted / "streams/concat").stat().st_size
        os.truncate(self.source, 100000)
        self.assertEqual((self.mounted / "streams/concat").stat().st_size, size)
        self.assert_fails_reading("streams/concat")
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def test_raw_bytes_of_a_file_that_was_cut_off(self):
        (self.mounted / "chunks/000000000000064/raw").stat()
        os.truncate(self.source, 30)
        self.assert_fails_reading("chunks/000000000000064/raw")
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def test_rewritten_in_place_with_another_container(self):
        os.listdir(self.mounted / "records")
        self.rewrite(mounting.sample(OTHER).read_bytes())
        self.assertGreater(self.assert_right_or_failed(self.outcomes()), 0)
        self.mounted.wait_for_log(f"{self.source}: .*(shorter|rewritten)")

    def test_rewritten_in_place_at_the_same_size(self):
        os.listdir(self.mounted / "records")
        self.rewrite(mounting.sample(SAMPLE).read_bytes()[:-5000] + os.urandom(5000))
        self.assertGreater(self.assert_right_or_failed(self.outcomes()), 0)
        self.mounted.wait_for_log(f"{self.source}: .*rewritten")

    def test_middle_overwritten_with_noise(self):
        os.listdir(self.mounted / "records")
        with self.source.open("r+b") as file:
            file.seek(60000)
            file.write(os.urandom(30000))
        self.assertGreater(self.assert_right_or_failed(self.outcomes()), 100)
        self.mounted.wait_for_log(f"{self.source}: byte ")

    def test_raw_bytes_of_a_middle_that_was_overwritten(self):
        first, second = sorted(os.listdir(self.mounted / "chunks"))[1:3]
        with self.source.open("r+b") as file:
            file.seek(int(second) + 1000)
            file.write(os.urandom(64))
        self.assert_fails_reading(f"chunks/{second}/raw")
        self.mounted.wait_for_log(f"{self.source}: byte {int(second)}: .*touched")
        self.assertEqual((self.mounted / f"chunks/{first}/raw").read_bytes(), self.bytes[int(first):int(second)])

    def test_rewritten_again_and_again_while_it_is_read(self):
        other = mounting.sample(OTHER).read_bytes()
        for turn in range(10):
            # What cp says of each file that fails is more than a pipe holds that nobody reads.
            with mounting.started("cp", "-r", self.mounted / "records", self.folder / f"copy{turn}",
                                  stderr=subprocess.DEVNULL) as copying:
                while copying.poll() is None:
                    self.rewrite(other)
                    self.rewrite(self.bytes)
            for path in (self.folder / f"copy{turn}").iterdir():
                self.assertIn(path.read_bytes(), (self.truth[path.name], b""), "cp leaves an empty file where it fails")
        self.assertIsNone(self.mounted.daemon.poll())

    def test_touched_and_the_same(self):
        os.listdir(self.mounted / "records")
        os.utime(self.source, (1, 1))
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), 0)
        self.assertEqual(self.mounted.log(), "")

    def test_written_anew_with_the_same_bytes(self):
        os.listdir(self.mounted / "records")
        self.source.write_bytes(self.bytes)
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), 0)

    def test_replaced_by_another_file(self):
        """The open file is the snapshot: a new file under the old name is another matter."""
        os.replace(self.copy(OTHER), self.source)
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), 0)

    def test_removed(self):
        self.source.unlink()
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), 0)

    def test_grown_file_stays_a_snapshot_and_is_said_once(self):
        with self.source.open("ab") as file:
            file.write(self.bytes[64:7028])
        self.assertEqual(self.assert_right_or_failed(self.outcomes()), 0)
        self.assertEqual(len(os.listdir(self.mounted / "records")), RECORDS)
        self.mounted.wait_for_log("grown")
        with self.source.open("ab") as file:
            file.write(self.bytes[64:7028])
        (self.mounted / "chunks/000000000083928/data").read_bytes()
        self.assertEqual(self.mounted.log().count("\n"), 1, self.mounted.log())
        self.assertNotIn("EIO", self.mounted.log())

    def test_failure_is_not_kept_by_the_kernel_beyond_its_cause(self):
        """A size or a listing that was learnt stays; nothing turns into an empty file."""
        os.listdir(self.mounted / "records")
        os.truncate(self.source, 20000)
        with contextlib.suppress(OSError):
            (self.mounted / "records/000001000").read_bytes()
        time.sleep(0.01)
        self.assertEqual((self.mounted / "records/000001000").stat().st_size, len(self.truth["000001000"]))


if __name__ == "__main__":
    mounting.main()
