#!/usr/bin/env python3
"""keys/ of a mount, `keys`, `get`, `cat --json` and Python give the same keys and values of every sample that has keys."""
import base64
import json
import os
import sys
from pathlib import Path
from urllib.parse import unquote_to_bytes

import built
import mounting

FOLDERS = ("leveldb_log", "leveldb_table", "rocksdb_blob")
KEYS_READ = 150  # whose values are compared, of each family
VERSIONS_READ = 5  # keys whose versions are compared, of each family


def recordfs():
    """Returns the built Python package."""
    if (folder := str(mounting.place.programs / "python")) not in sys.path:
        sys.path.insert(0, folder)
    import recordfs as module  # pylint: disable=import-outside-toplevel
    return module


def json_bytes(line, name):
    return line[name].encode() if name in line else base64.b64decode(line[f"{name}_base64"], validate=True)


def spread(items):
    """Returns up to KEYS_READ items, evenly."""
    return items[::-(-len(items) // KEYS_READ) or 1]


class KeysAgree(mounting.Case):
    def commands(self, *words):
        return mounting.run(mounting.program("recordfs"), *words, "--index", "no")

    def listed(self, folder):
        """Returns {key: path} of the keys of a directory, in its order."""
        table = {}
        if (folder / "names.tsv").exists():
            rows = (folder / "names.tsv").read_text(encoding="utf-8").splitlines()[1:]
            table = dict(row.split("\t") for row in rows)
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name not in ("names.tsv", "column-families")]
        return {unquote_to_bytes(table.get(name, name)): folder / name for name in names}

    def value_of(self, path):
        """Returns the bytes of a file; None: reading it fails."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        self.assertEqual(path.stat().st_size, len(content))
        return content

    def printed_keys(self, source, family):
        """Returns the lines of `keys --json` by key, and the keys as `get --encoded` takes them."""
        words = ("--column-family", family, source)
        lines = [json.loads(line) for line in self.commands("keys", "--json", *words).stdout.splitlines()]
        escaped = self.commands("keys", *words).stdout.splitlines()
        self.assertEqual(len(lines), len(escaped))
        return {json_bytes(line, "key"): line for line in lines}, escaped

    def gotten(self, source, family, escaped):
        """Returns {key: value} as `get` prints it, without those that cannot be read."""
        done = self.commands("get", "--json", "--encoded", "--column-family", family, source, *escaped)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {json_bytes(line, "key"): json_bytes(line, "value") for line in lines}

    def catted(self, source, family):
        """Returns {key: value} as `cat --json` of a database prints them, without those that cannot be read."""
        done = self.commands("cat", "--json", "--column-family", family, source)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {json_bytes(line, "key"): json_bytes(line, "value") for line in lines if "value" in line or "value_base64" in line}

    def python_values(self, source, family, keys):
        of = recordfs().open(str(source), on_damage="skip").keys
        if len(of.families) > 1:
            of = of.family(family)
        values = {}
        for key in keys:
            try:
                values[key] = of[key]
            except recordfs().Error:
                pass
        return list(of), values

    def assert_agree(self, folder, source, family):
        found = self.listed(folder)
        printed, escaped = self.printed_keys(source, family)
        self.assertEqual(list(found), list(printed))
        if not found:
            return
        some = spread(list(found))
        values = {key: self.value_of(found[key]) for key in some}
        readable = {key: value for key, value in values.items() if value is not None}
        for key, value in readable.items():
            self.assertIn(printed[key].get("size"), (None, len(value)))
        in_blob_files = self.of_blob_files(source, values)
        got = self.gotten(source, family, spread(escaped))
        self.assertEqual({key: got[key] for key in got if key not in in_blob_files}, readable)
        if source.is_dir():
            catted = self.catted(source, family)
            self.assertEqual({key: catted[key] for key in some if key in catted}, readable)
        keys, in_python = self.python_values(source, family, some)
        self.assertEqual(keys, list(found))
        self.assertEqual({key: in_python[key] for key in in_python if key not in in_blob_files}, readable)

    def of_blob_files(self, source, values):
        """Returns the keys whose values a mount of one file cannot read, because they are in the blob files beside it."""
        has_blob_files = source.is_file() and any(source.parent.glob("*.blob"))
        return {key for key, value in values.items() if value is None} if has_blob_files else set()

    def families_of(self, keys):
        folder = keys / "column-families"
        return {name: folder / name for name in os.listdir(folder)} if folder.exists() else {}

    def test_containers(self):
        compared = 0
        for kind in FOLDERS:
            mounted = self.mount(built.corpus() / kind).point
            for source in sorted((built.corpus() / kind).rglob("*")):
                keys = mounted / source.relative_to(built.corpus() / kind) / "keys"
                if not source.is_file() or source.name.endswith(built.EXPECTATION) or not keys.exists():
                    continue
                names = {"0": keys, **self.families_of(keys)}
                for number, folder in names.items():
                    with self.subTest(sample=f"{kind}/{source.name}", family=number):
                        if os.listdir(folder) not in ([], ["column-families"]):
                            self.assert_agree(folder, source, number)
                            compared += 1
        self.assertGreater(compared, 60)

    def test_databases(self):
        folder = built.corpus() / "database"
        compared = 0
        for source in sorted(path for path in folder.iterdir() if (path / "CURRENT").exists()):
            mounted = self.mount(source).point
            for name, keys in {"default": mounted / "keys", **self.families_of(mounted / "keys")}.items():
                with self.subTest(database=source.name, family=name):
                    self.assert_agree(keys, source, name)
                    compared += self.assert_versions_agree(mounted, source, name)
        self.assertGreater(compared, 100)

    def assert_versions_agree(self, mounted, source, family):
        """Compares the versions of some keys, and the values of those that `get --at` can tell apart. Returns their number."""
        compared = 0
        below = "." if family == "default" else f"column-families/{family}"
        found = self.listed(mounted / "keys" / below)
        for key in list(found)[::-(-len(found) // VERSIONS_READ) or 1]:
            words = ("--column-family", family, source, os.fsdecode(key))
            printed = [json.loads(line) for line in self.commands("get", "--history", "--json", *words).stdout.splitlines()]
            sequences = [line["sequence"] for line in printed]
            path = mounted / "history" / below / found[key].name
            names = {int(name.split(".")[0]): path / name for name in os.listdir(path)}
            self.assertEqual(sorted(names, reverse=True), list(dict.fromkeys(sequences)))
            for line in printed:
                if line["operation"] != "put" or "timestamp" in line or sequences.count(line["sequence"]) > 1:
                    continue
                done = self.commands("get", "--json", "--at", str(line["sequence"]), *words)
                compared += 1
                values = [json_bytes(json.loads(text), "value") for text in done.stdout.splitlines()]
                self.assertEqual(values, [value for value in [self.value_of(names[line["sequence"]])] if value is not None])
        return compared


if __name__ == "__main__":
    mounting.main()
