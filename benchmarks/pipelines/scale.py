"""How much a run of this suite measures."""

from typing import NamedTuple


class Scale(NamedTuple):
    """Sizes and repetitions."""

    name: str
    files: int  # of the large tables
    turns: int  # of ours and of Iceberg's action, one after the other
    orphans: int  # planted among the files
    rows: int  # of each database that is swept
    tables: int  # of the metalake that is exported and imported


FULL = Scale("full", 500_000, 3, 5_000, 1_000_000, 100_000)
QUICK = Scale("quick", 50_000, 2, 500, 100_000, 10_000)
SMOKE = Scale("smoke", 1_500, 1, 20, 2_000, 200)
