"""A data set as HTML, for notebooks."""
from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import shown

if TYPE_CHECKING:
    from ._dataset import Dataset

_COLUMNS = 1000  # of the map
_MOST_BORDERS = 200  # between shards


def html_of(dataset: Dataset) -> str:
    """Returns what is known of a data set, and a map of its files once the records have been counted."""
    opened = dataset._opened
    shards = opened.shards
    is_set = len(shards) > 1
    if is_set and not opened.is_counted:
        return table_of(repr(dataset), {"shards": len(shards), "missing": sum(missing for _, missing, _ in shards)})
    info = dataset.info
    if not opened.is_counted:
        return table_of(repr(dataset), info)
    sizes = [shard.get("size", 0) for shard in info["table"]] if is_set else [info["size"]]
    names = [opened.native.name(number) for number in range(len(shards))]
    records = {} if is_set else {"records": opened.count()}
    return table_of(repr(dataset), {**info, **records}) + map_of(sizes, names, dataset.damage)


def table_of(caption: str, known: Mapping[str, Any]) -> str:
    """Returns a table of what is neither a list nor a dict."""
    rows = "".join(f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>"
                   for name, value in known.items() if not isinstance(value, (list, dict)))
    return f"<table><caption>{html.escape(caption)}</caption>{rows}</table>"


def map_of(sizes: Sequence[int], names: Sequence[str], damage: Iterable[Any]) -> str:
    """Returns a strip with all bytes of the shards, one after another, in which damaged regions are red.

    Damage in the same column of the strip becomes one mark, so the size of the result is bounded.
    """
    begins, total = [], 0
    for size in sizes:
        begins.append(total)
        total += size
    scale = _COLUMNS / max(total, 1)
    marks: dict[int, tuple[int, list[str]]] = {}  # by column: the end, and texts
    for one in damage:
        first = min(int((begins[one.shard] + one.begin) * scale), _COLUMNS - 2)
        last = max(int((begins[one.shard] + one.end) * scale), first + 2)
        text = f"{shown(names[one.shard])}: bytes {one.begin} to {one.end}: {one.kind}: {one.reason}"
        end, texts = marks.setdefault(first, (last, []))
        marks[first] = (max(end, last), texts if len(texts) > 2 else [*texts, text])
    red = "".join(f'<rect x="{first}" y="0" width="{end - first}" height="16" fill="#c0392b"><title>'
                  f'{html.escape(chr(10).join(texts))}</title></rect>' for first, (end, texts) in sorted(marks.items()))
    borders = "".join(f'<path d="M{begin * scale:.1f} 0v16" stroke="#fff"/>' for begin in begins[1:_MOST_BORDERS + 1])
    return (f'<svg width="100%" height="16" viewBox="0 0 {_COLUMNS} 16" preserveAspectRatio="none" role="img">'
            f'<title>{total} bytes</title><rect width="{_COLUMNS}" height="16" fill="#7fa7c9"/>'
            f'{borders if len(sizes) <= _MOST_BORDERS else ""}{red}</svg>')
