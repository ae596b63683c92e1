"""Draws the systems of the part `peers` as an SVG: a row for each system, a panel for each measurement."""
import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, MARGIN, LABELS = 960, 24, 190
TITLE, HEADS, ROW, GAP, FOOT = 52, 30, 23, 12, 62
VALUE = 58  # pixels kept right of the largest dot for its value
LABEL = 44  # pixels for the label of a power of ten
RADIUS = 5
KINDS = (("recordfs", "ours"), ("plain reader", "plain"), ("", "other"))  # the start of a name, and its class
STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .head { font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .tick { font-size: 11px; fill: #59636e; text-anchor: middle }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .ours { fill: #0969da; stroke: #0969da } .plain { fill: #1a7f37; stroke: #1a7f37 } .other { fill: #818b98; stroke: #818b98 }
  line.ours, line.plain, line.other { stroke-width: 3; stroke-opacity: 0.45 }
  text.ours { fill: #0969da; font-weight: 600 }
  text.value { stroke: #ffffff; stroke-width: 4; paint-order: stroke }
  text.name { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small, .tick { fill: #9198a1 } .page { fill: #0d1117 } .grid { stroke: #3d444d }
    .ours { fill: #58a6ff; stroke: #58a6ff } .plain { fill: #3fb950; stroke: #3fb950 }
    .other { fill: #9198a1; stroke: #9198a1 }
    text.ours { fill: #58a6ff } text.value { stroke: #0d1117 } text.name { stroke: none }
  }
"""


@dataclass(frozen=True)
class Panel:
    """A measurement: a logarithmic axis, drawn from `left` to `right`."""

    line: dict
    left: float
    right: float

    def values(self):
        return {row["case"]: row for row in self.line["rows"]}

    def decades(self):
        """Returns the powers of ten on the axis, with that before the smallest value."""
        scaled = [scale(row) for row in self.line["rows"]]
        first = math.floor(min(scaled))
        return range(first, max(math.ceil(max(scaled)), first + 1) + 1)

    def labelled(self):
        """Returns n if every n-th power has room for its label."""
        return math.ceil(LABEL * (len(self.decades()) - 1) / (self.right - self.left))

    def place(self, logarithm):
        decades = self.decades()
        return self.left + (self.right - self.left) * (logarithm - decades[0]) / (decades[-1] - decades[0])


def scale(row):
    """The logarithm of a value in seconds, so that rows of different units compare."""
    return math.log10(max(row["ours"], 1e-9) * {"s": 1, "ms": 1e-3, "us": 1e-6}[row["unit"]])


def kind_of(system):
    return next(name for start, name in KINDS if system.startswith(start))


def named_class(name, system):
    """Returns the class of a text: that of recordfs is emphasized."""
    return f"{name} ours" if kind_of(system) == "ours" else name


def drawn(document):
    """Returns the SVG of the part's document."""
    lines = [line for line in document["lines"] if line["rows"]]
    systems = list(dict.fromkeys(row["case"] for line in lines for row in line["rows"]))
    ys, height = places(systems)
    step = (WIDTH - 2 * MARGIN - LABELS) / max(len(lines), 1)
    panels = [Panel(line, MARGIN + LABELS + i * step, MARGIN + LABELS + (i + 1) * step - VALUE)
              for i, line in enumerate(lines)]
    parts = [f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>', *titles(document, height)]
    parts += [text(MARGIN, ys[system] + 4, system, named_class("name", system)) for system in systems]
    for panel in panels:
        parts += panel_parts(panel, ys)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n")


def places(systems):
    """Returns the y of each system, with a gap between kinds, and the height of the drawing."""
    y, ys, previous = TITLE + HEADS, {}, None
    for system in systems:
        y += GAP if previous not in (None, kind_of(system)) else 0
        ys[system], previous = y + ROW / 2, kind_of(system)
        y += ROW
    return ys, y + FOOT


def titles(document, height):
    records = f"{document['amounts']['small']:,}"
    yield text(MARGIN, MARGIN + 12, f"{records} log lines, each a file of 200 to 1,000 bytes", "title")
    yield text(MARGIN, height - 14, "Shorter is faster. The axes are logarithmic. Reader and filesystem share one processor.",
               "small")


def panel_parts(panel, ys):
    bottom = max(ys.values()) + ROW / 2 + 6
    yield text(panel.left, TITLE + 12, panel.line["work"].replace("`", ""), "head")
    for decade in panel.decades():
        x = panel.place(decade)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TITLE + HEADS - 8}" y2="{bottom}"/>'
        if (decade - panel.decades()[0]) % panel.labelled() == 0:
            yield text(x, bottom + 14, named(decade), "tick")
    for system, row in panel.values().items():
        x, y, kind = panel.place(scale(row)), ys[system], kind_of(system)
        yield f'<line class="{kind}" x1="{panel.left:.1f}" x2="{x:.1f}" y1="{y}" y2="{y}"/>'
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y}" r="{RADIUS}"/>'
        yield text(x + RADIUS + 4, y + 4, shown(row), named_class("value", system))


def named(decade):
    """Returns the label of a power of ten of a second."""
    unit, smaller = next((pair for pair in (("s", 0), ("ms", -3), ("µs", -6)) if decade >= pair[1]), ("ns", -9))
    return f"{10 ** (decade - smaller)} {unit}"


def shown(row):
    """Returns a value with three digits, in the unit that suits it."""
    if "more than" in row["notes"]:
        return f"> {row['notes']['more than']}"
    seconds = 10 ** scale(row)
    unit, size = next((pair for pair in (("s", 1), ("ms", 1e-3)) if seconds >= pair[1]), ("µs", 1e-6))
    value = seconds / size
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def text(x, y, content, name):
    chosen = f' class="{name}"' if name else ""
    return f'<text{chosen} x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'
