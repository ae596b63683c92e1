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
            families = database.families()
            # Tables that were given alone may all be of one other family than the default one.
            family = self._family or (str(families[0][0]) if len(families) == 1 else "default")
            found = [number for number, name in families if name == family]
            found += [number for number, _ in families if str(number) == family]
            if not found:  # KeyError would mean that a key has no value
                raise ValueError(f"no column family {family}")
            self._database = (os.getpid(), database, found[0])
        return self._database[1], self._database[2]

    def __getstate__(self):
        return {**self.__dict__, "_database": None}

    def _is_before(self, a: bytes, b: bytes) -> bool:
        """Returns whether `a` is before `b` in the order of the database's comparator."""
        database, family = self._native()
        return database.is_before(family, a, b)

    def _has(self, key: bytes) -> bool:
        """Returns whether a view may have the key."""
        first, end, prefix = self._range
        _check_key(key)
        return (key.startswith(prefix) and not (first and self._is_before(key, first))
                and (end is None or self._is_before(key, end)))

    def __getitem__(self, key):
        if isinstance(key, slice):
            if key.step is not None:
                raise ValueError("a range of keys has no step")
            for bound in (key.start, key.stop):
                _check_key(b"" if bound is None else bound)
            first, end, prefix = self._range
            # An empty `first` is no bound.
            if key.start and not (first and self._is_before(key.start, first)):
                first = key.start
            if key.stop is not None and (end is None or self._is_before(key.stop, end)):
                end = key.stop
            return self._view(first, end, prefix)
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
        _check_key(prefix)
        first, end, of_view = self._range
        if prefix.startswith(of_view):
            return self._view(first, end, prefix)
        if of_view.startswith(prefix):
            return self._view(first, end, of_view)
        return self._view(b"\0", b"\0", of_view)  # no key

    def family(self, name: str) -> Keys:
        """Returns the keys of another column family of RocksDB, by its name, or by its number if none has that name.

        Their use raises ValueError if there is no such family.
        """
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
