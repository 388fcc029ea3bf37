"""What came of upkeep: for each table, and for all of them together."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from headgate.amounts import size
from headgate.pipelines.upkeep_decisions import Decision
from headgate.pipelines.upkeep_health import Health
from headgate.pipelines.upkeep_policy import Step

REWRITTEN_BYTES = "rewritten_bytes_count"


class State(StrEnum):
    """What became of a table."""

    HEALTHY = "healthy"
    """Nothing is to be done."""
    DUE = "due"
    """Something is to be done, and this is a dry run."""
    IMPROVED = "improved"
    FAILED = "failed"
    OFF = "hands off"
    """Its policy says so."""
    GONE = "gone"
    """It was dropped meanwhile."""


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """One procedure that was called, and what it says that it did."""

    step: Step
    procedure: str
    reason: str
    seconds: float = 0.0
    counts: dict[str, int] = {}
    error: str = ""
    is_conflict: bool = False
    """Whether a writer was faster, so that it is worth to try again."""

    @property
    def has_changed_something(self) -> bool:
        """Whether the table is another one now; a procedure that counts nothing always does."""
        return not self.error and (not self.counts or any(self.counts.values()))


class TableUpkeep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One table."""

    table: str
    state: State
    seconds: float = 0.0
    error: str = ""
    decisions: list[Decision] = []
    """What is to be done in the end, or why nothing is."""
    done: list[Done] = []
    before: Health | None = None
    after: Health | None = None

    @property
    def rewritten_bytes(self) -> int:
        """How much was rewritten."""
        return sum(one.counts.get(REWRITTEN_BYTES, 0) for one in self.done)

    def lines(self) -> Iterator[str]:
        """All that is to be told of it: a line for the table, and one for each step."""
        yield f"{self.table}: {self.state}{f': {self.error}' if self.error else ''}"
        for one in self.done:
            yield f"  {one.step:<10} {one.reason}: {_came_of(one)}"
        for decision in self.decisions if not self.done else ():
            verb = "to do" if decision.is_due else "nothing to do"
            yield f"  {decision.step:<10} {verb}: {decision.reason}"
        if self.before and self.after and self.before != self.after:
            yield f"  {'before':<10} {_in_words(self.before)}"
            yield f"  {'after':<10} {_in_words(self.after)}"


class Totals(msgspec.Struct, frozen=True):
    """How many tables became what."""

    looked_at: int
    healthy: int
    due: int
    improved: int
    hands_off: int
    failed: int
    rewritten_bytes: int
    seconds: float


class UpkeepSummary(msgspec.Struct, frozen=True):
    """One run."""

    totals: Totals
    tables: list[TableUpkeep]


def summary_of(tables: list[TableUpkeep], seconds: float) -> UpkeepSummary:
    """What came of all of them."""
    states = [one.state for one in tables]
    totals = Totals(
        looked_at=len(tables),
        healthy=states.count(State.HEALTHY),
        due=states.count(State.DUE),
        improved=states.count(State.IMPROVED),
        hands_off=states.count(State.OFF),
        failed=states.count(State.FAILED),
        rewritten_bytes=sum(one.rewritten_bytes for one in tables),
        seconds=round(seconds, 3),
    )
    return UpkeepSummary(totals, tables)


def _came_of(done: Done) -> str:
    """What a procedure says that it did."""
    if done.error:
        return f"failed after {done.seconds:.1f} s: {done.error}"
    told = [
        f"{name.removesuffix('_count').replace('_', ' ')} {_amount(name, count)}"
        for name, count in done.counts.items()
        if count
    ]
    return f"{', '.join(told) or 'done'} ({done.seconds:.1f} s)"


def _amount(name: str, count: int) -> str:
    return size(count) if "bytes" in name else f"{count:,}"


def _in_words(health: Health) -> str:
    return (
        f"data files {health.data_files:,} ({size(health.data_bytes)}), "
        f"delete files {health.delete_files:,}, snapshots {health.snapshots:,}"
    )
