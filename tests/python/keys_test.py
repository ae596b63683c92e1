#!/usr/bin/env python3
"""The keys of databases, as their own libraries read them."""
import itertools
import json
import pickle
import shutil
import unittest

import cases
import recordfs
from cases import EXPECTATION, Case, corpus, run, sample


def databases():
    """Yields the paths and expectations of the databases in the corpus."""
    for path in sorted((corpus() / "database").glob(f"*{EXPECTATION}")):
        yield path.with_name(path.name[: -len(EXPECTATION)]), json.loads(path.read_text())


def open_all(path, known):
    return recordfs.open(path, db_path=[path / name for name in known.get("db_paths", [])], on_damage="skip")


class EveryDatabase(Case):
    def test_keys_and_values(self):
        for path, known in databases():
            with self.subTest(path=path.name):
                keys = open_all(path, known).keys
                places = [f"--db-path={path / name}" for name in known.get("db_paths", [])]
                for family in known["families"]:
                    status, lines = run("keys", "--json", *places, "--column-family", family["name"], path)
                    expected = [json.loads(line) for line in lines.splitlines()]
                    found = list(keys.family(family["name"]))
                    self.assertEqual(len(found), len(expected), family["name"])
                    for key in found[:20]:
                        if b"\0" in key or key.startswith(b"-"):
                            continue
                        status, value = run("get", *places, "--column-family", family["name"], path, key)
                        if status == 0:
                            self.assertEqual(keys.family(family["name"])[key], value)
                        else:
                            with self.assertRaises((KeyError, recordfs.Error)):
                                keys.family(family["name"])[key]

    def test_values_that_the_library_wrote(self):
        for path, known in databases():
            for family in known["families"]:
                keys = open_all(path, known).keys.family(family["name"])
                for key, _, value in family["keys"][:50]:
                    with self.subTest(path=path.name, key=key):
                        try:
                            self.assertIn(bytes.fromhex(key), keys)
                        except recordfs.Error:  # a merge, a plain table
                            self.assertTrue(path.name.startswith("rocksdb"))


    def test_damage_that_may_have_cost_keys_ends_an_iteration(self):
        database = self.folder / "damaged"
        shutil.copytree(sample("database/leveldb-levels"), database)
        table = sorted(database.glob("*.ldb"))[0]
        content = bytearray(table.read_bytes())
        content[10] ^= 1
        table.write_bytes(content)
        skipped = recordfs.open(database, on_damage="skip").keys
        left = list(skipped)
        self.assertTrue(skipped.problems)
        keys = recordfs.open(database).keys
        for read in (len, list, dict, lambda keys: list(keys.items()), lambda keys: list(keys.prefix(b"key"))):
            with self.assertRaisesRegex(recordfs.DamageError, rf"{table.name}: byte \d+: (?!byte).*may be lost"):
                read(keys)
        with self.assertWarnsRegex(recordfs.DamageWarning, "may be lost"):
            self.assertEqual(list(recordfs.open(database, on_damage="report").keys), left)
        self.assertEqual([skipped[key] for key in left], [value for _, value in skipped.items()])

    def test_tables_that_cannot_be_read_here_are_no_damage(self):
        with self.assertRaisesRegex(recordfs.UnsupportedError, r"000009\.sst: a plain table of RocksDB"):
            list(self.open("database/rocksdb7-plain-table").keys)

    def test_value_that_may_be_an_older_one_is_an_error(self):
        database = self.folder / "database"
        shutil.copytree(sample("database/leveldb-levels"), database)
        newest = max(database.glob("*.ldb"))
        newest.unlink()
        keys = recordfs.open(database, on_damage="skip").keys
        _, lines = run("keys", "--json", database)
        stale = [line["key"].encode() for line in map(json.loads, lines.splitlines()) if line.get("stale")]
        self.assertTrue(stale)
        self.assertTrue(keys[stale[0]])
        with self.assertRaisesRegex(recordfs.DamageError, "may have a newer value, or may be deleted"):
            recordfs.open(database).keys[stale[0]]

    def test_key_is_there_though_only_its_own_operator_could_merge_it(self):
        keys = self.open("database/rocksdb7-merges").keys
        self.assertIn(b"key00002", keys)
        self.assertNotIn(b"key00007", keys)
        with self.assertRaisesRegex(recordfs.UnsupportedError, "needs the database's merge operator"):
            keys[b"key00002"]


class Levels(Case):
    def setUp(self):
        super().setUp()
        self.keys = self.open("database/leveldb-levels").keys

    def test_mapping(self):
        everything = dict(self.keys.items())
        self.assertEqual(len(everything), len(self.keys))
        self.assertEqual(list(everything), sorted(everything))
        self.assertEqual(everything[b"key00000"], self.keys[b"key00000"])
        self.assertEqual(list(self.keys.values()), list(everything.values()))
        for text in (lambda: self.keys["key00000"], lambda: self.keys["a":], lambda: self.keys[b"a":"b"],
                     lambda: self.keys.prefix("key"), lambda: "key00000" in self.keys):
            with self.assertRaisesRegex(TypeError, "a key is bytes, not str"):
                text()
        self.assertIn(b"key00000", self.keys)
        self.assertNotIn(b"nothing", self.keys)
        self.assertIsNone(self.keys.get(b"nothing"))
        with self.assertRaises(KeyError):
            self.keys[b"nothing"]

    def test_ranges_and_prefixes(self):
        every = list(self.keys)
        self.assertEqual(list(self.keys[every[5]:every[9]]), every[5:9])
        self.assertEqual(list(self.keys[every[5]:]), every[5:])
        self.assertEqual(list(self.keys[every[5]:][:every[9]]), every[5:9])
        prefix = every[0][:-1]
        self.assertEqual(list(self.keys.prefix(prefix)), [key for key in every if key.startswith(prefix)])
        self.assertNotIn(every[9], self.keys[every[5]:every[9]])

    def test_empty_end_is_a_bound(self):
        self.assertEqual(list(self.keys[:b""]), [])
        self.assertEqual(list(self.keys[:b"z"][:b""]), [])

    def test_prefix_of_a_prefix_does_not_widen_it(self):
        narrow = self.keys.prefix(b"key0001")
        expected = [key for key in self.keys if key.startswith(b"key0001")]
        self.assertLess(len(expected), len(self.keys))
        self.assertEqual(list(narrow.prefix(b"key")), expected)
        self.assertEqual(list(self.keys.prefix(b"key").prefix(b"key0001")), expected)
        other = narrow.prefix(b"key0002")
        self.assertEqual([list(other), list(other[b"k":]), list(other.prefix(b"")), b"key00020" in other],
                         [[], [], [], False])

    def test_unknown_family_is_an_error_of_every_lookup(self):
        family = self.keys.family("typo")
        for use in (lambda: family.get(b"key00000"), lambda: family[b"key00000"], lambda: b"key00000" in family,
                    lambda: list(family)):
            with self.assertRaisesRegex(ValueError, "no column family typo"):
                use()

    def test_log_and_files_together(self):
        path = cases.sample("database/leveldb-levels")
        tables = sorted(path.glob("*.ldb"))
        self.assertLess(0, len(list(itertools.islice(recordfs.open(*tables).keys, 10))))
        self.assertLess(0, len(list(itertools.islice(recordfs.open(tables[0]).keys, 10))))

    def test_container_without_keys(self):
        with self.assertRaises(recordfs.UnsupportedError):
            list(self.open(cases.EMBEDDED).keys)


class Reversed(Case):
    def test_views_have_the_keys_that_they_iterate(self):
        keys = self.open("database/rocksdb7-reverse").keys
        every = list(keys)
        self.assertEqual(every, sorted(every, reverse=True))
        for begin, end, inner_begin, inner_end in ((5, 90, 20, 60), (20, 60, 5, 90)):
            bounds = slice(max(begin, inner_begin), min(end, inner_end))
            views = [(keys[every[begin]:every[end]], slice(begin, end)), (keys[every[begin]:], slice(begin, None)),
                     (keys[:every[end]], slice(end)),
                     (keys[every[begin]:every[end]][every[inner_begin]:every[inner_end]], bounds),
                     (keys[every[begin]:][every[inner_begin]:][:every[end]][:every[inner_end]], bounds)]
            for view, expected in views:
                self.assertEqual(list(view), every[expected])
                self.assertEqual([key for key in every if key in view], every[expected])
                self.assertEqual([view[key] for key in view], list(view.values()))
        prefix = every[40][:-1]
        self.assertEqual(list(keys.prefix(prefix)), [key for key in every if key.startswith(prefix)])


class Places(Case):
    """A database whose files are in several directories, and its states."""

    def setUp(self):
        super().setUp()
        self.database = self.folder / "db"
        shutil.copytree(sample("database/rocksdb7-timestamps"), self.database)
        self.intact = dict(recordfs.open(self.database).keys.items())

    def move(self, pattern, name):
        """Moves files into a new directory. Returns it."""
        directory = self.folder / name
        directory.mkdir()
        for path in list(self.database.glob(pattern)):
            path.rename(directory / path.name)
        return directory

    def test_logs_in_wal_dir(self):
        logs = self.move("*.log", "logs")
        self.assertNotEqual(dict(recordfs.open(self.database, on_damage="skip").keys.items()), self.intact)
        moved = recordfs.open(self.database, wal_dir=logs)
        for opened in (moved, pickle.loads(pickle.dumps(moved))):
            self.assertEqual(dict(opened.keys.items()), self.intact)

    def test_tables_in_db_path(self):
        tables = self.move("000009.sst", "tables")
        others = self.move("000011.sst", "others")
        keys = recordfs.open(self.database, db_path=[tables, str(others)]).keys
        self.assertEqual(dict(keys.items()), self.intact)
        self.assertEqual(keys.problems, [])
        others.joinpath("000011.sst").rename(self.database / "000011.sst")
        self.assertEqual(dict(recordfs.open(self.database, db_path=tables).keys.items()), self.intact)

    def test_database_has_no_records(self):
        ds = recordfs.open(self.database)
        for read in (lambda: list(ds), lambda: len(ds), lambda: ds[0], lambda: ds[[0]], lambda: ds.row(0), lambda: ds.columns, lambda: ds.decode(0),
                     lambda: ds.json(0), lambda: ds.at(0), lambda: list(ds.grep("x")), lambda: ds.where("key = 'x'"), lambda: ds.shuffled(),
                     lambda: list(ds.batches(2)), lambda: ds.arrow().__arrow_c_stream__(), lambda: ds.column_statistics(), lambda: ds.splits(),
                     lambda: ds.__arrow_c_stream__(), lambda: ds.sample(1), lambda: list(ds[1:3]), lambda: list(reversed(ds))):
            with self.assertRaisesRegex(recordfs.UnsupportedError, r"a database, which has keys and no records \(try: its keys"):
                read()
        with self.assertRaisesRegex(ValueError, "a database is opened alone"):
            recordfs.open(self.database, self.database)
        self.assertLess(0, sum(len(shard) for shard in ds.shards if shard.path.endswith(".log")) + len(ds.keys))

    def test_wal_dir_and_db_path_need_a_database(self):
        log = self.database / "000010.log"
        for options in ({"wal_dir": self.folder}, {"db_path": [self.folder]}):
            with self.assertRaisesRegex(ValueError, "no directory of a database"):
                recordfs.open(log, **options)

    def test_state_at_a_timestamp(self):
        for timestamp in (10, 24, 40):
            keys = recordfs.open(self.database, as_of_timestamp=timestamp).keys
            status, lines = run("cat", "--json", "--at-timestamp", str(timestamp), self.database)
            rows = [json.loads(line) for line in lines.splitlines()]
            self.assertEqual(status, 0)
            self.assertEqual(list(keys.items()), [(row["key"].encode(), row["value"].encode()) for row in rows])
            self.assertEqual([key in keys for key in self.intact], [key in dict(keys.items()) for key in self.intact])
        with self.assertRaisesRegex(recordfs.UnsupportedError, "no user-defined timestamps"):
            self.open("database/leveldb-levels", as_of_timestamp=1).keys[b"key00000"]


if __name__ == "__main__":
    cases.main()
