"""The lane of one pointer: attempts wait in it, and its leader settles them batch by batch."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from headgate.clock import Clock
from headgate.errors import BackendUnavailable, Closed, CommitTimedOut, PointerNotFound
from headgate.ids import Ids, node
from headgate.kernel.assemble import Assembled, assemble
from headgate.kernel.attempts import Request, run_attempts
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, PageShelf, open_head
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import Outcome, PointerKey
from headgate.kernel.store import Store
from headgate.kernel.swap import swap_head
from headgate.limits import (
    FAIRNESS_HEADS,
    FAIRNESS_PAUSE_SECONDS_MAX,
    FAIRNESS_PAUSE_SECONDS_MIN,
    RESOLVE_PAUSE_SECONDS_MAX,
    RESOLVE_PAUSE_SECONDS_MIN,
)


class Watch(NamedTuple):
    """Another pointer that each batch reads along with its own, and what its value must pass."""

    key: PointerKey
    check: Callable[[int | None], Awaitable[None]]


class CommitStatistics(msgspec.Struct):
    """What a committer did since it was made."""

    attempts: int = 0
    batches: int = 0
    swaps: int = 0
    lost: int = 0
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


class Lane:
    """The queue of one pointer. Its leader is a task of its own: no caller's fate can stop it."""

    def __init__(self, key: PointerKey, watch: Watch | None, tools: Tools) -> None:
        self.leader: asyncio.Task[None] | None = None
        self._key = key
        self._watch = watch
        self._tools = tools
        self._waiting: deque[Request] = deque()
        self._wins = 0
        self._read_seconds = 0.0

    def enter(self, request: Request) -> None:
        """Put a request into the queue; it is refused if it is not taken in time."""
        loop = asyncio.get_running_loop()
        request.timer = loop.call_later(self._tools.timeout_seconds, self._expire, request)
        self._waiting.append(request)
        if self.leader is None:
            self.leader = loop.create_task(self._lead())

    def close(self) -> None:
        """Refuse all that wait. What was taken is finished."""
        for request in self._take(len(self._waiting)):
            request.refuse(
                Closed("the commit was not made", why="this node is shutting down", fix="Try again")
            )

    def _expire(self, request: Request) -> None:
        self._tools.statistics.timed_out += 1
        request.refuse(
            self._too_late(f"it waited {self._tools.timeout_seconds:g} s for the commits before it")
        )

    async def _lead(self) -> None:
        """Settle batches until nobody waits."""
        while batch := self._take(self._tools.batch_attempts):
            await self._settle(batch)
            await asyncio.sleep(0)  # those who were answered may come back with their next
        self.leader = None

    def _take(self, most: int) -> list[Request]:
        """Those who waited longest and are still there."""
        batch: list[Request] = []
        while self._waiting and len(batch) < most:
            request = self._waiting.popleft()
            request.timer.cancel()
            if not request.future.done():
                batch.append(request)
        return batch

    async def _settle(self, batch: list[Request]) -> None:
        """Bring a batch to its end, whatever happens."""
        clock = self._tools.clock
        deadline = clock.seconds() + self._tools.timeout_seconds
        pause_seconds = RESOLVE_PAUSE_SECONDS_MIN
        self._tools.statistics.batches += 1
        try:
            while True:
                try:
                    if await self._try(batch, deadline):
                        return
                    why = "other nodes changed the same pointer first, again and again"
                except BackendUnavailable as error:
                    why = str(error)
                    await clock.sleep(pause_seconds)
                    pause_seconds = min(2 * pause_seconds, RESOLVE_PAUSE_SECONDS_MAX)
                if clock.seconds() >= deadline:
                    raise self._too_late(why)
        except Exception as error:  # noqa: BLE001  whatever it is, those who wait are told
            for request in batch:
                request.refuse(error)

    async def _try(self, batch: list[Request], deadline: float) -> bool:
        """Run the batch on the current head and swap; False if the swap was lost."""
        tools = self._tools
        base = await self._read_base()
        shelf = PageShelf(tools.store, self._key.realm)
        draft = Draft(base, shelf, tools.ids, tools.store.types, tools.clock.wall_ms())
        answers = await run_attempts(draft, shelf, batch)
        assembled = None
        if draft.changed:
            assembled = assemble(draft, tools.store.types, tools.ids)
            tools.statistics.swaps += 1
            outcome = await swap_head(tools.store, tools.clock, self._key, assembled, deadline)
            if outcome is Outcome.LOST:
                tools.statistics.lost += 1
                return False
        tools.statistics.attempts += len(answers)
        for answer in answers:
            answer.deliver()
        self._waiting.extendleft(reversed(batch[len(answers) :]))
        if assembled is not None:
            await self._let_others_win(assembled)
        return True

    async def _read_base(self) -> HeadView:
        """The current head of the pointer."""
        began = self._tools.clock.seconds()
        if self._watch is None:
            [current] = await self._tools.pointers.read([self._key])
        else:
            current, watched = await self._tools.pointers.read([self._key, self._watch.key])
            await self._watch.check(watched)
        if current is None:
            raise PointerNotFound(
                f"pointer {self._key.name!r} of realm {self._key.realm!r} cannot be committed to",
                why="it does not exist",
                fix="Create it first",
            )
        base = await open_head(self._tools.store, self._key.realm, current)
        self._read_seconds = self._tools.clock.seconds() - began
        return base

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
