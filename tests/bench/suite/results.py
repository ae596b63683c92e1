"""Writes the measured parts of RESULTS.md, with results.json and results.svg beside it.

A page has blocks between markers, <!-- begin NAME --> and <!-- end NAME -->. Everything else is written by hand.
"""
import itertools
import json
import re

import chart
from comparing import LIMITS, PEERS, SCALE
from table import quantity

BLOCKS = {LIMITS: ("machine", "summary", "rows"), PEERS: ("peers",), SCALE: ("scale",)}
RESULTS = {True: "met", False: "**MISSED**", None: ""}
_BLOCK = "<!-- begin {0} -->\n{1}\n<!-- end {0} -->"


def as_json(documents):
    return json.dumps(documents, indent=1) + "\n"


class Page:
    """RESULTS.md and the files beside it. Raises ValueError if the page lacks a block."""

    def __init__(self, path):
        self._path = path
        self._record, self._chart = path.with_name("results.json"), path.with_name("results.svg")
        text = path.read_text(encoding="utf-8")
        for names in BLOCKS.values():
            for name in names:
                replaced(text, name, "")

    def write(self, documents):
        """`documents`: {part: document}. Parts that were not measured stay as they are."""
        record = json.loads(self._record.read_text(encoding="utf-8")) if self._record.exists() else {}
        record.update(documents)
        self._record.write_text(as_json(record), encoding="utf-8")
        text = self._path.read_text(encoding="utf-8")
        for part in documents:
            for name in BLOCKS[part]:
                text = replaced(text, name, RENDERERS[name](documents[part]))
        if PEERS in documents:
            self._chart.write_text(chart.drawn(documents[PEERS]), encoding="utf-8")
        self._path.write_text(text, encoding="utf-8")


def replaced(text, name, content):
    """Returns the page with the block's content replaced."""
    pattern = re.compile(f"<!-- begin {name} -->\n.*?<!-- end {name} -->", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the page has no block '{name}', or several")
    return pattern.sub(lambda _: _BLOCK.format(name, content), text)


def markdown(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def limit(line):
    if line["bound"] is None:
        return "none"
    return f"at {'least' if line['faster'] else 'most'} {line['bound']:g}"


def ratio(row):
    return "-" if row["ratio"] is None else f"{row['ratio']:.2f}"


# --- the blocks

def machine(document):
    amounts = document["amounts"]
    parts = "; ".join(f"{name} {value}" for name, value in document["machine"].items())
    data = (f"{amounts['small']:,} log lines of 200 to 1,000 bytes for what is done with a mount's files, "
            f"{amounts['whole']:,} in containers that are read from beginning to end, {amounts['lines']:,} for "
            f"everything else; {amounts['tiny']:,} tiny records; {amounts['large']} records of 200 MB. "
            f"{document['runs']} runs.")
    return f"**Machine:** {parts}.\n\n**Data:** {data}"


def summary(document):
    """One row for each line."""
    heads = ["work", "yardstick", "rows", "ratio", "limit", ""]
    return markdown(heads, [summarized(line) for line in document["lines"]])


def summarized(line):
    ratios = sorted(row["ratio"] for row in line["rows"] if row["ratio"] is not None)
    extent = "-" if not ratios else " to ".join(dict.fromkeys(f"{one:.2f}" for one in (ratios[0], ratios[-1])))
    return [line["work"], line["yardstick"], str(len(line["rows"])), extent, limit(line), verdict(line)]


def verdict(line):
    if line["not_measured"] and not line["rows"]:
        return f"not measured: {line['not_measured']}"
    judged = [row for row in line["rows"] if row["kept"] is not None]
    missed = sorted((row for row in judged if not row["kept"]), key=lambda row: row["ratio"], reverse=not line["faster"])
    if not missed:
        return "met" if judged else ""
    return f"**MISSED** by {len(missed)} of {len(judged)}: " + "; ".join(f"{row['case']} {ratio(row)}" for row in missed)


def rows(document):
    return "\n\n".join(map(details, document["lines"]))


def details(line):
    """A table that a browser shows on request."""
    heads = ["case", "recordfs", "yardstick", "ratio", "limit", "", "notes"]
    cells = [[row["case"], quantity(row["ours"], row["unit"]), quantity(row["yardstick"], row["unit"]), ratio(row),
              limit(line) if row["bounded"] else "none", RESULTS[row["kept"]],
              "; ".join(f"{name} {value}" for name, value in row["notes"].items())] for row in line["rows"]]
    reason = f"\n\nNot measured: {line['not_measured']}" if line["not_measured"] else ""
    title = f"<code>{line['line']}</code>: {line['work']} / {line['yardstick']}"
    return f"<details><summary>{title}</summary>\n\n{markdown(heads, cells)}{reason}\n\n</details>"


def peers(document):
    image = "![grep -r, opening a random record, and mount to first listing, for each system](results.svg)"
    return f"{image}\n\n{matrices(document)}"


def scale(document):
    return matrices(document)


def matrices(document):
    """A table for each group of lines, with a row for each case and a column for each line."""
    groups = itertools.groupby(document["lines"], key=lambda line: line["line"].partition("-")[0])
    return "\n\n".join(matrix(list(lines)) for _, lines in groups)


def matrix(lines):
    if reason := next((line["not_measured"] for line in lines if line["not_measured"]), None):
        reason = f"\n\nNot measured, in part or at all: {reason}"
    cases = dict.fromkeys(row["case"] for line in lines for row in line["rows"])
    of_lines = [{row["case"]: cell(row) for row in line["rows"]} for line in lines]
    return markdown(["", *(line["work"] for line in lines)],
                    [[case, *(of_line.get(case, "") for of_line in of_lines)] for case in cases]) + (reason or "")


def cell(row):
    notes = dict(row["notes"])
    if "more than" in notes:
        return f"> {notes['more than']}"
    text = "; ".join(f"{name} {value}" for name, value in notes.items())
    return quantity(row["ours"], row["unit"]) + (f" ({text})" if text else "")


RENDERERS = {"machine": machine, "summary": summary, "rows": rows, "peers": peers, "scale": scale}
