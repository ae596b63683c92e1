#!/usr/bin/env python3
"""What bash and zsh complete. Both ask the program, so a few lines show that they understand its --help."""
import os
import re
import shlex
import tempfile
import unittest
from pathlib import Path

import asking

FRAMEWORK = Path("/usr/share/bash-completion/bash_completion")

# As readline calls a completion: the line, its words, cut at blanks and at what COMP_WORDBREAKS names, and the last of
# them. compopt only works inside a completion that readline has begun.
ASK_BASH = r"""
. "$1"; . "$2"
compopt() { :; }
COMP_LINE=$3 COMP_POINT=${#3} COMP_WORDS=("${@:4}") COMP_CWORD=$(($# - 4)) COMPREPLY=()
_recordfs recordfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# zsh's completion runs inside its line editor alone; what it would be asked for is printed instead.
ASK_ZSH = r"""
_call_program() { shift; eval "$@" }
_arguments() { print -rl -- "$@"; state=first }
_describe() { print -rl -- ${(P)2} }
_files() { }
words=("${@:2}") CURRENT=$#words
. "$1"
"""


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "sub").mkdir()
        for name in ("log.riegeli", "two words.riegeli"):
            (self.folder / name).touch()

    def run_shell(self, *command):
        environment = dict(os.environ, PATH=f"{asking.place.build}:{os.environ['PATH']}", HOME=str(self.folder))
        done = asking.run(*command, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        return [line for line in done.stdout.splitlines() if line]


class Bash(Completion):
    SCRIPT = "completion/recordfs.bash"

    def complete(self, line):
        words = [word for word in re.split(r"\s+|(?<=[=:])|(?=[=:])", line) if word]
        if line.endswith((" ", "=")):
            words.append("")
        script = asking.installed(self.SCRIPT)
        return set(self.run_shell("bash", "-c", ASK_BASH, "bash", FRAMEWORK, script, line, *words))

    def test_it_parses(self):
        self.run_shell("bash", "-n", asking.installed(self.SCRIPT))

    def setUp(self):
        super().setUp()
        if self._testMethodName != "test_it_parses" and not FRAMEWORK.exists():
            self.skipTest("bash-completion is not installed")

    def test_the_first_word_is_a_command_or_a_file(self):
        self.assertEqual(self.complete("recordfs "),
                         asking.commands(asking.help_of()) | {"log.riegeli", "two words.riegeli", "sub"})
        self.assertEqual(self.complete("recordfs ca"), {"cat"})

    def test_options_are_those_of_the_command(self):
        self.assertEqual(self.complete("recordfs -"), asking.options(asking.help_of()))
        self.assertEqual(self.complete("recordfs cat -"), asking.options(asking.help_of("cat")))
        self.assertEqual(self.complete("recordfs cat --max"), {"--max-chunk"})

    def test_what_follows_an_option(self):
        self.assertEqual(self.complete("recordfs cat --index "), {"auto", "no", "sub"})
        self.assertEqual(self.complete("recordfs cat --max-chunk "), set())

    def test_mount_options(self):
        self.assertEqual(self.complete("recordfs log.riegeli sub -o um"), {"umask="})
        self.assertEqual(self.complete("recordfs -o nest,um"), {"nest,umask="})
        self.assertEqual(self.complete("recordfs -o uid=3,nes"), {"3,nest"})
        self.assertEqual(self.complete("recordfs mount -o index="), {"auto", "no", "sub"})
        self.assertEqual(self.complete("recordfs mount -o log=two"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs mount -o uid="), set())

    def test_files_and_what_is_none(self):
        self.assertEqual(self.complete("recordfs log.riegeli s"), {"sub"})
        self.assertEqual(self.complete("recordfs cat -j 2 lo"), {"log.riegeli"})
        self.assertEqual(self.complete("recordfs cat log.riegeli "), set())
        self.assertEqual(self.complete("recordfs grep "), set())
        self.assertEqual(self.complete("recordfs grep word tw"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs grep -e word -e other tw"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs cp log.riegeli 3 "), {"sub"})


@asking.needs("zsh")
class Zsh(Completion):
    SCRIPT = "completion/_recordfs"

    def complete(self, line):
        return self.run_shell("zsh", "-f", "-c", ASK_ZSH, "zsh", asking.installed(self.SCRIPT), *shlex.split(line), "")

    def test_it_parses(self):
        self.run_shell("zsh", "-n", asking.installed(self.SCRIPT))

    def test_commands_come_with_what_they_do(self):
        described = dict(line.split(":", 1) for line in self.complete("recordfs") if re.match(r"[a-z]+:", line))
        self.assertIn("cat", described)
        self.assertEqual(set(described), asking.commands(asking.help_of()))
        self.assertTrue(all(described.values()), described)

    def test_options_are_those_of_the_command(self):
        for words in ([], ["cat"]):
            specified = {match.group(1) for line in self.complete(shlex.join(["recordfs", *words]))
                         if (match := re.match(r"\([^)]*\)(--?[\w-]+)\[.+\]", line))}
            self.assertEqual(specified, asking.options(asking.help_of(*words)))


if __name__ == "__main__":
    asking.main()
