#!/usr/bin/env python3
"""Indexes, slices, views and searches of data sets."""
import errno
import json
import os
import random
import unittest
import xml.etree.ElementTree

import cases
import recordfs
from cases import Case, run, sample


class Module(unittest.TestCase):
    def test_version_is_that_of_the_program(self):
        self.assertEqual(run("--version")[1].split()[:2], [b"recordfs", recordfs.__version__.encode()])


class OneFile(Case):
    def setUp(self):
        super().setUp()
        self.records = [f"record {i}".encode() * (i % 5) for i in range(3000)]
        self.path = self.write("a.tfrecord", self.records)
        self.ds = recordfs.open(self.path)

    def test_index_from_either_end(self):
        self.assertEqual(len(self.ds), 3000)
        for i in (0, 1, 2999, -1, -3000):
            self.assertEqual(self.ds[i], self.records[i])
        for i in (3000, -3001, 1 << 70):
            with self.assertRaises(IndexError):
                self.ds[i]

    def test_slices_are_views_that_select_like_those_of_a_list(self):
        some = random.Random(1)
        numbers = [None, 0, 1, 5, 2999, 3000, 4000, -1, -7, -3000, -5000]
        for _ in range(100):
            index = slice(some.choice(numbers), some.choice(numbers), some.choice([None, 1, 2, 7, -1, -3]))
            ds = recordfs.open(self.path)
            self.assertEqual(list(ds[index]), self.records[index], index)
            self.assertEqual(len(ds[index]), len(self.records[index]), index)
            self.assertEqual(list(ds[3:2500][index]), self.records[3:2500][index], index)

    def test_slice_of_the_front_counts_nothing_and_has_a_length_later(self):
        view = self.ds[2990:4000]
        self.assertEqual(view[9], self.records[2999])
        with self.assertRaises(IndexError):
            view[10]
        self.assertEqual(len(view), 10)

    def test_list_of_indexes(self):
        self.assertEqual(self.ds[[5, 3, 2999, 3, -1]], [self.records[i] for i in (5, 3, 2999, 3, -1)])
        self.assertEqual(self.ds[[]], [])
        with self.assertRaises(IndexError):
            self.ds[[1, 3000]]

    def test_memoryviews_outlive_the_data_set(self):
        views = list(recordfs.open(self.path, copy=False)) + [recordfs.open(self.path, copy=False)[7]]
        self.assertEqual([bytes(view) for view in views], [*self.records, self.records[7]])
        self.assertTrue(views[0].readonly)

    def test_batches(self):
        batches = list(self.ds[:2500].batches(1024))
        self.assertEqual([len(offsets) - 1 for _, offsets in batches], [1024, 1024, 452])
        data, offsets = batches[1]
        self.assertEqual((data.format, offsets.format, offsets.itemsize, offsets.shape), ("B", "q", 8, (1025,)))
        self.assertEqual(bytes(data[offsets[3]:offsets[4]]), self.records[1027])
        self.assertEqual(offsets[-1], len(data))

    def test_shuffled_and_sampled_views(self):
        shuffled = self.ds.shuffled(7)
        self.assertEqual(sorted(shuffled), sorted(self.records))
        self.assertEqual(run("cat", "--shuffle", "7", self.path)[1], b"".join(shuffled))
        self.assertEqual(list(shuffled[10:20]), list(shuffled)[10:20])
        self.assertEqual(shuffled[10], list(shuffled)[10])
        self.assertEqual(run("cat", "--sample", "50", "--seed", "3", self.path)[1], b"".join(self.ds.sample(50, 3)))
        self.assertEqual(len(self.ds[:10].sample(100)), 10)
        self.assertEqual(list(self.ds.sample(1 << 70)), self.records)
        for wrong in (lambda: self.ds.shuffled(-1), lambda: self.ds.shuffled(1 << 64), lambda: self.ds.sample(5, -1)):
            with self.assertRaisesRegex(ValueError, "a seed is from 0"):
                wrong()
        with self.assertRaisesRegex(ValueError, "not a number of records: -1"):
            self.ds.sample(-1)

    def test_shuffled_reading_of_small_records_takes_few_passes(self):
        records = [b"%d" % i for i in range(200_000)]
        ds = recordfs.open(self.write("small.tfrecord", records))
        native, passes = ds._opened.native, []

        class Counting:
            def records(self, ordinals, *rest):
                passes.append(len(ordinals))
                return native.records(ordinals, *rest)

            def __getattr__(self, name):
                return getattr(native, name)

        shuffled = ds.shuffled(1)
        ds._opened.native = Counting()
        self.assertEqual(sorted(shuffled), sorted(records))
        self.assertLess(passes[0], 100)  # so that the first one comes soon
        self.assertLess(len(passes), 7)

    def test_shuffled_reading_of_large_records_keeps_its_bound_of_memory(self):
        path = self.write("large.tfrecord", [bytes(2 << 20)])
        path.write_bytes(path.read_bytes() * 100)
        ds = recordfs.open(path)
        native, sizes = ds._opened.native, []

        class Counting:
            def records(self, *words):
                found = native.records(*words)
                sizes.append(sum(map(len, found[0])))
                return found

            def __getattr__(self, name):
                return getattr(native, name)

        shuffled = ds.shuffled(1)
        ds._opened.native = Counting()
        self.assertEqual(sum(map(len, shuffled)), 100 << 21)
        self.assertLessEqual(max(sizes), 64 << 20)

    def test_search(self):
        expected = [(i, record) for i, record in enumerate(self.records) if b"99r" in record]
        self.assertEqual(list(self.ds.grep("99r")), expected)
        self.assertEqual(list(self.ds.grep(b"9{2}r")), expected)
        self.assertEqual(list(self.ds.grep("nothing", "99R", ignore_case=True, fixed=True)), expected)
        self.assertEqual(len(list(self.ds.grep("99r", invert=True))), 3000 - len(expected))
        self.assertEqual(list(self.ds[100:].grep("99r"))[0][0], 99)
        with self.assertRaisesRegex(ValueError, r"bad pattern: \("):
            self.ds.grep("(")

    def test_several_iterators_at_once(self):
        pairs = list(zip(self.ds, self.ds))
        self.assertEqual(pairs, list(zip(self.records, self.records)))

    def test_iterator_that_is_dropped_stops(self):
        for _ in range(20):
            next(iter(self.ds))

    def test_address(self):
        chunk = self.ds.info["first_chunk"]["begin"]
        self.assertEqual(self.ds.at(chunk, 3), self.records[3])
        for offset, index in ((1, 0), (-1, 0), (chunk, -1)):
            with self.assertRaises(IndexError):
                self.ds.at(offset, index)
        with self.assertRaisesRegex(TypeError, "'str' object cannot be interpreted as an integer"):
            self.ds.at("@0/3")

    def test_text_has_no_parts(self):
        self.assertEqual(self.ds.parts(1), {})


class ShardSet(Case):
    def setUp(self):
        super().setUp()
        self.records = [f"{i}".encode() for i in range(1000)]
        self.paths = [self.write(f"train-{i:05}-of-00004.tfrecord", self.records[i * 250:i * 250 + 250]) for i in range(4)]
        self.ds = recordfs.open(self.folder / "train@4.tfrecord")

    def test_ordinals_continue(self):
        self.assertEqual(list(self.ds), self.records)
        self.assertEqual(len(self.ds), 1000)
        self.assertEqual(self.ds[251], b"251")
        self.assertEqual(list(self.ds[240:510]), self.records[240:510])
        self.assertEqual([ordinal for ordinal, _ in self.ds.grep("^99[0-9]$")], list(range(990, 1000)))
        self.assertEqual(self.ds[[999, 0, 500]], [b"999", b"0", b"500"])

    def test_shards(self):
        self.assertEqual([len(shard) for shard in self.ds.shards], [250] * 4)
        self.assertEqual(self.ds.shards[-1][0], b"750")
        self.assertEqual(self.ds.shards[2].path, str(self.paths[2]))
        self.assertEqual(self.ds.at(0, 0, shard="train-00001-of-00004.tfrecord"), b"250")
        info = self.ds.info
        self.assertEqual((info["shards"], info["missing"], info["records"]), (4, 0, 1000))
        self.assertEqual(info["table"][1]["first_ordinal"], 250)

    def test_ways_to_name_them(self):
        for words in ([self.folder], [self.folder / "train-*"], self.paths):
            self.assertEqual(len(recordfs.open(*words)), 1000)
        manifest = self.folder / "list.txt"
        manifest.write_text("".join(f"{path.name}\n" for path in self.paths[:2]))
        self.assertEqual(len(recordfs.open(manifest=manifest)), 500)
        self.assertEqual([len(ds) for ds in recordfs.open(*self.paths, join=False)], [250] * 4)

    def records_of(self, splits):
        return [record for split in splits for record in self.ds.read_split(split)]

    def test_number_of_splits(self):
        for count in (1, 3, 4, 7, 50, 5000):
            splits = self.ds.splits(count=count)
            self.assertEqual("".join(f"{split}\n" for split in splits).encode(),
                             run("splits", "--count", str(count), self.folder / "train@4.tfrecord")[1])
            self.assertEqual(self.records_of(splits), self.records)
            self.assertEqual(self.records_of(f"{number}/{count}" for number in range(count)), self.records)
        split = self.ds.splits(count=3)[1]
        self.assertEqual(run("cat", "--split", split, self.folder / "train@4.tfrecord")[1],
                         b"".join(self.ds.read_split(split)))
        self.assertEqual(recordfs.open(self.folder, copy=False).splits(count=3)[1], split)

    def test_splits_that_the_command_prints(self):
        ids = [json.loads(line)["id"] for line in run("splits", "--json", "--size", "1000", self.folder)[1].splitlines()]
        self.assertEqual(self.records_of(ids), self.records)
        lines = run("splits", "--size", "1000", self.folder)[1].decode().splitlines()
        self.assertEqual(self.records_of(lines), self.records)
        alone = recordfs.open(self.paths[0])
        self.assertEqual(list(alone.read_split("0:")), self.records[:250])

    def test_wrong_splits(self):
        for count in (0, -1, 1 << 64):
            with self.assertRaisesRegex(ValueError, f"not a positive number: {count}"):
                self.ds.splits(count=count)
        with self.assertRaisesRegex(ValueError, "only one of size and count can be given"):
            self.ds.splits(1000, count=3)
        for text in ("", "3", "3/3", "-1/3", "0/3@12", "a:b"):
            with self.assertRaisesRegex(ValueError, rf"not \[SHARD:\]BEGIN:END or I/N: {text}"):
                self.ds.read_split(text)
        with self.assertRaisesRegex(ValueError, "several files, so a split is SHARD:BEGIN:END: 0:9"):
            self.ds.read_split("0:9")
        with self.assertRaisesRegex(IndexError, "no shard other"):
            self.ds.read_split("other:0:9")

    def test_splits_of_a_view_are_refused(self):
        for view in (self.ds[5:9], self.ds[:0], self.ds[::2], self.ds.shuffled(1)):
            for use in (lambda: view.splits(), lambda: view.splits(count=2), lambda: view.read_split("0/2"),
                        lambda: view.read_split((0, 0, 100))):
                with self.assertRaisesRegex(ValueError, "splits are of a whole data set, and this is a view"):
                    use()
        self.assertEqual(len(self.ds[:].splits(count=2)), 2)

    def test_splits_of_changed_files_are_refused(self):
        split, = self.ds.splits(count=1)
        with self.paths[1].open("ab") as file:
            file.write(b"x")
        with self.assertRaisesRegex(OSError, f"have changed since this split was made: {split}") as raised:
            recordfs.open(self.folder).read_split(split)
        self.assertEqual(raised.exception.errno, errno.ESTALE)
        os.remove(self.paths[1])
        with self.assertRaises(FileNotFoundError) as raised:
            self.ds.splits(count=1)
        self.assertEqual(raised.exception.filename, str(self.paths[1]))

    def test_splits_of_a_set_with_a_missing_shard(self):
        os.remove(self.paths[1])
        words = self.folder / "train@4.tfrecord"
        for make in (lambda ds: ds.splits(1000), lambda ds: ds.splits(count=3), lambda ds: ds.read_split("0/3")):
            with self.assertRaisesRegex(recordfs.DamageError, "this shard is missing"):
                make(recordfs.open(words))
            with self.assertWarnsRegex(recordfs.DamageWarning, "this shard is missing") as warned:
                make(recordfs.open(words, on_damage="report"))
            self.assertEqual(warned.filename, __file__)
        self.ds = recordfs.open(words, on_damage="skip")
        expected = self.records[:250] + self.records[500:]
        for splits in (self.ds.splits(1000), self.ds.splits(count=3), ["0/2", "1/2"]):
            self.assertEqual(self.records_of(splits), expected)
        self.assertEqual("".join(f"{split}\n" for split in self.ds.splits(count=3)).encode(),
                         run("splits", "--allow-missing", "--count", "3", words)[1])

    def test_missing_shard(self):
        os.remove(self.paths[1])
        ds = recordfs.open(self.folder / "train@4.tfrecord", on_damage="skip")
        self.assertEqual(list(ds), self.records[:250] + self.records[500:])
        self.assertEqual(len(ds), 750)
        self.assertEqual([(damage.shard, damage.kind) for damage in ds.damage], [(1, "missing")])
        with self.assertRaises(recordfs.DamageError) as raised:
            list(recordfs.open(self.folder / "train@4.tfrecord"))
        self.assertEqual(raised.exception.reason, "this shard is missing")
        self.assertEqual(str(raised.exception).count(str(self.paths[1])), 1)

    def test_error_names_the_shard_of_the_record(self):
        with self.paths[2].open("r+b") as file:
            file.seek(14)
            file.write(b"\xff")
        ds = recordfs.open(self.folder)
        for read in (lambda: ds[500], lambda: ds[[1, 500]], lambda: ds.json(500), lambda: ds.decode(500), lambda: ds.at(0, 0, 2)):
            with self.assertRaises(recordfs.DamageError) as raised:
                read()
            self.assertEqual(raised.exception.path, str(self.paths[2]))

    def test_wrong_arguments(self):
        with self.assertRaises(FileNotFoundError):
            recordfs.open(self.folder / "nothing")
        with self.assertRaises(OSError):
            recordfs.open(self.folder / "nothing-*")
        with self.assertRaises(ValueError):
            recordfs.open()
        with self.assertRaises(ValueError):
            recordfs.open(self.paths[0], on_damage="ignore")


class Notebook(Case):
    """What a notebook shows."""

    def shown(self, ds):
        """Returns the rows of the table, and the x, width and texts of the marks in the map; None without a map."""
        root = xml.etree.ElementTree.fromstring(f"<all>{ds._repr_html_()}</all>")
        rows = {row[0].text: row[1].text for row in root.iter("tr")}
        if root.find("svg") is None:
            return rows, None
        return rows, [(int(mark.get("x")), int(mark.get("width")), mark[0].text)
                      for mark in root.iter("rect") if mark.get("fill") == "#c0392b"]

    def write_damaged(self, name):
        path = self.write(name, [b"%03d" % i for i in range(1000)])
        with path.open("r+b") as file:
            file.seek(19 * 500)
            file.write(b"\xff" * 19)
        return path

    def test_map_has_the_damage_once_the_records_are_counted(self):
        ds = recordfs.open(self.write_damaged("a<b.tfrecord"))
        self.assertEqual(self.shown(ds)[1], None)
        self.assertEqual(self.shown(ds)[0]["format"], "tfrecord")
        len(ds)
        rows, marks = self.shown(ds)
        self.assertEqual(rows["records"], "999")
        self.assertEqual([mark[:2] for mark in marks], [(500, 2)])
        self.assertIn("a<b.tfrecord: bytes 9500 to 9519: damage: ", marks[0][2])

    def test_map_of_several_shards(self):
        self.write_damaged("train-00001-of-00003")
        self.write("train-00000-of-00003", [b"%03d" % i for i in range(1000)])
        ds = recordfs.open(self.folder / "train@3")
        self.assertEqual(self.shown(ds), ({"shards": "3", "missing": "1"}, None))
        len(ds)
        rows, marks = self.shown(ds)
        self.assertEqual(rows["records"], "1999")
        self.assertEqual([(x, width) for x, width, _ in marks], [(750, 2), (998, 2)])
        self.assertIn("train-00002-of-00003", marks[1][2])

    def test_marks_of_much_damage_are_bounded(self):
        damage = [recordfs.Damage(0, i * 10, i * 10 + 5, i, 1, "damage", "<wrong>") for i in range(65536)]
        self.assertLess(len(recordfs._html.map_of([655360], ["a"], damage)), 400_000)


class Decoding(Case):
    def test_rows_are_flat(self):
        ds = self.open("tfrecord/examples.tfrecord")
        features = ds.decode(0)["features"]["feature"]
        row = ds.row(0, lists=True)
        for name, one in features.items():
            kind, values = next((kind, values["value"]) for kind, values in one.items())
            same = self.assertAlmostEqual if kind == "float_list" else self.assertEqual
            self.assertEqual(len(row[name]), len(values))
            for value, wanted in zip(row[name], values):
                same(value, wanted)
        row = self.open("tfrecord/sequence-examples.tfrecord").row(0)
        self.assertEqual((row["id"], row["length"], row["frames"][1]), ([b"clip"], [3], [b"frame 1"]))
        message = self.open("riegeli/metadata_full_transposed.riegeli")
        row, decoded = message.row(0), message.decode(0)
        scalars = {name: value for name, value in decoded.items() if not isinstance(value, (dict, list))}
        self.assertEqual({name: row[name] for name in scalars}, scalars)
        self.assertTrue(all(not value for name, value in row.items() if name not in decoded))
        self.assertEqual([one["n"] for one in row["rnested"]], [None, 1, None])

    def test_fields_of_bytes_are_bytes(self):
        ds = self.open("array_record/examples.array_record")
        features = ds.decode(0)["features"]["feature"]
        self.assertEqual(features["image/encoded"]["bytes_list"]["value"], [b"\xff\xd80"])

    def test_numbers_of_messages_are_numbers(self):
        message = self.open("riegeli/metadata_full_transposed.riegeli").decode(0)
        self.assertEqual((message["u64"], message["db"], message["b"]), (7991895315470554, float("-inf"), False))
        self.assertIsInstance(message["rnested"][1]["blob"], bytes)

    def test_floats_are_floats(self):
        values = self.open("tfrecord/train-00000-of-00002").decode(1)["features"]["feature"]["unpacked floats"]["float_list"]
        self.assertEqual([type(value) for value in values["value"]], [float] * 4)
        self.assertEqual(repr(values["value"][1]), "-0.0")

    def test_metadata_of_events_is_bytes(self):
        ds = self.open("proio/c16-metadata.proio")
        self.assertEqual([ds.decode(i)["metadata"]["run"] for i in (0, 99)], [b"run 0", b"run 9"])

    def test_parts_by_name(self):
        parts = self.open("tfrecord/sequence-examples.tfrecord").parts(0)
        self.assertEqual((bytes(parts["context/id"]), bytes(parts["context/length"])), (b"clip", b"3\n"))
        self.assertEqual(bytes(parts["feature_lists/frames/1"]), b"frame 1")

    def test_search_of_a_field(self):
        path = sample("tfrecord/examples.tfrecord")
        ds = recordfs.open(path, on_damage="skip")  # some records cannot be decoded
        for field, pattern in (("features.feature", "."), ("image/width", "[0-9]"), ("", "feature")):
            expected = run("grep", "--ordinals", "--field", field, "-e", pattern, path)[1].split() if field else \
                run("grep", "--ordinals", "--decoded", "-e", pattern, path)[1].split()
            found = list(ds.grep(pattern, field=field))
            self.assertEqual([ordinal for ordinal, _ in found], [int(ordinal) for ordinal in expected], field)
            self.assertGreater(len(found), 0)
            self.assertEqual([record for _, record in found], ds[[ordinal for ordinal, _ in found]])

    def test_field_that_no_record_has(self):
        ds = self.open("tfrecord/examples.tfrecord", on_damage="skip")
        for invert in (False, True):
            found = ds.grep(".", field="nothing", invert=invert)
            with self.assertRaisesRegex(ValueError, r"\Ano record has a field nothing \(the nearest are "):
                list(found)
        self.assertEqual(list(ds.grep("no such text", field="image/width")), [])
        self.assertEqual(list(ds[:0].grep(".", field="nothing")), [])

    def test_search_of_a_field_of_records_that_cannot_be_decoded(self):
        path = self.write("mixed.tfrecord", [b"text", self.open("tfrecord/examples.tfrecord")[0]])
        found = recordfs.open(path).grep("640", field="image/width")
        self.assertEqual(next(found)[0], 1)
        with self.assertRaisesRegex(recordfs.UnsupportedError, "1 record cannot be decoded, so they are not searched"):
            next(found)
        for invert, expected in ((False, [1]), (True, [])):
            found = recordfs.open(path, on_damage="skip").grep("640", field="image/width", invert=invert)
            self.assertEqual([ordinal for ordinal, _ in found], expected)

    def test_loop_does_not_end_at_a_record_without_decoded_form(self):
        class Decoded:
            def __getitem__(self, index):
                return ds.decode(index)

        ds = recordfs.open(self.write("a.tfrecord", [b"\x08\1", b"text", b"\x08\2"]))
        read = []
        with self.assertRaises(recordfs.UnsupportedError):
            for record in Decoded():
                read.append(record)
        self.assertEqual(len(read), 1)
        ds = recordfs.open(self.write("b.tfrecord", [b"\x08\1"] * 3))
        self.assertEqual(len(list(Decoded())), 3)


if __name__ == "__main__":
    cases.main()
