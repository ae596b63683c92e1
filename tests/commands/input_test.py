#!/usr/bin/env python3
"""Commands read standard input, which is FILE -, from a pipe or from a file."""
import gzip
import os
import re
import subprocess

import commands

TEXT = "riegeli/simple_zstd9.riegeli"
TABLE = "leveldb_table/leveldb-compacted.ldb"
READING = [["cat"], ["cat", "--json"], ["cat", "--shuffle", "1"], ["cat", "--split", "0:"], ["head"], ["tail", "-n", "3"], ["ls"],
           ["info", "--json", "--scan"], ["verify", "-v"], ["grep", "-c", "one"], ["grep", "-H", "two"]]


class Input(commands.Case):
    def piped(self, content, *words, **options):
        """Runs a command with a pipe as its standard input."""
        ran = subprocess.run([commands.program("recordfs"), *map(os.fsencode, words)], input=content, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=dict(self.environment(), TMPDIR=str(self.folder)), check=False,
                             timeout=commands.PATIENCE, **options)
        return self._sane(commands.Done(ran.returncode, ran.stdout, ran.stderr.decode()))

    def assert_reads(self, done, sample, *words):
        expected = self.recordfs(*words, commands.sample(sample))
        name = bytes(commands.sample(sample))
        self.assertEqual((done.status, done.err), (expected.status, expected.err), words)
        self.assertEqual(done.out, expected.out.replace(name, b"-"), words)

    def test_pipe_is_read_like_the_file(self):
        content = commands.sample(TEXT).read_bytes()
        for words in READING:
            self.assert_reads(self.piped(content, *words, "-"), TEXT, *words)
        self.assert_reads(self.piped(content, "cat", "-", "3", "@64/0"), TEXT, "cat", "-r", "3", "-r", "@64/0")

    def test_keys_of_a_table_are_read_from_a_pipe(self):
        content = commands.sample(TABLE).read_bytes()
        self.assert_reads(self.piped(content, "keys", "-"), TABLE, "keys")
        key = self.good("keys", "--null", commands.sample(TABLE)).split(b"\0")[0]
        done = self.piped(content, "get", "-", os.fsdecode(key))
        self.assertEqual(done.out, self.good("get", commands.sample(TABLE), os.fsdecode(key)))

    def test_standard_input_has_a_name_in_the_output_of_keys_and_get(self):
        content = commands.sample(TABLE).read_bytes()
        key = os.fsdecode(self.good("keys", "--null", commands.sample(TABLE)).split(b"\0")[0])
        name = commands.sample(TABLE).name.encode()
        for words in (["keys", "--json", "{}"], ["get", "--json", "{}", key], ["get", "--json", "--history", "{}", key],
                      ["get", "--history", "{}", key]):
            of_file, of_input = ([word.format(path) for word in words] for path in (commands.sample(TABLE), "-"))
            expected = self.good(*of_file)
            self.assertIn(name, expected)
            expected = expected.replace(name, b"-")
            self.assertEqual(self.piped(content, *of_input).out, expected)
            with open(commands.sample(TABLE), "rb") as file:
                self.assertEqual(self.recordfs(*of_input, stdin=file).out, expected)

    def test_messages_of_keys_and_get_name_standard_input(self):
        damaged = commands.sample("leveldb_table/damaged/flip-in-footer.ldb")
        content = damaged.read_bytes()
        for words in (["keys", "{}"], ["keys", "--json", "{}"], ["get", "{}", "entry/0040"]):
            of_file, of_input = ([word.format(path) for word in words] for path in (damaged, "-"))
            expected = self.recordfs(*of_file)
            self.assertIn(str(damaged), expected.err)
            done = self.piped(content, *of_input)
            self.assertEqual((done.status, done.err), (expected.status, expected.err.replace(str(damaged), "-")))
        for words in (["keys", "-"], ["get", "-", "key"]):
            self.assertRegex(self.piped(b"text", *words).err, r"\Arecordfs: -: not a log, table or blob file")

    def test_redirected_file_is_read_in_place(self):
        for words in READING:
            with open(commands.sample(TEXT), "rb") as file:
                self.assert_reads(self.recordfs(*words, "-", stdin=file), TEXT, *words)

    def test_rest_of_a_redirected_file_is_read(self):
        whole = self.folder / "whole"
        whole.write_bytes(b"header" + commands.sample(TEXT).read_bytes())
        with open(whole, "rb", buffering=0) as file:
            file.seek(len(b"header"))
            self.assert_reads(self.recordfs("cat", "-", stdin=file), TEXT, "cat")

    def test_input_is_one_file_of_a_data_set(self):
        content = commands.sample(TEXT).read_bytes()
        both = self.good("cat", commands.sample(TEXT), commands.sample(TEXT))
        self.assertEqual(self.piped(content, "cat", commands.sample(TEXT), "-").out, both)
        self.assertEqual(self.piped(content, "cat", "-", commands.sample(TEXT)).out, both)

    def test_copies_are_written(self):
        target = self.folder / "copies"
        target.mkdir()
        self.assertEqual(self.piped(commands.sample(TEXT).read_bytes(), "cp", "-", ":2", target).err, "")
        self.assertEqual(sorted(os.listdir(target)), ["000000000", "000000001"])

    def test_nothing_is_left_in_the_folder_of_temporary_files(self):
        self.piped(commands.sample(TEXT).read_bytes(), "cat", "-")
        self.assertEqual(os.listdir(self.folder), ["caches"])  # of saved indexes

    def test_input_above_the_limit_is_refused(self):
        content = commands.sample(TEXT).read_bytes()
        done = self.piped(content, "cat", "--max-input", "1K", "-")
        self.assertEqual((done.status, done.out), (commands.CANNOT_OPEN, b""))
        self.assertEqual(done.err, "recordfs: -: standard input has more than 1024 bytes (see --max-input)\n")
        self.assertEqual(self.piped(content, "cat", "--max-input", str(len(content)), "-").status, commands.GOOD)

    def test_folder_that_takes_no_file_is_named(self):
        environment = dict(self.environment(), TMPDIR="/proc")
        done = subprocess.run([commands.program("recordfs"), "cat", "-"], input=b"text", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment, check=False)
        self.assertEqual(done.returncode, commands.CANNOT_OPEN)
        self.assertRegex(done.stderr, rb"\Arecordfs: -: cannot save standard input in /proc: [^\n]* \(try: TMPDIR=DIRECTORY\)\n\Z")

    def test_input_that_is_no_container_is_reported(self):
        self.assertRegex(self.piped(b"text", "cat", "-").err, r"\Arecordfs: -: not a record container")
        self.assertRegex(self.piped(b"", "cat", "-").err, r"\Arecordfs: -: ")
        done = self.piped(gzip.compress(b"text"), "cat", "-")
        self.assertEqual(done.err, "recordfs: -: gzip-compressed file, not a record container (try: gunzip | recordfs COMMAND -)\n")

    def test_commands_for_which_input_makes_no_sense_refuse_it(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for name in ("-", pipe):
            self.assert_ends(commands.WRONG_USE, "standard input cannot be split", "splits", name)
            for option in ("-f", "-F"):
                self.assert_ends(commands.WRONG_USE, "--follow: takes one file, which is not standard input", "tail", option, name)
            self.assert_ends(commands.PARTLY_DONE, f"{name}: an index of standard input or a pipe is not saved", "index", name)
            self.assert_ends(commands.CANNOT_OPEN, f"{name}: a mount reads at any position, which a pipe does not permit "
                             r"\(try: save it in a file\)", "mount", name, self.folder / "mnt")
        self.assertFalse((self.folder / "mnt").exists())

    def test_named_pipes_are_read_like_files(self):
        content = commands.sample(TEXT).read_bytes()
        for words in READING:
            expected = self.recordfs(*words, commands.sample(TEXT))
            ran = subprocess.run(["bash", "-c", 'words=("${@:2}"); exec "$1" "${words[@]}" <(cat)', "bash", commands.program("recordfs"),
                                  *words], input=content, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(),
                                 check=False, timeout=commands.PATIENCE)
            out = re.sub(rb"/dev/fd/\d+", bytes(commands.sample(TEXT)), ran.stdout)
            self.assertEqual((ran.returncode, ran.stderr.decode(), out), (expected.status, expected.err, expected.out), words)

    def test_pipe_above_the_limit_is_refused(self):
        ran = subprocess.run(["bash", "-c", 'exec "$1" cat --max-input 1K <(cat "$2")', "bash", commands.program("recordfs"),
                              commands.sample(TEXT)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(ran.returncode, commands.CANNOT_OPEN)
        self.assertRegex(ran.stderr, rb"\Arecordfs: /dev/fd/\d+: the pipe has more than 1024 bytes \(see --max-input\)\n\Z")


if __name__ == "__main__":
    commands.main()
