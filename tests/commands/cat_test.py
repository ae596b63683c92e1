#!/usr/bin/env python3
"""recordfs cat: all records or ranges of them, as bytes or in another output format."""
import ast
import json
import math
import re
import struct

import commands
from built import bytes_of, delimited, stream_digest
from tfrecords import tfrecord

TEXT = "riegeli/simple_zstd9.riegeli"  # 500 records; each starts with its ordinal, none ends with a newline
BINARY = "riegeli/multiblock_zstd.riegeli"
UNORDERED = "bloscpack/vl-out-of-order.blp"
BAD_DATA = 84003  # a byte of BINARY, in the data of the chunk at BAD_CHUNK
BAD_CHUNK = 83928


class Cat(commands.Case):
    def records(self, *words):
        return delimited(self.good("cat", "--delimited", *words))


class Whole(Cat):
    def test_all_records_are_written_in_order(self):
        out = self.good("cat", commands.sample(TEXT)).decode()
        self.assertEqual([int(number) for number in re.findall(r"\d{6}", out)], list(range(500)))

    def test_undamaged_samples_have_the_records_of_their_writer(self):
        compared = 0
        for path in commands.containers():
            want = commands.expectation(path)
            if want.get("damaged") or want.get("damage") or "stream_sha256" not in want or "salvage" in want:
                continue
            done = self.once("cat", "--delimited", path)
            if done.status != commands.GOOD:
                continue  # damage that the expectation does not mention is tested elsewhere
            records = delimited(done.out)
            with self.subTest(sample=path.name):
                self.assertEqual(len(records), want["num_records"])
                self.assertEqual(stream_digest(records), want["stream_sha256"])
            compared += 1
        self.assertGreater(compared, 100)

    def test_output_does_not_depend_on_the_number_of_threads(self):
        self.assertEqual(self.good("cat", "-j", "1", commands.sample(BINARY)),
                         self.good("cat", "-j", "7", commands.sample(BINARY)))


class Ranges(Cat):
    def setUp(self):
        super().setUp()
        self.file = commands.sample(TEXT)
        self.all = self.records(self.file)

    def test_range_is_a_slice(self):
        for text in ["10:20", ":3", "495:", "-5:", "-5:-2", ":", "490:900", "5:-497", "0:0", "500:", "-900:2", "-1:", "3:4"]:
            begin, end = (int(bound) if bound else None for bound in text.split(":"))
            with self.subTest(range=text):
                self.assertEqual(self.records(self.file, text), self.all[begin:end])

    def test_record_and_range_of_one_end_alike_after_damage(self):
        file = self.folder / "bad.tfrecord"
        content = bytearray(tfrecord([b"x%d" % number for number in range(9)]))
        content[4] ^= 1  # the length of record 0
        file.write_bytes(content)
        for first in range(8):
            one, same = self.recordfs("cat", file, str(first)), self.recordfs("cat", file, f"{first}:{first + 1}")
            with self.subTest(first=first):
                self.assertEqual((one.status, one.out, one.err), (same.status, same.out, same.err))
                self.assertEqual(one.out, b"x%d" % (first + 1))
                self.assertEqual(one.status, commands.DAMAGE if first == 0 else commands.GOOD)

    def test_ranges_are_written_in_the_given_order(self):
        wanted = self.all[7:9] + [self.all[3]] + self.all[-2:] + [self.all[7]]
        self.assertEqual(self.records(self.file, "7:9", "3", "-2:", "7"), wanted)

    def from_input(self, text, *words):
        """Runs cat --delimited with ranges on standard input."""
        return self.recordfs("cat", "--delimited", "-r", "-", *words, self.file, stdin=self.input_of(text))

    def test_ranges_of_standard_input_are_read(self):
        done = self.from_input("7:9 3\n-2:\n\t@64/0\n", "-r", "1")
        self.assertEqual((done.status, done.err), (commands.GOOD, ""))
        self.assertEqual(delimited(done.out), [self.all[1]] + self.all[7:9] + [self.all[3]] + self.all[-2:] + [self.all[0]])
        ordinals = self.good("grep", "--ordinals", "three", self.file)
        self.assertEqual(self.from_input(ordinals.decode()).out, self.good(
            "cat", "--delimited", self.file, *ordinals.decode().split()))

    def test_empty_selection_of_standard_input_selects_nothing(self):
        for text in ("", " \n\n"):
            self.assertEqual(self.from_input(text), (commands.GOOD, b"", ""))
            for command in (["ls"], ["ls", "--json"], ["cat", "--json"]):
                self.assertEqual(self.recordfs(*command, "-r", "-", self.file, stdin=self.input_of(text)),
                                 (commands.GOOD, b"", ""))

    def test_word_of_standard_input_that_is_no_range_ends_with_an_error(self):
        for text in ("1 x 2", "1\nfile:2\n3", "1 0x2"):
            done = self.from_input(text)
            self.assertEqual((done.status, delimited(done.out)), (commands.WRONG_USE, [self.all[1]]))
            self.assertRegex(done.err, r"\Arecordfs: standard input: not a range: (x|file:2|0x2) ")

    def test_standard_input_cannot_have_ranges_and_records(self):
        self.assert_ends(commands.WRONG_USE, "--range: standard input cannot have both", "cat", "-r", "-", "-")
        self.assert_ends(commands.WRONG_USE, "only one of RANGE, --split", "cat", "-r", "-", "--shuffle", "1", self.file)

    def test_range_before_the_file_is_explained(self):
        self.assert_ends(commands.WRONG_USE, "RANGE: follows FILE: -3 ", "cat", "-3", self.file)
        self.assert_ends(commands.WRONG_USE, "RANGE: follows FILE: -3: ", "ls", "-3:", self.file)
        self.assertEqual(self.records(self.file, "-3"), [self.all[-3]])

    def test_missing_record_is_reported(self):
        for text, reason in [("600", r"no record 600 \(there are 500\)"), ("500", r"no record 500 \(there are 500\)"),
                             ("-501", r"no record -501 \(there are 500\)"), ("501:", r"no record 501 \(there are 500\)"),
                             ("@17/0", "no chunk begins at byte 17"), ("@99999999/0", "no chunk begins at byte 99999999"),
                             ("@0/0", r"no record 0 in the chunk at byte 0 \(it has 0\)")]:
            with self.subTest(range=text):
                self.assertEqual(self.assert_ends(commands.PARTLY_DONE, reason, "cat", self.file, text), b"")

    def test_missing_record_does_not_stop_later_ranges(self):
        out = self.assert_ends(commands.PARTLY_DONE, "no record 600", "cat", self.file, "1", "600", "2")
        self.assertEqual(out, self.all[1] + self.all[2])

    def test_empty_container_has_no_record_to_select(self):
        empty = commands.sample("riegeli/no_records.riegeli")
        self.assert_ends(commands.PARTLY_DONE, r"no record 0 \(there are 0\)", "cat", empty, "0")
        self.assert_ends(commands.PARTLY_DONE, r"no record -1 \(there are 0\)", "cat", empty, "-1")
        self.assertEqual(self.good("cat", empty, ":5", "-5:"), b"")

    def test_ordinals_follow_the_logical_order_of_chunks(self):
        file = commands.sample(UNORDERED)
        whole = self.records(file)
        self.assertEqual([self.records(file, str(i))[0] for i in range(len(whole))], whole)
        self.assertEqual(self.records(file, "1:"), whole[1:])

    def test_saved_index_does_not_change_the_output(self):
        slow = self.copy(BINARY)
        before = self.records(slow, "1000", "-3:")
        self.good("info", "--scan", slow)
        self.assertEqual(self.records(slow, "1000", "-3:"), before)


class Forms(Cat):
    def test_lines_and_null_append_a_delimiter_to_each_record(self):
        file = commands.sample(BINARY)
        records = self.records(file)
        for option, end in [("--lines", b"\n"), ("--null", b"\0")]:
            self.assertEqual(self.good("cat", option, file), b"".join(record + end for record in records))

    def test_json_preserves_every_byte_of_every_sample(self):
        words = ("cat", "--skip-damage", "--allow-missing", *commands.containers())
        records = delimited(self.recordfs(*words, "--delimited").out)
        objects = [json.loads(line) for line in self.recordfs(*words, "--json").out.decode("utf-8").splitlines()]
        self.assertEqual(len({made["ordinal"] for made in objects}), len(records))
        self.assertGreater(len({made["shard"] for made in objects}), 500)
        for made, record in zip(objects, records, strict=True):
            self.assertEqual(made["size"], len(record), (made["shard"], made["ordinal"]))
            self.assertEqual(bytes_of(made), record, (made["shard"], made["ordinal"]))

    def test_json_of_text_contains_text(self):
        first = json.loads(self.good("cat", "--json", commands.sample(TEXT), "0"))
        self.assertEqual(sorted(first), ["ordinal", "size", "text"])
        self.assertTrue(first["text"].startswith("000000 "))

    def test_json_of_an_address_contains_the_address(self):
        made = json.loads(self.good("cat", "--json", commands.sample(BINARY), "@64/3"))
        self.assertEqual((made["chunk"], made["index"]), (64, 3))
        self.assertNotIn("ordinal", made)

    def test_two_output_formats_are_refused(self):
        self.assert_ends(commands.WRONG_USE, "only one of", "cat", "--lines", "--json", commands.sample(TEXT))


class Damage(Cat):
    def setUp(self):
        super().setUp()
        self.all = self.records(commands.sample(BINARY))
        rows = [row.split("\t") for row in self.good("ls", commands.sample(BINARY)).decode().splitlines()]
        lost = [int(row[0]) for row in rows if row[2].startswith(f"{BAD_CHUNK}/")]
        self.first, self.after = lost[0], lost[-1] + 1
        self.file = commands.with_bit_flipped(self.copy(BINARY), BAD_DATA)

    def test_cat_stops_at_the_first_unreadable_record(self):
        for form in ([], ["--delimited"]):
            out = self.assert_ends(commands.DAMAGE, f"byte {BAD_CHUNK}: ", "cat", *form, self.file)
            if form:
                self.assertEqual(delimited(out), self.all[:self.first])
            else:
                self.assertEqual(out, b"".join(self.all[:self.first]))

    def test_skip_damage_omits_unreadable_records(self):
        out = self.assert_ends(commands.DAMAGE, f"byte {BAD_CHUNK}: ", "cat", "--skip-damage", "--delimited", self.file)
        self.assertEqual(delimited(out), self.all[:self.first] + self.all[self.after:])

    def test_ordinals_after_damage_are_unchanged_if_the_header_is_readable(self):
        out = self.assert_ends(commands.DAMAGE, "", "cat", "--skip-damage", "--json", self.file)
        ordinals = [json.loads(line)["ordinal"] for line in out.decode().splitlines()]
        self.assertEqual(ordinals, [*range(self.first), *range(self.after, len(self.all))])

    def test_ranges_without_damaged_records_succeed(self):
        self.assertEqual(self.records(self.file, f":{self.first}", f"{self.after}:"),
                         self.all[:self.first] + self.all[self.after:])
        self.assertEqual(self.records(self.file, str(self.after)), [self.all[self.after]])

    def test_damaged_record_fails(self):
        for words in ([str(self.first)], [f"{self.first}:{self.after}"], [f"@{BAD_CHUNK}/0"], ["--skip-damage", f"@{BAD_CHUNK}/0"]):
            self.assertEqual(self.assert_ends(commands.DAMAGE, f"byte {BAD_CHUNK}: ", "cat", self.file, *words), b"")

    def test_recycled_end_is_not_damage(self):
        done = self.recordfs("cat", commands.sample("leveldb_log/rocksdb-direct/recycled-tail-000017.log"))
        self.assertEqual((done.status, done.err), (commands.GOOD, ""))

    def test_every_failure_prints_a_reason(self):
        for path in commands.containers():
            for words in (["--delimited"], ["--delimited", "--skip-damage"]):
                done = self.once("cat", *words, path)
                with self.subTest(sample=path.name, words=words):
                    self.assertIn(done.status, (commands.GOOD, commands.CANNOT_OPEN, commands.DAMAGE, commands.PARTLY_DONE))
                    self.assertEqual(done.status == commands.GOOD, done.err == "", done.err)

    def test_large_record_with_a_damaged_end_is_omitted_as_a_whole(self):
        def lz4(value, size):
            more = size - 25
            return bytes([0x1f, value, 1, 0]) + b"\xff" * (more // 255) + bytes([more % 255, 0x50]) + bytes([value]) * 5

        def chunk(values, size, damaged=None):
            blocks = [b"\xff" * 40 if i == damaged else lz4(value, size) for i, value in enumerate(values)]
            stored = [struct.pack("<i", len(block)) + block for block in blocks]
            begin = 16 + 4 * len(blocks)
            starts = [begin + sum(map(len, stored[:i])) for i in range(len(stored))]
            sizes = (size * len(blocks), size, begin + sum(map(len, stored)))
            return struct.pack(f"<BBBBIII{len(starts)}i", 2, 1, 0x30, 1, *sizes, *starts) + b"".join(stored)
        size = 10 << 20
        path = self.folder / "large.blp"
        path.write_bytes(b"blpk" + struct.pack("<BBBBiiqq", 3, 0, 0, 1, size, size, 3, 0) +
                         b"".join(chunk(b"0123456789", 1 << 20, damaged) for damaged in (None, 7, None)))
        out = self.assert_ends(commands.DAMAGE, "in block 7", "cat", "--skip-damage", "--delimited", path)
        self.assertEqual([len(record) for record in delimited(out)], [size, size])

    def test_skip_damage_writes_at_least_as_much(self):
        for path in commands.containers():
            stopped = delimited(self.once("cat", "--delimited", path).out)
            skipped = delimited(self.once("cat", "--delimited", "--skip-damage", path).out)
            with self.subTest(sample=path.name):
                self.assertEqual(skipped[:len(stopped)], stopped)


class Npy(commands.Case):
    """cat --npy: the array that a Bloscpack file holds."""

    ARRAY = "bloscpack/v3-np-f8-2d.blp"

    def test_npy_is_the_header_and_all_records(self):
        path = commands.sample(self.ARRAY)
        whole = self.good("cat", "--npy", path)
        records = self.good("cat", path)
        self.assertEqual(whole[:8], b"\x93NUMPY\x01\x00")
        size = 10 + int.from_bytes(whole[8:10], "little")
        self.assertEqual(ast.literal_eval(whole[10:size].decode()), {"descr": "<f8", "fortran_order": False, "shape": (60, 100)})
        self.assertEqual(whole[size:], records)

    def test_file_without_an_array_is_refused(self):
        path = commands.sample("bloscpack/v3-onechunk.blp")
        self.assert_ends(commands.CANNOT_OPEN, "does not hold a numpy array", "cat", "--npy", path)

    def test_damaged_array_is_reported(self):
        path = commands.with_bit_flipped(self.copy(self.ARRAY), commands.sample(self.ARRAY).stat().st_size - 100)
        done = self.recordfs("cat", "--npy", path)
        self.assertEqual(done.status, commands.DAMAGE, done.err)

    def test_several_arrays_and_other_forms_are_refused(self):
        path = commands.sample(self.ARRAY)
        self.assert_ends(commands.WRONG_USE, "each with an array of its own", "cat", "--npy", path, path)
        for words in (["--json"], ["--lines"], ["--skip-damage"], ["--split", "0:1"]):
            self.assert_ends(commands.WRONG_USE, "--npy", "cat", "--npy", path, *words)
        for words in (["3", "4"], ["@0/0"], ["--flat", "--json"]):
            self.assert_ends(commands.WRONG_USE, "--npy", "cat", "--npy", path, *words)
        self.assert_ends(commands.WRONG_USE, "--flat requires --npy|--flat: requires --npy", "cat", "--flat", path)

    def written(self, shape, order="C", appended=0):
        """Writes a file with an array of the numbers from 0 on, in chunks of 48 bytes, and so many that were appended."""
        metadata = json.dumps({"container": "numpy", "dtype": "'<i8'", "shape": shape, "order": order}).encode()
        numbers = list(range(math.prod(shape) + appended))
        data = struct.pack(f"<{len(numbers)}q", *numbers)
        chunks = [data[at:at + 48] for at in range(0, len(data), 48)]
        section = b"JSON" + bytes(4) + bytes([0, 0, 0, 6]) + struct.pack("<III", *[len(metadata)] * 3) + bytes(8) + metadata
        header = b"blpk" + struct.pack("<BBBBiiqq", 3, 2, 0, 8, 48, len(chunks[-1]), len(chunks), 0)
        path = self.folder / "array.blp"
        path.write_bytes(header + section + b"".join(
            struct.pack("<BBBBIII", 2, 1, 2, 8, len(chunk), len(chunk), len(chunk) + 16) + chunk for chunk in chunks))
        return path

    def array(self, *words):
        """Returns (shape, is in Fortran order, numbers) of the array that a command writes."""
        whole = self.good("cat", "--npy", *words)
        size = 10 + int.from_bytes(whole[8:10], "little")
        header = ast.literal_eval(whole[10:size].decode())
        self.assertEqual(header["descr"], "<i8")
        return header["shape"], header["fortran_order"], list(struct.unpack(f"<{len(whole[size:]) // 8}q", whole[size:]))

    def test_range_of_rows_of_an_array(self):
        path = self.written([10, 3])
        for text, begin, end in (("2:4", 2, 4), (":", 0, 10), ("-2:", 8, 10), ("9", 9, 10), ("-10", 0, 1), ("5:5", 5, 5), ("8:99", 8, 10)):
            self.assertEqual(self.array(path, text), ((end - begin, 3), False, list(range(begin * 3, end * 3))), text)
        for row in ("10", "-11", "11:"):
            self.assert_ends(commands.PARTLY_DONE, r"no row -?1\d \(there are 10\)", "cat", "--npy", path, row)

    def test_range_of_rows_in_fortran_order(self):
        path = self.written([10, 3], order="F")
        self.assertEqual(self.array(path, "4:6"), ((2, 3), True, [4, 5, 14, 15, 24, 25]))
        self.assertEqual(self.array(path), ((10, 3), True, list(range(30))))

    def test_array_without_dimensions_has_no_rows(self):
        self.assert_ends(commands.PARTLY_DONE, "no dimension", "cat", "--npy", self.written([]), "0")

    def test_array_that_was_appended_to_is_written_flat_on_request(self):
        path = self.written([5, 3], appended=4)
        why = "an array of 120 bytes does not match 3 chunks of 48 bytes and a last one of 8; an append does not update the shape"
        self.assertEqual(json.loads(self.good("info", "--json", path))["no_array"], why)
        self.assert_ends(commands.PARTLY_DONE, rf"no array: {why} \(--flat writes", "cat", "--npy", path)
        self.assertEqual(self.array("--flat", path), ((19,), False, list(range(19))))
        self.assert_ends(commands.WRONG_USE, "--flat", "cat", "--npy", "--flat", path, "14:17")

    def test_flat_array_has_one_dimension(self):
        self.assertEqual(self.array("--flat", self.written([5, 3])), ((15,), False, list(range(15))))
        self.assertEqual(self.array("--flat", self.written([5, 3], order="F")), ((15,), False, list(range(15))))


if __name__ == "__main__":
    commands.main()
