"""How much a run of this suite measures."""

from typing import NamedTuple


class Tree(NamedTuple):
    """The shape of the tree workload, and how long its mixed part takes."""

    width: int
    depth: int
    tables: int  # in each leaf
    views: int
    seconds: float
    rate: float  # requests begun per second


class Scale(NamedTuple):
    """Sizes and repetitions; only `smoke` also measures smaller catalogs."""

    name: str
    warm_up_seconds: float  # a virtual machine compiles what it finds hot
    rounds: int
    seconds: float  # one round of one server
    tables: int  # that are loaded, or committed to, in turn
    snapshots: int  # of the table with many
    commits: int  # of one client to it
    growth: tuple[int, int]  # tables in the small and in the large catalog
    starts: int
    tree: Tree


FULL = Scale("full", 20, 9, 3.0, 128, 10_000, 60, (100, 100_000), 5, Tree(2, 4, 5, 3, 60, 100))
QUICK = Scale("quick", 8, 5, 1.0, 128, 10_000, 20, (100, 100_000), 3, Tree(2, 4, 5, 3, 6, 100))
SMOKE = Scale("smoke", 0.2, 1, 0.2, 16, 50, 3, (20, 200), 1, Tree(2, 2, 1, 1, 0.5, 20))
