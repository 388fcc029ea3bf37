"""How much a run of this suite does."""

from typing import NamedTuple


class Scenario(NamedTuple):
    """A Locust file, and who takes part."""

    name: str
    doomed: int  # tables that are dropped at once
    files: int  # of each of them
    readers: int
    committers: int
    churners: int
    seconds: int


class Scale(NamedTuple):
    """All scenarios."""

    name: str
    scenarios: tuple[Scenario, ...]
    loaded: int  # tables that readers load


FULL = Scale(
    "full",
    (
        Scenario("concurrent_drops", 64, 5_000, 32, 8, 0, 30),
        Scenario("mixed_traffic", 8, 50_000, 16, 8, 8, 30),
    ),
    128,
)
QUICK = Scale(
    "quick",
    (
        Scenario("concurrent_drops", 50, 20, 8, 2, 0, 5),
        Scenario("mixed_traffic", 4, 200, 4, 2, 2, 5),
    ),
    16,
)
