#!/usr/bin/env python3
"""The man pages agree with --help, and formatters accept them without warnings."""
import re
import unittest

import support

SHARED = "Options of every command that reads"


def page(name):
    return support.place.build / "fusefs" / "install" / name


class Page:
    """An mdoc page: {(section, subsection): arguments of its list items}."""

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
        return {"-" + word for word in self._after("Fl", section, subsection)}

    def names(self, section):
        return set(self._after("Cm", section, ""))

    def _after(self, macro, section, subsection):
        for words in self._items.get((section, subsection), []):
            yield from (words[i + 1] for i, word in enumerate(words[:-1]) if word == macro)


class SameAsHelp(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.page = Page("recordfs.1")

    def commands(self):
        return self.page.subsections("COMMANDS") - {SHARED}

    def test_page_describes_exactly_the_commands(self):
        self.assertEqual(self.commands(), support.commands(support.help_of()))

    def test_page_describes_exactly_the_options_of_each_command(self):
        shared = self.page.options("COMMANDS", SHARED)
        self.assertTrue(shared)
        for command in sorted(self.commands() - {"mount"}):
            with self.subTest(command):
                described = support.options(support.help_of(command), but="--help")
                self.assertEqual(self.page.options("COMMANDS", command), described - shared)

    def test_shared_options_belong_to_several_commands(self):
        described = [support.options(support.help_of(command)) for command in self.commands() - {"mount"}]
        for option in self.page.options("COMMANDS", SHARED):
            self.assertGreater(sum(option in options for options in described), 1, option)

    def test_page_describes_exactly_the_options_of_mount(self):
        for words in ([], ["mount"]):
            self.assertEqual(self.page.options("COMMANDS", "mount"), support.options(support.help_of(*words)), words)

    def test_pages_describe_exactly_the_mount_options(self):
        for name, words, started_as in (("recordfs.1", [], "recordfs"), ("recordfs.1", ["mount"], "recordfs"),
                                        ("mount.recordfs.8", [], "mount.recordfs")):
            with self.subTest(name, words=words):
                self.assertEqual(Page(name).names("MOUNT OPTIONS"),
                                 support.mount_options(support.help_of(*words, name=started_as)))

    def test_page_of_mount_recordfs_describes_exactly_its_options(self):
        self.assertEqual(Page("mount.recordfs.8").options("OPTIONS"),
                         support.options(support.help_of(name="mount.recordfs"), but="--help"))


class Formatted(unittest.TestCase):
    PAGES = ("recordfs.1", "mount.recordfs.8")

    @support.needs("mandoc")
    def test_mandoc_has_no_warnings(self):
        for name in self.PAGES:
            done = support.run("mandoc", "-T", "lint", "-W", "warning", page(name))
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    @support.needs("man")
    def test_man_has_no_warnings(self):
        for name in self.PAGES:
            done = support.run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page(name))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIsNone(re.search("warning", done.stdout), done.stdout[:1000])

    def test_no_placeholder_is_left(self):
        for name in self.PAGES:
            self.assertIsNone(re.search(r"@[A-Z_]+@", page(name).read_text(encoding="utf-8")), name)


if __name__ == "__main__":
    support.main()
