"""What ldb (Debian: rocksdb-tools) tells of a RocksDB database: the tables of each level, and every version in them."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import built
from oracle import families, keys_of, recordfs

_LEVEL = re.compile(r"--- level (\d+) ---")
_TABLE = re.compile(r" \d+:(\d+)\[")
_VERSION = re.compile(r"'([0-9A-F]*)' seq:(\d+), type:\d+")


def is_installed():
    return shutil.which("ldb") is not None


def _ldb(directory, *words):
    """Returns what ldb prints; None if it cannot open the database, as with a comparator of a program's own."""
    ran = subprocess.run(["ldb", f"--db={directory}", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, timeout=10 * built.PATIENCE, check=False)
    return ran.stdout.decode(errors="replace") if ran.returncode == 0 else None


def levels(directory):
    """Returns {level: (tables, bytes)} by the MANIFEST; None if ldb cannot read it."""
    sizes, level = {}, None
    output = _ldb(directory, "manifest_dump", "--hex")
    if output is None or "next_file_number" not in output:  # its last line; without it, ldb has met an edit it cannot read
        return None
    for line in output.splitlines():
        if found := _LEVEL.match(line):
            level = int(found[1])
        elif found := _TABLE.match(line):
            sizes.setdefault(level, []).append(int(found[1]))
    return {level: (len(tables), sum(tables)) for level, tables in sizes.items()}


def versions(directory, family):
    """Returns {key: sequence numbers}, or None. Opening the database recovers it, so this needs a copy."""
    output = _ldb(directory, f"--column_family={family}", "idump", "--hex", "--auto_compaction=false")
    if output is None:
        return None
    found = {}
    for key, sequence in _VERSION.findall(output):
        found.setdefault(bytes.fromhex(key), set()).add(int(sequence))
    return found


def _compare_levels(directory):
    shown = json.loads(recordfs("info", "--json", directory)[1])["levels"]
    shown = {row["level"]: (row["files"], row["bytes"]) for row in shown}
    wanted = levels(directory)
    return [] if wanted in (None, shown) else [f"levels {shown} instead of {wanted}"]


def _compare_key(directory, family, key, wanted):
    lines = recordfs("get", "--history", "--json", "--column-family", family, directory, "--", key)[1].splitlines()
    history = [json.loads(line) for line in lines]
    # Recovery drops the older writes of a key in a log, and idump the writes that the deletion of a range hides.
    deleted = max((version["sequence"] for version in history if version["operation"] == "delete_range"), default=-1)
    in_tables = {version["sequence"] for version in history
                 if version["file"].endswith(".sst") and version["sequence"] > deleted}
    missing = wanted - {version["sequence"] for version in history}
    surplus = in_tables - wanted
    return [f"{family} {key}: versions {what} {sorted(which)[:5]}" for what, which in
            (("missing", missing), ("surplus", surplus)) if which]


def compare(directory, truth, choices):
    """Compares levels, and the stored versions of some keys. Returns differences, and how many keys were compared."""
    differences, compared = _compare_levels(directory), 0
    copy = Path(f"{directory}.ldb")
    shutil.copytree(directory, copy)
    try:
        for family in sorted(families(truth)):
            found = versions(copy, family)
            keys = [key for key in keys_of(truth, family) if b"\0" not in key] if found is not None else []
            for key in choices.sample(keys, min(30, len(keys))):
                differences += _compare_key(directory, family, key, found.get(key, set()))
                compared += 1
    finally:
        shutil.rmtree(copy)
    return differences, compared
