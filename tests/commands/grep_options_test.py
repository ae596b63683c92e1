#!/usr/bin/env python3
"""recordfs grep has the options, output and exit statuses of grep(1), with which it is compared."""
import os
import pty
import re
import subprocess

import commands
from tfrecords import tfrecord

LINES = "riegeli/simple_zstd9.riegeli"  # 500 records; each is a line without a newline
FAILED = 2


class LikeGrep(commands.Case):
    """Options mean what they mean to grep(1), with records in place of lines."""

    RECORDS = ["foo", "bar", "foo bar", "foobar", "_foo", "foo-bar", "", "FOO", "\u00e9foo", "a|b", "bar foo bar", "barfoo.foo",
               "x", "y", "z", "foo9", "9foo", "the end"]
    OPTIONS = [[], ["-i"], ["-v"], ["-w"], ["-x"], ["-F"], ["-c"], ["-o"], ["-m", "3"], ["-vx"], ["-wo"], ["-io"], ["-cw"], ["-cv"], ["-q"],
               ["-m", "0"], ["-n"], ["-a"], ["-s"], ["--line-buffered"], ["-A", "1"], ["-B", "1"], ["-C", "1"], ["-A", "2", "-B", "3"],
               ["-C", "1", "-A", "3"], ["-A", "3", "-C", "1"], ["-C", "100"], ["-A1", "-m2"], ["-C1", "-m", "2", "-v"], ["-wC1"], ["-cA1"],
               ["--color=always"], ["--color=always", "-o"], ["--color=always", "-C1"], ["--colour=always", "-w"],
               ["--color=never"], ["--color"], ["-y"], ["-U"], ["--binary"], ["--binary-files=text"], ["-m", "1", "-m", "2"],
               ["-C", "3", "-C", "1"], ["-c", "-m", "3"], ["-e", "the"]]
    PATTERNS = ["foo", "bar", "^foo$", "fo+|bar", "nothing", "", "a|b", "[0-9]", "x\ny", "."]

    def setUp(self):
        super().setUp()
        self.containers, self.texts = self.folder / "containers", self.folder / "texts"
        self.containers.mkdir()
        self.texts.mkdir()
        for number, name in enumerate(("a.tfrecord", "b.tfrecord", "sub/c.tfrecord", "sub/d.other")):
            self.write(name, [record for i, record in enumerate(self.RECORDS) if number == 0 or i % (number + 1)])

    def write(self, name, records):
        """Writes a container of these records, and a text of the same name with a line for each."""
        for path in (self.containers / name, self.texts / name):
            path.parent.mkdir(exist_ok=True)
        (self.containers / name).write_bytes(tfrecord([record.encode() for record in records]))
        (self.texts / name).write_text("".join(f"{record}\n" for record in records), encoding="utf-8")

    def assert_same(self, *words, stdin=None, numbers=True):
        """recordfs grep and grep have the same status and output, in which lines count from 1 and records from 0."""
        environment = dict(self.environment(), LC_ALL="C.UTF-8", TERM="xterm")
        shows_numbers = ["-n"] if numbers else []
        syntax = [] if "-F" in words else ["-E"]
        expected = subprocess.run(["grep", *syntax, *shows_numbers, *words], cwd=self.texts, env=environment, stdin=stdin or subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        done = self.recordfs("grep", *words, cwd=self.containers, **({"stdin": stdin} if stdin else {}))
        self.assertEqual((done.status, bool(done.err)), (expected.returncode, bool(expected.stderr)), (words, done.err))
        out = done.out
        if numbers:
            out = re.sub(rb"(?m)^((?:[\w./]+[:-]|\x1b\[35m.*?:\x1b\[m\x1b\[K|\x1b\[35m.*?-\x1b\[m\x1b\[K)?(?:\x1b\[32m\x1b\[K)?)(\d+)(?=[:-]|\x1b)",
                         lambda found: found[1] + b"%d" % (int(found[2]) + 1), out)
        self.assertEqual(out, expected.stdout, words)

    def test_options_of_grep_select_and_print_the_same(self):
        for options in self.OPTIONS:
            for pattern in self.PATTERNS:
                if (options, pattern) == (["-cv"], ""):
                    continue  # grep prints no count
                is_counted = any("c" in option for option in options if not option.startswith("--"))
                with self.subTest(options=options, pattern=pattern):
                    self.assert_same(*options, "-e", pattern, "a.tfrecord", numbers=not is_counted)

    def test_several_files_are_named_as_grep_does(self):
        files = ["a.tfrecord", "b.tfrecord"]
        for options in ([], ["-h"], ["-H"], ["-C", "1"], ["-o"], ["--color=always"], ["-m", "1", "-A", "1"]):
            self.assert_same(*options, "foo", *files)
        for options in (["-c"], ["-l"], ["-L"], ["-lv"], ["-lZ"], ["-LZ"], ["-cH"], ["-ch"], ["--color=always", "-c"], ["--color=always", "-l"]):
            for pattern in ("9foo", "nothing", "foo"):
                self.assert_same(*options, pattern, *files, numbers=False)

    def test_names_of_files_are_included_and_excluded_as_grep_does(self):
        # grep -r lists files in the order of the directory.
        for options in ([], ["--include=*.tfrecord"], ["--include", "c*"], ["--exclude", "*.other"], ["--include=*.other", "--include=a*"],
                        ["--exclude=a*", "--exclude=b*"], ["--include=none"], ["--exclude-dir=sub"], ["--exclude-dir", "s?b"],
                        ["--exclude-dir=none"], ["--exclude-dir=a.tfrecord"]):
            for words in (["-r", "-l", *options, "foo"], ["-r", "-l", *options, "foo", "."], ["-r", "-l", *options, "foo", "sub"]):
                expected = subprocess.run(["grep", *words], cwd=self.texts, stdout=subprocess.PIPE, check=False)
                done = self.recordfs("grep", *words, cwd=self.containers)
                self.assertEqual((done.status, sorted(done.out.split())), (expected.returncode, sorted(expected.stdout.split())), words)
        self.assert_same("--exclude", "a*", "-l", "foo", "a.tfrecord", "b.tfrecord", numbers=False)

    def test_patterns_are_read_from_files(self):
        patterns = self.folder / "patterns"
        for text in ("foo\nx\n", "", "\n", "9", "fo+\nba[rz]\n"):
            patterns.write_text(text, encoding="utf-8")
            for options in ([], ["-x"], ["-w"], ["-v"], ["-F"], ["-e", "the"]):
                self.assert_same(*options, "-f", patterns, "a.tfrecord")
            with patterns.open("rb") as file:
                done = self.recordfs("grep", "-c", "-f", "-", "a.tfrecord", cwd=self.containers, stdin=file)
            self.assertEqual(done.out, self.recordfs("grep", "-c", "-f", patterns, "a.tfrecord", cwd=self.containers).out)
        self.assert_same("-f", "not-there", "a.tfrecord")
        self.assert_ends(FAILED, "--file: standard input cannot have both", "grep", "-f", "-", "-")

    def test_other_options_of_grep_name_what_takes_their_place(self):
        for words, hint in ((["-R"], "try: -r"), (["-I"], "searched as text"), (["-T"], "try: --json"), (["-P"], "RE2"), (["-G"], "RE2"),
                            (["-b"], "--json"), (["--label=x"], "named -"), (["--label", "x"], "named -"), (["-3"], "try: -C 3"),
                            (["--binary-files=without-match"], "searched as text"), (["-d", "skip"], "try: -r"),
                            (["-D", "read"], "try: --exclude"), (["--exclude-from=x"], "try: --exclude"),
                            (["--no-ignore-case"], "without -i"), (["--group-separator=x"], "a line --"),
                            (["--no-group-separator"], "try: --json")):
            self.assert_ends(FAILED, hint, "grep", *words, "x", self.containers / "a.tfrecord")

    def test_every_option_of_grep_is_known(self):
        listed = subprocess.run(["grep", "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
        options = set(re.findall(r"(?m)^  +(?:-\w, )?(--[\w-]+)", listed)) | set(re.findall(r"(?m)^  (-\w)\b", listed))
        self.assertGreater(len(options), 40)
        for option in sorted(options - {"--help", "--version", "-V", "--unix-byte-offsets"}):
            err = self.recordfs("grep", option, "x", "x", self.containers / "a.tfrecord").err
            self.assertNotRegex(err, r"unknown option(?!: -N)", option)

    def test_messages_about_files_can_be_left_out(self):
        self.assert_same("-s", "foo", "not-there", "a.tfrecord")
        self.assert_same("-s", "-r", "nothing", "not-there")
        self.assert_same("-qs", "foo", "not-there", "a.tfrecord")

    def test_zero_ends_each_record(self):
        out = self.good("grep", "-z", "foo", self.containers / "a.tfrecord")
        self.assertEqual(out, self.good("grep", "foo", self.containers / "a.tfrecord").replace(b"\n", b"\0"))
        self.assertEqual(self.good("grep", "-zo", "^foo", self.containers / "b.tfrecord"),
                         self.good("grep", "-o", "^foo", self.containers / "b.tfrecord").replace(b"\n", b"\0"))

    def test_standard_input_is_searched_without_a_file(self):
        content = (self.containers / "a.tfrecord").read_bytes()
        for words in (["foo"], ["-e", "foo"], ["-c", "foo"], ["-C1", "x"]):
            ran = subprocess.run([commands.program("recordfs"), "grep", *words], input=content, stdout=subprocess.PIPE, check=True)
            self.assertEqual(ran.stdout, self.good("grep", *words, self.containers / "a.tfrecord"))

    def test_terminal_is_not_searched_without_a_file(self):
        ours, theirs = pty.openpty()
        try:
            done = self.recordfs("grep", "x", stdin=theirs)
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual((done.status, done.out), (FAILED, b""))
        self.assertRegex(done.err, r"\Arecordfs: FILE is required, because standard input is a terminal")

    def test_matches_are_highlighted_on_a_terminal(self):
        path = self.containers / "a.tfrecord"
        colored = b"\x1b[32m\x1b[K16\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K\x1b[01;31m\x1b[K9\x1b[m\x1b[Kfoo\n"
        for terminal, shown in (("xterm", colored), ("dumb", b"16:9foo\n"), ("", b"16:9foo\n")):
            self.environment = lambda value=terminal: dict(os.environ, TERM=value)
            if terminal:
                self.assertEqual(self.on_terminal("grep", "--color", "^9", path).out, shown)
            self.assertEqual(self.good("grep", "--color", "^9", path), b"16:9foo\n")
        self.assertEqual(self.on_terminal("grep", "^9", path).out, b"16:9foo\n")
        self.assert_ends(FAILED, "--color: not always, never or auto: red", "grep", "--color=red", "x", path)

    def test_context_is_that_of_records_in_several_chunks(self):
        path = commands.sample("riegeli/simple_flush_every7.riegeli")
        lines = self.folder / "lines"
        lines.write_bytes(self.good("cat", "--lines", path))
        for options in (["-C", "3"], ["-B", "20"], ["-A", "20", "-m", "2"], ["-C", "1"]):
            expected = subprocess.run(["grep", "-n", *options, "5", lines], stdout=subprocess.PIPE, check=True).stdout
            shown = re.sub(rb"(?m)^(\d+)(?=[:-])", lambda found: b"%d" % (int(found[1]) + 1), self.good("grep", *options, "5", path))
            self.assertEqual(shown, expected, options)

    def test_context_excludes_json(self):
        for words in (["--json"], ["--decoded"], ["--field", "x"]):
            self.assert_ends(FAILED, "-A, -B and -C exclude --json, --decoded and --field", "grep", "-C1", *words, "x",
                             self.containers / "a.tfrecord")

    def test_records_that_cp_extracts_match_as_files(self):
        target = self.folder / "records"
        file = commands.sample(LINES)
        self.good("cp", file, ":100", target)
        for options, pattern in (([], "two two two"), (["-w"], "chunk"), (["-i"], "ONE"), (["-v"], "two"), (["-x"], ".*chunk")):
            names = subprocess.run(["grep", "-r", "-l", *options, "-E", pattern, "."], cwd=target, stdout=subprocess.PIPE, check=False).stdout
            chosen = sorted(int(name.rpartition(b"/")[2]) for name in names.split())
            found = self.recordfs("grep", "--ordinals", *options, pattern, file).out.split()
            self.assertEqual([int(one) for one in found if int(one) < 100], chosen, options)


if __name__ == "__main__":
    commands.main()
