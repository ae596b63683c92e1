#!/usr/bin/env python3
"""Prints broken links in Markdown pages, a README that is too long, and a list that lacks a format: pages.py ROOT fails on each."""
import re
import sys
import unicodedata

import sources

MAX_PROJECT_README_LINES = 150
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(markdown):
    """The fragments by which GitHub links to the headings of a page."""
    def kept(char):
        return char in "-_ " or unicodedata.category(char)[0] in "LN"
    return {"".join(filter(kept, heading.lower())).replace(" ", "-") for heading in _HEADING.findall(markdown)}


def broken_links(root):
    for path in sources.files(root, "README.md", "core", "fusefs", "tests", suffixes={".md"}):
        text = sources.text(root, path)
        for target in _LINK.findall(_CODE.sub("", text)):
            if "://" in target:
                continue
            name, _, fragment = target.partition("#")
            page = root / path.parent / name if name else root / path
            if not page.exists():
                yield f"{path}: no such file: {target}"
            elif fragment and fragment not in anchors(page.read_text(encoding="utf-8")):
                yield f"{path}: no such heading: {target}"


def readme_length(root):
    lines = len(sources.text(root, "README.md").splitlines())
    if lines > MAX_PROJECT_README_LINES:
        yield f"README.md: {lines} lines, more than {MAX_PROJECT_README_LINES}"


def lists_without_a_format(root):
    for header in sorted(root.glob("core/formats/*/format.h")):
        name = header.parent.name
        for path, wanted in (("README.md", f"core/formats/{name}/FORMAT.md"), ("tests/GUARANTEES.md", name.split("_")[0]),
                             ("fusefs/install/types/magic", name.replace("_", "-"))):
            text = sources.text(root, path) if (root / path).exists() else ""
            if wanted.lower() not in text.lower():
                yield f"{path}: does not have the format {name} ({wanted})"


def errors(root):
    yield from readme_length(root)
    yield from broken_links(root)
    yield from lists_without_a_format(root)


if __name__ == "__main__":
    sys.exit(sources.report(errors, "the README is short, every link leads to a page, and lists have all formats"))
