#!/usr/bin/env python3
"""Runs the README's first example against the built program, on a real mount, and compares every line.

    replay.py --root CHECKOUT --bin FOLDER     FOLDER holds the recordfs program

The example is the first ```console block of README.md. It may use the checkout's tests/ and nothing else of it. Exit status:
0 every output is as printed, 1 one is not, 77 nothing can be mounted here.
"""
import argparse
import contextlib
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
SECONDS_FOR_A_COMMAND = 60


def example(readme):
    """The lines of the first console block."""
    block = re.search(r"^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if block is None:
        sys.exit("README.md has no console block")
    return block.group(1).splitlines()


def steps(lines):
    """(command, [lines of its output]) of each `$ ` line."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            sys.exit(f"the example does not begin with a command: {line}")
    return found


def run(command, folder, program_folder):
    environment = dict(os.environ, PATH=f"{program_folder}:{os.environ['PATH']}", LC_ALL="C")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_FOR_A_COMMAND, check=False)
    return done.returncode, done.stdout.decode("utf-8", "backslashreplace").splitlines()


def replay(todo, folder, program_folder):
    """The number of commands whose status or output is another than the README's."""
    wrong = 0
    for command, expected in todo:
        status, output = run(command, folder, program_folder)
        if status == 0 and output == expected:
            continue
        wrong += 1
        print(f"$ {command}\nends with status {status}; the README says -, the program says +")
        print("\n".join(difflib.unified_diff(expected, output, lineterm="", n=1)))
    return wrong


def unmount_all(folder):
    """Whatever a failed example left mounted below `folder`."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in reversed(points):
        if point.startswith(f"{folder}/"):
            subprocess.run(["fusermount3", "-u", "-z", point], check=False)


def why_not():
    """Why nothing can be mounted here; empty when it can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is not there or not ours"
    if subprocess.run(["fusermount3", "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        return "there is no fusermount3"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    options = parser.parse_args()

    if reason := why_not():
        print(f"SKIPPED: the README's example was not replayed: {reason}")
        return SKIPPED
    root = options.root.resolve()
    todo = steps(example((root / "README.md").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_end:
        at_end.callback(unmount_all, os.path.realpath(folder))
        os.symlink(root / "tests", os.path.join(folder, "tests"))
        wrong = replay(todo, folder, options.bin.resolve())
    print(f"{len(todo) - wrong} of {len(todo)} commands do what the README says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
