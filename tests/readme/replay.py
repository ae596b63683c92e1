#!/usr/bin/env python3
"""Runs the README's first example with the built program and compares every line of output.

    replay.py --root CHECKOUT --bin FOLDER     FOLDER holds the recordfs program

The example is the first ```console block of README.md. It may use the checkout's tests/ and no other files, and may mount.
If mounting is impossible here, the commands before the first mount still run. Exit status: 0 all output is as printed, 1
some is not, 77 no difference, but some commands could not run here.
"""
import argparse
import contextlib
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
SECONDS_FOR_A_COMMAND = 60
# Tools that an example may use; recordfs does not depend on them.
FOREIGN = ("jq",)


def example(readme):
    """Returns the lines of the first console block."""
    block = re.search(r"^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if block is None:
        sys.exit("README.md has no console block")
    return block.group(1).splitlines()


def steps(lines):
    """Returns (command, [lines of its output]) of each `$ ` line."""
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
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    # The README shows a machine with a system log; this machine may have none.
    return done.returncode, [line for line in lines if not line.startswith("recordfs: warning: no system log ")]


def replay(todo, folder, program_folder):
    """Returns the number of commands whose status or output differs from the README."""
    wrong = 0
    for command, expected in todo:
        status, output = run(command, folder, program_folder)
        if status == 0 and output == expected:
            continue
        wrong += 1
        print(f"$ {command}\nexited with status {status}; - is the README, + the program's output")
        print("\n".join(difflib.unified_diff(expected, output, lineterm="", n=1)))
    return wrong


def unmount_all(folder):
    """Unmounts what a failed example has left mounted below `folder`."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in reversed(points):
        if point.startswith(f"{folder}/"):
            subprocess.run(["fusermount3", "-u", "-z", point], check=False)


def mounted_from(todo):
    """Returns the number of the first step that mounts, or that names a mount point of a later unmount."""
    points = {match.group(1) for command, _ in todo if (match := re.search(r"fusermount3 -u (\S+)", command))}
    for number, (command, _) in enumerate(todo):
        words = set(re.split(r"[\s/;&|]+", command))
        if command.startswith("recordfs mount ") or points & words:
            return number
    return len(todo)


def without_missing_tools(todo):
    """Returns the steps whose tools are installed. Prints the missing tools."""
    kept = []
    for command, expected in todo:
        used = [tool for tool in FOREIGN if re.search(rf"(^|[|;&]\s*){tool}\b", command)]
        missing = [tool for tool in used if shutil.which(tool) is None]
        if missing:
            print(f"SKIPPED: {missing[0]} is not installed: $ {command}")
        else:
            kept.append((command, expected))
    return kept


def runnable(todo):
    """Returns the steps that can run here. Prints why the others cannot."""
    reason = why_not()
    first = mounted_from(todo)
    if reason and first < len(todo):
        print(f"SKIPPED: {reason}: $ {todo[first][0]} and what follows")
        todo = todo[:first]
    return without_missing_tools(todo)


def why_not():
    """Returns why nothing can be mounted here; empty if mounting works."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "cannot open /dev/fuse"
    if subprocess.run(["fusermount3", "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        return "fusermount3 is not installed"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    options = parser.parse_args()

    root = options.root.resolve()
    whole = steps(example((root / "README.md").read_text(encoding="utf-8")))
    todo = runnable(whole)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_end:
        at_end.callback(unmount_all, os.path.realpath(folder))
        os.symlink(root / "tests", os.path.join(folder, "tests"))
        wrong = replay(todo, folder, options.bin.resolve())
    print(f"{len(todo) - wrong} of {len(todo)} commands print what the README shows")
    if wrong:
        return 1
    return 0 if len(todo) == len(whole) else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
