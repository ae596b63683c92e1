"""Dataset: the records of one container, or of several as one."""
from __future__ import annotations

import itertools
import json
import operator
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union, overload

from . import _recordfs
from ._arguments import LARGEST, text
from ._arrow import Arrow
from ._columns import Columned
from ._decoded import typed
from ._errors import DamageWarning, UnsupportedError, shown
from ._html import html_of
from ._keys import Keys
from ._opened import DatabasePlace, Opened
from ._picked import picked, picked_records
from ._ranges import Damage, damage_of
from ._rows import ENDLESS, Rows, Shuffled, are_consecutive, checked_seed, clipped, narrowed, needs_count, numbers
from ._splits import Splittable
from ._where import checked_field, joined, selected

Record = Union[bytes, memoryview]

_MOST_WARNINGS = 1024  # of one view


class Dataset(Splittable, Columned, Sequence):
    """Records by ordinal, from 0. Made by `recordfs.open`; slices are lazy views of it.

    A data set may be used by several threads at the same time, survives `os.fork`, and can be pickled: it is opened
    again by its path, and that fails if the file has changed.

    Examples
    --------
    >>> import recordfs
    >>> ds = recordfs.open(sample)
    >>> len(ds)
    4
    >>> ds[0]
    b'record'
    >>> [len(record) for record in ds[1:3]]
    [0, 300]
    """

    def __init__(self, opened: Opened, rows: Rows = range(ENDLESS), on_damage: str = "raise", copy: bool = True,
                 span: range = range(ENDLESS), condition: str | None = None) -> None:
        self._opened = opened
        self._rows = rows
        self._span = span  # the ordinals that the rows are chosen from
        self._condition = condition  # that selects the rows among all records of the span, in order; None: there is none
        self._is_checked = False
        self._is_view = not are_consecutive(rows) or span != range(ENDLESS)
        self._is_clipped = not isinstance(rows, range) or rows.stop <= 0
        self._on_damage = on_damage
        self._copy = copy

    def _view(self, rows: Rows, span: range) -> Dataset:
        view = Dataset(self._opened, rows, self._on_damage, self._copy, span)
        view._is_clipped = self._is_clipped or view._is_clipped
        view._is_checked = self._is_checked and span == self._span
        return view

    def _counted_rows(self) -> Rows:
        if not self._is_clipped:
            self._rows = clipped(self._rows, self._opened.count())
            self._is_clipped = True
        return self._rows

    def _check_lost(self) -> None:
        """Raises or warns, as `on_damage` wants it, if the ordinals of this view are not those of all its records.

        Views that are not read in order call it, because no record is in the place of those that were lost.
        """
        if self._is_checked or self._on_damage == "skip":
            return
        does_raise = self._on_damage == "raise"
        for lost in self._opened.checked().lost(self._span.start, self._span.stop, 1 if does_raise else _MOST_WARNINGS):
            if does_raise:
                raise lost
            warnings.warn(str(lost), DamageWarning, stacklevel=3)
        self._is_checked = True

    # --- records

    def __len__(self) -> int:
        """The number of records. The first call scans the headers of all shards, or takes their saved indexes.

        Does not count records that a missing shard or damage in headers has cost, and raises nothing: see `damage`.
        """
        return len(self._counted_rows())

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    @overload
    def __getitem__(self, index: Iterable[int]) -> list[Record]: ...

    def __getitem__(self, index):
        """``ds[i]``: a record. ``ds[a:b]``: a view. ``ds[[5, 3, 9]]``: a list of records, one decode for each chunk."""
        if isinstance(index, slice):
            rows = self._counted_rows() if needs_count(index) or self._is_clipped else self._rows
            return self._view(rows[index], narrowed(self._span, rows, index))
        try:
            ordinal = self._ordinal(operator.index(index))
        except TypeError:
            pass
        else:
            return self._opened.native.record(ordinal, self._copy)
        return list(picked_records(self._opened, [self._ordinal(operator.index(one)) for one in index], "raise", self._copy))

    def __getitems__(self, indexes: Iterable[int]) -> list[Record]:
        """Returns a list of records. PyTorch's DataLoader calls this for each batch.

        Before the first batch, raises or warns like an iteration if this data set or view has lost records.
        """
        self._check_lost()
        return self[list(indexes)]

    def _ordinal(self, index: int) -> int:
        """Returns the ordinal in the whole data set. Raises IndexError."""
        self._opened.check_records()
        rows = self._counted_rows() if index < 0 else self._rows
        try:
            return rows[index]
        except IndexError:
            raise IndexError(f"no record {index}") from None

    def __iter__(self) -> Iterator[Record]:
        """Iterates over the records, which are decoded ahead on all cores.

        A view in another order counts the records first. It raises DamageError, or warns, before the first record if
        damage in headers or a missing shard has cost any of those that it is chosen from.
        """
        rows = self._rows
        if self._is_streamed():
            return itertools.chain.from_iterable(self._stream())
        self._check_lost()
        return picked_records(self._opened, self._counted_rows(), self._on_damage, self._copy)

    def __reversed__(self) -> Iterator[Record]:
        return iter(self[::-1])

    def _stream(self, **options: Any) -> _recordfs.Stream:
        """Returns a stream of the records, which must be consecutive."""
        self._opened.check_records()
        self._check_streamed()
        options = {"on_damage": self._on_damage, "copies": self._copy, "condition": self._condition, **options}
        if "split" not in options:
            options |= dict(zip(("begin", "end"), self._ends()))
        return _recordfs.Stream(self._opened.checked(), **options)

    def _is_streamed(self) -> bool:
        return are_consecutive(self._rows) or self._condition is not None

    def _check_streamed(self) -> None:
        if not self._is_streamed():
            raise ValueError("this view is not a range of consecutive records (try: lists of ordinals, as in view[[0, 1, 2]])")

    def _ends(self) -> tuple[int, int | None]:
        """Returns the first ordinal of consecutive records, and the one after the last; None: the end of the data set."""
        begin, end = self._span.start, self._span.stop
        has_all = end >= ENDLESS or (self._opened.is_counted and end >= self._opened.count())
        return begin, None if has_all and begin < end else max(begin, end)

    def _numbered(self) -> Iterator[tuple[int, Record]]:
        """Yields (place in this view, record)."""
        rows = self._counted_rows()
        if are_consecutive(rows):
            return ((ordinal - rows.start, record)
                    for ordinal, record in itertools.chain.from_iterable(self._stream(is_numbered=True)))
        self._check_lost()
        return ((first + i, record) for first, records in picked(self._opened, rows, self._on_damage, self._copy)
                for i, record in enumerate(records))

    def at(self, offset: int, index: int = 0, shard: int | str = 0) -> Record:
        """Returns the record at this index of the chunk that begins at this byte.

        Unlike an ordinal, that address does not change if other parts of the file are damaged.
        """
        offset, index = operator.index(offset), operator.index(index)
        if not 0 <= offset <= LARGEST or not 0 <= index <= LARGEST:
            raise IndexError(f"no record {index} in a chunk at byte {offset}")
        self._opened.check_records()
        return self._opened.native.record_at(self._shard_number(shard), offset, index, self._copy)

    def batches(self, n: int) -> Iterator[tuple[memoryview, memoryview]]:
        """Yields ``(data, offsets)`` for each `n` records; the last batch may have fewer.

        Returns
        -------
        data : memoryview of uint8, shape (bytes,)
            The records, one after another. ``numpy.frombuffer(data, numpy.uint8)`` needs no copy.
        offsets : memoryview of int64, shape (n + 1,)
            Record i is ``data[offsets[i]:offsets[i + 1]]``.
        """
        n = min(operator.index(n), sys.maxsize)
        if n < 1:
            raise ValueError("a batch has at least one record")
        stream = self._stream()
        while True:
            try:
                yield stream.next_batch(n)
            except StopIteration:
                return

    def grep(self, *patterns: str | bytes, ignore_case: bool = False, fixed: bool = False, invert: bool = False,
             field: str | None = None) -> Iterator[tuple[int, Record]]:
        """Yields ``(ordinal, record)`` of the records that match any of the patterns, found on all cores.

        Parameters
        ----------
        *patterns : str or bytes
            In the syntax of RE2. A record is one text: ``.`` matches any character, ``^`` and ``$`` match at each line.
        ignore_case, fixed, invert : bool
            Ignore case; the patterns are plain text; select the records that do not match.
        field : str
            Search the decoded content of records, as `decode` returns it, and only the values of this field: names joined
            by dots, such as ``"user.name"``, or the name of a feature of a tensorflow.Example. Each value is searched by
            itself. Empty: search the content as a line of JSON. A record without the field does not match.

        Yields
        ------
        ordinal : int
            In this view, from 0.
        record : bytes or memoryview
            The whole record, also with `field`.

        Raises
        ------
        ValueError
            At the end: no record that was searched has the field, also with `invert`.
        UnsupportedError
            At the end: records cannot be decoded, so that they are neither searched for the field nor returned with `invert`.
            With ``on_damage="report"`` a warning instead, and nothing with ``"skip"``.

        Examples
        --------
        >>> [(ordinal, len(record)) for ordinal, record in recordfs.open(sample).grep("^x+$")]
        [(2, 300)]
        """
        if not patterns:
            raise ValueError("no pattern")
        encoded = [one.encode() if isinstance(one, str) else bytes(memoryview(one)) for one in patterns]
        field = None if field is None else text("field", field)
        if self._condition is not None:
            raise ValueError("a view of where() is not searched (try: grep first, or a condition with ~)")
        stream = self._stream(patterns=encoded, ignores_case=ignore_case, is_literal=fixed, is_inverted=invert, field=field)
        first = self._rows.start
        found = ((ordinal - first, record) for ordinal, record in itertools.chain.from_iterable(stream))
        return itertools.chain(found, checked_field(stream, field, self._on_damage)) if field else found

    def where(self, condition: str) -> Dataset:
        """Returns a view of the records whose fields meet a condition. Reads all records of this view once, on all cores.

        The view has a length and can be indexed, sliced, shuffled and sampled. Iterating over it, `batches`, `arrow` and
        consumers of Arrow read it in order, as a whole data set.

        Parameters
        ----------
        condition : str
            As for ``--where`` of the commands, which recordfs(1) describes: comparisons of fields with numbers, ``true``,
            ``false`` and texts in quotes by ``= != < <= > >=``, ``in (...)``, ``~`` (RE2), ``is null``, ``len(field)`` and
            ``count(field)``, with ``and``, ``or``, ``not`` and parentheses. A field is named as for `grep`. A list is
            true for a comparison if any of its values is; an absent field makes a comparison false.

        Returns
        -------
        Dataset
            A view in the order of this one.

        Raises
        ------
        ValueError
            The condition cannot be parsed, no record has one of its fields, or no value of a field has the type of what
            it is compared with.
        UnsupportedError
            Records cannot be decoded, so that the condition does not apply to them. They are left out if `on_damage` is
            "skip", and with a warning if it is "report".

        Examples
        --------
        >>> recordfs.open(examples).where("label in (1, 2) and not split ~ '^val'")  # doctest: +SKIP
        """
        whole = self if self._is_streamed() else Dataset(self._opened, self._span, self._on_damage, self._copy, self._span)
        condition = joined(self._condition, text("condition", condition))
        rows = selected(whole._stream(condition=condition), self.path, self._on_damage)
        if whole is not self:
            known = set(rows)
            rows = [row for row in numbers(self._counted_rows()) if row in known]
        view = self._view(rows, self._span)
        view._condition = condition if whole is self else None
        return view

    def shuffled(self, seed: int = 0) -> Dataset:
        """Returns a view of all records in a random order, the same for a seed and a number of records anywhere.

        Iterating over it raises or warns, as `on_damage` wants it, if damage or a missing shard has cost records.
        """
        return self._view(Shuffled(self._counted_rows(), checked_seed(seed)), self._span)

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """Returns a view of `n` records that are chosen at random, in ascending order, without repetition.

        Of fewer than `n` records, returns all. Lost records are handled as by `shuffled`.
        """
        n = operator.index(n)
        if n < 0:
            raise ValueError(f"not a number of records: {n}")
        rows = self._counted_rows()
        chosen = _recordfs.sample(len(rows), min(n, len(rows)), checked_seed(seed))
        return self._view([rows[place] for place in chosen], self._span)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule protocol: pyarrow, polars and DuckDB read a view of consecutive records.

        Columns: ordinal (in the whole data set), shard, offset and index (int64; the address of `at`), data
        (large_binary). There is no other schema. See also `arrow`.
        """
        return self._arrow_stream(False)

    def arrow(self, decode: bool = True, lists: bool = False, scan_columns: bool = False) -> Arrow:
        """Returns an object with Arrow's PyCapsule protocol. With `decode`, the column ``decoded`` is in place of data.

        It is a struct with a column for each field of the records, which must have a known type:

        - Protobuf messages, by the descriptors in the first shard or those given to `open`. bool, numbers, string
          (large_utf8) and bytes (large_binary) have the type of Arrow; an enum is the name of its value, or the number if
          it has none; a repeated field is a large_list, and a map is a list of structs of key and value. An absent field
          is null, or the default if the type cannot distinguish the two, as in proto3. A message inside one of its own
          type remains bytes. A group is a struct, and an extension is a column with a name such as "[package.name]".
          Unknown fields are left out.
        - tensorflow.Example: large_binary, float32 or int64 for each feature of the first 1024 records of the set (less
          if they have more than 64 MiB; with `scan_columns` of all records), or a large_list of them if one of these records has several values or an empty
          list, or with `lists`. An absent feature is null, also if it is a list. A record with another feature, another type
          of values, or several values of a feature that is no list, cannot be decoded.
        - Records without a type that are JSON objects, or that their format reads (Avro, logs, tables): the members
          with values in these first records. Numbers are int64, uint64 or double, text is large_utf8, bytes are
          large_binary, and objects and lists nest. A column must have values of one type.

        A message without fields and a JSON object that is always {} are bool: true where they are present, otherwise null.

        A record that cannot be decoded ends the stream with an error, or with ``on_damage="skip"`` or ``"report"`` is null.
        Making the stream raises UnsupportedError if the type is unknown.
        """
        return Arrow(self, decode, lists, scan_columns)

    def _arrow_stream(self, decodes: bool, lists: bool = False, scans: bool = False) -> object:
        self._opened.check_records()
        self._check_streamed()
        return _recordfs.arrow_stream(self._opened.checked(), *self._ends(), self._on_damage, decodes, self._condition, lists,
                                      scans)

    # --- decoded records

    def json(self, index: int) -> str:
        """Returns a record as the line of JSON that ``recordfs cat --json`` writes."""
        return self._opened.native.json_line(self._ordinal(index))

    def decode(self, index: int) -> Any:
        """Returns the content of a record: dicts, lists, numbers and str, and every field of bytes as bytes.

        A protobuf message has the names of its fields, by the descriptors in the file or those given to `open`. A
        message of unknown type has a list of its fields by number. Raises UnsupportedError if the record has no such
        form.
        """
        return typed(json.loads(self._opened.native.typed_document(self._ordinal(index))))

    def parts(self, index: int) -> dict[str, memoryview]:
        """Returns the parts of a record, such as proio's entries or the features of an Example. Empty if it has none.

        A name is a path as in ``inside/`` of a mount, with ``%2F`` for a ``/`` inside a name.
        """
        return dict(self._opened.native.parts(self._ordinal(index)))

    @property
    def array(self):
        """The numpy array whose elements are the records, read into memory. Raises UnsupportedError if there is none."""
        from ._array import array_of

        file = self._opened.native.array_file(0) if len(self._opened.shards) == 1 else None
        if file is None:
            raise UnsupportedError(self.path, 0, "this container holds no array")
        return array_of(file)

    @property
    def keys(self) -> Keys:
        """The keys of a LevelDB or RocksDB database, or of its files, with their newest values: a Mapping of bytes."""
        return Keys(self._opened, self._on_damage)

    # --- the data set

    def close(self) -> None:
        """Closes the data set, with all views of it. Iterators that exist keep the files open until they end.

        Without it, a data set is closed when nothing refers to it.
        """
        self._opened.close()

    def __enter__(self) -> Dataset:
        self._opened.checked()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> str:
        """The path of the first shard."""
        return self._opened.shards[0][0]

    @property
    def shards(self) -> Sequence[Dataset]:
        """The shards as data sets, in order. One that is missing or unreadable raises when it is read."""
        return _Shards(self)

    def _shard_number(self, shard: int | str) -> int:
        native = self._opened.native
        number = native.find_shard(os.fsencode(shard)) if isinstance(shard, str) else operator.index(shard)
        if number is None or not 0 <= number < len(self._opened.shards):
            raise IndexError(f"no shard {shard}")
        return number

    @property
    def info(self) -> dict[str, Any]:
        """What is known: of one container from a few headers, of several after counting their records."""
        native = self._opened.native
        if len(self._opened.shards) == 1:
            return json.loads(native.info(0))
        names = ("format", "first_ordinal", "records", "chunks", "size", "damaged_regions")
        table = []
        for number, counts in enumerate(native.shard_counts()):
            known = {"error": str(counts)} if isinstance(counts, Exception) else dict(zip(names, counts))
            table.append({"shard": native.name(number), **known})
        return {"shards": len(table), "missing": sum(missing for _, missing, _ in self._opened.shards),
                **{name: sum(shard.get(name, 0) for shard in table) for name in names[2:]}, "table": table}

    @property
    def metadata(self) -> dict[str, bytes]:
        """The metadata of the container; of several, of the first one. A key that repeats has its last value."""
        return {key: value for key, _, value in self._opened.native.metadata(0)}

    @property
    def damage(self) -> list[Damage]:
        """The damaged regions that a scan of the headers of all shards finds, and the shards that cannot be read.

        Consecutive missing shards are one entry, whose `shard` is the first of them. Records whose header is intact are checked when they are read: the list has those that iterations of this data
        set or its views have skipped, after the other regions of their shard.
        """
        return damage_of(self._opened)

    def __repr__(self) -> str:
        count = len(self._opened.shards)
        shards = f"{count} shards, {shown(self.path)}, ..." if count > 1 else shown(self.path)
        return f"<recordfs.Dataset {shards}{', a view' if self._is_view else ''}>"

    def _repr_html_(self) -> str:
        """What is known, and a map of the files with their damage once the records have been counted.

        Does not scan what `len` has not scanned.
        """
        return html_of(self)


class _Shards(Sequence):
    """The shards of a data set, opened when they are asked for."""

    def __init__(self, of: Dataset) -> None:
        self._of = of

    def __len__(self) -> int:
        return len(self._of._opened.shards)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        whole = self._of._opened
        opened = Opened(whole.native.shard(number), [whole.shards[number]], whole.options, DatabasePlace())
        return Dataset(opened, on_damage=self._of._on_damage, copy=self._of._copy)
