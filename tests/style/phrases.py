#!/usr/bin/env python3
"""Prints phrases that this project writes differently, in comments and prose, and fails on one: phrases.py ROOT

It reads comments of C++, Python, shell and CMake, docstrings, names of Python tests, and Markdown. Code, string literals,
`quoted names`, "quoted text" and calls() are not prose.
"""
import io
import re
import sys
import tokenize

import sources

FOLDERS = ("README.md", "core", "fusefs", "scripts", "tests")

# (pattern, what to write)
PHRASES = [
    (r"who(ever|m)?", "name the actor: a reader, the caller, a thread"),
    (r"nobody('s)?|somebody('s)?", "name the actor, or say unowned or invalid"),
    (r"(is|are|be|been|was|were) told( of)?", "is reported, is returned, is notified"),
    (r"(has|have|with|without|no|there is) (a )?word( of)?", "reports, logs"),
    (r"(stand|stands|stood|standing) (at|in|on|by|behind|before|there|where|beside|alone)", "is at, is stored in, follows, is present"),
    (r"behind", "after, following"),
    (r"(know|knows) (no|nothing)|must not know", "does not depend on"),
    (r"(be|is|are|was) had|not to be had", "is available"),
    (r"mend(s|ed|ing)?", "fix, recompute"),
    (r"got in", "were inserted"),
    (r"one behind the other|one after the other", "consecutively, one at a time"),
    (r"for ever|a moment", "indefinitely; briefly, and say how long"),
    (r"that is none|that are none", "invalid"),
    (r"learnt", "learned, cached"),
    (r"walked through", "scanned"),
]
_PHRASES = [(re.compile(rf"\b({pattern})\b", re.IGNORECASE), advice) for pattern, advice in PHRASES]
_DOCSTRING_QUOTES = re.compile(r'^r?"""|"""$')
_CXX_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/', re.DOTALL)
_HASH_COMMENT = re.compile(r'''"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?<![^\s;()])#(?P<line>[^\n]*)''')
_CODE_BLOCK = re.compile(r"^```.*?^```|^    .*?$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r'`[^`\n]*`|"[^"\n]*"|\b\w+\(\)|\b[A-Z]{2,}\b')


def _keep_lines(match):
    return "\n" * match.group().count("\n")


def cxx_prose(text):
    """Yields (line, prose) of each comment."""
    for match in _CXX_COMMENT.finditer(text):
        for group in ("line", "block"):
            if match.group(group):
                yield text.count("\n", 0, match.start()) + 1, match.group(group)


def python_prose(text):
    """Yields (line, prose) of each comment and docstring, and of the name of each test."""
    starts_statement = True
    previous = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING and starts_statement:
            yield token.start[0], _DOCSTRING_QUOTES.sub("", token.string)
        elif previous == "def" and token.string.startswith("test_"):
            yield token.start[0], token.string.replace("_", " ")
        previous = token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            starts_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def hash_prose(text):
    """Yields (line, prose) of each comment of a shell script or of CMake."""
    for match in _HASH_COMMENT.finditer(text):
        if match.group("line"):
            yield text.count("\n", 0, match.start()) + 1, match.group("line")


def markdown_prose(text):
    """Yields the text without code blocks."""
    yield 1, _CODE_BLOCK.sub(_keep_lines, text)


READERS = {".cc": cxx_prose, ".h": cxx_prose, ".py": python_prose, ".md": markdown_prose, ".cmake": hash_prose}


def reader_of(file):
    """Returns the function that yields the prose of a file, or None. A file without a suffix is a script if it has #!."""
    if file.suffix:
        return hash_prose if file.name == "CMakeLists.txt" else READERS.get(file.suffix)
    with file.open("rb") as opened:
        first = opened.readline()
    if not first.startswith(b"#!"):
        return None
    return python_prose if b"python" in first else hash_prose


def errors(root, folders=FOLDERS):
    for path in sources.files(root, *folders, suffixes={*READERS, ".txt", ""}):
        reader = reader_of(root / path)
        if reader is None:
            continue
        for first, prose in reader(sources.text(root, path)):
            bare = _NAME.sub("", prose)
            for pattern, advice in _PHRASES:
                for match in pattern.finditer(bare):
                    line = first + bare.count("\n", 0, match.start())
                    yield f"{path}:{line}: '{match.group()}': {advice}"


if __name__ == "__main__":
    sys.exit(sources.report(errors, "no phrase is one that this project writes differently"))
