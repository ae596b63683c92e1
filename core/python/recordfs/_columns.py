"""The columns of records: their names and types, rows of them, and NumPy arrays."""
from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Union

from . import _recordfs
from ._arguments import text
from ._decoded import are_features, flat
from ._errors import DamageError, DamageWarning, LimitError, UnsupportedError
from ._where import checked_columns, joined

_TYPES = {"i": "int32", "I": "uint32", "l": "int64", "L": "uint64", "f": "float32", "g": "float64", "b": "bool", "U": "str",
          "Z": "bytes", "+s": "dict"}


class Column(NamedTuple):
    """A column of records. `type` is that of its values, or of their items if they are lists."""

    name: str
    type: str  # a dtype of NumPy, or "str", "bytes", "dict"
    is_list: bool
    fields: tuple[Column, ...] = ()  # of a dict

    @classmethod
    def of(cls, field: tuple) -> Column:
        name, arrow, children = field
        if arrow != "+L":
            return cls(name, _TYPES[arrow], False, tuple(map(cls.of, children)))
        item = cls.of(children[0])
        return cls(name, "list" if item.is_list else item.type, True, item.fields)


class Columned:
    """What a data set has for columns. Its rows are records in order, or the scalars of a training run."""

    @property
    def columns(self) -> list[Column]:
        """The columns of the records: name, type, whether the values are lists, and the fields of a message.

        They are those of `recordfs export`: the fields of protobuf messages, the features of a tensorflow.Example, the
        members of JSON objects and of what a format reads, and run, step, wall_time, tag and value for the scalars in
        event files of TensorBoard and in runs of wandb and SwanLab. Where no type says which there are, the first 1024
        records of the set do; ``ds.select(scan_columns=True).columns`` are those of all records. Raises UnsupportedError if
        records have no columns.

        Examples
        --------
        >>> recordfs.open(examples).columns  # doctest: +SKIP
        [Column(name='image/encoded', type='bytes', is_list=True, fields=()), ...]
        """
        return [Column.of(field) for field in self._column_reader().field()[2]]

    def select(self, *names: str | Sequence[str], lists: bool = False, scan_columns: bool = False) -> Selection:
        """Returns these columns of the records, in this order; without names, all. Others are not decoded.

        The names may also be a list.

        ``"a.b"`` is the field b of the message or object a, or the column of that name, but not both. It is a list if a
        or b is one: of the values of all elements, with None for an element without one.

        A feature of a tensorflow.Example is a list if one of the first 1024 records of the set needs one, or with `lists`.
        With `scan_columns`, all records decide which columns there are and not only these, so they are read twice. Raises ValueError if there is no such column, or if one is named twice.
        """
        given = [one for name in names for one in ([name] if isinstance(name, str) else name)]
        return Selection(self, [text("name", name) for name in given], (bool(lists), bool(scan_columns)))

    def row(self, index: int, lists: bool = False, scan_columns: bool = False) -> dict[str, Any]:
        """Returns the columns of a record as {name: value}: the row that `select` yields for it.

        Parameters
        ----------
        index : int
            Of the record in this view.
        lists : bool
            Each feature of a tensorflow.Example is a list; otherwise only those of which one of the first 1024 records of
            the set has several values, or none.
        scan_columns : bool
            All records decide which columns there are, and not only the first 1024. The first call reads them.

        Returns
        -------
        dict
            All `columns` in their order. A missing value is None; bytes are bytes, and the name of an enum is its value. A
            Timestamp is the text that JSON has.
            Where records are no rows, the record as `decode` returns it: the records of event files and runs, whose
            columns are those of scalars; those whose columns cannot be described, because values have different types;
            and a tensorflow.SequenceExample as {name: list}, with lists of lists for its feature lists.

        Notes
        -----
        The first call reads the first records of the data set, unless their type says which columns there are.

        Examples
        --------
        >>> recordfs.open(examples).row(0)  # doctest: +SKIP
        {'image/encoded': b'...', 'label': 3}
        """
        ordinal = self._ordinal(index)
        reader, fields = self._row_reader((bool(lists), bool(scan_columns)))
        if reader is None:
            return flat(self.decode(index))
        _, _, _, children = reader.row(ordinal)
        return {field[0]: _python_values(field, values)[0] for field, values in zip(fields, children)}

    def _row_reader(self, how: tuple[bool, bool]) -> tuple[_recordfs.RowReader | None, list[tuple]]:
        """Returns what reads the rows, None if records are no rows; and the types of their columns."""
        native, readers = self._opened.checked(), self._opened.row_readers
        known = readers.get(how)
        if known is None or known[0] is not native:  # a forked process has another one
            try:
                reader = _recordfs.RowReader(native, [], *how)
                fields = reader.field()[2]
                columns = {name: {child[0] for child in children} if form == "+s" else {""} for name, form, children in fields}
                has_rows = reader.has_rows() and not are_features(columns)
            except UnsupportedError:
                has_rows = False
            known = readers[how] = (native, reader, fields) if has_rows else (native, None, [])
        return known[1:]

    def to_numpy(self, columns: Sequence[str] | None = None, lists: bool = False, scan_columns: bool = False) -> dict[str, Any]:
        """Returns {name: array} of these columns, or of all; each array has a row for each record of this view.

        Parameters
        ----------
        columns : sequence of str
            Names as for `select`.
        lists : bool
            Each feature of a tensorflow.Example is a list.
        scan_columns : bool
            All records decide which columns there are, as for `select`.

        Returns
        -------
        dict of numpy.ndarray
            Arrays of shape (rows,) with these dtypes:

            - bool, int32, uint32, int64, uint64, float32 and float64 for columns of these types, if no value is missing;
            - object otherwise: str, bytes or dict, and None for a missing value.

            A column of lists is an array of shape (rows, n) if no list is missing and all have n items, also for n = 1,
            and otherwise an object array of arrays, and None for a missing list. Lists in lists add dimensions in the same way.

        Notes
        -----
        All rows are in memory at once. A record that cannot be read or decoded raises; with ``on_damage="skip"`` or
        ``"report"`` it has no row.

        Examples
        --------
        >>> recordfs.open("logdir").where("tag = 'loss'").to_numpy(["step", "value"])  # doctest: +SKIP
        """
        if isinstance(columns, str):
            raise TypeError("columns: a list of names, not a text")
        return self.select(*columns or (), lists=lists, scan_columns=scan_columns).to_numpy()

    def column_statistics(self, columns: Sequence[str] | None = None, where: str | None = None) -> list[dict[str, Any]]:
        """Returns statistics of the columns of this view. Reads all its records, on all cores.

        Parameters
        ----------
        columns : sequence of str
            Only these, in this order. A column inside a message or an object is named by its path, as ``"a.b"``.
        where : str
            Only of records that meet a condition, as for `Dataset.where`.

        Returns
        -------
        list of dict
            What ``recordfs info --columns --json`` has as ``columns``: name, type, list, records, missing, values, minimum,
            maximum, distinct and counts, as far as they apply. Bytes that are no text have the names that end in
            ``_base64``.

        Raises
        ------
        ValueError
            No record has such a column, or as `Dataset.where` for the condition.
        UnsupportedError
            Records cannot be decoded. They are left out if `on_damage` is "skip", and with a warning if it is "report".

        Examples
        --------
        >>> recordfs.open(examples).column_statistics(["label"])[0]["counts"]  # doctest: +SKIP
        [{'value': 3, 'count': 812}, {'value': 1, 'count': 790}]
        """
        if isinstance(columns, str):
            raise TypeError("columns: a list of names, not a text")
        self._opened.check_records()
        self._check_streamed()
        condition = self._condition if where is None else joined(self._condition, text("where", where))
        counted = _recordfs.CountedColumns(self._opened.checked(), *self._ends(), self._on_damage, condition)
        found = json.loads(checked_columns(counted, self.path, self._on_damage, condition is not None))["columns"]
        by_name = {one["name"]: one for one in found}
        for name in columns or ():
            if name not in by_name:
                raise ValueError(f"no column {name} (the columns are {_recordfs.nearest_names(name, list(by_name))})")
        return found if columns is None else [by_name[name] for name in columns]

    def _column_reader(self, names: Sequence[str] = (), how: tuple[bool, bool] = (False, False)) -> _ColumnReader:
        """Returns what reads the rows of this view. `how`: whether features are lists, and whether all records decide."""
        self._opened.check_records()
        if not self._is_streamed():
            return PickedRows(self, list(names), how)
        return _recordfs.ColumnReader(self._opened.checked(), *self._ends(), self._on_damage, self._condition, list(names), *how)


class PickedRows:
    """Reads the rows of a view that is not a range of consecutive records, one after another."""

    def __init__(self, dataset: Columned, names: list[str], how: tuple[bool, bool]) -> None:
        self._rows = _recordfs.RowReader(dataset._opened.checked(), names, *how)
        if not self._rows.has_rows():
            raise ValueError("the rows of scalars are read in order (try: a range of records, or `where` alone)")
        dataset._check_lost()
        self._ordinals = iter(dataset._counted_rows())
        self._on_damage = dataset._on_damage

    def field(self) -> tuple[str, str, list[Any]]:
        return self._rows.field()

    def next(self) -> tuple[int, int, list[memoryview | None], list[Any]] | None:
        for ordinal in self._ordinals:
            try:
                return self._rows.row(ordinal)
            except (DamageError, UnsupportedError, LimitError) as failed:
                if self._on_damage == "raise":
                    raise
                if self._on_damage == "report":
                    warnings.warn(str(failed), DamageWarning, stacklevel=4)
        return None


_ColumnReader = Union[_recordfs.ColumnReader, PickedRows]


class Selection:
    """Some columns of a data set. Iterating over it yields a dict for each row."""

    def __init__(self, dataset: Columned, names: list[str], how: tuple[bool, bool]) -> None:
        self._dataset = dataset
        self._names = names
        self._how = how
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        try:  # others may be such that they cannot be described
            reader = dataset._column_reader(names, how)
        except UnsupportedError:
            if not names:
                raise
            reader = dataset._column_reader(how=how)  # to say which there are
            _check_names(names, [Column.of(field) for field in reader.field()[2]])
            raise
        self.columns = [Column.of(field) for field in reader.field()[2]]
        # Finding the columns may have taken long. A forked process has another data set.
        self._unused: tuple[_recordfs.Set, _ColumnReader] | None = (dataset._opened.checked(), reader)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = [column.name for column in self.columns]
        for values in self._batches(_python_values):
            yield from (dict(zip(names, row)) for row in zip(*values))

    def to_numpy(self) -> dict[str, Any]:
        """Returns {name: array}, as `Dataset.to_numpy` does."""
        import numpy

        parts: list[list[Any]] = [[] for _ in self.columns]
        for values in self._batches(_array_of):
            for part, value in zip(parts, values):
                part.append(value)
        return {column.name: _joined(numpy, column, part) for column, part in zip(self.columns, parts)}

    def __getitem__(self, rows: slice) -> list[dict[str, Any]]:
        """Returns some of the first rows, as ``[:10]`` says, which may not count from the end."""
        if not isinstance(rows, slice):
            raise TypeError("a selection has slices of rows, such as [:10]")
        return list(itertools.islice(self, rows.start, rows.stop, rows.step))

    def __repr__(self) -> str:
        return f"<recordfs.Selection {', '.join(column.name for column in self.columns)}>"

    def _batches(self, convert) -> Iterator[list[Any]]:
        """Yields the values of each column, for consecutive rows."""
        unused, self._unused = self._unused, None
        if unused is not None and unused[0] is self._dataset._opened.checked():
            reader = unused[1]
        else:
            reader = self._dataset._column_reader(self._names, self._how)
        fields = reader.field()[2]
        while (rows := reader.next()) is not None:
            length, nulls, buffers, children = rows
            if length:
                missing = _bits(buffers[0], length) if nulls else None
                yield [_without(convert(field, column), missing) for field, column in zip(fields, children)]


def _check_names(names: list[str], columns: Sequence[Column]) -> None:
    """Raises ValueError for a name of which there is no column, and no path to one."""
    for name in names:
        if not _leads(name, columns):
            raise ValueError(f"no column {name} (the columns are {_recordfs.nearest_names(name, [column.name for column in columns])})")


def _leads(path: str, columns: Sequence[Column]) -> bool:
    return any(path == column.name or (path.startswith(column.name + ".") and
                                       _leads(path[len(column.name) + 1:], column.fields)) for column in columns)


def _bits(buffer: memoryview, length: int) -> list[bool]:
    return [bool(buffer[i >> 3] >> (i & 7) & 1) for i in range(length)]


def _without(values: Any, present: list[bool] | None) -> Any:
    """Returns values with None for the rows that could not be decoded."""
    if present is None:
        return values
    if isinstance(values, list):
        return [value if is_present else None for value, is_present in zip(values, present)]
    return _objects([value if is_present else None for value, is_present in zip(values, present)])


def _objects(values: list[Any]) -> Any:
    import numpy

    array = numpy.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def _python_values(field: tuple, column: tuple) -> list[Any]:
    """Returns the values of an Arrow column as Python objects; None if one is missing."""
    _, arrow, field_children = field
    length, nulls, buffers, children = column
    present, *buffers = [b"" if buffer is None else buffer for buffer in buffers]
    if arrow == "+s":
        names = [child[0] for child in field_children]
        parts = [_python_values(child, values) for child, values in zip(field_children, children)]
        values = [dict(zip(names, row)) for row in zip(*parts)] if parts else [{} for _ in range(length)]
    elif arrow == "+L":
        items = _python_values(field_children[0], children[0])
        ends = memoryview(buffers[0]).cast("q")
        values = [items[ends[i]:ends[i + 1]] for i in range(length)]
    elif arrow in "UZ":
        ends = memoryview(buffers[0]).cast("q")
        data = buffers[1]
        values = [bytes(data[ends[i]:ends[i + 1]]) for i in range(length)]
        if arrow == "U":
            values = [value.decode() for value in values]
    elif arrow == "b":
        values = _bits(buffers[0], length)
    else:
        values = memoryview(buffers[0]).cast({"l": "q", "L": "Q", "g": "d"}.get(arrow, arrow)).tolist()
    return _without(values, _bits(present, length) if nulls else None)


def _array_of(field: tuple, column: tuple) -> Any:
    """Returns an Arrow column as an array, of lists as Dataset.to_numpy describes it."""
    import numpy

    _, arrow, field_children = field
    length, nulls, buffers, children = column
    data = b"" if len(buffers) < 2 or buffers[1] is None else buffers[1]
    if arrow == "+L":
        items = _array_of(field_children[0], children[0])
        ends = numpy.frombuffer(data, numpy.int64, length + 1)
        sizes = numpy.diff(ends)
        if length and not nulls and (sizes == sizes[0]).all():
            return items[ends[0]:ends[-1]].reshape(length, sizes[0], *items.shape[1:])
        lists = _objects([items[begin:end] for begin, end in zip(ends[:-1], ends[1:])])
        return _without(lists, _bits(buffers[0], length) if nulls else None)
    if nulls or arrow not in "iIlLfgb":
        return _objects(_python_values(field, column))
    if arrow == "b":
        return numpy.unpackbits(numpy.frombuffer(data, numpy.uint8), count=length, bitorder="little").astype(bool)
    return numpy.frombuffer(data, _TYPES[arrow], length)


def _joined(numpy: Any, column: Column, parts: list[Any]) -> Any:
    """Returns the arrays of consecutive rows as one."""
    if not parts:
        dtype = object if column.type in ("str", "bytes", "dict", "list") else column.type
        return numpy.empty((0, 0) if column.is_list and dtype != object else 0, dtype)
    is_alike = all(part.dtype == parts[0].dtype and part.shape[1:] == parts[0].shape[1:] for part in parts)
    if is_alike:
        return numpy.concatenate(parts)
    return _objects([row for part in parts for row in (part.tolist() if part.ndim == 1 else part)])
