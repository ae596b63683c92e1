#!/usr/bin/env python3
"""recordfs keys and get, and what info, cat and verify do with the directory of a database."""
import base64
import json
import shutil
import subprocess
from pathlib import Path

import commands

TABLE = "leveldb_table/leveldb-compacted.ldb"
LEVELS = "database/leveldb-levels"  # tables of several levels, versions of keys, deletions, and a log
FAMILIES = "database/rocksdb7-families"
MERGES = "database/rocksdb7-merges"
CHECKSUMS = "database/rocksdb11-file-checksums"  # of whole files; its blocks have none
TIMED = "database/rocksdb7-timestamps"
ENTITIES = "database/rocksdb7-entities"
FOREIGN = "database/leveldb-idb-cmp1"  # a comparator that recordfs does not have
FOUND, NOT_FOUND, FAILED = range(3)  # exit statuses of get


def databases():
    """Returns the names of all databases in the corpus."""
    return sorted(f"database/{path.name}" for path in commands.sample("database").iterdir()
                  if path.is_dir() and Path(f"{path}{commands.EXPECTATION}").exists())


def families(name):
    """Returns {family: [(key, size, beginning of the value)]} as the library read them."""
    return {family["name"]: [(bytes.fromhex(key), size, bytes.fromhex(first)) for key, size, first in family["keys"]]
            for family in commands.expectation(name)["families"]}


def bytes_of(line, name):
    return line[name].encode() if name in line else base64.b64decode(line[name + "_base64"])


class Case(commands.Case):
    def copy_database(self, name):
        target = self.folder / "database"
        shutil.copytree(commands.sample(name), target)
        return target

    def json_lines(self, *words):
        return [json.loads(line) for line in self.recordfs(*words).out.splitlines()]


class Keys(Case):
    def test_every_sample_lists_the_keys_that_its_library_read(self):
        for name in databases():
            for family, rows in families(name).items():
                with self.subTest(sample=name, family=family):
                    done = self.recordfs("keys", "--null", "--column-family", family, commands.sample(name))
                    expected = [key for key, _, _ in rows]
                    if name in (FOREIGN,):
                        self.assertRegex(done.err, "unknown comparator idb_cmp1; keys are in the order of files")
                        self.assertEqual(sorted(done.out), sorted(b"".join(key + b"\0" for key in expected)))
                    elif "plain-table" in name:
                        self.assertEqual(done.status, commands.PARTLY_DONE)
                        self.assertRegex(done.err, "recordfs: .*plain")
                    else:
                        self.assertEqual((done.status, done.err), (commands.GOOD, ""))
                        self.assertEqual(done.out, b"".join(key + b"\0" for key in expected))

    def test_lines_are_escaped_and_printf_reverses_it(self):
        lines = self.good("keys", commands.sample("database/leveldb-log-only")).decode().splitlines()
        self.assertIn("zero\\x00byte", lines)
        raw = subprocess.run(["printf", "%b", "zero\\x00byte"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(raw, b"zero\0byte")
        self.assertIn("", lines)

    def test_range_prefix_and_limit_select_keys(self):
        def keys(*words):
            return self.good("keys", *words, commands.sample(LEVELS)).decode().splitlines()

        everything = keys()
        self.assertEqual(keys("--from", "key00050", "--to", "key00060"),
                         [key for key in everything if "key00050" <= key < "key00060"])
        self.assertEqual(keys("--prefix", "key002"), [key for key in everything if key.startswith("key002")])
        self.assertEqual(keys("--limit", "3"), everything[:3])
        self.assertEqual(keys("--encoded", "--from", "key0\\x3005", "--limit", "2"),
                         [key for key in everything if key >= "key0005"][:2])
        self.assertEqual(keys("--limit", "0"), [])

    def test_json_has_sequence_operation_size_and_file(self):
        lines = self.json_lines("keys", "--json", commands.sample(LEVELS))
        self.assertEqual([(bytes_of(line, "key"), line["size"]) for line in lines],
                         [(key, size) for key, size, _ in families(LEVELS)["default"]])
        self.assertEqual({line["operation"] for line in lines}, {"put"})
        self.assertGreater(len({line["file"] for line in lines}), 1)
        self.assertEqual(len({line["sequence"] for line in lines}), len(lines))

    def test_families_are_chosen_by_name_or_number(self):
        by_name = self.good("keys", "--column-family", "second", commands.sample(FAMILIES))
        self.assertEqual(self.good("keys", "--column-family", "1", commands.sample(FAMILIES)), by_name)
        self.assertNotEqual(self.good("keys", commands.sample(FAMILIES)), by_name)
        self.assert_ends(commands.PARTLY_DONE, "no column family third", "keys", "--column-family", "third",
                         commands.sample(FAMILIES))

    def test_one_table_is_a_database_without_other_files(self):
        file = commands.sample(TABLE)
        keys = self.good("keys", file).decode().splitlines()
        self.assertEqual(len(keys), 300)
        for key in keys[::50]:
            self.good("get", "--encoded", file, key)
        self.assertEqual(self.good("keys", commands.sample("leveldb_table/leveldb-versions.ldb")), b"")  # deleted

    def test_pattern_names_files_that_are_read_as_one(self):
        database = self.copy_database(LEVELS)
        files = database / "[0-9]*.l??"  # the tables and the log, without their MANIFEST
        self.assertEqual(self.good("keys", "--null", files), self.good("keys", "--null", database))
        self.assertEqual(self.good("get", files, "key00012"), self.good("get", database, "key00012"))
        (database / "000005.ldb").write_bytes(b"x" * 40000)
        done = self.recordfs("keys", files)
        self.assertEqual(done.status, commands.CANNOT_OPEN)
        self.assertRegex(done.err, "000005.ldb: not a log, table or blob file")

    def test_files_of_a_pattern_may_be_in_several_directories(self):
        for number, name in enumerate(("000005.ldb", "000013.ldb")):
            (self.folder / f"shard-{number}").mkdir()
            shutil.copy(commands.sample(LEVELS) / name, self.folder / f"shard-{number}" / "data.ldb")
        both = self.good("keys", self.folder / "shard-*" / "data.ldb").splitlines()
        each = [self.good("keys", self.folder / f"shard-{number}" / "data.ldb").splitlines() for number in (0, 1)]
        self.assertLessEqual(set(both), {*each[0], *each[1]})
        self.assertEqual(both, sorted(both))
        self.assertGreater(len(both), max(map(len, each)))

    def test_manifest_names_files_that_are_read_as_one(self):
        database = self.copy_database(LEVELS)
        files = sorted(path.name for path in database.glob("[0-9]*.l??"))
        manifest = database / "files.txt"
        manifest.write_text("".join(f"{name}\n" for name in files))
        self.assertEqual(self.good("keys", "--null", "--manifest", manifest), self.good("keys", "--null", database))
        self.assertEqual(self.good("get", "--manifest", manifest, "key00012"), self.good("get", database, "key00012"))
        self.assert_ends(commands.WRONG_USE, "excludes DB", "keys", "--manifest", manifest, database)
        two = self.good("get", database, "key00012", "key00013")
        self.assertEqual(self.good("get", "--manifest", manifest, "key00012", "key00013"), two)
        self.assert_ends(FAILED, "DB is required", "get")
        self.assert_ends(FAILED, "KEY is required", "get", database)
        self.assert_ends(FAILED, "KEY is required", "get", "--manifest", manifest)
        self.assert_ends(commands.WRONG_USE, "DB is required", "keys")
        self.assert_ends(commands.WRONG_USE, "key00012", "keys", database, "key00012")

    def test_table_of_another_family_shows_its_keys_and_names_the_family(self):
        table = commands.sample("database/rocksdb7-families/000015.sst")
        done = self.recordfs("keys", "--json", table)
        self.assertEqual(done.status, 0)
        self.assertIn("000015.sst: column family second", done.err)
        self.assertEqual({json.loads(line)["column_family"] for line in done.out.splitlines()}, {"second"})
        self.assertEqual(self.good("keys", "--column-family", "second", table), self.recordfs("keys", table).out)
        self.assert_ends(commands.PARTLY_DONE, "no column family default", "keys", "--column-family", "default", table)

    def test_blob_file_and_table_without_a_database_have_keys(self):
        for name in ("database/rocksdb7-blobs/000010.blob", "leveldb_table/short-keys.sst", "leveldb_table/unordered.ldb"):
            file = commands.sample(name)
            listed = self.recordfs("keys", file)
            self.assertEqual(listed.status, 0, name)
            self.assertTrue(listed.out, name)
            for key in listed.out.decode().splitlines():
                got = self.recordfs("get", "--encoded", file, key)
                self.assertEqual((got.status, bool(got.out)), (FOUND, True), (name, key))

    def test_other_files_are_refused(self):
        self.assert_ends(commands.CANNOT_OPEN, "not a log, table or blob file", "keys",
                         commands.sample("riegeli/simple_zstd9.riegeli"))
        self.assert_ends(commands.PARTLY_DONE, "plain table of RocksDB", "keys",
                         commands.sample("database/rocksdb7-plain-table/000009.sst"))
        self.assert_ends(commands.CANNOT_OPEN, "no files of a LevelDB or RocksDB database", "keys", self.folder)
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "keys", self.folder / "none")

    def test_manifest_has_no_keys(self):
        manifest = next(commands.sample(LEVELS).glob("MANIFEST-*"))
        shutil.copy(manifest, self.folder / "renamed")
        for file in (manifest, self.folder / "renamed"):
            self.assert_ends(commands.CANNOT_OPEN,
                             rf"{file}: a MANIFEST, which has no keys of the database \(try: recordfs keys DIRECTORY\)",
                             "keys", file)

    def test_missing_table_is_reported_and_what_it_may_hide_is_marked(self):
        copy = self.copy_database(LEVELS)
        tables = sorted(copy.glob("*.ldb"))
        tables[-1].unlink()
        done = self.recordfs("keys", "--json", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, rf"recordfs: {tables[-1]}: .*does not exist")
        self.assertRegex(done.err, r"\d+ of \d+ keys may have a newer value, or may be deleted, in what is damaged")
        self.assertIn(b'"stale":true', done.out)


class Get(Case):
    def test_every_value_is_what_the_library_read(self):
        for name in databases():
            for family, rows in families(name).items():
                for key, size, first in rows[:: max(1, len(rows) // 5)]:
                    if b"\0" in key or "plain-table" in name:
                        continue
                    with self.subTest(sample=name, key=key):
                        done = self.recordfs("get", "--column-family", family, commands.sample(name), "--", key)
                        if "merge operator" in done.err:
                            self.assertEqual((name, done.status, done.out), (MERGES, FAILED, b""))
                        else:
                            self.assertEqual((done.status, len(done.out), done.out[: len(first)]), (FOUND, size, first))

    def test_exit_status_is_1_without_a_value(self):
        for key in ("none", "key00001"):  # one that was never written, and a deleted one
            done = self.recordfs("get", commands.sample(LEVELS), key)
            self.assertEqual(done, (NOT_FOUND, b"", ""))

    def test_values_of_several_keys_are_written_in_the_order_given(self):
        database = commands.sample(LEVELS)
        keys = ["key00229", "key00012", "key00229"]
        values = [self.good("get", database, key) for key in keys]
        self.assertEqual(self.good("get", database, *keys), b"".join(values))
        self.assertEqual(self.good("get", "--null", database, *keys), b"".join(value + b"\0" for value in values))
        lines = self.json_lines("get", "--json", database, *keys)
        self.assertEqual([(line["key"], line["value"].encode()) for line in lines], list(zip(keys, values)))

    def test_missing_one_of_several_keys_is_named(self):
        database = commands.sample(LEVELS)
        done = self.recordfs("get", database, "none", "key00012", "key00001")
        self.assertEqual((done.status, done.out), (NOT_FOUND, self.good("get", database, "key00012")))
        self.assertEqual(done.err, f"recordfs: {database}: key none: no such key\n"
                                   f"recordfs: {database}: key key00001: the key is deleted\n")

    def test_history_of_several_keys_is_json(self):
        database = commands.sample("database/leveldb-log-only")
        lines = self.json_lines("get", "--history", "--json", database, "dropped", "key00000")
        self.assertEqual([(line["key"], line["operation"]) for line in lines],
                         [("dropped", "delete"), ("dropped", "put"), ("key00000", "put"), ("key00000", "put")])
        self.assert_ends(FAILED, "requires --json", "get", "--history", database, "dropped", "key00000")

    def test_lost_manifest_is_reported(self):
        copy = self.copy_database(LEVELS)
        next(copy.glob("MANIFEST-*")).unlink()
        done = self.recordfs("get", copy, "key00012")
        self.assertEqual((done.status, done.out), (FAILED, self.good("get", commands.sample(LEVELS), "key00012")))
        self.assertRegex(done.err, rf"(?m)^recordfs: {copy}: without the MANIFEST, all tables and logs count: "
                                   "old values and deleted keys may appear$")

    def test_exit_status_is_2_after_errors(self):
        for words in (["get"], ["get", commands.sample(LEVELS)], ["get", self.folder, "key"],
                      ["get", "--at", "x", commands.sample(LEVELS), "key"],
                      ["get", "--encoded", commands.sample(LEVELS), "\\n"],
                      ["get", "--column-family", "none", commands.sample(LEVELS), "key"]):
            done = self.recordfs(*words)
            self.assertEqual((done.status, done.out), (FAILED, b""), words)
            self.assertRegex(done.err, r"\Arecordfs: [^\n]+\n\Z")

    def test_escaped_key_is_found_with_encoded_only(self):
        database = commands.sample("database/leveldb-log-only")
        self.assertEqual(self.recordfs("get", database, "zero\\x00byte").status, NOT_FOUND)
        self.assertEqual(self.recordfs("get", "--encoded", database, "zero\\x00byte"), (FOUND, b"", ""))
        self.assertEqual(self.good("get", database, ""), b"the empty key")

    def test_history_lists_versions_newest_first_and_at_reads_them(self):
        database = commands.sample("database/leveldb-log-only")
        versions = self.json_lines("get", "--history", "--json", database, "key00000")
        self.assertEqual([version["operation"] for version in versions], ["put", "put"])
        self.assertGreater(versions[0]["sequence"], versions[1]["sequence"])
        values = [self.good("get", "--at", str(version["sequence"]), database, "key00000") for version in versions]
        self.assertEqual(values, [b"value 0 of version 2", b"value 0 of version 1"])
        deleted = self.good("get", "--history", database, "dropped").decode().splitlines()
        self.assertEqual([row.split("\t")[1] for row in deleted], ["delete", "put"])

    def test_merge_operand_needs_the_merge_operator(self):
        self.assert_ends(FAILED, "needs the database's merge operator", "get", commands.sample(MERGES), "key00002")
        versions = self.json_lines("get", "--history", "--json", commands.sample(MERGES), "key00002")
        self.assertEqual([version["operation"] for version in versions], ["merge", "put"])

    def test_operands_are_printed_oldest_first_without_the_operator(self):
        merges = commands.sample(MERGES)
        self.assertEqual(self.good("get", "--operands", merges, "key00002"), b"value 2 of version 1\nagain\n")
        self.assertEqual(self.good("get", "--operands", "--null", merges, "key00009"), b"alone\0")
        lines = self.json_lines("get", "--operands", "--json", merges, "key00002")
        self.assertEqual([(line["operation"], line["value"]) for line in lines],
                         [("put", "value 2 of version 1"), ("merge", "again")])
        self.assertEqual(self.recordfs("get", "--operands", merges, "no such key").status, NOT_FOUND)

    def test_timestamps_are_no_part_of_keys_and_choose_a_state(self):
        timed = commands.sample(TIMED)
        self.assertEqual(self.good("keys", timed).split(), [b"key%05d" % number for number in (0, 1, 3, 4, 6, 9, 10)])
        self.assertEqual(self.good("get", timed, "key00003"), b"value at 30")
        self.assertEqual(self.good("get", "--at-timestamp", "24", timed, "key00003"), b"value at 20")
        self.assertEqual(self.recordfs("get", "--at-timestamp", "25", timed, "key00003").status, NOT_FOUND)
        self.assertEqual(len(self.good("keys", "--at-timestamp", "10", timed).split()), 10)
        line = self.json_lines("get", "--json", timed, "key00003")[0]
        self.assertEqual((line["key"], line["value"], line["timestamp"]), ("key00003", "value at 30", 30))
        lines = self.json_lines("get", "--history", "--json", timed, "key00003")
        self.assertEqual([(line["operation"], line["timestamp"]) for line in lines],
                         [("put", 30), ("delete", 25), ("put", 20), ("put", 10)])
        rows = self.good("get", "--history", "--at-timestamp", "24", timed, "key00003").decode().splitlines()
        self.assertEqual([row.split("\t")[-1] for row in rows], ["timestamp 20", "timestamp 10"])
        lines = self.json_lines("cat", "--json", "--at-timestamp", "10", timed)
        self.assertEqual({line["timestamp"] for line in lines}, {10})
        self.assert_ends(FAILED, "no user-defined timestamps", "get", "--at-timestamp", "1", commands.sample(MERGES), "key00001")

    def test_entity_has_its_columns_in_json_and_its_default_column_as_value(self):
        entities = commands.sample(ENTITIES)
        columns = [{"name": "", "value": "default"}, {"name": "a", "value": "1"}, {"name": "b", "value": "2"}]
        self.assertEqual(self.good("get", entities, "key00001"), b"default")
        self.assertEqual(self.good("get", entities, "key00002"), b"")
        for words in (("get", "--json"), ("get", "--history", "--json")):
            line = self.json_lines(*words, entities, "key00001")[0]
            self.assertEqual((line["operation"], line["size"], line["columns"]), ("put_entity", 7, columns))
        lines = self.json_lines("cat", "--json", entities)
        self.assertEqual([(line["value"], line.get("columns")) for line in lines],
                         [("value 0 of version 1", None), ("default", columns), ("", [{"name": "c", "value": "3"}])])


class Directories(Case):
    def test_tags_of_a_directory_are_the_writes_of_its_tables_and_logs(self):
        for name in (LEVELS, FAMILIES, "database/rocksdb7-blobs"):
            folder = commands.sample(name)
            sums = {}
            for file in sorted([*folder.glob("*.ldb"), *folder.glob("*.sst"), *folder.glob("*.log")]):
                for row in json.loads(self.good("info", "--json", "--tags", file)).get("parts", []):
                    sums[row["part"]] = sums.get(row["part"], 0) + row["entries"]
            made = json.loads(self.good("info", "--json", "--tags", folder))
            self.assertEqual({row["part"]: row["entries"] for row in made["parts"]}, sums, name)
            self.assertGreater(sum(sums.values()), 0)
            self.assertNotIn("parts", json.loads(self.good("info", "--json", folder)))
        self.assertRegex(self.good("info", "--tags", commands.sample(LEVELS)).decode(),
                         r"(?m)^ +entries +records  part +type\n +36 +36  key deleted\n +205 +205  value set\n\Z")

    def test_tags_of_a_damaged_table_are_reported(self):
        folder = self.copy_database(LEVELS)
        table = folder / "000005.ldb"
        content = bytearray(table.read_bytes())
        content[100] ^= 1
        table.write_bytes(content)
        self.assert_ends(commands.DAMAGE, "000005.ldb: byte 0: ", "info", "--tags", folder)

    def test_cat_writes_a_line_of_json_for_each_key(self):
        for name in (LEVELS, FAMILIES):
            lines = self.json_lines("cat", "--json", commands.sample(name))
            expected = [(family if name == FAMILIES else None, key, size, first)
                        for family, rows in families(name).items() for key, size, first in rows]
            self.assertEqual([(line.get("column_family"), bytes_of(line, "key"), line["size"],
                               bytes_of(line, "value")[:64]) for line in lines], expected)

    def test_grep_searches_keys_and_their_newest_values(self):
        database = commands.sample("database/leveldb-log-only")
        matching = [line for line in self.json_lines("cat", "--json", database) if "version 2" in line.get("value", "")]
        self.assertIn(b"0 of version 1", self.good("grep", "--raw", "0 of version 1", database))
        self.assertEqual(self.recordfs("grep", "0 of version 1", database).status, 1)  # overwritten
        self.assertEqual(self.recordfs("grep", "dropped", database).status, 1)  # deleted
        self.assertEqual(self.good("grep", "^value 0 of version 2", database), b"key00000\tvalue 0 of version 2\n")
        self.assertEqual(self.good("grep", "-o", "key00000|version 2", "-m1", database), b"key00000\tkey00000\nkey00000\tversion 2\n")
        self.assertEqual(self.good("grep", "-c", "version 2", database), b"%d\n" % len(matching))
        self.assertEqual(self.good("grep", "-l", "VERSION", "-i", database), bytes(database) + b"\n")
        self.assertEqual(self.good("grep", "-q", "version", database), b"")
        line, = self.json_lines("grep", "--json", "0 of", "-m1", database)
        self.assertEqual((line["database"], line["key"], line["value"], line["matches"]),
                         (str(database), "key00000", "value 0 of version 2",
                          [{"in": "value", "begin": 6, "end": 10, "text": "0 of"}]))

    def test_grep_prefixes_files_and_column_families(self):
        database = commands.sample(FAMILIES)
        lines = self.good("grep", "-H", "", database).decode(errors="replace").splitlines()
        self.assertTrue(all(line.startswith(f"{database}:") for line in lines))
        names = {line[len(f"{database}:"):].split("\t")[0] for line in lines}
        self.assertEqual(names, {"default", "second"})
        inverted = self.good("grep", "-v", "-c", "key0000[0-4]", database)
        selected = self.good("grep", "-c", "key0000[0-4]", database)
        everything = self.good("grep", "-c", "", database)
        self.assertEqual(int(inverted) + int(selected), int(everything))
        self.assertEqual(int(everything), sum(map(len, families(FAMILIES).values())))

    def test_grep_refuses_options_of_records_for_a_database(self):
        for words in (["--ordinals"], ["--decoded"], ["--field", "a"]):
            self.assert_ends(FAILED, r"without --decoded, --field and --ordinals \(try: --raw\)", "grep", *words, "a",
                             commands.sample(LEVELS))

    def test_grep_reports_values_that_it_cannot_search(self):
        done = self.recordfs("grep", "key00002", commands.sample(MERGES))
        self.assertEqual((done.status, done.out), (FAILED, b"key00002\t\n"))
        self.assertRegex(done.err, "which needs the database's merge operator")

    def test_cat_refuses_a_database_without_json(self):
        self.assert_ends(commands.WRONG_USE, r"with --json only", "cat", commands.sample(LEVELS))
        self.assert_ends(commands.WRONG_USE, r"without a RANGE", "cat", "--json", commands.sample(LEVELS), "3")
        self.assert_ends(commands.WRONG_USE, r"without --split", "cat", "--json", "--split", "0/2", commands.sample(LEVELS))
        self.assert_ends(commands.WRONG_USE, r"without --fields", "cat", "--json", "--fields", "a", commands.sample(LEVELS))

    def test_cat_writes_the_keys_that_options_choose(self):
        every = self.json_lines("cat", "--json", commands.sample(LEVELS))
        chosen = self.json_lines("cat", "--json", "--from", "key00050", "--to", "key00060", commands.sample(LEVELS))
        self.assertEqual(chosen, [line for line in every if "key00050" <= line["key"] < "key00060"])
        self.assertEqual(self.json_lines("cat", "--json", "--prefix", "key002", "--limit", "2", commands.sample(LEVELS)),
                         [line for line in every if line["key"].startswith("key002")][:2])
        self.assert_ends(commands.WRONG_USE, "not an escaped key", "cat", "--json", "--encoded", "--from", "\\n",
                         commands.sample(LEVELS))
        second = self.json_lines("cat", "--json", "--column-family", "second", commands.sample(FAMILIES))
        self.assertEqual({line["column_family"] for line in second}, {"second"})
        self.assertEqual(len(second), len(families(FAMILIES)["second"]))
        self.assertEqual(len(self.json_lines("cat", "--json", "--limit", "3", commands.sample(FAMILIES))), 3)
        log_only = commands.sample("database/leveldb-log-only")
        versions = self.json_lines("get", "--history", "--json", log_only, "key00000")
        old = self.json_lines("cat", "--json", "--at", str(versions[1]["sequence"]), "--prefix", "key00000", log_only)
        self.assertEqual([line["value"] for line in old], ["value 0 of version 1"])

    def test_cat_with_options_about_keys_reads_tables_as_a_database(self):
        database = self.copy_database(LEVELS)
        pattern = database / "[0-9]*.ldb"
        expected = self.good("keys", "--limit", "4", pattern).decode().splitlines()
        for files in ([pattern], sorted(database.glob("*.ldb"))):
            lines = self.json_lines("cat", "--json", "--limit", "4", *files)
            self.assertEqual([line["key"] for line in lines], expected)
        self.assert_ends(commands.CANNOT_OPEN, "not a log, table or blob file", "cat", "--json", "--limit", "4",
                         commands.sample("riegeli/simple_zstd9.riegeli"))

    def test_cat_writes_values_in_the_wanted_form(self):
        first = self.json_lines("cat", "--json", "--limit", "1", commands.sample(LEVELS))[0]
        in_hex = self.json_lines("cat", "--json", "--bytes", "hex", "--limit", "1", commands.sample(LEVELS))[0]
        self.assertEqual([bytes.fromhex(in_hex[name + "_hex"]).decode() for name in ("key", "value")],
                         [first["key"], first["value"]])
        without = self.json_lines("cat", "--json", "--no-raw", "--limit", "1", commands.sample(LEVELS))[0]
        del first["value"]
        self.assertEqual(without, first)

    def test_cat_of_merge_operands_has_errors_instead_of_values(self):
        done = self.recordfs("cat", "--json", commands.sample(MERGES))
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: .*: \d of \d keys without a value: a merge operand, which needs the database's merge operator append\n\Z")
        merges = [line for line in map(json.loads, done.out.splitlines()) if line["operation"] == "merge"]
        self.assertTrue(merges and all("error" in line and "value" not in line for line in merges))

    def test_info_prints_engine_families_levels_and_sequence(self):
        shown = self.good("info", commands.sample(LEVELS)).decode()
        for line in ("format +database", "engine +LevelDB", r"manifest +MANIFEST-\d+", r"last sequence +\d+",
                     r"column families +default \(leveldb.BytewiseComparator\)", r"level 0 +\d files, \d+ bytes",
                     r"logs +1 file, \d+ bytes, \d+ writes"):
            self.assertRegex(shown, rf"(?m)^{line}$")
        info = json.loads(self.good("info", "--json", commands.sample(FAMILIES)))
        self.assertEqual((info["engine"], info["recovered"], info["may_be_stale"]), ("RocksDB", False, False))
        self.assertEqual([family["name"] for family in info["column_families"]], ["default", "second", "empty"])

    def test_info_without_a_manifest_says_so(self):
        copy = self.copy_database(LEVELS)
        (copy / "CURRENT").write_text("nothing")
        done = self.recordfs("info", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out.decode(), r"(?m)^manifest +none; the state comes from all tables and logs$")
        self.assertRegex(done.err, r"/CURRENT: ")

    def test_problem_of_a_database_as_a_whole_has_no_position(self):
        copy = self.copy_database(LEVELS)
        (copy / "CURRENT").unlink()
        table = self.recordfs("info", copy).out.decode()
        self.assertRegex(table, r"(?m)^problems +CURRENT: there is no CURRENT\n +without the MANIFEST, ")
        self.assertRegex(self.recordfs("verify", copy).out.decode(), rf"(?m)^{copy}: damage: without the MANIFEST, ")

    def test_verify_ignores_files_that_are_removed_meanwhile(self):
        copy = self.copy_database(LEVELS)
        (copy / "000001.log").symlink_to("removed")
        self.good("verify", copy)

    def test_tables_may_be_in_another_directory(self):
        copy = self.copy_database(LEVELS)
        other = self.folder / "other"
        other.mkdir()
        table = sorted(copy.glob("*.ldb"))[0]
        table.rename(other / table.name)
        wanted = self.good("keys", commands.sample(LEVELS))
        self.assertEqual(self.recordfs("keys", copy).status, commands.DAMAGE)
        self.assertEqual(self.good("keys", "--db-path", other, copy), wanted)
        self.assertEqual(self.good("keys", f"--db-path={other}", copy), wanted)
        self.assertEqual(self.good("keys", copy, "--db-path", self.folder, "--db-path", other), wanted)

    def test_logs_may_be_in_another_directory(self):
        copy = self.copy_database(LEVELS)
        other = self.folder / "wal"
        other.mkdir()
        for log in copy.glob("*.log"):
            log.rename(other / log.name)
        self.assertEqual(self.recordfs("keys", copy).status, commands.DAMAGE)
        self.assertEqual(self.good("keys", "--wal-dir", other, copy), self.good("keys", commands.sample(LEVELS)))

    def test_verify_finds_nothing_in_good_databases(self):
        for name in databases():
            if "plain-table" not in name:
                with self.subTest(sample=name):
                    for words in (commands.sample(name), f"{commands.sample(name)}/"):
                        rows = self.good("verify", words).decode().splitlines()
                        self.assertEqual([row for row in rows if ": surplus: " not in row], [])

    def test_damage_of_the_manifest_in_use_counts(self):
        copy = self.copy_database(LEVELS)
        manifest = commands.with_bit_flipped(next(copy.glob("MANIFEST-*")), 20)
        (copy / "MANIFEST-000001").write_bytes(manifest.read_bytes())  # an old one
        done = self.recordfs("verify", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertNotRegex(done.out.decode(), rf"{manifest}: surplus")
        self.assertRegex(done.out.decode(), rf"(?m)^{manifest}: .*checksum")
        self.assertRegex(done.out.decode(), rf"(?m)^{copy}/MANIFEST-000001: surplus: ")

    def test_verify_reports_missing_and_wrong_files(self):
        copy = self.copy_database(LEVELS)
        first, second, *_ = sorted(copy.glob("*.ldb"))
        first.unlink()
        with second.open("ab") as file:
            file.write(b"more")
        done = self.recordfs("verify", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        shown = done.out.decode()
        self.assertRegex(shown, rf"(?m)^{first}: missing: ")
        self.assertRegex(shown, rf"(?m)^{second}: wrong size: \d+ bytes, and \d+ in the MANIFEST$")
        lines = self.json_lines("verify", "--json", "-r", self.folder)
        self.assertEqual({line["file"]: line["status"] for line in lines}[str(first)], "damaged")

    def test_verify_of_surplus_files_is_no_failure(self):
        copy = self.copy_database(LEVELS)
        shutil.copy(sorted(copy.glob("*.ldb"))[0], copy / "999999.ldb")
        done = self.recordfs("verify", copy)
        self.assertEqual((done.status, done.out.count(b"\n")), (commands.GOOD, 1))
        self.assertRegex(done.out.decode(), rf"(?m)^{copy}/999999.ldb: surplus: ")

    def test_table_that_was_overwritten_is_damage(self):
        other = commands.sample("riegeli/simple_zstd9.riegeli").read_bytes()
        for content in (lambda size: b"\0" * size, lambda size: b"text " * (size // 5), lambda size: other):
            copy = self.copy_database(LEVELS)
            table = sorted(copy.glob("*.ldb"))[0]
            table.write_bytes(content(table.stat().st_size))
            for words in (["verify", copy], ["verify", "-r", self.folder]):
                done = self.recordfs(*words)
                self.assertEqual(done.status, commands.DAMAGE, done.out)
                self.assertRegex(done.out.decode(), rf"(?m)^{table}: damage: ")
            shutil.rmtree(copy)

    def test_plain_tables_are_named(self):
        done = self.recordfs("verify", commands.sample("database/rocksdb7-plain-table"))
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.out.decode(), r"(?m)\.sst: unsupported: a plain table of RocksDB, which recordfs does not read")

    def test_table_of_another_kind_is_no_damage(self):
        copy = self.copy_database("database/rocksdb7-blobs")
        plain = next(commands.sample("database/rocksdb7-plain-table").glob("*.sst"))
        table = sorted(copy.glob("*.sst"))[0]
        shutil.copy(plain, table)
        rows = self.recordfs("verify", copy).out.decode().splitlines()
        self.assertEqual([row for row in rows if "plain table" in row],
                         [f"{table}: unsupported: a plain table of RocksDB, which recordfs does not read "
                          "(try: sst_dump --file=FILE --command=scan)"])

    def test_checksums_of_files_are_compared(self):
        self.assertEqual(self.good("verify", commands.sample(CHECKSUMS)), b"")
        copy = self.copy_database(CHECKSUMS)
        table = copy / "000019.sst"
        content = table.read_bytes()
        self.assertIn(b"value00007", content)
        table.write_bytes(content.replace(b"value00007", b"value00008"))  # its blocks have no checksums
        done = self.recordfs("verify", copy)
        self.assertEqual((done.status, done.out.decode()),
                         (commands.DAMAGE, f"{table}: damage: the checksum of the file is not that in the MANIFEST\n"))

    def test_table_without_checksums_is_not_called_good(self):
        table = commands.sample(CHECKSUMS) / "000019.sst"
        done = self.recordfs("verify", table)
        self.assertEqual((done.status, done.err), (commands.PARTLY_DONE, ""))
        self.assertEqual(done.out.decode(),
                         f"{table}: unchecked: the file has no checksums, so damage may not have been found\n")
        self.assertEqual(self.json_lines("verify", "--json", table)[0]["status"], "unchecked")

    def test_verify_counts_keys_that_may_be_stale_in_a_damaged_database(self):
        copy = self.copy_database(LEVELS)
        self.assertNotRegex(self.good("verify", copy).decode(), "stale")
        sorted(copy.glob("*.ldb"))[-1].unlink()
        done = self.recordfs("verify", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out.decode(),
                         rf"(?m)^{copy}: stale: \d+ of \d+ keys may have a newer value, or may be deleted, in what is damaged$")

    def test_missing_beside_surplus_tables_mean_that_the_manifest_lost_edits(self):
        copy = self.copy_database(LEVELS)
        intact = self.good("keys", copy)
        table = sorted(copy.glob("*.ldb"))[0]
        table.rename(copy / "999999.ldb")
        done = self.recordfs("verify", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out.decode(), rf"(?m)^{copy}/MANIFEST-\d+: damage: .*has lost its last edits$")
        self.assertRegex(done.out.decode(), rf"(?m)^{table}: damage: .*names this table, and it does not exist$")
        self.assertEqual(self.recordfs("keys", copy).out, intact)

    def test_verify_reads_the_blobs(self):
        copy = self.copy_database("database/rocksdb7-blobs")
        blob = sorted(copy.glob("*.blob"))[0]
        commands.with_bit_flipped(blob, blob.stat().st_size - 60)  # in the last value
        done = self.recordfs("verify", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out.decode(), rf"(?m)^{copy}: value: key key\d+: ")


if __name__ == "__main__":
    commands.main()
