"""Lines of the table: what is measured, its yardstick, and the required ratio."""
import statistics
from dataclasses import dataclass, field


class Skipped(Exception):
    """The reason why something was not measured."""


@dataclass(frozen=True)
class Line:
    """One line of the table. `bound` is a maximum ratio of times, or with `faster` a minimum ratio of speeds."""

    name: str
    work: str
    yardstick: str
    bound: float | None = None
    faster: bool = False

    def keeps(self, ratio):
        """Whether the ratio is within the bound; None without a bound."""
        if self.bound is None:
            return None
        return ratio >= self.bound if self.faster else ratio <= self.bound


@dataclass
class Row:
    """One measured case of a line: medians, in `unit`."""

    line: Line
    case: str
    ours: float
    yardstick: float | None
    unit: str
    notes: dict = field(default_factory=dict)
    bounded: bool = True  # False: for comparison, not subject to the line's bound

    @property
    def ratio(self):
        return None if self.yardstick is None else self.ours / self.yardstick

    @property
    def kept(self):
        return self.line.keeps(self.ratio) if self.bounded and self.ratio is not None else None


# The parts of the results. Each is measured whole, in one run.
LIMITS, PEERS, SCALE = "limits", "peers", "scale"
MEASUREMENTS = []  # (part, lines, function), in the order of the table


def measures(*lines, part=LIMITS):
    """Registers a function that takes the Bench and yields Rows of these lines."""

    def register(function):
        MEASUREMENTS.append((part, lines, function))
        return function

    return register


def medians(runs, **subjects):
    """Runs the subjects in turn, `runs` times each. A subject returns a number or a dictionary of numbers. Returns
    {subject: median or {name: median}}."""
    return _of_each(statistics.median, runs, subjects)


def least(runs, **subjects):
    """The same, with the smallest number of all runs in place of the median."""
    return _of_each(min, runs, subjects)


def _of_each(choose, runs, subjects):
    taken = {name: [] for name in subjects}
    for _ in range(runs):
        for name, subject in subjects.items():
            taken[name].append(subject())
    return {name: _chosen(choose, values) for name, values in taken.items()}


def _chosen(choose, values):
    if isinstance(values[0], dict):
        return {key: choose(value[key] for value in values) for key in values[0]}
    return choose(values)
