#!/usr/bin/env python3
"""--where: the records that a condition selects, and conditions that do not fit the records."""
import json

import commands
from decoded_test import INT64, STRING, descriptor_set, field, message_type
from tfrecords import example, tfrecord
from tfrecords import field as part

LABELS = [number % 7 for number in range(300)]
THREES = [number for number, label in enumerate(LABELS) if label == 3]


class Where(commands.Case):
    def setUp(self):
        super().setUp()
        records = [example({"label": [label], "split": [b"val" if number % 3 == 0 else b"train"],
                            "image/encoded": [b"x" * number], "score": [number / 10], "none": []})
                   for number, label in enumerate(LABELS)]
        self.file = self.folder / "a.tfrecord"
        self.file.write_bytes(tfrecord(records))
        self.rest = self.folder / "b.tfrecord"
        self.rest.write_bytes(tfrecord(records[:10]))

    def ordinals(self, *words):
        """Returns the ordinals of the records that a command writes as JSON."""
        return [json.loads(line)["ordinal"] for line in self.good(*words, "--json", "--no-raw").splitlines()]

    def listed(self, condition, *words):
        return [int(line.split(b"\t")[0]) for line in self.good("ls", self.file, *words, "--where", condition).splitlines()]

    def test_records_are_listed_that_meet_the_condition(self):
        self.assertEqual(self.listed("label = 3"), THREES)
        self.assertEqual(self.listed("label in (3, 5) and len(image/encoded) > 2.9e2 and not split ~ '^val'"),
                         [n for n in range(300) if LABELS[n] in (3, 5) and n > 290 and n % 3])
        self.assertEqual(self.listed("score = 0.3 or score > 29.85"), [3, 299])
        self.assertEqual(self.listed("features.feature.label.int64_list.value = 3"), THREES)
        self.assertEqual(self.listed("none is null and label = 3"), THREES)
        self.assertEqual(self.listed("label = 8"), [])

    def test_ranges_come_before_the_condition(self):
        self.assertEqual(self.listed("label = 3", "10:20"), [10, 17])
        self.assertEqual(self.listed("label = 3", "-5:"), [297])
        for command in (["cat"], ["ls"]):
            self.assertEqual(self.good(*command, self.file, "3", "--where", "label = 4"), b"")
            self.assertNotEqual(self.good(*command, self.file, "3", "--where", "label = 3"), b"")
        address = self.good("ls", self.file, "17").split()[2].decode()
        self.assertEqual(self.good("cat", self.file, "@" + address, "--where", "label = 3"), self.good("cat", self.file, "17"))
        self.assertEqual(self.good("cat", self.file, "@" + address, "--where", "label = 4"), b"")
        splits = [line.split(b"\t") for line in self.good("splits", "--size", "20K", self.file).splitlines()]
        self.assertEqual(b"".join(self.good("cat", "--split", b"%s:%s" % (begin, end), self.file, "--where", "label = 3")
                                  for _, begin, end in splits), self.good("cat", self.file, "--where", "label = 3"))

    def test_bytes_of_records_are_those_of_each_selected_one(self):
        alone = b"".join(self.good("cat", self.file, str(number)) for number in THREES[:5])
        self.assertEqual(self.good("cat", self.file, ":38", "--where", "label = 3"), alone)
        self.assertEqual(self.ordinals("cat", self.file, "--where", "label = 3"), THREES)
        self.assertEqual(self.good("cat", "-j1", "--json", self.file, "--where", "label = 3"),
                         self.good("cat", "-j4", "--json", self.file, "--where", "label = 3"))

    def test_head_and_tail_count_selected_records(self):
        for words, expected in ((["head", "-n", "4"], THREES[:4]), (["head", "-n", "-40"], THREES[:-40]),
                                (["head", "-n", "0"], []), (["head", "-n", "-0"], THREES), (["head", "-n", "-99"], []),
                                (["head", "-n", "99"], THREES), (["tail", "-n", "3"], THREES[-3:]), (["tail", "-n", "0"], []),
                                (["tail", "-n", "+40"], THREES[39:]), (["tail", "-n", "+0"], THREES),
                                (["tail", "-n", "99"], THREES), (["tail", "-n", "+99"], [])):
            self.assertEqual(self.ordinals(*words, self.file, "--where", "label = 3"), expected, words)
        self.assertEqual(self.ordinals("tail", "-n", "3", self.file, self.rest, "--where", "label = 3"), [*THREES[-2:], 303])
        self.assert_ends(commands.WRONG_USE, "excludes --where", "tail", "-f", self.file, "--where", "label = 3")

    def test_sample_and_shuffle_choose_among_selected_records(self):
        both = [*THREES, 303]
        words = ["cat", self.file, self.rest, "--where", "label = 3"]
        self.assertEqual(self.ordinals(*words, "--sample", "999"), both)
        sample = self.ordinals(*words, "--sample", "5", "--seed", "2")
        self.assertEqual((len(sample), sample), (5, sorted(set(sample) & set(both))))
        shuffled = self.ordinals(*words, "--shuffle", "1")
        self.assertEqual(sorted(shuffled), both)
        self.assertNotEqual(shuffled, both)

    def test_grep_searches_and_cp_copies_selected_records(self):
        found = self.good("grep", "--ordinals", "val", self.file, "--where", "label = 3").split()
        self.assertEqual([int(number) for number in found], [number for number in THREES if number % 3 == 0])
        self.assertEqual(self.good("grep", "-c", "-v", "val", self.file, "--where", "label = 3"), b"%d\n" % (len(THREES) - len(found)))
        self.good("cp", self.file, self.rest, "-r", ":", self.folder / "out", "--where", "label = 3")
        self.assertEqual(sorted(int(path.name) for path in (self.folder / "out").iterdir()), [*THREES, 303])
        self.assertEqual((self.folder / "out/000000010").read_bytes(), self.good("cat", self.file, "10"))

    def test_error_points_at_the_place(self):
        done = self.recordfs("cat", self.file, "--where", "label = cat")
        self.assertEqual((done.status, done.err.splitlines()), (commands.WRONG_USE, [
            "recordfs: --where: a text is written in quotes, and a field is on the left (try recordfs cat --help)",
            "recordfs:   label = cat", "recordfs:           ^"]))

    def test_condition_that_does_not_fit_the_records_is_an_error(self):
        status = commands.PARTLY_DONE
        for command in (["cat"], ["ls"], ["tail"], ["cat", "--sample", "2"]):
            self.assert_ends(status, r"no record has a field labl \(did you mean label\?\)", *command, self.file, "--where", "labl = 3")
        self.assert_ends(status, r"no record has a field widest \(the nearest are ", "cat", self.file, "--where", "widest = 3")
        self.assert_ends(2, "no record has a field labl", "grep", "", self.file, "--where", "labl = 3")
        self.assert_ends(status, "label > \"3\": no value of this field has the type", "ls", self.file, "--where", 'label > "3"')
        self.assert_ends(status, "split != 3: no value", "head", "-n", "-1", self.file, "--where", "split != 3")
        mixed = self.folder / "mixed.tfrecord"
        mixed.write_bytes(tfrecord([b"text", example({"label": [3]}), b"text"]))
        message = rf"2 records cannot be decoded, .* in {mixed}, in the chunk at 0: "
        for command in (["cat"], ["tail"], ["head", "-n", "-0"]):
            out = self.assert_ends(status, message, *command, "--json", "--no-raw", self.file, mixed, "--where", "label = 3")
            self.assertEqual(json.loads(out.splitlines()[-1])["ordinal"], 301, command)
        # Records that were not read may have the field.
        self.assertEqual(self.ordinals("head", "-n", "1", self.file, "--where", "label = 0 or labl = 3"), [0])

    def test_damage_ends_or_is_skipped_as_without_a_condition(self):
        damaged = bytearray(self.file.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        self.file.write_bytes(damaged)
        words = ["cat", self.file, "--where", "label >= 0", "--json", "--no-raw"]
        for more in ([], ["--skip-damage"]):
            plain = self.recordfs("cat", self.file, "--json", "--no-raw", *more)
            done = self.recordfs(*words, *more)
            self.assertEqual((done.status, done.out, done.err), (commands.DAMAGE, plain.out, plain.err))

    def test_default_of_a_field_without_presence_is_its_value(self):
        types = self.folder / "types.pb"
        types.write_bytes(descriptor_set(message_type("A", field("count", 1, INT64), field("name", 2, STRING)), part(12, "proto3")))
        file = self.folder / "messages.tfrecord"
        file.write_bytes(tfrecord([part(1, 5), part(2, "x"), b""]))
        words = [file, "--descriptors", types, "--type", "pkg.A"]
        self.assertEqual(self.good("ls", *words, "--where", "count = 0").count(b"\n"), 2)
        self.assertEqual(self.good("ls", *words, "--where", "name = ''").count(b"\n"), 2)
        self.assertEqual(self.good("ls", *words, "--where", "count is null"), b"")
        self.assertEqual(self.good("grep", "--ordinals", "--field", "count", "^0$", *words), b"1\n2\n")

    def test_repeated_field_without_elements_has_the_length_0(self):
        path = commands.corpus() / "riegeli" / "metadata_full_transposed.riegeli"
        messages = [json.loads(line)["decoded"] for line in self.good("cat", "--json", path).splitlines()]
        for name in ("packed", "rnested", "m1"):
            empty = [i for i, message in enumerate(messages) if not message.get(name)]
            self.assertTrue(0 < len(empty) < len(messages))
            for condition in (f"len({name}) = 0", f"count({name}) = 0", f"{name} is null", f"not len({name}) > 0"):
                listed = self.good("ls", path, "--where", condition).splitlines()
                self.assertEqual([int(line.split(b"\t")[0]) for line in listed], empty, condition)


if __name__ == "__main__":
    commands.main()
