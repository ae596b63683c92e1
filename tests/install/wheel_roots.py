#!/usr/bin/env python3
"""Tests wheels in bare systems with Python and no development packages: pip installs them in a virtual environment.

    wheel_roots.py --wheels FILE... --keep FOLDER --checkout FOLDER --pythons PYTHON...

Each PYTHON is what the wheel at the same place was built for: a release of Debian, which debootstrap makes, or the path of an
interpreter, which is mounted in a system of this release. Exit status: 0 success, 1 failure, 77 none of the tests can run here.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import bare_system
import clean_root
import tfrecords
from clean_root import HOME, PRINT_42, USER, check

ENVIRONMENT = f"{HOME}/environment"
PYTHON = f"{ENVIRONMENT}/bin/python3"
# A file t.proto with the type M, whose field n has the number 1 and the type int32.
DESCRIPTORS = b"\n\x19\n\x07t.proto\"\x0e\n\x01M\x12\x09\n\x01n\x18\x01 \x01(\x05"
MESSAGE = b"\x08\x2a"  # n: 42


def lend_interpreter(root, python):
    """Mounts an interpreter of this system at its place."""
    prefix = Path(bare_system.output(python, "-c", "import sys; print(sys.base_prefix)").strip())
    inside = root.folder / str(prefix)[1:]
    inside.mkdir(parents=True)
    for folder in [inside, *inside.parents][:len(prefix.parents)]:
        folder.chmod(0o755)
    subprocess.run(["mount", "--bind", "-o", "ro", prefix, inside], check=True)


def install(root, wheel, interpreter):
    root.run("apt-get", "install", "-qq", "--no-install-recommends", "python3-venv")
    (root.folder / "tmp" / wheel.name).write_bytes(wheel.read_bytes())
    root.run(f"{interpreter} -m venv {ENVIRONMENT}", user=USER)
    root.run(f"{PYTHON} -m pip install --quiet --no-index /tmp/{wheel.name}", user=USER)


def decode_with_descriptors(root):
    for name, content in (("types", DESCRIPTORS), ("messages.tfrecord", tfrecords.tfrecord([MESSAGE]))):
        (root.folder / HOME[1:] / name).write_bytes(content)
    code = f"import recordfs; print(recordfs.open('{HOME}/messages.tfrecord', descriptors='{HOME}/types', type='M').decode(0))"
    decoded = root.run(f'{PYTHON} -c "{code}"', user=USER)
    check(decoded == b"{'n': 42}\n", f"wrong message: {decoded}")


def run_tests(root, checkout):
    """Runs tests of the package that need nothing else."""
    inside, shared_memory = root.folder / "checkout", root.folder / "dev/shm"
    inside.mkdir()
    shared_memory.mkdir()
    shared_memory.chmod(0o1777)
    subprocess.run(["mount", "--bind", "-o", "ro", checkout, inside], check=True)
    for theme in ("arrow", "arrow_decode", "damage", "opening", "processes", "where"):
        root.run(f"PYTHONPATH=/checkout/tests {PYTHON} -B /checkout/tests/python/{theme}_test.py --bin / --root /checkout", user=USER)


def remove(root):
    root.run(f"{PYTHON} -m pip uninstall --quiet --yes recordfs", user=USER)
    left = root.run(f"find {ENVIRONMENT} -name '*recordfs*'", user=USER)
    check(not left, f"files left after the removal: {left}")


def try_wheel(folder, wheel, python, checkout):
    root = clean_root.with_user(folder, checkout)
    if "/" in python:
        lend_interpreter(root, python)
    clean_root.take({
        "pip installs it": lambda: install(root, wheel, python if "/" in python else "python3"),
        "Python reads records and decodes messages": lambda: clean_root.use_in_python(root, PYTHON),
        "messages are decoded with a file of descriptors": lambda: decode_with_descriptors(root),
        "a URL": lambda: clean_root.use_url(root, PYTHON, "-c", f"'{PRINT_42}'", "{url}"),
        "tests of the package pass": lambda: run_tests(root, checkout),
        "pip removes it without a trace": lambda: remove(root),
    })


def try_python(python, wheel, options):
    """Returns the exit status of the test of one wheel."""
    print(f"{wheel.name} with {python}:", flush=True)
    release = None if "/" in python else python
    try:
        system = bare_system.find_or_make(options.keep / (release or "own"), ["python3-venv"], release)
    except bare_system.Impossible as reason:
        print(f"SKIPPED: no bare system: {reason}")
        return clean_root.SKIPPED
    return clean_root.in_copy(system, options.keep, __file__, "--wheels", wheel, "--checkout", options.checkout, "--pythons", python)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--wheels", type=lambda text: Path(text).resolve(), nargs="+", required=True)
    for name in ("--keep", "--checkout"):
        parser.add_argument(name, type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--pythons", nargs="+", required=True)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        try:
            try_wheel(options.inside, options.wheels[0], options.pythons[0], options.checkout)
            return 0
        except clean_root.Wrong as message:
            print(f"FAILED: {message}")
            return 1
    statuses = [try_python(*both, options) for both in zip(options.pythons, options.wheels)]
    if all(status == clean_root.SKIPPED for status in statuses):
        return clean_root.SKIPPED
    return 0 if all(status in (0, clean_root.SKIPPED) for status in statuses) else 1


if __name__ == "__main__":
    sys.exit(main())
