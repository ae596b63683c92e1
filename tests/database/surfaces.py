"""A database as a mount and as the Python package show it, compared with what its engine reads. Returns differences."""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import built
from oracle import directories_beside, families

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mount"))

import mounting  # noqa: E402

_MOST = 300  # keys that are read of each family
# Prints FAMILY:KEY:VALUE of each key, or FAMILY:KEY without a value that is not available.
_PROGRAM = """
import recordfs, sys
paths = [word.removeprefix("--db-path=") for word in sys.argv[2:] if word.startswith("--db-path=")]
keys = recordfs.open(sys.argv[1], db_path=paths).keys
for family in sys.argv[2 + len(paths):]:
    view = keys.family(family)
    for key in view:
        assert key in view, key
        try:
            print(family.encode().hex(), key.hex(), view[key].hex(), sep=":")
        except recordfs.Error:
            print(family.encode().hex(), key.hex(), sep=":")
"""


def _compare(what, truth, found, is_merge):
    """`found`: {(family, key): value, or None if it is not available}."""
    differences = [f"{what}: {at}: {'surplus' if at not in truth else 'missing'}" for at in truth.keys() ^ found.keys()]
    for at in truth.keys() & found.keys():
        if found[at] != truth[at].value and not (found[at] is None and is_merge):
            differences.append(f"{what}: {at}: {str(found[at])[:80]} instead of {truth[at].value[:80]!r}")
    return differences


def compare_python(directory, truth, is_merge):
    """Needs the package in the build folder (target recordfs_python)."""
    path = built.place.programs / "python"
    words = [sys.executable, "-c", _PROGRAM, str(directory), *directories_beside(directory),
             *sorted(families(truth) | {"default"})]
    ran = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(path)}, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=built.PATIENCE, check=False)
    if ran.returncode != 0:
        return [f"python: {ran.stderr.decode(errors='replace')[-300:]}"]
    found = {}
    for line in ran.stdout.decode().splitlines():
        family, key, *value = map(bytes.fromhex, line.split(":"))
        found[family.decode(), key] = value[0] if value else None
    return _compare("python", truth, found, is_merge)


def _read(file):
    try:
        return file.read_bytes()
    except OSError:
        return None


def _keys_in(folder):
    """Returns {key: file} of a folder of keys; the keys come from the extended attribute."""
    files = [folder / name for name in os.listdir(folder) if name not in ("column-families", "names.tsv")]
    return {os.getxattr(file, "user.recordfs.key"): file for file in files}


def compare_mount(directory, truth, is_merge):
    with tempfile.TemporaryDirectory(prefix="recordfs-mount-") as point, tempfile.NamedTemporaryFile() as log:
        others = [word.removeprefix("--").replace("-", "_", 1) for word in directories_beside(directory)]
        mounted = mounting.Mount([directory], point, log.name, options=("xattr", *others))
        try:
            found = {}
            for family in sorted(families(truth) | {"default"}):
                folder = mounted / "keys" if family == "default" else mounted / "keys/column-families" / family
                for number, (key, file) in enumerate(_keys_in(folder).items()):
                    at = family, key
                    found[at] = _read(file) if number < _MOST or at not in truth else truth[at].value
            return _compare("mount", truth, found, is_merge)
        except OSError as error:
            return [f"mount: {error}"]
        finally:
            with contextlib.suppress(AssertionError):
                mounted.unmount()
            mounted.abandon()
