#!/usr/bin/env python3
"""inside/: the parts of records, the requests they take, and the lifetime of their nodes."""
import collections
import errno
import os
import re
import stat
import threading
import time

import mounting

SAMPLE = "proio/c13-nasty-tags.proio"
RECORDS = 40
LISTING = re.compile(r"READDIRPLUS \(\d+\), nodeid: (\d+)")
OPCODE = re.compile(r"opcode: (\w+) \(")


def names(path):
    return sorted(os.listdir(path))


def lstats(top):
    """Returns {path: lstat} of everything below `top`."""
    return {os.path.join(folder, name): os.lstat(os.path.join(folder, name))
            for folder, below, files in os.walk(top) for name in [*below, *files]}


class Inside(mounting.Case):
    def setUp(self):
        super().setUp()
        self.top = self.mount(mounting.sample(SAMPLE)).point
        self.view = self.top / ".views/inside"

    def test_each_record_has_a_directory(self):
        self.assertEqual(os.readlink(self.top / "inside"), ".views/inside")
        self.assertEqual(names(self.top / "inside"), names(self.top / "records"))
        self.assertEqual(os.readlink(self.top / "inside/7"), "000000007")

    def test_files_are_pieces_of_the_record(self):
        for record in names(self.view):
            whole = (self.top / "records" / record).read_bytes()
            for entry in (self.view / record / "entries").iterdir():
                self.assertIn(entry.read_bytes(), whole, entry)

    def test_entry_listed_under_a_tag_has_the_same_bytes(self):
        seen = 0
        for path in self.view.glob("*/tags/*/*"):
            if path.name == "names.tsv":
                continue
            entry = path.parents[2] / "entries" / path.name
            self.assertEqual(path.read_bytes(), entry.read_bytes(), path)
            seen += 1
        self.assertGreater(seen, RECORDS)

    def test_escaped_names_are_listed_in_names_tsv(self):
        seen = set()
        for tags in sorted(self.view.glob("*/tags")):
            table = tags / "names.tsv"
            if table.exists():
                header, *rows = table.read_text(encoding="utf-8").splitlines()
                self.assertEqual(header, "name\tkey")
                changed = {row.split("\t")[0] for row in rows}
                self.assertLessEqual(changed, set(names(tags)))
                seen |= changed
            self.assertFalse((tags.parent / "entries/names.tsv").exists())
        self.assertTrue(any(name.startswith("..~") for name in seen), seen)
        self.assertTrue(any("%2F" in name for name in seen), seen)

    def test_sizes_are_exact(self):
        for path, st in lstats(self.view).items():
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    self.assertEqual(len(file.read()), st.st_size, path)

    def test_inode_numbers_are_unique_and_the_same_in_another_mount(self):
        here = {path: st.st_ino for path, st in lstats(self.view).items()}
        self.assertEqual(len(set(here.values())), len(here))
        other = self.mount(mounting.sample(SAMPLE)).point / ".views/inside"
        os.listdir(other / "000000009/tags")
        there = {os.path.relpath(path, other): st.st_ino for path, st in lstats(other).items()}
        self.assertEqual({os.path.relpath(path, self.view): inode for path, inode in here.items()}, there)

    def test_unknown_names_are_not_found(self):
        for name in [f"{RECORDS:09}", "x", "000000001/x", "000000001/tags/x", "000000001/entries/names.tsv"]:
            self.assertFalse((self.view / name).exists(), name)

    def test_unreadable_record_fails_with_its_error_and_is_logged(self):
        source = self.copy("proio/c25-gzip-0.proio")
        mounting.with_bit_flipped(source, source.stat().st_size - 6)  # the checksum of the last bucket
        mounted = self.mount(source)
        last = mounted.point / "inside" / names(mounted.point / "records")[-1]
        self.assertTrue(last.is_dir())
        self.assert_fails_with(errno.EIO, os.listdir, last)
        self.assert_fails_with(errno.EIO, os.stat, last / "types.tsv")
        mounted.wait_for_log("byte [0-9]+: ")

    @mounting.only_root
    def test_open_file_is_readable_after_the_kernel_forgot_its_node(self):
        path = self.view / "000000003/types.tsv"
        whole = path.read_bytes()
        with path.open("rb") as file:
            mounting.drop_nodes(self.top)
            time.sleep(0.1)
            self.assertEqual(file.read(), whole)
        self.assertEqual(path.read_bytes(), whole)

    @mounting.only_root
    def test_readers_run_while_the_kernel_forgets_nodes(self):
        wrong = []

        def read_all(first):
            for record in [f"{(first + i) % RECORDS:09}" for i in range(2 * RECORDS)]:
                try:
                    (self.view / record / "types.tsv").read_bytes()
                    for tag in os.listdir(self.view / record / "tags"):
                        os.stat(self.view / record / "tags" / tag)
                except OSError as failure:
                    wrong.append((record, failure))

        readers = [threading.Thread(target=read_all, args=(7 * i,)) for i in range(6)]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            mounting.drop_nodes(self.top)
        self.assertEqual(wrong, [])


class Examples(mounting.Case):
    """A tensorflow.Example has one file per feature."""

    def setUp(self):
        super().setUp()
        self.top = self.mount(mounting.sample("tfrecord/examples.tfrecord")).point

    def test_bytes_feature_is_a_piece_of_the_record(self):
        jpeg = (self.top / "inside/0/image%2Fencoded").read_bytes()
        self.assertEqual((jpeg[:2], jpeg[-2:]), (b"\xff\xd8", b"\xff\xd9"))
        self.assertIn(jpeg, (self.top / "records/0").read_bytes())

    def test_numeric_features_are_text(self):
        self.assertEqual((self.top / "inside/0/image%2Fheight").read_text(), "480\n")
        self.assertEqual((self.top / "inside/0/image%2Fobject%2Fbbox%2Fxmin").read_text(), "0.1\n0.25\n0.33333334\n")

    def test_feature_with_several_byte_values_is_a_directory(self):
        texts = self.top / "inside/0/image%2Fobject%2Fclass%2Ftext"
        self.assertEqual(names(texts), ["0", "1", "2"])
        self.assertEqual((texts / "1").read_text(), "\u00e9t\u00e9")

    def test_failing_listing_starts_the_same_each_time(self):
        """Returns the entries before the failure, with and without waiting for the catalog."""
        damaged = self.mount(mounting.sample("proio/x47-gzip-crc-only.proio")).point
        for _ in range(3):
            done = mounting.run("ls", "-fa", damaged / "inside/8")
            self.assertEqual(done.stdout.split(), [".", ".."])
            self.assertIn("Input/output error", done.stderr)

    def test_record_that_is_not_an_example_has_an_empty_directory(self):
        top = self.mount(mounting.sample("tfrecord/strangers.tfrecord")).point
        for record in names(top / "records"):
            self.assertEqual(names(top / "inside" / record), [])


class Requests(mounting.Case):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(mounting.sample(SAMPLE), flags=["-d"])

    def test_recursive_long_listing_sends_only_listing_requests(self):
        done = mounting.run("ls", "-lR", ".views/inside", cwd=self.mounted.point)
        self.assertEqual(done.returncode, 0, done.stderr)
        time.sleep(0.1)
        sent = collections.Counter(OPCODE.findall(self.mounted.log()))
        self.assertLess(sent["LOOKUP"] + sent["GETATTR"], 8, sent)
        self.assertEqual(sent["READ"], 0)

    @mounting.only_root
    def test_forgotten_record_gets_a_new_node_id(self):
        """The daemon drops a record's row when the kernel forgets the last node inside the record."""
        for _ in range(3):
            os.listdir(self.mounted / ".views/inside/000000003/tags")
            mounting.drop_nodes(self.mounted.point)
            time.sleep(0.2)
        parts = [int(node) for node in LISTING.findall(self.mounted.log()) if int(node) >> 59 == 30]
        self.assertEqual(len(set(parts)), 3, parts)


if __name__ == "__main__":
    mounting.main()
