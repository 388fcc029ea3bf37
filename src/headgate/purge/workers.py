"""The workers of one process: they look for jobs, claim them and let them run, some at a time.

Metalakes take turns, and in each the principals that dropped tables. Two slots more than a
principal may hold are there for others, one of them for other metalakes, so that no number of large
purges holds up theirs. Drops that wait for their purge take turns as well.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from headgate.catalog.purging import LiveJob
from headgate.errors import HeadgateError, LeaseLost
from headgate.limits import FETCH_IDS_MAX
from headgate.purge.claims import Claims, Key, key_of
from headgate.purge.jobs import JobRow
from headgate.purge.reading_turns import Turns
from headgate.purge.running import Runner
from headgate.workers.slots import shared
from headgate.workers.turns import Held, Tenant

_MS = 1_000

logger = logging.getLogger(__name__)

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
        self._held = Held(shared(max(1, terms.worker_threads)))
        self._awaited: dict[Key, asyncio.Future[JobRow | None]] = {}
        """What becomes of jobs of the backlog that drops wait for."""
        self._explained: set[Key] = set()
        self._looking: asyncio.Task[None] | None = None
        self._slots: set[asyncio.Task[None]] = set()
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
        tasks = [self._polling, self._looking, *self._slots]
        stopped = [task for task in tasks if task is not None]
        for end in self._awaited.values():
            end.cancel()
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

    def run_now(self, live: LiveJob) -> asyncio.Future[JobRow | None]:
        """Claim a job and work on it, before all others of its principal; None if another worker
        has it.

        A drop that waits for it may stop waiting: then it goes on all the same.
        """
        key = key_of(live)
        end: asyncio.Future[JobRow | None] = asyncio.get_running_loop().create_future()
        if self._is_closed or key in self._running or key in self._awaited:
            end.set_result(None)
            return end
        self._awaited[key] = end
        others = [one for one in self._backlog if key_of(one) != key]
        tenants, own = [_tenant(one) for one in others], _tenant(live)
        others.insert(tenants.index(own) if own in tenants else len(tenants), live)
        self._backlog = deque(_by_turns(others))
        self._fill()
        return end

    async def idle(self) -> None:
        """Wait until everything that can be done now is done."""
        while tasks := [*self._slots, *filter(None, [self._looking])]:
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
                found = await self._found()  # jobs leave the backlog meanwhile, and come to it
                busy = self._running | {key_of(live) for live in self._backlog}
                new = [live for live in found if key_of(live) not in busy]
                self._backlog = deque(_by_turns([*self._backlog, *new]))
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
        while (live := self._taken()) is not None:
            self._slots.add(asyncio.create_task(self._slot(live)))

    def _taken(self) -> LiveJob | None:
        """The next job of the backlog whose tenant may hold one more slot, which it holds from now
        on."""
        full: set[Tenant] = set()
        for number, live in enumerate(self._backlog):
            tenant = _tenant(live)
            if tenant in full:
                continue
            if self._held.has_room(tenant):
                del self._backlog[number]
                self._held.add(tenant, 1)
                return live
            full.add(tenant)
        return None

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
            end = self._awaited.get(key_of(live))
            try:
                row = await self._run(live)
                has_claimed |= row is not None
                if end is not None and not end.done():
                    end.set_result(row)
            except Exception as error:  # noqa: BLE001  whatever it is, others are done
                _report(live, error, end)
            finally:
                self._held.add(_tenant(live), -1)
                self._forget(live, end)
            live = self._taken()
            self._fill()  # one slot may be what jobs of two tenants waited for
        if self._has_more and has_claimed:
            self.wake()

    def _forget(self, live: LiveJob, end: asyncio.Future[JobRow | None] | None) -> None:
        """Nothing more becomes of a job that a drop waits for."""
        if end is not None:
            self._awaited.pop(key_of(live), None)
            end.cancel()  # unless it is known what became of it

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
    return Tenant(live.realm, live.job.created_by)


def _by_turns(jobs: Iterable[LiveJob]) -> list[LiveJob]:
    return list(Turns((_tenant(live), live) for live in jobs))


def _report(live: LiveJob, error: Exception, end: asyncio.Future[JobRow | None] | None) -> None:
    """Tell the drop that waits for a job of its failure, or else the operator."""
    if end is not None and not end.done():
        end.set_exception(error)
        end.exception()  # if the drop does not wait any more, that is no fault
    elif isinstance(error, LeaseLost):
        logger.info("%s", error)
    else:
        _warn(f"job {live.id} was left: %s", error)


def _warn(text: str, error: Exception) -> None:
    logger.warning(text, error, exc_info=not isinstance(error, HeadgateError))
