#!/usr/bin/env python3
"""info --columns: statistics of columns, compared with those that plain Python computes."""
import json
import math
import random
import struct
from collections import Counter

import commands
from decoded_test import INT64, STRING, descriptor_set, field, message_type
from tfrecords import example, tfrecord
from tfrecords import field as part

INT32 = 5  # FieldDescriptorProto.Type


def key_of(value):
    """Returns what makes a value differ from others: NaN equals itself, and -0.0 is 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def counted(lists):
    """Returns the members of a column of Examples, of the list of values of each record that has the feature."""
    values = [key_of(value) for one in lists for value in one]
    having = [one for one in lists if one]
    ordered = [value for value in values if value != "NaN"]
    made = {"list": any(len(one) != 1 for one in lists), "records": len(having), "values": len(values)}
    if ordered:
        made.update(minimum=min(ordered), maximum=max(ordered))
    if len(set(values)) <= 1000:
        made.update(distinct=len(set(values)), counts=Counter(values))
    return made


def read(row):
    """Returns the same members of a row of JSON."""
    def value_in(holder, name):
        value = holder.get(name)
        return value.encode() if row["type"] == "bytes" and value is not None else \
            struct.unpack("<f", struct.pack("<f", float(value)))[0] if row["type"] == "float32" and value != "NaN" and value is not None else value
    made = {name: row[name] for name in ("list", "records", "values", "distinct") if name in row}
    made.update({name: value_in(row, name) for name in ("minimum", "maximum") if name in row})
    if "counts" in row:
        made["counts"] = Counter({value_in(one, "value"): one["count"] for one in row["counts"]})
    return made


class Columns(commands.Case):
    def file(self, name, records):
        path = self.folder / name
        path.write_bytes(tfrecord([record.encode() if isinstance(record, str) else record for record in records]))
        return path

    def columns(self, *words):
        return {row["name"]: row for row in json.loads(self.good("info", "--json", "--columns", *words))["columns"]}

    def test_random_examples_have_the_statistics_of_plain_python(self):
        generator = random.Random(5)
        floats = [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, struct.unpack("<f", struct.pack("<f", 0.1))[0], 2.0**100]
        makers = {"label": lambda: generator.randrange(10), "id": lambda: generator.randrange(-2**63, 2**63),
                  "größe/日": lambda: generator.choice(floats), "text": lambda: generator.choice([b"", b"cat", "é".encode(), b"dog" * 40]),
                  "pixels": lambda: generator.randrange(1200)}
        made = []
        for _ in range(3000):
            record = {}
            for name, make in makers.items():
                if generator.random() < 0.9:
                    record[name] = [make() for _ in range(generator.choice((0, 1, 1, 2)) if name in ("größe/日", "pixels") else 1)]
            made.append(record)
        parts = [self.file(f"set-{number:05}-of-00003.tfrecord", map(example, made[number::3])) for number in range(3)]
        whole = self.file("all.tfrecord", [example(record) for number in range(3) for record in made[number::3]])
        rows = self.columns(whole)
        self.assertEqual(set(rows), set(makers))
        for name, row in rows.items():
            lists = [record[name] for record in made if name in record]
            self.assertEqual(read(row), counted(lists), name)
            self.assertEqual(row["missing"], 3000 - row["records"])
            counts = [one["count"] for one in row.get("counts", [])]
            self.assertEqual(counts, sorted(counts, reverse=True))
        sizes = [len(value) for record in made for value in record.get("text", [])]
        self.assertAlmostEqual(rows["text"]["mean_size"], sum(sizes) / len(sizes), 2)
        self.assertEqual((rows["id"]["distinct_above"], rows["pixels"]["distinct_above"]), (1000, 1000))
        one, four = (self.good("info", "--columns", "-j", threads, whole) for threads in ("1", "4"))
        self.assertEqual(one, four)
        self.assertEqual(self.columns(*[self.folder / "set-*-of-00003.tfrecord"]), rows)
        self.assertEqual(len(parts), 3)

    def test_records_of_json_need_no_schema(self):
        rows = self.columns(self.file("a.tfrecord", ['{"a": 1, "b": {"c": [1.5, 2]}, "d": "x"}', '{"a": 18446744073709551615, "d": 7}',
                                                     '{"b": {"c": []}, "e": null, "f": {}}', '{"a": -0.0, "late": true}']))
        self.assertEqual({name: (row["type"], row["list"], row["records"], row["missing"]) for name, row in rows.items()},
                         {"a": ("uint64 or float64", False, 3, 1), "b.c": ("float64", True, 1, 3), "d": ("int64 or str", False, 2, 2),
                          "e": (None, False, 0, 4), "f": ("bool", False, 1, 3), "late": ("bool", False, 1, 3)})
        self.assertEqual((rows["a"]["minimum"], rows["a"]["maximum"]), (0, 18446744073709551615))
        self.assertEqual((rows["b.c"]["mean_length"], "minimum" in rows["d"]), (2, False))

    def test_messages_have_the_columns_of_their_type(self):
        types = self.folder / "types"
        types.write_bytes(descriptor_set(message_type("T", field("n", 1, INT64), field("s", 2, STRING), field("i", 3, INT32))))
        path = self.file("a.tfrecord", [part(1, 5) + part(2, "é"), part(1, -1) + part(3, -7), b""])
        rows = self.columns("--descriptors", types, path)
        self.assertEqual(rows["n"]["counts"], [{"value": -1, "count": 1}, {"value": 5, "count": 1}])
        self.assertEqual((rows["s"]["maximum"], rows["s"]["type"], rows["i"]["type"], rows["i"]["minimum"]), ("é", "str", "int32", -7))
        self.assertEqual(self.columns("--descriptors", types, path, "--sample", "9"), rows)

    def test_condition_selects_the_records_that_count(self):
        path = self.file("a.tfrecord", [example({"label": [number % 7], "n": [number]}) for number in range(100)])
        rows = self.columns(path, "--where", "label = 3")
        self.assertEqual(([one["value"] for one in rows["label"]["counts"]], rows["n"]["minimum"], rows["n"]["values"]), ([3], 3, 14))
        self.assert_ends(commands.PARTLY_DONE, "no record has a field labl", "info", "--columns", path, "--where", "labl = 3")
        self.assert_ends(commands.WRONG_USE, "--columns", "info", path, "--where", "label = 3")

    def test_sample_has_the_records_of_a_sample_of_cat(self):
        path = self.file("a.tfrecord", [example({"label": [number % 7], "n": [number]}) for number in range(1000)])
        more = self.file("b.tfrecord", [example({"n": [number]}) for number in range(1000, 1500)])
        link = self.folder / "set"
        link.mkdir()
        for file in (path, more):
            (link / file.name).symlink_to(file)
        for words in ([path], [link], [path, "--where", "label < 5"]):
            words += ["--sample", "60", "--seed", "3"]
            lines = [json.loads(line) for line in self.good("cat", "--json", "--no-raw", *words).splitlines()]
            rows = self.columns(*words, "-j", "1")
            self.assertEqual(sorted(one["value"] for one in rows["n"]["counts"]), [line["ordinal"] for line in lines], words)
            self.assertEqual(self.columns(*words, "-j", "4"), rows)
        self.assert_ends(commands.WRONG_USE, "--columns", "info", path, "--sample", "3")

    def test_damaged_and_undecodable_records_are_reported(self):
        records = [example({"label": [number]}) for number in range(10)]
        path = self.file("a.tfrecord", [*records, b"text", *records, b"\xff"])
        message = rf"--columns: 2 records cannot be decoded, so they have no columns; the first is in {path}, in the chunk at 0: "
        made = json.loads(self.assert_ends(commands.PARTLY_DONE, message, "info", "--json", "--columns", path))
        self.assertEqual((made["decoded_records"], made["undecoded_records"], made["columns"][0]["records"]), (20, 2, 20))
        made = self.recordfs("info", "--json", "--columns", path, "--where", "label < 5")
        self.assertEqual((made.status, json.loads(made.out)["undecoded_records"]), (commands.PARTLY_DONE, 2))
        content = bytearray(self.file("a.tfrecord", records).read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        for words in ([], ["--scan"]):
            done = self.recordfs("info", "--columns", *words, path)
            self.assertEqual((done.status, len(done.err.splitlines())), (commands.DAMAGE, 1), done.err)
            self.assertRegex(done.out.decode(), r"(?m)^label +int64 +9 +0 +9 ")

    def test_objects_in_a_list_have_columns_and_other_values_none(self):
        path = self.file("a.tfrecord", [b'[{"a": 1}, {"a": 2}]', b"[]", b"{}", b"[{}]"])
        self.assertEqual([(one["name"], one["values"]) for one in json.loads(self.good("info", "--json", "--columns", path))["columns"]], [("a", 2)])
        for record in (b"1", b"null", b"[1]", b'[{"a": 1}, "x"]'):
            self.assert_ends(commands.PARTLY_DONE, "1 record has no columns; .*: the value of this record is no object", "info", "--columns",
                             self.file("b.tfrecord", [b'{"a": 1}', record]))

    def test_table_lists_columns_and_frequent_values(self):
        path = self.file("a.tfrecord", [example({"label": [min(number % 20, 12)], "img": [bytes([255, number]) * 100], "none": []}) for number in range(40)])
        shown = self.good("info", "--columns", path).decode()
        self.assertRegex(shown, r"(?m)^40 records with columns\ncolumn +type +records +missing +values +mean length +mean size +distinct +minimum +maximum$")
        self.assertRegex(shown, r"(?m)^img +bytes +40 +0 +40 +- +200 bytes +40 +\\xff\\x00")
        self.assertRegex(shown, r"(?m)^none +- list +0 +40 +0 +- +- +0 +- +-$")
        self.assertRegex(shown, r"(?m)^ +count  label\n +16  12\n +2  0\n(.*\n){8} +6  \(3 others\)$")

    def test_hostile_names_and_values_are_one_line(self):
        path = self.file("a.tfrecord", [example({"a\nb\x1b[2J": [b"\x1b]0;x\x07\n"]})] * 2)
        shown = self.good("info", "--columns", path)
        self.assertNotRegex(shown, rb"[\x00-\x09\x0b-\x1f]")
        self.assertIn(rb"a\x0ab\x1b[2J", shown)

    def test_too_many_columns_are_an_error(self):
        path = self.file("a.tfrecord", [json.dumps({f"{number}.{one}": 1 for one in range(100)}) for number in range(100)])
        made = json.loads(self.assert_ends(commands.PARTLY_DONE, "more than 8192 columns", "info", "--json", "--columns", path))
        self.assertNotIn("columns", made)


if __name__ == "__main__":
    commands.main()
