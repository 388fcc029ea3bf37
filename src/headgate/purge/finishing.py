"""The end of a job: it enters the history, leaves its catalog, and then its row goes.

Each step may be repeated, by anybody: whoever finds a job whose row says that it has ended goes on.
"""

import msgspec

from headgate.catalog.calls import ITSELF, Call, Caller, CatalogName
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGED, TASKS, LiveJob, PurgeJob, end_job, job_key
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.limits import INDEX_VALUE_BYTES_MAX
from headgate.purge.commits import commit
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import NONE_LEFT, Failed, LeftFiles, ledger_of

LEDGER_KEPT = 20
"""Lines of a ledger that are kept in the history."""
LINE_CHARS_MAX = 100
LEDGER_BYTES_KEPT = 4_096  # paths may be long
LEFT_BYTES_KEPT = 5_120  # of each list of files that are left, if an entry has room for them
ENTRY_SPARE_BYTES = 1_024  # for what encodes paths
PRUNED_PER_COMMIT = 64
_MS_PER_HOUR = 3_600_000


class FinishedJob(msgspec.Struct, frozen=True):
    """A job that has ended. It only gains fields: older programs leave them out."""

    metalake: str
    catalog: int
    catalog_name: str
    job: PurgeJob
    state: str
    finished_ms: int
    attempts: int = 0
    owner: str = ""
    error: str = ""
    started_ms: int = 0
    elapsed_ms: int = 0
    deleted: int = 0
    missing: int = 0
    bytes: int = 0
    expected: int = 0
    failed: int = 0
    ledger: tuple[Failed, ...] = ()
    kept: int = 0
    left_outside: LeftFiles = NONE_LEFT
    unreferenced: LeftFiles = NONE_LEFT

    @property
    def row(self) -> JobRow:
        """Its row, as far as it is kept."""
        return JobRow(
            self.state,
            attempts=self.attempts,
            owner=self.owner,
            error=self.error,
            started_ms=self.started_ms,
            updated_ms=self.finished_ms,
            deleted=self.deleted,
            missing=self.missing,
            bytes=self.bytes,
            expected=self.expected,
            failed=self.failed,
            ledger=self.ledger,
            kept=self.kept,
            elapsed_ms=self.elapsed_ms,
            left_outside=self.left_outside,
            unreferenced=self.unreferenced,
        )


_decoder = msgspec.msgpack.Decoder(FinishedJob)


def decode_finished(value: bytes) -> FinishedJob:
    """The job in these bytes of the history."""
    return _decoder.decode(value)


async def finish(
    kernel: Kernel, live: LiveJob, row: JobRow, retention_hours: int | None = None
) -> bool:
    """Bring a job whose row has ended to its end; whether this call took it out of its catalog.

    Jobs that ended longer ago than this are forgotten; None forgets none.
    """
    await _remember(kernel, live, row, retention_hours)

    def attempt(draft: Draft) -> bool:
        job = end_job(draft, live.id, files_left=row.state != State.SUCCEEDED)
        if job is None:
            return False  # another worker was faster
        draft.note(_note(live, job, row))
        return True

    ended = await commit(kernel, live.realm, head_pointer(live.catalog), attempt)
    await kernel.store.delete(live.realm, [live.id])
    return ended


async def _remember(
    kernel: Kernel, live: LiveJob, row: JobRow, retention_hours: int | None
) -> None:
    """Put a job into the history, and take old ones out, with what may be left of their rows."""
    key, value = job_key(live.id), msgspec.msgpack.encode(_finished(live, row))

    def attempt(draft: Draft) -> list[int]:
        index = draft.index(PURGED)
        if index.get(key) is None:
            index.put(key, value)
        if retention_hours is None:
            return []
        floor_ms = draft.now_ms - retention_hours * _MS_PER_HOUR
        old = [
            entry
            for entry, kept in _first(draft, PRUNED_PER_COMMIT)
            if entry != key and decode_finished(kept).finished_ms < floor_ms
        ]
        for entry in old:
            index.remove(entry)
        return [int.from_bytes(entry, "big") for entry in old]

    old = await commit(kernel, live.realm, TASKS, attempt)
    if old:
        await kernel.store.delete(live.realm, old)


def _first(draft: Draft, count: int) -> list[tuple[bytes, bytes]]:
    return [entry for entry, _ in zip(draft.index(PURGED).scan(), range(count), strict=False)]


def _finished(live: LiveJob, row: JobRow) -> FinishedJob:
    lines = [Failed(one.path, one.why[:LINE_CHARS_MAX]) for one in row.ledger[:LEDGER_KEPT]]
    finished = FinishedJob(
        live.metalake,
        live.catalog,
        live.catalog_name,
        live.job,
        row.state,
        row.updated_ms,
        attempts=row.attempts,
        owner=row.owner,
        error=row.error,
        started_ms=row.started_ms,
        elapsed_ms=row.elapsed_ms,
        deleted=row.deleted,
        missing=row.missing,
        bytes=row.bytes,
        expected=row.expected,
        failed=row.failed,
        kept=row.kept,
        left_outside=row.left_outside.shortened(0),
        unreferenced=row.unreferenced.shortened(0),
    )
    # The names of the table and of its locations may take most of an entry.
    used = len(msgspec.msgpack.encode(finished)) + ENTRY_SPARE_BYTES
    room = max(INDEX_VALUE_BYTES_MAX - used, 0)
    left_room = min(max(room - LEDGER_BYTES_KEPT, 0) // 2, LEFT_BYTES_KEPT)
    return msgspec.structs.replace(
        finished,
        ledger=ledger_of(lines, min(room, LEDGER_BYTES_KEPT)),
        left_outside=row.left_outside.shortened(left_room),
        unreferenced=row.unreferenced.shortened(left_room),
    )


def _note(live: LiveJob, job: PurgeJob, row: JobRow) -> dict[str, object]:
    """What the change log says."""
    where = CatalogName(live.metalake, live.catalog_name)
    if row.state == State.CANCELLED:
        call = Call(where, Caller(row.cancelled_by))
        return call.note("cancel-purge", "table", job.table, job=str(live.id))
    return Call(where, ITSELF).note(
        "purge",
        "table",
        job.table,
        job=str(live.id),
        files=row.deleted,
        bytes=row.bytes,
        elapsed_ms=row.elapsed_ms,
    )
