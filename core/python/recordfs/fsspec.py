"""Records as files of fsspec: ``recordfs://42::file.tfrecord`` is record 42 of a local container or data set."""
from __future__ import annotations

import io
from typing import Any

from fsspec.archive import AbstractArchiveFileSystem

from . import open as open_dataset


class RecordFileSystem(AbstractArchiveFileSystem):
    """A read-only file system with a file for each record, named by its ordinal.

    Parameters
    ----------
    fo : str
        What names the data set, as for `recordfs.open`. It must be local.
    options : dict
        Other arguments of `recordfs.open`.
    """

    root_marker = ""
    protocol = "recordfs"
    cachable = False

    def __init__(self, fo: str = "", mode: str = "rb", target_protocol: str | None = None,
                 target_options: dict | None = None, options: dict | None = None, **kwargs: Any) -> None:
        super().__init__(self, **kwargs)
        if mode != "rb" or target_protocol not in (None, "file", "local"):
            raise ValueError("recordfs reads local files only")
        self._dataset = open_dataset(fo, **(options or {}))

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path).lstrip("/")

    def _record(self, path: str) -> bytes:
        name = self._strip_protocol(path)
        try:
            if name.isdecimal():
                return self._dataset[int(name)]
        except IndexError:
            pass
        raise FileNotFoundError(path)

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        if not name:
            return {"name": "", "size": 0, "type": "directory"}
        return {"name": name, "size": len(self._record(name)), "type": "file"}

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """Lists the records. Their sizes would need all of them, and are None."""
        if self._strip_protocol(path):
            return [self.info(path)] if detail else [self._strip_protocol(path)]
        names = map(str, range(len(self._dataset)))
        return [{"name": name, "size": None, "type": "file"} for name in names] if detail else list(names)

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> io.BytesIO:
        if mode != "rb":
            raise ValueError("records are read-only")
        return io.BytesIO(self._record(path))
