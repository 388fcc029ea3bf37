"""The committer: many callers, one swap.

A caller brings an attempt, a pure function of a draft. The attempts that wait for a pointer are run
in order on one working head by the pointer's lane and written with one swap. Invariants:

- A caller is answered when its batch is settled: made, certainly not made, or `OutcomeUnknown`.
- An attempt that fails is undone and answers only its own caller; with its batch, because what it
  saw may stem from an attempt before it.
- A caller that is cancelled while it waits leaves no trace; later its commit goes on without it.
- A lost swap runs the whole batch again on the new head. An unknown one is sent again and then
  looked up in the pointer's history. Nothing is ever deleted.
- A batch whose ids have become old before its swap is sent is run again with new ones.
- Every batch reads its pointer anew: an attempt sees all that was acknowledged before it was
  brought.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

from headgate.clock import Clock
from headgate.errors import Closed
from headgate.ids import Ids
from headgate.kernel import operations
from headgate.kernel.attempts import Request
from headgate.kernel.draft import Draft
from headgate.kernel.fence import fence
from headgate.kernel.lane import CommitStatistics, Lane, Tools, Watch
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.limits import (
    BATCH_ATTEMPTS_MAX,
    COMMIT_TIMEOUT_SECONDS,
    IDLE_LANES_MAX,
    LARGE_ATTEMPTS_AT_ONCE,
)

T = TypeVar("T")


class CommitOptions(msgspec.Struct, frozen=True):
    """How long a commit may wait, and how many share a swap."""

    timeout_seconds: float = COMMIT_TIMEOUT_SECONDS
    batch_attempts: int = BATCH_ATTEMPTS_MAX


class Committer:
    """Commits to all pointers of all realms, for one process."""

    def __init__(
        self, store: Store, pointers: Pointers, ids: Ids, clock: Clock, options: CommitOptions
    ) -> None:
        self.statistics = CommitStatistics()
        self.listeners: list[Callable[[PointerKey], None]] = []
        """Told which pointer this process may have moved, before anybody is answered."""
        self._tools = Tools(
            store,
            pointers,
            ids,
            clock,
            options.timeout_seconds,
            options.batch_attempts,
            self.statistics,
            self.listeners,
            asyncio.Semaphore(LARGE_ATTEMPTS_AT_ONCE),
        )
        self._lanes: dict[tuple[PointerKey, Watch | None], Lane] = {}
        self._closed = ""  # why, once it is

    async def commit(
        self,
        key: PointerKey,
        attempt: Callable[[Draft], T],
        *,
        operation: bytes = b"",
        watch: Watch | None = None,
        sealed: bool = False,
    ) -> T:
        """Run an attempt on the pointer's head and make what it did durable; its result.

        With an operation id, the attempt returns bytes, and bringing the same operation again
        returns the first result and changes nothing. `sealed` may change a sealed pointer too.
        """
        if operation:
            operations.check(operation)
        self._check_open()
        request = Request(attempt, operation, self._tools.timeout_seconds, sealed=sealed)
        self._lane(key, watch).enter(request)
        return cast(T, await request.future)

    async def fence(self, key: PointerKey, since_ms: int) -> bool:
        """Put an empty commit on a head that was made before this time, so that no swap which was
        assembled earlier succeeds; whether that was needed."""
        self._check_open()
        return await fence(self._tools, key, since_ms)

    def refuse(self, why: str) -> bool:
        """Take no more commits, for this reason; those that were taken are tried on. Whether that
        is new."""
        is_new = not self._closed
        self._closed = self._closed or why
        return is_new

    async def close(self, why: str = "this node is shutting down") -> None:
        """Refuse what waits, finish what was taken."""
        self.refuse(why)
        for lane in self._lanes.values():
            lane.close()
        leaders = [lane.leader for lane in self._lanes.values() if lane.leader]
        await asyncio.gather(*leaders, return_exceptions=True)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the commit was not made", why=self._closed, fix="Try another node")

    def _lane(self, key: PointerKey, watch: Watch | None) -> Lane:
        """Who watches something else waits elsewhere: nobody passes by another one's check."""
        lane = self._lanes.get((key, watch))
        if lane is None:
            if len(self._lanes) >= IDLE_LANES_MAX:
                self._lanes = {place: lane for place, lane in self._lanes.items() if lane.leader}
            lane = self._lanes[key, watch] = Lane(key, watch, self._tools)
        return lane
