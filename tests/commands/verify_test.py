#!/usr/bin/env python3
"""recordfs verify: reports about good and damaged files, and which files it reads again."""
import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import commands
from tfrecords import tfrecord

GOOD_FILE = "riegeli/simple_zstd9.riegeli"
SMALL = "leveldb_log/spec-abc.log"
DAMAGED = "riegeli/fuzz_simple_zstd.riegeli"
LONG_AGO = (1, 1)  # a time stamp old enough to detect changes


class VerifyCase(commands.Case):
    def objects(self, *words):
        done = self.recordfs("verify", "--json", *words)
        return done, [json.loads(line) for line in done.out.splitlines()]

    def old_copy(self, name, to):
        target = self.copy(name, to)
        os.utime(target, LONG_AGO)
        return target


class Findings(VerifyCase):
    def test_verify_reads_what_cat_writes(self):
        for path, found in self.about_samples("verify").items():
            if commands.status_of(found) == commands.CANNOT_OPEN:
                continue
            with self.subTest(path.name):
                whole = self.recordfs("cat", path)
                # After a missing trailer there may have been records, which cat cannot know.
                if all(row.get("records_lost") == 0 or row["class"] in ("stale", "unchecked") or
                       row["begin"] == found["size"] for row in found["damage"]):
                    self.assertEqual(len(whole.out), found["bytes"])
                else:
                    self.assertNotEqual(whole.status, commands.GOOD)

    def test_each_damaged_region_of_each_sample_has_a_line(self):
        found_in = self.about_samples("verify")
        for path in commands.containers():
            printed = self.recordfs("verify", path)
            found = found_in[path]
            with self.subTest(path.name):
                self.assertEqual(printed.status, commands.status_of(found))
                if printed.status == commands.CANNOT_OPEN:
                    continue
                self.assertEqual(printed.err, "")
                if found["status"] == "empty":
                    self.assertEqual((printed.status, printed.out), (commands.GOOD, bytes(path) + b": empty\n"))
                    continue
                classes = [row["class"] for row in found["damage"] if row["class"] != "stale"]
                self.assertEqual(len(printed.out.splitlines()), len(classes))
                for line in printed.out.splitlines():
                    self.assertRegex(line, rb"\A" + bytes(path) + rb": ((bytes \d+ to \d+: \w+|byte \d+): .*; .* lost|unchecked: .*)\Z")

    def test_damaged_chunk_is_reported(self):
        done = self.recordfs("verify", commands.sample(DAMAGED))
        self.assertEqual((done.status, done.err), (commands.DAMAGE, ""))
        self.assertRegex(done.out, rb"\A\S+: byte 796: record values: zstd: Data corruption detected; 12 records lost\n")

    def test_truncated_file_is_reported_as_unfinished(self):
        file = self.copy(GOOD_FILE)
        os.truncate(file, file.stat().st_size - 100)
        done = self.recordfs("verify", file)
        self.assertEqual((done.status, done.err), (commands.DAMAGE, ""))
        self.assertRegex(done.out, rb"\A\S+: bytes \d+ to 17848: unfinished: [^\n]+ lost\n\Z")

    def test_json_has_an_object_per_file_in_order(self):
        done, found = self.objects(commands.sample(DAMAGED), self.folder / "missing", commands.sample(GOOD_FILE))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertEqual([one["status"] for one in found], ["damaged", "unreadable", "good"])
        self.assertEqual(found[2], {"file": str(commands.sample(GOOD_FILE)), "format": "riegeli", "size": 17948,
                                    "status": "good", "read": True, "chunks": 8, "records": 500, "bytes": 64132,
                                    "damage": []})
        self.assertEqual(set(found[0]["damage"][0]), {"begin", "end", "class", "reason", "records_lost"})
        self.assertRegex(found[1]["error"], "No such file")

    def test_empty_file_is_reported_as_empty(self):
        empty = self.folder / "new.log"
        empty.touch()
        self.assertEqual(self.good("verify", empty), bytes(empty) + b": empty\n")
        done, (found,) = self.objects(empty)
        self.assertEqual((done.status, found["status"], found["records"]), (commands.GOOD, "empty", 0))
        self.assertIn("1 file: 1 read (0 bytes)", self.recordfs("verify", "-v", empty).err)

    def test_single_lost_record_is_reported_in_the_singular(self):
        done = self.recordfs("verify", commands.sample("proio/x17-cut-first-payload.proio"))
        self.assertRegex(done.out, rb"; at least 1 record lost\n")

    def test_truncated_file_has_lost_at_least_the_record_that_it_ends_in(self):
        file = self.folder / "cut.tfrecord"
        file.write_bytes(tfrecord([b"x" * 100] * 50)[:16 * 116 + 50])
        done, (found,) = self.objects(file)
        self.assertEqual((done.status, found["records"]), (commands.DAMAGE, 16))
        (row,) = found["damage"]
        self.assertEqual((row["records_lost"], row["records_lost_at_least"]), (None, 1))
        self.assertRegex(self.recordfs("verify", file).out, rb": unfinished: [^\n]*; at least 1 record lost\n\Z")

    def test_bad_record_of_a_run_ends_where_the_next_one_begins(self):
        file = self.folder / "bad.tfrecord"
        content = bytearray(tfrecord([b"x" * 1184] * 50))
        content[10 * 1200 + 500] ^= 1
        file.write_bytes(content)
        _, (found,) = self.objects(file)
        self.assertEqual([(row["begin"], row["end"], row["records_lost"]) for row in found["damage"]], [(12000, 13200, 1)])

    def test_places_of_a_compressed_file_are_in_the_file_and_name_the_stream(self):
        content = bytearray(tfrecord([b"x" * 1184] * 50))
        content[10 * 1200 + 500] ^= 1
        file = self.folder / "bad.tfrecord.gz"
        file.write_bytes(gzip.compress(content, mtime=0))
        done, (found,) = self.objects(file)
        self.assertEqual((done.status, found["records"]), (commands.DAMAGE, 49))
        (row,) = found["damage"]
        self.assertLess(row["begin"], found["size"])
        self.assertLessEqual(row["end"], found["size"])
        self.assertIn("at byte 12000 of the decompressed stream", row["reason"])

    def test_recordio_file_cut_at_a_block_has_lost_an_unknown_number_of_records(self):
        file = self.copy("recordio/v2-header-kv.grail-rio")  # its header declares a trailer
        os.truncate(file, 65536)
        done, (found,) = self.objects(file)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertEqual([row["records_lost"] for row in found["damage"]], [None])
        self.assertRegex(self.recordfs("verify", file).out, rb"; records may be lost\n\Z")

    def test_records_without_checksums_are_unchecked(self):
        for name in ("proio/c03-example-none.proio", "bloscpack/v2-2.blp"):
            done, (found,) = self.objects(commands.sample(name))
            with self.subTest(name):
                self.assertEqual((done.status, found["status"]), (commands.PARTLY_DONE, "unchecked"))
                self.assertEqual([row["class"] for row in found["damage"]], ["unchecked"])
                self.assertIn("have no checksum", found["damage"][0]["reason"])
                self.assertIn(b": unchecked: ", self.recordfs("verify", commands.sample(name)).out)

    def test_missing_shards_have_an_object_for_each_range(self):
        for number in (0, 4, 6):
            (self.folder / f"part-{number:05}-of-00007.tfrecord").write_bytes(tfrecord([b"x"]))
        done, found = self.objects(self.folder / "part@7.tfrecord")
        self.assertEqual(done.status, commands.DAMAGE)
        missing = [one for one in found if one["status"] == "missing"]
        self.assertEqual([(one.get("shards"), one.get("count")) for one in missing], [("00001-00003", 3), (None, None)])
        self.assertTrue(missing[1]["file"].endswith("part-00005-of-00007.tfrecord"))
        self.assertEqual(sum(one["status"] == "good" for one in found), 3)

    def test_damage_takes_precedence_over_a_missing_file(self):
        missing = self.folder / "missing"
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "verify", missing, commands.sample(GOOD_FILE))
        self.assert_ends(commands.DAMAGE, "No such file", "verify", commands.sample(DAMAGED), missing)

    def test_unknown_codec_or_variant_is_unsupported(self):
        done, (found,) = self.objects(commands.sample("bloscpack/damaged/bad-v3-version4.blp"))
        self.assertEqual((done.status, found["status"]), (commands.PARTLY_DONE, "unsupported"))

    def test_other_files_are_reported_by_name_and_ignored_by_recursion(self):
        text = self.folder / "words.txt"
        text.write_text("words\n", encoding="utf-8")
        self.copy(GOOD_FILE)
        self.assert_ends(commands.CANNOT_OPEN, "not a record container", "verify", text)
        self.assertEqual(self.good("verify", "-r", self.folder), b"")
        self.assertEqual(len(self.objects("-r", self.folder)[1]), 1)

    def test_directory_is_a_data_set_and_recursive_includes_those_below_it(self):
        done = self.recordfs("verify", self.folder)
        self.assertEqual(done.status, commands.CANNOT_OPEN)
        self.assertRegex(done.err, r"\Arecordfs: .*no record container in this directory\n\Z")
        (self.folder / "a/b").mkdir(parents=True)
        (self.folder / "loop").symlink_to(self.folder)
        found = [self.copy(SMALL, name) for name in ("a/1", "a/b/2", "c")]
        self.assertEqual([one["file"] for one in self.objects(self.folder)[1]], [str(found[-1])])
        self.assertEqual([one["file"] for one in self.objects("-r", self.folder)[1]], [str(path) for path in found])

    def test_directory_without_a_container_is_reported(self):
        (self.folder / "full").mkdir()
        self.copy(SMALL, "full/a.log")
        bare = self.folder / "bare/below"
        bare.mkdir(parents=True)
        for content in (None, "words\n"):
            if content:
                (bare / "words.txt").write_text(content, encoding="utf-8")
            self.assert_ends(commands.PARTLY_DONE, "bare: no record container", "verify", "-r", self.folder / "bare")
            self.assert_ends(commands.PARTLY_DONE, "bare: no record container", "verify", "-r", "--json",
                             self.folder / "full", self.folder / "bare")
        self.assertEqual(self.good("verify", "-r", self.folder / "full"), b"")
        self.assertEqual(self.good("verify", "-r", self.folder), b"")

    def test_directory_with_a_remembered_container_is_not_reported(self):
        self.old_copy(SMALL, "a.log")
        (self.folder / "states").mkdir()
        state = self.folder / "states/state"
        for _ in range(2):
            self.assertEqual(self.good("verify", "-r", "--state", state, self.folder), b"")

    def test_names_are_read_from_a_file_and_standard_input(self):
        files = [self.copy(SMALL, name) for name in ("one", "two\nlines", "[3]")]
        names = self.folder / "names"
        names.write_bytes(b"".join(bytes(path) + b"\0" for path in files))
        expected = [str(path) for path in files]
        self.assertEqual([one["file"] for one in self.objects("--files0-from", names)[1]], expected)
        with names.open("rb") as given:
            done = self.recordfs("verify", "--json", "--files0-from", "-", stdin=given)
        self.assertEqual([json.loads(line)["file"] for line in done.out.splitlines()], expected)
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "verify", "--files0-from", self.folder / "missing")

    def test_newline_in_a_name_is_escaped(self):
        file = self.copy(DAMAGED, "two\nlines")
        done = self.recordfs("verify", file)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertTrue(all(rb"two\x0alines: byte " in line for line in done.out.splitlines()), done.out)

    def test_usage_errors_are_reported(self):
        self.assert_ends(commands.WRONG_USE, "FILE or --files0-from", "verify")
        self.assert_ends(commands.WRONG_USE, "not a time", "verify", "--state", "s", "--max-age", "x", "file")
        self.assert_ends(commands.WRONG_USE, "--state", "verify", "--max-age", "1d", "file")

    def test_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            done = self.recordfs("verify", "--json", commands.sample(GOOD_FILE), stdout=full)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: standard output: .*\n\Z")

    def test_closed_pipe_ends_verify_silently(self):
        done = self.until_the_pipe_closes(10, "verify", "--json", *[commands.sample(SMALL)] * 2000)
        self.assertEqual(done.err, "")
        self.assertNotEqual(done.status, commands.GOOD)

    def test_progress_is_shown_on_a_terminal(self):
        done = self.on_terminal("verify", commands.sample(DAMAGED))
        self.assertEqual((done.status, done.err), (commands.DAMAGE, ""))
        shown = self.stderr_on_terminal("verify", commands.sample(DAMAGED), commands.sample(GOOD_FILE))
        self.assertRegex(shown, rb"verify: 60\.9 KiB of 60\.9 KiB \(100 %\), [^\r]*/s\r\x1b\[K\Z")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)

    def test_progress_is_not_wider_than_the_terminal(self):
        shown = self.stderr_on_terminal("verify", commands.sample(GOOD_FILE), columns=20)
        lines = shown.split(b"\r\x1b[K")
        self.assertRegex(lines[1], rb"\Averify: ")
        self.assertEqual({len(line) <= 19 for line in lines}, {True}, lines)

    def test_progress_is_not_shown_on_a_dumb_terminal(self):
        for kind in ("dumb", ""):
            self.assertEqual(self.stderr_on_terminal("verify", commands.sample(GOOD_FILE), TERM=kind), b"")

    def test_names_in_messages_are_ascii_in_the_c_locale(self):
        name = self.folder / "größe"
        shown = self.stderr_on_terminal("verify", name, LC_ALL="C", TERM="dumb")
        self.assertIn(b"gr\\xc3\\xb6\\xc3\\x9fe: ", shown)
        self.assertIn("größe: ".encode(), self.stderr_on_terminal("verify", name, TERM="dumb"))


class Joined(VerifyCase):
    """Files that cat(1) joined, not at a multiple of 64 KiB."""

    def setUp(self):
        super().setUp()
        first, second = (commands.sample(name).read_bytes() for name in (GOOD_FILE, GOOD_FILE))
        self.at = len(first)
        self.joined = self.folder / "joined.riegeli"
        self.joined.write_bytes(first + second)
        self.records = self.good("cat", commands.sample(GOOD_FILE))

    def test_joined_riegeli_files_are_named_and_not_damage(self):
        done = self.recordfs("verify", self.joined)
        self.assertEqual((done.status, done.err), (commands.GOOD, ""))
        self.assertEqual(done.out.decode(), f"{self.joined}: bytes {self.at} to {self.at + 64}: stale: another Riegeli file was "
                         "appended here, not at a multiple of 64 KiB; 0 records lost\n")
        done, (found,) = self.objects(self.joined)
        self.assertEqual((done.status, found["status"], found["records"]), (commands.GOOD, "good", 1000))
        self.assertEqual([(row["class"], row["records_lost"]) for row in found["damage"]], [("stale", 0)])

    def test_records_of_joined_riegeli_files_follow_each_other(self):
        self.assertEqual(self.good("cat", self.joined), self.records * 2)
        info = json.loads(self.good("info", "--json", "--scan", self.joined))
        self.assertEqual((info["records"], info["damaged_regions"], info["damaged_bytes"]), (1000, 0, 0))

    def test_joined_file_after_one_that_was_cut_off_is_damage(self):
        whole = self.joined.read_bytes()
        self.joined.write_bytes(whole[:self.at - 10] + whole[self.at:])
        done, (found,) = self.objects(self.joined)
        self.assertEqual((done.status, found["damage"][0]["class"]), (commands.DAMAGE, "damage"))


class State(VerifyCase):
    """--state remembers the files that have passed."""

    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.files = [self.old_copy(SMALL, f"file{i}") for i in range(5)]

    def read_by(self, *words):
        """Returns (finished command, names of the files that were read)."""
        done, found = self.objects("--state", self.state, *(words or self.files))
        return done, [Path(one["file"]).name for one in found if one["read"]]

    def test_file_that_passed_is_read_once(self):
        self.assertEqual(len(self.read_by()[1]), 5)
        done, read = self.read_by()
        self.assertEqual((done.status, read), (commands.GOOD, []))
        self.assertTrue(all(json.loads(line)["passed"] > 1e9 for line in done.out.splitlines()))

    def test_changed_files_are_read_again(self):
        self.read_by()
        os.utime(self.files[1], (2, 2))
        with self.files[2].open("ab") as file:
            file.write(bytes(7))
        os.utime(self.files[2], LONG_AGO)
        shutil.copy(self.files[3], self.folder / "new")
        os.utime(self.folder / "new", LONG_AGO)
        (self.folder / "new").rename(self.files[3])
        self.assertEqual(self.read_by()[1], ["file1", "file2", "file3"])

    def test_file_that_failed_is_read_again(self):
        bad = self.old_copy(DAMAGED, "bad")
        for _ in range(2):
            done, read = self.read_by(bad, self.folder / "missing")
            self.assertEqual((done.status, read), (commands.DAMAGE, ["bad"]))

    def test_file_that_fails_later_is_forgotten(self):
        self.read_by()
        damaged = commands.with_bit_flipped(self.files[0], 8)
        self.assertEqual(self.read_by()[1], ["file0"])
        os.utime(damaged, LONG_AGO)
        self.assertEqual(self.read_by()[0].status, commands.DAMAGE)

    def test_files_older_than_max_age_are_read_again(self):
        self.read_by()
        self.assertEqual(self.read_by("--max-age", "30d", *self.files)[1], [])
        self.assertEqual(len(self.read_by("--max-age", "0s", *self.files)[1]), 5)

    def test_file_with_a_recent_time_stamp_is_read_again(self):
        young = self.folder / "young"
        shutil.copyfile(self.files[0], young)
        tomorrow = time.time() + 86400
        os.utime(young, (tomorrow, tomorrow))
        for _ in range(2):
            self.assertEqual(self.read_by(young)[1], ["young"])

    def test_relative_names_are_resolved(self):
        self.read_by()
        done = self.recordfs("verify", "--json", "--state", "state", "./file1", "file2", cwd=self.folder)
        self.assertEqual([json.loads(line)["read"] for line in done.out.splitlines()], [False, False])

    def test_files_not_named_are_remembered_until_they_are_removed(self):
        self.read_by()
        self.files[4].unlink()
        self.assertEqual(self.read_by(self.files[0])[1], [])
        self.assertEqual(self.read_by(*self.files[:4])[1], [])
        self.assertNotIn(b"file4", self.state.read_bytes())

    def test_truncated_state_is_ignored_and_replaced(self):
        self.read_by()
        whole = self.state.read_bytes()
        for size in (0, 10, 30, len(whole) // 2, len(whole) - 1):
            self.state.write_bytes(whole[:size])
            done, read = self.read_by()
            self.assertEqual((done.status, len(read)), (commands.GOOD, 5), size)
            if size > 0:
                self.assertRegex(done.err, r"\Arecordfs: \S+/state: ignoring a corrupt state: [^\n]*\n\Z")
        self.assertEqual(self.read_by()[1], [])

    def test_state_of_another_version_is_ignored(self):
        self.read_by()
        first, second = self.state.read_bytes().split(b"\n", 1)
        self.state.write_bytes(first + b"\n999" + second[second.index(b" "):])
        done, read = self.read_by()
        self.assertEqual(len(read), 5)
        self.assertRegex(done.err, "of another version")

    def test_other_file_as_state_is_left_alone(self):
        for content in (b"my diary\n", b"recordfs is nice"):
            self.state.write_bytes(content)
            self.assert_ends(commands.WRONG_USE, "not a state file", "verify", "--state", self.state, *self.files)
            self.assertEqual(self.state.read_bytes(), content)
        self.assert_ends(commands.WRONG_USE, "not a state file", "verify", "--state", self.folder, *self.files)

    def test_state_that_cannot_be_saved_is_reported(self):
        done = self.recordfs("verify", "--state", self.folder / "no/state", *self.files)
        self.assertEqual((done.status, done.out), (commands.PARTLY_DONE, b""))
        self.assertRegex(done.err, r"\Arecordfs: \S+/no/state: there is no directory \S+/no/\n\Z")

    def test_names_with_newlines_are_remembered(self):
        file = self.old_copy(SMALL, "two\nlines\t1")
        self.assertEqual(self.read_by(file)[1], [file.name])
        self.assertEqual(self.read_by(file)[1], [])

    def test_interrupted_run_keeps_its_results(self):
        """An interrupt saves the files that were verified before it."""
        many = [str(self.old_copy(SMALL, f"many{i}")) for i in range(20)]
        with subprocess.Popen([commands.program("recordfs"), "verify", "--json", "-j1", "--state", self.state, *many * 500],
                              stdout=subprocess.PIPE, env=self.environment()) as running:
            running.stdout.read(1)
            running.send_signal(signal.SIGINT)
            running.stdout.read()
            self.assertIn(running.wait(commands.PATIENCE), (-signal.SIGINT, commands.GOOD))
        self.assertIn(b"many0", self.state.read_bytes())


class ManyFiles(VerifyCase):
    """A nightly run over many small files."""

    def test_one_damaged_file_among_ten_thousand_is_found(self):
        tree = self.folder / "tree"
        content = commands.sample(SMALL).read_bytes()
        for i in range(100):
            (tree / f"{i:02}").mkdir(parents=True)
            for k in range(100):
                path = tree / f"{i:02}" / f"{k:02}.log"
                path.write_bytes(content)
                os.utime(path, LONG_AGO)
        bad = commands.with_bit_flipped(tree / "42/17.log", 8)
        os.utime(bad, LONG_AGO)
        state = self.folder / "state"
        done = self.recordfs("verify", "-rv", "--state", state, tree)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out, rb"\A" + bytes(bad) + rb": [^\n]*\n\Z")
        self.assertIn("10000 files: 10000 read", done.err)
        os.utime(tree / "17/42.log", (2, 2))
        done = self.recordfs("verify", "-rv", "--state", state, tree)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertIn("10000 files: 2 read", done.err)


if __name__ == "__main__":
    commands.main()
