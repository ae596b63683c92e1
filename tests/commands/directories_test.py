#!/usr/bin/env python3
"""What info, cat, grep and verify do with the directory of a database."""
import json
import shutil

import commands
from databases import CHECKSUMS, ENTITIES, FAILED, FAMILIES, LEVELS, MERGES, Case, bytes_of, databases, families


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
        done = self.recordfs("info", "--tags", folder)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"(?m)^recordfs: \S+/000005\.ldb: byte 0: ")

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

    def test_columns_of_entities_are_searched(self):
        entities = commands.sample(ENTITIES)
        self.assertEqual(self.good("grep", "-c", "^3$", entities), b"1\n")
        self.assertEqual(self.good("grep", "default|^2$", entities), b"key00001\tdefault\ta=1\tb=2\n")
        self.assertEqual(self.good("grep", "-o", "^[a2d]", entities), b"key00001\td\nkey00001\ta\nkey00001\t2\n")
        self.assertEqual(self.good("grep", "-v", "^[ac]$", entities), b"key00000\tvalue 0 of version 1\n")
        line, = self.json_lines("grep", "--json", "^c$", entities)
        self.assertEqual(line["matches"], [{"in": "columns", "begin": 0, "end": 1, "text": "c"}])
        self.assertEqual(line["columns"], [{"name": "c", "value": "3"}])
        damaged = self.copy_database("database/rocksdb11-entities-in-blob-files")
        for path in damaged.glob("*.blob"):
            path.write_bytes(b"")
        self.assertEqual(self.recordfs("grep", "-c", "no such text", damaged).status, FAILED)
        for command in ("verify", "info", "report"):
            self.assertIn("and the MANIFEST says that its values have", self.recordfs(command, damaged).out.decode())

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
        for words in (["--ordinals"], ["--decoded"], ["--field", "a"], ["-A", "1"]):
            self.assert_ends(FAILED, r"without --decoded, .*--ordinals, --where, -A, -B and -C \(try: --raw\)", "grep", *words, "a",
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
        (copy / "CURRENT").write_text("MANIFEST-000099\n")
        done = self.recordfs("info", copy)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.out.decode(), r"(?m)^manifest +none; the state comes from all tables and logs$")
        self.assertRegex(done.err, r"/MANIFEST-000099: CURRENT names it, and it does not exist")

    def test_problem_of_a_database_as_a_whole_has_no_position(self):
        copy = self.copy_database(LEVELS)
        for manifest in copy.glob("MANIFEST-*"):
            manifest.unlink()
        table = self.recordfs("info", copy).out.decode()
        self.assertRegex(table, r"(?m)^problems +MANIFEST-.* does not exist\n +without the MANIFEST, ")
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
            # verify says of tables without checksums that it cannot.
            if "plain-table" not in name and "no-checksums" not in name:
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
                         f"{table}: unchecked: the records have no checksums, so damage may not have been found\n")
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
