"""The workers of one process: they look for jobs, claim them and let them run, some at a time.

Metalakes take turns, and in each the principals that dropped tables. One slot more than a principal
may hold is there for all others, so that no number of large purges holds up theirs.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from headgate.catalog.purging import LiveJob
from headgate.errors import HeadgateError, LeaseLost
from headgate.limits import FETCH_IDS_MAX
from headgate.purge.claims import Claims, Key, key_of
from headgate.purge.jobs import JobRow
from headgate.purge.reading_turns import Turns
from headgate.purge.running import Runner

_MS = 1_000

logger = logging.getLogger(__name__)

Tenant = tuple[str, str]
"""A metalake, by its id, and the principal that dropped the table."""
Round = Callable[[], Awaitable[object]]
"""Other work in the background, done before each look: it may bring jobs."""


class Workers:
    """Jobs come from drops of this process, which are begun with at once, and from looks."""

    def __init__(
        self,
        runner: Runner,
        claims: Claims,
        chance: Callable[[], float],
        rounds: Sequence[Round] = (),
    ) -> None:
        terms = runner.terms
        self._queue = runner.stages.queue
        self._clock = runner.stages.kernel.clock
        self._claims = claims
        self._runner = runner
        self._terms = terms
        self._chance = chance
        self._rounds = rounds
        self._dropped: deque[LiveJob] = deque(maxlen=terms.batch_size)
        self._is_look_due = False
        self._has_more = False  # after the last look
        self._backlog: deque[LiveJob] = deque()
        self._running: set[Key] = set()
        self._held: Counter[Tenant] = Counter()
        self._explained: set[Key] = set()
        self._looking: asyncio.Task[None] | None = None
        self._slots: set[asyncio.Task[None]] = set()
        self._inline: set[asyncio.Task[JobRow | None]] = set()
        self._polling: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def running(self) -> int:
        """How many jobs run here now."""
        return len(self._running)

    def start(self) -> None:
        """Look for jobs now and then, from now on."""
        self._polling = asyncio.create_task(self._poll())

    async def close(self) -> None:
        """Stop; what is not done is left to others."""
        self._is_closed = True
        tasks = [self._polling, self._looking, *self._slots, *self._inline]
        stopped = [task for task in tasks if task is not None]
        for task in stopped:
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    def wake(self, live: LiveJob | None = None) -> None:
        """Begin with this job, if its purger is here; or look for all that are due.

        Without threads all of them are left to other processes.
        """
        if self._is_closed or not self._terms.worker_threads:
            return
        has_room = len(self._dropped) < self._terms.batch_size
        if live is not None and has_room and self._runner.can(live):
            self._dropped.append(live)
        else:
            self._is_look_due = True
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def run_now(self, live: LiveJob) -> asyncio.Task[JobRow | None]:
        """Claim a job and work on it, whatever else is done; None if another worker has it.

        Who waits for it may stop waiting: then it goes on all the same.
        """
        task = asyncio.create_task(self._run(live))
        self._inline.add(task)
        task.add_done_callback(self._inline.discard)
        return task

    async def idle(self) -> None:
        """Wait until everything that can be done now is done."""
        while tasks := [*self._slots, *self._inline, *filter(None, [self._looking])]:
            await asyncio.wait(tasks)

    async def _poll(self) -> None:
        """For ever; servers that start together do not look together."""
        while True:
            for round in self._rounds:
                try:
                    await round()
                except Exception as error:  # noqa: BLE001  whatever it is, it is tried again
                    _warn("work in the background failed: %s", error)
            self.wake()
            await self._clock.sleep(self._terms.poll_ms / _MS * (0.5 + self._chance()))

    async def _look(self) -> None:
        try:
            while self._is_look_due or self._dropped:
                self._backlog = deque(_by_turns([*self._backlog, *await self._found()]))
                self._fill()
        except Exception as error:  # noqa: BLE001  whatever it is, the next look may work
            _warn("looking for purges failed: %s", error)
        finally:
            self._looking = None

    async def _found(self) -> list[LiveJob]:
        """What is to be done now: all that is due, or what was dropped here a moment ago."""
        if not self._is_look_due:
            jobs = list(self._dropped)
            self._dropped.clear()
            return jobs
        self._is_look_due = False
        self._dropped.clear()
        jobs = await self._queue.live_jobs()
        self._claims.forget_others(jobs)
        busy = self._running | {key_of(live) for live in self._backlog}
        free = [live for live in jobs if key_of(live) not in busy and self._runner.can(live)]
        await self._explain([live for live in jobs if not self._runner.can(live)])
        free = _by_turns(free)
        due: list[LiveJob] = []
        for start in range(0, len(free), FETCH_IDS_MAX):
            due += await self._claims.due(free[start : start + FETCH_IDS_MAX])
            if len(due) >= self._terms.batch_size:
                break
        self._has_more = len(due) >= self._terms.batch_size
        return due[: self._terms.batch_size]

    async def _explain(self, jobs: list[LiveJob]) -> None:
        """Say once of each job why nobody begins with it here."""
        new = [live for live in jobs if key_of(live) not in self._explained]
        for live in new[: self._terms.batch_size]:
            why = f"purger {live.job.purger!r} is not configured on {self._claims.owner}"
            logger.warning("job %d is left alone: %s", live.id, why)
            await self._claims.explain(live, why)
            self._explained.add(key_of(live))
        self._explained &= {key_of(live) for live in jobs}

    def _fill(self) -> None:
        """Let as many jobs run as may."""
        while len(self._slots) <= self._terms.worker_threads:
            live = self._taken()
            if live is None:
                return
            self._slots.add(asyncio.create_task(self._slot(live)))

    def _taken(self) -> LiveJob | None:
        """The next job of the backlog whose principal may hold one more slot, which it holds from
        now on."""
        for live in self._backlog:
            if self._held[_tenant(live)] < self._terms.worker_threads:
                self._backlog.remove(live)
                self._held[_tenant(live)] += 1
                return live
        return None

    def _leave(self, live: LiveJob) -> None:
        """Let the next job of a principal have the slot."""
        self._held[_tenant(live)] -= 1
        self._held += Counter()  # keeps those that hold one

    async def _slot(self, live: LiveJob) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._work_off(live)
        finally:
            self._slots.discard(task)  # at once: whoever fills the slots counts them

    async def _work_off(self, first: LiveJob) -> None:
        """One job of the backlog after the other."""
        has_claimed = False
        live: LiveJob | None = first
        while live is not None:
            try:
                has_claimed |= await self._run(live) is not None
            except LeaseLost as error:
                logger.info("%s", error)
            except Exception as error:  # noqa: BLE001  whatever it is, others are done
                _warn(f"job {live.id} was left: %s", error)
            finally:
                self._leave(live)
            live = self._taken()
        if self._has_more and has_claimed:
            self.wake()

    async def _run(self, live: LiveJob) -> JobRow | None:
        key = key_of(live)
        if key in self._running or self._is_closed:
            return None
        self._running.add(key)
        try:
            lease = await self._claims.claim(live)
            return None if lease is None else await self._runner.run(lease)
        finally:
            self._running.discard(key)


def _tenant(live: LiveJob) -> Tenant:
    return live.realm, live.job.created_by


def _by_turns(jobs: Iterable[LiveJob]) -> list[LiveJob]:
    return list(Turns((_tenant(live), live) for live in jobs))


def _warn(text: str, error: Exception) -> None:
    logger.warning(text, error, exc_info=not isinstance(error, HeadgateError))
