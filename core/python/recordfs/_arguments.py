"""Checks of arguments, with messages that name them."""
from __future__ import annotations

import operator
from typing import Any

LARGEST = (1 << 63) - 1


def whole_number(name: str, value: Any, least: int = 0, most: int = LARGEST) -> int:
    """Returns a whole number. Raises TypeError if it is none, and ValueError if it is out of range."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: not a whole number: {value!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: from {least} to {most}, not {number}")
    return number


def text(name: str, value: Any) -> str:
    """Returns a str. Raises TypeError if it is none."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: not a str: {value!r}")
    return value
