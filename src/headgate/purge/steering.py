"""What operators do to purge jobs: let them be tried again, give them up, undo the drop.

It is done by compare-and-swap on a job's row or in its catalog, while workers go on.
"""

from collections.abc import Callable
from contextlib import suppress

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.openings import Opened, head_pointer
from headgate.catalog.purging import LiveJob, PurgeJob, begin_job
from headgate.catalog.undropping import undrop
from headgate.errors import BackendUnavailable, Conflict, OutcomeUnknown, RealmNotActive
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import Outcome
from headgate.limits import RESOLVE_TRIES_MAX
from headgate.model.names import Identifier
from headgate.purge.commits import commit
from headgate.purge.finishing import finish
from headgate.purge.inspecting import Found, Inspector, no_job
from headgate.purge.job_states import ENDED, State
from headgate.purge.jobs import JobRow, cancelled, redriven

Change = Callable[[Found], JobRow | None]
"""The new row of a job; None if it is to stay as it is."""


class Steering:
    """Changes the jobs that an inspector finds."""

    def __init__(self, kernel: Kernel, inspector: Inspector) -> None:
        self._kernel = kernel
        self._inspector = inspector

    async def retry(self, id: int) -> Found:
        """Let a job that waits, or that failed too often, be tried at once as if it were new."""

        def change(found: Found) -> JobRow | None:
            now_ms = self._kernel.clock.wall_ms()
            _check_open(found, "tried again")
            if found.state == State.RUNNING:
                raise _refused(found, "tried again", "a worker has it", "Wait until it has ended")
            if found.live.job.is_in_grace(now_ms):
                raise _refused(
                    found,
                    "tried again",
                    "its grace period is not over",
                    "Wait for its end, until which the table can be undropped; or end it now: "
                    f"`headgate jobs retry {id} --end-grace`",
                )
            return None if found.row is None else redriven(found.row, now_ms)

        return await self._changed(id, change)

    async def end_grace(self, id: int, by: str) -> Found:
        """Let a job be tried at once though its grace period is not over: from now on its table
        cannot come back."""
        found = await self._inspector.find(id)
        _check_open(found, "tried")
        live, now_ms = found.live, self._kernel.clock.wall_ms()
        if found.state != State.RUNNING and live.job.is_in_grace(now_ms):
            pointer = head_pointer(live.catalog)
            if await commit(self._kernel, live.realm, pointer, _ending_grace(live, by)) is None:
                raise no_job(str(id))  # it was undropped a moment ago
        return await self.retry(id)

    async def cancel(self, id: int, by: str) -> Found:
        """Give a job up: what is left of its files stays, and their place becomes free.

        A worker that has it stops with its next heartbeat: until then it may delete, so the place
        stays taken.
        """
        was_running = False

        def change(found: Found) -> JobRow:
            nonlocal was_running
            _check_open(found, "cancelled")
            was_running = found.state == State.RUNNING
            return cancelled(found.row, by, self._kernel.clock.wall_ms())

        found = await self._changed(id, change)
        if not was_running and found.row is not None:
            with suppress(RealmNotActive):  # a worker does so when it is switched on again
                await finish(self._kernel, found.live, found.row)
        return found

    async def undrop(self, opened: Opened, found: Found, to: Identifier | None) -> Identifier:
        """Restore the table of a job, under its own name or another; the name."""
        live = found.live
        if found.has_ended or found.state in ENDED:
            raise _ended_table(found)
        if (opened.realm.id, opened.catalog.id) != (live.realm, live.catalog):
            raise Conflict(
                f"Table {live.job.table} cannot be undropped",
                why="its catalog was dropped",
                fix=f"What is left of its files can be kept: `headgate jobs cancel {live.id}`",
            )
        name = await undrop(opened, live.id, live.job.table, to)
        await self._forget_row(live.realm, live.id)
        return name

    async def _changed(self, id: int, change: Change) -> Found:
        """Change the row of a job by a function of what it is; the job as it is then."""
        sent: set[int] = set()
        for _ in range(RESOLVE_TRIES_MAX):
            found = await self._inspector.find(id)
            if found.version in sent:
                return found  # it was written, though nobody said so
            row = change(found)
            if row is None:
                return found
            version = self._kernel.ids.next()
            sent.add(version)
            if await self._write(found, row, version):
                return found._replace(row=row, version=version)
        raise BackendUnavailable(
            f"job {id} cannot be changed",
            why="a worker changed it again and again",
            fix="Try again",
        )

    async def _write(self, found: Found, row: JobRow, version: int) -> bool:
        """Whether the row of a job certainly is this one now."""
        store, (realm, id) = self._kernel.store, (found.live.realm, found.live.id)
        try:
            if found.row is None:
                outcome = await store.insert(realm, id, row, version)
            else:
                outcome = await store.update(
                    realm, id, row, expected=found.version, version=version
                )
        except OutcomeUnknown:
            return False  # it may even still happen
        return outcome is Outcome.APPLIED

    async def _forget_row(self, realm: str, id: int) -> None:
        """Remove what is left of a job that is no more. If it stays, nobody looks at it."""
        store = self._kernel.store
        row = (await store.read_versioned(realm, [id])).get(id)
        if row is not None:
            await store.remove(realm, id, row.version)


def _ending_grace(live: LiveJob, by: str) -> Callable[[Draft], PurgeJob | None]:
    """Begins a job, and says who wanted it."""
    call = Call(CatalogName(live.metalake, live.catalog_name), Caller(by))

    def attempt(draft: Draft) -> PurgeJob | None:
        job = begin_job(draft, live.id)
        if job is not None:
            draft.note(call.note("end-grace", "table", job.table, job=str(live.id)))
        return job

    return attempt


def _check_open(found: Found, done: str) -> None:
    if found.has_ended or found.state in ENDED:
        why, fix = f"it has ended and is {found.state}", "Nothing is left to be done"
        if found.state == State.CANCELLED:
            job = found.live.job
            places = ", ".join(job.reserved or (job.metadata_location,))
            fix = f"What is left of its files is in {places}"
        raise _refused(found, done, why, fix)


def _refused(found: Found, done: str, why: str, fix: str) -> Conflict:
    return Conflict(f"Job {found.live.id} cannot be {done}", why=why, fix=fix)


def _ended_table(found: Found) -> Conflict:
    job = found.live.job
    if found.state == State.CANCELLED:
        why = "its purge was cancelled, and its place is free"
        fix = f"Register it again if its files are all there: {job.metadata_location}"
    else:
        why, fix = "its files are deleted", "Restore it from a backup"
    return Conflict(f"Table {job.table} cannot be undropped", why=why, fix=fix)
