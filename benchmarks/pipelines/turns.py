"""Ours and Iceberg's, one after the other: who begins changes with each turn."""

import statistics
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.stores import say

WARM_UP_SHARE = 10
"""One part of so many is done before: a virtual machine compiles what it finds hot."""


class Pair(NamedTuple):
    """What both came to, in one turn or in the middle of all."""

    ours: float
    theirs: float


class Compared(NamedTuple):
    """All turns."""

    pairs: list[Pair]

    @property
    def middle(self) -> Pair:
        """The median of each."""
        ours, theirs = zip(*self.pairs, strict=True)
        return Pair(statistics.median(ours), statistics.median(theirs))

    @property
    def ratio(self) -> float:
        """Ours against theirs: the median of all turns, as a machine is as busy for both of one."""
        return statistics.median(pair.ours / pair.theirs for pair in self.pairs)


def take_turns(
    what: str, turns: int, ours: Callable[[int], float], theirs: Callable[[int], float]
) -> Compared:
    """Each is given the number of its turn."""
    pairs = []
    for number in range(turns):
        if number % 2:
            other = theirs(number)
            one = ours(number)
        else:
            one = ours(number)
            other = theirs(number)
        pairs.append(Pair(one, other))
        say(f"{what}, turn {number + 1}: {one:,.1f}, Iceberg {other:,.1f}")
    return Compared(pairs)
