"""Ranges of bytes of a data set: splits, and damaged regions."""
from __future__ import annotations

from typing import NamedTuple

from ._errors import kind_of
from ._opened import Opened


class Split(NamedTuple):
    """A part of a data set: the chunks of a shard that begin in a range of bytes.

    Splits that cover a data set have each record once.
    """

    shard: int
    begin: int
    end: int


class Damage(NamedTuple):
    """A region of a file that cannot be read: the bytes [begin, end). Of a whole shard, and of several, both are 0.

    `first_ordinal` is that of the first record after it, in the shard. It and `records_lost` are None if they are unknown;
    then `least_lost` is a lower bound. `kind` is ``damage``, ``unfinished`` (a tail that is still being written), ``stale``
    (the old end of a recycled log), ``unsupported``, ``limit``, ``unreadable`` (a record that a disk cannot read), or
    ``missing`` (shards that do not exist).
    """

    shard: int
    begin: int
    end: int
    first_ordinal: int | None
    records_lost: int | None
    kind: str
    reason: str
    least_lost: int = 0


def damage_of(opened: Opened) -> list[Damage]:
    """Returns the damage of all shards, in order."""
    missing = {first: (count, reason) for first, count, reason in opened.native.missing()}
    found = []
    number = 0
    while number < len(opened.shards):
        count, reason = missing.get(number, (0, ""))
        if count > 0 and len(opened.shards) > 1:
            found.append(Damage(number, 0, 0, 0, None, "missing", reason))
            number += count
            continue
        try:
            found += [Damage(number, *row) for row in opened.native.damage(number)]
        except Exception as failed:  # every error of a shard is damage of the set
            if len(opened.shards) == 1 or isinstance(failed, MemoryError):
                raise
            found.append(Damage(number, 0, 0, 0, None, kind_of(failed), str(failed)))
        number += 1
    return found
