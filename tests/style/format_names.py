#!/usr/bin/env python3
"""Prints each format that core/store or fusefs/ names in its code, and fails on one: format_names.py ROOT

Shared code serves every format through the contract, so it depends on none by name. Comments may name formats.
"""
import collections
import re
import sys

import sources

SHARED = ("core/store", "fusefs")

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments(cxx):
    """Returns C++ code without comments, with the same line numbers."""
    return _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), cxx)


def format_names(root):
    """Returns the names of the formats' folders. Where two names begin with the same word, as leveldb, that word is one too."""
    folders = {header.parent.name for header in root.glob("core/formats/*/format.h")}
    first_words = collections.Counter(name.split("_")[0] for name in folders)
    return folders | {word for word, count in first_words.items() if count > 1}


def errors(root):
    names = format_names(root)
    for path in sources.files(root, *SHARED, suffixes=sources.CXX):
        for number, line in enumerate(without_comments(sources.text(root, path)).splitlines(), 1):
            found = {name for name in names if name in line.lower()}
            if found:
                yield f"{path}:{number}: names a format: {', '.join(sorted(found))}"


if __name__ == "__main__":
    sys.exit(sources.report(errors, "shared code names no format"))
