#!/usr/bin/env python3
"""Which command a command line means, and what its help says."""
import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import commands

FAILED = 2  # of grep


class Names(commands.Case):
    def test_mistyped_command_is_answered_with_similar_ones(self):
        for word, meant in (("inf", "info"), ("gerp", "grep"), ("verfy", "verify"), ("lss", "ls"), ("versoin", "version")):
            for rest in ([], ["x"], ["x", "y"]):
                self.assert_ends(commands.WRONG_USE, rf"no such command or file: {word} \(did you mean {meant}\?\)", word,
                                 *rest)
        self.assert_ends(commands.WRONG_USE, r"no such command or file: ct \(did you mean cat or cp\?\)", "ct", "x")

    def test_word_of_other_tools_is_answered_with_the_command(self):
        for word, meant in (("count", "info --scan"), ("wc", "info --scan"), ("list", "ls"), ("extract", "cp"), ("convert", "export")):
            self.assert_ends(commands.WRONG_USE, rf"no such command or file: {word} \(did you mean {meant}\?\)", word, "x")

    def test_mistyped_mount_option_is_answered_with_similar_ones(self):
        for name, meant in (("folow", r" \(did you mean follow\?\)"), ("cachesize=1M", r" \(did you mean cache_size\?\)"),
                            ("xyz", "")):
            self.assert_ends(commands.WRONG_USE, rf"unknown option -o {name.partition('=')[0]}{meant} ", "mount", "-o", name,
                             "x", self.folder / "mnt")
        self.assert_ends(commands.WRONG_USE, "-o follow takes no value ", "mount", "-o", "follow=1", "x", self.folder / "mnt")
        self.assert_ends(commands.WRONG_USE, "-o log requires a value: log=FILE ", "mount", "-o", "log", "x", self.folder / "mnt")

    def test_word_that_resembles_no_command_points_to_the_help(self):
        self.assert_ends(commands.WRONG_USE, r"no such command or file: frobnicate \(try recordfs --help\)", "frobnicate", "x")

    def test_word_that_is_no_command_by_its_letters_is_a_file(self):
        self.assert_ends(commands.CANNOT_OPEN, "inf.log: cannot open: No such file", "inf.log", self.folder / "mnt")
        self.assert_ends(commands.CANNOT_OPEN, "./inf: cannot open: No such file", "./inf", self.folder / "mnt")

    def test_help_is_that_of_the_option(self):
        self.assertEqual(self.good("help"), self.good("--help"))
        for command in ("info", "grep", "mount"):
            self.assertEqual(self.good("help", command), self.good(command, "--help"))
        for word in ("help", "version", "--help"):
            self.assertEqual(self.good("help", word), self.good("--help"))

    def test_help_of_no_command_is_refused(self):
        self.assert_ends(commands.WRONG_USE, r"no such command: hed \(did you mean head\?\)", "help", "hed")

    def test_version_is_that_of_the_option(self):
        self.assertEqual(self.good("version"), self.good("--version"))
        self.assertEqual(self.good("version", "--json"), self.good("--version", "--json"))

    def test_version_in_json_is_that_of_the_lines(self):
        described = json.loads(self.good("--version", "--json"))
        lines = self.good("--version").decode().splitlines()
        lines = dict(line.rsplit(" ", 1) for line in lines if not line.endswith(" not available"))
        self.assertEqual(list(described), ["version", "formats", "libraries", "fuse_protocol", "features", "linked",
                                           "processor", "compiler"])
        self.assertEqual(lines.pop("recordfs"), described["version"])
        self.assertEqual(lines.pop("FUSE protocol", None), described["fuse_protocol"])
        self.assertEqual(lines, {name: version for name, version in described["libraries"].items() if version})
        self.assertIn("riegeli", described["formats"])
        self.assertEqual(described["features"]["urls"], Path(commands.program("recordfs-fetch")).exists())


class Values(commands.Case):
    """Values of options that are no numbers, or not among those that are allowed."""

    # (command, option in messages, options and their value, what is allowed)
    NUMBERS = [
        ("keys", "--limit", ["--limit"], "a number"),
        ("cat", "--shuffle", ["--shuffle"], "a number"),
        ("cat", "--sample", ["--sample"], "a number"),
        ("cat", "--seed", ["--sample", "1", "--seed"], "a number"),
        ("grep", "--max-count", ["-m"], "a number"),
        ("mount", "--ready-fd", ["--ready-fd"], "a descriptor"),
        *((name, "--threads", ["-j"], "a number up to 1024") for name in ("info", "cat", "grep", "keys", "verify")),
    ]

    def test_value_that_is_no_number_is_named_with_what_is_allowed(self):
        for command, option, words, allowed in self.NUMBERS:
            for value in ("many", "-5", "+5", " 5", "1.5", "0x10", "5k", ""):
                with self.subTest(command=command, option=option, value=value):
                    self.assert_ends(FAILED if command == "grep" else commands.WRONG_USE,
                                     rf"{option}: not {re.escape(f'{allowed}: {value}')} \(try recordfs ", command,
                                     *words, value, "x", "y")

    def test_number_that_is_too_large(self):
        self.assert_ends(commands.WRONG_USE, "--threads: not a number up to 1024: 1025", "info", "-j", "1025", "x")
        self.assert_ends(commands.WRONG_USE, "--seed: not a number: 9{30}", "cat", "--sample", "1", "--seed", "9" * 30, "x")
        file = commands.sample("tfrecord/embedded.tfrecord")
        self.assertEqual(self.good("head", "-n", "9" * 30, file), self.good("cat", file))
        self.assertEqual(self.good("grep", "-m", "9" * 30, ".", file), self.good("grep", ".", file))

    def test_limit_of_grep_may_be_none_as_that_of_grep_1(self):
        file = commands.sample("tfrecord/embedded.tfrecord")
        self.assertEqual(self.good("grep", "-m", "-1", ".", file), self.good("grep", ".", file))

    def test_value_of_a_flag_is_refused(self):
        self.assert_ends(commands.WRONG_USE, r"--json takes no value: x \(try recordfs info --help\)", "info", "--json=x", "y")
        self.assert_ends(commands.WRONG_USE, "--join takes no value: a = b", "mount", "--join=a = b", "y")

    def test_missing_value_is_named(self):
        self.assert_ends(commands.WRONG_USE, r"--records requires a value: N \(try recordfs head --help\)", "head", "-n")
        self.assert_ends(commands.WRONG_USE, "-o requires a value: OPTION,\\.\\.\\.", "mount", "-o")


class Help(commands.Case):
    def commands(self):
        """Returns the names of all commands that have a help of their own."""
        shown = self.good("help").decode().partition("Commands")[2].partition("\n\n")[0]
        return [name for name in re.findall(r"(?m)^  (\S+)", shown) if name not in ("mount", "help", "version")]

    def on_terminal_of(self, width, *words):
        """Returns the lines that a command prints on a terminal of this width."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        with subprocess.Popen([commands.program("recordfs"), *words], stdin=subprocess.DEVNULL, stdout=theirs) as running:
            os.close(theirs)
            shown = commands.read_terminal(ours)
            os.close(ours)
        self.assertEqual(running.returncode, commands.GOOD)
        return shown.decode().replace("\r\n", "\n").splitlines()

    def test_every_command_has_groups_of_options_and_two_examples(self):
        names = self.commands()
        self.assertGreaterEqual(set(names), {"info", "cat", "grep", "umount"})
        for name in names:
            shown = self.good(name, "--help").decode()
            with self.subTest(command=name):
                examples = shown.partition("\nExamples:\n")[2].splitlines()
                self.assertEqual(len(examples), 2)
                for line in examples:
                    self.assertRegex(line, rf"\A  ([^|]* \| )?recordfs {name}\b")
                self.assertNotIn("Needs:", shown)
                self.assertNotIn("\n\n\n", shown)
        shown = self.good("cat", "--help").decode()
        for heading in ("Positionals", "Which records", "Output", "Data sets", "General"):
            self.assertEqual(len(re.findall(rf"(?m)^{heading}:$", shown)), 1, heading)

    def all_helps(self):
        """Returns the words that print each help."""
        return [["--help"], ["mount", "--help"], *([name, "--help"] for name in self.commands())]

    def assert_fits(self, lines, width):
        self.assertEqual([line for line in lines if len(line) > width and " " in line.strip()], [])

    def test_help_is_wrapped_to_the_terminal(self):
        for words in self.all_helps():
            plain = self.good(*words).decode()
            for width in (60, 80, 100, 200):
                lines = self.on_terminal_of(width, *words)
                with self.subTest(words=words, width=width):
                    self.assert_fits(lines, width)
                    self.assertEqual(" ".join(lines).split(), plain.split())

    def test_help_that_goes_to_no_terminal_is_wrapped_to_80_columns(self):
        for words in self.all_helps():
            with self.subTest(words=words):
                self.assert_fits(self.good(*words).decode().splitlines(), 80)

    def test_paragraphs_fill_a_wide_terminal(self):
        width = 200
        for words in self.all_helps():
            for before, after in itertools.pairwise(self.on_terminal_of(width, *words)):
                if before and after and before[0] != " " and after[0] != " " and before[-1] not in ".:":
                    with self.subTest(words=words, line=before):
                        self.assertTrue(before.startswith("Usage: ") or after.startswith("Usage: ") or
                                        len(f"{before} {after.split()[0]}") > width)

    def test_help_of_cat_fits_one_screen(self):
        self.assertLessEqual(len(self.on_terminal_of(100, "cat", "--help")), 69)
        text = "".join(line[24:] for line in self.on_terminal_of(100, "cat", "--help") if line.startswith("   "))
        self.assertEqual(text, "")  # each option takes one line

    def test_help_ends_without_an_empty_line(self):
        for words in self.all_helps():
            self.assertRegex(self.good(*words), rb"[^\n]\n\Z", words)

    def test_description_of_an_option_keeps_its_column(self):
        lines = self.on_terminal_of(70, "cat", "--help")
        first = next(i for i, line in enumerate(lines) if line.startswith("  --lines"))
        column = lines[first].index("write")
        after = next(i for i, line in enumerate(lines) if line.startswith("  --json")) + 1
        self.assertEqual(lines[after][:column].strip(), "")
        self.assertNotEqual(lines[after][column], " ")


if __name__ == "__main__":
    commands.main()
