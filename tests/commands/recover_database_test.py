#!/usr/bin/env python3
"""recordfs recover of the directory of a LevelDB database: the keys of the new one, what is listed, and what is left."""
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

import commands
import databases
import tfrecords


def batch(sequence, key, value=b"v", kind=1):
    """Returns a batch that sets the value of a key; both have less than 128 bytes. `kind`: of the operation."""
    return struct.pack("<QIB", sequence, 1, kind) + bytes([len(key)]) + key + bytes([len(value)]) + value


def entity_batch(sequence, key, name):
    """Returns a batch of RocksDB that sets an entity with one column."""
    return batch(sequence, key, b"\1\1" + bytes([len(name)]) + name + b"\4" + b"only", kind=0x16)


class RecoverDatabase(databases.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "new"

    def values(self, path, *options):
        """Returns [(key, value)] of a database, as far as its values can be read."""
        lines = map(json.loads, self.recordfs("cat", "--json", "--skip-damage", *options, path).out.splitlines())
        return [(databases.bytes_of(line, "key"), databases.bytes_of(line, "value")) for line in lines if "error" not in line]

    def made(self):
        """Returns the names of what the command made."""
        return [name for name in os.listdir(self.folder) if name not in ("caches", "database")]

    def test_new_database_has_the_same_keys_and_values(self):
        for name in ("database/leveldb-levels", "database/leveldb-log-only", "database/goleveldb-reopened"):
            self.out = self.folder / os.path.basename(name)
            self.assertEqual(self.good("recover", str(commands.sample(name)), "-o", str(self.out)), b"")
            self.assertEqual(sorted(os.listdir(self.out)), ["000003.log", "CURRENT", "MANIFEST-000002"])
            found = self.values(str(self.out))
            self.assertEqual(found, self.values(str(commands.sample(name))))
            self.assertEqual([key for key, _ in found], [key for key, _, _ in databases.families(name)["default"]])
            self.good("verify", str(self.out))

    def test_files_in_other_directories_are_recovered_too(self):
        for name, option in (("database/rocksdb11-wal-dir", ("--wal-dir", f"{commands.sample('database/rocksdb11-wal-dir')}.logs")),
                             ("database/rocksdb11-db-paths", ("--db-path", commands.sample("database/rocksdb11-db-paths") / "path1"))):
            self.out = self.folder / os.path.basename(name)
            source, option = str(commands.sample(name)), tuple(map(str, option))
            self.good("recover", *option, source, "-o", str(self.out))
            table = str(self.out / "default.sst")
            entries = [line["decoded"] for line in self.json_lines("cat", "--json", table)]
            found = [(databases.bytes_of(entry, "key"), databases.bytes_of(entry, "value")) for entry in entries]
            self.assertEqual(found, self.values(source, *option))
            self.assertEqual(json.loads(self.good("info", "--json", table))["codec"], "none")
        self.assertEqual(self.recordfs("recover", source, "-o", str(self.folder / "part")).status, commands.DAMAGE)
        for words in ((*option, str(commands.sample("tfrecord/small.tfrecord"))), ("--link", source)):
            self.assert_ends(commands.WRONG_USE, "databases", "recover", *words, "-o", str(self.folder / "x"))

    def test_database_among_other_sources_is_not_recovered_as_its_files(self):
        first, second = (str(commands.sample(f"database/{name}")) for name in ("rocksdb11-wal-dir", "rocksdb11-db-paths"))
        for words in ((first, second), (str(commands.sample("tfrecord/small.tfrecord")), second)):
            self.assert_ends(commands.WRONG_USE, "a database, which is recovered alone", "recover", *words, "-o", f"{self.out}/")
            self.assertFalse(self.out.exists())

    def test_damaged_table_costs_only_its_block_and_stale_keys_are_listed(self):
        source = self.copy_database(databases.LEVELS)
        tables = sorted(source.glob("*.ldb"))
        commands.with_bit_flipped(tables[-1], 100)
        report = self.folder / "lost.jsonl"
        done = self.recordfs("recover", str(source), "-o", f"{self.out}/", "--report", str(report))
        self.assertEqual(done.status, commands.DAMAGE, done.err)
        found = self.values(str(self.out))
        self.assertEqual(found, self.values(str(source)))
        self.assertRegex(done.err, rf"{len(found)} keys written; an unknown number lost, \d+ may be stale\n\Z")
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        stale = [row for row in rows if row["class"] == "stale"]
        damage = [row for row in rows if row not in stale]
        self.assertEqual([(row["file"], row["class"]) for row in damage], [(str(tables[-1]), "damage")])
        self.assertNotIn("key", damage[0])
        marked = [line for line in self.json_lines("cat", "--json", "--skip-damage", str(source)) if line.get("stale")]
        self.assertEqual([row["key"] for row in stale], [row["key"] for row in marked])
        self.good("verify", str(self.out))

    def test_keys_that_exceed_the_limits_are_not_lost(self):
        intact = commands.sample(databases.LEVELS)
        source = self.copy_database(databases.LEVELS)
        commands.with_bit_flipped(sorted(source.glob("*.ldb"))[-1], 100)
        for path, limit in ((intact, 200), (intact, 800), (source, 800)):
            done = self.recordfs("recover", "--max-chunk", str(limit), str(path), "-o", str(self.out))
            self.assertEqual((done.status, self.made()), (commands.PARTLY_DONE, []), (limit, done.err))
            self.assertIn("no database is written", done.err)

    def test_report_is_never_a_file_of_the_database(self):
        source = self.copy_database(databases.LEVELS)
        table = sorted(source.glob("*.ldb"))[0]
        before = table.read_bytes()
        link = self.folder / "link"
        link.hardlink_to(table)
        for report in (link, self.out):
            self.assert_ends(commands.WRONG_USE, "would replace", "recover", "-f", str(source), "-o", str(self.out), "--report", str(report))
        self.assertEqual((table.read_bytes(), self.made()), (before, ["link"]))

    def test_nothing_is_written_to_a_directory_of_the_database(self):
        source = self.copy_database(databases.LEVELS)
        link = self.folder / "link"
        link.symlink_to(source)
        (source / "below").mkdir()
        before = sorted(os.listdir(source))
        for words in (("-o", f"{source}/in"), ("-o", f"{source}/in/"), ("-o", f"{link}/in"), ("-o", f"{source}/below/in"),
                      ("-o", f"{source}/below/../in"), ("-o", self.out, "--report", f"{link}/report")):
            self.assert_ends(commands.WRONG_USE, "is in a directory of the database", "recover", source, *words)
        self.assertEqual((sorted(os.listdir(source)), sorted(self.made())), (before, ["link"]))

    def test_rocksdb_without_readable_keys_becomes_no_directory(self):
        source = self.copy_database("database/rocksdb7-format1-zstd")
        for table in source.glob("*.sst"):
            table.unlink()
        done = self.recordfs("recover", source, "-o", self.out)
        self.assertEqual((done.status, self.made()), (commands.PARTLY_DONE, []))
        self.assertIn("new: no key can be read, and RocksDB ingests no table without keys, so none is written\n", done.err)

    def test_checksums_of_whole_files_are_compared(self):
        source = self.copy_database(databases.CHECKSUMS)  # its blocks have none
        table = sorted(source.glob("*.sst"))[0]
        data = table.read_bytes()
        table.write_bytes(data.replace(b"value", b"vALue", 1))
        self.assertNotEqual(table.read_bytes(), data)
        report = self.folder / "lost"
        done = self.recordfs("recover", str(source), "-o", str(self.out), "--report", str(report))
        self.assertEqual(done.status, commands.DAMAGE, done.err)
        self.assertIn("the checksum of the file is not that in the MANIFEST", done.err)
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        self.assertIn((str(table), "the checksum of the file is not that in the MANIFEST"), [(row["file"], row.get("reason")) for row in rows])

    def test_torn_ends_of_manifest_and_log_may_have_cost_writes(self):
        for pattern, cut in (("MANIFEST-*", 3), ("*.log", 3)):
            source = self.copy_database("database/rocksdb11-levels-100")
            torn, = source.glob(pattern)
            torn.write_bytes(torn.read_bytes()[:-cut])
            done = self.recordfs("recover", str(source), "-o", str(self.out), "--report", str(self.folder / "lost"))
            self.assertEqual(done.status, commands.DAMAGE, done.err)
            self.assertIn("an unknown number lost, any may be stale", done.err)
            row, stale = map(json.loads, (self.folder / "lost").read_text(encoding="utf-8").splitlines())
            self.assertEqual((row["file"], row["class"]), (str(torn), "unfinished"))
            # Only a log shows which writes it has lost at most.
            last = max(line["sequence"] for line in self.json_lines("cat", "--json", str(source)))
            self.assertEqual((stale["file"], stale["class"], stale.get("key"), stale.get("last_sequence")),
                             (str(source), "stale", None, last if pattern == "*.log" else None))
            for made in (source, self.out):
                shutil.rmtree(made)
            (self.folder / "lost").unlink()

    def test_log_of_rocksdb_without_writes_has_lost_those_that_are_in_no_other_log(self):
        source = self.copy_database("database/rocksdb7-first-keys")
        (source / "OPTIONS-000001").write_bytes(b"")
        log, = source.glob("*.log")
        logged = [line["decoded"] for line in self.json_lines("cat", "--json", str(log))]
        first, last = logged[0]["sequence"], logged[-1]["sequence"] + logged[-1]["count"] - 1
        newer = source / f"{int(log.stem) + 2:06}.log"
        newer.write_bytes(tfrecords.log_fragment(1, batch(last + 1, b"new")))
        self.good("verify", str(source))
        log.write_bytes(b"")
        for command in (("verify",), ("keys",), ("recover", "-o", str(self.out))):
            done = self.recordfs(*command, str(source))
            self.assertEqual(done.status, commands.DAMAGE)
            self.assertIn(f"no writes, although the writes {first} to {last} are in no other log, so they may be lost", done.out.decode() + done.err)
        newer.write_bytes(tfrecords.log_fragment(1, batch(first, b"new")))  # the process ended before its first write
        self.assertEqual(self.recordfs("verify", str(source)).status, commands.DAMAGE)
        (source / f"OPTIONS-{int(log.stem) + 3:06}").write_bytes(b"")  # and was started again
        self.good("verify", str(source))

    def test_log_without_writes_before_another_one_has_lost_them(self):
        source = self.copy_database("database/leveldb-log-only")
        log, = source.glob("*.log")
        number, value = int(log.stem), self.values(str(source))
        last = max(line["sequence"] for line in self.json_lines("cat", "--json", str(source)))
        newer = source / f"{number + 2:06}.log"
        newer.write_bytes(tfrecords.log_fragment(1, batch(last + 1, b"new")))
        self.assertEqual((self.recordfs("verify", str(source)).status, len(self.values(str(source)))), (commands.GOOD, len(value) + 1))
        log.write_bytes(b"")
        newer.write_bytes(tfrecords.log_fragment(1, batch(1, b"new")))  # so that no number is missing
        done = self.recordfs("recover", str(source), "-o", str(self.out))
        self.assertEqual((done.status, self.recordfs("verify", str(source)).status), (commands.DAMAGE, commands.DAMAGE), done.err)
        self.assertIn(f"{log.name}: byte 0: no writes, although {newer.name} continues it, so they may be lost", done.err)
        newer.unlink()  # a new database
        self.good("verify", str(source))

    def test_lost_manifest_costs_no_key(self):
        source = self.copy_database(databases.LEVELS)
        for path in source.glob("MANIFEST-*"):
            path.unlink()
        done = self.recordfs("recover", str(source), "-o", str(self.out))
        self.assertIn(done.status, (commands.GOOD, commands.DAMAGE), done.err)
        self.assertEqual(self.values(str(self.out)), self.values(str(commands.sample(databases.LEVELS))))

    def test_databases_that_cannot_be_written_are_refused(self):
        for name, reason in ((databases.TIMED, "does not write keys with timestamps"),
                             (databases.ENTITIES, "does not write values with several columns"),
                             (databases.MERGES, "keys that are not lost cannot be read"), (databases.FOREIGN, "the order of its keys is unknown")):
            done = self.recordfs("recover", str(commands.sample(name)), "-o", str(self.out))
            self.assertEqual(done.status, commands.PARTLY_DONE)
            self.assertIn(reason, done.err)
            self.assertEqual(self.made(), [])

    def test_entity_with_the_default_column_alone_is_a_value(self):
        source = self.copy_database("database/rocksdb7-first-keys")
        before = self.values(str(source))
        log, = source.glob("*.log")
        last = max(line["sequence"] for line in self.json_lines("cat", "--json", str(source)))
        newer = source / f"{int(log.stem) + 2:06}.log"
        newer.write_bytes(tfrecords.log_fragment(1, entity_batch(last + 1, b"zz", b"")))
        self.good("recover", str(source), "-o", str(self.out))
        entries = [line["decoded"] for line in self.json_lines("cat", "--json", str(self.out / "default.sst"))]
        found = [(databases.bytes_of(entry, "key"), databases.bytes_of(entry, "value")) for entry in entries]
        self.assertEqual(found, [*before, (b"zz", b"only")])
        shutil.rmtree(self.out)
        newer.write_bytes(tfrecords.log_fragment(1, entity_batch(last + 1, b"zz", b"x")))
        done = self.recordfs("recover", str(source), "-o", str(self.out))
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("key zz: recover does not write values with several columns", done.err)

    def test_each_family_of_rocksdb_becomes_a_table(self):
        self.good("recover", str(commands.sample(databases.FAMILIES)), "-o", str(self.out))
        families = {name: rows for name, rows in databases.families(databases.FAMILIES).items() if rows}
        self.assertEqual({name.removesuffix(".sst") for name in os.listdir(self.out)}, set(families))
        for name in families:
            entries = [line["decoded"] for line in self.json_lines("cat", "--json", str(self.out / f"{name}.sst"))]
            self.assertEqual({(entry["sequence"], entry["type"]) for entry in entries}, {(0, "put")})
            self.assertEqual([(databases.bytes_of(entry, "key"), databases.bytes_of(entry, "value")) for entry in entries], self.values(str(commands.sample(databases.FAMILIES)), "--column-family", name))
            facts = {row["key"]: row for row in json.loads(self.good("info", "--json", str(self.out / f"{name}.sst")))["metadata"]}
            self.assertIn("rocksdb.external_sst_file.global_seqno", facts)
            self.good("verify", str(self.out / f"{name}.sst"))

    @unittest.skipUnless(shutil.which("ldb"), "no ldb (Debian: rocksdb-tools)")
    def test_rocksdb_ingests_the_table(self):
        name = "database/rocksdb7-blobs"
        self.good("recover", str(commands.sample(name)), "-o", str(self.out))
        ldb = ["ldb", f"--db={self.folder / 'database'}"]
        subprocess.run([*ldb, "--create_if_missing", "ingest_extern_sst", self.out / "default.sst"], check=True, capture_output=True)
        lines = subprocess.run([*ldb, "scan", "--hex"], check=True, capture_output=True, text=True).stdout.splitlines()
        found = [tuple(bytes.fromhex(text.strip().removeprefix("0x")) for text in line.split(" : " if " : " in line else "==>")) for line in lines]
        self.assertEqual(found, self.values(str(commands.sample(name))))

    @unittest.skipUnless(shutil.which("ldb"), "no ldb (Debian: rocksdb-tools)")
    def test_families_with_names_that_become_equal_have_different_tables(self):
        source = self.folder / "database"
        ldb = ["ldb", f"--db={source}"]
        subprocess.run([*ldb, "--create_if_missing", "put", "k", "default"], check=True, capture_output=True)
        for name in (".x", "family-1"):
            subprocess.run([*ldb, "create_column_family", name], check=True, capture_output=True)
            subprocess.run([*ldb, f"--column_family={name}", "put", "k", name], check=True, capture_output=True)
        self.good("recover", str(source), "-o", str(self.out))
        tables = {"default.sst": b"default", "family-1.sst": b".x", "family-1-2.sst": b"family-1"}
        found = {name: databases.bytes_of(self.json_lines("cat", "--json", str(self.out / name))[0]["decoded"], "value")
                 for name in os.listdir(self.out)}
        self.assertEqual(found, tables)

    def test_existing_directory_is_never_replaced(self):
        self.out.mkdir()
        done = self.recordfs("recover", "-f", str(commands.sample(databases.LEVELS)), "-o", str(self.out))
        self.assertEqual((done.status, os.listdir(self.out)), (commands.PARTLY_DONE, []))
        self.assertIn("File exists (a database becomes a new directory, also with -f)", done.err)

    def test_killed_command_leaves_nothing(self):
        with subprocess.Popen([commands.program("recordfs"), "recover", commands.sample(databases.LEVELS), "-o", self.out],
                              stderr=subprocess.PIPE, env=self.environment()) as running:
            deadline = time.monotonic() + commands.PATIENCE
            while not self.made() and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            running.send_signal(signal.SIGKILL)
            running.wait(commands.PATIENCE)
        while running.returncode != 0 and self.made() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIn((running.returncode, self.made()), ((-signal.SIGKILL, []), (0, ["new"])))


if __name__ == "__main__":
    commands.main()
