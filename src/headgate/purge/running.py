"""One claimed job: its attempt, the heartbeat beside it, and what is written when it is over."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from headgate.catalog.events import EventBus, PurgeCompleted, PurgeFailed, PurgeStarted, facts_of
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import LiveJob, begin_job
from headgate.errors import HeadgateError, LeaseLost, StorageAwaited, Unavailable
from headgate.kernel.draft import Draft
from headgate.limits import OUTAGE_PAUSE_SECONDS
from headgate.purge.claims import Key, Lease, key_of
from headgate.purge.commits import commit
from headgate.purge.fence import Fence, new_fence
from headgate.purge.finishing import finish
from headgate.purge.job_states import ENDED, State
from headgate.purge.jobs import (
    JobRow,
    JobTerms,
    awaiting,
    given_up,
    is_deadly,
    postponed,
    released,
    succeeded,
)
from headgate.purge.stages import Attempt, JobGoneError, Stages

BUILT_IN = frozenset({"async", "synchronous"})
"""Purgers whose jobs `Stages` does."""
WITH_SPARK = BUILT_IN | {"spark"}
"""The same where there is Spark."""
BEAT_SECONDS = 1.0
"""Between heartbeats that tell something new."""
BEATS_PER_LEASE = 3
"""At least, also if there is nothing to tell."""
RELEASE_SECONDS = 1.0
"""That giving a job back may take when the server stops."""
WAITING_KNOWN_MAX = 10_000
"""Jobs that wait for storage; of more, some attempts are published once more."""
_MS = 1_000

logger = logging.getLogger(__name__)


class Purger(Protocol):
    """A purger of a third party."""

    async def purge(self, live: LiveJob) -> None:
        """Deal with the table of a job."""
        ...


class Runner:
    """Works on claimed jobs, one call for each."""

    def __init__(
        self,
        stages: Stages,
        events: EventBus,
        chance: Callable[[], float],
        purgers: Mapping[str, Purger] = {},
        built_in: frozenset[str] = BUILT_IN,
    ) -> None:
        self.stages = stages
        self.terms = stages.terms
        self.purgers = purgers
        """Those of third parties, by name."""
        self._built_in = built_in
        self._kernel = stages.kernel
        self._queue = stages.queue
        self._events = events
        self._chance = chance
        self._waiting: set[Key] = set()
        """Jobs that wait for storage, whose attempt has been published."""

    def can(self, live: LiveJob) -> bool:
        """Whether the purger that a job is for is here."""
        return live.job.purger in self._built_in or live.job.purger in self.purgers

    async def run(self, lease: Lease) -> JobRow:
        """Bring a job to its end, or as far as it goes now; its row then.

        Whatever fails is written to the row. `LeaseLost` if the job is not ours any more.
        """
        live = lease.live
        if lease.row.state in ENDED:
            return await self._finished(live, lease.row)
        attempt = Attempt(lease)
        try:
            found = await self._queue.find(live)
            if found is None:
                raise JobGoneError
            _check_survivable(lease, self.terms)
            await self._with_heartbeat(found, attempt)
        except JobGoneError:
            return await self._forget(lease)
        except LeaseLost:
            return await self._lost(attempt)
        except asyncio.CancelledError:
            await self._release(attempt)
            raise
        except StorageAwaited as error:
            return await self._wait(attempt, error)
        except Exception as error:  # noqa: BLE001  whatever it is, it is tried again
            return await self._postpone(attempt, error)
        return await self._succeed(attempt)

    async def _with_heartbeat(self, live: LiveJob, attempt: Attempt) -> None:
        """Work on a job as long as the heart beats."""
        with new_fence(self._kernel.clock) as fence:
            fence.extend(attempt.lease.deadline)
            heart = asyncio.create_task(self._beat_for_ever(attempt, fence))
            work = asyncio.create_task(self._work(live, attempt, fence))
            try:
                await asyncio.wait({heart, work}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (heart, work):
                    task.cancel()
                # Nothing is deleted any more when this is over.
                ends = await asyncio.gather(heart, work, return_exceptions=True)
        for end in reversed(ends):
            if isinstance(end, Exception):
                raise end
        if work.cancelled():  # by itself, and not by us: it did not come to its end
            raise Unavailable("The purge was broken off", why="what it waited for was cancelled")

    async def _work(self, live: LiveJob, attempt: Attempt, fence: Fence) -> None:
        job = live.job
        if job.not_before_ms and not job.begun:
            begun = await commit(self._kernel, live.realm, head_pointer(live.catalog), _begin(live))
            if not begun:
                raise JobGoneError
        if key_of(live) in self._waiting:  # the same attempt goes on
            self._waiting.discard(key_of(live))
        else:
            self._events.publish(PurgeStarted(**facts_of(live, self._now_ms())))
        if job.purger in self._built_in:
            await self.stages.run(live, attempt, fence.path)
        else:  # a third party's files are never deleted by anybody else
            await self.purgers[job.purger].purge(live)

    async def _beat_for_ever(self, attempt: Attempt, fence: Fence) -> None:
        lease, clock = attempt.lease, self._kernel.clock
        longest = self.terms.lease_ms / _MS / BEATS_PER_LEASE
        while True:
            await clock.sleep(min(BEAT_SECONDS, longest))
            if attempt.has_news or lease.age() >= longest:
                attempt.has_news = False
                try:
                    await lease.beat(attempt.row(self._now_ms()))
                    fence.extend(lease.deadline)
                except LeaseLost:
                    raise
                except HeadgateError as error:
                    attempt.has_news = True
                    logger.warning("the heartbeat of job %d failed: %s", lease.live.id, error)
            if not lease.holds():
                raise LeaseLost(
                    f"job {lease.live.id} is not worked on here any more",
                    why="its row could not be renewed in time",
                )

    async def _succeed(self, attempt: Attempt) -> JobRow:
        lease, now_ms = attempt.lease, self._now_ms()
        row = succeeded(attempt.row(now_ms), now_ms)
        try:
            await lease.end(row)
        except LeaseLost:
            return await self._lost(attempt)
        return await self._finished(lease.live, row)

    async def _postpone(self, attempt: Attempt, error: Exception) -> JobRow:
        lease, now_ms = attempt.lease, self._now_ms()
        row = postponed(attempt.row(now_ms), str(error), now_ms, self.terms, self._chance())
        unexpected = not isinstance(error, HeadgateError)
        table = lease.live.job.table
        logger.warning(
            "table %s is not purged yet (job %d, attempt %d): %s",
            table,
            lease.live.id,
            row.attempts,
            error,
            exc_info=unexpected and error,
        )
        try:
            await lease.end(row)
        except LeaseLost:
            return await self._lost(attempt)
        if row.state == State.DEAD_LETTER:
            facts = facts_of(lease.live, now_ms)
            self._events.publish(PurgeFailed(reason=row.error, attempts=row.attempts, **facts))
        return row

    async def _wait(self, attempt: Attempt, error: StorageAwaited) -> JobRow:
        """Try again soon, however often: what is waited for has an end."""
        lease, now_ms = attempt.lease, self._now_ms()
        row = awaiting(attempt.row(now_ms), str(error), now_ms, int(OUTAGE_PAUSE_SECONDS * _MS))
        logger.info("job %d waits: %s", lease.live.id, error)
        if len(self._waiting) >= WAITING_KNOWN_MAX:  # other servers may have ended some
            self._waiting.clear()
        self._waiting.add(key_of(lease.live))
        try:
            await lease.end(row)
        except LeaseLost:
            return await self._lost(attempt)
        return row

    async def _release(self, attempt: Attempt) -> None:
        """Let others go on at once. A third party's thread goes on by itself: its job waits."""
        lease = attempt.lease
        if lease.live.job.purger in self.purgers:
            return
        now_ms = self._now_ms()
        with suppress(HeadgateError, TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                await lease.end(released(attempt.row(now_ms), now_ms))

    async def _lost(self, attempt: Attempt) -> JobRow:
        """Somebody else has the job, or an operator gave it up: now nobody deletes any more."""
        lease = attempt.lease
        now = await lease.current()
        if now is not None and now.state == State.CANCELLED and now.owner == lease.row.owner:
            return await self._finished(lease.live, given_up(attempt.row(self._now_ms()), now))
        raise LeaseLost(
            f"job {lease.live.id} is not worked on here any more",
            why="another worker has it" if now else "it has ended",
        )

    async def _forget(self, lease: Lease) -> JobRow:
        """The job has ended before it was claimed: the claim made the row anew."""
        await self._kernel.store.delete(lease.live.realm, [lease.live.id])
        return lease.row

    async def _finished(self, live: LiveJob, row: JobRow) -> JobRow:
        hours = self.terms.completed_retention_hours
        if await finish(self._kernel, live, row, hours) and row.state == State.SUCCEEDED:
            self._events.publish(
                PurgeCompleted(
                    elapsed_ms=row.elapsed_ms,
                    files=row.deleted,
                    bytes=row.bytes,
                    kept=row.kept,
                    outside=row.left_outside.count,
                    outside_paths=row.left_outside.paths,
                    unreferenced=row.unreferenced.count,
                    unreferenced_paths=row.unreferenced.paths,
                    **facts_of(live, self._now_ms()),
                )
            )
        return row

    def _now_ms(self) -> int:
        return self._kernel.clock.wall_ms()


def _begin(live: LiveJob) -> Callable[[Draft], bool]:
    return lambda draft: begin_job(draft, live.id) is not None


def _check_survivable(lease: Lease, terms: JobTerms) -> None:
    """Refuse a job with which worker after worker fell silent: it may be what ends them."""
    row, id = lease.row, lease.live.id
    if is_deadly(row, terms):
        raise Unavailable(
            f"{row.takeovers} workers in a row fell silent and deleted nothing more",
            why=f"this job may end its workers; the last was {row.taken_from}",
            fix="Look there for a process that was killed, most likely for want of memory; then "
            f"run `headgate jobs retry {id}`",
        )
