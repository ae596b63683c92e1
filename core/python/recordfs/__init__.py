"""Reads record containers: Riegeli, TFRecord, ArrayRecord, LevelDB, RocksDB, recordio, proio, Bloscpack, wandb.

`open` returns a `Dataset`, a sequence of records. Records that fail their checksum raise, and are never wrong bytes.
"""
from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from . import _recordfs

_recordfs.check_interpreter()

from ._arguments import text, whole_number
from ._dataset import Dataset, Record
from ._errors import DamageError, DamageWarning, Error, LimitError, UnsupportedError
from ._keys import Keys
from ._opened import DatabasePlace as _DatabasePlace, Opened as _Opened
from ._ranges import Damage, Split
from ._recordfs import __version__

__all__ = ["Damage", "DamageError", "DamageWarning", "Dataset", "Error", "Keys", "LimitError", "Record", "Split",
           "UnsupportedError", "__version__", "open"]

_MOST_THREADS = 1024
_ON_DAMAGE = ("raise", "skip", "report")

for _class in (Damage, DamageError, DamageWarning, Dataset, Error, Keys, LimitError, Split, UnsupportedError):
    _class.__module__ = __name__


def open(path: str | os.PathLike | Iterable[str | os.PathLike] = "", *more: str | os.PathLike, join: bool = True,
         manifest: str | os.PathLike = "", index: str | os.PathLike = "auto", cache_size: int = 64 << 20,
         on_damage: str = "raise", copy: bool = True,
         descriptors: str | os.PathLike = "", type: str = "", max_chunk: int = 0, threads: int = 0,
         as_of_timestamp: int | None = None, wal_dir: str | os.PathLike = "",
         db_path: str | os.PathLike | Sequence[str | os.PathLike] = ()) -> Any:
    """Opens one container, or several as one data set.

    Parameters
    ----------
    path, *more : path
        Files, or what names them: a directory, a pattern such as ``"train-*"``, ``"train@128.tfrecord"`` or
        ``"train-?????-of-00128.tfrecord"``. `path` may be a list of them. With a `manifest`, none.
    join : bool
        False: `path` and `more` are names of files, and a list with a data set for each is returned.
    manifest : path
        A text file with the path of a shard on each line.
    index : path
        Where indexes of large files are saved: a directory, ``"auto"`` or ``"no"``.
    cache_size : int
        Bytes of decoded chunks that are kept for random access.
    on_damage : {"raise", "skip", "report"}
        What an iteration does when it meets something damaged, unsupported or missing: raises; goes on without it; goes
        on after a DamageWarning. Reading a single record always raises.
    copy : bool
        False: records are memoryviews, which keep the memory of their chunk.
    descriptors, type : path, str
        For `Dataset.decode` and `Dataset.json`: protobuf types, written by ``protoc --descriptor_set_out``, and the full
        name of the type of every record. It is optional if the file describes only one.
    max_chunk : int
        The largest chunk that is read, in bytes; 0: 256 MiB stored and 1 GiB decoded.
    threads : int
        That decode, at most 1024; 0: one for each processor.
    as_of_timestamp : int
        For `Dataset.keys`: the state at this user-defined timestamp, as far as older versions are still stored.
    wal_dir : path
        For `Dataset.keys` of a database's directory: the directory of its write-ahead logs (RocksDB's wal_dir). By
        default, the one that the database's files name.
    db_path : path, or list of paths
        For `Dataset.keys` of a database's directory: further directories with its tables and blob files (RocksDB's
        db_paths).

    Returns
    -------
    Dataset
        Opening a set of shards reads none of them; a single file is opened now.

    Raises
    ------
    OSError
        There is no such file, or it cannot be read.
    UnsupportedError
        No format recognizes the file.
    ValueError
        `wal_dir` or `db_path` is given without the directory of a database, or such a directory with other paths.

    Examples
    --------
    >>> import recordfs
    >>> [len(record) for record in recordfs.open(sample)]
    [6, 0, 300, 6]
    """
    if on_damage not in _ON_DAMAGE:
        raise ValueError(f"on_damage: not one of {', '.join(_ON_DAMAGE)}: {on_damage}")
    paths = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
    words = [os.fsencode(one) for one in (*paths, *more)]
    if words == [b""]:
        words = []
    if b"" in words:
        raise ValueError("a path is empty")
    if bool(words) == bool(os.fspath(manifest)):
        raise ValueError("either paths or a manifest must be given")
    shards, surplus = _recordfs.named_shards(words, join, os.fsencode(manifest))
    shards = [_located(*shard) for shard in shards]
    descriptors = _absolute(descriptors)
    options = {"index": os.fsencode(index), "cache_size": whole_number("cache_size", cache_size),
               "threads": whole_number("threads", threads, most=_MOST_THREADS), "max_chunk": whole_number("max_chunk", max_chunk),
               "descriptors": os.fsencode(descriptors), "type": text("type", type), "skips_unreadable": on_damage != "raise"}
    if as_of_timestamp is not None:
        as_of_timestamp = whole_number("as_of_timestamp", as_of_timestamp, most=(1 << 64) - 1)
    is_one = join and len(words) == 1 and _recordfs.is_database(words[0])
    place = _DatabasePlace(_absolute(words[0]) if is_one else "", _absolute(wal_dir),
                           tuple(map(_absolute, _paths_of(db_path))), as_of_timestamp)
    if join and not is_one and any(os.path.isdir(word) and _recordfs.is_database(word) for word in words):
        raise ValueError("a database is opened alone: its files have older values and deleted keys too")
    if not is_one and (place.wal_dir or place.db_paths):
        raise ValueError("wal_dir and db_path: no directory of a database was given")
    if not join:
        return [_dataset([shard], options, place, on_damage, copy) for shard in shards]
    for name in surplus:
        warnings.warn(f"{name}: this shard is surplus, and left out", DamageWarning, stacklevel=2)
    return _dataset(shards, options, place, on_damage, copy)


def _absolute(path: str | bytes | os.PathLike) -> str:
    """Returns a path that means the same in any current directory; a URL does."""
    name = os.fsdecode(path)
    return os.path.abspath(name) if name and _recordfs.is_local(os.fsencode(name)) else name


def _located(name: str, is_missing: bool, bytes_in_set: int) -> tuple[str, bool, int]:
    """Returns a shard with an absolute path, whose end remains the path that names the run of its scalars."""
    if not _recordfs.is_local(os.fsencode(name)):
        return name, is_missing, bytes_in_set
    path = os.path.abspath(name)  # the current directory may change
    in_set = os.fsencode(name)[-bytes_in_set:]
    if not os.fsencode(path).endswith(in_set):
        path = os.path.join(os.getcwd(), name)
    return path, is_missing, len(in_set)


def _paths_of(paths: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str | os.PathLike]:
    return ([paths] if paths else []) if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)


def _dataset(shards: list[tuple[str, bool, int]], options: dict[str, Any], place: _DatabasePlace, on_damage: str,
             copy: bool) -> Dataset:
    opened = _Opened.of(shards, options, place)
    if len(shards) == 1:
        opened.native.open_shard(0)
    return Dataset(opened, on_damage=on_damage, copy=copy)
