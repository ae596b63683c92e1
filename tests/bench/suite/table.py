"""Prints the table of results as text, and returns it for JSON."""
from dataclasses import asdict

VERDICTS = {True: "kept", False: "NOT KEPT", None: ""}
HEADS = ("case", "recordfs", "yardstick", "ratio", "bound", "")


def _cells(row):
    line = row.line
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    bound = "" if line.bound is None or not row.bounded else f"{'>=' if line.faster else '<='} {line.bound:g}"
    notes = "; ".join(f"{name} {value}" for name, value in row.notes.items())
    return (row.case, quantity(row.ours, row.unit), quantity(row.yardstick, row.unit), ratio, bound,
            "  ".join(filter(None, (VERDICTS[row.kept], notes))))


def quantity(value, unit):
    if value is None:
        return "-"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.4g} {unit}"


def print_heading(machine):
    print("; ".join(f"{name} {value}" for name, value in machine.items()), flush=True)


def print_line(line, rows, skipped):
    """Prints a line's rows, or the reason for having none."""
    print(f"\n{line.name}: {line.work} / {line.yardstick}")
    widths = (36, 14, 14, 7, 8, 0)
    for cells in [HEADS, *map(_cells, rows)]:
        print("  " + " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)).rstrip())
    if skipped:
        print(f"  not measured: {skipped}")
    print(end="", flush=True)


def amounts_of(settings):
    """Returns the amounts as JSON has them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings.amounts).items()}


def document(machine, settings, results):
    """Returns the results of one part for JSON. `results`: (line, rows, skipped) of each line."""
    lines = [{"line": line.name, "work": line.work, "yardstick": line.yardstick, "bound": line.bound,
              "faster": line.faster, "not_measured": skipped, "rows": [_row(row) for row in rows]}
             for line, rows, skipped in results]
    return {"machine": machine, "runs": settings.runs, "amounts": amounts_of(settings), "lines": lines}


def _row(row):
    return {"case": row.case, "ours": row.ours, "yardstick": row.yardstick, "unit": row.unit, "ratio": row.ratio,
            "bounded": row.bounded, "kept": row.kept, "notes": row.notes}
