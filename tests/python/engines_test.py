#!/usr/bin/env python3
"""Dask, fsspec and PyTorch read data sets. Each test is skipped without its library."""
import importlib
import importlib.util
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

    def test_transform(self):
        self.assertEqual(list(self.records_of(transform=int)), list(range(3000)))


if __name__ == "__main__":
    cases.main()
