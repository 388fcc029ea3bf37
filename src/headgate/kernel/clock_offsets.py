"""How far this node's clock is from other clocks, as far as that is certain. No I/O.

An offset is known between two bounds only: the other clock was read at some time between two
readings of our own. Only what is certain counts.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headgate.limits import CLOCK_BEHIND_MS_MAX


class Offset(NamedTuple):
    """How far our clock is from another one; a bound below 0 says nothing."""

    ahead_ms: int
    """At least so much is ours ahead."""
    behind_ms: int
    """At least so much is ours behind."""

    def describe(self) -> str:
        """In words, if one of the two is more than what is tolerated; else empty."""
        if self.ahead_ms > CLOCK_BEHIND_MS_MAX:
            return f"{self.ahead_ms / 1000:,.0f} s ahead of"
        if self.behind_ms > CLOCK_BEHIND_MS_MAX:
            return f"{self.behind_ms / 1000:,.0f} s behind"
        return ""


def offset(other_ms: int, since_ms: int, until_ms: int) -> Offset:
    """Our clock against one that showed `other_ms` at some time between these two of ours."""
    return Offset(since_ms - other_ms, other_ms - until_ms)


def offset_from_most(offsets: Iterable[Offset]) -> Offset | None:
    """Our clock against the median of all nodes, this one among them; of two medians the lower one
    for a clock that is ahead, the upper one for a clock that is behind. None if there are no
    others."""
    known = list(offsets)
    if not known:
        return None
    others = (len(known) + 2) // 2  # that have to be on one side of ours
    ahead = sorted((one.ahead_ms for one in known), reverse=True)
    behind = sorted((one.behind_ms for one in known), reverse=True)
    return Offset(ahead[others - 1], behind[others - 1])
