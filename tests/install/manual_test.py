#!/usr/bin/env python3
"""The pages of the manual say what --help says, and nothing in them makes a formatter complain."""
import re
import unittest

import asking

SHARED = "Options of every command that reads"


def page(name):
    return asking.place.build / "fusefs" / "install" / name


class Page:
    """An mdoc page by its headings: (section, subsection) -> the arguments of its list items."""

    def __init__(self, name):
        self._items = {}
        heading = ("", "")
        for line in page(name).read_text(encoding="utf-8").splitlines():
            macro, _, rest = line.partition(" ")
            if macro == ".Sh":
                heading = (rest, "")
            elif macro == ".Ss":
                heading = (heading[0], rest)
            elif macro == ".It":
                self._items.setdefault(heading, []).append(rest.split())
            self._items.setdefault(heading, [])

    def subsections(self, section):
        return {inner for outer, inner in self._items if outer == section and inner}

    def options(self, section, subsection=""):
        return {"-" + word for word in self._behind("Fl", section, subsection)}

    def names(self, section):
        return set(self._behind("Cm", section, ""))

    def _behind(self, macro, section, subsection):
        for words in self._items.get((section, subsection), []):
            yield from (words[i + 1] for i, word in enumerate(words[:-1]) if word == macro)


class SameAsHelp(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.page = Page("recordfs.1")

    def commands(self):
        return self.page.subsections("COMMANDS") - {SHARED}

    def test_the_page_has_every_command_and_no_other(self):
        self.assertEqual(self.commands(), asking.commands(asking.help_of()))

    def test_the_page_has_every_option_of_a_command_and_no_other(self):
        shared = self.page.options("COMMANDS", SHARED)
        self.assertTrue(shared)
        for command in sorted(self.commands() - {"mount"}):
            with self.subTest(command):
                told = asking.options(asking.help_of(command), but="--help")
                self.assertEqual(self.page.options("COMMANDS", command), told - shared)

    def test_options_that_commands_share_are_shared(self):
        told = [asking.options(asking.help_of(command)) for command in self.commands() - {"mount"}]
        for option in self.page.options("COMMANDS", SHARED):
            self.assertGreater(sum(option in options for options in told), 1, option)

    def test_the_page_has_every_option_of_a_mount_and_no_other(self):
        for words in ([], ["mount"]):
            self.assertEqual(self.page.options("COMMANDS", "mount"), asking.options(asking.help_of(*words)), words)

    def test_the_pages_have_every_mount_option_and_no_other(self):
        for name, words, started_as in (("recordfs.1", [], "recordfs"), ("recordfs.1", ["mount"], "recordfs"),
                                        ("mount.recordfs.8", [], "mount.recordfs")):
            with self.subTest(name, words=words):
                self.assertEqual(Page(name).names("MOUNT OPTIONS"),
                                 asking.mount_options(asking.help_of(*words, name=started_as)))

    def test_the_page_of_the_mount_program_has_its_options_and_no_others(self):
        self.assertEqual(Page("mount.recordfs.8").options("OPTIONS"),
                         asking.options(asking.help_of(name="mount.recordfs"), but="--help"))


class Formatted(unittest.TestCase):
    PAGES = ("recordfs.1", "mount.recordfs.8")

    @asking.needs("mandoc")
    def test_mandoc_has_nothing_to_say(self):
        for name in self.PAGES:
            done = asking.run("mandoc", "-T", "lint", "-W", "warning", page(name))
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    @asking.needs("man")
    def test_man_has_no_warnings(self):
        for name in self.PAGES:
            done = asking.run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page(name))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIsNone(re.search("warning", done.stdout), done.stdout[:1000])

    def test_nothing_is_left_to_be_filled_in(self):
        for name in self.PAGES:
            self.assertIsNone(re.search(r"@[A-Z_]+@", page(name).read_text(encoding="utf-8")), name)


if __name__ == "__main__":
    asking.main()
