"""Records for PyTorch. A `Dataset` already is a map-style data set; `IterableRecords` reads in order, which is faster."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import torch.distributed
import torch.utils.data

from . import _dataset


class IterableRecords(torch.utils.data.IterableDataset):
    """An iterable data set over the splits of a `Dataset`, shared among the workers of all ranks.

    Each record comes once among all of them. `state_dict` and `load_state_dict` resume a worker after the last record it
    returned.

    Parameters
    ----------
    dataset : Dataset
        Its views have no effect: all records are read.
    split_size : int
        Bytes of a split. There should be several for each worker.
    transform : callable
        Is applied to each record.
    rank, world_size : int
        Default to those of torch.distributed, or to a single rank.
    """

    def __init__(self, dataset: _dataset.Dataset, split_size: int = 8 << 20, transform: Callable[[Any], Any] | None = None,
                 rank: int | None = None, world_size: int | None = None) -> None:
        is_distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self._dataset = dataset
        self._split_size = split_size
        self._transform = transform
        self._rank = rank if rank is not None else torch.distributed.get_rank() if is_distributed else 0
        self._ranks = world_size if world_size is not None else torch.distributed.get_world_size() if is_distributed else 1
        self._place = (0, 0)  # number of the split among those of this worker, and of the next record in it

    def __iter__(self) -> Iterator[Any]:
        worker = torch.utils.data.get_worker_info()
        workers, number = (worker.num_workers, worker.id) if worker else (1, 0)
        mine = self._dataset.splits(self._split_size)[self._rank * workers + number::self._ranks * workers]
        first, skip = self._place
        for at in range(first, len(mine)):
            for count, record in enumerate(self._dataset.read_split(mine[at])):
                if at == first and count < skip:
                    continue
                self._place = (at, count + 1)
                yield self._transform(record) if self._transform else record
        self._place = (0, 0)

    def state_dict(self) -> dict[str, int]:
        """Returns the place after the last record that this worker returned."""
        return {"split": self._place[0], "record": self._place[1]}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Makes the next iteration begin at a place, with as many workers and ranks as before."""
        self._place = (state["split"], state["record"])
