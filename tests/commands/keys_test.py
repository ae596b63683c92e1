#!/usr/bin/env python3
"""recordfs keys and get."""
import json
import shutil
import subprocess

import commands
from databases import ENTITIES, FAILED, FAMILIES, FOREIGN, FOUND, LEVELS, MERGES, NOT_FOUND, TIMED, Case, bytes_of, databases, families

TABLE = "leveldb_table/leveldb-compacted.ldb"


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
                                   "old values and deleted keys may appear, and keys may be missing$")

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

    def test_history_that_lost_an_old_version_is_an_error(self):
        copy = self.copy_database(LEVELS)
        whole = self.good("get", "--history", copy, "key00000").splitlines()
        oldest = copy / whole[-1].split(b"\t")[3].decode()
        oldest.write_bytes(bytes(oldest.stat().st_size))
        done = self.recordfs("get", "--history", copy, "key00000")
        self.assertEqual((done.status, done.out.splitlines()), (FAILED, whole[:-1]))
        self.assertRegex(done.err, rf"{oldest}: .*\n.*key key00000: may have other versions in what is damaged")

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
        self.assertEqual(self.good("get", "--history", entities, "key00001").split(b"\t")[-1], b"columns :7 a:1 b:1\n")
        lines = self.json_lines("cat", "--json", entities)
        self.assertEqual([(line["value"], line.get("columns")) for line in lines],
                         [("value 0 of version 1", None), ("default", columns), ("", [{"name": "c", "value": "3"}])])


if __name__ == "__main__":
    commands.main()
