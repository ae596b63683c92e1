"""Keys: the newest values of a database's keys."""
from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any

from . import _recordfs
from ._errors import DamageError, DamageWarning, shown


class Keys(Mapping):
    """A Mapping of the keys of a database to their newest values, both bytes.

    Keys are in the order of the database's comparator. ``keys[b"a":b"b"]`` and ``keys.prefix(b"user/")`` are lazy views
    of some of them. ``len`` iterates over all keys. A value that needs the database's own merge operator raises
    UnsupportedError.

    Damage that may have cost a key raises DamageError instead of KeyError. If keys or newer values may be lost, an
    iteration raises DamageError at its end, and a lookup of a value that may be an older one raises it at once; with
    ``on_damage="report"`` both warn, and with ``"skip"`` only `problems` tells, which always lists all that was found.
    """

    def __init__(self, opened: Any, on_damage: str = "raise", family: str | None = None, at: int = _recordfs.NEWEST,
                 first: bytes = b"", end: bytes | None = None, prefix: bytes = b"") -> None:
        self._opened = opened
        self._on_damage = on_damage
        self._family = family
        self._at = at
        self._range = (first, end, prefix)
        self._database: tuple[int, _recordfs.Keys, int] | None = None

    def _native(self) -> tuple[_recordfs.Keys, int]:
        """Returns the database, and the number of the column family. A forked child opens it again."""
        native = self._opened.checked()
        if self._database is None or self._database[0] != os.getpid():
            of = self._opened.database
            database = _recordfs.Keys(native, os.fsencode(of.directory), os.fsencode(of.wal_dir),
                                      [os.fsencode(path) for path in of.db_paths])
            numbers = {name or str(number): number for number, name in database.families()}
            # Tables that were given alone may all be of one other family than the default one.
            family = self._family or (next(iter(numbers)) if len(numbers) == 1 else "default")
            by_number = {str(number): number for number in numbers.values()}
            if family not in numbers and family not in by_number:
                raise KeyError(f"no column family {family}")
            self._database = (os.getpid(), database, numbers.get(family, by_number.get(family)))
        return self._database[1], self._database[2]

    def __getstate__(self):
        return {**self.__dict__, "_database": None}

    def _has(self, key: bytes) -> bool:
        """Returns whether a view has the key, if the order is that of bytes."""
        first, end, prefix = self._range
        _check_key(key)
        return key >= first and (end is None or key < end) and key.startswith(prefix)

    def __getitem__(self, key):
        if isinstance(key, slice):
            if key.step is not None:
                raise ValueError("a range of keys has no step")
            for bound in (key.start, key.stop):
                _check_key(bound or b"")
            return self._view(max(self._range[0], key.start or b""),
                              key.stop if self._range[1] is None else min(self._range[1], key.stop or self._range[1]),
                              self._range[2])
        database, family = self._native()
        found = database.get(family, key, self._snapshot()) if self._has(key) else None
        if found is None:
            raise KeyError(key)
        value, may_be_stale = found
        if may_be_stale:
            self._report(DamageError(self._path(), 0, f"key {key!r} may have a newer value, or may be deleted, in what is damaged"))
        return value

    def __contains__(self, key: Any) -> bool:
        """Returns whether the key has a value, also one that recordfs cannot compute from its merge operands."""
        database, family = self._native()
        return self._has(key) and database.has_value(family, key, self._snapshot())

    def __iter__(self) -> Iterator[bytes]:
        return self._iterate(False)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _iterate(self, has_values: bool) -> Iterator[Any]:
        database, family = self._native()
        first, end, prefix = self._range
        entries = database.iterate(family, first, end, prefix, self._snapshot(), has_values)
        return itertools.chain(itertools.chain.from_iterable(entries), self._end(database))

    def _end(self, database: _recordfs.Keys) -> Iterator[Any]:
        """Yields nothing. Raises or warns if keys or newer values may be lost."""
        for error in database.loss_errors(self._opened.database.directory or os.path.dirname(self._path())):
            self._report(error)
        yield from ()

    def _report(self, error: Exception) -> None:
        if self._on_damage == "raise":
            raise error
        if self._on_damage == "report":
            warnings.warn(str(error), DamageWarning, stacklevel=3)

    def _path(self) -> str:
        return self._opened.database.directory or self._opened.shards[0][0]

    def _snapshot(self) -> tuple[int, int]:
        timestamp = self._opened.database.as_of_timestamp
        return self._at, _recordfs.NEWEST if timestamp is None else timestamp

    def items(self) -> ItemsView:
        return _Items(self)

    def values(self) -> ValuesView:
        return _Values(self)

    def _view(self, first: bytes, end: bytes | None, prefix: bytes) -> Keys:
        for key in (first, b"" if end is None else end, prefix):
            _check_key(key)
        return Keys(self._opened, self._on_damage, self._family, self._at, first, end, prefix)

    def prefix(self, prefix: bytes) -> Keys:
        """Returns a view of the keys that begin with `prefix`."""
        return self._view(*self._range[:2], prefix)

    def family(self, name: str) -> Keys:
        """Returns the keys of another column family of RocksDB, by its name or number."""
        return Keys(self._opened, self._on_damage, name, self._at, *self._range)

    def as_of(self, sequence: int) -> Keys:
        """Returns the state at a sequence number, as far as older versions are still stored.

        `as_of_timestamp` of `recordfs.open` chooses it by a user-defined timestamp instead, or also.
        """
        return Keys(self._opened, self._on_damage, self._family, sequence, *self._range)

    @property
    def families(self) -> list[str]:
        """The names of the column families; for one whose name the files do not have, its number."""
        return [name or str(number) for number, name in self._native()[0].families()]

    @property
    def problems(self) -> list[tuple[str, str, bool]]:
        """What was found wrong so far: (file, reason, whether keys or newer values may be lost)."""
        return self._native()[0].problems()

    def __repr__(self) -> str:
        return f"<recordfs.Keys of {shown(self._path())}, family {self._family}>"


def _check_key(key: object) -> None:
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"a key is bytes, not {type(key).__name__}")


class _Items(ItemsView):
    def __iter__(self):
        for key, value in self._mapping._iterate(True):
            if isinstance(value, Exception):
                raise value
            yield key, value


class _Values(ValuesView):
    def __iter__(self):
        return (value for _, value in self._mapping.items())
