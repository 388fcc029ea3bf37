"""Runs as people and scripts see them."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from headgate.kernel.kernel import Kernel
from headgate.maintenance.lease import RunLease, lease_of, read_lease
from headgate.maintenance.runs import Counts, Run, list_runs


class State(StrEnum):
    """What became of a run."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    """Something was left alone; the record says what and why."""
    ABANDONED = "ABANDONED"
    """Its process ended before it did. What it deleted is deleted; the next run does the rest."""


class RunView(msgspec.Struct, frozen=True, rename="kebab"):
    """A run."""

    id: str
    """As text: it exceeds what many JSON readers can count to."""
    state: State
    by: str
    """Who started it."""
    engine: str
    """What does it: `process` or `spark`."""
    started_ms: int
    ended_ms: int | None
    grace_ms: int
    dry_run: bool
    """It only counts what it would delete."""
    phase: str
    """What it does just now; empty when it has ended."""
    counts: Counts
    failures: tuple[str, ...]
    """What was left alone, and why."""


class Status(msgspec.Struct, frozen=True, rename="kebab"):
    """What goes on, and what was last."""

    running: RunView | None
    holder: str
    """The process that does it."""
    last: RunView | None
    """The newest run that has ended or was abandoned."""


def view_of(id: int, run: Run, lease: RunLease | None = None) -> RunView:
    """A run; `lease` is that of the one that is under way."""
    running = lease if lease is not None and lease.run == id and not run.ended_ms else None
    return RunView(
        str(id),
        _state(run, is_running=running is not None),
        run.by,
        run.engine,
        run.started_ms,
        run.ended_ms or None,
        run.grace_ms,
        run.is_dry,
        running.phase if running else "",
        running.counts if running else run.counts,
        run.failures,
    )


async def all_runs(kernel: Kernel) -> list[RunView]:
    """All runs that are remembered, the newest first."""
    row = await read_lease(kernel)
    lease = lease_of(row) if row is not None else None
    return [view_of(id, run, lease) for id, run in await list_runs(kernel)]


async def status(kernel: Kernel) -> Status:
    """What goes on, and what was last."""
    row = await read_lease(kernel)
    runs = await all_runs(kernel)
    running = _first(one for one in runs if one.state is State.RUNNING)
    last = _first(one for one in runs if one.state is not State.RUNNING)
    return Status(running, lease_of(row).holder if row is not None else "", last)


def _state(run: Run, *, is_running: bool) -> State:
    if is_running:
        return State.RUNNING
    if not run.ended_ms:
        return State.ABANDONED
    return State.FAILED if run.failures else State.DONE


def _first(runs: Iterable[RunView]) -> RunView | None:
    return next(iter(runs), None)
