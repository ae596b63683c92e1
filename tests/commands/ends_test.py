#!/usr/bin/env python3
"""How commands end if files, command lines or their output are wrong."""
import base64
import bz2
import gzip
import json
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import tarfile
import zipfile

import commands

TEXT = "riegeli/simple_zstd9.riegeli"
RECORDS = "tfrecord/examples.tfrecord"
READING = [["info"], ["ls"], ["cat"], ["head"], ["tail"], ["splits"]]


class Files(commands.Case):
    def test_missing_file_is_named(self):
        for words in READING:
            self.assert_ends(commands.CANNOT_OPEN, "none: cannot open: No such file or directory", *words, self.folder / "none")

    def test_folders_without_containers_and_text_are_refused(self):
        text = self.folder / "text"
        text.write_text("only text\n" * 1000)
        for words in READING:
            self.assert_ends(commands.CANNOT_OPEN, "no record container in this directory", *words, self.folder)
            self.assert_ends(commands.CANNOT_OPEN, "text: not a record container", *words, text)

    def test_compressed_files_and_archives_are_named_with_what_unpacks_them(self):
        content = commands.sample(TEXT).read_bytes()
        with zipfile.ZipFile(self.folder / "x.zip", "w") as archive:
            archive.writestr("x", content)
        with tarfile.open(self.folder / "x.tar", "w") as archive:
            archive.add(commands.sample(TEXT), "x")
        for name, what, packed, hint in (("x.gz", "gzip-compressed file", gzip.compress(content), "gunzip -k"),
                                         ("x.xz", "xz-compressed file", lzma.compress(content), "unxz -k"),
                                         ("x.bz2", "bzip2-compressed file", bz2.compress(content), "bunzip2 -k"),
                                         ("x.zst", "zstd-compressed file", b"\x28\xb5\x2f\xfd" + content, "unzstd"),
                                         ("x.lz4", "lz4-compressed file", b"\x04\x22\x4d\x18" + content, "unlz4"),
                                         ("x.zip", "zip archive", None, "unzip"), ("x.tar", "tar archive", None, "tar -xf")):
            file = self.folder / name
            if packed is not None:
                file.write_bytes(packed)
            for words in READING:
                self.assert_ends(commands.CANNOT_OPEN,
                                 rf"{name}: {what}, not a record container \(try: {hint} {re.escape(str(file))}\)", *words, file)

    def test_hint_for_a_compressed_file_quotes_its_name(self):
        file = self.folder / "it's packed"
        file.write_bytes(gzip.compress(b"text"))
        quoted = re.escape(shlex.quote(str(file)).replace("\"'\"", "\\'"))
        self.assert_ends(commands.CANNOT_OPEN, rf"\(try: gunzip <{quoted} >FILE\)", "info", file)

    def test_empty_file_without_a_telling_name_is_called_empty(self):
        empty = self.folder / "empty.dat"
        empty.touch()
        for words in READING:
            self.assert_ends(commands.CANNOT_OPEN, "empty.dat: empty file, not a record container", *words, empty)

    def test_newline_in_a_name_is_escaped_in_messages(self):
        for words in READING:
            self.assert_ends(commands.CANNOT_OPEN, r"two\\x0alines: cannot open: No such file", *words, self.folder / "two\nlines")

    def test_path_that_is_not_utf_8_can_be_opened_from_json(self):
        for name in (b"caf\xe9-\xed\xa0\x80-\xc3\xa9-00000-of-00001.tfrecord", b"\xff.tfrecord"):
            path = self.folder / os.fsdecode(name)
            shutil.copy(commands.sample(RECORDS), path)
            for words in (["info"], ["verify"], ["grep", "."]):
                line = json.loads(self.good(words[0], "--json", *words[1:], path).splitlines()[0])
                with self.subTest(words=words, name=name):
                    self.assertEqual(line["file"], str(path))
                    self.assertEqual(base64.b64decode(line["file_base64"]), os.fsencode(path))
            line = json.loads(self.good("head", "-n", "1", "--json", path, path))
            self.assertEqual(line["shard"], str(path))
            self.assertEqual(base64.b64decode(line["shard_base64"]), os.fsencode(path))
        listed = json.loads(self.good("info", "--json", self.folder))["table"]
        self.assertEqual({row["shard"] for row in listed}, {os.fsdecode(name) for name in os.listdir(os.fsencode(self.folder)) if name.endswith(b"tfrecord")})

    def test_any_file_name_is_accepted(self):
        for name in ("two\nlines", "-x", "--json", "[a,b]", "-5", "a:b", "cat"):
            self.copy(TEXT, name)
            for words in READING:
                done = subprocess.run([commands.program("recordfs"), *words, "--", name], cwd=self.folder,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=self.environment())
                with self.subTest(name=name, words=words):
                    self.assertEqual((done.returncode, done.stderr), (commands.GOOD, b""))
                    self.assertTrue(done.stdout)

    def test_truncated_file_does_not_crash(self):
        file = self.copy("riegeli/multiblock_zstd.riegeli")
        os.truncate(file, 100000)
        for words in READING:
            self.assertIn(self.recordfs(*words, file).status, (commands.GOOD, commands.DAMAGE), words)


class CommandLines(commands.Case):
    def test_usage_errors_are_one_line(self):
        for words in READING:
            self.assert_ends(commands.WRONG_USE, f"try recordfs {words[0]} --help", *words)
            self.assert_ends(commands.WRONG_USE, rf"unknown option: --nothing \(try recordfs {words[0]} --help\)", *words,
                             "--nothing", commands.sample(TEXT))
        for words in (["cat"], ["ls"]):
            self.assert_ends(commands.WRONG_USE, "not a range: x", *words, commands.sample(TEXT), "x")
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "head", self.folder / "missing")

    def test_file_that_looks_like_an_option_is_named_with_its_directory(self):
        self.copy(TEXT, "-x.riegeli")
        done = self.recordfs("cat", "-x.riegeli", cwd=self.folder)
        self.assertEqual((done.status, done.err), (commands.WRONG_USE, "recordfs: unknown option: -x.riegeli; the file of this "
                                                   "name is ./-x.riegeli (try recordfs cat --help)\n"))
        self.assert_ends(commands.WRONG_USE, "unknown option: --nothing", "mount", "--nothing", commands.sample(TEXT))
        self.assert_ends(commands.WRONG_USE, "unexpected argument: x", "mounts", "x")

    def test_message_says_what_a_range_looks_like(self):
        shape = r"\(a range is 42, 10:20, :100, 5:, -5: or @OFFSET/INDEX\)"
        for words in (["cat"], ["ls"]):
            self.assert_ends(commands.WRONG_USE, "not a range: 5-10, and no such file " + shape, *words, commands.sample(TEXT),
                             "5-10")
            self.assert_ends(commands.WRONG_USE, "not a range: 5-10 " + shape, *words, commands.sample(TEXT), "-r", "5-10")

    def test_help_is_printed(self):
        for words in READING:
            shown = self.good(*words, "--help").decode()
            self.assertIn(f"recordfs {words[0]}", shown)
            self.assertLessEqual(max(map(len, shown.splitlines())), 132)

    def test_index_option_accepts_no_a_folder_and_an_unusable_folder(self):
        for where in ("no", str(self.folder / "indices")):
            self.assertTrue(self.good("cat", "--index", where, commands.sample(TEXT), "1"))
        done = self.recordfs("cat", "--index", "/proc/none/at/all", commands.sample(TEXT), "1")
        self.assertEqual((done.status, len(done.out)), (commands.GOOD, len(self.good("cat", commands.sample(TEXT), "1"))))


class Output(commands.Case):
    LONG = [["cat"], ["cat", "--lines"], ["cat", "--json"], ["ls"], ["tail", "-n", "100000"]]

    def test_closed_pipe_ends_a_command_silently(self):
        for words in self.LONG:
            done = self.until_the_pipe_closes(10, *words, commands.sample("leveldb_log/zero-length-10000.log")
                                              if words == ["ls"] else commands.sample("riegeli/multiblock_zstd.riegeli"))
            with self.subTest(words=words):
                self.assertEqual((done.status, done.err), (-signal.SIGPIPE, ""))

    def test_full_disk_is_reported(self):
        for words in (*self.LONG, *READING):
            with open("/dev/full", "wb") as full:
                done = self.recordfs(*words, commands.sample(TEXT), stdout=full)
            with self.subTest(words=words):
                self.assertEqual(done.status, commands.PARTLY_DONE)
                self.assertEqual(done.err, "recordfs: standard output: No space left on device\n")

    def test_closed_standard_output_is_reported(self):
        for words in (*self.LONG, *READING):
            done = self.recordfs(*words, commands.sample(TEXT), stdout=None, preexec_fn=lambda: os.close(1))
            with self.subTest(words=words):
                self.assertEqual((done.status, done.err),
                                 (commands.PARTLY_DONE, "recordfs: standard output: Bad file descriptor\n"))

    def test_help_that_cannot_be_written_is_reported(self):
        for words in (["--help"], ["cat", "--help"], ["help", "mount"], ["version"]):
            done = self.recordfs(*words, stdout=None, preexec_fn=lambda: os.close(1))
            self.assertEqual((done.status, done.err),
                             (commands.PARTLY_DONE, "recordfs: standard output: Bad file descriptor\n"), words)

    def test_closed_standard_output_is_no_error_if_nothing_is_written(self):
        done = self.recordfs("grep", "-q", ".", commands.sample(TEXT), stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual((done.status, done.err), (commands.GOOD, ""))

    def test_closed_standard_input_is_reported(self):
        done = self.recordfs("cat", "-", stdin=None, preexec_fn=lambda: os.close(0))
        self.assertEqual((done.status, done.out), (commands.CANNOT_OPEN, b""))
        self.assertIn("Bad file descriptor", done.err)


if __name__ == "__main__":
    commands.main()
