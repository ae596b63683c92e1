#!/usr/bin/env python3
"""Dask, fsspec and PyTorch read data sets. Each test is skipped without its library."""
import importlib
import importlib.util
import os
import sys
import types
import unittest
import unittest.mock

import cases
import recordfs
from cases import Case


def needs(module):
    return unittest.skipIf(importlib.util.find_spec(module) is None, f"needs {module}")


class Shards(Case):
    def setUp(self):
        super().setUp()
        self.records = [b"%d" % i for i in range(3000)]
        self.paths = [self.write(f"train-{i:05}-of-00003", self.records[i * 1000:i * 1000 + 1000]) for i in range(3)]


class Engines(Shards):
    @needs("dask")
    def test_bag_has_each_record_once(self):
        import recordfs.dask

        bag = recordfs.dask.bag(self.folder / "train@3", split_size=5000)
        self.assertEqual(bag.npartitions, 3)
        self.assertEqual(bag.compute(scheduler="synchronous"), self.records)
        self.assertEqual(bag.map(len).sum().compute(scheduler="processes", num_workers=2), sum(map(len, self.records)))

    @needs("dask")
    def test_delayed_lists(self):
        import dask

        import recordfs.dask

        lists = dask.compute(*recordfs.dask.to_delayed(*self.paths, on_damage="skip"), scheduler="threads")
        self.assertEqual([len(one) for one in lists], [1000] * 3)

    @needs("fsspec")
    def test_files_of_fsspec(self):
        import fsspec

        import recordfs.fsspec

        fsspec.register_implementation("recordfs", recordfs.fsspec.RecordFileSystem, clobber=True)
        with fsspec.open(f"recordfs://42::{self.paths[0]}") as file:
            self.assertEqual(file.read(), b"42")
        files = recordfs.fsspec.RecordFileSystem(str(self.paths[1]))
        self.assertEqual(files.info("recordfs://7")["size"], 4)
        self.assertEqual(len(files.ls("", detail=False)), 1000)
        self.assertEqual(files.cat_file("999"), b"1999")
        self.assertFalse(files.exists("1000"))
        self.assertFalse(files.exists("seven"))

    @needs("torch")
    def test_workers_of_torch_share_the_records(self):
        from torch.utils.data import DataLoader

        import recordfs.torch

        ds = recordfs.open(*self.paths)
        parts = [recordfs.torch.IterableRecords(ds, split_size=3000, rank=rank, world_size=2) for rank in range(2)]
        found = [record for part in parts for record in DataLoader(part, batch_size=None, num_workers=2)]
        self.assertEqual(sorted(found), sorted(self.records))


class Torch(Shards):
    """With a few lines in place of torch, if that is not installed."""

    def setUp(self):
        super().setUp()
        if importlib.util.find_spec("torch") is None:
            modules = {name: types.ModuleType(name) for name in
                       ("torch", "torch.distributed", "torch.utils", "torch.utils.data")}
            modules["torch"].distributed, modules["torch"].utils = modules["torch.distributed"], modules["torch.utils"]
            modules["torch.utils"].data = modules["torch.utils.data"]
            modules["torch.distributed"].is_available = lambda: False
            modules["torch.utils.data"].IterableDataset = object
            modules["torch.utils.data"].get_worker_info = lambda: None
            patch = unittest.mock.patch.dict(sys.modules, modules)
            patch.start()
            self.addCleanup(patch.stop)
        self.torch = importlib.import_module("recordfs.torch")
        self.addCleanup(sys.modules.pop, "recordfs.torch", None)

    def records_of(self, **options):
        return self.torch.IterableRecords(recordfs.open(*self.paths), split_size=3000, **options)

    def test_workers_and_ranks_share_the_records(self):
        found = []
        for rank in range(2):
            for number in range(2):
                worker = types.SimpleNamespace(num_workers=2, id=number)
                with unittest.mock.patch.object(self.torch.torch.utils.data, "get_worker_info", lambda: worker):
                    found += self.records_of(rank=rank, world_size=2)
        self.assertEqual(sorted(found), sorted(self.records))

    def test_iteration_resumes(self):
        records, again = self.records_of(), self.records_of()
        iterator = iter(records)
        first = [next(iterator) for _ in range(1500)]
        again.load_state_dict(records.state_dict())
        self.assertEqual(first + list(again), self.records)
        self.assertEqual(list(again), self.records)

    def test_iterator_starts_anew_after_a_break(self):
        records = self.records_of()
        for _ in range(3):
            iterator = iter(records)
            self.assertEqual([next(iterator) for _ in range(88)], self.records[:88])
        self.assertEqual(list(records), self.records)

    def test_iterators_of_one_object_are_independent(self):
        records = self.records_of()
        self.assertEqual(list(zip(records, records)), list(zip(self.records, self.records)))

    def shared(self, view, ranks=2, workers=3, **options):
        """Returns a list for each rank with the list of each of its workers."""
        found = []
        for rank in range(ranks):
            found.append([])
            for number in range(workers):
                worker = types.SimpleNamespace(num_workers=workers, id=number)
                with unittest.mock.patch.object(self.torch.torch.utils.data, "get_worker_info", lambda: worker):
                    found[-1].append(list(self.torch.IterableRecords(view, rank=rank, world_size=ranks, **options)))
        return found

    def test_views_are_honoured(self):
        ds = recordfs.open(*self.paths)
        for view in (ds[100:2500], ds[::7], ds[::-1], ds.shuffled(3), ds.shuffled(3)[5:700], ds.sample(50), ds[:5], ds[7:7]):
            expected = list(view)
            self.assertEqual(list(self.torch.IterableRecords(view)), expected)
            self.assertEqual([record for rank in self.shared(view) for worker in rank for record in worker], expected)
        self.assertEqual(list(self.torch.IterableRecords(ds.shards[1])), self.records[1000:2000])

    def test_ranks_are_equal(self):
        ds = recordfs.open(*self.paths)
        for ranks in (1, 7, 11, 3500):
            for view in (ds, ds[:2999], ds.shuffled(1)):
                expected = list(view)
                ranks_of = lambda **how: [sum(rank, []) for rank in self.shared(view, ranks, 1 if ranks > 100 else 2, **how)]
                dropped, padded = ranks_of(drop_last=True), ranks_of(pad=True)
                self.assertEqual({len(rank) for rank in dropped}, {len(expected) // ranks})
                self.assertEqual({len(rank) for rank in padded}, {-(-len(expected) // ranks)})
                self.assertEqual(sum(dropped, []), expected[: len(expected) // ranks * ranks])
                self.assertEqual(sum(padded, [])[: len(expected)], expected)

    def test_ranks_are_equal_although_damage_is_skipped(self):
        damaged = bytearray(self.paths[1].read_bytes())
        for at in range(30, len(damaged), len(damaged) // 20):
            damaged[at] ^= 1
        self.paths[1].write_bytes(damaged)
        ds = recordfs.open(*self.paths, on_damage="skip")
        good = list(ds)
        self.assertLess(len(good), 3000)
        for view in (ds, ds.shuffled(1)):
            ranks = [sum(rank, []) for rank in self.shared(view, 4, pad=True)]
            self.assertEqual(len({len(rank) for rank in ranks}), 1)
            self.assertEqual(set(sum(ranks, [])), set(good))
        with self.assertRaisesRegex(ValueError, "drop_last needs on_damage"):
            self.torch.IterableRecords(ds, drop_last=True)

    def test_iteration_of_a_view_resumes(self):
        ds = recordfs.open(*self.paths)
        for view in (ds[10:2000], ds.shuffled(5), ds[::3]):
            for options in ({}, {"pad": True, "rank": 1, "world_size": 3}):
                records, again = (self.torch.IterableRecords(view, **options) for _ in range(2))
                expected = list(records)
                for count in (0, 1, 300, len(expected)):
                    iterator = iter(records)
                    first = [next(iterator) for _ in range(count)]
                    again.load_state_dict(records.state_dict())
                    self.assertEqual(again.state_dict(), records.state_dict())
                    self.assertEqual(first + list(again), expected)
                    self.assertEqual(list(again), expected)

    def test_state_of_other_workers_is_refused(self):
        records = self.records_of()
        next(iter(records))
        for other in (self.records_of(rank=1, world_size=2), self.torch.IterableRecords(recordfs.open(*self.paths))):
            other.load_state_dict(records.state_dict())
            with self.assertRaisesRegex(ValueError, "this state is of another iteration: "):
                iter(other)

    def test_lost_records_are_not_silently_left_out(self):
        os.remove(self.paths[1])
        name = self.folder / "train@3"
        for view_of in (lambda ds: ds, lambda ds: ds[:], lambda ds: ds[:len(ds)], lambda ds: ds.shuffled(1), lambda ds: ds[::-1]):
            for options in ({}, {"pad": True}, {"drop_last": True}):
                with self.assertRaisesRegex(recordfs.DamageError, "missing"):
                    self.shared(view_of(recordfs.open(name)), **options)
        with self.assertWarnsRegex(recordfs.DamageWarning, "missing"):
            self.shared(recordfs.open(name, on_damage="report").shuffled(1))
        with self.paths[1].open("wb"), self.paths[2].open("r+b") as file:
            file.truncate(self.paths[2].stat().st_size - 1)
        for options in ({}, {"pad": True}):
            for view_of in (lambda ds: ds, lambda ds: ds.shuffled(2), lambda ds: ds[5:]):
                with self.assertRaises(recordfs.DamageError):
                    self.shared(view_of(recordfs.open(*self.paths[::2])), **options)

    def test_state_of_another_place_is_refused(self):
        ds = recordfs.open(*self.paths)

        def begin(view, state, **options):
            records = self.torch.IterableRecords(view, **options)
            records.load_state_dict(state)
            return list(records)

        def state_of(view, count=3, **options):
            records = self.torch.IterableRecords(view, **options)
            iterator = iter(records)
            for _ in range(count):
                next(iterator)
            return records.state_dict()

        for view, others in ((ds.shuffled(1), (ds.shuffled(2), ds.shuffled(1)[1:], ds[:], ds[:3000], ds.sample(3000))),
                             (ds[5:], (ds[6:], ds[5:2000], ds[5::2])), (ds.sample(9, 1), (ds.sample(9, 2), ds.sample(8, 1)))):
            state = state_of(view)
            self.assertEqual(begin(view, state), list(view)[3:])
            for other in others:
                with self.assertRaisesRegex(ValueError, "this state is of another iteration: "):
                    begin(other, state)
                self.assertEqual(begin(other, state_of(view, 0)), list(other))
        with self.assertRaisesRegex(ValueError, "rows is "):
            begin(ds, state_of(ds, pad=True), drop_last=True)
        for view in (ds, ds.shuffled(1)):
            for wrong in ({"part": 99}, {"record": 10**9}, {"record": -5}, {"part": -1}, {"record": "3"}, {"part": None}):
                with self.assertRaisesRegex(ValueError, "this state is of another iteration: "):
                    begin(view, {**state_of(view), **wrong})
        with self.assertRaisesRegex(ValueError, "files is "):
            begin(recordfs.open(self.paths[:2]), state_of(ds))

    def test_wrong_ranks(self):
        for rank, size in ((2, 2), (-1, 2), (0, 0)):
            with self.assertRaisesRegex(ValueError, f"rank {rank} of {size}"):
                self.records_of(rank=rank, world_size=size)

    def test_batches_of_a_data_loader(self):
        ds = recordfs.open(*self.paths)
        self.assertEqual(ds.__getitems__([5, 2999, -1, 5]), [self.records[i] for i in (5, 2999, -1, 5)])
        self.assertEqual(ds[10:20].__getitems__(range(3)), self.records[10:13])
        with self.assertRaises(IndexError):
            ds.__getitems__([3000])

    def test_transform(self):
        self.assertEqual(list(self.records_of(transform=int)), list(range(3000)))


if __name__ == "__main__":
    cases.main()
