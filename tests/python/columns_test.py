#!/usr/bin/env python3
"""Columns of a data set: their names and types, rows of some of them, and NumPy arrays."""
import json
import os
import pickle
import unittest

import cases
import recordfs
import transposed
from arrow_consumer import rows
from arrow_decode_test import ALL, DOUBLE, INT64, MESSAGE, POINT, STRING, declared, descriptor_set, message_type
from tfrecords import example, field, tfrecord

try:
    import numpy
except ImportError:
    numpy = None

EVENTS = "tfrecord/events.out.tfevents.1700000000.host"


class Columns(cases.Case):
    def messages(self, records, *fields):
        """Opens a file of messages with these fields."""
        descriptors = self.folder / "types"
        descriptors.write_bytes(descriptor_set(message_type("Row", *fields, oneofs=["_n"])))
        return recordfs.open(self.write("rows.tfrecord", records), descriptors=descriptors, type="t.Row")

    def test_columns_have_names_and_types(self):
        ds = recordfs.open(self.write("a.tfrecord", [example({"pair": [1, 2], "half": [0.5, 1.5], "texts": [b"a", b"b"]})]))
        self.assertEqual([tuple(column) for column in ds.columns],
                         [("half", "float32", True, ()), ("pair", "int64", True, ()), ("texts", "bytes", True, ())])
        descriptors = self.folder / "types"
        descriptors.write_bytes(descriptor_set(ALL, POINT))
        ds = recordfs.open(self.write("b.tfrecord", [b""]), descriptors=descriptors, type="t.All")
        columns = {column.name: column for column in ds.columns}
        self.assertEqual([columns[name].type for name in ("id", "name", "blob", "is", "color", "ratio", "at")],
                         ["int64", "str", "bytes", "bool", "str", "float64", "dict"])
        self.assertEqual([column.name for column in columns["map"].fields], ["key", "value"])
        self.assertTrue(columns["map"].is_list)

    def test_selected_columns_of_rows(self):
        rows = [{"a": [i, i + 1], "b": [b"x" * i, b"y"], "c": [0.5] * (i % 3)} for i in range(5000)]
        ds = recordfs.open(self.write("a.tfrecord", [example(row) for row in rows]))
        self.assertEqual(list(ds.select("c", "a")), [{"c": row["c"], "a": row["a"]} for row in rows])
        self.assertEqual(list(ds[7:9].select()), rows[7:9])
        self.assertEqual(ds.select(["b", "c"]).columns, ds.select("b", "c").columns)
        self.assertEqual(list(ds.where("count(c) = 2").select("a")), [{"a": row["a"]} for row in rows if len(row["c"]) == 2])
        with self.assertRaisesRegex(ValueError, r"no column d \(the columns are a, b, c\)"):
            ds.select("d")
        with self.assertRaises(ValueError):
            ds.select("a", "a")
        mixed = self.folder / "mixed.tfrecord"
        mixed.write_bytes(tfrecord([b'{"a": 1, "b": 2}', b'{"a": 2, "b": "text"}']))
        self.assertEqual(list(recordfs.open(mixed).select("a")), [{"a": 1}, {"a": 2}])
        with self.assertRaises(recordfs.UnsupportedError):
            recordfs.open(mixed).columns
        with self.assertRaises(recordfs.UnsupportedError):
            self.open("riegeli/simple_zstd9.riegeli").columns

    def test_selection_of_all_columns_is_iterated_twice(self):
        path = self.folder / "a.tfrecord"
        path.write_bytes(tfrecord([b'{"a.b": 1, "a": {"b": 2}}']))
        selection = recordfs.open(path).select()
        for _ in range(2):
            self.assertEqual(list(selection), [{"a.b": 1, "a": {"b": 2}}])

    def test_rows_that_do_not_fit_are_skipped_as_damage(self):
        path = self.write("a.tfrecord", [example({"a": [1]}), example({"a": [b"x"]}), example({"a": [3]})])
        skipping = recordfs.open(path, on_damage="skip")
        for _ in range(2):
            self.assertEqual(list(skipping.select("a")), [{"a": 1}, {"a": 3}])
        self.assertEqual((len(skipping.damage), skipping.damage[0].records_lost), (1, 1))
        self.assertRegex(skipping.damage[0].reason, "^record 1: feature a ")
        late = recordfs.open(self.write("c.tfrecord", [example({"a": [1]})] * 1024 + [example({"b": [1]})] * 3), on_damage="skip")
        self.assertEqual((len(late.select()[:]), [one.records_lost for one in late.damage]), (1024, [3]))
        self.assertIn("(try: scan_columns=True)", late.damage[0].reason)
        self.assertEqual((late.select("a")[1:3], late.select("a")[:0]), ([{"a": 1}] * 2, []))
        with self.assertRaises(recordfs.UnsupportedError):
            list(recordfs.open(path).select("a"))
        texts = recordfs.open(self.write("b.tfrecord", [b'{"a": 1}', b"[1]", b"text"]))
        self.assertEqual(texts.select("a").columns, texts.columns)
        for read in (lambda: list(texts.select("a")), lambda: texts.row(1), lambda: texts[2:].to_numpy()):
            with self.assertRaisesRegex(recordfs.UnsupportedError, "not a JSON object"):
                read()

    def test_all_records_decide_with_scan_columns(self):
        records = [example({"a": [1]})] * 1100 + [example({"a": [2, 3], "late": [b"x"]})]
        ds = recordfs.open(self.write("a.tfrecord", records))
        with self.assertRaisesRegex(recordfs.UnsupportedError, r"late does not occur in the first 1,024 records \(try: scan_columns=True\)"):
            ds[1100:].row(0, lists=True)
        last = {"a": [2, 3], "late": b"x"}
        self.assertEqual([column.name for column in ds.select(scan_columns=True).columns], ["a", "late"])
        self.assertEqual((ds.row(-1, scan_columns=True), ds.row(0, scan_columns=True)), (last, {"a": [1], "late": None}))
        self.assertEqual(list(ds.select("late", scan_columns=True))[1099:], [{"late": None}, {"late": b"x"}])
        self.assertEqual(rows(ds[1100:].arrow(scan_columns=True))[0][0]["decoded"], last)
        if numpy is not None:
            self.assertEqual(ds.to_numpy(["late"], scan_columns=True)["late"].tolist(), [None] * 1100 + [b"x"])

    def test_views_in_any_order_have_rows(self):
        ds = recordfs.open(self.write("a.tfrecord", [b'{"k": %d, "o": {"x": [[%d], []]}}' % (i % 2, i) for i in range(100)]))
        self.assertEqual(list(ds.where("k = 1")[:2].select("o.x")), [{"o.x": [[1], []]}, {"o.x": [[3], []]}])
        self.assertEqual(list(ds[::-50].select("o.x", "k")), [{"o.x": [[99], []], "k": 1}, {"o.x": [[49], []], "k": 1}])
        shuffled = ds.shuffled(3)
        self.assertEqual(list(shuffled.select()), [shuffled.row(i) for i in range(100)])
        with self.assertRaisesRegex(ValueError, "no column y"):
            shuffled.select("y")
        mixed = self.write("b.tfrecord", [b'{"a": 1}', b"text", b'{"a": 3}'])
        self.assertEqual(list(recordfs.open(mixed, on_damage="skip")[::-1].select("a")), [{"a": 3}, {"a": 1}])
        with self.assertRaises(recordfs.UnsupportedError):
            list(recordfs.open(mixed)[::-1].select("a"))
        with self.assertRaisesRegex(ValueError, "scalars are read in order"):
            self.open(EVENTS)[::-1].select("tag")

    def test_paths_lead_into_messages(self):
        descriptors = self.folder / "types"
        choice = message_type("Choice", declared("left", 1, INT64, oneof=0), declared("right", 2, INT64, oneof=0), oneofs=["side"])
        holder = message_type("Holder", declared("choice", 1, MESSAGE, ".t.Choice"), declared("all", 2, MESSAGE, ".t.All", True))
        descriptors.write_bytes(descriptor_set(ALL, POINT, choice, holder))
        point = lambda x, y: field(1, 2 * x) + field(2, 2 * y)
        one = field(8, point(1, 2)) + field(8, point(0, 3)) + field(7, point(4, 5)) + field(6, 7)
        records = [field(1, field(1, 5) + field(2, 6)) + field(2, one) + field(2, field(8, point(8, 9))), field(1, field(1, 5)), b""]
        ds = recordfs.open(self.write("a.tfrecord", records), descriptors=descriptors, type="t.Holder")
        names = ("choice.left", "all.points.x", "all.at.y", "all.list")
        self.assertEqual([tuple(row[name] for name in names) for row in ds.select(*names)],
                         [(None, [1, 0, 8], [5, None], [7]), (5, [], [], []), (None, [], [], [])])
        self.assertEqual([tuple(column)[:3] for column in ds.select(*names).columns],
                         [("choice.left", "int64", False), ("all.points.x", "int32", True), ("all.at.y", "int32", True),
                          ("all.list", "int32", True)])
        self.assertEqual(len(ds.where("all.points.x = 8")), 1)
        if numpy is not None:
            self.assertEqual([part.tolist() for part in ds.to_numpy(["all.points.y"])["all.points.y"]], [[2, 3, 9], [], []])
        for name, error in (("choice.x", ValueError), ("all.map.k", ValueError), ("all.at.next.x", ValueError)):
            with self.assertRaisesRegex(error, "no column " + name):
                ds.select(name)

    def test_a_row_has_the_columns_of_a_record(self):
        rows = [{"one": [i], "some": [0.5] * (i % 3), "raw": [b"\xff"]} for i in range(50)]
        ds = recordfs.open(self.write("a.tfrecord", [example(row) for row in rows]))
        self.assertEqual(ds.row(4), {"one": 4, "raw": b"\xff", "some": [0.5]})
        self.assertEqual([ds.row(i) for i in range(50)], list(ds.select()))
        self.assertEqual([ds.row(i, lists=True) for i in range(50)], list(ds.select(lists=True)))
        shuffled, names = ds.shuffled(3), ("one", "some", "raw")
        self.assertEqual(example({name: shuffled.row(0, lists=True)[name] for name in names}), shuffled[0])
        self.assertEqual(ds[7:9].row(-1), ds.row(8))
        objects = recordfs.open(self.write("b.tfrecord", [b'{"a": 1, "c": {"d": null}}', b'{"b": [1.5], "c": {"d": 2}}']))
        self.assertEqual([objects.row(i) for i in range(2)], [{"a": 1, "c": {"d": None}, "b": None}, {"a": None, "c": {"d": 2}, "b": [1.5]}])
        mixed = recordfs.open(self.write("c.tfrecord", [b'{"a": 1}', b'{"a": "text"}']))
        self.assertEqual([mixed.row(i) for i in range(2)], [{"a": 1}, {"a": "text"}])
        events = self.open(EVENTS)
        self.assertEqual(events.row(1), events.decode(1))
        for index, error in ((50, IndexError), (-51, IndexError)):
            with self.assertRaises(error):
                ds.row(index)
        with self.assertRaises(recordfs.UnsupportedError):
            self.open("riegeli/simple_zstd9.riegeli").row(0)
        ds.close()
        with self.assertRaises(ValueError):
            ds.row(0)

    def test_statistics_are_those_of_the_command(self):
        objects = self.write("a.tfrecord", [b'{"a": %d, "b": {"c": ["x", "%d"]}}' % (i, i % 3) for i in range(2000)])
        for path, where in ((cases.sample("tfrecord/examples.tfrecord"), None), (objects, None), (objects, "a < 5 or b.c = '2'"),
                            (cases.sample("riegeli/metadata_full_transposed.riegeli"), None), (cases.sample(EVENTS), "value > 0.5"),
                            (cases.sample("proio/c03-example-none.proio"), None)):
            status, known = cases.run("info", "--columns", "--json", str(path), *(["--where", where] if where else []))
            self.assertIn(status, (0, 5))  # some records cannot be decoded
            self.assertEqual(recordfs.open(path, on_damage="skip").column_statistics(where=where), json.loads(known)["columns"], (path, where))
        ds = recordfs.open(objects)
        self.assertEqual([one["name"] for one in ds.column_statistics(["b.c", "a"])], ["b.c", "a"])
        self.assertEqual(ds[:5].column_statistics(["a"])[0]["maximum"], 4)
        for words in ({"columns": ["d"]}, {"where": "d = 1"}, {"where": "a ="}):
            with self.assertRaises(ValueError):
                ds.column_statistics(**words)
        mixed = self.write("b.tfrecord", [b'{"a": 1}', b"text"])
        with self.assertRaisesRegex(recordfs.UnsupportedError, "1 record cannot be decoded, so they have no columns"):
            recordfs.open(mixed).column_statistics()
        self.assertEqual(recordfs.open(mixed, on_damage="skip").column_statistics()[0]["records"], 1)
        values = recordfs.open(self.write("c.tfrecord", [b"1", b"[2]"]))
        with self.assertRaisesRegex(recordfs.UnsupportedError, "2 records without columns: the value of this record is no object"):
            values.column_statistics()
        with self.assertRaisesRegex(recordfs.UnsupportedError, "records without columns: a value is no object"):
            self.assertIsNone(values.columns)
        content = bytearray(mixed.read_bytes())
        content[13] ^= 1
        mixed.write_bytes(content)
        with self.assertRaises(recordfs.DamageError):
            recordfs.open(mixed).column_statistics()

    def test_columns_of_transposed_chunks(self):
        descriptors = self.folder / "types"
        descriptors.write_bytes(descriptor_set(message_type("Host", declared("name", 2, STRING), declared("load", 3, DOUBLE))))
        ds = recordfs.open(cases.sample("riegeli/transposed_regular.riegeli"), descriptors=descriptors, type="t.Host")
        known = [ds.decode(i) for i in range(len(ds))]
        self.assertEqual([row["name"] for row in ds.select("name")], [row.get("name", "") for row in known])
        self.assertEqual([row["name"] for row in ds.where("load > 1200").select("name")],
                         [row.get("name", "") for row in known if row.get("load", 0) > 1200])

    def test_other_fields_of_transposed_chunks_are_not_decompressed(self):
        types, damaged = self.folder / "types", self.folder / "damaged.riegeli"
        types.write_bytes(transposed.descriptors())
        damaged.write_bytes(transposed.damaged())
        sound, ds = (recordfs.open(path, descriptors=types, type="M") for path in (transposed.SOUND, damaged))
        self.assertEqual(list(ds.select("time", "id")), list(sound.select("time", "id")))
        self.assertEqual(*(rows(one.arrow()) for one in (sound, ds)))
        with self.assertRaisesRegex(recordfs.DamageError, "brotli"):
            list(ds)

    def test_values_are_those_of_decoded_records(self):
        descriptors = self.folder / "types"
        descriptors.write_bytes(descriptor_set(ALL, POINT))
        point = field(1, 2) + field(2, 4)
        records = [field(1, i) + field(2, "é" * (i % 3)) + field(4, i % 2) + field(6, i) * (i % 4) + field(7, point) * (i % 2)
                   + field(13, 0) * (i % 5 == 0) + field(15, 1) * (i % 3) for i in range(100)]
        ds = recordfs.open(self.write("a.tfrecord", records), descriptors=descriptors, type="t.All")
        for i, row in enumerate(ds.select("id", "name", "is", "list", "at", "maybe", "bits")):
            self.assertEqual(row, {"id": i, "name": "é" * (i % 3), "is": bool(i % 2), "list": [i] * (i % 4),
                                   "at": {"x": 1, "y": 2, "next": None} if i % 2 else None,
                                   "maybe": 0 if i % 5 == 0 else None, "bits": [True] * (i % 3)})

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_arrays(self):
        rows = [{"pair": [i, -i], "some": [float(j) for j in range(i % 3)], "names": [b"a\0", b"b"]} for i in range(3000)]
        ds = recordfs.open(self.write("a.tfrecord", [example(row) for row in rows]))
        arrays = ds.to_numpy()
        self.assertEqual({name: (array.shape, array.dtype) for name, array in arrays.items()},
                         {"pair": ((3000, 2), numpy.int64), "names": ((3000, 2), object), "some": ((3000,), object)})
        self.assertEqual(arrays["pair"].tolist(), [row["pair"] for row in rows])
        self.assertEqual(arrays["names"][2999].tolist(), [b"a\0", b"b"])
        self.assertEqual([part.tolist() for part in arrays["some"]], [row["some"] for row in rows])
        self.assertEqual(arrays["some"][2].dtype, numpy.float32)
        self.assertEqual(ds[1:3].to_numpy(["pair"])["pair"].tolist(), [[1, -1], [2, -2]])
        with self.assertRaises(TypeError):
            ds.to_numpy("pair")
        ds = recordfs.open(self.write("b.tfrecord", [example({"label": [i]}) for i in range(5)]))
        self.assertEqual(ds.to_numpy()["label"].tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(ds.to_numpy(["label"], lists=True)["label"].tolist(), [[0], [1], [2], [3], [4]])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_empty_values(self):
        ds = recordfs.open(self.write("a.tfrecord", [example({"a": [b"", b""], "b": []}) for _ in range(3)]))
        arrays = ds.to_numpy(lists=True)
        self.assertEqual(arrays["a"].tolist(), [[b"", b""]] * 3)
        self.assertTrue("b" not in arrays or arrays["b"].shape == (3, 0))
        self.assertEqual([row["a"] for row in ds.select("a")], [[b"", b""]] * 3)

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_missing_values_and_large_numbers_are_kept(self):
        values = [2**63 - 1, None, -2**63, 0]
        ds = self.messages([b"" if value is None else field(1, value) for value in values],
                           declared("n", 1, INT64, oneof=0, optional=True), declared("m", 2, INT64))
        arrays = ds.to_numpy()
        self.assertEqual((arrays["n"].dtype, arrays["n"].tolist()), (object, values))
        self.assertEqual((arrays["m"].dtype, arrays["m"].tolist()), (numpy.int64, [0] * 4))
        self.assertEqual(ds[:0].to_numpy(["m"])["m"].shape, (0,))

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_scalars_of_training_are_rows(self):
        ds = self.open(EVENTS)
        self.assertEqual([column.name for column in ds.columns], ["run", "step", "wall_time", "tag", "value"])
        arrays = ds.to_numpy(["step", "value"])
        self.assertEqual(arrays["step"].tolist(), list(range(20)))
        self.assertEqual(arrays["value"].dtype, numpy.float64)
        self.assertEqual([row["step"] for row in ds.where("tag = 'loss' and value = 0.5").select()], [1])
        logs = self.folder / "logs" / "train"
        logs.mkdir(parents=True)
        (logs / "x.tfevents").write_bytes((cases.corpus() / EVENTS).read_bytes())
        self.assertEqual({row["run"] for row in recordfs.open(logs.parent).select("run")}, {"train"})
        self.assertEqual(len(list(recordfs.open(logs.parent).where("run = 'train' and step < 3").select())), 3)

    def test_run_of_a_file_is_that_of_the_command(self):
        logs = self.folder / "logs" / "train"
        logs.mkdir(parents=True)
        (logs / "x.tfevents").write_bytes((cases.corpus() / EVENTS).read_bytes())
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        for path in ("logs/train/x.tfevents", "./logs/train/x.tfevents", "logs/../logs/train/x.tfevents", "logs", str(logs / "x.tfevents")):
            status, known = cases.run("export", path, "--select", "run", "--to", "jsonl", "-o", "-")
            ds = recordfs.open(path)
            self.assertEqual([row for row in ds.select("run")], [json.loads(line) for line in known.splitlines()], path)
            run = json.loads(known.splitlines()[0])["run"]
            os.chdir("/")
            self.assertEqual([{row["run"] for row in one.where(f"run = '{run}'").select()} for one in (ds, pickle.loads(pickle.dumps(ds)))], [{run}] * 2)
            os.chdir(self.folder)

    def test_damage_raises_or_is_left_out(self):
        records = [example({"a": [i, i]}) for i in range(10)]
        path = self.write("a.tfrecord", records)
        content = bytearray(path.read_bytes())
        content[content.index(records[5]) + 3] ^= 1
        path.write_bytes(content)
        with self.assertRaises(recordfs.DamageError):
            list(recordfs.open(path).select())
        self.assertEqual([row["a"][0] for row in recordfs.open(path, on_damage="skip").select()], [0, 1, 2, 3, 4, 6, 7, 8, 9])


if __name__ == "__main__":
    cases.main()
