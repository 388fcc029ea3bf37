"""The life of a purge job: what its row says, and how each event changes it. All pure.

The catalog's head says that a job is there; this row says how far it is. A job without a row is
PENDING and was never tried: the first claim makes the row.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headgate.kernel.objects import ObjectType, Stored
from headgate.purge.job_states import State
from headgate.purge.ledger import NONE_LEFT, Failed, LeftFiles, ledger_of, left_files
from headgate.purge.steps import LEAVES

ERROR_CHARS_MAX = 1_000


class JobRow(Stored, frozen=True):
    """The conditional row of a job; its key is the job's id."""

    state: str
    attempts: int = 0
    owner: str = ""
    """The worker that has it, or had it last: host and process."""
    error: str = ""
    """Why the last attempt failed."""
    next_attempt_ms: int = 0
    started_ms: int = 0
    """When it was claimed for the first time."""
    updated_ms: int = 0
    deleted: int = 0
    """Files that this job deleted, in all attempts."""
    missing: int = 0
    """Files that somebody else had deleted."""
    bytes: int = 0
    expected: int = 0
    """Files that were found so far, gone or not."""
    failed: int = 0
    """Files that the last attempt could not delete."""
    ledger: tuple[Failed, ...] = ()
    """The first of them."""
    phase: str = ""
    elapsed_ms: int = 0
    stages_done: str = ""
    """Empty, or the stage that need not be repeated."""
    done_deleted: int = 0
    """What the stage that is done counted."""
    done_missing: int = 0
    done_expected: int = 0
    done_kept: int = 0
    claimed_ms: int = 0
    """When the last attempt began, and how many files were deleted by then: that gives the rate."""
    claimed_deleted: int = 0
    cancelled_by: str = ""
    lease_ms: int = 0
    """Of the worker that has it: nobody takes it earlier, whatever its own settings are."""
    kept: int = 0
    """Files that stay because other tables refer to them."""
    takeovers: int = 0
    """How many workers in a row fell silent with it, and none got further than those before."""
    reached: int = 0
    """How far they got: files that are dealt with, and a stage that is done."""
    taken_from: str = ""
    """The last of them."""
    left_outside: LeftFiles = NONE_LEFT
    """Files that its metadata names and that stay: they are not in the table's own locations, or
    others have them."""
    unreferenced: LeftFiles = NONE_LEFT
    """Files in its own locations that stay, as nothing refers to them."""
    done_left_outside: LeftFiles = NONE_LEFT
    """What the stage that is done left."""


PURGE_TYPES = (ObjectType("purge-job", JobRow),)


class JobTerms(msgspec.Struct, frozen=True):
    """How jobs are worked on."""

    worker_threads: int = 4
    """Jobs at a time."""
    delete_threads: int = 8
    """Requests at a time for one job."""
    poll_ms: int = 5_000
    batch_size: int = 16
    """Jobs that one look hands to the workers."""
    lease_ms: int = 300_000
    max_attempts: int = 5
    backoff_base_ms: int = 30_000
    backoff_max_ms: int = 3_600_000
    completed_retention_hours: int = 168
    across_catalogs: bool = True
    """Whether tables of other catalogs may refer to files of a dropped one."""


class Sums(Protocol):
    """What a child counted in a stage so far, and the failures it tells of for the first time."""

    @property
    def phase(self) -> str: ...
    @property
    def deleted(self) -> int: ...
    @property
    def missing(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def expected(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def failed(self) -> Sequence[Failed]: ...
    @property
    def left_outside(self) -> LeftFiles: ...
    @property
    def unreferenced(self) -> LeftFiles: ...


class Tally(msgspec.Struct, frozen=True):
    """What a stage of an attempt did so far."""

    phase: str = ""
    deleted: int = 0
    missing: int = 0
    bytes: int = 0
    expected: int = 0
    failed: int = 0
    ledger: tuple[Failed, ...] = ()
    outside: int = 0
    """Files outside of the table's own places, which the child does not count."""
    outside_deleted: int = 0
    kept: int = 0
    outside_kept: int = 0
    left_outside: LeftFiles = NONE_LEFT
    """As the child counts them."""
    not_taken: LeftFiles = NONE_LEFT
    """Files outside that the child told of, and that could not be taken for the job."""
    unreferenced: LeftFiles = NONE_LEFT

    def told(self, sums: Sums) -> "Tally":
        """After the child told how far it is."""
        return msgspec.structs.replace(
            self._with(sums.failed),
            phase=sums.phase,
            deleted=sums.deleted,
            missing=sums.missing,
            bytes=sums.bytes,
            expected=sums.expected,
            kept=sums.kept,
            left_outside=sums.left_outside,
            unreferenced=sums.unreferenced,
        )

    def done_outside(self, count: int, failed: Sequence[Failed]) -> "Tally":
        """After so many files outside were deleted, but for those that failed."""
        return msgspec.structs.replace(
            self._with(failed),
            outside=self.outside + count,
            outside_deleted=self.outside_deleted + count - len(failed),
        )

    def kept_outside(self, count: int) -> "Tally":
        """After so many files outside were found to be needed by others."""
        return msgspec.structs.replace(self, outside_kept=self.outside_kept + count)

    def leaving(self, paths: Sequence[str]) -> "Tally":
        """After these files outside were found to be others', or not to be deleted."""
        return msgspec.structs.replace(self, not_taken=self.not_taken + left_files(paths))

    def _with(self, failed: Sequence[Failed]) -> "Tally":
        if not failed:
            return self
        ledger = ledger_of([*self.ledger, *failed])
        return msgspec.structs.replace(self, failed=self.failed + len(failed), ledger=ledger)


def new_row() -> JobRow:
    """The row of a job that has none yet."""
    return JobRow(State.PENDING)


def claimed(row: JobRow | None, owner: str, now_ms: int, lease_ms: int = 0) -> JobRow:
    """A worker begins an attempt, or goes on with that of a worker that is gone."""
    row = row or new_row()
    if row.state == State.RUNNING:
        row = _taken_over(row)
    return msgspec.structs.replace(
        row,
        state=State.RUNNING,
        attempts=row.attempts + (row.state == State.PENDING),
        owner=owner,
        next_attempt_ms=0,
        started_ms=row.started_ms or now_ms,
        updated_ms=now_ms,
        claimed_ms=now_ms,
        claimed_deleted=row.deleted,
        lease_ms=lease_ms,
    )


def _taken_over(row: JobRow) -> JobRow:
    """The worker of a job fell silent. Servers may die as often as they like while the job gets
    on; but a job that ends whoever has it would go round for ever."""
    reached = _reach(row)
    return msgspec.structs.replace(
        row,
        takeovers=0 if reached > row.reached else row.takeovers + 1,
        reached=max(reached, row.reached),
        taken_from=row.owner,
    )


def _reach(row: JobRow) -> int:
    """How far a job is. After a takeover files are counted anew, so it may go back."""
    return row.deleted + row.missing + row.kept + bool(row.stages_done)


def is_deadly(row: JobRow, terms: JobTerms) -> bool:
    """Whether so many workers fell silent with a job that no other one should try it."""
    return row.takeovers >= terms.max_attempts


def alive(row: JobRow, now_ms: int) -> JobRow:
    """The row of a job that is worked on, with nothing else to tell."""
    elapsed_ms = max(now_ms - row.started_ms, 0)
    return msgspec.structs.replace(row, updated_ms=now_ms, elapsed_ms=elapsed_ms)


def beaten(start: JobRow, tally: Tally, now_ms: int) -> JobRow:
    """The row while a stage goes on that began with the row `start`.

    Files that earlier attempts deleted are missing now, or deleted once more where nobody tells the
    difference: they are not counted twice. Failures of before stay on the ledger until the stage
    has ended.
    """
    before, anew = start.deleted - start.done_deleted, tally.deleted + tally.outside_deleted
    if start.stages_done == LEAVES:  # what led to files that are gone may be gone as well
        gone = anew + max(before, tally.missing)
    else:
        gone = max(before, anew + tally.missing)
    deleted = min(before + anew, gone)
    return msgspec.structs.replace(
        alive(start, now_ms),
        phase=tally.phase,
        deleted=start.done_deleted + deleted,
        bytes=start.bytes + tally.bytes,
        missing=start.done_missing + gone - deleted,
        expected=start.done_expected + tally.expected + tally.outside,
        kept=start.done_kept + tally.kept + tally.outside_kept,
        failed=tally.failed,
        ledger=ledger_of([*tally.ledger, *start.ledger]),
        left_outside=start.done_left_outside + tally.left_outside + tally.not_taken,
        unreferenced=NONE_LEFT + tally.unreferenced,
    )


def stage_ended(row: JobRow, stage: str, tally: Tally) -> JobRow:
    """The row after a stage went to its end: its failures are the only ones there are."""
    row = msgspec.structs.replace(row, failed=tally.failed, ledger=tally.ledger)
    if tally.failed or stage != LEAVES:
        return row
    return msgspec.structs.replace(
        row,
        stages_done=LEAVES,
        done_deleted=row.deleted,
        done_missing=row.missing,
        done_expected=row.expected,
        done_kept=row.kept,
        done_left_outside=row.left_outside,
    )


def postponed(row: JobRow, why: str, now_ms: int, terms: JobTerms, chance: float) -> JobRow:
    """An attempt failed: another one follows later, or none if there were enough."""
    last = row.attempts >= terms.max_attempts or is_deadly(row, terms)
    return msgspec.structs.replace(
        row,
        state=State.DEAD_LETTER if last else State.PENDING,
        error=why[:ERROR_CHARS_MAX],
        next_attempt_ms=0 if last else now_ms + pause_ms(row.attempts, terms, chance),
        updated_ms=now_ms,
    )


def pause_ms(attempts: int, terms: JobTerms, chance: float) -> int:
    """How long a job waits after so many failed attempts: between a half and the whole of what
    doubles with each of them, never more than the maximum. `chance` is at least 0 and below 1."""
    doublings = min(attempts, terms.backoff_max_ms.bit_length())
    longest_ms = min(terms.backoff_max_ms, terms.backoff_base_ms << doublings)
    return longest_ms - int(longest_ms * chance / 2)


def succeeded(row: JobRow, now_ms: int) -> JobRow:
    """Every file is gone."""
    return msgspec.structs.replace(
        row,
        state=State.SUCCEEDED,
        error="",
        phase="",
        failed=0,
        ledger=(),
        updated_ms=now_ms,
        elapsed_ms=max(now_ms - row.started_ms, 0),
    )


def released(row: JobRow, now_ms: int) -> JobRow:
    """A worker stops in the middle of an attempt, which does not count: anybody may go on."""
    return msgspec.structs.replace(
        row, state=State.PENDING, attempts=max(row.attempts - 1, 0), updated_ms=now_ms
    )


def awaiting(row: JobRow, why: str, now_ms: int, pause_ms: int) -> JobRow:
    """An attempt waits for storage of other tables: it does not count, and is made again soon."""
    return msgspec.structs.replace(
        released(row, now_ms), error=why[:ERROR_CHARS_MAX], next_attempt_ms=now_ms + pause_ms
    )


def cancelled(row: JobRow | None, by: str, now_ms: int = 0) -> JobRow:
    """An operator gives a job up. Who has it at this moment stays its owner, until he notices."""
    row = row or new_row()
    return msgspec.structs.replace(
        row,
        state=State.CANCELLED,
        owner=row.owner if row.state == State.RUNNING else "",
        error=f"cancelled by {by}",
        cancelled_by=by,
        next_attempt_ms=0,
        updated_ms=max(now_ms, row.updated_ms),
    )


def given_up(row: JobRow, cancelled: JobRow) -> JobRow:
    """The row of a worker that was told that its job is cancelled: with what it did until then."""
    return msgspec.structs.replace(
        row,
        state=cancelled.state,
        error=cancelled.error,
        cancelled_by=cancelled.cancelled_by,
    )


def redriven(row: JobRow | None, now_ms: int = 0) -> JobRow:
    """An operator wants a job to be tried again at once, as if for the first time."""
    row = row or new_row()
    return msgspec.structs.replace(
        row,
        state=State.PENDING,
        attempts=0,
        takeovers=0,
        next_attempt_ms=0,
        updated_ms=max(now_ms, row.updated_ms),
    )
