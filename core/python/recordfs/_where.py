"""The records that a condition selects."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from . import _recordfs
from ._errors import DamageWarning, Error, UnsupportedError


def joined(one: str | None, other: str) -> str:
    """Returns the condition that both of them are met."""
    if one is None:
        return other
    _recordfs.check_condition(other)  # since `) or (` in it joins with any text
    return f"({one}) and ({other})"


def checked_columns(counted: _recordfs.CountedColumns, path: str, on_damage: str, has_condition: bool) -> str:
    """Returns the statistics of columns as JSON. Raises or warns as `Dataset.column_statistics`."""
    for problem in counted.problems():
        if on_damage == "raise" or not isinstance(problem, Error):
            raise problem
        if on_damage == "report":
            warnings.warn(str(problem), DamageWarning, stacklevel=4)
    if has_condition:
        _check(counted, path, on_damage)
    records, of, chunk, reason = counted.undecoded()
    is_decoded = reason == "the value of this record is no object"
    outcome = f"without columns: {reason}" if is_decoded else f"cannot be decoded, so they have no columns: {reason}"
    _check_all(records, of or path, chunk, outcome, on_damage)
    return counted.columns()


def selected(stream: _recordfs.Stream, path: str, on_damage: str) -> list[int]:
    """Returns the ordinals of the records of a stream with a condition. Raises as `Dataset.where`."""
    ordinals: list[int] = []
    while True:
        try:
            ordinals += stream.next_ordinals()
        except StopIteration:
            break
    _check(stream, path, on_damage)
    return ordinals


def _check(stream: _recordfs.Stream | _recordfs.CountedColumns, path: str, on_damage: str) -> None:
    """Raises or warns if the condition does not fit the records that were read."""
    absent, mismatched, several, (undecoded, of, chunk, reason) = stream.doubts()
    for why in absent:
        raise ValueError(why)
    for name in several:
        raise ValueError(f"{name} names several columns, because names have dots")
    for term in mismatched:
        raise ValueError(f"{term}: no value of this field has the type of what it is compared with")
    _check_all(undecoded, of or path, chunk, f"cannot be decoded, so the condition does not apply: {reason}", on_damage)


def checked_field(stream: _recordfs.Stream, field: str, on_damage: str) -> Iterator[Any]:
    """Yields nothing. Raises or warns as `Dataset.grep` at the end of a search of a field."""
    if why := stream.no_field():
        raise ValueError(why)
    if stream.has_several_fields():
        raise ValueError(f"{field} names several columns, because names have dots")
    records, path, chunk, reason = stream.undecoded()
    _check_all(records, path, chunk, f"cannot be decoded, so they are not searched: {reason}", on_damage)
    yield from ()


def _check_all(left_out: int, path: str, chunk: int, outcome: str, on_damage: str) -> None:
    if not left_out or on_damage == "skip":
        return
    records = "1 record" if left_out == 1 else f"{left_out} records"
    error = UnsupportedError(path, chunk, f"{records} {outcome}")
    if on_damage == "raise":
        raise error
    warnings.warn(str(error), DamageWarning, stacklevel=5)
