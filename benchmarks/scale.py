"""How much a run measures: sizes and repetitions."""

from typing import NamedTuple


class Scale(NamedTuple):
    """A smaller scale repeats less; only `smoke` also measures smaller indexes."""

    name: str
    sizes: dict[str, int]  # what the keys of the report call an index -> how many entries it has
    names: int  # entries of the pointer that many callers commit to
    rounds: int  # how often each contended workload is run
    seconds: float  # how long one round of it takes
    callers: tuple[int, ...]  # the curve of commits by number of callers
    commits: int  # commits of one caller to each index
    extra_commits: int  # more of them to the largest index, for the worst case in bytes
    repeats: int  # rounds of each micro-measurement


SIZES = {"1e3": 10**3, "1e4": 10**4, "1e5": 10**5, "1e6": 10**6}
CALLERS = (1, 8, 64, 256)

FULL = Scale("full", SIZES, 10**5, 7, 3.0, CALLERS, 1_000, 4_000, 50)
QUICK = Scale("quick", SIZES, 10**5, 3, 0.8, CALLERS, 400, 300, 15)
SMOKE = Scale("smoke", {"1e3": 10**3, "1e6": 10**3}, 10**3, 1, 0.15, (1, 64), 8, 8, 3)
