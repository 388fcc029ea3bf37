"""How much a run of this suite measures."""

from typing import NamedTuple


class Scale(NamedTuple):
    """Sizes and repetitions; only `smoke` also has a shorter list and fewer users."""

    name: str
    rounds: int
    seconds: float  # one round of one server
    tables: int  # that are loaded in turn
    listed: int  # tables in the list
    users: int  # who list them
    checks: int  # of each size, in each turn
    turns: int
    enforced: int  # checks by pycasbin, in each turn
    revokes: int


FULL = Scale("full", 9, 1.5, 128, 10_496, 30, 20_000, 25, 4, 200)
QUICK = Scale("quick", 3, 0.5, 64, 10_496, 30, 10_000, 9, 2, 20)
SMOKE = Scale("smoke", 1, 0.2, 16, 600, 6, 2_000, 3, 1, 5)
