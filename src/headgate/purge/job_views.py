"""Purge jobs as operators see them: one form for what is under way and for what has ended. Pure."""

import msgspec

from headgate.catalog.purging import LiveJob, PurgeJob, can_come_back
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, new_row

_MS_PER_SECOND = 1_000


class LedgerLine(msgspec.Struct, frozen=True):
    """A file that could not be deleted."""

    path: str
    why: str


class JobSummary(msgspec.Struct, frozen=True, rename="kebab"):
    """A purge job in a list."""

    id: str
    """As text: it exceeds what many JSON readers can count to."""
    metalake: str
    catalog: str
    table: tuple[str, ...]
    """The name that the table had, level by level."""
    metadata_location: str
    """Its last metadata file, which leads to all others."""
    places: tuple[str, ...]
    """Its own: nothing else may lie there until all is deleted."""
    state: str
    """PENDING, RUNNING, SUCCEEDED, DEAD_LETTER or CANCELLED."""
    purger: str
    attempts: int
    phase: str
    files_deleted: int
    files_missing: int
    """That somebody else had deleted."""
    files_expected: int
    """That were found so far; it grows while the table is walked through."""
    files_failed: int
    """That the last attempt could not delete."""
    files_kept: int
    """That stay because other tables refer to them."""
    files_outside: int
    """That its metadata names and that stay, as they are outside of its own locations."""
    files_unreferenced: int
    """That stay in its own locations, as nothing refers to them."""
    bytes_deleted: int
    files_per_second: float
    """Of the last attempt; of a job that has ended, from its beginning."""
    estimated_end_ms: int | None
    """By that rate, of what was found so far; null if it does not run."""
    error: str
    """Why the last attempt failed; empty if none did."""
    worker: str
    """That has it, or had it last: host and process."""
    dropped_by: str
    request: str
    """The id of the request that dropped the table."""
    created_ms: int
    """When the table was dropped."""
    grace_end_ms: int | None
    """Until then nobody works on it; null if it had no grace period."""
    can_undrop: bool
    """Whether the table can still come back."""
    started_ms: int | None
    """When it was first tried."""
    updated_ms: int | None
    next_attempt_ms: int | None
    """When it is tried again; null if it is not, or at once."""
    elapsed_ms: int
    """Since it was first tried, until it ended."""

    @property
    def files_done(self) -> int:
        """Files that are gone."""
        return self.files_deleted + self.files_missing

    @property
    def has_ended(self) -> bool:
        """Whether nobody works on it any more, unless an operator says so."""
        return self.state in _ENDS


class JobView(JobSummary, frozen=True, rename="kebab"):
    """All of a purge job."""

    ledger: tuple[LedgerLine, ...]
    """The first of the files that could not be deleted."""
    outside: tuple[str, ...]
    """The first of the files that stay outside of its own locations."""
    unreferenced: tuple[str, ...]
    """The first of the files that stay in its own locations."""


_ENDS = {State.SUCCEEDED, State.DEAD_LETTER, State.CANCELLED}


def view(live: LiveJob, row: JobRow | None) -> JobView:
    """A job by what its catalog says of it, and by its row."""
    job, row = live.job, row or new_row()
    rate = _rate(row)
    return JobView(
        id=str(live.id),
        metalake=live.metalake,
        catalog=live.catalog_name,
        table=(*job.table.namespace, job.table.name),
        metadata_location=job.metadata_location,
        places=job.reserved,
        state=row.state,
        purger=job.purger,
        attempts=row.attempts,
        phase=row.phase,
        files_deleted=row.deleted,
        files_missing=row.missing,
        files_expected=row.expected,
        files_failed=row.failed,
        files_kept=row.kept,
        files_outside=row.left_outside.count,
        files_unreferenced=row.unreferenced.count,
        bytes_deleted=row.bytes,
        files_per_second=round(rate, 1),
        estimated_end_ms=_estimated_end(row, rate),
        error=row.error,
        worker=row.owner,
        dropped_by=job.created_by,
        request=job.request,
        created_ms=job.created_ms,
        grace_end_ms=job.not_before_ms or None,
        can_undrop=_can_undrop(job, row),
        started_ms=row.started_ms or None,
        updated_ms=row.updated_ms or None,
        next_attempt_ms=row.next_attempt_ms or None,
        elapsed_ms=row.elapsed_ms,
        ledger=tuple(LedgerLine(one.path, one.why) for one in row.ledger),
        outside=row.left_outside.paths,
        unreferenced=row.unreferenced.paths,
    )


def summary(whole: JobView) -> JobSummary:
    """The same without what is long."""
    fields = JobSummary.__struct_fields__
    return JobSummary(**{name: getattr(whole, name) for name in fields})


def _can_undrop(job: PurgeJob, row: JobRow) -> bool:
    is_open = row.state in {State.PENDING, State.RUNNING, State.DEAD_LETTER}
    return is_open and can_come_back(job)


def _rate(row: JobRow) -> float:
    """Files that were deleted in a second."""
    took_ms = row.updated_ms - row.claimed_ms if row.claimed_ms else row.elapsed_ms
    return (row.deleted - row.claimed_deleted) * _MS_PER_SECOND / took_ms if took_ms > 0 else 0.0


def _estimated_end(row: JobRow, rate: float) -> int | None:
    left = row.expected - row.deleted - row.missing
    if row.state != State.RUNNING or rate <= 0 or left < 0:
        return None
    return row.updated_ms + int(left * _MS_PER_SECOND / rate)
