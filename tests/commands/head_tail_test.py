#!/usr/bin/env python3
"""recordfs head and tail: the first and last records, as bytes in a pipe and as lines on a terminal."""
import subprocess

import commands

TEXT = "riegeli/simple_zstd9.riegeli"  # 500 records without newlines
BINARY = "riegeli/multiblock_zstd.riegeli"


class InAPipe(commands.Case):
    def test_output_is_that_of_cat_with_a_range(self):
        for name in (TEXT, BINARY, "bloscpack/vl-out-of-order.blp", "proio/c18-event-metadata.proio"):
            file = commands.sample(name)
            with self.subTest(sample=name):
                self.assertEqual(self.good("head", file), self.good("cat", file, ":10"))
                self.assertEqual(self.good("head", "-n", "2", file), self.good("cat", file, ":2"))
                self.assertEqual(self.good("tail", file), self.good("cat", file, "-10:"))
                self.assertEqual(self.good("tail", "-n", "3", file), self.good("cat", file, "-3:"))

    def test_output_formats_are_those_of_cat(self):
        file = commands.sample(TEXT)
        for form in ("--lines", "--null", "--delimited", "--json"):
            self.assertEqual(self.good("head", form, "-n", "2", file), self.good("cat", form, file, ":2"))
            self.assertEqual(self.good("tail", form, "-n", "2", file), self.good("cat", form, file, "-2:"))

    def test_large_count_writes_all_records(self):
        file = commands.sample(TEXT)
        for command in ("head", "tail"):
            self.assertEqual(self.good(command, "-n", "9223372036854775807", file), self.good("cat", file))
            self.assertEqual(self.good(command, "-n", "0", file), b"")
            self.assertEqual(self.good(command, commands.sample("riegeli/no_records.riegeli")), b"")

    def test_head_does_not_read_damage_after_its_records(self):
        bad = commands.with_bit_flipped(self.copy(BINARY), 84003)
        self.assertEqual(self.good("head", bad), self.good("head", commands.sample(BINARY)))

    def test_usage_errors_are_reported(self):
        for words in (["-n", "x"], ["-n", "--1"], ["-n", "-"], ["-n", "+x"], ["-n", "1.5"], ["-n"], ["--nothing"]):
            for command in ("head", "tail"):
                self.assert_ends(commands.WRONG_USE, "", command, commands.sample(TEXT), *words)
        self.assert_ends(commands.WRONG_USE, "FILE is required", "head", "-3")

    def test_numbers_are_those_of_head_and_tail(self):
        file = commands.sample(TEXT)
        lines = self.folder / "lines"
        lines.write_bytes(self.good("cat", "--lines", file))
        for number in ("3", "-3", "+3", "0", "-0", "+0", "+1", "-500", "-1000", "+500", "+501", "1000"):
            for command in ("head", "tail"):
                with self.subTest(command=command, number=number):
                    expected = subprocess.run([command, "-n", number, lines], stdout=subprocess.PIPE, check=True).stdout
                    self.assertEqual(self.good(command, "--lines", "-n", number, file), expected)
                    self.assertEqual(self.good(command, "--lines", f"--records={number}", file), expected)
        self.assertEqual(self.good("tail", "-n", "+400", file, file), self.good("cat", file, file, "399:"))

    def test_tail_after_the_last_record_is_empty(self):
        for number in ("+502", "+9223372036854775807"):
            self.assertEqual(self.good("tail", "-n", number, commands.sample(TEXT)), b"")
        self.assertEqual(self.good("tail", "-n", "+2000", commands.sample(TEXT), commands.sample(TEXT)), b"")

    def test_last_of_several_numbers_counts(self):
        for command in ("head", "tail"):
            self.assertEqual(self.good(command, "-n", "5", "-n", "3", commands.sample(TEXT)),
                             self.good(command, "-n", "3", commands.sample(TEXT)))

    def test_number_as_an_option_is_that_of_head_and_tail(self):
        file = commands.sample(TEXT)
        for command in ("head", "tail"):
            for words in (["-3", file], ["--lines", "-3", file], [file, "-3"]):
                form = ["--lines"] if "--lines" in words else []
                self.assertEqual(self.good(command, *words), self.good(command, *form, "-n", "3", file))


class OnATerminal(commands.Case):
    def test_each_record_is_a_line(self):
        for words in (["head", "-n", "2"], ["tail", "-n", "2"]):
            shown = self.on_terminal(*words, commands.sample(TEXT))
            self.assertEqual(shown, (commands.GOOD, self.good(*words, "--lines", commands.sample(TEXT)), ""))

    def test_unprintable_bytes_are_escaped(self):
        record = self.good("head", "-n", "1", commands.sample(BINARY))
        self.assertTrue(any(byte < 32 for byte in record))
        shown = self.on_terminal("head", "-n", "1", commands.sample(BINARY)).out
        self.assertEqual(shown.count(b"\n"), 1)
        self.assertTrue(shown[:-1].decode("utf-8").isprintable(), shown)
        self.assertIn(b"\\x", shown)

    def test_final_newline_of_a_record_is_not_escaped(self):
        file = commands.sample("recordio/v2-text-100.grail-rio")
        record = self.good("head", "-n", "1", file)
        shown = self.on_terminal("head", "-n", "1", file).out
        self.assertEqual(shown.count(b"\n"), 1)
        if record.endswith(b"\n"):
            self.assertNotIn(b"\\x0a", shown)

    def test_explicit_output_format_applies(self):
        shown = self.on_terminal("head", "--json", "-n", "2", commands.sample(TEXT)).out
        self.assertEqual(shown, self.good("head", "--json", "-n", "2", commands.sample(TEXT)))


if __name__ == "__main__":
    commands.main()
