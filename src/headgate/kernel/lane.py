"""The lane of one pointer: attempts wait in it, and its leader settles them batch by batch."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import NamedTuple

import msgspec

from headgate.clock import Clock
from headgate.error_copies import for_another_caller
from headgate.errors import (
    BackendUnavailable,
    ClockRefused,
    Closed,
    CommitTimedOut,
    NoNodeId,
    PointerNotFound,
)
from headgate.ids import Ids, node, time_ms
from headgate.kernel.assemble import Assembled
from headgate.kernel.attempts import Request, run_attempts
from headgate.kernel.history import KnownHead
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import EMPTY, Outcome, PointerKey
from headgate.kernel.store import Store
from headgate.kernel.swap import swap_head
from headgate.kernel.workbench import Workbench
from headgate.limits import (
    CLOCK_BEHIND_MS_MAX,
    COMMIT_AGE_MS_MAX,
    FAIRNESS_HEADS,
    FAIRNESS_PAUSE_SECONDS_MAX,
    FAIRNESS_PAUSE_SECONDS_MIN,
    RESOLVE_PAUSE_SECONDS_MAX,
    RESOLVE_PAUSE_SECONDS_MIN,
)

BEATEN = "other nodes changed the same pointer first, again and again"
TOO_OLD = f"it was held up for more than {COMMIT_AGE_MS_MAX // 1000} s before it could be sent"
"""Why a batch is run again."""

logger = logging.getLogger(__name__)


class Watch(NamedTuple):
    """Another pointer that each batch reads along with its own, and what its value must pass."""

    key: PointerKey
    check: Callable[[int | None], Awaitable[None]]


class CommitStatistics(msgspec.Struct):
    """What a committer did since it was made."""

    attempts: int = 0
    batches: int = 0
    large: int = 0
    swaps: int = 0
    lost: int = 0
    too_old: int = 0
    fences: int = 0
    timed_out: int = 0
    pauses: int = 0


class Tools(NamedTuple):
    """What lanes work with."""

    store: Store
    pointers: Pointers
    ids: Ids
    clock: Clock
    timeout_seconds: float
    batch_attempts: int
    statistics: CommitStatistics
    listeners: list[Callable[[PointerKey], None]]
    """Told which pointer may have moved, before those who moved it are answered."""
    large: asyncio.Semaphore
    """Bounds how many large attempts run at once."""

    def tell(self, key: PointerKey) -> None:
        """Tell the listeners. The swap is settled by now, so none of them can undo or hide it."""
        for listener in self.listeners:
            try:
                listener(key)
            except BaseException:
                logger.exception("a listener failed after a commit to %s", key)


class Lane:
    """The queue of one pointer. Its leader is a task of its own: no caller's fate can stop it."""

    def __init__(self, key: PointerKey, watch: Watch | None, tools: Tools) -> None:
        self.watch = watch
        self.leader: asyncio.Task[None] | None = None
        self._key = key
        self._tools = tools
        self._waiting: deque[Request] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._wins = 0
        self._read_seconds = 0.0

    def enter(self, request: Request) -> None:
        """Put a request into the queue; it is refused if it is not taken in time."""
        self._waiting.append(request)
        self._arm()
        if self.leader is None or self.leader.done():
            self.leader = asyncio.get_running_loop().create_task(self._lead())

    def close(self) -> None:
        """Refuse all that wait. What was taken is finished."""
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            self._waiting.popleft().refuse(
                Closed("the commit was not made", why="this node is shutting down", fix="Try again")
            )

    def _arm(self) -> None:
        """See to it that whoever waits longest is told when its time is up."""
        if self._timer is None and self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._waiting[0].deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and self._waiting[0].deadline <= now:
            request = self._waiting.popleft()
            self._tools.statistics.timed_out += not request.future.done()
            waited = f"it waited {self._tools.timeout_seconds:g} s for the commits before it"
            request.refuse(self._too_late(waited))
        self._arm()

    async def _lead(self) -> None:
        """Settle batches until nobody waits."""
        while batch := self._take(self._tools.batch_attempts):
            async with self._tools.large if batch[0].is_large else nullcontext():
                await self._settle(batch)
            await asyncio.sleep(0)  # those who were answered may come back with their next
        self.leader = None

    def _take(self, most: int) -> list[Request]:
        """The requests that waited longest and are still wanted; a large one is taken alone."""
        batch: list[Request] = []
        while self._waiting and len(batch) < most:
            request = self._waiting.popleft()
            if request.future.done():
                continue
            if request.is_large:
                if not batch:
                    return [request]
                self._waiting.appendleft(request)
                break
            batch.append(request)
        return batch

    async def _settle(self, batch: list[Request]) -> None:
        """Bring a batch to its end, whatever happens."""
        clock = self._tools.clock
        deadline = clock.seconds() + self._tools.timeout_seconds
        pause_seconds = RESOLVE_PAUSE_SECONDS_MIN
        is_renewed = False
        self._tools.statistics.batches += 1
        is_large = batch[0].is_large
        self._tools.statistics.large += is_large
        bench = Workbench(self._tools.store, self._tools.ids, self._key.realm, in_thread=is_large)
        try:
            while True:
                began = clock.seconds()
                try:
                    why = await self._try(batch, bench, deadline)
                    if not why:
                        return
                    is_late = clock.seconds() - began >= self._tools.timeout_seconds
                    if (why == TOO_OLD or is_late) and not is_renewed:  # this process was stopped
                        deadline = clock.seconds() + self._tools.timeout_seconds
                        is_renewed = True
                except (BackendUnavailable, ClockRefused, NoNodeId) as error:
                    why = str(error)
                    await clock.sleep(pause_seconds)
                    pause_seconds = min(2 * pause_seconds, RESOLVE_PAUSE_SECONDS_MAX)
                if clock.seconds() >= deadline:
                    raise self._too_late(why)
        except Exception as error:  # noqa: BLE001  whatever it is, those who wait are told
            for request in batch:
                request.refuse(for_another_caller(error))
        except BaseException:  # the program ends; nobody may wait for ever
            for request in batch:
                request.future.cancel()
            raise

    async def _try(self, batch: list[Request], bench: Workbench, deadline: float) -> str:
        """Run the batch on the current head and swap; why that has to be done again, or nothing."""
        tools = self._tools
        began = tools.clock.seconds()
        base = await self._read_base()
        draft = bench.draft(base, self._now_ms(base))
        answers = await run_attempts(draft, bench.shelf, batch)
        self._read_seconds = tools.clock.seconds() - began
        assembled = None
        if draft.changed:
            assembled = await bench.assemble(draft)
            if self._is_too_old(assembled, began):
                tools.statistics.too_old += 1
                return TOO_OLD
            tools.statistics.swaps += 1
            try:
                outcome = await swap_head(tools.store, tools.clock, self._key, assembled, deadline)
            finally:
                tools.tell(self._key)
            if outcome is Outcome.LOST:
                tools.statistics.lost += 1
                return BEATEN
        tools.statistics.attempts += len(answers)
        for answer in answers:
            answer.deliver()
        if len(answers) < len(batch):
            answered = {answer.request for answer in answers}
            self._waiting.extendleft(one for one in reversed(batch) if one not in answered)
        self._arm()
        if assembled is not None:
            await self._let_others_win(assembled)
        return ""

    async def _read_base(self) -> HeadView:
        """The current head of the pointer, unless this node's clock is behind it."""
        watched: int | None = None
        history = self._tools.store.history
        known = history.newest(self._key)  # first: what is read is at least as new
        if self.watch is None:
            [current] = await self._tools.pointers.read([self._key])
        else:
            current, watched = await self._tools.pointers.read([self._key, self.watch.key])
            await self.watch.check(watched)
        if current is None:
            raise PointerNotFound(
                f"pointer {self._key.name!r} of realm {self._key.realm!r} cannot be committed to",
                why="it does not exist",
                fix="Create it first",
            )
        self._check_clock(current or watched or EMPTY)
        base = await open_head(self._tools.store, self._key.realm, current)
        history.check(self._key, known, KnownHead(base.head.seq, base.id), base.head.tail)
        return base

    def _check_clock(self, newest: int) -> None:
        """Refuse to commit on a head from the future; on an EMPTY pointer the watched one tells.

        So the ids of a commit are never much older than what it is made on, and a sweep which has
        put a fence on a pointer knows that whatever follows is young.
        """
        behind_ms = time_ms(newest) - self._tools.clock.wall_ms() if newest else 0
        if behind_ms > CLOCK_BEHIND_MS_MAX:
            raise ClockRefused(
                "this node commits nothing here",
                why=f"its clock is {behind_ms // 1000:,} s behind the newest commit",
                fix="Synchronise the clocks of all nodes (NTP)",
            )

    def _is_too_old(self, assembled: Assembled, began: float) -> bool:
        """Whether a sweep may take what this commit stores for garbage by now.

        Its ids are compared with each other, which needs no clock, and then with both clocks: the
        one may have stood still while the machine slept, and the other one may have been set.
        """
        clock, oldest_ms = self._tools.clock, time_ms(assembled.oldest)
        return (
            max(
                time_ms(assembled.id) - oldest_ms,
                clock.wall_ms() - oldest_ms,
                (clock.seconds() - began) * 1000,
            )
            > COMMIT_AGE_MS_MAX
        )

    def _now_ms(self, base: HeadView) -> int:
        """The time of a commit on this head: not before the head's own, whoever's clock it was."""
        now_ms = self._tools.clock.wall_ms()
        return max(now_ms, time_ms(base.id)) if base.id else now_ms

    async def _let_others_win(self, assembled: Assembled) -> None:
        """Pause after a win if other nodes want this pointer, or might: every now and then.

        A loser tries again at once; the winner waits as long as the loser's reading takes.
        """
        self._wins += 1
        own = node(assembled.id)
        alone = all(node(id) == own for id in assembled.head.tail[:FAIRNESS_HEADS])
        if alone and self._wins % FAIRNESS_HEADS:
            return
        self._tools.statistics.pauses += 1
        await self._tools.clock.sleep(
            min(
                max(1.5 * self._read_seconds, FAIRNESS_PAUSE_SECONDS_MIN),
                FAIRNESS_PAUSE_SECONDS_MAX,
            )
        )

    def _too_late(self, why: str) -> CommitTimedOut:
        return CommitTimedOut(
            f"the commit to {self._key.name!r} in realm {self._key.realm!r} was not made",
            why=why,
            fix="Try again in a moment",
        )
