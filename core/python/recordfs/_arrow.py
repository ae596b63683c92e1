"""A data set for consumers of Arrow streams."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._dataset import Dataset


class Arrow:
    """Records for pyarrow, polars and DuckDB. See `Dataset.arrow`."""

    def __init__(self, dataset: Dataset, decode: bool, lists: bool, scan_columns: bool) -> None:
        self._dataset = dataset
        self._decode = decode
        self._columns = (lists, scan_columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._dataset._arrow_stream(self._decode, *self._columns)
