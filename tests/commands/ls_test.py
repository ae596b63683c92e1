#!/usr/bin/env python3
"""recordfs ls: records and chunks with their sizes."""
import json

import commands

TEXT = "riegeli/simple_zstd9.riegeli"
BINARY = "riegeli/multiblock_zstd.riegeli"
BAD_DATA = 84003  # a byte of BINARY in the data of the chunk at 83928
TRANSPOSED = "riegeli/transposed_one_chunk.riegeli"


class Ls(commands.Case):
    def rows(self, *words):
        return [line.split("\t") for line in self.good("ls", *words).decode().splitlines()]


class Records(Ls):
    def test_line_is_ordinal_size_and_address(self):
        rows = self.rows(commands.sample(BINARY))
        self.assertEqual(rows[0], ["0", "184", "64/0"])
        self.assertEqual([int(row[0]) for row in rows], list(range(len(rows))))

    def test_sizes_are_exact_in_every_sample(self):
        every_sample = ("--allow-missing", *commands.containers())
        rows = [line.split("\t") for line in self.recordfs("ls", *every_sample).out.decode().splitlines()]
        listed = {int(ordinal): (size, address) for ordinal, size, address in rows}
        self.assertEqual(len(listed), len(rows))
        self.assertGreater(len({address.rpartition(":")[0] for _, address in listed.values()}), 500)
        for line in self.recordfs("cat", "--skip-damage", "--json", *every_sample).out.splitlines():
            made = json.loads(line)
            size, address = listed[made["ordinal"]]
            self.assertEqual(size, str(made["size"]), address)
            self.assertEqual(address.rpartition(":")[0], made["shard"])

    def test_long_listing_adds_codec_kind_and_bytes_of_the_chunk(self):
        self.assertEqual(self.rows("-l", commands.sample(BINARY), "0"), [["0", "184", "64/0", "zstd", "simple", "64-7028"]])

    def test_ranges_are_those_of_cat(self):
        file = commands.sample(TEXT)
        rows = self.rows(file)
        for words, wanted in [(["42"], rows[42:43]), (["10:20"], rows[10:20]), (["-5:"], rows[-5:]), (["5:5"], []), (["3:-498"], [])]:
            self.assertEqual(self.rows(file, *words), wanted, words)
        for text in ("5:3", "-3:-5"):
            self.assert_ends(commands.WRONG_USE, f"not a range: {text} ends before it begins", "ls", file, "-r", text)
        self.assertEqual(self.rows(file, "@64/3"), [["-", *rows[3][1:]]])
        self.assert_ends(commands.PARTLY_DONE, r"no record 600 \(there are 500\)", "ls", file, "600")

    def test_json_is_one_object_per_line(self):
        lines = self.good("ls", "--json", "-l", commands.sample(BINARY), ":2").splitlines()
        self.assertEqual(json.loads(lines[0]), {"ordinal": 0, "size": 184, "chunk": 64, "index": 0, "codec": "zstd",
                                                "kind": "simple", "end": 7028})
        self.assertEqual(len(lines), 2)

    def test_unreadable_records_have_no_size(self):
        bad = commands.with_bit_flipped(self.copy(TRANSPOSED), commands.sample(TRANSPOSED).stat().st_size - 100)
        done = self.recordfs("ls", bad)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"byte \d+: ")
        rows = [line.split("\t") for line in done.out.decode().splitlines()]
        self.assertEqual(len(rows), commands.expectation(commands.sample(TRANSPOSED))["num_records"])
        self.assertEqual({row[1] for row in rows}, {"-"})
        made = json.loads(self.recordfs("ls", "--json", bad).out.splitlines()[0])
        self.assertIsNone(made["size"])
        self.assertIn("byte ", made["error"])

    def test_columns_are_aligned_on_a_terminal(self):
        shown = self.on_terminal("ls", "-l", commands.sample(BINARY), "8:12")
        self.assertEqual(shown.status, commands.GOOD)
        lines = shown.out.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["8", "9", "10", "11"])
        self.assertEqual({line.index("zstd") for line in lines}, {lines[0].index("zstd")})
        self.assertNotIn("\t", shown.out.decode())


class Chunks(Ls):
    def test_chunks_have_a_header_line_and_a_line_each(self):
        header, first, *_ = self.rows("--chunks", commands.sample(BINARY))
        self.assertEqual(header, "begin end kind codec first_ordinal records stored decoded".split())
        self.assertEqual(first, ["0", "64", "signature", "-", "0", "0", "0", "0"])

    def test_columns_are_aligned_on_a_terminal(self):
        shown = self.on_terminal("ls", "--chunks", commands.sample(BINARY)).out.decode()
        self.assertEqual([line.split() for line in shown.splitlines()], self.rows("--chunks", commands.sample(BINARY)))
        self.assertEqual({line.index(line.split()[7], 65) for line in shown.splitlines()}, {71})
        self.assertLess(max(map(len, shown.splitlines())), 80)
        self.assertNotIn("\t", shown)
        for number in range(2):
            (self.folder / f"set-{number:05}-of-00002.riegeli").symlink_to(commands.sample(BINARY))
        lines = self.on_terminal("ls", "--chunks", self.folder).out.decode().splitlines()
        self.assertEqual([line.split()[-1] for line in (lines[0], lines[1], lines[-1])],
                         ["shard", "set-00000-of-00002.riegeli", "set-00001-of-00002.riegeli"])

    def test_range_selects_the_chunks_that_contain_it(self):
        rows = self.rows("--chunks", commands.sample(BINARY))
        second = next(row for row in rows[1:] if row[4] == "52" and row[5] != "0")
        self.assertEqual(self.rows("--chunks", commands.sample(BINARY), "53")[1:], [second])

    def test_json_is_one_object_per_chunk(self):
        rows = self.rows("--chunks", commands.sample(BINARY))
        made = [json.loads(line) for line in self.good("ls", "--chunks", "--json", commands.sample(BINARY)).splitlines()]
        self.assertEqual([[str(value) for value in chunk.values()] for chunk in made], rows[1:])


if __name__ == "__main__":
    commands.main()
