"""Shared by the style tests: the files of a checkout, and C++ code without comments and literals."""
import re
import sys
from pathlib import Path

CXX = {".cc", ".h"}
SOURCES = CXX | {".py", ".sh", ".cmake"}
NOT_OURS = {"__pycache__", "corpus"}

_COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)"
      | "(?:[^"\\\n]|\\.)*"
      | (?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def files(root, *folders, suffixes=SOURCES):
    """Returns the sorted paths of files in `folders`, relative to `root`. A folder may also be a single file."""
    found = []
    for folder in folders:
        place = root / folder
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and path.suffix in suffixes and not NOT_OURS & set(relative.parts):
                found.append(relative)
    return found


def text(root, path):
    return (root / path).read_text(encoding="utf-8")


def _blank(match):
    """Returns white space that keeps the line numbers."""
    return "\n" * match.group().count("\n") + " "


def code(cxx):
    """Returns C++ code without comments, string literals and character literals."""
    return _COMMENT_OR_LITERAL.sub(_blank, cxx)


def includes(cxx):
    """Returns (line, is_system, path) of each include."""
    bare = _COMMENT.sub(_blank, cxx)
    return [(bare.count("\n", 0, m.start(1)) + 1, m.group(1) == "<", m.group(2)) for m in _INCLUDE.finditer(bare)]


def report(errors, all_good):
    """The main function of a check: prints the errors in the checkout that the command line names. Returns the exit status."""
    found = list(errors(Path(sys.argv[1])))
    print("\n".join(found) or all_good)
    return 1 if found else 0
