#!/usr/bin/env python3
"""A column is the same everywhere: each that `info --columns` lists, in conditions, searches, tables and Python."""
import json
import struct

import cases
import recordfs
from arrow_decode_test import COLORS, ENUM, INT32, INT64, MESSAGE, STRING, declared, message_type
from tfrecords import example, field

WELL_KNOWN = ("Timestamp", "Duration", "Int64Value", "StringValue", "FieldMask", "Int32Value")
PARTS = message_type("Part", declared("x", 1, INT32), declared("tags", 2, STRING, repeated=True))
ROW = message_type(
    "Row", declared("color", 1, ENUM, ".t.Color"), declared("colors", 2, ENUM, ".t.Color", True),
    *[declared(name.lower(), 3 + i, MESSAGE, f".google.protobuf.{name}") for i, name in enumerate(WELL_KNOWN)],
    declared("times", 9, MESSAGE, ".google.protobuf.Timestamp", True), declared("wraps", 10, MESSAGE, ".google.protobuf.Int64Value", True),
    declared("m", 11, MESSAGE, ".t.Row.MEntry", True), declared("n", 12, MESSAGE, ".t.Row.NEntry", True),
    declared("part", 13, MESSAGE, ".t.Part"), declared("parts", 14, MESSAGE, ".t.Part", True),
    nested=[message_type("MEntry", declared("key", 1, STRING), declared("value", 2, INT64), is_map_entry=True),
            message_type("NEntry", declared("key", 1, INT32), declared("value", 2, MESSAGE, ".t.Part"), is_map_entry=True)])
TIME = [declared("seconds", 1, INT64), declared("nanos", 2, INT32)]
GOOGLE = [message_type("Timestamp", *TIME), message_type("Duration", *TIME), message_type("FieldMask", declared("paths", 1, STRING, repeated=True)),
          message_type("Int64Value", declared("value", 1, INT64)), message_type("Int32Value", declared("value", 1, INT32)),
          message_type("StringValue", declared("value", 1, STRING))]
DESCRIPTORS = b"".join(field(1, file + field(12, "proto3")) for file in (
    field(1, "g.proto") + field(2, "google.protobuf") + b"".join(field(4, one) for one in GOOGLE),
    field(1, "t.proto") + field(2, "t") + field(3, "g.proto") + field(4, PARTS) + field(4, ROW) + field(5, COLORS)))
PART = field(1, 7) + field(2, "a") + field(2, "b")
MESSAGES = [
    field(1, 2) + field(2, b"\x00\x02\x63") + field(3, field(1, 1_700_000_000) + field(2, 500_000_000)) + field(4, field(1, 3)) +
    field(5, field(1, 9)) + field(6, field(1, "é")) + field(7, field(1, "a_b") + field(1, "c")) + field(8, b"") +
    field(9, field(1, 1)) + field(9, b"") + field(10, field(1, 5)) + field(10, b""),
    field(1, 99) + field(5, b"") + field(11, field(1, "k1") + field(2, 4)) + field(12, field(1, 3)) + field(11, field(1, "k1") + field(2, 5)) + field(11, field(1, "key") + field(2, 6)) +
    field(12, field(1, 3) + field(2, PART)) + field(12, field(1, 1) + field(2, b"")) + field(13, PART) + field(14, PART) + field(14, b"") + field(14, PART),
    b""]
SAMPLES = {
    "examples": [example({"label": [3], "a.b": [0.5], "text": [b"x", b"\xff"], "features": [1], "none": []}), example({"label": [4], "text": [b"y"]}),
                 example({"label": [5], "features": [2, 3], "context": [b"z"]})],
    "json": [b'{"id": 1, "l": [1, 2], "o": {"x": "a", "l": [{"y": 1}, {"y": 2}, {}]}, "d.e": true, "n": null}',
             b'{"id": 2, "l": [], "o": {"x": null}, "f": 0.5}', b'{"l": [3], "d.e": false, "u": 18446744073709551615}'],
    "objects": [b'{"a": {}, "b": [{}], "o": [{"n": "x"}, {}], "q": {"r": {}}}', b'{"b": [], "o": [], "a": {}}',
                b'{"o": null, "": 5, "p": {"": 6}, "a": null, "t": 1, "t": "x"}'],
    "messages": MESSAGES,
}


def event(step, tag, value):
    summary = field(1, field(1, tag) + b"\x15" + struct.pack("<f", value))
    return b"\x09" + struct.pack("<d", 1.5 + step) + field(2, step) + field(5, summary)


def values_in(value):
    """Returns the values of a column in a row, without nulls."""
    if isinstance(value, list):
        return [one for item in value for one in values_in(item)]
    return [] if value is None else [value]


def paths_of(columns, parent=""):
    """Returns the names of the columns that have values themselves."""
    return {name for column in columns for name in
            (paths_of(column.fields, f"{parent}{column.name}.") if column.fields else {parent + column.name})}


class Agreement(cases.Case):
    def files(self):
        """Yields (name, path, words of commands, options of `open`)."""
        types = self.folder / "types"
        types.write_bytes(DESCRIPTORS)
        for name, records in SAMPLES.items():
            of_type = name == "messages"
            yield (name, self.write(f"{name}.tfrecord", records), ["--descriptors", types, "--type", "t.Row"] if of_type else [],
                   {"descriptors": types, "type": "t.Row"} if of_type else {})
        path = self.folder / "events.out.tfevents.1.host"
        self.write(path.name, [b"\x09" + struct.pack("<d", 1.5) + field(3, "brain.Event:2"), event(1, "loss", 0.5), event(2, "acc", 1.0)])
        yield "events", path, [], {}

    def output(self, *words):
        status, out = cases.run(*words)
        self.assertEqual(status, 0, words)
        return out

    def lines(self, *words):
        return len(self.output(*words).splitlines())

    def test_each_column_has_the_same_values_everywhere(self):
        for sample, path, words, options in self.files():
            columns = json.loads(self.output("info", "--columns", "--json", path, *words))["columns"]
            ds = recordfs.open(path, **options)
            selected = {one["name"] for one in columns}
            self.assertGreaterEqual(paths_of(ds.columns), selected - {"n"} if sample == "json" else selected)
            self.assertEqual([one["name"] for one in ds.column_statistics()], [one["name"] for one in columns])
            for column in columns:
                name, records, values = (column[key] for key in ("name", "records", "values"))
                quoted = f"`{name}`"
                with self.subTest(sample=sample, column=name):
                    # A step or a time alone is a field of the event.
                    of_scalar = " and tag is not null" if sample == "events" else ""
                    listed = lambda term: self.lines("ls", path, *words, "--where", term + of_scalar)
                    self.assertEqual(listed(f"{quoted} is not null"), records)
                    self.assertEqual(listed(f"{quoted} is null"), column["missing"])
                    self.assertEqual(sum(count * listed(f"count({quoted}) = {count}") for count in range(1, 7)), values)
                    if name not in ("step", "wall_time", ""):
                        found = cases.run("grep", "-c", "--field", name, "", path, *words)
                        self.assertEqual(found, (0 if records else 1, b"%d\n" % records))
                    # With a path, JSON Lines have the values of tables, also defaults.
                    table = ",part.x" if sample == "messages" and name != "part.x" else ""
                    exported = self.output("export", path, *words, "--select", quoted + table, "--to", "jsonl", "--bytes", "hex", "-o", "-").splitlines()
                    for rows in ([json.loads(row).get(name) for row in exported], [row[name] for row in ds.select(name)]):
                        filled = [of_row for of_row in map(values_in, rows) if of_row]
                        self.assertEqual((len(filled), sum(map(len, filled))), (records, values), rows)

    def test_values_are_the_same_in_conditions_and_tables(self):
        (_, path, words, options), = [one for one in self.files() if one[0] == "messages"]
        ds = recordfs.open(path, **options)
        for name, first in (("color", "BLUE"), ("timestamp", "2023-11-14T22:13:20.500Z"), ("duration", "3s"), ("fieldmask", "aB,c"),
                            ("stringvalue", "é"), ("int64value", 9), ("int32value", 0)):
            self.assertEqual(next(iter(ds.select(name)))[name], first)
            self.assertEqual(self.lines("ls", path, *words, "--where", f"{name} = {first!r}"), 1, name)
        for condition, count in (("color = 99", 1), ("color = '99'", 1), ("color = 2", 1), ("color in (2, '99')", 2), ("color = '2'", 0),
                                 ("colors = 99 and colors = '99'", 1), ("m.k1 = 5", 1), ("m.key = 'k1'", 1), ("m.value = 6", 1), ("m.value = 4", 0),
                                 ("m.key = 6", None), ("n.key = 3", 1), ("n.value.tags = 'b'", 1), ("n.3.x = 7", 1), ("count(m) = 2", 1),
                                 ("count(parts) = 3", 1), ("count(part) = 1", 1), ("count(n.value.tags) = 2", 1)):
            status, out = cases.run("ls", path, *words, "--where", condition)
            self.assertEqual((status, out.count(b"\n")), (0, count) if count is not None else (5, 0), condition)
        for name in ("timestamp.seconds", "int64value.value", "m.k1"):
            self.assertEqual(cases.run("export", path, *words, "--select", name, "--to", "csv", "-o", "-"), (5, b""))
        self.assertEqual(cases.run("ls", path, *words, "--where", "timestamp.seconds = 1700000000")[0], 5)

    def test_fields_of_a_type_exist_without_values(self):
        types = self.folder / "types"
        types.write_bytes(DESCRIPTORS)
        words = [self.write("a.tfrecord", [b"", field(3, field(1, 1)) + field(5, field(1, 2))]), "--descriptors", types, "--type", "t.Row"]
        for name, lines in (("part", 2), ("part.x", 2), ("m.key", 2), ("parts.tags", 2), ("timestamp", 1)):
            self.assertEqual(self.lines("ls", *words, "--where", f"{name} is null"), lines, name)
            self.assertEqual(cases.run("grep", "--field", name, "", *words)[0], 0 if name == "timestamp" else 1)
        ds = recordfs.open(words[0], descriptors=types, type="t.Row")
        self.assertEqual(len(ds.where("part is null")), 2)
        for name, why in (("timestamp.seconds", "timestamp is a value"), ("int64value.value", "int64value is a value"), ("part.y", "the nearest are|did you mean"), ("m.k1", "")):
            self.assertEqual(cases.run("ls", *words, "--where", f"{name} = 1"), (5, b""))
            with self.assertRaisesRegex(ValueError, f"no record has a field {name} .*{why}"):
                ds.where(f"{name} = 1")

    def test_empty_messages_and_closed_enums_are_the_same_everywhere(self):
        row = message_type("M", declared("e", 1, MESSAGE, ".t.Empty"), declared("c", 2, ENUM, ".t.Color"), declared("cs", 3, ENUM, ".t.Color", True),
                           declared("p", 4, MESSAGE, ".t.Part"), declared("m", 5, MESSAGE, ".t.M.MEntry", True),
                           nested=[message_type("MEntry", declared("key", 1, STRING), declared("value", 2, ENUM, ".t.Color"), is_map_entry=True)])
        types = self.folder / "types"
        types.write_bytes(field(1, field(1, "t.proto") + field(2, "t") + field(4, PARTS) + field(4, message_type("Empty")) + field(4, row) + field(5, COLORS)))
        path = self.write("a.tfrecord", [field(1, b"") + field(2, 2) + field(2, 99) + field(3, 99) + field(3, b"\x02\x63") + field(4, b""),
                                         field(2, 99) + field(5, field(1, "u") + field(2, 99))])
        words = [path, "--descriptors", types, "--type", "t.M"]
        ds = recordfs.open(path, descriptors=types, type="t.M")
        decoded = [json.loads(line)["decoded"] for line in self.output("cat", "--json", *words).splitlines()]
        self.assertEqual(decoded[0], {"e": {}, "c": "BLUE", "cs": ["BLUE"], "p": {}})
        default = decoded[1].pop("m")["u"]
        self.assertEqual(decoded[1], {})
        self.assertEqual(list(ds.select("e", "c", "cs", "p", "m")), [
            {"e": True, "c": "BLUE", "cs": ["BLUE"], "p": {"x": None, "tags": []}, "m": []},
            {"e": None, "c": None, "cs": [], "p": None, "m": [{"key": "u", "value": default}]}])
        for condition, lines in (("e is not null and e = true and p is not null", 1), ("p.x is null", 2), ("c = 99 or cs = 99 or cs = '99'", None), ("c is null", 1),
                                 (f"m.value = '{default}' and m.u = '{default}'", 1), ("count(cs) = 1", 1)):
            self.assertEqual(cases.run("ls", *words, "--where", condition)[1].count(b"\n"), lines or 0, condition)
        statistics = {one["name"]: (one["type"], one["records"]) for one in ds.column_statistics()}
        self.assertEqual(statistics, {"c": ("str", 1), "cs": ("str", 1), "e": ("bool", 1), "m.key": ("str", 1), "m.value": ("str", 1)})
        self.assertEqual(self.output("grep", "--ordinals", "--field", "e", "^true$", *words), b"0\n")

    def test_paths_and_names_of_features_lead_to_them(self):
        path = self.write("a.tfrecord", SAMPLES["examples"])
        for name in ("label", "features.feature.label", "features.feature.label.int64_list.value", "label.int64_list.value"):
            self.assertEqual([row[name] for row in recordfs.open(path).select(name)], [3, 4, 5])
            self.assertEqual(self.output("export", path, "--select", name, "--to", "csv", "-o", "-"), f"{name}\r\n3\r\n4\r\n5\r\n".encode())
            self.assertEqual(self.output("export", path, "--select", name, "--to", "jsonl", "-o", "-").splitlines()[0], b'{"%s":3}' % name.encode())
            self.assertEqual(self.lines("ls", path, "--where", f"{name} > 3"), 2)
        self.assertEqual(self.lines("ls", path, "--where", "features > 0"), 2)
        path = self.write("b.tfrecord", [example({"a": [5], "features.feature.a": [9], "features.feature": [7], "a.int64_list.value": [8]}), example({"a": [6]})])
        for name, values in (("a", [5, 6]), ("features.feature.features.feature.a", [9, None]), ("features.feature.features.feature", [7, None]),
                             ("a.int64_list.value.int64_list.value", [8, None]), ("features.feature.a.int64_list.value.int64_list.value", [8, None])):
            self.assertEqual([row[name] for row in recordfs.open(path).select(name)], values)
            self.assertEqual(self.lines("ls", path, "--where", f"{name} = {values[0]}"), 1)
        for name in ("features.feature.a", "a.int64_list.value"):
            self.assert_several(path, name)
        for words in (["ls", "--where", "features.feature = 7"], ["export", "--to", "csv", "-o", "-", "--select", "features.feature"]):
            self.assertEqual(cases.run(words[0], path, *words[1:])[0], 5, words)
        self.assertEqual({column["name"] for column in json.loads(self.output("info", "--columns", "--json", path))["columns"]},
                         {column.name for column in recordfs.open(path).columns})
        for name in ("label.bytes_list.value", "features.feature", "features.feature.x", "label,features.feature.label"):
            self.assertEqual(cases.run("export", path, "--select", name, "--to", "csv", "-o", "-"), (5, b""), name)

    def assert_several(self, path, name):
        for words in (["ls", "--where", f"{name} = 2"], ["export", "--to", "csv", "-o", "-", "--select", name], ["cp", ":", self.folder / "out", "--name", "{%s}" % name],
                      ["export", "--to", "jsonl", "-o", "-", "--select", name], ["cat", "--json", "--fields", name]):
            self.assertEqual(cases.run(words[0], path, *words[1:])[0], 5, words)
        self.assertEqual(cases.run("grep", "--field", name, "2", path)[0], 2)
        ds = recordfs.open(path)
        for call in (lambda: list(ds.where(f"{name} = 2")), lambda: list(ds.grep("2", field=name))):
            with self.assertRaisesRegex(ValueError, f"{name} names several columns"):
                call()
        with self.assertRaisesRegex(recordfs.UnsupportedError, f"{name} names several columns"):
            ds.select(name)

    def test_name_of_two_columns_is_an_error(self):
        path = self.write("a.tfrecord", [b'{"a.b": 1, "a": {"b": 2}, "c": 3}'])
        self.assert_several(path, "a.b")
        self.assertEqual(cases.run("info", "--columns", path)[0], 5)
        with self.assertRaisesRegex(ValueError, "a.b names several columns"):
            recordfs.open(path).column_statistics()
        self.assertEqual(self.lines("ls", path, "--where", "c = 3 and a = 2"), 1)

    def test_columns_of_scalars_are_searched(self):
        path = self.write("events.out.tfevents.1.host", [event(1, "loss", 0.5), event(2, "acc", 0.1)])
        for name, pattern in (("tag", "^loss$"), ("value", "^0.5$"), ("run", "."), ("value", "^0.1$")):
            found = [ordinal for ordinal, _ in recordfs.open(path).grep(pattern, field=name)]
            self.assertEqual(found, [0, 1] if name == "run" else [1] if pattern == "^0.1$" else [0])
            self.assertEqual(self.output("grep", "--ordinals", "--field", name, pattern, path).split(), [b"%d" % one for one in found])
        self.output("cp", path, ":", self.folder / "out", "--name", "{tag}")
        self.assertEqual(sorted(one.name for one in (self.folder / "out").iterdir()), ["acc", "loss"])
        self.assertEqual(cases.run("cat", "--json", "--fields", "tag", path)[0], 5)


if __name__ == "__main__":
    cases.main()
