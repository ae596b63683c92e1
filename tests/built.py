"""Shared by the tests of commands and of mounts: the built programs, the samples, and waiting.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER: the build folder
"""
import argparse
import base64
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import time
import unittest
from pathlib import Path

PATIENCE = float(os.environ.get("RECORDFS_TEST_PATIENCE", "60"))  # seconds until an event counts as missing
EXPECTATION = ".expect.json"
# Output of sanitizers and of the standard library's assertions.
COMPLAINT = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:|Assertion .* failed")


class place:
    """The folders of programs and samples; set by main()."""

    programs = Path()
    checkout = Path()


STORAGE = os.environ.get("RECORDFS_TEST_STORAGE", "")  # "slow": recordfs reads sources through the storage of tests/storage


def program(name):
    return str(place.programs / (STORAGE if name == "recordfs" else "") / name)


def stored(path):
    """Returns how a command line names a local file that is a source."""
    return f"{STORAGE}:{path}" if STORAGE else path


def is_source(word):
    """Returns whether an argument of a command is the path of an existing file. Strings are options and patterns."""
    return isinstance(word, Path) and word.is_file()


def corpus():
    """Returns tests/corpus, or the folder in RECORDFS_CORPUS."""
    return Path(os.environ.get("RECORDFS_CORPUS", place.checkout / "tests" / "corpus"))


def sample(name):
    """Returns the path of a sample in tests/corpus."""
    return place.checkout / "tests" / "corpus" / name


def expectation(name):
    """Returns the expected properties of a sample."""
    return json.loads(Path(f"{sample(name)}{EXPECTATION}").read_text(encoding="utf-8"))


def some_of(items, one_in):
    """Returns all items, or one in `one_in` with RECORDFS_THOROUGH=0."""
    return items[::one_in] if os.environ.get("RECORDFS_THOROUGH") == "0" else items


def is_thorough():
    """Returns whether RECORDFS_THOROUGH is 2 or more."""
    return float(os.environ.get("RECORDFS_THOROUGH") or 1) >= 2


def share_of(items, number, shares):
    """Returns all items if tests are thorough, otherwise share `number` of as many shares."""
    return list(items) if is_thorough() else list(items)[number::shares]


def shard_counts():
    """Returns of how many shards a data set of each format is tested; if tests are thorough, also many."""
    return (1, 7, 1024) if is_thorough() else (1, 7)


def stream_digest(records):
    """Returns the `stream_sha256` of an expectation: SHA-256 over each record's length (8 bytes, little-endian) and bytes."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(len(record).to_bytes(8, "little"))
        digest.update(record)
    return digest.hexdigest()


def delimited(data):
    """Returns the records that `cat --delimited` wrote."""
    records, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        records.append(data[at:at + size])
        at += size
    return records


def bytes_of(line):
    """Returns the record of a line of `cat --json`."""
    return line["text"].encode() if "text" in line else base64.b64decode(line["base64"], validate=True)


def copy_of(name, folder, to=None):
    """Copies a sample of tests/corpus into a folder. Returns the copy's path."""
    target = folder / (to or Path(name).name)
    shutil.copyfile(sample(name), target)
    return target


def with_bit_flipped(path, position):
    """Flips a bit of a file. Returns its path."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))
    return path


_IN_OPEN = 0x20


@contextlib.contextmanager
def opened_in(folder):
    """Yields a list. At the end of the block it has the names of the files of a folder that were opened meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(folder), _IN_OPEN) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    names = []
    try:
        yield names
        with contextlib.suppress(BlockingIOError):
            while True:
                names += _names_of(os.read(watch, 1 << 16))
    finally:
        os.close(watch)


def _names_of(events):
    """Returns the names in the structures of inotify(7): four numbers of 32 bits, the last is the size of the name."""
    names = []
    while events:
        end = 16 + int.from_bytes(events[12:16], sys.byteorder)
        name = events[16:end].rstrip(b"\0")
        names += [os.fsdecode(name)] if name else []  # empty: the folder itself
        events = events[end:]
    return names


def wait_for(condition, what, seconds=None):
    """Returns the first true value of condition(). Fails with `what` after `seconds`."""
    end = time.monotonic() + (seconds or PATIENCE)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timeout while waiting for {what}")
        time.sleep(0.01)


def read_terminal(descriptor):
    """Returns everything that is written to a terminal, until the last program has closed its other side.

    One read may return less, even after the end of the program.
    """
    shown = b""
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError as failed:
            if failed.errno != errno.EIO:  # Linux: the other side is closed
                raise
            return shown
        if not piece:
            return shown
        shown += piece


def parse_places():
    """Sets `place` from the command line. Returns the other arguments."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    options, rest = parser.parse_known_args()
    place.programs, place.checkout = options.bin.resolve(), options.root.resolve()
    return rest


class Loader(unittest.TestLoader):
    """Leaves out the tests that the file in RECORDFS_LEAVE_OUT names: lines of "CLASS.TEST | REASON"."""

    def getTestCaseNames(self, testCaseClass):
        path = os.environ.get("RECORDFS_LEAVE_OUT")
        left_out = {line.split(" | ")[0] for line in Path(path).read_text(encoding="utf-8").splitlines()} if path else ()
        names = super().getTestCaseNames(testCaseClass)
        return [name for name in names if f"{testCaseClass.__name__}.{name}" not in left_out]


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *parse_places()], testLoader=Loader(), verbosity=2)
