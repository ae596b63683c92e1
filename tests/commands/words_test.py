#!/usr/bin/env python3
"""Which command a command line means, and what its help says."""
import commands


class Names(commands.Case):
    def test_mistyped_command_is_answered_with_similar_ones(self):
        for word, meant in (("inf", "info"), ("gerp", "grep"), ("verfy", "verify"), ("lss", "ls"), ("versoin", "version")):
            for rest in ([], ["x"], ["x", "y"]):
                self.assert_ends(commands.WRONG_USE, rf"no such command or file: {word} \(did you mean {meant}\?\)", word,
                                 *rest)
        self.assert_ends(commands.WRONG_USE, r"no such command or file: ct \(did you mean cat or cp\?\)", "ct", "x")

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


if __name__ == "__main__":
    commands.main()
