#!/usr/bin/env python3
"""recordfs splits and cat --split: the splits of a file contain each record once, for every split size."""
import itertools
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import commands
from built import is_thorough, share_of

BINARY = "riegeli/multiblock_zstd.riegeli"
UNORDERED = "bloscpack/vl-out-of-order.blp"
# Splits of one file that are read one at a time. Every process takes some milliseconds.
MAX_SPLITS = 40 if is_thorough() else 5


class Splits(commands.Case):
    _out_of_order = None

    def splits(self, path, size):
        lines = self.recordfs("splits", path, "--size", str(size)).out.decode().splitlines()
        parts = [line.split("\t") for line in lines]
        self.assertEqual({part[0] for part in parts} - {str(path)}, set())
        return [(int(begin), int(end)) for _, begin, end in parts]

    def assert_cover(self, splits, size):
        """The splits cover the file once, in file order."""
        self.assertEqual([0, *(end for _, end in splits)], [*(begin for begin, _ in splits), size])
        self.assertTrue(all(begin < end for begin, end in splits))

    def part(self, path, begin, end):
        return self.once("cat", "--skip-damage", "--delimited", "--split", f"{begin}:{end}", path)

    def out_of_order(self):
        """Returns the samples whose chunks are not in file order."""
        if Splits._out_of_order is None:
            opened = [*self.about_samples("info")]
            chunks = map(json.loads, self.recordfs("ls", "--chunks", "--json", *opened).out.splitlines())
            found = set()
            for shard, rows in itertools.groupby(chunks, lambda row: row["shard"]):
                begins = [row["begin"] for row in rows]
                if begins != sorted(begins):
                    found.update(path for path in opened if shard in (path.name, str(path)))
            Splits._out_of_order = found
        return Splits._out_of_order

    def in_file_order(self, path):
        """Returns all readable records of a sample in file order."""
        if path not in self.out_of_order():
            return self.once("cat", "--skip-damage", "--delimited", path).out
        rows = [row.split(b"\t") for row in self.recordfs("ls", path).out.splitlines()]
        rows.sort(key=lambda row: tuple(map(int, row[2].split(b"/"))))
        addresses = [b"@" + row[2] for row in rows]
        return self.recordfs("cat", "--skip-damage", "--delimited", path, *addresses).out if addresses else b""


class EverySample(Splits):
    def splits_of_all(self, paths, size):
        """Returns {path: splits}."""
        found = {path: [] for path in paths}
        for line in self.recordfs("splits", "--size", str(size), *paths).out.decode().splitlines():
            path, begin, end = line.split("\t")
            found[Path(path)].append((int(begin), int(end)))
        return found

    def check(self, path, splits, size):
        self.assert_cover(splits, path.stat().st_size)
        # Adjacent splits are joined if there are many; the result is a split too.
        step = -(-len(splits) // MAX_SPLITS) or 1
        groups = [(splits[i][0], splits[min(i + step, len(splits)) - 1][1]) for i in range(0, len(splits), step)]
        parts = [self.part(path, begin, end) for begin, end in groups]
        self.assertEqual(b"".join(part.out for part in parts), self.in_file_order(path), (path.name, size, groups))
        whole = self.once("cat", "--skip-damage", "--delimited", path)
        self.assertEqual(max([part.status for part in parts], default=commands.GOOD) != commands.GOOD,
                         whole.status != commands.GOOD, (path.name, size, whole.err))

    def check_all(self, paths, size):
        splits = self.splits_of_all(paths, size)
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for done in workers.map(lambda path: self.check(path, splits[path], size), splits):
                self.assertIsNone(done)

    def test_splits_of_one_byte_contain_each_record_once(self):
        self.check_all(self.about_samples("info"), 1)

    def test_splits_of_an_odd_size_contain_each_record_once(self):
        self.check_all(share_of(self.about_samples("info"), 0, 3), 4999)


class AnyCut(Splits):
    def test_any_cuts_contain_each_record_once(self):
        for name in (BINARY, UNORDERED, "proio/c18-event-metadata.proio", "riegeli/dmg_flip_header.riegeli",
                     "leveldb_log/rocksdb-direct/recycle-zstd-000017.log", "recordio/v2-zstd-1.grail-rio",
                     "recordio/bad-A-flip-magic.grail-rio", "recordio/legacy-packed-items100.grail-rpk"):
            path = commands.sample(name)
            size = path.stat().st_size
            cuts = sorted({0, size, 1, size - 1, *(size * i // 23 for i in range(23))})
            parts = [self.part(path, begin, end).out for begin, end in zip(cuts, cuts[1:])]
            with self.subTest(sample=name):
                self.assertEqual(b"".join(parts), self.in_file_order(path))

    def test_split_after_the_end_is_empty(self):
        path = commands.sample(BINARY)
        self.assertEqual(self.good("cat", "--split", "168002:999999999", path), b"")
        self.assertEqual(self.good("cat", "--split", "70:60", path), b"")

    def test_split_does_not_read_the_start_of_the_file(self):
        """Damage before the split does not matter."""
        path = self.copy(BINARY)
        middle = 120000
        wanted = self.good("cat", "--split", f"{middle}:", path)
        with path.open("r+b") as file:
            file.seek(64)
            file.write(b"\xff" * 65000)
        self.assertEqual(self.good("cat", "--split", f"{middle}:", path), wanted)

    def test_json_contains_the_address(self):
        out = self.good("cat", "--json", "--split", "64:65", commands.sample(BINARY))
        self.assertTrue(out.startswith(b'{"chunk":64,"index":0,"size":'), out[:60])


class Output(Splits):
    def test_large_splits_are_cut_by_size_only(self):
        path = self.copy(BINARY)
        os.truncate(path, 5 << 20)
        self.assertEqual(self.splits(path, "2M"), [(0, 2 << 20), (2 << 20, 4 << 20), (4 << 20, 5 << 20)])

    def test_records_are_counted_up_to_the_end_of_a_chunk(self):
        path = commands.sample(BINARY)
        sizes = [int(row.split(b"\t")[5]) for row in self.good("ls", "--chunks", path).splitlines()[1:]]
        splits = [json.loads(line) for line in self.good("splits", path, "--records", "1", "--json").splitlines()]
        self.assertEqual([split["records"] for split in splits], [size for size in sizes if size])
        whole, = map(json.loads, self.good("splits", path, "--records", "100000", "--json").splitlines())
        self.assertEqual((whole["records"], whole["bytes"]), (1250, 168002))

    def test_json_has_ids_that_cat_accepts(self):
        names = ["two\nlines", "a:b", os.fsdecode(b"\xff")]
        paths = [self.copy(BINARY, name) for name in names]
        splits = [json.loads(line) for line in self.good("splits", "--size", "100000", "--json", *paths).splitlines()]
        self.assertRegex(splits[2]["id"], r"\Aa:b:0:\d+\Z")
        self.assertRegex(splits[3]["id"], r"\Aa:b:\d+:168002\Z")
        self.assertEqual(splits[5]["id"].split(":")[0], "2")
        self.assertEqual({tuple(split) for split in splits}, {("id", "bytes", "ranges")})
        parts = [self.good("cat", "--split", split["id"], *paths) for split in splits]
        self.assertEqual(b"".join(parts), self.good("cat", *paths))

    def test_count_prints_exactly_so_many_parts(self):
        path = commands.sample(BINARY)
        for count in (1, 2, 9):
            lines = self.good("splits", "--count", str(count), path).decode().splitlines()
            self.assertEqual([line.split("@")[0] for line in lines], [f"{i}/{count}" for i in range(count)])
            parts = [self.good("cat", "--split", line, path) for line in lines]
            self.assertEqual(b"".join(parts), self.good("cat", path))
        parts = [json.loads(line) for line in self.good("splits", "--count", "2", "--json", path).splitlines()]
        self.assertEqual([part["ranges"] for part in parts], [[{"file": str(path), "begin": 0, "end": 84001}],
                                                              [{"file": str(path), "begin": 84001, "end": 168002}]])

    def test_several_files_with_unusual_names_are_split(self):
        names = ["-x", "[a,b]", "two\nlines", "a b"]
        for name in names:
            self.copy(BINARY, name)
        done = subprocess.run([commands.program("recordfs"), "splits", "-0", "--", *names], cwd=self.folder,
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode().split("\0"), [f"{name}\t0\t168002" for name in names] + [""])

    def test_names_cannot_control_a_terminal(self):
        names = ["a\x1b[31m", "b\x9b31m", "c\x7f"]
        for name in names:
            self.copy(BINARY, name)
        paths = [self.folder / name for name in names]
        shown = self.on_terminal("splits", *paths).out
        self.assertNotRegex(shown.decode(), "[\x1b\x7f-\x9f]")
        self.assertIn(b"\\x1b[31m\t0\t168002\n", shown)
        self.assertEqual(self.good("splits", *paths).decode(), "".join(f"{path}\t0\t168002\n" for path in paths))

    def test_json_has_no_control_characters(self):
        path = self.copy(BINARY, "b\x9b31m\x7f°")
        line = self.good("splits", "--json", path).decode()
        self.assertNotRegex(line, "[\x7f-\x9f]")
        self.assertIn("\\u009b31m\\u007f°", line)
        self.assertEqual(json.loads(line)["ranges"][0]["file"], str(path))

    def test_list_of_what_is_skipped_is_no_container(self):
        read, other = self.folder / "read.riegeli", self.folder / "other.riegeli"
        for path in (read, other):
            path.write_bytes(commands.sample(BINARY).read_bytes())
        for path, why in ((read, "is a file that is read"), (other, "is a record container")):
            self.assert_ends(commands.WRONG_USE, f"{path}: {why}", "cat", "--split", "0/1", "--skip-damage", "--skipped", path, read)
            self.assertEqual(path.read_bytes(), commands.sample(BINARY).read_bytes())
        text = self.folder / "list"
        text.write_text("earlier content")
        self.good("cat", "--split", "0/1", "--skip-damage", "--skipped", text, read)
        self.assertEqual(text.read_bytes(), b"")

    def test_usage_errors_are_reported(self):
        path = commands.sample(BINARY)
        for words in (["splits", path, "--size", "0"], ["splits", path, "--size", "x"], ["splits"],
                      ["splits", path, "--records", "0"], ["splits", path, "--count", "-1"], ["splits", path, "--count", "x"],
                      ["splits", path, "--count", "1", "--size", "1"], ["splits", path, "--records", "1", "--size", "1"],
                      ["cat", "--split", "3/3", path], ["cat", "--split", "0/0", path], ["cat", "--split", "0/3@1", path],
                      ["cat", "--skipped", "x", path], ["cat", "--skipped", "x", "--skip-damage", path],
                      ["cat", "--split", "1", path], ["cat", "--split", "a:b", path], ["cat", "--split", "-1:5", path],
                      ["cat", "--split", "0:1", path, "3"]):
            self.assert_ends(commands.WRONG_USE, "", *words)


if __name__ == "__main__":
    commands.main()
