"""The settings of a run: paths, amounts, number of repetitions."""
from dataclasses import dataclass
from pathlib import Path

FULL, QUICK, SMOKE = "full", "quick", "smoke"


@dataclass(frozen=True)
class Amounts:
    """The number of records of each kind; 0 skips the measurements that need them."""

    small: int  # log lines in the lines about a mount's files
    lines: int  # log lines in everything else
    tiny: int
    large: int  # of 200 MB
    random: int  # files that a random reader opens


AMOUNTS = {
    FULL: Amounts(small=100_000, lines=300_000, tiny=10_000_000, large=5, random=5_000),
    QUICK: Amounts(small=100_000, lines=100_000, tiny=2_000_000, large=0, random=5_000),
    SMOKE: Amounts(small=500, lines=500, tiny=0, large=0, random=50),
}


@dataclass(frozen=True)
class Settings:
    programs: Path  # folder of the built programs
    data: Path  # generated containers, kept between runs
    runs: int
    amounts: Amounts

    def program(self, name):
        return str(self.programs / name)
