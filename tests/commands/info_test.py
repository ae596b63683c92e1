#!/usr/bin/env python3
"""recordfs info: properties of containers, with and without a scan."""
import json
import re

import commands
from tfrecords import tfrecord

TEXT = "riegeli/simple_zstd9.riegeli"
KEYS = "recordio/v2-header-kv.grail-rio"
CHANGING = "proio/c16-metadata.proio"  # each bucket has another value of the key "run"


class Info(commands.Case):
    def table(self, *words):
        return self.good("info", *words).decode()

    def test_tables_of_rocksdb_state_their_records(self):
        for name in ("leveldb_table/rocksdb7-default.sst", "database/rocksdb7-range-deletions/000015.sst"):
            counted = json.loads(self.good("info", "--json", "--scan", commands.sample(name)))["records"]
            self.assertEqual(self.good("info", commands.sample(name)).decode().splitlines()[-1].split(), ["records", str(counted)])

    def test_table_lists_the_main_properties(self):
        shown = self.table(commands.sample(KEYS))
        for line in (rf"file +{commands.sample(KEYS)}", "format +recordio", r"size +98304 bytes \(96.0 KiB\)",
                     "codec +zstd", r"metadata +transformer: zstd", r" +b.true: true", r" +s.empty \(0 bytes\)", r" +s.nl \(5 bytes\)"):
            self.assertRegex(shown, rf"(?m)^{line}$")

    def test_table_ends_with_the_number_of_records_or_how_to_count_them(self):
        self.assertRegex(self.table("--scan", commands.sample(TEXT)), r"\nrecords +500\n\Z")
        file = self.folder / "a.tfrecord"
        file.write_bytes(tfrecord([b"x" * 50000] * 12))
        self.assertRegex(self.table("--index=no", file), r"(?m)^first chunk +run at byte 0, with [3-9] records$")
        self.assertRegex(self.table("--index=no", file), r"\nrecords +not counted \(try: recordfs info --scan\)\n\Z")
        self.good("index", file)
        self.assertRegex(self.table(file), r"\nrecords +12\n\Z")
        file.write_bytes(tfrecord([b'{"a": 1}'] * 3))
        self.assertRegex(self.table("--index=no", file), r"\nrecords +3\n\Z")
        file.write_bytes(tfrecord([b'{"a": "' + b"x" * 50000 + b'"}'] * 12))
        self.assertRegex(self.table("--index=no", "--columns", file), r"(?m)^records +12$")
        self.assertRegex(self.table("--index=no", "--columns", "--where", "a is null", file), r"(?m)^records +12$")
        stated = commands.sample("array_record/empty-records.array_record")
        for words in ([], ["--scan"]):
            self.assertRegex(self.table(*words, stated), r"\nrecords +9\n\Z")
        self.assertNotIn("num records", self.table(stated))
        file.write_bytes(b"")
        self.assertRegex(self.table("--index=no", file), r"\nrecords +0\n\Z")
        for number in range(2):
            (self.folder / f"set-{number:05}-of-00002.tfrecord").write_bytes(tfrecord([b"x"] * 3))
        self.assertRegex(self.table(self.folder / "set@2.tfrecord"), r"set-00001-of-00002\.tfrecord\n\nrecords +6\n\Z")

    def test_json_of_one_file_is_one_line_with_its_name(self):
        path = commands.sample(TEXT)
        line, end = self.good("info", "--json", path).split(b"\n")
        self.assertEqual(end, b"")
        made = json.loads(line)
        self.assertEqual((made["file"], made["format"], made["codec"], made["size"]),
                         (str(path), "riegeli", "zstd", path.stat().st_size))

    def test_version_is_a_string_in_every_format(self):
        versions = {path.name: made.get("version", "") for path, made in self.about_samples("info").items()}
        self.assertEqual({name: value for name, value in versions.items() if not isinstance(value, str)}, {})
        self.assertGreaterEqual(set(versions.values()), {"0", "1", "current", "legacy"})

    def test_properties_of_a_rocksdb_table_are_numbers(self):
        path = commands.sample("leveldb_table/rocksdb7-default.sst")
        made = json.loads(self.good("info", "--json", path))
        numbers = {one["key"]: one["value"] for one in made["metadata"] if "value" in one}
        texts = {one["key"]: one["text"] for one in made["metadata"] if "text" in one}
        self.assertEqual(numbers["rocksdb.num.entries"], json.loads(self.good("info", "--json", "--scan", path))["records"])
        self.assertEqual(numbers["rocksdb.num.data.blocks"], made["data_blocks"])
        self.assertEqual(texts["rocksdb.comparator"], "leveldb.BytewiseComparator")
        self.assertEqual(set(numbers) & set(texts), set())
        self.assertRegex(self.table(path), rf"(?m)^ +rocksdb.num.entries: {numbers['rocksdb.num.entries']}$")
        self.assertRegex(self.table(path), r"(?m)^ +rocksdb.compression_options: window_bits=.{40,60}\.\.\. \(145 bytes\)$")

    def test_scan_lists_metadata_that_begin_later(self):
        made = json.loads(self.good("info", "--json", "--scan", commands.sample(CHANGING)))
        runs = [one for one in made["later_metadata"] if one["key"] == "run"]
        self.assertEqual([one["text"] for one in runs], [f"run {number}" for number in range(1, len(runs) + 1)])
        chunks = [json.loads(line)["begin"] for line in self.good("ls", "--chunks", "--json", commands.sample(CHANGING)).splitlines()]
        self.assertEqual([one["begin"] for one in runs], chunks[1:])
        self.assertRegex(self.table("--scan", commands.sample(CHANGING)), rf"(?m)^ +run: run 2, from byte {chunks[2]} on$")
        self.assertNotIn("later_metadata", json.loads(self.good("info", "--json", "--scan", commands.sample(KEYS))))

    def test_tags_count_records_and_entries_by_name_and_type(self):
        path = commands.sample("proio/c08-mixed-compression.proio")
        counted = {}
        for line in self.good("cat", "--json", path).splitlines():
            event = json.loads(line)["decoded"]
            types = {entry["id"]: entry["type"] for entry in event["entries"]}
            found = [("entries", kind) for kind in types.values()]
            found += [(f"tags/{tag}", types[one]) for tag, ids in event["tags"].items() for one in set(ids) if one in types]
            for row in set(found):
                records, entries = counted.get(row, (0, 0))
                counted[row] = (records + 1, entries + found.count(row))
        made = json.loads(self.good("info", "--json", "--tags", path))
        self.assertEqual({(row["part"], row["type"]): (row["records"], row["entries"]) for row in made["parts"]}, counted)
        (part, kind), (records, entries) = next(iter(sorted(counted.items())))
        self.assertRegex(self.table("--tags", path), rf"(?m)^ +{entries} +{records}  {part} +{re.escape(kind)}$")
        self.assertNotIn("parts", json.loads(self.good("info", "--json", path)))

    def test_tags_of_a_data_set_are_those_of_all_shards(self):
        path = commands.sample("tfrecord/examples.tfrecord")
        for number in range(3):
            (self.folder / f"set-{number:05}-of-00003.tfrecord").symlink_to(path)
        one = json.loads(self.good("info", "--json", "--tags", path))["parts"]
        made = json.loads(self.good("info", "--json", "--tags", self.folder))
        self.assertEqual([(row["part"], row["records"]) for row in made["parts"]],
                         [(row["part"], 3 * row["records"]) for row in one])
        self.assertRegex(self.table("--tags", self.folder), r"(?m)^ +entries +records  part +type$")
        self.assertNotIn("parts", json.loads(self.good("info", "--json", self.folder)))

    def test_tags_of_records_without_parts_are_not_taken_for_none(self):
        path = commands.sample("riegeli/appended.riegeli")
        message = "its records have no parts, so there is nothing to count"
        for number in range(2):
            (self.folder / f"set-{number:05}-of-00002.riegeli").symlink_to(path)
        for words in ((path,), ("--json", path), (self.folder,), ("--json", self.folder)):
            done = self.recordfs("info", "--tags", *words)
            self.assertEqual(done.status, commands.PARTLY_DONE, words)
            self.assertRegex(done.err, rf"\Arecordfs: [^\n]*riegeli: {message}\n\Z", words)
            self.assertTrue(done.out, words)

    def test_tags_of_a_truncated_file_say_what_is_missing(self):
        for name in ("tfrecord/examples.tfrecord", "proio/c16-metadata.proio"):
            cut = commands.copy_of(name, self.folder)
            with cut.open("r+b") as file:
                file.truncate(cut.stat().st_size - 10)
            for words in (("--tags",), ("--tags", "--scan"), ("--tags", "--json")):
                done = self.recordfs("info", *words, cut)
                self.assertEqual(done.status, commands.DAMAGE, (name, words))
                self.assertRegex(done.err, r"\Arecordfs: [^\n]*: bytes \d+ to \d+: [^\n]*\n\Z", (name, words))

    def test_tags_of_unreadable_events_are_reported_as_damage(self):
        done = self.recordfs("info", "--tags", commands.sample("proio/x13-flip-payload-gzip.proio"))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"byte \d+: ")

    def test_metadata_that_changes_along_the_file_names_its_chunk(self):
        made = json.loads(self.good("info", "--json", commands.sample(CHANGING)))
        self.assertEqual((made["metadata_scope"], made["metadata_directory_scope"]), ("first chunk", "last chunk"))
        self.assertEqual([one["text"] for one in made["metadata"] if one["key"] == "run"], ["run 0"])
        self.assertRegex(self.table(commands.sample(CHANGING)), r"(?m)^metadata scope +first chunk$")
        self.assertNotIn("metadata_scope", json.loads(self.good("info", "--json", commands.sample(KEYS))))

    def test_scan_adds_totals(self):
        made = json.loads(self.good("info", "--json", "--scan", commands.sample(TEXT)))
        self.assertEqual((made["records"], made["damaged_regions"]), (500, 0))
        self.assertEqual(made["decoded"], len(self.good("cat", commands.sample(TEXT))))
        self.assertAlmostEqual(made["ratio"], made["decoded"] / made["size"], places=2)
        self.assertRegex(self.table("--scan", commands.sample(TEXT)), r"(?m)^records +500$")

    def test_scan_of_several_files_ends_with_a_line_of_totals(self):
        files = [commands.sample(TEXT), commands.sample(TEXT), commands.sample(KEYS)]
        made = [json.loads(line) for line in self.good("info", "--json", "--scan", *files).splitlines()]
        records, size, chunks = (sum(info[name] for info in made) for name in ("records", "size", "chunks"))
        last = self.table("--scan", *files).splitlines()[-1]
        self.assertRegex(last, rf"\Atotal +3 files, {records} records, {chunks} chunks, {size} bytes \(.*\), 0 damaged regions\Z")
        for words in (["--scan", files[0]], files):
            self.assertNotIn("total ", self.table(*words))

    def test_scan_draws_record_sizes_on_a_terminal(self):
        shown = self.on_terminal("info", "--scan", commands.sample(TEXT)).out.decode()
        line = re.search(r"(?m)^record sizes +(\d+) bytes ([ ▁-█]+) (\d+) bytes, median \d+ bytes$", shown)
        self.assertIsNotNone(line, shown)
        sizes = [int(row.split(b"\t")[1]) for row in self.good("ls", commands.sample(TEXT)).splitlines()]
        self.assertEqual((int(line.group(1)), int(line.group(3))), (min(sizes), max(sizes)))
        self.assertIn("█", line.group(2))
        self.assertNotIn("record sizes", self.table("--scan", commands.sample(TEXT)))
        self.assertNotIn("record sizes", self.on_terminal("info", commands.sample(TEXT)).out.decode())

    def test_terminal_of_the_c_locale_gets_ascii(self):
        path = self.copy(TEXT, "größe")
        for variables in ({"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "en_US.UTF-8"}):
            shown = self.on_terminal("info", "--scan", path, **variables).out
            self.assertTrue(shown.isascii(), shown)
            self.assertIn(rb"/gr\xc3\xb6\xc3\x9fe", shown)
            self.assertRegex(shown, rb"(?m)^record sizes +\d+ bytes [ _.:=+*#-]+ \d+ bytes, median")
        self.assertIn("/größe".encode(), self.on_terminal("info", path, LC_ALL="", LC_CTYPE="", LANG="de_DE.utf8").out)
        self.assertIn("/größe".encode(), self.good("info", path))

    def test_scan_does_not_claim_that_unchecked_records_are_good(self):
        damaged = commands.with_bit_flipped(self.copy(TEXT), 17000)
        self.assertEqual(self.recordfs("verify", damaged).status, commands.DAMAGE)
        self.assertRegex(self.table("--scan", damaged), r"(?m)^damaged regions +0 \(headers only; run recordfs verify ")
        self.assertEqual(json.loads(self.good("info", "--json", "--scan", damaged))["damage_scope"], "headers")

    def test_damage_is_only_reported_with_a_scan(self):
        damaged = commands.sample("riegeli/dmg_flip_header.riegeli")
        self.table(damaged)
        done = self.recordfs("info", "--scan", damaged)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"bytes \d+ to \d+: damage: ")
        self.assertIn(b"damaged regions  ", done.out)

    def test_missing_file_does_not_stop_later_files(self):
        done = self.recordfs("info", self.folder / "none", commands.sample(TEXT))
        self.assertEqual(done.status, commands.CANNOT_OPEN)
        self.assertRegex(done.err, r"\Arecordfs: .*none: cannot open: No such file or directory\n\Z")
        self.assertIn(b"riegeli", done.out)

    def test_every_sample_has_a_table_and_valid_json(self):
        tables = self.recordfs("info", *commands.containers()).out.decode().split("\n\n")
        rows = {table.splitlines()[0].split(maxsplit=1)[1]: len(table.splitlines()) for table in tables}
        for path in commands.containers():
            done = self.recordfs("info", "--scan", "--json", path)
            with self.subTest(sample=path.name):
                self.assertEqual(done.status == commands.GOOD, done.err == "")
                if done.status != commands.CANNOT_OPEN:
                    self.assertEqual(json.loads(done.out)["size"], path.stat().st_size)
                    self.assertGreater(rows[str(path)], 2)


if __name__ == "__main__":
    commands.main()
