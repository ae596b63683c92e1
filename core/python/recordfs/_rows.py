"""Which records of a data set a view has, in which order."""
from __future__ import annotations

import array
import operator
import zlib
from typing import Sequence, Union

from . import _recordfs

# More than any data set has.
ENDLESS = 1 << 62

Rows = Union[range, "list[int]", "Shuffled"]


class Shuffled(Sequence):
    """The numbers of `base` in a random order, which is computed and not stored."""

    def __init__(self, base: Sequence[int], seed: int, places: "range | None" = None) -> None:
        self._base = base
        self._seed = seed
        self._permutation = _recordfs.Permutation(len(base), seed)
        self._places = range(len(base)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Shuffled(self._base, self._seed, self._places[index])
        return self._base[self._permutation.at(self._places[index])]

    def __reduce__(self):
        return Shuffled, (self._base, self._seed, self._places)

    def described(self) -> str:
        return f"seed {self._seed} of ({described(self._base)}), {described(self._places)}"

    def numbers(self) -> list[int]:
        """Returns all of them, faster than one by one."""
        if self._places.step == 1:
            places = self._permutation.places(self._places.start, self._places.stop)
        else:
            places = [self._permutation.at(place) for place in self._places]
        return places if self._base == range(len(self._base)) else [self._base[place] for place in places]


def numbers(rows: Rows) -> list[int]:
    """Returns the numbers of all rows."""
    return rows.numbers() if isinstance(rows, Shuffled) else list(rows)


def described(rows: Rows) -> str:
    """Returns a text that is the same for the same rows, and different for almost all others."""
    if isinstance(rows, Shuffled):
        return rows.described()
    if isinstance(rows, range):
        return f"{rows.start}:{rows.stop}:{rows.step}"
    return f"{len(rows)} rows, {zlib.crc32(array.array('Q', rows).tobytes()):08x}"


def clipped(rows: Rows, count: int) -> Rows:
    """Returns the rows below `count`. A range that has more was made before the records were counted."""
    if isinstance(rows, range) and rows.step > 0 and rows.stop > count:
        return range(rows.start, max(rows.start, count), rows.step)
    return rows


def are_consecutive(rows: Rows) -> bool:
    return isinstance(rows, range) and rows.step == 1


def narrowed(span: range, rows: Rows, index: slice) -> range:
    """Returns the ordinals that a slice of rows chooses from, if the rows are chosen from `span`.

    A slice that includes the last row includes the end of the span, and damage there. A part of rows that are not
    consecutive is chosen from the whole span, unless it is consecutive itself.
    """
    if not are_consecutive(rows):
        return rows[index] if are_consecutive(rows[index]) else span
    known = rows if needs_count(index) else span
    part = known[index]
    begin, end = (part.start, part.stop) if part.step > 0 else (part.stop + 1, part.start + 1)
    return range(begin, span.stop if end >= known.stop else end)


def needs_count(index: "int | slice") -> bool:
    """Returns whether an index or a slice counts from the end."""
    if isinstance(index, slice):
        given = (index.start, index.stop, index.step)
        return any(number is not None and number < 0 for number in given)
    return index < 0


def checked_seed(seed: int) -> int:
    """Returns a seed that is in range. Raises TypeError or ValueError."""
    seed = operator.index(seed)
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is from 0 to 2**64 - 1, not {seed}")
    return seed
