#!/usr/bin/env python3
"""Exports random sets of columns, and reads the tables with other libraries. To be run by hand.

    campaign.py --bin FOLDER [--sets N] [--seed FIRST] [--packages DIR] [--folder DIR]

The sets are messages with descriptors, JSON objects, and Examples: nested, missing, empty, Unicode, NaN, the bounds of
integers. Each goes to Parquet, Arrow (file and stream), CSV, TSV and JSON Lines. Installs npm packages in DIR (default:
FOLDER/node). Prints each difference, and leaves such sets in DIR (default: a new temporary folder). Exit status: 1 after
a difference.
"""
import argparse
import csv
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import column_sets
import tfrecords

PACKAGES = ("@duckdb/node-api", "apache-arrow", "fzstd", "hyparquet", "hyparquet-compressors")
FORMS = ("parquet", "arrow", "arrows", "csv", "tsv", "jsonl")
TEXTS = FORMS[3:]
SOURCES = (column_sets.messages, column_sets.messages, column_sets.objects, column_sets.examples)
DEFAULTS = (None, [], {}, False, "i:0", "f:" + "00" * 8, "s:", "b:", "s:ZERO")  # that JSON Lines may leave out
csv.field_size_limit(1 << 30)


def parsed(text):
    """Returns a JSON value. -0 keeps its sign."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def same_double(text, expected):
    """Compares a number's text with the bits of a double, which may be that of a float."""
    value, wanted = float(text), math.nan if expected == "f:nan" else struct.unpack(">d", bytes.fromhex(expected[2:]))[0]
    if math.isnan(value) or math.isnan(wanted):
        return math.isnan(value) and math.isnan(wanted)
    try:
        is_float = struct.unpack("<f", struct.pack("<f", wanted))[0] == wanted
        value = struct.unpack("<f", struct.pack("<f", value))[0] if is_float else value
    except OverflowError:
        pass
    return struct.pack("<d", value) == struct.pack("<d", wanted)


def same(value, expected, has_all):
    """Compares a JSON value with an expected one. Without `has_all`, members with default values may be absent."""
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(
            same(one, other, has_all) for one, other in zip(value, expected))
    if isinstance(expected, dict):
        if not isinstance(value, dict) or (has_all and set(value) != set(expected)):
            return False
        if set(value) - set(expected):
            return False
        return all(same(value[name], one, has_all) if name in value else one in DEFAULTS for name, one in expected.items())
    if expected is None or isinstance(expected, bool):
        return value is expected or (expected is True and value == {})  # a message without fields
    if expected[0] == "f":
        return isinstance(value, (int, float, str)) and same_double(value, expected)
    if expected[0] == "i":
        return isinstance(value, int) and f"i:{value}" == expected
    return str(value) == expected[2:]  # a text, bytes in hexadecimal, or the number of an enum


def same_cell(text, expected):
    """An empty text is not told from null, because Python's reader does not."""
    if expected is None:
        return text == ""
    if isinstance(expected, bool):
        return text == str(expected).lower()
    if isinstance(expected, (list, dict)):
        return same(parsed(text), expected, has_all=True)
    return same_double(text, expected) if expected[0] == "f" else text == expected[2:]


def differences_in_text(path, rows):
    """Returns how JSON Lines or a text table differs from the rows; empty if it does not."""
    if path.suffix == ".jsonl":
        found = [parsed(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        is_same = [same(row, wanted, has_all=False) for row, wanted in zip(found, rows)]
    else:
        with path.open(newline="", encoding="utf-8") as file:
            names, *found = csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t")
        is_same = [len(row) == len(names) and set(names) == set(wanted) and
                   all(same_cell(cell, wanted[name]) for name, cell in zip(names, row))
                   for row, wanted in zip(found, rows)]
    if len(found) != len(rows):
        return [f"{path}: {len(found)} rows instead of {len(rows)}"]
    if all(is_same):
        return []
    at = is_same.index(False)
    return [f"{path}: row {at}: {str(found[at])[:2000]} instead of {str(rows[at])[:2000]}"]


class Campaign:
    def __init__(self, options):
        self._recordfs = options.bin / "recordfs"
        packages = options.packages or options.bin / "node"
        packages.mkdir(exist_ok=True)
        if not all((packages / "node_modules" / name).is_dir() for name in PACKAGES):
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", *PACKAGES], cwd=packages, check=True)
        shutil.copy(HERE / "read_tables.mjs", packages)  # its imports are found beside it
        self._reader = subprocess.Popen(["node", packages / "read_tables.mjs"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def differences(self, seed, folder):
        folder.mkdir()
        records, rows, descriptors = SOURCES[seed % len(SOURCES)](seed)
        source, options = folder / "in.tfrecord", ["-j", str(1 + seed % 2)]
        source.write_bytes(tfrecords.tfrecord(records))
        (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        if descriptors:
            (folder / "descriptors").write_bytes(descriptors)
            options += ["--descriptors", folder / "descriptors", "--type", "t.Row"]
        found, has_columns = [], bool(descriptors) or bool(rows and rows[0])
        if not has_columns:
            return found
        for form in FORMS:
            text_options = ["--bytes", "hex"] if form in TEXTS else []
            done = subprocess.run([self._recordfs, "export", *options, *text_options, source, "-o", folder / f"out.{form}"],
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                found.append(f"export to {form}: status {done.returncode}: {done.stderr}")
            elif form in TEXTS:
                found += differences_in_text(folder / f"out.{form}", rows)
        tables = [str(folder / f"out.{form}") for form in FORMS[:3] if (folder / f"out.{form}").exists()]
        print(folder / "rows.json", *tables, sep="\t", file=self._reader.stdin, flush=True)
        return found + json.loads(self._reader.stdout.readline())

    def close(self):
        self._reader.stdin.close()
        self._reader.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="recordfs-columns-"))
    folder.mkdir(exist_ok=True)
    campaign, failed = Campaign(options), 0
    for seed in range(options.seed, options.seed + options.sets):
        differences = campaign.differences(seed, folder / str(seed))
        if not differences:
            shutil.rmtree(folder / str(seed))
            continue
        failed += 1
        print(f"seed {seed}:", *differences, sep="\n    ", flush=True)
    campaign.close()
    print(f"{options.sets} sets, {failed} with differences" + (f" (in {folder})" if failed else ""))
    return failed > 0


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    sys.exit(main())
