#!/usr/bin/env python3
"""Paths and options with which data sets are opened, and closing them."""
import os
import pickle
import unittest

import cases
import recordfs
from cases import Case


class Shards(Case):
    def setUp(self):
        super().setUp()
        self.records = [f"{i}".encode() for i in range(1000)]
        self.paths = [self.write(f"train-{i:05}-of-00004.tfrecord", self.records[i * 250:i * 250 + 250]) for i in range(4)]


class Opening(Shards):
    def test_list_of_paths(self):
        for paths in (self.paths, [str(path) for path in self.paths], tuple(self.paths), iter(self.paths)):
            self.assertEqual(list(recordfs.open(paths)), self.records)
        self.assertEqual(list(recordfs.open(self.paths[:2], self.paths[2])), self.records[:750])
        self.assertEqual(list(recordfs.open([self.folder / "train-*"])), self.records)
        self.assertEqual([ds.path for ds in recordfs.open(self.paths, join=False)], [str(path) for path in self.paths])
        with self.assertRaisesRegex(ValueError, "either paths or a manifest must be given"):
            recordfs.open([])
        for wrong in (["", self.paths[0]], [self.paths[0], ""]):
            with self.assertRaisesRegex(ValueError, "a path is empty"):
                recordfs.open(wrong)

    def test_nul_byte_does_not_end_a_path(self):
        known = str(self.paths[0])
        for make in (lambda: recordfs.open(known + "\0x"), lambda: recordfs.open(self.paths[0], known + "\0"),
                     lambda: recordfs.open(known + "\0", join=False), lambda: recordfs.open(manifest=known + "\0x"),
                     lambda: recordfs.open(known, index="no\0"), lambda: recordfs.open(known, descriptors=known + "\0x"),
                     lambda: recordfs.open(known.encode() + b"\0x")):
            with self.assertRaisesRegex(ValueError, "embedded null byte"):
                make()

    def test_number_of_threads_has_a_limit(self):
        for threads in (1025, 1 << 20, (1 << 32) - 1):
            with self.assertRaisesRegex(ValueError, f"threads: from 0 to 1024, not {threads}"):
                recordfs.open(self.paths[0], threads=threads)
        self.assertEqual(list(recordfs.open(self.paths[0], threads=1024)[:3]), self.records[:3])

    def test_messages_about_wrong_arguments_name_them(self):
        path = self.paths[0]
        ds = recordfs.open(path)
        whole = "cannot be interpreted as an integer"
        for error, message, use in (
                (ValueError, "threads: from 0 to 1024, not -1", lambda: recordfs.open(path, threads=-1)),
                (ValueError, f"threads: from 0 to 1024, not {1 << 40}", lambda: recordfs.open(path, threads=1 << 40)),
                (TypeError, "threads: not a whole number: '2'", lambda: recordfs.open(path, threads="2")),
                (ValueError, f"max_chunk: from 0 to {(1 << 63) - 1}, not -1", lambda: recordfs.open(path, max_chunk=-1)),
                (TypeError, "cache_size: not a whole number: 1.5", lambda: recordfs.open(path, cache_size=1.5)),
                (ValueError, "as_of_timestamp: from 0 to .*, not -1", lambda: recordfs.open(path, as_of_timestamp=-1)),
                (TypeError, "type: not a str: 3", lambda: recordfs.open(path, type=3)),
                (ValueError, "a batch has at least one record", lambda: next(ds.batches(0))),
                (TypeError, whole, lambda: next(ds.batches("2"))), (TypeError, whole, lambda: ds.sample("2")),
                (TypeError, whole, lambda: ds.shuffled("2")), (TypeError, whole, lambda: ds.splits("2")),
                (TypeError, whole, lambda: ds.splits(count=2.5)),
                (ValueError, "begin: from 0 to .*, not -1", lambda: ds.read_split((0, -1, 2))),
                (TypeError, "field: not a str: 3", lambda: ds.grep("1", field=3)),
                (TypeError, "a bytes-like object is required", lambda: ds.grep(3)),
                (IndexError, "no shard -1", lambda: ds.at(0, shard=-1)), (IndexError, "no record 0 in", lambda: ds.at(1 << 70)),
                (IndexError, r"\Ano record 250\Z", lambda: recordfs.open(path)[250]),
                (IndexError, r"\Ano record 250\Z", lambda: recordfs.open(path)[[0, 250]]),
                (IndexError, r"\Ano record 1000\Z", lambda: recordfs.open(self.paths)[1000])):
            with self.subTest(message=message), self.assertRaisesRegex(error, message) as raised:
                use()
            self.assertNotIn("_recordfs", str(raised.exception))
        self.assertEqual([len(offsets) - 1 for _, offsets in ds.batches(1 << 70)], [250])
        self.assertEqual(len(ds.splits(1 << 70)), 1)

    def test_path_that_is_not_utf8(self):
        folder = self.folder / os.fsdecode(b"\xff\xfe")
        folder.mkdir()
        name = os.fsdecode(b"a\xe9.tfrecord")
        path = folder / name
        path.write_bytes(self.paths[0].read_bytes() + self.paths[1].read_bytes())
        for spelled in (path, str(path), bytes(path)):
            ds = recordfs.open(spelled)
            self.assertEqual(list(ds), self.records[:500])
            self.assertEqual((ds.path, ds.shards[0].path), (str(path), str(path)))
            self.assertEqual(pickle.loads(pickle.dumps(ds))[499], b"499")
            repr(ds).encode(), ds._repr_html_().encode()
        several = recordfs.open(path, self.paths[0])
        self.assertEqual(list(several.read_split(f"{name}:0:")), self.records[:500])
        self.assertEqual(several.info["table"][0]["shard"], name)
        with path.open("r+b") as file:
            file.seek(12)
            file.write(b"X")
        with self.assertRaises(recordfs.DamageError) as raised:
            list(recordfs.open(path))
        self.assertEqual(raised.exception.path, str(path))
        self.assertIn(r"\udcff\udcfe/a\udce9.tfrecord: byte ", str(raised.exception))
        path.write_bytes(cases.tfrecords.tfrecord([b'{"a": 1}', b"no JSON"]))
        with self.assertRaisesRegex(recordfs.UnsupportedError, "1 record cannot be decoded") as raised:
            list(recordfs.open(path).grep("1", field="a"))
        self.assertEqual(raised.exception.path, str(path))
        with self.assertRaises(FileNotFoundError) as raised:
            recordfs.open(folder / (name + "x"))
        self.assertEqual(raised.exception.filename, str(path) + "x")


class Closing(Shards):
    def test_closed_data_set(self):
        with recordfs.open(self.folder) as ds:
            self.assertEqual(len(ds), 1000)
            view, keys, iterator = ds[5:9], ds.keys, iter(ds)
            next(iterator)
        self.assertEqual(len(list(iterator)), 999)
        for use in (lambda: ds[0], lambda: len(recordfs.Dataset(ds._opened)), lambda: view[0], lambda: iter(view), lambda: ds.info,
                    lambda: list(ds.shuffled()), lambda: ds.grep("1"), lambda: ds.splits(), lambda: list(keys),
                    lambda: pickle.dumps(ds), lambda: ds.__arrow_c_stream__(), ds.__enter__):
            with self.assertRaisesRegex(ValueError, "this data set was closed"):
                use()
        ds.close()
        repr(ds)
        with self.assertRaises(ZeroDivisionError), recordfs.open(self.folder) as ds:
            1 / 0
        with self.assertRaises(ValueError):
            ds[0]

    def test_closed_data_set_has_no_open_file(self):
        def opened():
            return [one for one in os.scandir("/proc/self/fd") if os.path.realpath(one).startswith(str(self.folder))]

        ds = recordfs.open(self.folder)
        self.assertEqual(len(list(ds)), 1000)
        self.assertGreater(len(opened()), 0)
        ds.close()
        self.assertEqual(opened(), [])


if __name__ == "__main__":
    cases.main()
