#!/usr/bin/env python3
"""Data sets of which shards are missing, surplus or damaged."""
import gzip
import json
import subprocess

import commands
from built import delimited
from data_sets import Sets
from tfrecords import tfrecord


class Damage(Sets):
    def setUp(self):
        super().setUp()
        self.paths, self.all = self.make_text_set([3, 1, 4, 2])
        self.pattern = self.folder / "text-*"

    def test_missing_shard_stops_before_anything_is_written(self):
        self.paths[1].unlink()
        for words in (["cat"], ["head"], ["ls"], ["splits"], ["cat", "--shuffle", "1"]):
            for names in ([self.pattern], [path for path in self.paths if path.exists()]):
                done = self.recordfs(*words, *names)
                with self.subTest(words=words, names=names):
                    self.assertEqual((done.status, done.out), (commands.DAMAGE, b""))
                    self.assertIn(f"{self.paths[1]}: this shard is missing\n", done.err)
                    self.assertIn("try: --allow-missing", done.err)

    def test_missing_shard_is_skipped_on_request(self):
        self.paths[1].unlink()
        done = self.recordfs("cat", "--delimited", "--allow-missing", self.pattern)
        self.assertEqual(delimited(done.out), self.all[:3] + self.all[4:])
        self.assertEqual(done.status, commands.GOOD)
        self.assertEqual(done.err, f"recordfs: {self.paths[1]}: this shard is missing\n")
        done = self.recordfs("cat", "--allow-missing", self.pattern, "3")
        self.assertEqual(done.out, self.all[4])

    def test_allowed_missing_shard_does_not_fail_any_command(self):
        self.paths[1].unlink()
        for words, status in ((["head"], 0), (["tail"], 0), (["ls"], 0), (["splits"], 0), (["splits", "--count", "2"], 0),
                              (["cat", "--shuffle", "1"], 0), (["grep", "-c", ""], 0), (["grep", "no such text"], 1)):
            with self.subTest(words=words):
                done = self.recordfs(words[0], "--allow-missing", *words[1:], self.pattern)
                self.assertEqual(done.status, status, done.err)
                self.assertIn(f"{self.paths[1]}: this shard is missing\n", done.err)

    def test_record_of_an_allowed_missing_shard_is_still_an_error(self):
        self.paths[1].unlink()
        done = self.recordfs("cat", "--allow-missing", self.pattern, "1:@0/0")
        self.assertEqual((done.status, done.out), (commands.DAMAGE, b""))

    def test_only_damage_before_the_wanted_record_is_printed(self):
        """Although shards are counted, and files are scanned, ahead of what is wanted."""
        paths, records = self.make_text_set([2000] * 6, "bad")
        for shard, path in enumerate(paths):
            content = bytearray(path.read_bytes())
            for ordinal in (10, 1000):
                before = tfrecord(records[2000 * shard:2000 * shard + ordinal])
                content[len(before) + 8] ^= 1  # the checksum of the next record's length
            path.write_bytes(content)
        for _ in range(5):
            self.assertEqual(self.recordfs("cat", paths[0], "5").err, "")
            for wanted, damaged in ((5, []), (500, [0]), (2500, [0, 0, 1])):
                done = self.recordfs("cat", self.folder / "bad-*", str(wanted))
                self.assertEqual([line.split(": ")[1] for line in done.err.splitlines()], [str(paths[n]) for n in damaged])
            self.assertEqual(len(self.recordfs("cat", self.folder / "bad-*", "-1").err.splitlines()), 2 * len(paths))

    def test_unfinished_shard_before_the_wanted_record_is_printed(self):
        whole = self.paths[0].read_bytes()
        self.paths[0].write_bytes(whole[:-3])
        for words, count in ((["cat", self.pattern, "2"], 1), (["cat", self.pattern, "4:6"], 1), (["tail", self.pattern], 1)):
            done = self.recordfs(*words)
            self.assertEqual(done.err.count(f"{self.paths[0]}: bytes "), count, done.err)
            self.assertIn("the file ends inside a record", done.err)

    def test_file_with_the_name_of_a_container_in_a_directory_is_not_left_out(self):
        folder = self.folder / "directory"
        folder.mkdir()
        (folder / "a.tfrecord").write_bytes(self.paths[0].read_bytes())
        (folder / "notes.log").write_text("text")
        for content in (bytes(500), b"version https://git-lfs.github.com/spec/v1"):
            (folder / "b.tfrecord").write_bytes(content)
            for words in (["cat"], ["verify"], ["verify", "-r"], ["grep", "-rc", "record"], ["info"], ["splits"]):
                done = self.recordfs(*words, folder)
                with self.subTest(words=words):
                    self.assertEqual(done.status, commands.CANNOT_OPEN)
                    self.assertIn("b.tfrecord", done.err + done.out.decode())

    def test_shard_that_changed_since_it_was_counted_is_not_read(self):
        paths, records = self.make_text_set([10] * 70, "many")  # more than stay open
        with subprocess.Popen([commands.program("recordfs"), "cat", "--lines", "-r", "-", self.folder / "many-*"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment()) as running:
            running.stdin.write(b"-1\n")
            running.stdin.flush()
            self.assertEqual(running.stdout.readline(), records[-1] + b"\n")
            other = self.folder / "other"
            other.write_bytes(tfrecord([b"another"] * 3))
            other.rename(paths[2])
            out, err = running.communicate(b"30\n20:31\n", timeout=commands.PATIENCE)
        self.assertNotIn(b"another", out)
        self.assertIn(f"{paths[2]}: ", err.decode())
        self.assertIn("has changed since it was opened", err.decode())
        self.assertNotEqual(running.returncode, 0)

    def test_missing_shards_are_ranges(self):
        total = 1_000_000
        path = self.folder / f"x-00001-of-{total}.tfrecord"
        path.write_bytes(tfrecord([b"x"]))
        for word in (f"{self.folder}/x-*", f"{self.folder}/x@{total}.tfrecord"):
            done = self.recordfs("info", word)
            self.assertEqual(done.status, commands.DAMAGE)
            self.assertLess(len(done.out) + len(done.err), 2000)
            self.assertIn(b"00002-999999 (999998) (missing)\n", done.out)
            self.assertIn(f"x-?????-of-{total}.tfrecord: shards 00002-999999 (999998) are missing\n", done.err)
            known = json.loads(self.recordfs("info", "--json", word).out)
            self.assertEqual(known["missing"], total - 1)
            self.assertEqual([(row.get("shards"), row.get("count")) for row in known["table"]],
                             [(None, None), (None, None), ("00002-999999", 999998)])

    def test_shards_with_and_without_compression_are_one_set(self):
        packed = self.paths[1].with_name(self.paths[1].name + ".gz")
        packed.write_bytes(gzip.compress(self.paths[1].read_bytes()))
        self.paths[1].unlink()
        for words in ([self.pattern], [self.folder], [self.folder / "text@4.tfrecord"], [*self.paths[:1], packed, *self.paths[2:]]):
            with self.subTest(words=words):
                self.assertEqual(self.records(*words), self.all)

    def test_file_of_another_suffix_is_named_beside_a_missing_shard(self):
        self.paths[1].rename(self.paths[1].with_suffix(".bak"))
        (self.folder / "data").mkdir()
        for word in (f"{self.folder}/text-*.tfrecord", self.folder / "text@4.tfrecord"):
            done = self.recordfs("cat", word)
            self.assertEqual((done.status, done.out), (commands.DAMAGE, b""))
            self.assertIn(f"{self.paths[1]}: this shard is missing (there is {self.paths[1].with_suffix('.bak')})\n", done.err)

    def test_missing_shard_shifts_no_address(self):
        address = f"{self.paths[2].name}:@0/1"
        self.paths[1].unlink()
        for word in (address, "2:@0/1"):
            done = self.recordfs("cat", "--allow-missing", self.pattern, word)
            self.assertEqual(done.out, self.all[5])

    def test_surplus_shards_are_reported(self):
        surplus = self.folder / "text-00004-of-00004.tfrecord"
        older = self.folder / "text-00000-of-00002.tfrecord"
        for path in (surplus, older):
            path.write_bytes(tfrecord([b"surplus"]))
        done = self.recordfs("cat", "--delimited", "--allow-missing", self.pattern)
        self.assertEqual((done.status, delimited(done.out)), (commands.GOOD, self.all))
        for path in (surplus, older):
            self.assertIn(f"{path}: this shard is surplus", done.err)
        self.assertEqual(self.recordfs("cat", self.pattern).out, b"")

    def test_shard_that_is_no_container_is_reported_by_name(self):
        self.paths[2].write_text("something else", encoding="utf-8")
        done = self.recordfs("cat", "--delimited", self.pattern)
        self.assertEqual((done.status, delimited(done.out)), (commands.CANNOT_OPEN, self.all[:4]))
        self.assertIn(f"{self.paths[2]}: ", done.err)
        done = self.recordfs("cat", "--delimited", "--allow-missing", self.pattern)
        self.assertEqual((done.status, delimited(done.out)), (commands.CANNOT_OPEN, self.all[:4] + self.all[8:]))
        done = self.recordfs("cat", self.pattern, "5")
        self.assertEqual((done.status, done.out), (commands.CANNOT_OPEN, b""))

    def test_damaged_record_is_reported_with_its_shard(self):
        commands.with_bit_flipped(self.paths[2], 14)
        done = self.recordfs("cat", "--delimited", "--skip-damage", self.pattern)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertIn(f"{self.paths[2]}: byte", done.err)
        self.assertEqual(delimited(done.out)[:4], self.all[:4])
        self.assertEqual(delimited(done.out)[-2:], self.all[-2:])
        self.assertEqual(self.recordfs("verify", self.pattern).status, commands.DAMAGE)

    def test_info_and_verify_report_incomplete_sets(self):
        self.paths[1].unlink()
        self.paths[2].write_text("something else", encoding="utf-8")
        done = self.recordfs("info", "--json", self.pattern)
        known = json.loads(done.out)
        self.assertEqual((done.status, known["missing"], known["unreadable"], known["records"]), (commands.DAMAGE, 1, 1, 5))
        self.assertIn("error", known["table"][1])
        done = self.recordfs("verify", self.pattern)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertIn("this shard is missing", done.err)


if __name__ == "__main__":
    commands.main()
