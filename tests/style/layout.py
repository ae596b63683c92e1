#!/usr/bin/env python3
"""Checks the place and length of files: layout.py ROOT prints each violation, and fails on one."""
import sys
from pathlib import Path

import sources

TOP = {"core", "fusefs", "tests", "scripts", "CMakeLists.txt", "README.md", "LICENSE"}
MAX_SOURCE_LINES = 600
MAX_README_LINES = 60
MANUALS = {Path("core/python"): 150}  # READMEs that users read first, and how long they may be


def top_level(root):
    for entry in sorted(root.iterdir()):
        ours = entry.name in TOP or entry.name.startswith(".") or entry.name.startswith("build")
        if not ours:
            yield f"{entry.name}: does not belong at the top level"


def readme_folder(path):
    """Returns the folder whose README describes a source: its own, or in tests/ that of the kind of test."""
    return Path(*path.parts[:2]) if path.parts[0] == "tests" and len(path.parts) > 2 else path.parent


def is_format(folder):
    return folder.parent == Path("core/formats")


def readmes(root):
    folders = {readme_folder(path) for path in sources.files(root, "core", "fusefs", "tests")}
    for folder in sorted(folder for folder in folders if not is_format(folder)):
        readme = root / folder / "README.md"
        if not readme.is_file():
            yield f"{folder}: has no README.md"
        elif len(readme.read_text(encoding="utf-8").splitlines()) > (most := MANUALS.get(folder, MAX_README_LINES)):
            yield f"{folder}/README.md: longer than {most} lines"


def formats(root):
    """A format's folder has a FORMAT.md of any length."""
    for folder in sorted({Path(*path.parts[:3]) for path in sources.files(root, "core/formats") if len(path.parts) > 3}):
        if not (root / folder / "FORMAT.md").is_file():
            yield f"{folder}: has no FORMAT.md"


def lengths(root):
    for path in sources.files(root, "core", "fusefs", "tests", "scripts"):
        lines = sources.text(root, path).count("\n")
        if lines > MAX_SOURCE_LINES:
            yield f"{path}: {lines} lines, more than {MAX_SOURCE_LINES}"


def errors(root):
    for check in (top_level, readmes, formats, lengths):
        yield from check(root)


if __name__ == "__main__":
    sys.exit(sources.report(errors, "every file is in its place"))
