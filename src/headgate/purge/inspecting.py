"""Looking at purge jobs: those under way, with their rows, and those that ended lately.

A job that ends is in the history before it leaves its catalog, and its row goes last. So the
catalogs are read first, then the rows, then the history: then no job is missed.
"""

import difflib
import heapq
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from headgate.catalog.purging import LiveJob
from headgate.errors import BadRequest, JobNotFound
from headgate.ids import ID_MAX
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import expect
from headgate.limits import FETCH_IDS_MAX, JOBS_MAX
from headgate.purge.history import check_metalake, finished_job, finished_jobs
from headgate.purge.job_states import State
from headgate.purge.job_views import JobSummary, JobView, summary, view
from headgate.purge.jobs import JobRow
from headgate.purge.queue import Queue

Sees = Callable[[LiveJob], Awaitable[bool]]
"""Tells whether somebody may know of a job."""


async def everything(_live: LiveJob) -> bool:
    """What an operator sees."""
    return True


class Wanted(NamedTuple):
    """Which jobs are asked for; what is empty does not matter."""

    metalake: str = ""
    catalog: str = ""
    state: str = ""

    def has(self, live: LiveJob) -> bool:
        """Whether a job is where these are."""
        return self.metalake in {"", live.metalake} and self.catalog in {"", live.catalog_name}


class Found(NamedTuple):
    """A job as it is now."""

    live: LiveJob
    row: JobRow | None
    version: int = 0
    """Of its row; 0 if there is none."""
    has_ended: bool = False
    """Its catalog knows it no more."""

    @property
    def state(self) -> str:
        """Where it is in its life."""
        return State.PENDING if self.row is None else self.row.state

    @property
    def view(self) -> JobView:
        """As operators see it."""
        return view(self.live, self.row)


class JobPage(NamedTuple):
    """Some jobs, the newest first, and the token for those behind them."""

    jobs: Sequence[JobSummary]
    next: str | None


class Inspector:
    """Looks at the jobs of all metalakes."""

    def __init__(self, kernel: Kernel, queue: Queue | None = None) -> None:
        self._kernel = kernel
        self._queue = queue or Queue(kernel)

    async def page(
        self, wanted: Wanted, limit: int, after: int | None = None, sees: Sees = everything
    ) -> JobPage:
        """The newest jobs that are wanted and may be seen, or those that follow after one."""
        if wanted.metalake:
            await check_metalake(self._kernel, wanted.metalake)
        most, before = min(limit, JOBS_MAX), ID_MAX if after is None else after
        live = {one.live.id: one for one in await self._under_way(wanted, most, before, sees)}
        ended: list[tuple[int, Found]] = []
        async for one in self._ended(wanted.metalake, before):
            live.pop(one.live.id, None)  # it ended meanwhile
            if wanted.has(one.live) and wanted.state in {"", one.state} and await sees(one.live):
                _keep_newest(ended, one, most + 1)
        known = live | dict(ended)
        newest = sorted(known.values(), key=lambda one: -one.live.id)
        shown = [summary(one.view) for one in newest[:most]]
        return JobPage(shown, shown[-1].id if len(newest) > most else None)

    async def find(self, id: int, sees: Sees = everything) -> Found:
        """The job of this id; `JobNotFound` if it is not there, may not be seen, or ended long ago.

        What may not be seen is looked for as long as what is not there.
        """
        for live in await self._queue.live_jobs(switched_off=True):
            if live.id == id and await sees(live):
                [found] = await self._with_rows([live])
                if found.row is not None:
                    return found
                return await self._in_history(id) or found
        ended = await self._in_history(id)
        if ended is None or not await sees(ended.live):
            raise no_job(str(id))
        return ended

    async def all_live(self) -> list[Found]:
        """All jobs that are recorded in catalogs, with their rows.

        Of those that wait for the end of their grace period no row is read: nobody has begun with
        them, and there may be very many.
        """
        now_ms = self._kernel.clock.wall_ms()
        jobs = await self._queue.live_jobs(switched_off=True)
        waiting = [one for one in jobs if one.job.is_in_grace(now_ms)]
        others = [one for one in jobs if not one.job.is_in_grace(now_ms)]
        return [*(Found(one, None) for one in waiting), *await self._with_rows(others)]

    async def _under_way(self, wanted: Wanted, most: int, before: int, sees: Sees) -> list[Found]:
        """The newest of those that are recorded in catalogs, and one more if there is."""
        jobs = [one for one in await self._queue.live_jobs(switched_off=True) if one.id < before]
        jobs = sorted(filter(wanted.has, jobs), key=lambda one: -one.id)
        found: list[Found] = []
        for at in range(0, len(jobs), FETCH_IDS_MAX):
            seen = [one for one in jobs[at : at + FETCH_IDS_MAX] if await sees(one)]
            rows = await self._with_rows(seen)
            found += [one for one in rows if wanted.state in {"", one.state}]
            if len(found) > most:
                break
        return found

    async def _ended(self, metalake: str, before: int) -> AsyncIterator[Found]:
        """Those that ended, of one metalake or of all."""
        async for live, row in finished_jobs(self._kernel, before, metalake):
            yield Found(live, row, has_ended=True)

    async def _in_history(self, id: int) -> Found | None:
        ended = await finished_job(self._kernel, id)
        return None if ended is None else Found(*ended, has_ended=True)

    async def _with_rows(self, jobs: Iterable[LiveJob]) -> list[Found]:
        """These jobs with their rows, in the same order."""
        jobs = list(jobs)
        by_realm: dict[str, list[int]] = {}
        for live in jobs:
            by_realm.setdefault(live.realm, []).append(live.id)
        rows: dict[int, tuple[JobRow, int]] = {}
        for realm, ids in by_realm.items():
            for at in range(0, len(ids), FETCH_IDS_MAX):
                piece = ids[at : at + FETCH_IDS_MAX]
                for id, one in (await self._kernel.store.read_versioned(realm, piece)).items():
                    rows[id] = expect(one.value, JobRow, id), one.version
        return [Found(live, *rows.get(live.id, (None, 0))) for live in jobs]


def _keep_newest(heap: list[tuple[int, Found]], one: Found, most: int) -> None:
    """Put a job into a heap by its id, which has so many at most."""
    heapq.heappush(heap, (one.live.id, one))
    if len(heap) > most:
        heapq.heappop(heap)


def check_state(state: str) -> str:
    """The state of this name, in any case; `BadRequest` if there is none."""
    name = state.upper().replace("-", "_")
    if name in State.__members__:
        return name
    nearest = difflib.get_close_matches(name[:80], list(State), n=1)
    meant = f"; the nearest known one is {nearest[0]}" if nearest else ""
    raise BadRequest(
        "Cannot list the jobs",
        why=f"there is no state {state[:80]!r}{meant}",
        fix=f"Use one of {', '.join(State)}",
    )


def job_id(text: str) -> int:
    """The id of a job from what somebody wrote; `BadRequest` if it cannot be one."""
    if text.isascii() and text.isdigit() and 0 < int(text[:20]) <= ID_MAX and len(text) <= 20:
        return int(text)
    raise BadRequest(
        f"Invalid job id: {text[:80]!r}",
        why="it is no whole number of 64 bits",
        fix="`headgate jobs list` shows the ids",
    )


def no_job(id: str) -> JobNotFound:
    """What to say of a job that is not there."""
    return JobNotFound(
        f"Job does not exist: {id}",
        why="no purge has this id, or its table was undropped, or it ended long ago",
        fix="`headgate jobs list` shows those that are kept",
    )
