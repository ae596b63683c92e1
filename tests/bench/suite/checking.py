"""Compares the rows of a run with those of a record, which an earlier run wrote."""
from dataclasses import dataclass

from comparing import Row

TOLERATED = 0.10  # share of the recorded ratio
MANY = 20  # rows without a record that are not listed singly


@dataclass(frozen=True)
class Finding:
    """A row that --check reports."""

    row: Row
    text: str
    fails: bool


def recorded_rows(record, part, amounts):
    """Returns {(line, case): row} of a part of the record: empty if it was measured with other amounts. An amount that is
    newer than the record is one of newer lines."""
    document = record.get(part)
    if document is None or any(amounts.get(name) != amount for name, amount in document["amounts"].items()):
        return {}
    return {(line["line"], row["case"]): row for line in document["lines"] for row in line["rows"]}


def is_worse(row, ratio):
    """Whether the row's ratio is more than 10 % worse than the recorded one."""
    if row.line.faster:
        return row.ratio < ratio * (1 - TOLERATED)
    return row.ratio > ratio * (1 + TOLERATED)


def finding_of(row, recorded):
    """Returns None if the row has no yardstick, or is as good as recorded. A bound that the recorded row exceeded too
    is no failure."""
    if row.ratio is None:
        return None
    before = recorded.get((row.line.name, row.case))
    if before is None or before["ratio"] is None:
        exceeded = ", and beyond its bound" if row.kept is False else ""
        return Finding(row, f"ratio {row.ratio:.2f}, not in the record{exceeded}", fails=row.kept is False)
    change = f"ratio {row.ratio:.2f}, recorded {before['ratio']:.2f}"
    if is_worse(row, before["ratio"]):
        return Finding(row, f"{change}: more than {TOLERATED:.0%} worse", fails=True)
    if row.kept is False and before["kept"] is not False:
        return Finding(row, f"{change}: beyond its bound", fails=True)
    return None


def compared(rows, recorded):
    """Returns how many rows have a ratio, and how many of these the record has too."""
    measured = [(row.line.name, row.case) for row in rows if row.ratio is not None]
    return len(measured), sum(key in recorded and recorded[key]["ratio"] is not None for key in measured)


def findings(rows, recorded):
    """Returns the findings for the rows, failures first."""
    found = [finding for finding in (finding_of(row, recorded) for row in rows) if finding]
    return sorted(found, key=lambda finding: not finding.fails)


def not_measured(rows, recorded):
    """Returns the (line, case) of recorded rows that are missing, of those lines that were measured at all."""
    measured = {(row.line.name, row.case) for row in rows}
    lines = {name for name, _ in measured}
    return [key for key in recorded if key[0] in lines and key not in measured]


def better(row, again):
    """Returns the better of two measurements of a row. `again` may be None."""
    if again is None or again.ratio is None:
        return row
    return again if (again.ratio > row.ratio) == row.line.faster else row


def report(found, missing, measured, known):
    """Returns the text about a run, of whose `measured` rows the record has `known`. The others are counted if they are
    many."""
    failures = [finding for finding in found if finding.fails]
    others = [finding for finding in found if not finding.fails]
    lines = [f"compared with the record: {known} of {measured} rows; {len(failures)} failures"]
    lines += [f"FAILED {described(finding)}" for finding in failures]
    if len(others) > MANY:
        lines.append(f"{len(others)} rows are not in the record, which may be of other amounts")
    else:
        lines += [described(finding) for finding in others]
    lines += [f"{line}: {case}: recorded, but not measured" for line, case in missing]
    return "\n".join(lines)


def described(finding):
    return f"{finding.row.line.name}: {finding.row.case}: {finding.text}"
