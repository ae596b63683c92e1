#!/usr/bin/env python3
"""recordfs grep: the records it selects, its output, and its exit status."""
import base64
import json
import re
import shutil
import subprocess

import commands
from tfrecords import example, log_fragment, tfrecord

MESSAGES = "riegeli/metadata_full_transposed.riegeli"  # messages with descriptors
EXAMPLES = "tfrecord/examples.tfrecord"
LINES = "riegeli/simple_zstd9.riegeli"  # 500 records; each is a line without a newline
DAMAGED = "riegeli/fuzz_simple_zstd.riegeli"
SELECTED, NONE, FAILED = 0, 1, 2


class Grep(commands.Case):
    def setUp(self):
        super().setUp()
        self.file = commands.sample(LINES)
        self.records = re.split(rb"(?=0{3}\d{3} )", self.good("cat", self.file))[1:]
        self.assertEqual(len(self.records), 500)

    def selected(self, pattern, flags=re.S | re.M):
        return [(i, record) for i, record in enumerate(self.records) if re.search(pattern, record, flags)]

    def assert_prints(self, pattern, expected, *options):
        shown = b"".join(b"%d:%s\n" % (i, record) for i, record in expected)
        self.assertEqual(self.good("grep", *options, pattern, self.file), shown)

    def written(self, *records):
        """Writes a log of these records, which must fit into one block."""
        target = self.folder / "written.log"
        target.write_bytes(b"".join(log_fragment(1, record) for record in records))
        return target

    def test_ordinals_and_records_are_printed(self):
        self.assert_prints("two two two", self.selected(b"two two two"))

    def test_pattern_like_an_option_or_a_list_is_a_pattern(self):
        self.assertEqual(self.assert_ends_quietly(NONE, "grep", "-c", "-e", "-x", self.file), b"0\n")
        self.assertEqual(self.good("grep", "-c", "[t]", self.file), b"%d\n" % len(self.selected(b"t")))

    def test_quiet_stops_at_the_first_match_even_if_other_files_fail(self):
        self.assertEqual(self.good("grep", "-q", "two", self.file, "not-there"), b"")
        self.assertEqual(self.recordfs("grep", "-q", "two", "not-there", self.file).status, SELECTED)
        self.assertEqual(self.recordfs("grep", "-q", "no such word", self.file, "not-there").status, FAILED)

    def test_record_of_several_lines_is_one_record(self):
        log = self.written(b"first\nsecond\n", b"third\nfourth")
        self.assertEqual(self.good("grep", "^second$", log), b"0:first\nsecond\n")
        self.assertEqual(self.good("grep", "third.*fourth", log), b"1:third\nfourth\n")
        self.assertEqual(self.good("grep", "-c", "", log), b"2\n")

    def test_match_across_two_records_is_not_found(self):
        log = self.written(b"one two", b"three four", b"two", b"three two three")
        self.assertEqual(self.assert_ends_quietly(NONE, "grep", "twothree", log), b"")
        self.assertEqual(self.good("grep", "three", log), b"1:three four\n3:three two three\n")

    def test_utf8_characters_and_other_bytes_match(self):
        word = "Müller".encode()
        log = self.written(word, b"\xff\xfe" + word + b"\x00\xff", b"M\xfcller")
        self.assertEqual(self.good("grep", "-c", "M.ller", log), b"3\n")
        self.assertEqual(self.good("grep", "-c", "^M.ller$", log), b"2\n")
        self.assertEqual(self.good("grep", "-ci", "MÜLLER", log), b"2\n")
        self.assertEqual(self.good("grep", "-c", b"M\xfcller", log), b"1\n")
        self.assertEqual(self.good("grep", "-c", b"[\xfb-\xfd]", log), b"1\n")
        self.assertEqual(self.good("grep", "Müller.*$", log)[:8], b"0:" + word[:6])

    def test_file_name_with_a_newline_is_printed(self):
        file = self.copy(LINES, "two\nlines")
        self.assertEqual(self.good("grep", "-cH", "two", file), bytes(file) + b":%d\n" % len(self.selected(b"two")))
        self.assertEqual(self.good("grep", "-lZ", "two", file), bytes(file) + b"\0")
        shutil.copy(file, self.folder / "[a,b]")
        self.assertEqual(self.good("grep", "-c", "two", self.folder / "[a,b]"), b"%d\n" % len(self.selected(b"two")))

    def test_directory_is_a_data_set_and_recursive_includes_those_below_it(self):
        done = self.recordfs("grep", "two", self.folder)
        self.assertEqual((done.status, done.out), (FAILED, b""))
        self.assertRegex(done.err, r"\Arecordfs: .*no record container in this directory\n\Z")
        file = self.copy(LINES)
        (self.folder / "below").mkdir()
        below = self.copy(LINES, f"below/{LINES.rpartition('/')[2]}")
        (self.folder / "words.txt").write_text("two\n", encoding="utf-8")
        self.assertEqual(self.good("grep", "-l", "two", self.folder), bytes(file) + b"\n")
        found = sorted(self.good("grep", "-rl", "two", self.folder).splitlines())
        self.assertEqual(found, sorted([bytes(file), bytes(below)]))

    def test_damage_is_reported_and_the_rest_searched(self):
        done = self.recordfs("grep", "-c", "", commands.sample(DAMAGED))
        self.assertEqual(done.status, FAILED)
        self.assertRegex(done.err, r"\Arecordfs: \S+: byte 796: [^\n]+\n")
        self.assertGreater(int(done.out), 0)

    def test_missing_file_and_other_files_are_reported(self):
        self.assert_ends(FAILED, "No such file", "grep", "x", self.folder / "not-there")
        (self.folder / "text").write_text("two\n", encoding="utf-8")
        self.assert_ends(FAILED, "not a record container", "grep", "two", self.folder / "text")
        done = self.recordfs("grep", "-c", "two", self.folder / "not-there", self.file)
        self.assertEqual(done.status, FAILED)
        self.assertEqual(done.out, bytes(self.file) + b":%d\n" % len(self.selected(b"two")))

    def test_usage_errors_have_status_2(self):
        self.assert_ends(FAILED, "PATTERN is required", "grep")
        self.assert_ends(FAILED, "-: empty, not a record container", "grep", "x")
        self.assert_ends(FAILED, "--no-such-option", "grep", "x", self.file, "--no-such-option")

    def test_bad_pattern_is_called_so(self):
        self.assert_ends(FAILED, r"bad pattern: \(: missing \)", "grep", "(", self.file)

    def test_ordinals_are_ranges_of_cat(self):
        chosen = self.selected(b"two two two")
        done = self.recordfs("grep", "--ordinals", "no such text", self.file)
        self.assertEqual((done.status, done.out), (1, b""))
        self.assertRegex(done.err, r"\Arecordfs: no record is selected, and cat without a RANGE writes all of them \(use: cat -r -\)\n\Z")
        ordinals = self.good("grep", "--ordinals", "two two two", self.file).decode().split()
        self.assertEqual(ordinals, [str(i) for i, _ in chosen])
        self.assertEqual(self.good("cat", self.file, *ordinals), b"".join(record for _, record in chosen))
        shown = self.good("grep", "--ordinals", "-H", "-m", "1", "two two two", self.file)
        self.assertEqual(shown, bytes(self.file) + b":%d\n" % chosen[0][0])
        self.assertEqual(self.good("grep", "--ordinals", "-v", "two", self.file).count(b"\n"), 500 - len(self.selected(b"two")))

    def test_json_has_the_record_and_its_matches(self):
        lines = [json.loads(line) for line in self.good("grep", "--json", "t[wh]\\w+", self.file, self.file).splitlines()]
        chosen = self.selected(rb"t[wh]\w+")
        self.assertEqual([(line["file"], line["ordinal"], line["text"].encode()) for line in lines],
                         [(str(self.file), i, record) for i, record in chosen] * 2)
        for line in lines:
            found = [(match.start(), match.end(), match.group()) for match in re.finditer(r"t[wh]\w+", line["text"])]
            self.assertEqual([(one["begin"], one["end"], one["text"]) for one in line["matches"]], found)

    def test_json_of_inverted_matches_has_none(self):
        line = json.loads(self.good("grep", "--json", "-v", "-m", "1", "two", self.file))
        self.assertNotIn("matches", line)

    def test_json_of_a_record_that_is_not_utf8_is_base64(self):
        line = json.loads(self.good("grep", "--json", r"b\C", self.written(b"a\xffb\xfe")))
        self.assertEqual(base64.b64decode(line["base64"]), b"a\xffb\xfe")
        self.assertEqual([(one["begin"], base64.b64decode(one["base64"])) for one in line["matches"]], [(2, b"b\xfe")])

    def documents(self, name):
        """Returns the decoded records of a sample; an empty one for a record without decoded content."""
        return [json.loads(line).get("decoded", {}) for line in self.good("cat", "--json", commands.sample(name)).splitlines()]

    def test_decoded_content_is_searched_and_printed(self):
        documents = self.documents(MESSAGES)
        chosen = [(i, one) for i, one in enumerate(documents) if '"c":"NEG"' in json.dumps(one, separators=(",", ":"))]
        self.assertGreater(len(documents), len(chosen))
        shown = [line.split(b":", 1) for line in self.good("grep", "--decoded", '"c":"NEG"', commands.sample(MESSAGES)).splitlines()]
        self.assertEqual([(int(ordinal), json.loads(document)) for ordinal, document in shown], chosen)
        self.assertGreater(len(chosen), 1)
        count = self.good("grep", "-c", "-v", "--decoded", '"c":"NEG"', commands.sample(MESSAGES))
        self.assertEqual(int(count), len(documents) - len(chosen))

    def test_field_is_searched_alone(self):
        documents = self.documents(MESSAGES)
        names = [[kid.get("name", "") for kid in one.get("rnested", [])] for one in documents]
        chosen = [i for i, some in enumerate(names) if any(re.search("message$", name) for name in some)]
        self.assertTrue(chosen)
        ordinals = self.good("grep", "--ordinals", "--field", "rnested.name", "message$", commands.sample(MESSAGES))
        self.assertEqual([int(one) for one in ordinals.split()], chosen)
        matches = self.good("grep", "-o", "-h", "--field", "rnested.name", "^.*message$", commands.sample(MESSAGES))
        self.assertEqual([line.split(b":", 1)[1].decode() for line in matches.splitlines()],
                         [name for some in names for name in some if name.endswith("message")])
        self.assertEqual(self.assert_ends_quietly(NONE, "grep", "--field", "rnested.name", "absent", commands.sample(MESSAGES)), b"")

    def first_example(self):
        path = self.folder / "first.tfrecord"
        path.write_bytes(tfrecord([self.good("cat", commands.sample(EXAMPLES), "0")]))
        return path

    def test_field_that_no_record_has_is_reported(self):
        for words in ([], ["-q"], ["-v"], ["-c"], ["-l"], ["--json"]):
            self.assert_ends(FAILED, r"no record has a field no\.such", "grep", *words, "--field", "no.such", "",
                             commands.sample(MESSAGES))
        self.assert_ends(FAILED, r"no record has a field labl", "grep", "--field", "labl", "640", self.first_example())

    def test_records_that_cannot_be_decoded_are_reported(self):
        path = self.folder / "mixed.tfrecord"
        path.write_bytes(tfrecord([b"text 3", example(label=[3]), example(label=[4]), b"text", example(label=[13])]))
        error = rf"--field: 2 records cannot be decoded, so they are not searched; the first is in {path}, in the chunk at 0: "
        for words, found in (([], b"1\n4\n"), (["-v"], b"2\n")):
            self.assertEqual(self.assert_ends(FAILED, error, "grep", *words, "--ordinals", "--field", "label", "3", path), found)
        done = self.recordfs("grep", "--ordinals", "--decoded", "-v", "label", path)
        self.assertEqual((done.out, done.err), (b"0\n3\n", ""))

    def test_field_is_not_called_missing_if_no_record_was_read(self):
        empty = self.written()
        self.assert_ends_quietly(NONE, "grep", "--field", "x", "", empty)
        self.assert_ends(FAILED, "No such file", "grep", "--field", "x", "", self.folder / "not-there")

    def test_feature_is_searched_by_its_name_or_its_path(self):
        path = self.folder / "pictures.tfrecord"
        path.write_bytes(tfrecord([example(label=[64], **{"image/class/text": [b"cat"]}),
                                   example(label=[164, 7], **{"image/class/text": [b"catalogue", b"cat"]}),
                                   example(label=[2], **{"image/class/text": [b"a dog\nand a cat", b"\xff\xfe"]})]))
        for name in ("image/class/text", "features.feature.image/class/text"):
            for options, pattern, found in (([], "^cat$", b"0\n1\n"), (["-x"], "cat", b"0\n1\n"), (["-w"], "cat", b"0\n1\n2\n"),
                                            ([], "bytes_list", b""), ([], "value", b""), ([], "cat.cat", b""),
                                            ([], "\\xff", b"2\n"), (["-v"], "^cat$", b"2\n")):
                done = self.recordfs("grep", *options, "--ordinals", "--field", name, pattern, path)
                self.assertEqual((done.out, done.err == ""), (found, found != b""), (name, pattern))
        for name in ("label", "features.feature.label"):
            for options, pattern, found in (([], "64", b"0\n1\n"), (["-x"], "64", b"0\n"), ([], "^7$", b"1\n"), ([], "list", b"")):
                self.assertEqual(self.recordfs("grep", *options, "--ordinals", "--field", name, pattern, path).out, found)
        large = commands.sample("leveldb_table/leveldb-large-values.ldb")
        listed = self.good("ls", "--where", "value is not null", large).count(b"\n")
        self.assertEqual(self.good("grep", "-c", "--field", "value", "", large), b"%d\n" % listed)
        self.assertEqual(self.good("grep", "-o", "--field", "label", "[0-9]", path), b"0:6\n0:4\n1:1\n1:6\n1:4\n1:7\n2:2\n")

    def test_fields_of_json_lines_are_those_that_are_wanted(self):
        line = json.loads(self.good("grep", "--json", "--fields", "image/width", "--field", "image/width", "640",
                                    self.first_example()).splitlines()[0])
        self.assertEqual(line["decoded"], {"features": {"feature": {"image/width": {"int64_list": {"value": [640]}}}}})
        self.assertNotIn("text", line)
        self.assertNotIn("base64", line)
        line = json.loads(self.good("grep", "--json", "--no-raw", "-m1", "two", self.file))
        self.assertEqual(sorted(line), ["file", "matches", "ordinal", "size"])
        self.assert_ends(FAILED, "no record has a field widht", "grep", "--json", "--fields", "widht", "two", self.file)

    def test_json_of_decoded_matches_has_no_positions(self):
        lines = [json.loads(line) for line in
                 self.good("grep", "--json", "--field", "c", "NEG", commands.sample(MESSAGES)).splitlines()]
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual((line["matches"], line["decoded"]["c"], line["type"]), ([{"text": "NEG"}], "NEG", "hdev.Everything"))

    def test_records_without_decoded_content_do_not_match(self):
        self.assertEqual(self.assert_ends_quietly(NONE, "grep", "--decoded", "", self.file), b"")
        self.assertEqual(self.good("grep", "-c", "-v", "--decoded", "", self.file), b"500\n")

    def test_outputs_exclude_each_other(self):
        for words in (["--json", "-c"], ["--json", "-l"], ["--json", "-o"], ["--json", "--ordinals"], ["--ordinals", "-o"]):
            self.assert_ends(FAILED, "only one of --json, --ordinals, -c, -l and -o", "grep", *words, "x", self.file)
        self.assert_ends(FAILED, "--descriptors and --type are for --decoded, --json and --where", "grep", "--type", "T", "x", self.file)

    def test_options_that_cannot_be_are_refused_with_what_to_use(self):
        for option, hint in (("-P", "RE2"), ("-G", "-E"), ("-b", "--json")):
            self.assert_ends(FAILED, f"{option} is not supported.*{hint}", "grep", option, "x", self.file)
        self.assert_ends(FAILED, r"unknown option: -3 \(try: -C 3, or -e -3\)", "grep", "-3", "two", self.file)
        self.assert_ends_quietly(NONE, "grep", "-3", self.file)

    def test_closed_pipe_ends_grep_silently(self):
        done = self.until_the_pipe_closes(10, "grep", "", *[self.file] * 200)
        self.assertEqual((done.out[-10:], done.err), (done.out, ""))
        self.assertNotEqual(done.status, 0)

    def test_terminal_gets_no_escape_sequences(self):
        path = self.folder / "\x1b[1mx.tfrecord"
        path.write_bytes(tfrecord([b"\x1b]0;title\x07 two\n\tlines \xff\n", "caf\u00e9".encode()]))
        shown = b"0:\\x1b]0;title\\x07 two\n\tlines \\xff\n1:caf\xc3\xa9\n"
        self.assertEqual(self.on_terminal("grep", "", path), (SELECTED, shown, ""))
        self.assertEqual(self.on_terminal("grep", "-o", "title.", path).out, b"0:title\\x07\n")
        name = str(self.folder).encode() + b"/\\x1b[1mx.tfrecord"
        self.assertEqual(self.on_terminal("grep", "-l", "", path).out, name + b"\n")
        self.assertEqual(self.on_terminal("grep", "-Hc", "", path).out, name + b":2\n")
        self.assertEqual(self.good("grep", "-l", "", path), bytes(path) + b"\n")

    def test_characters_of_a_large_record_are_whole_on_a_terminal(self):
        path = self.folder / "large.tfrecord"
        text = "x" + "\u00e9" * 600_000  # a piece of 1 MiB ends inside a character
        path.write_bytes(tfrecord([text.encode()]))
        self.assertEqual(self.on_terminal("grep", "", path).out, b"0:" + text.encode() + b"\n")

    def test_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            done = self.recordfs("grep", "", self.file, stdout=full)
        self.assertEqual(done.status, FAILED)
        self.assertRegex(done.err, r"\Arecordfs: standard output: .*\n\Z")

    def test_record_above_max_chunk_is_reported(self):
        large = self.folder / "large.riegeli"
        subprocess.run([commands.program("make_data"), "riegeli-none", "1", large, "--kind=large"], check=True)
        self.assertEqual(self.good("grep", "-c", "", large), b"1\n")
        self.assertEqual(self.assert_ends(FAILED, "200000000 bytes, too large to search .see --max-chunk", "grep", "-c", "",
                                          "--max-chunk", "4M", large), b"0\n")

    def assert_ends_quietly(self, status, *words):
        done = self.recordfs(*words)
        self.assertEqual((done.status, done.err), (status, ""), words)
        return done.out


if __name__ == "__main__":
    commands.main()
