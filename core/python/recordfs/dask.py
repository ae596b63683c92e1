"""Records for Dask: each split is a task, which any worker can repeat."""
from __future__ import annotations

from typing import Any

import dask
import dask.bag

from . import _dataset, _ranges, open


def _read(dataset: _dataset.Dataset, split: _ranges.Split) -> list[Any]:
    return list(dataset.read_split(split))


def to_delayed(*paths: Any, split_size: int = 64 << 20, **options: Any) -> list[Any]:
    """Returns a `dask.delayed` list of records for each split of the shards. `options` are those of `recordfs.open`."""
    # A task has its own shard alone, however many there are.
    shards = open(*paths, **options).shards
    return [dask.delayed(_read)(shard, split) for shard in shards for split in shard.splits(split_size)]


def bag(*paths: Any, split_size: int = 64 << 20, **options: Any) -> Any:
    """Returns a `dask.bag.Bag` of the records, with a partition for each split.

    Each record comes once, on any number of workers, also if a task is repeated.
    """
    return dask.bag.from_delayed(to_delayed(*paths, split_size=split_size, **options))
