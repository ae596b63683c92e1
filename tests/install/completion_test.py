#!/usr/bin/env python3
"""Completion in bash, zsh and fish offers what --help lists."""
import os
import re
import shlex
import tempfile
import unittest
from pathlib import Path

import support

FRAMEWORK = Path("/usr/share/bash-completion/bash_completion")

# Calls the completion as readline does: with the line, and its words, split at blanks and at COMP_WORDBREAKS. compopt is
# replaced, because it fails outside readline.
ASK_BASH = r"""
. "$1"; . "$2"
compopt() { :; }
COMP_LINE=$3 COMP_POINT=${#3} COMP_WORDS=("${@:4}") COMP_CWORD=$(($# - 4)) COMPREPLY=()
_recordfs recordfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# zsh's completion functions need its line editor; these replacements print their arguments.
ASK_ZSH = r"""
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
        environment = dict(os.environ, PATH=f"{support.place.build}:{os.environ['PATH']}", HOME=str(self.folder))
        done = support.run(*command, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        return [line for line in done.stdout.splitlines() if line]


class Bash(Completion):
    SCRIPT = "recordfs.bash"

    def complete(self, line):
        words = [word for word in re.split(r"\s+|(?<=[=:])|(?=[=:])", line) if word]
        if line.endswith((" ", "=")):
            words.append("")
        script = support.generated(self.SCRIPT)
        return set(self.run_shell("bash", "-c", ASK_BASH, "bash", FRAMEWORK, script, line, *words))

    def test_script_parses(self):
        self.run_shell("bash", "-n", support.generated(self.SCRIPT))

    def setUp(self):
        super().setUp()
        if self._testMethodName != "test_script_parses" and not FRAMEWORK.exists():
            self.skipTest("bash-completion is not installed")

    def test_first_word_is_a_command_or_a_file(self):
        self.assertEqual(self.complete("recordfs "),
                         support.commands(support.help_of()) | {"log.riegeli", "two words.riegeli", "sub"})
        self.assertEqual(self.complete("recordfs ca"), {"cat"})

    def test_help_is_followed_by_a_command(self):
        self.assertEqual(self.complete("recordfs help "), support.commands(support.help_of()))
        self.assertEqual(self.complete("recordfs version "), set())

    def test_options_of_each_command_are_completed(self):
        self.assertEqual(self.complete("recordfs -"), support.options(support.help_of()))
        self.assertEqual(self.complete("recordfs cat -"), support.options(support.help_of("cat")))
        self.assertEqual(self.complete("recordfs cat --max"), {"--max-chunk", "--max-input"})

    def test_values_of_options_are_completed(self):
        self.assertEqual(self.complete("recordfs cat --index "), {"auto", "no", "sub"})
        self.assertEqual(self.complete("recordfs cat --max-chunk "), set())

    def test_mount_options_are_completed(self):
        self.assertEqual(self.complete("recordfs log.riegeli sub -o um"), {"umask="})
        self.assertEqual(self.complete("recordfs -o nest,um"), {"nest,umask="})
        self.assertEqual(self.complete("recordfs -o uid=3,nes"), {"3,nest"})
        self.assertEqual(self.complete("recordfs mount -o index="), {"auto", "no", "sub"})
        self.assertEqual(self.complete("recordfs mount -o log=two"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs mount -o uid="), set())

    def test_file_arguments_are_completed(self):
        self.assertEqual(self.complete("recordfs log.riegeli s"), {"sub"})
        self.assertEqual(self.complete("recordfs cat -j 2 lo"), {"log.riegeli"})
        self.assertEqual(self.complete("recordfs cat log.riegeli tw"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs grep "), set())
        self.assertEqual(self.complete("recordfs grep word tw"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs grep -e word -e other tw"), {"two words.riegeli"})
        self.assertEqual(self.complete("recordfs cp log.riegeli 3 "), {"sub"})
        self.assertEqual(self.complete("recordfs umount "), {"sub"})


@support.needs("zsh")
class Zsh(Completion):
    SCRIPT = "_recordfs"

    def complete(self, line):
        return self.run_shell("zsh", "-f", "-c", ASK_ZSH, "zsh", support.generated(self.SCRIPT), *shlex.split(line), "")

    def test_script_parses(self):
        self.run_shell("zsh", "-n", support.generated(self.SCRIPT))

    def test_commands_are_completed_with_descriptions(self):
        described = dict(line.split(":", 1) for line in self.complete("recordfs") if re.match(r"[a-z]+:", line))
        self.assertIn("cat", described)
        self.assertEqual(set(described), support.commands(support.help_of()))
        self.assertTrue(all(described.values()), described)

    def test_options_of_each_command_are_completed(self):
        for words in ([], ["cat"]):
            specified = {match.group(1) for line in self.complete(shlex.join(["recordfs", *words]))
                         if (match := re.match(r"\([^)]*\)(--?[\w-]+)\[.+\]", line))}
            self.assertEqual(specified, support.options(support.help_of(*words)))


@support.needs("fish")
class Fish(Completion):
    def complete(self, line):
        """Returns {completion: description}."""
        script = support.generated("recordfs.fish")
        printed = self.run_shell("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', script, line)
        return dict((row + "\t").split("\t")[:2] for row in printed)

    def test_first_word_is_a_command_or_a_file(self):
        self.assertEqual(set(self.complete("recordfs ")),
                         support.commands(support.help_of()) | {"log.riegeli", "two words.riegeli", "sub/"})
        self.assertEqual(self.complete("recordfs ca"), {"cat": "write records to standard output"})
        self.assertEqual(set(self.complete("recordfs help ca")), {"cat"})

    def test_options_of_each_command_are_completed(self):
        for words in ([], ["cat"], ["grep"], ["export"]):
            spellings = set(self.complete(shlex.join(["recordfs", *words, "-"]))) | set(
                self.complete(shlex.join(["recordfs", *words, "--"])))
            self.assertEqual(spellings, support.options(support.help_of(*words)), words)

    def test_values_are_completed(self):
        for line, expected in (("cat --index ", {"auto", "no", "sub/"}), ("cat --index=", {"--index=auto", "--index=no", "--index=sub/"}),
                               ("cat --max-chunk ", set()), ("log.riegeli sub -o um", {"umask="}), ("-o nest,um", {"nest,umask="}),
                               ("mount -o um", {"umask="}), ("export -o lo", {"log.riegeli"}), ("umount ", {"sub/"}), ("mounts ", set()),
                               ("cat log.riegeli tw", {"two words.riegeli"})):
            self.assertEqual(set(self.complete(f"recordfs {line}")), expected, line)


if __name__ == "__main__":
    support.main()
