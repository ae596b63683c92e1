"""What the tests of commands and of mounts share: the programs that were built, the samples, and patience.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER holds the programs that were built
"""
import argparse
import json
import os
import re
import shutil
import sys
import time
import unittest
from pathlib import Path

PATIENCE = float(os.environ.get("RECORDFS_TEST_PATIENCE", "60"))  # seconds until something counts as stuck
EXPECTATION = ".expect.json"
# What a sanitizer or an assertion of the standard library says.
COMPLAINT = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:|Assertion .* failed")


class place:
    """Where the programs and the samples are; set by main()."""

    programs = Path()
    checkout = Path()


def program(name):
    return str(place.programs / name)


def corpus():
    """tests/corpus, or what RECORDFS_CORPUS names."""
    return Path(os.environ.get("RECORDFS_CORPUS", place.checkout / "tests" / "corpus"))


def sample(name):
    """A file below tests/corpus."""
    return place.checkout / "tests" / "corpus" / name


def expectation(name):
    """What is known of a sample."""
    return json.loads(Path(f"{sample(name)}{EXPECTATION}").read_text(encoding="utf-8"))


def some_of(items, one_in):
    """All of a sequence, or one in so many with RECORDFS_THOROUGH=0."""
    return items[::one_in] if os.environ.get("RECORDFS_THOROUGH") == "0" else items


def copy_of(name, folder, to=None):
    """A sample of tests/corpus in a folder, to be changed at will."""
    target = folder / (to or Path(name).name)
    shutil.copyfile(sample(name), target)
    return target


def with_bit_flipped(path, position):
    """The same file, damaged."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))
    return path


def wait_for(condition, what, seconds=None):
    """The first true value of condition(). Fails when there is none in time."""
    end = time.monotonic() + (seconds or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    options, rest = parser.parse_known_args()
    place.programs, place.checkout = options.bin.resolve(), options.root.resolve()
    unittest.main(module="__main__", argv=[sys.argv[0], *rest], verbosity=2)
