"""What networks and machines do to a backend, on purpose: lost answers, late writes, crashes."""

import asyncio
import random
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeVar

from headgate.errors import BackendUnavailable, HeadgateError, OutcomeUnknown
from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend, closing
from headgate.kernel.records import (
    WHOLE,
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    Row,
    ScannedRow,
    Swap,
)

T = TypeVar("T")

READING_VERBS = frozenset({"read_pointers", "fetch", "scan_pointers", "scan_rows"})
WRITING_VERBS = frozenset(
    {
        "create_pointers",
        "commit",
        "write",
        "delete",
        "insert",
        "update",
        "remove",
        "delete_pointers",
        "delete_realm",
    }
)
BETWEEN_WRITE_AND_SWAP = "between_write_and_swap"
LATE_CALLS_MAX = 6
DELAY_TURNS_MAX = 5


class Fault(StrEnum):
    """What can happen to one call."""

    LOST_BEFORE = "lost_before"
    """The request is lost: nothing is applied. Writes are unknown, reads unavailable."""

    LOST_AFTER = "lost_after"
    """The answer is lost: applied. Writes are unknown, reads unavailable; scans stop half-way."""

    DUPLICATE = "duplicate"
    """The write is delivered twice; the caller gets the first answer. Writes only."""

    DELAY = "delay"
    """Other tasks run before the request is delivered, and again before it is answered."""

    LATE = "late"
    """Unknown to the caller, and applied some calls later: the hardest case. Writes only."""

    UNAVAILABLE = "unavailable"
    """The database refuses: nothing is applied, and the caller is told so."""


WRITES_ONLY = frozenset({Fault.DUPLICATE, Fault.LATE})


class Crashed(BaseException):
    """The process died at this point. Not an Exception: no program may handle its own death."""


class _Crash(NamedTuple):
    skip: int
    action: Callable[[], Awaitable[object] | None] | None


class _LateWrite(NamedTuple):
    due: int
    send: Callable[[], Awaitable[object]]


class Faults:
    """A plan of faults: random ones from a seed, and scheduled ones. Several nodes may share it.

    The n-th call of a verb meets the same fate in every run with the same seed and rates, whatever
    happens to other verbs. `Faults(7, late=0.05)` makes every twentieth write late.
    """

    def __init__(self, seed: int = 0, **rates: float) -> None:
        self.seed = seed
        self.active = True  # False: no random faults; scheduled ones still happen
        self.injected: Counter[str] = Counter()
        self._rates = {Fault(kind): rate for kind, rate in rates.items()}
        self._streams: dict[str, random.Random] = {}
        self._scheduled: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._crashes: dict[str, _Crash] = {}
        self._late: list[_LateWrite] = []
        self._calls = 0
        assert sum(self._rates.values()) <= 1, rates

    def schedule(self, verb: str, fault: Fault) -> None:
        """Let the next call of this verb meet this fault; repeated, the calls after it."""
        assert verb in WRITING_VERBS or (verb in READING_VERBS and fault not in WRITES_ONLY), verb
        self._scheduled[verb].append(fault)

    def crash_at(
        self,
        point: str,
        action: Callable[[], Awaitable[object] | None] | None = None,
        *,
        skip: int = 0,
    ) -> None:
        """Raise `Crashed`, or run `action` instead, once, when this point is next reached.

        Points are `before_<verb>` and `after_<verb>`, the latter with the answer still to come, and
        BETWEEN_WRITE_AND_SWAP of a `TwoStepBackend`. The first `skip` times it is passed unharmed.
        """
        when, _, verb = point.partition("_")
        known = when in {"before", "after"} and verb in READING_VERBS | WRITING_VERBS
        assert known or point == BETWEEN_WRITE_AND_SWAP, point
        self._crashes[point] = _Crash(skip, action)

    async def reach(self, point: str) -> None:
        """Called where a crash may be planned."""
        crash = self._crashes.pop(point, None)
        if crash is None:
            return
        if crash.skip:
            self._crashes[point] = crash._replace(skip=crash.skip - 1)
            return
        self.injected[point] += 1
        if crash.action is None:
            raise Crashed(point)
        waiting = crash.action()
        if waiting is not None:
            await waiting

    def draw(self, verb: str) -> Fault | None:
        """The fate of this call."""
        if self._scheduled[verb]:
            fault: Fault | None = self._scheduled[verb].popleft()
        else:
            fault = self._draw_random(verb)
        if fault is not None:
            self.injected[fault] += 1
        return fault

    def delay_turns(self, verb: str) -> int:
        """For how many turns of the loop a delayed call waits."""
        return self._stream(verb).randint(1, DELAY_TURNS_MAX)

    def postpone(self, verb: str, send: Callable[[], Awaitable[object]]) -> None:
        """Keep a write back until some more calls have been made."""
        due = self._calls + self._stream(verb).randint(1, LATE_CALLS_MAX)
        self._late.append(_LateWrite(due, send))

    async def land_late_writes(self) -> None:
        """Count a call; what was kept back long enough lands before it."""
        self._calls += 1
        await self._land(self._calls)

    async def settle(self) -> None:
        """Let all writes land that are still under way."""
        while self._late:
            await self._land(max(late.due for late in self._late))

    async def _land(self, now: int) -> None:
        while due := [late for late in self._late if late.due <= now]:
            self._late.remove(due[0])
            with suppress(HeadgateError):
                await due[0].send()

    def _draw_random(self, verb: str) -> Fault | None:
        if not self.active or not self._rates:
            return None
        spot = self._stream(verb).random()
        for fault, rate in self._rates.items():
            if spot < rate:
                return None if verb in READING_VERBS and fault in WRITES_ONLY else fault
            spot -= rate
        return None

    def _stream(self, verb: str) -> random.Random:
        return self._streams.setdefault(verb, random.Random(f"{self.seed}/{verb}"))


class FaultyBackend(ForwardingBackend):
    """A backend whose calls meet the faults of a plan. Without faults it changes nothing."""

    def __init__(self, inner: Backend, faults: Faults | None = None) -> None:
        super().__init__(inner)
        self.faults = faults or Faults()

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        return await self._read("read_pointers", partial(self.inner.read_pointers, keys))

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        send = partial(self.inner.create_pointers, realm, names)
        await self._write("create_pointers", send)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        return await self._write("commit", partial(self.inner.commit, rows, swap))

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        return await self._read("fetch", partial(self.inner.fetch, realm, ids))

    async def write(self, rows: Sequence[Row]) -> None:
        await self._write("write", partial(self.inner.write, rows))

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        await self._write("delete", partial(self.inner.delete, realm, ids))

    async def insert(self, row: Row) -> Outcome:
        return await self._write("insert", partial(self.inner.insert, row))

    async def update(self, row: Row, expected_version: int) -> Outcome:
        return await self._write("update", partial(self.inner.update, row, expected_version))

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        return await self._write("remove", partial(self.inner.remove, realm, id, expected_version))

    def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        return self._scan("scan_pointers", self.inner.scan_pointers(realm))

    def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        return self._scan("scan_rows", self.inner.scan_rows(partition))

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        await self._write("delete_pointers", partial(self.inner.delete_pointers, keys))

    async def delete_realm(self, realm: str, limit: int) -> int:
        return await self._write("delete_realm", partial(self.inner.delete_realm, realm, limit))

    async def _write(self, verb: str, send: Callable[[], Awaitable[T]]) -> T:
        await self._begin(verb)
        answer = await self._deliver(verb, send)
        await self.faults.reach(f"after_{verb}")
        return answer

    async def _deliver(self, verb: str, send: Callable[[], Awaitable[T]]) -> T:
        match self.faults.draw(verb):
            case Fault.LOST_BEFORE:
                raise _unknown(verb)
            case Fault.LOST_AFTER:
                with suppress(HeadgateError):
                    await send()
                raise _unknown(verb)
            case Fault.LATE:
                self.faults.postpone(verb, send)
                raise _unknown(verb)
            case Fault.UNAVAILABLE:
                raise _unavailable(verb)
            case Fault.DUPLICATE:
                answer = await send()
                with suppress(HeadgateError):
                    await send()
                return answer
            case Fault.DELAY:
                return await self._slowly(verb, send)
            case None:
                return await send()

    async def _read(self, verb: str, send: Callable[[], Awaitable[T]]) -> T:
        await self._begin(verb)
        match self.faults.draw(verb):
            case Fault.LOST_BEFORE | Fault.UNAVAILABLE:
                raise _unavailable(verb)
            case Fault.LOST_AFTER:
                await send()
                raise _unavailable(verb)
            case Fault.DELAY:
                answer = await self._slowly(verb, send)
            case _:
                answer = await send()
        await self.faults.reach(f"after_{verb}")
        return answer

    async def _scan(self, verb: str, scan: AsyncIterator[T]) -> AsyncIterator[T]:
        async with closing(scan):
            await self._begin(verb)
            fault = self.faults.draw(verb)
            if fault in {Fault.LOST_BEFORE, Fault.UNAVAILABLE}:
                raise _unavailable(verb)
            async for batch in scan:
                yield batch
                if fault is Fault.LOST_AFTER:
                    break
                if fault is Fault.DELAY:
                    await _turns(self.faults.delay_turns(verb))
            if fault is Fault.LOST_AFTER:
                raise _unavailable(verb)
            await self.faults.reach(f"after_{verb}")

    async def _begin(self, verb: str) -> None:
        await self.faults.land_late_writes()
        await self.faults.reach(f"before_{verb}")

    async def _slowly(self, verb: str, send: Callable[[], Awaitable[T]]) -> T:
        await _turns(self.faults.delay_turns(verb))
        answer = await send()
        await _turns(self.faults.delay_turns(verb))
        return answer


class TwoStepBackend(ForwardingBackend):
    """Commits as databases without transactions do: all rows first, then the swap alone.

    Rows of a commit that was LOST, or that found no pointer, remain.
    """

    def __init__(self, inner: Backend, faults: Faults | None = None) -> None:
        super().__init__(inner)
        self.faults = faults or Faults()

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        await self.inner.write(rows)
        await self.faults.reach(BETWEEN_WRITE_AND_SWAP)
        return await self.inner.commit([], swap)


class TornBackend(ForwardingBackend):
    """Reads pointers one by one and lets other tasks run in between: its batches can be torn."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.snapshot_reads = False

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        values: list[int | None] = []
        for key in keys:
            values += await self.inner.read_pointers([key])
            await asyncio.sleep(0)
        return values


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _unknown(verb: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the answer to {verb!r} was lost",
        why="a fault was injected",
        fix="Read back what is stored",
    )


def _unavailable(verb: str) -> BackendUnavailable:
    return BackendUnavailable(
        f"{verb!r} failed",
        why="a fault was injected",
        fix="Try again",
    )
