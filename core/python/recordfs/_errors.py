"""The exceptions of recordfs, and which error of the core is which."""
from __future__ import annotations

import errno
import os
import warnings


def shown(path: str) -> str:
    """Returns a path that can be printed: bytes that are not UTF-8, which Python keeps as surrogates, are escaped."""
    return path.encode("utf-8", "backslashreplace").decode()


class Error(Exception):
    """A record, a region or a file that cannot be read.

    Attributes
    ----------
    path : str
        The file; empty if no file is to blame.
    offset : int
        The byte of the file where the damaged or unreadable part begins.
    reason : str
        What is wrong, in one line.
    """

    def __init__(self, path: str, offset: int, reason: str) -> None:
        super().__init__(path, offset, reason)
        self.path = path
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        has_position = self.path and (self.offset > 0 or not isinstance(self, UnsupportedError))
        where = f"{shown(self.path)}: " if self.path else ""
        return f"{where}byte {self.offset}: {self.reason}" if has_position else where + self.reason


class DamageError(Error):
    """The bytes contradict themselves or a checksum, a disk cannot read them, the file ends too early, or a shard is missing."""


class UnsupportedError(Error):
    """The file is intact as far as is known, but this build cannot read it: a missing codec, an unknown format."""


class LimitError(Error):
    """Something is larger than the limits allow (see `max_chunk` of `recordfs.open`)."""


class DamageWarning(UserWarning):
    """Something was skipped, because of ``on_damage="report"``."""


_CLASSES = {
    "damage": DamageError,
    "unfinished": DamageError,
    "stale": DamageError,
    "unreadable": DamageError,
    "unsupported": UnsupportedError,
    "no container": UnsupportedError,
    "limit": LimitError,
}


def exception_of(code: str, path: str, offset: int, reason: str, os_error: int) -> Exception:
    """Returns the exception for an error of the core."""
    if code in _CLASSES:
        return _CLASSES[code](path, offset, reason)
    if code == "not found":
        return IndexError(reason)
    if code == "changed":
        return OSError(errno.ESTALE, reason, path or None)
    if code == "out of memory":
        return MemoryError(reason)
    if code == "input/output" and os_error:
        usual = os.strerror(os_error)
        # A server's reason says more than the number.
        return OSError(os_error, usual if reason.endswith(usual) else reason, path or None)
    return OSError(errno.EIO, reason, path)


def kind_of(exception: Exception) -> str:
    """Returns the `Damage.kind` of a shard that cannot be read."""
    if isinstance(exception, LimitError):
        return "limit"
    return "unsupported" if isinstance(exception, UnsupportedError) else "damage"


def warn_of(exception: Exception) -> None:
    """Warns that something was skipped."""
    warnings.warn(str(exception), DamageWarning, stacklevel=2)
