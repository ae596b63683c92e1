"""Records for PyTorch. A `Dataset` already is a map-style data set; `IterableRecords` reads in order, which is faster."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import torch.distributed
import torch.utils.data

from . import _dataset, _errors, _rows


class IterableRecords(torch.utils.data.IterableDataset):
    """An iterable data set over a `Dataset` or a view of it, shared among the workers of all ranks.

    Each record comes once among all of them, unless `pad` repeats some. Each iterator starts anew: for another order in
    each epoch, make one of ``dataset.shuffled(epoch)``. `state_dict` and `load_state_dict` resume an iteration.

    Parameters
    ----------
    dataset : Dataset
        A view, such as a slice or ``dataset.shuffled(seed)``, is read in its order: each worker has a part of consecutive
        rows. Of a whole data set, each worker has every n-th split, so that nothing must be counted.
    split_size : int
        Bytes of a split. There should be several for each worker.
    transform : callable
        Is applied to each record.
    rank, world_size : int
        Default to those of torch.distributed, if it is initialized when this is made, or to a single rank.
    drop_last, pad : bool
        Give each rank the same number of records: leave the last ones out, or repeat the first ones. This counts the
        records. With `pad`, a record that ``on_damage="skip"`` or ``"report"`` leaves out is replaced by one near it;
        `drop_last` needs ``on_damage="raise"``.
    """

    def __init__(self, dataset: _dataset.Dataset, split_size: int = 8 << 20, transform: Callable[[Any], Any] | None = None,
                 rank: int | None = None, world_size: int | None = None, drop_last: bool = False, pad: bool = False) -> None:
        is_distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self._dataset = dataset
        self._split_size = split_size
        self._transform = transform
        self._rank = rank if rank is not None else torch.distributed.get_rank() if is_distributed else 0
        self._ranks = world_size if world_size is not None else torch.distributed.get_world_size() if is_distributed else 1
        self._is_padded = pad
        self._is_equal = pad or drop_last
        self._start: dict[str, Any] | None = None  # where the next iterator begins
        self._newest: _Iterator | None = None
        if not 0 <= self._rank < self._ranks:
            raise ValueError(f"rank {self._rank} of {self._ranks}")
        if drop_last and pad:
            raise ValueError("only one of drop_last and pad can be given")
        if drop_last and dataset._on_damage != "raise":
            raise ValueError('drop_last needs on_damage="raise": which records are left out is not known in advance (try: pad)')

    def __iter__(self) -> Iterator[Any]:
        worker = torch.utils.data.get_worker_info()
        workers, number = (worker.num_workers, worker.id) if worker else (1, 0)
        start, self._start = self._start, None
        self._newest = _Iterator(self, number, workers, start)
        return self._newest

    def state_dict(self) -> dict[str, Any]:
        """Returns the place after the last record that the newest iterator of this worker returned."""
        if self._start is not None or self._newest is None:
            return dict(self._start or {})
        return self._newest.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iterator begin at a place.

        It raises ValueError if the state is of other files, of another view or order, or of another number of workers or
        ranks. A state of the beginning, or of the end of an iteration, fits any view.
        """
        self._start = dict(state)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_newest": None}


class _Iterator:
    """The records of one worker."""

    def __init__(self, of: IterableRecords, worker: int, workers: int, start: dict[str, Any] | None) -> None:
        is_whole = not of._is_equal and not of._dataset._is_view
        self._shared = {"share": of._rank * workers + worker, "shares": of._ranks * workers,
                        "split_size": of._split_size if is_whole else 0,
                        "files": f"{of._dataset._opened.native.check():016x}",
                        "rows": "all" if is_whole else _described(of)}
        self._part, self._record = _place_in(start, self._shared) if start else (0, 0)
        self._transform = of._transform
        self._records = self._of_splits(of) if is_whole else self._of_rows(of, worker, workers)

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        try:
            record = next(self._records)
        except StopIteration:
            self._part, self._record = 0, 0  # a state of the end begins the next epoch
            raise
        return self._transform(record) if self._transform else record

    def state_dict(self) -> dict[str, Any]:
        return {**self._shared, "part": self._part, "record": self._record}

    def _of_splits(self, of: IterableRecords) -> Iterator[Any]:
        mine = of._dataset.splits(of._split_size)[self._shared["share"]::self._shared["shares"]]
        first, skip = self._part, self._record
        if first > 0 and first >= len(mine):
            raise _of_another("part", first, f"less than {len(mine)}")
        for part in range(first, len(mine)):
            left, count = skip if part == first else 0, 0
            for count, record in enumerate(of._dataset.read_split(mine[part]), 1):
                if count <= left:
                    continue
                self._part, self._record = part, count
                yield record
                left = 0
            if part == first and left > count:
                raise _of_another("record", skip, f"at most {count}")

    def _of_rows(self, of: IterableRecords, worker: int, workers: int) -> Iterator[Any]:
        """Yields the rows of this worker: a part of those of the rank, whose number is the same for each if that is wanted."""
        count = len(of._dataset._counted_rows())
        begin, end = count * of._rank // of._ranks, count * (of._rank + 1) // of._ranks
        if of._is_equal:
            size = -(-count // of._ranks) if of._is_padded else count // of._ranks
            begin, end = size * of._rank, size * (of._rank + 1)
        size = end - begin
        begin, end = begin + size * worker // workers, begin + size * (worker + 1) // workers
        done = self._record  # rows
        if self._part != 0 or done > end - begin:
            raise _of_another("record", f"{done} of part {self._part}", f"at most {end - begin} of part 0")
        of._dataset._check_lost()
        while begin + done < end:
            first = (begin + done) % count  # the first rows follow the last one
            stop = min(first + end - begin - done, count)
            view = of._dataset[first:stop]
            for place, record in _filled(view) if of._is_padded else view._numbered():
                self._record = done + place + 1
                yield record
            self._record = done = done + stop - first


def _described(of: IterableRecords) -> str:
    how = ", padded" if of._is_padded else ", without the last" if of._is_equal else ""
    return _rows.described(of._dataset._counted_rows()) + how


def _place_in(state: dict[str, Any], shared: dict[str, Any]) -> tuple[int, int]:
    """Returns (part, record) of a state. Raises ValueError if it is of an iteration that is not like `shared`."""
    place = []
    for name in ("part", "record"):
        number = state.get(name)
        if not isinstance(number, int) or number < 0:
            raise _of_another(name, number, "a number")
        place.append(number)
    for name, value in shared.items():
        is_begin = name in ("rows", "split_size") and place == [0, 0]  # where iterations in another order begin too
        if state.get(name) != value and not is_begin:
            raise _of_another(name, state.get(name), value)
    return place[0], place[1]


def _of_another(name: str, found: Any, expected: Any) -> ValueError:
    return ValueError(f"this state is of another iteration: {name} is {found}, not {expected}")


def _filled(view: _dataset.Dataset) -> Iterator[tuple[int, Any]]:
    """Yields (place, record). A record that is left out is replaced by the next one, or the last one."""
    at, record = 0, None
    for place, record in view._numbered():
        for at in range(at, place + 1):
            yield at, record
        at += 1
    if at < len(view) and record is None:
        raise _errors.DamageError(view.path, 0, "none of these records can be read, so nothing can replace them")
    for at in range(at, len(view)):
        yield at, record
