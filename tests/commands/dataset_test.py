#!/usr/bin/env python3
"""Data sets: several files that every command reads as one."""
import json
import os
import subprocess
from collections import Counter

import commands
from built import delimited, opened_in, shard_counts
from data_sets import Sets, records_in
from tfrecords import tfrecord


class EveryFormat(Sets):
    def samples_of_formats(self):
        """Returns {format: paths of small samples with at least three records that are read without an error}."""
        found = {}
        for path, verified in self.about_samples("verify").items():
            is_good = commands.is_sound(verified)
            if path.stat().st_size < 200_000 and commands.expectation(path).get("num_records", 0) > 2 and is_good:
                found.setdefault(path.relative_to(commands.corpus()).parts[0], []).append(path)
        return found

    def check(self, paths, wanted):
        count = len(paths)
        suffix = paths[0].suffix
        pattern = self.folder / "set-*"
        self.assertEqual(self.records(pattern), wanted)
        self.assertEqual(self.records(self.folder / f"set@{count}{suffix}"), wanted)
        self.assertEqual(self.records(*paths), wanted)
        rows = self.good("ls", pattern).decode().splitlines()
        self.assertEqual([int(row.split("\t")[0]) for row in rows], list(range(len(wanted))))
        chosen = sorted({0, len(wanted) // 3, len(wanted) // 2, len(wanted) - 1})
        self.assertEqual(self.records(pattern, *map(str, chosen)), [wanted[i] for i in chosen])
        self.assertEqual(self.records(pattern, *(self.address(rows[i], count) for i in chosen)),
                         [wanted[i] for i in chosen])
        begin, end = chosen[1], chosen[2] + 1
        self.assertEqual(self.records(pattern, f"{begin}:{end}"), wanted[begin:end])
        self.assertEqual(self.records(pattern, "-3:"), wanted[-3:])
        self.assertEqual(self.records("--shuffle", "3", pattern), self.shuffled(pattern, wanted))

    @staticmethod
    def address(row, count):
        address = row.split("\t")[2]
        return address if count > 1 else "@" + address

    def shuffled(self, pattern, wanted):
        order = [line["ordinal"] for line in self.lines("cat", "--json", "--shuffle", "3", pattern)]
        self.assertEqual(sorted(order), list(range(len(wanted))))
        return [wanted[i] for i in order]

    def check_splits(self, paths, wanted):
        """The splits of a set have each record once."""
        pattern = self.folder / "set-*"
        lines = self.good("splits", "--size", "4999", pattern).decode().splitlines()
        self.assertEqual({line.split("\t")[0] for line in lines}, set(map(str, paths)))
        for path in paths:
            ends = [tuple(map(int, line.split("\t")[1:])) for line in lines if line.split("\t")[0] == str(path)]
            self.assertEqual([0, *(end for _, end in ends)], [*(begin for begin, _ in ends), path.stat().st_size])
        if len(paths) > 7:  # few larger ones
            lines = self.good("splits", "--count", "40", pattern).decode().splitlines()
        parts = [self.records("--split", line, pattern) for line in lines]
        self.assertEqual(Counter(record for part in parts for record in part), Counter(wanted))

    def test_set_has_the_records_of_its_shards(self):
        formats = self.samples_of_formats()
        self.assertGreaterEqual(len(formats), 9)
        for name, samples in sorted(formats.items()):
            suffix = samples[0].suffix
            samples = [path for path in samples if path.suffix == suffix]
            for count in shard_counts():
                with self.subTest(format=name, shards=count):
                    used = samples[:3] if count <= 7 else sorted(samples, key=records_in)[:3]
                    paths = self.make_set(used, count)
                    alone = [self.records(path) for path in paths[:3]]
                    wanted = [record for shard in range(count) for record in alone[shard % len(used)]]
                    self.check(paths, wanted)
                    self.check_splits(paths, wanted)
                for path in self.folder.glob("set-*"):
                    path.unlink()


class ManyShards(Sets):
    COUNT = 1024

    def setUp(self):
        super().setUp()
        self.paths, self.all = self.make_text_set([i * 7 % 4 for i in range(self.COUNT)])
        self.pattern = self.folder / "text-*"

    def test_all_records_are_read_in_order(self):
        self.assertEqual(self.records(self.pattern), self.all)
        self.assertEqual(self.records(*self.paths), self.all)
        self.assertEqual(self.records(self.folder), self.all)

    def test_record_opens_only_its_shard_if_all_have_saved_indexes(self):
        name = self.folder / f"text@{self.COUNT}.tfrecord"
        ordinal = len(self.all) - 3
        with opened_in(self.folder) as before:
            self.assertEqual(self.records(name, str(ordinal)), [self.all[ordinal]])
        self.assertGreater(len(before), self.COUNT - 5)
        self.good("index", name)
        with opened_in(self.folder) as opened:
            self.assertEqual(self.records(name, str(ordinal)), [self.all[ordinal]])
        self.assertEqual(len(opened), 1, opened)
        with opened_in(self.folder) as opened:
            self.assertIn(f'"records":{len(self.all)},', self.good("info", "--scan", "--json", name).decode())
        self.assertEqual(opened, [])

    def test_few_files_are_open_at_once(self):
        limited = ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh", commands.program("recordfs"), "cat", "--delimited",
                   "--shuffle", "1", str(self.pattern)]
        done = subprocess.run(limited, stdout=subprocess.PIPE, check=True, env=self.environment())
        self.assertEqual(len(delimited(done.stdout)), len(self.all))

    def test_head_opens_only_the_first_shards(self):
        """A later shard that is no container does not matter."""
        self.paths[1000].write_text("nothing", encoding="utf-8")
        self.assertEqual(self.good("head", "-n", "20", "--lines", self.pattern).splitlines(), self.all[:20])
        self.assertEqual(self.records(self.pattern, "1000"), [self.all[1000]])


class Naming(Sets):
    def setUp(self):
        super().setUp()
        self.paths, self.all = self.make_text_set([3, 1, 4, 2])

    def test_set_is_named_in_several_ways(self):
        manifest = self.folder / "manifest.txt"
        manifest.write_text("# shards\n" + "".join(f"{path.name}\n" for path in self.paths), encoding="utf-8")
        for words in (["text-*"], ["text@4.tfrecord"], ["text-?????-of-00004.tfrecord"], ["."], ["--manifest", manifest],
                      [path.name for path in self.paths], ["--manifest", "manifest.txt"]):
            done = subprocess.run([commands.program("recordfs"), "cat", "--delimited", *map(str, words)], cwd=self.folder,
                                  stdout=subprocess.PIPE, check=True, env=self.environment())
            with self.subTest(words=words):
                self.assertEqual(delimited(done.stdout), self.all)

    def test_manifest_is_read_from_standard_input(self):
        text = "".join(f"{path}\n" for path in self.paths).encode()
        done = subprocess.run([commands.program("recordfs"), "cat", "--delimited", "--manifest", "-", "2:5"], input=text,
                              stdout=subprocess.PIPE, check=True, env=self.environment())
        self.assertEqual(delimited(done.stdout), self.all[2:5])

    def test_manifest_without_paths_is_refused(self):
        binary = commands.sample("riegeli/simple_zstd9.riegeli")
        self.assert_ends(commands.CANNOT_OPEN, "no manifest|too long", "cat", "--manifest", binary)
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "cat", "--manifest", self.folder / "none")
        self.assert_ends(commands.WRONG_USE, "--manifest", "cat", "--manifest", "-", self.paths[0])

    def test_pattern_without_a_match_is_reported(self):
        for words in (["cat"], ["ls"], ["info"], ["head"], ["verify"], ["index"], ["splits"]):
            self.assert_ends(commands.CANNOT_OPEN, "no file matches", *words, self.folder / "none-*")
        self.assert_ends(commands.CANNOT_OPEN, "no record container", "cat", self.folder_of("empty"))

    def folder_of(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def test_word_that_looks_like_a_range_is_one(self):
        (self.folder / "2").write_bytes(tfrecord([b"two"]))
        done = subprocess.run([commands.program("recordfs"), "cat", self.paths[0].name, "2"], cwd=self.folder,
                              stdout=subprocess.PIPE, check=True, env=self.environment())
        self.assertEqual(done.stdout, self.all[2])
        for words in (["./2"], ["-r", "3", "2"], ["-r", ":", "2"]):
            done = subprocess.run([commands.program("recordfs"), "cat", "--delimited", self.paths[0].name, *words],
                                  cwd=self.folder, stdout=subprocess.PIPE, check=True, env=self.environment())
            wanted = [b"two"] if words[:2] == ["-r", "3"] else [*self.all[:3], b"two"]
            self.assertEqual(delimited(done.stdout), wanted, words)

    def test_option_gives_ranges(self):
        self.assertEqual(self.records("-r", "4", "-r", "-2:", *self.paths), [self.all[4], *self.all[-2:]])
        target = self.folder_of("target")
        self.good("cp", "-r", "2:4", *self.paths, target)
        self.assertEqual(sorted(path.name for path in target.iterdir()), ["000000002", "000000003"])


class Commands(Sets):
    def setUp(self):
        super().setUp()
        self.paths, self.all = self.make_text_set([3, 0, 4, 2])
        self.pattern = self.folder / "text-*"

    def test_ls_prints_addresses_with_the_shard(self):
        rows = [row.split("\t") for row in self.good("ls", self.pattern).decode().splitlines()]
        self.assertEqual([row[0] for row in rows], [str(i) for i in range(9)])
        self.assertEqual(rows[4][2], f"{self.paths[2].name}:@0/1")
        self.assertEqual(self.records(self.pattern, *(row[2] for row in rows)), self.all)
        self.assertEqual(self.records(self.pattern, "2:@0/1", f"{self.paths[2]}:@0/1"), [self.all[4]] * 2)

    def test_json_lines_have_the_shard(self):
        names = [self.paths[i].name for i in (0, 0, 0, 2, 2, 2, 2, 3, 3)]
        for words in (["cat", "--json"], ["ls", "--json"], ["head", "--json"]):
            lines = self.lines(*words, self.pattern)
            self.assertEqual([(line["ordinal"], line["shard"]) for line in lines], list(enumerate(names)), words)
        self.assertEqual([line["shard"] for line in self.lines("cat", "--json", self.pattern, "2:@0/1")], names[3:4])
        self.assertNotIn("shard", self.lines("cat", "--json", self.paths[0])[0])

    def test_ls_lists_chunks_of_all_shards(self):
        rows = [row.split("\t") for row in self.good("ls", "--chunks", self.pattern).decode().splitlines()]
        self.assertEqual(rows[0][:2], ["shard", "begin"])
        self.assertEqual([(row[0], row[5]) for row in rows[1:]],
                         [(self.paths[0].name, "0"), (self.paths[2].name, "3"), (self.paths[3].name, "7")])

    def test_head_and_tail_cross_shards(self):
        self.assertEqual(self.good("head", "-n", "5", "--lines", self.pattern).splitlines(), self.all[:5])
        self.assertEqual(self.good("tail", "-n", "5", "--lines", self.pattern).splitlines(), self.all[-5:])
        self.assertEqual(self.good("tail", "-n", "5", "--lines", *self.paths).splitlines(), self.all[-5:])
        self.assertEqual(self.good("tail", "-n", "0", self.pattern), b"")
        self.assert_ends(commands.WRONG_USE, "one file", "tail", "-f", self.pattern)

    def test_grep_counts_ordinals_through_the_set(self):
        self.assertEqual(self.good("grep", "record [48]", self.pattern), b"4:record 4\n8:record 8\n")
        self.assertEqual(self.good("grep", "-c", "record", self.pattern), b"9\n")
        self.assertEqual(self.good("grep", "-l", "record [48]", self.pattern),
                         f"{self.paths[2]}\n{self.paths[3]}\n".encode())
        self.assertEqual(self.good("grep", "-m", "4", "-o", "[0-9]$", self.pattern), b"0:0\n1:1\n2:2\n3:3\n")
        self.assertEqual(self.good("grep", "record 0", self.pattern, self.paths[0]),
                         f"{self.pattern}:0:record 0\n{self.paths[0]}:0:record 0\n".encode())
        self.assertEqual(self.good("grep", "record 0", *self.paths), f"{self.paths[0]}:0:record 0\n".encode())

    def test_cp_names_files_by_their_ordinals(self):
        target = self.folder / "target"
        target.mkdir()
        self.good("cp", self.pattern, "2:5", target)
        self.good("cp", self.pattern, "3:@0/1", target)
        copied = {path.name: path.read_bytes() for path in target.iterdir()}
        self.assertEqual(copied, {f"{i:09}": self.all[i] for i in (2, 3, 4, 8)})

    def test_info_prints_totals_and_a_table(self):
        known = json.loads(self.good("info", "--json", self.pattern))
        self.assertEqual((known["shards"], known["missing"], known["records"]), (4, 0, 9))
        self.assertEqual([row["first_ordinal"] for row in known["table"] if "records" in row], [0, 3, 3, 7])
        self.assertEqual(known["size"], sum(path.stat().st_size for path in self.paths))
        shown = self.good("info", self.pattern).decode()
        self.assertRegex(shown, r"records +9\n")
        for path in self.paths:
            self.assertIn(path.name, shown)

    def test_info_lists_mixed_formats(self):
        (self.folder / "text-a.riegeli").symlink_to(commands.sample("riegeli/simple_zstd9.riegeli"))
        known = json.loads(self.good("info", "--json", self.pattern))
        self.assertEqual({(row["format"], row["shards"], row["records"]) for row in known["formats"]},
                         {("tfrecord", 4, 9), ("riegeli", 1, 500)})
        self.assertEqual(len(self.records(self.pattern)), 509)

    def test_verify_and_index_handle_each_shard(self):
        self.assertEqual(self.good("verify", self.pattern), f"{self.paths[1]}: empty\n".encode())
        rows = self.lines("verify", "--json", self.pattern)
        self.assertEqual([row["file"] for row in rows], list(map(str, self.paths)))
        self.assertEqual(len(self.good("index", "-v", self.pattern).splitlines()), 4)

    def test_record_that_does_not_exist_is_reported(self):
        self.assert_ends(commands.PARTLY_DONE, r"no record 9 \(there are 9\)", "cat", self.pattern, "9")
        self.assert_ends(commands.PARTLY_DONE, r"no record -10 \(there are 9\)", "cat", self.pattern, "-10")
        self.assert_ends(commands.PARTLY_DONE, r"no record 10 \(there are 9\)", "cat", self.pattern, "10:")
        self.assert_ends(commands.PARTLY_DONE, "no shard x", "cat", self.pattern, "x:@0/0")
        self.assert_ends(commands.PARTLY_DONE, "SHARD:@OFFSET/INDEX", "cat", self.pattern, "@0/0")
        self.assertEqual(self.records(self.pattern, "9:"), [])
        self.assertEqual(self.records(self.pattern, "5:-6"), [])
        self.assertEqual(self.records(self.pattern, "-100:2", "3", "-1"), [*self.all[:2], self.all[3], self.all[-1]])


class RandomOrder(Sets):
    def setUp(self):
        super().setUp()
        self.paths, self.all = self.make_text_set([300, 0, 150, 550])
        self.pattern = self.folder / "text-*"

    def ordinals(self, *words):
        return [line["ordinal"] for line in self.lines("cat", "--json", *words, self.pattern)]

    def test_shuffle_is_a_permutation_that_its_seed_reproduces(self):
        one = self.records("--shuffle", "1", self.pattern)
        self.assertEqual(sorted(one), sorted(self.all))
        self.assertEqual(one, self.records("--shuffle", "1", self.pattern))
        self.assertEqual(one, self.records("--shuffle", "1", "-j", "1", *self.paths))
        self.assertNotEqual(one, self.records("--shuffle", "2", self.pattern))
        # Seeds in scripts must give the same order in every release.
        self.assertEqual(self.ordinals("--shuffle", "42")[:3], [743, 59, 798])

    def test_sample_is_ascending_and_without_repetition(self):
        sample = self.ordinals("--sample", "50", "--seed", "7")
        self.assertEqual((len(sample), sorted(set(sample))), (50, sample))
        self.assertEqual(sample, self.ordinals("--sample", "50", "--seed", "7"))
        self.assertNotEqual(sample, self.ordinals("--sample", "50"))
        self.assertEqual(sorted(self.ordinals("--sample", "50", "--shuffle", "7")), sample)
        self.assertEqual(self.ordinals("--sample", "5000"), list(range(1000)))
        self.assertEqual(self.ordinals("--sample", "0"), [])

    def test_damaged_record_stops_a_shuffle_unless_it_is_skipped(self):
        commands.with_bit_flipped(self.paths[2], 14)
        self.assertEqual(self.recordfs("cat", "--shuffle", "1", self.pattern).status, commands.DAMAGE)
        done = self.recordfs("cat", "--delimited", "--skip-damage", "--shuffle", "1", self.pattern)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertGreater(len(delimited(done.out)), 900)

    def test_damaged_header_is_reported_after_the_records(self):
        os.truncate(self.paths[3], self.paths[3].stat().st_size - 3)
        for words, count in ((["--shuffle", "1"], 999), (["--sample", "5"], 5), (["--skip-damage", "--shuffle", "1"], 999)):
            done = self.recordfs("cat", "--delimited", *words, self.pattern)
            self.assertEqual((done.status, len(delimited(done.out))), (commands.DAMAGE, count), words)
            self.assertRegex(done.err, r"\Arecordfs: \S+text-00003-of-00004.tfrecord: bytes \d+ to \d+: unfinished: [^\n]+\n\Z")

    def test_usage_errors_are_reported(self):
        for words in (["--shuffle", "x"], ["--shuffle", "1", "--split", "0:5"], ["--sample", "-1"], ["--seed", "1"],
                      ["--shuffle", "1", "-r", "5"]):
            self.assert_ends(commands.WRONG_USE, "", "cat", *words, self.pattern)


if __name__ == "__main__":
    commands.main()
