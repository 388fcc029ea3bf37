"""What is to be done with a row that a scan came by. All pure."""

from collections.abc import Callable, Container
from enum import Enum

from headgate.ids import time_ms
from headgate.kernel.records import ScannedRow
from headgate.maintenance.commits import CHANGES_TYPE


class Verdict(Enum):
    """What a row is."""

    LIVE = "live"
    """Something refers to it."""
    YOUNG = "young"
    """A commit that refers to it may be under way, or was lately."""
    UNKNOWN = "unknown"
    """A newer program stored it. It is left alone."""
    CHANGES = "changes"
    """It belongs to a commit, which is to be asked for it."""
    DEAD = "dead"


def judge(
    row: ScannedRow, cutoff_ms: int, marked: Container[int], is_known: Callable[[str], bool]
) -> Verdict:
    """What a row of a realm is in which these ids are marked."""
    if time_ms(row.id) >= cutoff_ms:
        return Verdict.YOUNG
    if row.id in marked:
        return Verdict.LIVE
    if not is_known(row.type):
        return Verdict.UNKNOWN
    return Verdict.CHANGES if row.type == CHANGES_TYPE else Verdict.DEAD
