#!/usr/bin/env python3
"""Databases as a mount: keys/ has what the database itself returns, history/ every stored version, files/ the directory."""
import errno
import json
import os
import shutil

import keys_test
import mounting
from built import EXPECTATION


def expected_families(name):
    """Returns {family: {key: (size, first bytes)}} of a sample, with keys in the database's order."""
    text = (mounting.sample("database") / f"{name}{EXPECTATION}").read_text(encoding="utf-8")
    return {family["name"]: {bytes.fromhex(key): (size, bytes.fromhex(first)) for key, size, first in family["keys"]}
            for family in json.loads(text)["families"]}


class DatabaseCase(mounting.Case):
    def database(self, name):
        """Copies a sample."""
        return shutil.copytree(mounting.sample(f"database/{name}"), self.folder / name)

    def mount(self, *sources, options=(), **more):
        return super().mount(*sources, options=("xattr", *options), **more)

    def written(self, *operations, name="made"):
        """Creates a database whose only log has these writes, without a MANIFEST."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "CURRENT").write_text("MANIFEST-000002\n")
        (folder / "000003.log").write_bytes(keys_test.log(keys_test.Batches().add(*operations).records))
        return folder

    def keys_in(self, directory):
        """Returns {key: file} in listing order. The key comes from the extended attribute."""
        files = [directory / name for name in os.listdir(directory) if name != "column-families"]
        return {os.getxattr(file, "user.recordfs.key"): file for file in files}


class Samples(DatabaseCase):
    def test_info_is_what_the_command_prints(self):
        folder = self.database("rocksdb7-families")
        mounted = self.mount(folder)
        printed = self.recordfs("info", "--json", folder)
        info = json.loads((mounted / "info.json").read_text())
        from_command = json.loads(printed.stdout)
        for name in ("engine", "column_families", "levels", "last_sequence", "recovered", "may_be_stale", "problems"):
            self.assertEqual(info[name], from_command[name], name)
        self.assertEqual(info["engine"], "RocksDB")


class Damage(DatabaseCase):
    def test_without_a_manifest_all_tables_and_logs_count(self):
        folder = self.database("leveldb-levels")
        for path in folder.glob("MANIFEST-*"):
            path.unlink()
        mounted = self.mount(folder, flags=("-f", "-v"))
        self.assertTrue(json.loads((mounted / "info.json").read_text())["recovered"])
        for key, (size, first) in expected_families("leveldb-levels")["default"].items():
            self.assertTrue((mounted / "keys" / key.decode()).read_bytes().startswith(first), key)
            self.assertEqual((mounted / "keys" / key.decode()).stat().st_size, size)
        self.assertIn("no usable MANIFEST", mounted.log())

    def test_a_damaged_table_costs_no_other_keys_and_is_reported(self):
        folder = self.database("leveldb-levels")
        table = max(folder.glob("*.ldb"), key=lambda path: path.stat().st_size)
        table.write_bytes(bytes(table.stat().st_size))
        mounted = self.mount(folder, flags=("-f", "-v"))
        left = self.keys_in(mounted / "keys")
        expected = expected_families("leveldb-levels")["default"]
        self.assertTrue(left)
        for key, file in left.items():
            value = file.read_bytes()
            is_stale = "user.recordfs.stale" in os.listxattr(file)
            self.assertTrue(is_stale or value.startswith(expected[key][1]), key)
        for key in set(expected) - set(left):
            self.assert_fails_with(errno.EIO, (mounted / "keys" / key.decode()).stat)
        info = json.loads((mounted / "info.json").read_text())
        self.assertTrue(info["may_be_stale"])
        self.assertIn(table.name, [problem["file"] for problem in info["problems"]])
        self.assertIn(table.name, mounted.log())


class Live(DatabaseCase):
    def test_writes_of_a_log_are_shown_after_the_log_is_removed(self):
        one = self.written(keys_test.put(b"a", b"old"), keys_test.put(b"kept", b"same"))
        mounted = self.mount(one)
        self.assertEqual((mounted / "keys" / "kept").read_bytes(), b"same")
        for path in one.iterdir():
            path.unlink()
        # The writes of the log are in memory: the mount still shows its moment.
        self.assertEqual((mounted / "keys" / "a").read_bytes(), b"old")
        self.assertEqual(os.listdir(mounted / "keys"), ["a", "kept"])
        self.assertEqual(os.listdir(mounted / "files"), [])

    def test_tables_that_are_replaced_while_mounted_are_read_from_their_successors(self):
        folder = self.database("leveldb-levels")
        other = shutil.copytree(folder, self.folder / "other")
        mounted = self.mount(folder)
        first = os.listdir(mounted / "keys")[:1]
        self.assertEqual(len(first), 1)
        # The new state: the same files without a MANIFEST, under other names.
        for path in folder.iterdir():
            path.unlink()
        for path in other.glob("*.ldb"):
            shutil.copy(path, folder / f"{int(path.stem) + 100:06}.ldb")
        for path in other.glob("*.log"):
            shutil.copy(path, folder / f"{int(path.stem) + 100:06}.log")
        expected = expected_families("leveldb-levels")["default"]
        self.assertEqual([name.encode() for name in os.listdir(mounted / "keys")], list(expected))
        for key, (size, first_bytes) in expected.items():
            value = (mounted / "keys" / key.decode()).read_bytes()
            self.assertEqual((len(value), value[:len(first_bytes)]), (size, first_bytes), key)

    def test_nothing_is_written_and_no_lock_taken(self):
        folder = self.database("rocksdb7-families")
        before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()}
        mounted = self.mount(folder)
        self.keys_in(mounted / "keys")
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual({path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()}, before)

    def test_a_mount_over_the_database_itself_still_reads_it(self):
        folder = self.database("leveldb-levels")
        mounted = self.mount(folder, point=folder, options=("nonempty",))
        expected = expected_families("leveldb-levels")["default"]
        self.assertEqual([name.encode() for name in os.listdir(mounted / "keys")], list(expected))


class Trust(DatabaseCase):
    """A database directory of a user that root's mount shows to others."""

    def test_a_table_that_is_a_link_out_of_the_directory_is_not_read(self):
        folder = self.database("leveldb-levels")
        for table in folder.glob("*.ldb"):
            table.symlink_to(table.rename(self.folder / table.name))
        mounted = self.mount(folder, options=["allow_other,sandbox=no"])
        self.assert_fails_with(errno.EACCES, os.listdir, mounted / "keys")
        done = self.recordfs("keys", folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a symbolic link out of the directory", done.stderr)

    def test_a_table_that_is_a_link_inside_the_directory_is_read(self):
        folder = self.database("leveldb-levels")
        for table in folder.glob("*.ldb"):
            table.symlink_to(table.rename(table.with_suffix(".bytes")).name)
        mounted = self.mount(folder, options=["sandbox=no"])
        for key, (size, first) in expected_families("leveldb-levels")["default"].items():
            value = (mounted / "keys" / key.decode()).read_bytes()
            self.assertEqual((len(value), value[:len(first)]), (size, first), key)


class Others(DatabaseCase):
    def test_several_sources_and_nested_databases_are_mirrored(self):
        folder = self.database("leveldb-levels")
        other = self.database("rocksdb7-families")
        mounted = self.mount(folder, other)
        self.assertIn("CURRENT", os.listdir(mounted / "leveldb-levels"))
        nested = self.mount(self.folder / "leveldb-levels", options=("nest",))
        self.assertIn("CURRENT", os.listdir(nested / "leveldb-levels"))


if __name__ == "__main__":
    mounting.main()
