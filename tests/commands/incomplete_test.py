#!/usr/bin/env python3
"""An answer that lacks something is never silent: the rest of a damaged file, unreadable input, files, and shards."""
import gzip
import json
import os
import subprocess

import commands
from built import delimited
from tfrecords import tfrecord

CLOSED = "exec <&-"
FOLDER = "exec </tmp"
WRITTEN = "exec 0>/dev/null"


class RangesAtTheEnd(commands.Case):
    """Of a file that is cut inside its 1,001st record."""

    def setUp(self):
        super().setUp()
        self.all = [f"record {number}".encode() for number in range(1001)]
        self.whole = self.folder / "whole.tfrecord"
        self.whole.write_bytes(tfrecord(self.all[:1000]))
        self.cut = self.folder / "cut.tfrecord"
        self.cut.write_bytes(tfrecord(self.all)[:-3])

    def assert_incomplete(self, records, *words):
        done = self.recordfs(words[0], "--delimited", *words[1:])
        self.assertEqual((done.status, delimited(done.out)), (commands.DAMAGE, records), (words, done.err))
        self.assertRegex(done.err, r"cut\.tfrecord: bytes \d+ to \d+: unfinished: the file ends inside a record")

    def test_range_that_begins_at_the_cut_is_incomplete(self):
        for text in ("1000:", "1000:1001", "1000:2000"):
            self.assert_incomplete([], "cat", self.cut, text)
            self.assertEqual(self.good("cat", self.whole, text), b"")
        self.assert_incomplete([], "tail", "-n", "+1001", self.cut)
        self.assert_incomplete([], "tail", "-n", "+2000", self.cut)

    def test_range_that_counts_from_an_unknown_end_is_incomplete(self):
        self.assert_incomplete(self.all[:999], "head", "-n", "-1", self.cut)
        for text in (":-1", "-5:-2", "-1", "-1:", "0:-999", ":-2000"):
            begin, end = ("-1", "1000") if text == "-1" else text.split(":")
            self.assert_incomplete(self.all[:1000][int(begin or 0):int(end or 1000)], "cat", self.cut, text)
            self.recordfs("cat", self.whole, text)

    def test_range_before_the_cut_is_complete(self):
        for text in ("0:1000", "500:1000", "999", "1000:1000", "5:5"):
            self.assertEqual(self.good("cat", self.cut, text), self.good("cat", self.whole, text))
        self.assertEqual(self.good("head", "-n", "1000", self.cut), self.good("cat", self.whole))

    def test_missing_record_is_reported_with_the_cut(self):
        for text in ("1000", "2000", "2000:"):
            done = self.recordfs("cat", self.cut, text)
            self.assertEqual((done.status, done.out), (commands.DAMAGE, b""))
            self.assertIn("the file ends inside a record", done.err)

    def test_ls_and_cp_are_incomplete_too(self):
        for words in (["ls", self.cut, "1000:"], ["ls", self.cut, ":-999"], ["cp", self.cut, "1000:", self.folder / "copied"]):
            self.assertEqual(self.recordfs(*words).status, commands.DAMAGE, words)

    def test_range_at_the_end_of_a_data_set_is_incomplete(self):
        for text in ("2000:", "2000:2001", "2000", "3000:", ":-1", "-1"):
            done = self.recordfs("cat", self.whole, self.cut, text)
            self.assertEqual(done.status, commands.DAMAGE, text)
            self.assertEqual(done.err.count("the file ends inside a record"), 1, done.err)
        self.assertEqual(self.good("cat", self.whole, self.cut, "990:1010"), b"".join(self.all[990:1000] + self.all[:10]))
        self.assertEqual(self.good("cat", self.whole, self.whole, "2000:"), b"")

    def test_cut_of_every_format_is_reported_after_the_last_record(self):
        for name in ("riegeli/simple_zstd9.riegeli", "recordio/v2-text-100.grail-rio", "leveldb_log/leftover-06-then-300.log",
                     "proio/c16-metadata.proio", "array_record/group-10-zstd.array_record"):
            file = self.copy(name)
            file.write_bytes(file.read_bytes()[:-7])
            done = self.recordfs("cat", "--skip-damage", file)
            if done.status != commands.DAMAGE:
                continue  # what was cut off is not needed
            records = json.loads(self.recordfs("info", "--scan", "--json", file).out)["records"]
            with self.subTest(name=name):
                self.assertEqual(self.recordfs("cat", "--skip-damage", file, f"{records}:").status, commands.DAMAGE)

    def test_many_ranges_at_the_end_report_it_once(self):
        done = self.recordfs("cat", "-r", "-1", "-r", "-2", "-r", "-3", self.cut)
        self.assertEqual((done.status, done.err.count("\n")), (commands.DAMAGE, 1))

    def test_first_record_after_damage_and_its_range_end_in_one_way(self):
        # What is lost before the first record is before record 0 and before the range that begins there.
        damaged = self.folder / "damaged.tfrecord"
        damaged.write_bytes(b"\xff" * 30 + tfrecord(self.all[:50]))
        whole = self.recordfs("cat", damaged, "0:1")
        self.assertEqual(self.recordfs("cat", damaged, "0"), whole)
        packed = self.folder / "packed.tfrecord.gz"
        content = bytearray(gzip.compress(tfrecord([os.urandom(1000) for _ in range(100)])))
        content[20_000] ^= 1
        packed.write_bytes(content)
        whole = self.recordfs("cat", packed, "0:1")
        self.assertEqual(self.recordfs("cat", packed, "0"), whole)


class UnreadableStandardInput(commands.Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "x.tfrecord"
        self.file.write_bytes(tfrecord([b"one", b"two"]))

    def shell(self, before, *words):
        """Runs a command in a shell after `before`."""
        ran = subprocess.run(["sh", "-c", f'{before}; exec "$@"', "sh", commands.program("recordfs"), *map(str, words)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), check=False)
        return commands.Done(ran.returncode, ran.stdout, ran.stderr.decode())

    def test_unreadable_standard_input_is_not_an_empty_list(self):
        reading = [["cat", "-r", "-", self.file], ["ls", "-r", "-", self.file], ["cp", "-r", "-", self.file, self.folder / "to"],
                   ["grep", "-f", "-", "x", self.file], ["cat", "--manifest", "-"], ["verify", "--files0-from", "-"]]
        for words in reading:
            for before in (CLOSED, FOLDER, WRITTEN):
                with self.subTest(words=words, before=before):
                    done = self.shell(before, *words)
                    self.assertNotIn(done.status, (0, 1) if words[0] != "grep" else (0, ), done)
                    self.assertRegex(done.err, "Bad file descriptor|Is a directory|cannot be read")

    def test_empty_standard_input_is_an_empty_list(self):
        for words in (["cat", "-r", "-", self.file], ["ls", "-r", "-", self.file]):
            self.assertEqual(self.recordfs(*words), commands.Done(0, b"", ""))


class NamedFiles(commands.Case):
    def test_named_file_that_does_not_exist_is_never_ignored(self):
        good = self.folder / "x.tfrecord"
        good.write_bytes(tfrecord([b"0", b"1", b"2", b"3"]))
        none = self.folder / "none"
        listed = self.folder / "listed"
        listed.write_text("x.tfrecord\nnone\n", encoding="utf-8")
        for names in ([good, none], ["--manifest", listed]):
            for words, out in ((["cat", "-r", "3", *names], b"3"), (["head", "-n", "1", *names], b"0"),
                               (["cat", "-r", ":", *names], b"0123"), (["ls", "-r", "3", *names], b"3\t1\tx.tfrecord:@0/3\n"),
                               (["cat", "-r", "-1", *names], b""), (["cp", "-r", "3", *names, self.folder / "to"], b"")):
                with self.subTest(words=words):
                    done = self.recordfs(*words)
                    self.assertEqual((done.status, done.out), (commands.CANNOT_OPEN, out), done.err)
                    self.assertEqual(done.err, f"recordfs: {none}: cannot open: No such file or directory\n")
            self.assertEqual(os.listdir(self.folder / "to"), ["000000003"])
            for path in (self.folder / "to").iterdir():
                path.unlink()


class Shards(commands.Case):
    def test_set_with_more_shards_than_there_may_be_is_refused(self):
        for total in (2_000_000, 123_456_789_012):
            path = self.folder / f"x-00001-of-{total}.tfrecord"
            path.write_bytes(tfrecord([b"x"]))
            for word in (self.folder, self.folder / "x-*", self.folder / f"x@{total}.tfrecord",
                         self.folder / f"x-?????-of-{total}.tfrecord"):
                for command in ("info", "cat", "ls"):
                    self.assert_ends(commands.CANNOT_OPEN, "a data set of more than 1048576 shards", command, word)
            self.assertEqual(self.good("cat", path), b"x")
            path.unlink()

    def test_skipped_missing_shards_are_ranges(self):
        for number in (3, 7):
            (self.folder / f"x-{number:05}-of-1000000.tfrecord").write_bytes(tfrecord([b"x"]))
        surplus = self.folder / "x-00000-of-00002.tfrecord"
        surplus.write_bytes(tfrecord([b"x"]))
        skipped = self.folder / "skipped"
        done = self.recordfs("cat", "--allow-missing", "--split", "0/1", "--skip-damage", "--skipped", skipped,
                             self.folder / "x-*")
        self.assertEqual((done.status, done.out), (0, b"xx"))
        rows = [json.loads(line) for line in skipped.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(row["class"], row.get("shards"), row.get("count")) for row in rows],
                         [("missing", "00000-00002", 3), ("missing", "00004-00006", 3), ("missing", "00008-999999", 999_992),
                          ("surplus", None, None)])
        self.assertEqual(rows[0]["file"], str(self.folder / "x-?????-of-1000000.tfrecord"))
        self.assertEqual(rows[-1]["file"], str(surplus))

    def test_surplus_shard_has_a_line_of_json(self):
        for name in ("x-00000-of-00001", "x-00001-of-00001"):
            (self.folder / f"{name}.tfrecord").write_bytes(tfrecord([b"x"]))
        done = self.recordfs("verify", "--json", self.folder / "x-*")
        rows = {row["file"]: row["status"] for row in map(json.loads, done.out.splitlines())}
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertEqual(rows, {str(self.folder / "x-00000-of-00001.tfrecord"): "good",
                                str(self.folder / "x-00001-of-00001.tfrecord"): "surplus"})

    def test_records_of_a_block_that_cannot_be_counted_are_not_zero(self):
        done = self.recordfs("verify", "--json", commands.sample("recordio/bad-cut-table.grail-rio"))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertEqual({row["records_lost"] for row in json.loads(done.out)["damage"]}, {None})


if __name__ == "__main__":
    commands.main()
