#!/usr/bin/env python3
"""The man pages describe everything that --help lists, and formatters accept them without warnings."""
import re
import unittest

import support


SHARED = "Options of every command that reads"


def sections(name):
    """Returns {title: text} of the sections and subsections of a page."""
    parts = re.split(r"(?m)^\.S[hs] (.*)\n", support.generated(name).read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2]))


def items(text, macro):
    """Returns the names in a list: what follows `macro`."""
    return {name for line in re.findall(r"(?m)^\.It .*", text) for name in re.findall(rf" {macro} (\S+)", line)}


def options(text):
    return {"-" + name for name in items(text, "Fl")}


class SameAsHelp(unittest.TestCase):
    def test_page_describes_every_command_and_its_options(self):
        page = sections("recordfs.1")
        self.assertEqual(options(page["mount"]), support.options(support.help_of()))
        commands = support.commands(support.help_of())
        self.assertLessEqual(commands, page.keys())
        for command in commands - {"mount", "help", "version"}:
            shared = options(page[SHARED]) if command not in ("mounts", "umount") else set()
            self.assertEqual(options(page[command]) | shared, support.options(support.help_of(command), but="--help"), command)

    def test_pages_describe_every_option_of_a_mount(self):
        for name, started_as in (("recordfs.1", "recordfs"), ("mount.recordfs.8", "mount.recordfs")):
            self.assertEqual(items(sections(name)["MOUNT OPTIONS"], "Cm"),
                             support.mount_options(support.help_of(name=started_as)), name)
        self.assertEqual(options(sections("mount.recordfs.8")["OPTIONS"]),
                         support.options(support.help_of(name="mount.recordfs")))


class Formatted(unittest.TestCase):
    PAGES = ("recordfs.1", "mount.recordfs.8")

    @support.needs("mandoc")
    def test_mandoc_has_no_warnings(self):
        for name in self.PAGES:
            done = support.run("mandoc", "-T", "lint", "-W", "warning", support.generated(name))
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    @support.needs("man")
    def test_man_has_no_warnings(self):
        for name in self.PAGES:
            done = support.run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", support.generated(name))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIsNone(re.search("warning", done.stdout), done.stdout[:1000])

    @support.needs("mandoc")
    def test_quotes_are_shown(self):
        shown = " ".join(support.run("mandoc", "-T", "utf8", support.generated("recordfs.1")).stdout.split())
        shown = re.sub(".\b", "", shown)  # overstrikes, which are bold
        for text in ("""'"a,b",c'""", """'tag ~ "^loss"'"""):
            self.assertIn(text, shown)

    def test_no_placeholder_is_left(self):
        for name in self.PAGES:
            self.assertIsNone(re.search(r"@[A-Z_]+@", support.generated(name).read_text(encoding="utf-8")), name)


if __name__ == "__main__":
    support.main()
