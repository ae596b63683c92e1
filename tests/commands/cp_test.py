#!/usr/bin/env python3
"""recordfs cp: the files it creates, those it leaves alone, and its exit status."""
import base64
import json
import os
import re
import shutil
import signal
import stat
import subprocess

import commands
import tfrecords

LINES = "riegeli/simple_zstd9.riegeli"  # 500 records
DAMAGED = "riegeli/fuzz_simple_zstd.riegeli"
MOST_COPIED = 100  # records of each sample; some filesystems create only 1,000 files in a second


class Cp(commands.Case):
    def setUp(self):
        super().setUp()
        self.file = commands.sample(LINES)
        self.records = re.split(rb"(?=0{3}\d{3} )", self.good("cat", self.file))[1:]
        self.assertEqual(len(self.records), 500)
        self.target = self.folder / "target"
        self.target.mkdir()

    def copied(self):
        """Returns {name: content} of the target directory."""
        return {path.name: path.read_bytes() for path in self.target.iterdir()}

    def expected(self, ordinals):
        return {f"{i:09}": self.records[i] for i in ordinals}

    def test_ranges_are_copied(self):
        for text in ("42", "10:20", ":3", "495:", "-5:", "-1", "5:5", "498:900"):
            begin, _, end = text.partition(":")
            chosen = (range(500)[int(begin):][:1] if ":" not in text
                      else range(500)[int(begin) if begin else None:int(end) if end else None])
            with self.subTest(text):
                self.assertEqual(self.good("cp", self.file, text, self.target), b"")
                self.assertEqual(self.copied(), self.expected(chosen))
                for path in self.target.iterdir():
                    path.unlink()

    def test_ranges_of_standard_input_are_copied(self):
        done = self.recordfs("cp", "-r", "-", self.file, self.target, stdin=self.input_of("3 5:7\n"))
        self.assertEqual((done.status, done.err), (commands.GOOD, ""))
        self.assertEqual(self.copied(), self.expected([3, 5, 6]))

    def test_every_sample_is_copied_as_cat_writes_it(self):
        first = f":{MOST_COPIED}"
        for number, path in enumerate(commands.containers()):
            target = self.folder / str(number)
            target.mkdir()
            done = self.recordfs("cp", path, first, target)
            if done.status == commands.GOOD:
                with self.subTest(path.name):
                    names = sorted(target.iterdir())
                    self.assertEqual([int(name.name) for name in names], list(range(len(names))))
                    self.assertEqual(b"".join(name.read_bytes() for name in names), self.good("cat", path, first))
            for name in target.iterdir():
                name.unlink()

    def test_suffix_ends_the_names(self):
        self.good("cp", "--suffix", ".txt", self.file, ":2", self.target)
        self.assertEqual(self.copied(), {f"{name}.txt": record for name, record in self.expected(range(2)).items()})
        done = self.recordfs("cp", "--suffix", ".txt", self.file, "1", self.target)
        self.assertRegex(done.err, r"\Arecordfs: \S+/000000001\.txt: File exists \(-f replaces it\)\n\Z")
        for text in ("/x", "x" * 101):
            self.assert_ends(commands.WRONG_USE, "--suffix: not the end of a file name", "cp", "--suffix", text, self.file, "0",
                             self.target)

    def test_part_of_each_record_is_copied(self):
        examples = commands.sample("tfrecord/examples.tfrecord")
        line = json.loads(self.good("cat", "--json", examples, "0"))["decoded"]["features"]["feature"]
        self.good("cp", "--part", "image/encoded", "--suffix", ".jpg", examples, "0", self.target)
        jpeg = base64.b64decode(line["image/encoded"]["bytes_list"]["value"][0]["base64"])
        self.assertEqual(self.copied(), {"000000000.jpg": jpeg})
        self.good("cp", "--part", "image/height", "--suffix", ".height", examples, "0", self.target)
        self.good("cp", "--part", "image/object/class/text/1", "--suffix", ".class", examples, "0", self.target)
        self.assertEqual(self.copied(), {"000000000.jpg": jpeg, "000000000.height": b"480\n",
                                         "000000000.class": "\u00e9t\u00e9".encode()})

    def test_several_parts_of_a_record_have_their_paths_in_their_names(self):
        examples = commands.sample("tfrecord/examples.tfrecord")
        expected = {}
        for part in ("image/encoded", "image/height"):
            self.good("cp", "--part", part, examples, "0", self.target)
            expected[f"000000000.{part.replace('/', '.')}"] = self.copied()["000000000"]
            (self.target / "000000000").unlink()
        self.good("cp", "--part", "image/encoded", "--part", "image/height", examples, "0", self.target)
        self.assertEqual(self.copied(), expected)
        done = self.recordfs("cp", "-f", "--part", "x", "--part", "image/height", "--suffix", ".txt", examples, "0", self.target)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: \S+: 1 record without a part x\n\Z")
        self.assertEqual(self.copied(), {**expected, "000000000.image.height.txt": expected["000000000.image.height"]})

    def test_fields_name_the_files(self):
        records = [{"label": [b"cat"], "at": [7], "data": [b"A"]}, {"label": [b"a/..\xff"], "at": [8], "data": [b"B"]},
                   {"label": [b".."], "at": [9], "data": [b"C"]}, {"label": [b"x", b"y"], "at": [10], "data": [b"D"]},
                   {"at": [11], "data": [b"E"]}]
        examples = self.folder / "named.tfrecord"
        examples.write_bytes(tfrecords.tfrecord([tfrecords.example(record) for record in records]))
        done = self.recordfs("cp", "--part", "data", "--name", "{label}/{ordinal}-{at}{{}}.jpg", examples, ":", self.target)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: \S+: 3 records without a name; the first is 2: \S+ is no file name\n\Z")
        files = {str(path.relative_to(self.target)): path.read_bytes() for path in self.target.rglob("*") if path.is_file()}
        self.assertEqual(files, {"cat/000000000-7{}.jpg": b"A", "a%2F..%FF/000000001-8{}.jpg": b"B"})
        done = self.recordfs("cp", "--part", "data", "--name", "{label}/{ordinal}-{at}{{}}.jpg", examples, "0", self.target)
        self.assertRegex(done.err, r"/cat/000000000-7{}\.jpg: File exists")
        done = self.recordfs("cp", "--name", "{lable}", examples, ":", self.target)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("5 records without a name", done.err)
        self.assertIn("no record has a field lable", done.err)

    def test_file_that_is_read_is_not_replaced(self):
        source = self.target / "000000003.riegeli"
        shutil.copyfile(self.file, source)
        (self.target / "000000005.riegeli").symlink_to(source)
        for ordinal in ("3", "5"):
            self.assert_ends(commands.PARTLY_DONE, f"target/00000000{ordinal}.riegeli: is a file that is read", "cp", "-f",
                             "--suffix", ".riegeli", source, ordinal, self.target)
        self.assertEqual(source.read_bytes(), self.file.read_bytes())

    def test_records_with_one_name_do_not_replace_each_other(self):
        done = self.recordfs("cp", "--name", "all", self.file, ":2", self.target)
        self.assertRegex(done.err, r"\Arecordfs: \S+: 1 record with the name of an existing file or of another record; "
                         r"the first is 1: all \(try: {ordinal} in --name\)\n\Z")
        self.assertEqual(list(self.copied().values()), list(self.expected(range(1)).values()))
        for words, why in ((("-f", "--name", "all"), "needs {ordinal}"), (("--part", "a", "--part", "b", "--name", "{ordinal}"), "{part}"),
                           (("--name", "../{ordinal}"), "not the path"), (("--name", "/{ordinal}"), "not the path"),
                           (("--name", "{ordinal"), "{ without }"), (("--name", "}"), "} without {"), (("--name", "{}"), "names no field")):
            self.assert_ends(commands.WRONG_USE, why, "cp", *words, self.file, ":2", self.target)

    def test_files_of_one_name_are_complete_on_many_threads(self):
        large = self.folder / "large.tfrecord"
        large.write_bytes(tfrecords.tfrecord([b"%d" % (i % 10) * 100_000 for i in range(300)]))
        for _ in range(3):
            done = self.recordfs("cp", "-j", "16", "--name", "all", large, ":", self.target)
            self.assertEqual(done.status, commands.PARTLY_DONE)
            self.assertRegex(done.err, r"\Arecordfs: \S+: 299 records with the name of an existing file or of another record;")
            self.assertIn(self.copied()["all"], [b"%d" % i * 100_000 for i in range(10)])
            (self.target / "all").unlink()

    def test_name_that_a_suffix_makes_too_long_names_no_file(self):
        examples = self.folder / "long.tfrecord"
        examples.write_bytes(tfrecords.tfrecord([tfrecords.example({"label": [label]}) for label in (b"x" * 200, b"y")]))
        done = self.recordfs("cp", "--name", "{label}", "--suffix", "z" * 50, examples, ":", self.target)
        self.assertEqual((done.status, list(self.copied())), (commands.PARTLY_DONE, ["y" + "z" * 50]))
        self.assertIn("1 record without a name; the first is 0: ", done.err)

    def test_directories_of_names_are_no_links(self):
        outside = self.folder / "outside"
        outside.mkdir()
        self.target.mkdir(exist_ok=True)
        (self.target / "a").symlink_to(outside)
        done = self.recordfs("cp", "--name", "a/{ordinal}", self.file, "0", self.target)
        self.assertEqual((done.status, list(outside.iterdir())), (commands.PARTLY_DONE, []))

    def test_parts_with_one_file_name_are_refused(self):
        self.assert_ends(commands.WRONG_USE, "two parts have the same file name: a.b", "cp", "--part", "a/b", "--part", "a.b",
                         commands.sample("tfrecord/examples.tfrecord"), "0", self.target)

    def test_records_without_the_part_are_counted(self):
        examples = commands.sample("tfrecord/examples.tfrecord")
        records = len(self.good("ls", examples).splitlines())
        self.assert_ends(commands.PARTLY_DONE, rf"examples\.tfrecord: {records - 1} records without a part image/encoded", "cp",
                         "--part", "image/encoded", examples, ":", self.target)
        self.assertEqual(list(self.copied()), ["000000000"])
        for part in ("image", "image/object/class/text", "image/encoded/x", "/"):
            self.assert_ends(commands.PARTLY_DONE, "1 record without a part", "cp", "-f", "--part", part, examples, "0", self.target)
        self.good("cp", "-f", "--part", "image%2Fencoded", examples, "0", self.target)  # the name of the file
        strangers = commands.sample("tfrecord/strangers.tfrecord")
        self.assert_ends(commands.PARTLY_DONE, "without a part x", "cp", "-f", "--part", "x", strangers, ":", self.target)

    def test_format_without_parts_is_reported(self):
        self.assert_ends(commands.PARTLY_DONE, "the records of riegeli have no parts", "cp", "--part", "x", self.file, ":",
                         self.target)
        self.assertEqual(self.copied(), {})

    def test_mode_follows_the_umask(self):
        with subprocess.Popen([commands.program("recordfs"), "cp", self.file, "1", self.target], umask=0o027,
                              env=self.environment()) as running:
            self.assertEqual(running.wait(commands.PATIENCE), commands.GOOD)
        self.assertEqual(stat.S_IMODE((self.target / "000000001").stat().st_mode), 0o640)

    def test_existing_file_is_left_alone_and_the_others_are_copied(self):
        mine = self.target / "000000002"
        mine.write_bytes(b"mine")
        self.assert_ends(commands.PARTLY_DONE, r"target/000000002: File exists \(-f replaces it\)", "cp", self.file, "1:4",
                         self.target)
        self.assertEqual(self.copied(), {**self.expected([1, 3]), mine.name: b"mine"})
        self.good("cp", "-f", self.file, "1:4", self.target)
        self.assertEqual(self.copied(), self.expected([1, 2, 3]))

    def test_symbolic_link_is_not_followed(self):
        victim = self.folder / "victim"
        victim.write_bytes(b"mine")
        link = self.target / "000000002"
        link.symlink_to(victim)
        self.assert_ends(commands.PARTLY_DONE, "File exists", "cp", self.file, "2", self.target)
        self.assertTrue(link.is_symlink())
        self.good("cp", "-f", self.file, "2", self.target)
        self.assertFalse(link.is_symlink())
        self.assertEqual((victim.read_bytes(), link.read_bytes()), (b"mine", self.records[2]))
        (self.target / "000000003").symlink_to(self.folder / "nowhere")
        self.assert_ends(commands.PARTLY_DONE, "File exists", "cp", self.file, "3", self.target)
        self.assertFalse((self.folder / "nowhere").exists())

    def test_directory_of_the_same_name_is_left_alone(self):
        (self.target / "000000002").mkdir()
        self.assert_ends(commands.PARTLY_DONE, "directory", "cp", "-f", self.file, "2", self.target)
        self.assertEqual(os.listdir(self.target), ["000000002"])

    def test_unreadable_record_leaves_no_file(self):
        done = self.recordfs("cp", commands.sample(DAMAGED), ":", self.target)
        self.assertEqual((done.status, done.out), (commands.DAMAGE, b""))
        self.assertRegex(done.err, r"\Arecordfs: \S+: byte 796: [^\n]+\n")
        whole = self.recordfs("cat", "--skip-damage", commands.sample(DAMAGED))
        self.assertEqual(b"".join(data for _, data in sorted(self.copied().items())), whole.out)

    def test_damage_in_other_records_does_not_matter(self):
        self.good("cp", commands.sample(DAMAGED), "0", self.target)
        self.assertEqual(list(self.copied()), ["000000000"])

    def test_part_of_very_many_names_is_refused_at_once(self):
        self.assert_ends(commands.WRONG_USE, "--part: longer than any path in a mount", "cp", "--part", "a/" * 60_000 + "a",
                         self.file, ":", self.target)

    def test_missing_record_is_reported(self):
        self.assert_ends(commands.PARTLY_DONE, r"no record 500 \(there are 500\)", "cp", self.file, "500", self.target)
        self.assert_ends(commands.PARTLY_DONE, "no chunk begins at byte 7", "cp", self.file, "@7/0", self.target)
        self.assertEqual(self.copied(), {})

    def test_missing_target_directory_is_created(self):
        self.target = self.folder / "missing"
        self.good("cp", self.file, "1", self.target)
        self.assertEqual(self.copied(), self.expected([1]))
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "cp", self.folder / "nothing", "1", self.folder / "unneeded")
        self.assertFalse((self.folder / "unneeded").exists())

    def test_target_that_cannot_be_a_directory_is_reported(self):
        self.assert_ends(commands.CANNOT_OPEN, "a/b: No such file", "cp", self.file, "1", self.folder / "a/b")
        (self.folder / "text").write_text("words\n", encoding="utf-8")
        self.assert_ends(commands.CANNOT_OPEN, "text: Not a directory", "cp", self.file, "1", self.folder / "text")

    def test_missing_source_and_other_files_are_reported(self):
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "cp", self.folder / "missing", ":", self.target)
        (self.folder / "text").write_text("words\n", encoding="utf-8")
        self.assert_ends(commands.CANNOT_OPEN, "not a record container", "cp", self.folder / "text", ":", self.target)

    def test_newlines_in_names_are_escaped_in_messages(self):
        target = self.folder / "two\nlines"
        target.mkdir()
        self.good("cp", self.copy(LINES, "a\nb"), "1", target)
        self.assertEqual((target / "000000001").read_bytes(), self.records[1])
        self.assert_ends(commands.PARTLY_DONE, r"two\\x0alines/000000001: File exists", "cp", self.file, "1", target)

    def test_usage_errors_are_reported(self):
        self.assert_ends(commands.WRONG_USE, "FILE is required|RANGE is required|DIR is required", "cp")
        self.assert_ends(commands.WRONG_USE, "DIR is required", "cp", self.file)
        self.assert_ends(commands.WRONG_USE, "DIR is required", "cp", self.file, "1")
        self.assert_ends(commands.WRONG_USE, "not a range: x", "cp", self.file, "x", self.target)

    def test_file_size_limit_leaves_no_partial_file(self):
        limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", commands.program("recordfs"), "cp", self.file, ":", self.target]
        for _ in range(20):  # chunks are decoded concurrently, so the first failure varies
            done = subprocess.run(limited, stderr=subprocess.PIPE, check=False, env=self.environment(), timeout=commands.PATIENCE,
                                  preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
            self.assertEqual(done.returncode, commands.PARTLY_DONE)
            self.assertRegex(done.stderr, rb"\Arecordfs: \S+/target/000000\d{3}: File too large\n\Z")
            self.assertEqual(self.copied(), {})

    def test_raw_copies_whole_files(self):
        files = [self.file, commands.sample(DAMAGED)]
        self.assertEqual(self.good("cp", "--raw", *files, ":", self.target), b"")
        self.assertEqual(self.copied(), {file.name: file.read_bytes() for file in files})
        for path in self.target.iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & ~0o666, 0)

    def test_raw_leaves_existing_files_alone(self):
        existing = self.target / self.file.name
        existing.write_bytes(b"mine")
        done = self.recordfs("cp", "--raw", self.file, ":", self.target)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: \S+: File exists \(-f replaces it\)\n\Z")
        self.assertEqual(self.copied(), {self.file.name: b"mine"})
        self.good("cp", "--raw", "-f", self.file, ":", self.target)
        self.assertEqual(self.copied(), {self.file.name: self.file.read_bytes()})

    def test_raw_copies_the_containers_and_the_empty_files_of_a_directory(self):
        source = self.folder / "source"
        source.mkdir()
        for name in ("empty", ".hidden", "empty.tfrecord"):
            (source / name).touch()
        (source / "below").mkdir()
        (source / "text").write_bytes(b"text")
        shutil.copy(self.file, source)
        self.good("cp", "--raw", source, ":", self.target)
        self.assertEqual(self.copied(), {"empty": b"", "empty.tfrecord": b"", self.file.name: self.file.read_bytes()})

    def test_raw_copies_no_part_of_a_database(self):
        database = self.folder / "database"
        database.mkdir()
        (database / "CURRENT").write_bytes(b"MANIFEST-000001\n")
        (database / "MANIFEST-000001").touch()
        self.assert_ends(commands.WRONG_USE, r"a database, .*\(try: '\S+/database/\*'\)", "cp", "--raw", database, ":", self.target)
        self.assertEqual(self.copied(), {})
        self.good("cp", "--raw", f"{database}/*", ":", self.target)
        self.assertEqual(self.copied(), {path.name: path.read_bytes() for path in database.iterdir()})

    def test_raw_writes_through_no_link(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.write_bytes(b"mine")
        (self.target / self.file.name).symlink_to(elsewhere)
        self.good("cp", "--raw", "-f", self.file, ":", self.target)
        self.assertEqual(elsewhere.read_bytes(), b"mine")
        self.assertFalse((self.target / self.file.name).is_symlink())
        self.assertEqual(self.copied(), {self.file.name: self.file.read_bytes()})

    def test_raw_does_not_mix_files_of_one_name(self):
        other = self.folder / "other" / self.file.name
        other.parent.mkdir()
        other.write_bytes(b"other")
        done = self.recordfs("cp", "--raw", self.file, other, ":", self.target)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("has the same name as", done.err)
        self.assertEqual(self.copied(), {self.file.name: self.file.read_bytes()})

    def test_raw_takes_all_records_and_no_input(self):
        for words in ((self.file, "1:2"), ("-", ":"), ("-r", "-", self.file)):
            self.assert_ends(commands.WRONG_USE, "--raw", "cp", "--raw", *words, self.target)
        self.assert_ends(commands.WRONG_USE, "--raw excludes --suffix", "cp", "--raw", "--suffix", "x", self.file, ":", self.target)

    def test_progress_is_shown_on_a_terminal(self):
        shown = self.stderr_on_terminal("cp", self.file, "10:20", self.target)
        self.assertRegex(shown, rb"cp: \d+ records? of 10 records \(\d+ %\), .*\r\x1b\[K\Z")
        self.assertEqual(len(self.copied()), 10)

    def test_interrupted_copy_leaves_only_complete_files(self):
        file = self.folder / "made.riegeli"
        made = subprocess.run([commands.program("make_data"), "riegeli-zstd", "20000", file, "--print-records"],
                              stdout=subprocess.PIPE, check=True).stdout.split(b"\n")
        with subprocess.Popen([commands.program("recordfs"), "cp", file, ":", self.target], env=self.environment()) as running:
            while not (self.target / "000000000").exists():
                self.assertIsNone(running.poll())
            running.send_signal(signal.SIGTERM)
            self.assertIn(running.wait(commands.PATIENCE), (-signal.SIGTERM, commands.GOOD))
        for name, data in self.copied().items():
            self.assertEqual(data, made[int(name)])


if __name__ == "__main__":
    commands.main()
