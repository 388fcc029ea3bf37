"""A simulated network: each process reaches the one database by a wire of its own."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from headgate.errors import BackendUnavailable, OutcomeUnknown
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
from headgate.testing.simulation.database import Database, run_now
from headgate.testing.simulation.loop import SimulatedLoop
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.weather import (
    CALM,
    REQUEST_SECONDS_MAX,
    Fate,
    Weather,
    log_uniform,
)

SCANNED_AT_ONCE = 250
LATE_SECONDS_MAX = 3_600.0
"""That a write may land after it was given up."""

T = TypeVar("T")
Send = Callable[[], Coroutine[Any, Any, Any]]


class Ambush(Protocol):
    """Strikes a process that is about to send something."""

    def __call__(self, process: Process, verb: str) -> None: ...


class Network:
    """Carries requests to the database and replies back."""

    def __init__(self, loop: SimulatedLoop, database: Database, seed: str) -> None:
        self.loop = loop
        self.database = database
        self.weather: Weather = CALM
        self.cut_off: set[Process] = set()
        """Processes that do not reach the database."""
        self.is_two_step = False
        """Whether a commit stores its rows first and swaps its pointer later."""
        self.is_torn = False
        """Whether pointers that are read together are read one after the other."""
        self.ambush: Ambush | None = None
        self.is_over = False
        """Then nothing is carried any more."""
        self.fates: dict[Fate, int] = dict.fromkeys(Fate, 0)
        self._chance = random.Random(f"network/{seed}")

    def send(self, process: Process, verb: str, send: Send, *, is_write: bool) -> "Reply":
        """Let a request leave a process; its reply."""
        if self.is_over:
            raise unavailable(verb)
        reply: Reply = self.loop.create_future()
        fate = self._draw(process, verb, is_write=is_write)
        self.fates[fate] += 1
        arrives = self.loop.now + self._delay()
        answer: Reply | None = reply
        if fate is Fate.REFUSED:
            self._at(arrives, _fail, reply, unavailable(verb))
            return reply
        if fate in {Fate.REQUEST_LOST, Fate.REPLY_LOST, Fate.LATE}:
            given_up = self.loop.now + REQUEST_SECONDS_MAX
            error = unknown(verb) if is_write else unavailable(verb)
            self._at(given_up, _fail, reply, error)
            answer = None
            if fate is Fate.REQUEST_LOST:
                return reply
            if fate is Fate.LATE:
                arrives = given_up + log_uniform(self._chance, 0.001, LATE_SECONDS_MAX)
        self._at(arrives, self._arrive, send, answer)
        if fate is Fate.DUPLICATED:  # never before the first was answered
            repeat = partial(self._repeat, send)
            reply.add_done_callback(repeat, context=self.loop.world.context)
        return reply

    def commit(self, process: Process, rows: Sequence[Row], swap: Swap) -> "Reply":
        """Let a commit leave a process."""
        whole = partial(self.database.commit, process, rows, swap)
        if not self.is_two_step:
            return self.send(process, "commit", whole, is_write=True)
        return self.send(process, "commit", partial(self._two_steps, whole, rows), is_write=True)

    async def _two_steps(self, swap: Send, rows: Sequence[Row]) -> Outcome:
        await self.database.write(rows)
        await asyncio.sleep(self._delay())
        outcome: Outcome = await swap()
        return outcome

    def _draw(self, process: Process, verb: str, *, is_write: bool) -> Fate:
        if process in self.cut_off:
            return Fate.REQUEST_LOST if self._chance.random() < 0.5 else Fate.REFUSED
        spot = self._chance.random()
        for fate, rate in self.weather.rates:
            if spot < rate:
                if fate is Fate.DUPLICATED and verb != "commit":
                    return Fate.SERVED
                return Fate.SERVED if fate is Fate.LATE and not is_write else fate
            spot -= rate
        return Fate.SERVED

    def _delay(self) -> float:
        spot = self._chance.random()
        factor = 1.0 if spot < 0.5 else 1 / (1.01 - spot) ** 1.2
        return self.weather.delay_seconds * factor * (0.5 + spot)

    def _at(self, when: float, callback: Callable[..., object], *args: object) -> None:
        self.loop.call_at(when, callback, *args, context=self.loop.world.context)

    def _arrive(self, send: Send, reply: "Reply | None") -> None:
        if self.is_two_step and isinstance(send, partial) and send.func == self._two_steps:
            task = self.loop.create_task(send(), context=self.loop.world.context.copy())
            task.add_done_callback(partial(self._answer_task, reply))
            return
        try:
            self._answer(reply, run_now(send()))
        except Exception as error:  # noqa: BLE001  whatever the database answers
            self._answer(reply, error)

    def _repeat(self, send: Send, _reply: "Reply") -> None:
        again = self.loop.now + log_uniform(self._chance, 0.001, LATE_SECONDS_MAX)
        self._at(again, self._arrive, send, None)

    def _answer_task(self, reply: "Reply | None", task: "asyncio.Task[Any]") -> None:
        self._answer(reply, task.exception() or task.result())

    def _answer(self, reply: "Reply | None", answer: object) -> None:
        if reply is not None:
            arrives = self.loop.now + self._delay()
            give = _fail if isinstance(answer, Exception) else _give
            self._at(arrives, give, reply, answer)


Reply = asyncio.Future[Any]


class Wire:
    """The backend of one process. A process may be stopped before a request leaves it."""

    name = "simulated"

    def __init__(self, network: Network, process: Process) -> None:
        self.snapshot_reads = not network.is_torn
        self._network = network
        self._process = process
        self._database = network.database

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        if self.snapshot_reads:
            return await self._read("read_pointers", partial(self._database.read_pointers, keys))
        values: list[int | None] = []
        for key in keys:
            values += await self._read(
                "read_pointers", partial(self._database.read_pointers, [key])
            )
        return values

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        await self._write("create_pointers", partial(self._database.create_pointers, realm, names))

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        await self._leave("commit")
        outcome: Outcome = await self._network.commit(self._process, rows, swap)
        return outcome

    async def fetch(self, realm: str, ids: Collection[int]) -> list[Row]:
        return await self._read("fetch", partial(self._database.fetch, realm, ids))

    async def write(self, rows: Sequence[Row]) -> None:
        await self._write("write", partial(self._database.write, rows))

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        await self._write("delete", partial(self._database.delete, self._process, realm, ids))

    async def insert(self, row: Row) -> Outcome:
        return await self._write("insert", partial(self._database.insert, row))

    async def update(self, row: Row, expected_version: int) -> Outcome:
        return await self._write("update", partial(self._database.update, row, expected_version))

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        send = partial(self._database.remove, realm, id, expected_version)
        return await self._write("remove", send)

    async def scan_pointers(self, realm: str | None = None) -> AsyncIterator[list[Pointer]]:
        found = await self._read("scan_pointers", partial(self._database.all_pointers, realm))
        async for part in self._parts(found):
            yield part

    async def scan_rows(self, partition: Partition = WHOLE) -> AsyncIterator[list[ScannedRow]]:
        found = await self._read("scan_rows", partial(self._database.all_rows, partition))
        async for part in self._parts(found):
            yield part

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        send = partial(self._database.delete_pointers, self._process, keys)
        await self._write("delete_pointers", send)

    async def delete_realm(self, realm: str, limit: int) -> int:
        send = partial(self._database.delete_realm, self._process, realm, limit)
        return await self._write("delete_realm", send)

    async def _parts(self, found: list[T]) -> AsyncIterator[list[T]]:
        """A scan is several round trips; what it shows is as old as the first of them."""
        for at in range(0, len(found), SCANNED_AT_ONCE):
            if at:
                await self._read("scan", self._database.nothing)
            yield found[at : at + SCANNED_AT_ONCE]

    async def _leave(self, verb: str) -> None:
        """Where a process may be stopped before its request leaves."""
        if self._network.ambush is not None:
            self._network.ambush(self._process, verb)
        await asyncio.sleep(0)

    async def _read(self, verb: str, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._leave(verb)
        answer: T = await self._network.send(self._process, verb, send, is_write=False)
        return answer

    async def _write(self, verb: str, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._leave(verb)
        answer: T = await self._network.send(self._process, verb, send, is_write=True)
        return answer


def unknown(verb: str) -> OutcomeUnknown:
    """What a client says of a write whose reply did not come."""
    return OutcomeUnknown(f"the reply to {verb!r} did not come", why="the network is simulated")


def unavailable(verb: str) -> BackendUnavailable:
    """What a client says of a request that was certainly not applied."""
    return BackendUnavailable(f"{verb!r} failed", why="the network is simulated")


def _give(reply: Reply, answer: object) -> None:
    if not reply.done():
        reply.set_result(answer)


def _fail(reply: Reply, error: Exception) -> None:
    if not reply.done():
        reply.set_exception(error)
