"""Records that are read in any order."""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

from ._errors import DamageWarning
from ._opened import Opened
from ._rows import Rows, numbers

_FIRST = 64  # records that are read together, so that the first ones come without delay
_GROWTH = 8
_MOST = 1 << 20  # each pass over a file of small records costs as much as reading it in order
_MOST_BYTES = 64 << 20


def picked(opened: Opened, rows: Rows, on_damage: str, copy: bool) -> Iterator[tuple[int, list[Any]]]:
    """Yields (place, records) of consecutive rows. Reads some ahead, so that records of a chunk are decoded together."""
    at, ahead = 0, _FIRST
    while at < len(rows):
        wanted = numbers(rows[at : at + ahead])
        records, failed, size = opened.native.records(wanted, _MOST_BYTES, copy, on_damage != "raise")
        count, begin = len(records), 0
        for place in [*failed, count]:
            if begin < place:
                yield at + begin, records[begin:place] if failed else records
            if place < count:
                _handle(records[place], on_damage)
            begin = place + 1
        del records
        at += count
        ahead = max(1, min(_GROWTH * ahead, _MOST, _MOST_BYTES * count // max(size, 1)))


def picked_records(opened: Opened, rows: Rows, on_damage: str, copy: bool) -> Iterator[Any]:
    """Iterates over the records of the rows."""
    return itertools.chain.from_iterable(records for _, records in picked(opened, rows, on_damage, copy))


def _handle(failed: Exception, on_damage: str) -> None:
    """Raises or warns, as `on_damage` wants it, of a record that cannot be read."""
    if on_damage == "raise" or isinstance(failed, (OSError, MemoryError)):
        raise failed
    if on_damage == "report":
        warnings.warn(str(failed), DamageWarning, stacklevel=4)
