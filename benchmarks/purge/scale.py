"""How much a run of this suite measures."""

from typing import NamedTuple


class Scale(NamedTuple):
    """Sizes and repetitions."""

    name: str
    files: int  # of the large table
    turns: int  # in which it is purged by ours, by Iceberg's and by `rm`
    drops: int  # of a small and of a large table, one by one
    together: int  # tables that are dropped at once
    together_files: int  # of each of them
    loaded: int  # tables that readers load
    rounds: int  # of loads before each purge
    seconds: float  # of such a round


FULL = Scale("full", 500_000, 3, 500, 50, 50_000, 128, 5, 1.0)
QUICK = Scale("quick", 50_000, 3, 200, 50, 5_000, 128, 3, 0.5)
SMOKE = Scale("smoke", 300, 1, 5, 4, 40, 8, 1, 0.1)
