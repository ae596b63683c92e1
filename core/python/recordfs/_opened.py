"""An open data set, in this process, in a forked one, and where it is unpickled."""
from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _recordfs
from ._errors import UnsupportedError


class DatabasePlace(NamedTuple):
    """Where the files of a database are, and what a reader sees of it."""

    directory: str = ""  # "": the data set's files, or no database
    wal_dir: str = ""
    db_paths: tuple[str, ...] = ()
    as_of_timestamp: int | None = None


class _Closed:
    """Is in place of a data set that was closed."""

    MESSAGE = "this data set was closed"

    def __getattr__(self, name: str) -> Any:
        raise ValueError(self.MESSAGE)


class Opened:
    """An open data set, which several views share."""

    def __init__(self, native: _recordfs.Set, shards: list[tuple[str, bool, int]], options: dict[str, Any],
                 database: DatabasePlace) -> None:
        self.native = native
        self.shards = shards  # (path, is_missing, bytes of the path in the directory that was opened; 0: all)
        self.options = options
        self.database = database
        self.is_counted = False
        # By whether features are lists, and whether all records decide which columns there are.
        self.row_readers: dict[tuple[bool, bool], tuple[_recordfs.Set, _recordfs.RowReader | None, list[tuple]]] = {}
        _all_opened.add(self)

    def checked(self) -> _recordfs.Set:
        """Returns `native`. Raises ValueError if it was closed."""
        if isinstance(self.native, _Closed):
            raise ValueError(_Closed.MESSAGE)
        return self.native

    def check_records(self) -> None:
        """Raises UnsupportedError for the directory of a database, whose files have older values and deleted keys too."""
        if self.database.directory:
            raise UnsupportedError(self.database.directory, 0, "a database, which has keys and no records (try: its keys, or its "
                                   "shards for the records of each file)")

    def close(self) -> None:
        self.native = _Closed()
        self.is_counted = False
        self.row_readers.clear()

    @classmethod
    def of(cls, shards: list[tuple[str, bool, int]], options: dict[str, Any],
           database: DatabasePlace = DatabasePlace(), files: Sequence = ()) -> Opened:
        paths = [(os.fsencode(path), *more) for path, *more in shards]
        return cls(_recordfs.Set(paths, files=list(files), **options), shards, options, database)

    def count(self) -> int:
        """Returns the number of records. The first call may scan."""
        self.check_records()
        records = self.native.count()
        self.is_counted = True
        return records

    def __reduce__(self):
        return _unpickled, (self.shards, self.options, self.database, self.native.files())


_all_opened: weakref.WeakSet[Opened] = weakref.WeakSet()


def _reopen_all() -> None:
    """Gives a forked child data sets of its own, because it has no threads of its parent."""
    for opened in list(_all_opened):
        if not isinstance(opened.native, _Closed):
            opened.native = opened.native.reopened()
            opened.is_counted = False


os.register_at_fork(after_in_child=_reopen_all)


def _unpickled(shards: list[tuple[str, bool, int]], options: dict[str, Any], database: DatabasePlace,
               files: list) -> Opened:
    opened = Opened.of(shards, options, database, files)
    for shard, *_ in files[:16]:
        opened.native.open_shard(shard)  # fails now if the file has changed
    return opened
