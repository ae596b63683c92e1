#!/usr/bin/env python3
"""Decoded columns of the stream of Arrow: protobuf messages and tensorflow.Example, compared with Dataset.decode."""
import collections
import ctypes
import json
import pickle
import struct

import cases
import recordfs
from arrow_consumer import arrays, rows, stream_of, type_of
from cases import Case, containers, is_refused
from tfrecords import field, varint

DOUBLE, INT64, UINT64, INT32, BOOL, STRING, GROUP, MESSAGE, BYTES, ENUM, SINT32, FLOAT = 1, 3, 4, 5, 8, 9, 10, 11, 12, 14, 17, 2


def declared(name, number, kind, type_name="", repeated=False, oneof=None, optional=False):
    """Returns a FieldDescriptorProto."""
    encoded = field(1, name) + field(3, number) + field(4, 3 if repeated else 1) + field(5, kind)
    encoded += field(6, type_name) if type_name else b""
    encoded += field(9, oneof) if oneof is not None else b""
    return encoded + (field(17, 1) if optional else b"")


def message_type(name, *fields, nested=(), oneofs=(), is_map_entry=False):
    """Returns a DescriptorProto."""
    encoded = field(1, name) + b"".join(field(2, one) for one in fields) + b"".join(field(3, one) for one in nested)
    encoded += b"".join(field(8, field(1, one)) for one in oneofs)
    return encoded + (field(7, field(7, 1)) if is_map_entry else b"")


COLORS = field(1, "Color") + b"".join(field(2, field(1, name) + field(2, number))
                                      for name, number in (("RED", 0), ("BLUE", 2), ("DARK", -1)))
POINT = message_type("Point", declared("x", 1, SINT32), declared("y", 2, SINT32), declared("next", 3, MESSAGE, ".t.Point"))
ALL = message_type(
    "All", declared("id", 1, INT64), declared("name", 2, STRING), declared("blob", 3, BYTES), declared("is", 4, BOOL),
    declared("color", 5, ENUM, ".t.Color"), declared("list", 6, INT32, repeated=True), declared("at", 7, MESSAGE, ".t.Point"),
    declared("points", 8, MESSAGE, ".t.Point", repeated=True), declared("a", 9, UINT64, oneof=0),
    declared("b", 10, STRING, oneof=0), declared("ratio", 11, DOUBLE), declared("map", 12, MESSAGE, ".t.All.MapEntry", True),
    declared("maybe", 13, INT64, oneof=1, optional=True), declared("names", 14, STRING, repeated=True),
    declared("bits", 15, BOOL, repeated=True),
    nested=[message_type("MapEntry", declared("key", 1, STRING), declared("value", 2, MESSAGE, ".t.Point"), is_map_entry=True)],
    oneofs=["choice", "_maybe"])


def descriptor_set(*messages, syntax="proto3"):
    file = field(1, "t.proto") + field(2, "t") + b"".join(field(4, one) for one in messages) + field(5, COLORS)
    return field(1, file + field(12, syntax))


DEFAULTS = {"id": 0, "name": "", "blob": b"", "is": False, "color": "RED", "list": [], "at": None, "points": [], "a": None,
            "b": None, "ratio": 0.0, "map": [], "maybe": None, "names": [], "bits": []}


def is_default(value):
    return value in (None, 0, "", b"", [], False)


def has_values(value):
    if isinstance(value, dict):
        return any(has_values(one) for one in value.values())
    return value is not None and value != []


class Decoded(Case):
    def assert_same(self, column, known, where=""):
        """Compares a value of a column with that of Dataset.decode, which lacks values that are absent."""
        if isinstance(column, bytes) and isinstance(known, dict):
            return  # a message in one of its own type
        if column is True and known == {}:
            return  # a message without fields
        if isinstance(column, dict) and isinstance(known, dict):
            # A name that never has a value is no column.
            self.assertLessEqual({name for name, value in known.items() if has_values(value)}, set(column), where)
            for name, value in column.items():
                if name in known:
                    self.assert_same(value, known[name], f"{where}.{name}")
                elif not isinstance(value, (dict, str)):
                    self.assertTrue(is_default(value), f"{where}.{name}: {value}")
        elif isinstance(column, list) and isinstance(known, dict):  # a map
            entries = {str(entry["key"]): entry["value"] for entry in column}
            self.assert_same(entries, {str(key): value for key, value in known.items()}, where)
        elif isinstance(column, list) and isinstance(known, list):
            self.assertEqual(len(column), len(known), where)
            for i, (one, other) in enumerate(zip(column, known)):
                self.assert_same(one, other, f"{where}[{i}]")
        elif isinstance(column, float):
            # JSON has the fewest digits of a float, which are those of another double.
            is_short = ctypes.c_float(column).value == column
            self.assertEqual(repr(column), repr(ctypes.c_float(known).value if is_short else known), where)
        else:
            self.assertEqual(column, known, where)

    def types(self, messages, *rest, **options):
        """Writes descriptors and a file of messages. Returns the data set."""
        path = self.folder / "types"
        path.write_bytes(descriptor_set(ALL, POINT, *rest, syntax=options.pop("syntax", "proto3")))
        return recordfs.open(self.write("a.tfrecord", messages), descriptors=path, type=options.pop("type", "t.All"), **options)


class Samples(Decoded):
    """Every sample whose records have a known type."""

    def test_columns_have_what_decode_returns(self):
        found = collections.Counter()
        for path in containers():
            if is_refused(path):
                continue
            with self.subTest(path=str(path)):
                try:
                    ds = recordfs.open(path, on_damage="skip")
                    stream = stream_of(capsule := ds.arrow().__arrow_c_stream__())
                except (recordfs.UnsupportedError, recordfs.LimitError, recordfs.DamageError):
                    continue
                kind = type_of(stream)["decoded"]
                del capsule, stream
                found[path.parts[-2]] += 1
                self.assertEqual(kind.format, "+s")
                read, error = rows(ds.arrow())
                self.assertIsNone(error)
                self.assertEqual(len(read), len(list(ds)))
                for row in read[:200]:
                    if row["decoded"] is None:
                        continue
                    if ds[row["ordinal"]] in (b"", b"\x0a\x00") and path.parts[-2] != "proio":  # among Examples, one without features
                        self.assert_same(row["decoded"], {})
                        continue
                    try:
                        known = ds.decode(row["ordinal"])
                    except recordfs.UnsupportedError:
                        known = json.loads(ds[row["ordinal"]])
                    if "features" in known and "features" not in row["decoded"]:
                        features = known["features"]["feature"].items()
                        known = {name: next(iter(lists.values()))["value"] for name, lists in features if lists}
                        known = {name: values if isinstance(row["decoded"].get(name), list) else values[0]
                                 for name, values in known.items() if values}
                    self.assert_same(row["decoded"], known)
        self.assertGreater(min(found[name] for name in ("riegeli", "tfrecord", "array_record")), 0, found)


class Messages(Decoded):
    def decoded(self, ds):
        found, error = rows(ds.arrow())
        self.assertIsNone(error)
        return [row["decoded"] for row in found]

    def test_types_of_columns(self):
        ds = self.types([b""])
        stream = stream_of(capsule := ds.arrow().__arrow_c_stream__())
        kind = type_of(stream)["decoded"]
        del capsule
        self.assertEqual([(child.name, child.format) for child in kind.children],
                         [("id", "l"), ("name", "U"), ("blob", "Z"), ("is", "b"), ("color", "U"), ("list", "+L"), ("at", "+s"),
                          ("points", "+L"), ("a", "L"), ("b", "U"), ("ratio", "g"), ("map", "+L"), ("maybe", "l"),
                          ("names", "+L"), ("bits", "+L")])
        point = [("x", "i"), ("y", "i"), ("next", "Z")]  # a point in a point remains bytes
        self.assertEqual([(child.name, child.format) for child in kind["at"].children], point)
        self.assertEqual([child.format for child in kind["map"]["item"].children], ["U", "+s"])

    def test_values(self):
        point = field(1, 3) + field(2, 4)  # zigzag
        message = (field(1, -5) + field(2, "n\u00e4me") + field(3, b"\xff\0") + field(4, 7) + field(5, -1)
                   + field(6, varint(1) + varint(-2)) + field(6, 3) + field(7, point) + field(8, b"") + field(8, point)
                   + varint(11 << 3 | 1) + struct.pack("<d", 2.5) + field(12, field(1, "k") + field(2, point))
                   + field(12, b"") + field(13, 0) + field(14, "x") + field(14, "") + field(15, b"\1\0\1")
                   + field(99, b"unknown"))
        at = {"x": -2, "y": 2, "next": None}
        zero = {"x": 0, "y": 0, "next": None}
        expected = {**DEFAULTS, "id": -5, "name": "n\u00e4me", "blob": b"\xff\0", "is": True, "color": "DARK",
                    "list": [1, -2, 3], "at": at, "points": [zero, at], "ratio": 2.5,
                    "map": [{"key": "k", "value": at}, {"key": "", "value": zero}], "maybe": 0, "names": ["x", ""],
                    "bits": [True, False, True]}
        ds = self.types([message, b"", message * 1])
        self.assertEqual(self.decoded(ds), [expected, DEFAULTS, expected])
        self.assert_same(expected, ds.decode(0))

    def test_last_value_counts_and_messages_merge(self):
        ds = self.types([field(1, 1) + field(1, 2) + field(7, field(1, 2)) + field(7, field(2, 2) + field(3, b"")),
                         field(9, 1) + field(10, "b"), field(10, "b") + field(9, 1), field(5, 77)])
        self.assertEqual(self.decoded(ds), [{**DEFAULTS, "id": 2, "at": {"x": 1, "y": 1, "next": b""}},
                                            {**DEFAULTS, "b": "b"}, {**DEFAULTS, "a": 1}, {**DEFAULTS, "color": "77"}])
        for row, known in zip(self.decoded(ds)[:3], (ds.decode(i) for i in range(3))):
            row["at"] = row["at"] and {**row["at"], "next": None}  # bytes
            self.assert_same(row, {**known, "at": {**known["at"], "next": None}} if "at" in known else known)

    def test_absent_values_are_null_in_proto2(self):
        nulls = {name: value if value == [] else None for name, value in DEFAULTS.items()}
        self.assertEqual(self.decoded(self.types([b"", field(1, 0)], syntax="proto2")), [nulls, {**nulls, "id": 0}])

    def test_fields_of_another_wire_type_are_unknown(self):
        self.assertEqual(self.decoded(self.types([field(1, b"text") + field(2, 5) + field(7, 5)])), [DEFAULTS])

    def test_record_that_is_no_message(self):
        messages = [field(1, 1), field(1, 2) + b"\x0a", field(2, b"\xff"), field(14, b"ok") + field(14, b"\xff"), field(1, 3)]
        found, error = rows(self.types(messages).arrow())
        self.assertEqual([row["decoded"]["id"] for row in found], [1])
        self.assertIn("a.tfrecord: byte ", error)
        found = self.decoded(self.types(messages, on_damage="skip"))
        self.assertEqual([row and row["id"] for row in found], [1, None, None, None, 3])
        self.assertEqual(found[4], {**DEFAULTS, "id": 3})

    def test_many_rows_in_several_arrays(self):
        messages = [field(1, i) + b"".join(field(14, "%d" % j) for j in range(i % 4)) + field(8, field(1, 2 * i)) * (i % 3)
                    for i in range(70000)]
        found, error = arrays(self.types(messages).arrow())
        self.assertIsNone(error)
        self.assertEqual([len(array) for array in found], [65536, 4464])
        for i, row in list(enumerate(row for array in found for row in array))[::997]:
            self.assertEqual(row["decoded"], {**DEFAULTS, "id": i, "names": [str(j) for j in range(i % 4)],
                                              "points": [{"x": i, "y": 0, "next": None}] * (i % 3)})

    def wide(self, count):
        return message_type("Wide", *(declared(f"f{i}", i + 1, INT64) for i in range(count)))

    def test_memory_of_columns_is_bounded(self):
        many = message_type("Many", declared("wide", 1, MESSAGE, ".t.Wide", repeated=True))
        small, large = field(1, b"") * 50_000, field(1, b"") * 500_000  # of 300 columns
        ds = self.types([small, small, small, large], self.wide(300), many, type="t.Many")
        found, error = arrays(ds.arrow(), lambda _, array: array.length)
        self.assertEqual(found, [1, 1, 1])
        self.assertIn("decoded content too large", error)
        found, error = arrays(self.types([large, small], self.wide(300), many, type="t.Many", on_damage="skip").arrow(),
                              lambda _, array: (array.length, array.children[4].contents.null_count))
        self.assertEqual((found, error), ([(2, 1)], None))

    def test_type_of_too_many_fields(self):
        ds = self.types([b""], self.wide(5000), type="t.Wide")
        with self.assertRaisesRegex(recordfs.LimitError, "too many fields"):
            ds.arrow().__arrow_c_stream__()

    def test_groups_are_structs(self):
        def group(number, content):
            return varint(number << 3 | 3) + content + varint(number << 3 | 4)
        inner = message_type("Inner", declared("x", 2, INT64), declared("deep", 3, GROUP, ".t.Deep"))
        records = [group(1, field(2, 5) + group(9, group(1, b""))) + field(3, 7) + group(1, group(3, field(1, 6))),
                         group(4, field(2, 1)) + group(4, b"") + field(1, field(2, 8)) + field(4, b"\1\2"), group(1, field(2, 1))[:-1]]
        path = self.folder / "types"
        path.write_bytes(descriptor_set(message_type("G", declared("g", 1, GROUP, ".t.G.Inner"), declared("y", 3, INT64),
                                                     declared("rg", 4, GROUP, ".t.G.Inner", repeated=True), nested=[inner]),
                                        message_type("Deep", declared("z", 1, INT64)), syntax="proto2"))
        ds = recordfs.open(self.write("a.tfrecord", records), descriptors=path, type="t.G", on_damage="skip")
        self.assertEqual(self.decoded(ds), [{"g": {"x": 5, "deep": {"z": 6}}, "y": 7, "rg": []},
                                            {"g": None, "y": None, "rg": [{"x": 1, "deep": None}, {"x": None, "deep": None}]}, None])
        for row, known in zip(self.decoded(ds)[:2], (ds.decode(i) for i in range(2))):
            self.assert_same(row, known)

    def test_extensions_are_columns(self):
        extension = field(2, ".t.E") + declared("more", 100, INT64, repeated=True)
        file = field(1, "e.proto") + field(2, "t") + field(4, message_type("E", declared("y", 3, INT64)) + field(5, field(1, 100) + field(2, 200)))
        file += field(4, message_type("Scope") + field(6, field(2, ".t.E") + declared("own", 101, MESSAGE, ".t.E"))) + field(7, extension)
        path = self.folder / "types"
        path.write_bytes(field(1, file))
        ds = recordfs.open(self.write("a.tfrecord", [field(3, 7) + field(100, 1) + field(100, 2) + field(101, b"")]), descriptors=path, type="t.E")
        self.assertEqual(self.decoded(ds), [{"y": 7, "[t.more]": [1, 2], "[t.Scope.own]": b""}])
        self.assert_same(self.decoded(ds)[0], ds.decode(0))

    def test_transposed_chunks_are_read_for_some_fields(self):
        path = self.folder / "types"
        path.write_bytes(descriptor_set(message_type("Host", declared("name", 2, STRING), declared("load", 3, DOUBLE))))
        ds = recordfs.open(cases.sample("riegeli/transposed_regular.riegeli"), descriptors=path, type="t.Host")
        chosen = [known for known in map(ds.decode, range(len(ds))) if known.get("load", 0) > 1200]
        self.assertGreater(len(chosen), 100)
        self.assertEqual(self.decoded(ds.where("load > 1200")), chosen)
        self.assertEqual([len(record) for record in ds.where("load > 1200")], [len(ds[2401 + i]) for i in range(len(chosen))])

    def test_records_of_unknown_type(self):
        for records in ([b"text"], [], [field(1, 1)]):
            with self.assertRaises(recordfs.UnsupportedError):
                recordfs.open(self.write("b.tfrecord", records)).arrow().__arrow_c_stream__()

    def test_shard_of_another_type(self):
        path, other = cases.sample("riegeli/metadata_full_transposed.riegeli"), self.write("b.tfrecord", [b""])
        count = len(recordfs.open(path))
        found, error = rows(recordfs.open(path, other).arrow())
        self.assertEqual(len(found), count)
        self.assertIn("of another type than those of other shards", error)
        found, error = rows(recordfs.open(path, other, on_damage="skip").arrow())
        self.assertEqual([row["decoded"] for row in found[count:]], [None])


class Examples(Decoded):
    def example(self, **features):
        """Returns an Example with lists of int, float or bytes."""
        encoded = b""
        for name, items in features.items():
            if items and isinstance(items[0], bytes):
                feature = field(1, b"".join(field(1, item) for item in items))
            elif items and isinstance(items[0], float):
                feature = field(2, field(1, struct.pack(f"<{len(items)}f", *items)))
            else:
                feature = field(3, field(1, b"".join(map(varint, items))))
            encoded += field(1, field(1, name) + field(2, feature))
        return field(1, encoded)

    def test_feature_is_a_column(self):
        records = [self.example(id=[i], text=[b"a"] * (i % 3), score=[0.5, i / 4]) for i in range(2000)]
        records[7] = self.example(id=[7])
        found, error = rows(recordfs.open(self.write("a.tfrecord", records)).arrow())
        self.assertIsNone(error)
        self.assertEqual(found[5]["decoded"], {"id": 5, "text": [b"a", b"a"], "score": [0.5, 1.25]})
        self.assertEqual(found[7]["decoded"], {"id": 7, "text": None, "score": None})
        self.assertEqual([row["decoded"]["id"] for row in found], list(range(2000)))

    def test_feature_that_the_first_records_lack(self):
        records = [self.example(id=[i]) for i in range(2000)]
        records[1500], records[1600] = self.example(id=[1], other=[2]), self.example(id=[b"text"])
        path = self.write("a.tfrecord", records)
        found, error = rows(recordfs.open(path).arrow())
        self.assertEqual(len(found), 1500)
        self.assertIn("feature other does not occur in the first 1,024 records", error)
        found, error = rows(recordfs.open(path, on_damage="skip").arrow())
        self.assertEqual([i for i, row in enumerate(found) if row["decoded"] is None], [1500, 1600])
        found, error = rows(recordfs.open(path)[1400:1550].arrow())
        self.assertEqual((len(found), found[99]["decoded"]), (100, {"id": 1499}))
        self.assertIn("feature other does not occur", error)

    def test_parts_of_a_set_have_the_same_columns(self):
        self.write("train-00000-of-00002", [self.example(id=[i], none=[]) for i in range(1100)])
        self.write("train-00001-of-00002", [self.example(none=[]), self.example(id=[1, 2])])
        ds = recordfs.open(self.folder / "train@2")
        for part, expected in ((ds, 1101), (ds[1100:], 1), (pickle.loads(pickle.dumps(ds[1100:])), 1)):
            found, error = rows(part.arrow())
            self.assertEqual((len(found), found[-1]["decoded"]), (expected, {"id": None, "none": []}))
            self.assertIn("feature id has several values, but at most one in each of the first 1,024 records (try: lists=True)", error)
            found, error = rows(part.arrow(lists=True))
            self.assertEqual((len(found), found[-1]["decoded"], error), (expected + 1, {"id": [1, 2], "none": None}, None))

    def test_first_shard_is_missing(self):
        self.write("train-00001-of-00002", [self.example(id=[1])])
        found, error = rows(recordfs.open(self.folder / "train@2", on_damage="skip").arrow())
        self.assertEqual(([row["decoded"] for row in found], error), ([{"id": 1}], None))
        found, error = rows(recordfs.open(self.folder / "train@2").arrow())
        self.assertEqual(found, [])
        self.assertIn("train-00000-of-00002", error)


class Values(Decoded):
    """Records that no type describes: JSON texts, and what formats read."""

    def test_json_objects(self):
        records = [{"a": 1, "l": ["x"], "o": {"d": 0.5}}, {"o": {"d": 2}, "b": True, "n": None}]
        found, error = rows(recordfs.open(self.write("a.tfrecord", [json.dumps(one).encode() for one in records])).arrow())
        self.assertIsNone(error)
        self.assertEqual([row["decoded"] for row in found], [
            {"a": 1, "l": ["x"], "o": {"d": 0.5}, "b": None, "n": None},
            {"a": None, "l": None, "o": {"d": 2.0}, "b": True, "n": None}])

    def test_later_record_with_another_column(self):
        records = [b'{"a":1}'] * 1024 + [b'{"b":1}', b'{"a":"x"}', b'text']
        opened = recordfs.open(self.write("a.tfrecord", records))
        found, error = rows(opened.arrow())
        self.assertEqual(len(found), 1024)
        self.assertIn("column b does not occur in the first 1,024 records", error)
        found, error = rows(recordfs.open(opened.path, on_damage="skip").arrow())
        self.assertIsNone(error)
        self.assertEqual([row["decoded"] for row in found[1024:]], [None] * 3)

    def test_records_of_avro(self):
        opened = recordfs.open(cases.sample("avro/empty-blocks.avro"))
        found, error = rows(opened.arrow())
        self.assertIsNone(error)
        self.assertGreater(len(found), 3)
        for row in found:
            self.assert_same(row["decoded"], opened.decode(row["ordinal"]))

    def test_columns_with_several_types(self):
        with self.assertRaisesRegex(recordfs.UnsupportedError, "column score has values of different types"):
            recordfs.open(cases.sample("avro/users-bzip2.avro")).arrow().__arrow_c_stream__()


if __name__ == "__main__":
    cases.main()
