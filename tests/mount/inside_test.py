#!/usr/bin/env python3
"""inside/: the parts of records, the requests they take, and the lifetime of their nodes."""
import collections
import os
import re
import threading
import time

import mounting

SAMPLE = "proio/c13-nasty-tags.proio"
RECORDS = 40
LISTING = re.compile(r"READDIRPLUS \(\d+\), nodeid: (\d+)")
OPCODE = re.compile(r"opcode: (\w+) \(")


class Inside(mounting.Case):
    def setUp(self):
        super().setUp()
        self.top = self.mount(mounting.sample(SAMPLE)).point
        self.view = self.top / ".views/inside"

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


class Damaged(mounting.Case):
    def test_failing_listing_starts_the_same_each_time(self):
        """Returns the entries before the failure, with and without waiting for the catalog."""
        damaged = self.mount(mounting.sample("proio/x47-gzip-crc-only.proio")).point
        for _ in range(3):
            done = mounting.run("ls", "-fa", damaged / "inside/8")
            self.assertEqual(done.stdout.split(), [".", ".."])
            self.assertIn("Input/output error", done.stderr)


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
