"""Ranges of bytes of a data set: splits, and damaged regions."""
from __future__ import annotations

from typing import NamedTuple


class Split(NamedTuple):
    """A part of a data set: the chunks of a shard that begin in a range of bytes.

    Splits that cover a data set have each record once.
    """

    shard: int
    begin: int
    end: int


class Damage(NamedTuple):
    """A region of a file that cannot be read: the bytes [begin, end).

    `first_ordinal` is that of the first record after it, in the shard. It and `records_lost` are None if they are unknown.
    `kind` is ``damage``, ``unfinished`` (a tail that is still being written), ``stale`` (the old end of a recycled log),
    ``unsupported`` or ``limit``.
    """

    shard: int
    begin: int
    end: int
    first_ordinal: int | None
    records_lost: int | None
    kind: str
    reason: str
