"""Shared by the tests of installed files: paths, and parsing of --help.

    x_test.py --build FOLDER --root CHECKOUT [unittest's options]     FOLDER: a complete build
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ENGINES = Path(__file__).resolve().parents[2] / "fusefs" / "install" / "engines"
PATIENCE = 60  # seconds until a command counts as stuck


class place:
    """The build and the checkout; set by main()."""

    build = Path()
    checkout = Path()


def installed(name):
    """Returns the source of an installed file."""
    return place.checkout / "fusefs" / "install" / name


def generated(name):
    """Returns an installed file that the build makes."""
    return place.build / "fusefs" / "install" / name


def sample(name):
    return place.checkout / "tests" / "corpus" / name


def run(*command, **options):
    """Runs a command to its end. Output and errors are one text. Does not raise on a nonzero status."""
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False, **options)


def needs(tool):
    return unittest.skipIf(shutil.which(tool) is None, f"{tool} is not installed")


def help_of(*words, name="recordfs"):
    """Returns the lines of --help of the program, started under the name `name`."""
    done = subprocess.run([name, *words, "--help"], executable=place.build / "recordfs", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True)
    return done.stdout.splitlines()


def sections(lines):
    """Yields (heading in lower case, line) of each indented line. A heading starts with a capital letter."""
    heading = ""
    for line in lines:
        if re.match(r"[A-Z].*:$", line):
            heading = line.lower()
        elif line.startswith("  "):
            yield heading, line


def entries(lines, prefix):
    """Returns the first line of each entry (indented by two) in the sections whose heading starts with `prefix`."""
    return [line.strip() for heading, line in sections(lines)
            if heading.startswith(prefix) and re.match(r"  \S", line)]


def commands(lines):
    return {line.split()[0] for line in entries(lines, "commands")}


def options(lines, but=None):
    """Returns every spelling of every option that starts an entry, except the one also spelled `but`."""
    found = set()
    for line in entries(lines, ""):
        spellings = set()
        while match := re.match(r"(--?[A-Za-z0-9][\w-]*)(,\s*)?", line):
            spellings.add(match.group(1))
            line = line[match.end():] if match.group(2) else ""
        if but not in spellings:
            found |= spellings
    return found


def mount_options(lines):
    """Returns the names in the list of -o options."""
    found = set()
    for line in entries(lines, "mount options"):
        words = re.split(r"\s{2,}", line)[0].split(", ")
        found |= {match.group(1) for word in words if (match := re.match(r"([a-z_]+)(=|\s|$)", word))}
    return found


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    given, rest = parser.parse_known_args()
    place.build, place.checkout = given.build.resolve(), given.root.resolve()
    os.environ["LC_ALL"] = "C.UTF-8"
    unittest.main(module="__main__", argv=[sys.argv[0], *rest], verbosity=2)
