#!/usr/bin/env python3
"""Every test that tests/GUARANTEES.md names exists: guarantees.py --root CHECKOUT --build FOLDER

Names may have wildcards. The page may also name these options and fields, which look like tests.
"""
import argparse
import fnmatch
import json
import re
import subprocess
import sys
from pathlib import Path

NO_TESTS = {"allow_other", "user_allow_other", "st_size"}
_NAME = re.compile(r"`([a-z0-9]+(?:_[a-z0-9*]+)+)`")
_SCRIPT = re.compile(r"`(scripts/[a-z_]+)[^`]*`")
_PATTERN = re.compile(r"`ctest [^`]*-R ([^` ]+)")


def existing_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]]


def missing(page, tests, root):
    patterns = [name for name in _PATTERN.findall(page) if name != "NAME"]
    for name in sorted({*_NAME.findall(page), *patterns} - NO_TESTS):
        if not fnmatch.filter(tests, name):
            yield f"{name}: no such test"
    for script in sorted(set(_SCRIPT.findall(page))):
        if not (root / script).is_file():
            yield f"{script}: no such script"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    options = parser.parse_args()

    page = (options.root / "tests/GUARANTEES.md").read_text(encoding="utf-8")
    if len(_NAME.findall(page)) < 40:
        sys.exit("GUARANTEES.md names too few tests: is it still written as this test expects?")
    found = list(missing(page, existing_tests(options.build), options.root))
    print("\n".join(found) or "every test that GUARANTEES.md names exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
