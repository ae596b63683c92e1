"""Splits: parts of a data set for other processes."""
from __future__ import annotations

import itertools
import operator
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._arguments import LARGEST, whole_number
from ._errors import DamageError, DamageWarning
from ._opened import Opened
from ._ranges import Split

if TYPE_CHECKING:
    from ._dataset import Record


class Splittable:
    """The part of Dataset that makes and reads splits."""

    _opened: Opened
    _is_view: bool
    _on_damage: str

    def _stream(self, **options: Any) -> Any:
        raise NotImplementedError

    @overload
    def splits(self, size: int = ...) -> list[Split]: ...
    @overload
    def splits(self, *, count: int) -> list[str]: ...

    def splits(self, size=None, *, count=None):
        """Returns parts for other processes, which have each record once together. See `read_split`.

        Parameters
        ----------
        size : int
            Bytes of each split, about; 64 MiB by default. A split is in one shard.
        count : int
            Instead of `size`: the number of splits. They have the same number of bytes, and may span shards. Some may have
            no record. Only the names and sizes of the files are read.

        Returns
        -------
        list of Split, or with `count` list of str
            A text is ``I/N@CHECK``, as ``recordfs splits --count`` prints it. It can be read only while the names and sizes
            of the files are the same; ``I/N`` is not checked.

        Raises
        ------
        DamageError
            With ``on_damage="raise"``: a shard is missing.
        ValueError
            This is a view: splits are of files, and would have other records too.

        Examples
        --------
        >>> ds = recordfs.open(sample)
        >>> [text.partition("@")[0] for text in ds.splits(count=3)]
        ['0/3', '1/3', '2/3']
        >>> [len(record) for text in ds.splits(count=3) for record in ds.read_split(text)]
        [6, 0, 300, 6]
        """
        self._check_whole()
        if size is not None and count is not None:
            raise ValueError("only one of size and count can be given")
        count = None if count is None else operator.index(count)
        size = None if size is None else min(operator.index(size), LARGEST)
        if count is not None and not 1 <= count < 1 << 64:
            raise ValueError(f"not a positive number: {count}")
        size = 64 << 20 if size is None else size
        if size < 1:
            raise ValueError("a split has at least one byte")
        self._check_missing()
        native = self._opened.native
        if count is not None:
            check = native.check()
            return [f"{number}/{count}@{check:016x}" for number in range(count)]
        return [Split(shard, begin, end) for shard, (_, is_missing, _) in enumerate(self._opened.shards)
                if not is_missing for begin, end in native.splits(shard, size)]

    def read_split(self, split: Sequence[int] | str) -> Iterator[Record]:
        """Iterates over the records of a split of this data set.

        Parameters
        ----------
        split : Split or str
            Of `splits`, or a text that ``recordfs cat --split`` reads: ``I/N`` with or without ``@CHECK``, or
            ``[SHARD:]BEGIN:END``.

        Raises
        ------
        OSError
            With ``@CHECK``: the names or sizes of the files have changed since the split was made (ESTALE).
        ValueError
            This is a view.
        """
        self._check_whole()
        if not isinstance(split, str):
            numbers = [whole_number(name, number, most=(1 << 64) - 1) for name, number in zip(Split._fields, Split(*split))]
            return itertools.chain.from_iterable(self._stream(split=numbers))
        if ":" not in split and "\t" not in split:  # it is of the whole data set
            self._check_missing()
        ranges = self._opened.native.split_ranges(os.fsencode(split))
        return itertools.chain.from_iterable(
            itertools.chain.from_iterable(self._stream(split=one)) for one in ranges)

    def _check_whole(self) -> None:
        self._opened.check_records()
        if self._is_view:
            raise ValueError("splits are of a whole data set, and this is a view (try: slices of the view)")

    def _check_missing(self) -> None:
        """Raises or warns, as `on_damage` wants it, if a shard is missing: no split has its records."""
        for number, (_, is_missing, _) in enumerate(self._opened.shards):
            if not is_missing or self._on_damage == "skip":
                continue
            try:
                self._opened.native.open_shard(number)
            except DamageError as missing:
                if self._on_damage == "raise":
                    raise
                warnings.warn(str(missing), DamageWarning, stacklevel=3)
