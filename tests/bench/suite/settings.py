"""The settings of a run: paths, amounts, number of repetitions."""
from dataclasses import dataclass
from pathlib import Path

FULL, QUICK, SMOKE = "full", "quick", "smoke"


@dataclass(frozen=True)
class Amounts:
    """The number of records of each kind; 0 skips the measurements that need them."""

    small: int  # log lines in the lines about a mount's files
    lines: int  # log lines in everything else
    whole: int  # log lines in a container that is read from its beginning to its end
    tiny: int
    large: int  # of 200 MB
    random: int  # files that a random reader opens
    picked: int  # records that one command reads by address
    growing: tuple = (100_000, 1_000_000, 10_000_000, 100_000_000)  # tiny records in one file
    containers: tuple = (100, 1_000, 10_000)  # in one directory
    mounts: tuple = (10, 100, 1_000)


AMOUNTS = {
    FULL: Amounts(small=100_000, lines=300_000, whole=1_000_000, tiny=10_000_000, large=5, random=5_000, picked=1_000),
    QUICK: Amounts(small=100_000, lines=100_000, whole=100_000, tiny=2_000_000, large=0, random=5_000, picked=1_000,
                   growing=(100_000, 1_000_000), containers=(100, 1_000), mounts=(10, 100)),
    SMOKE: Amounts(small=500, lines=500, whole=500, tiny=0, large=0, random=50, picked=50, growing=(500, 5_000), containers=(5, 50),
                   mounts=(2, 4)),
}


@dataclass(frozen=True)
class Settings:
    programs: Path  # folder of the built programs
    data: Path  # generated containers, kept between runs
    runs: int
    amounts: Amounts
    duckdb: Path | None = None  # libduckdb.so; without it, its rows are not measured

    def program(self, name):
        return str(self.programs / name)
