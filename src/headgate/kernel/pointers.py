"""Reading pointers: concurrent reads share one round trip, and never one that began before they
asked.

Zero staleness rests on that rule. A read under way may have looked at a pointer before a change
that was acknowledged before the caller asked; so callers join the *next* read, never the one in
flight.
"""

import asyncio
from collections.abc import Sequence

from headgate.error_copies import for_another_caller
from headgate.errors import BackendUnavailable
from headgate.kernel.backend import Backend
from headgate.kernel.records import PointerKey
from headgate.limits import CONFIRMING_READS_MAX

Vector = list[int | None]


class Pointers:
    """The pointers of all realms. At most one read is in flight; what comes meanwhile waits."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reading = False
        self._waiting: list[tuple[Sequence[PointerKey], asyncio.Future[Vector]]] = []
        self._next: asyncio.Task[None] | None = None

    async def read(self, keys: Sequence[PointerKey]) -> Vector:
        """The values of these pointers, all current at some instant between call and answer."""
        if self._reading:
            future: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
            self._waiting.append((keys, future))
            return await future
        self._reading = True
        try:
            return await self._backend.read_pointers(keys)
        finally:
            self._go_on()

    async def read_together(self, keys: Sequence[PointerKey], known: Vector | None) -> Vector:
        """Like `read`, where a database's batch is no snapshot too. `known` was answered earlier.

        Values never repeat. So a vector equal to the known one was current as a whole when the read
        began, and a moved one is accepted when another read confirms it. If a single pointer moved
        since the read before, it may move on: the others stood still while it was read.
        """
        vector = await self.read(keys)
        if self._backend.snapshot_reads:
            return vector
        for _ in range(CONFIRMING_READS_MAX):
            if vector == known:
                return vector
            again = await self.read(keys)
            moving = _differing(vector, again)
            moved = _differing(vector, known) if known is not None else []
            if not moving or (len(moved) == 1 and moving == moved):
                return vector
            known, vector = vector, again
        raise BackendUnavailable(
            "the pointers cannot be read together",
            why=f"they moved during {CONFIRMING_READS_MAX} reads in a row",
            fix="Try again; if it stays, use a database that reads a batch as a snapshot",
        )

    def _go_on(self) -> None:
        """Start the read that those who came meanwhile share, or note that none is in flight."""
        if self._waiting:
            batch, self._waiting = self._waiting, []
            self._next = asyncio.create_task(self._read_for(batch))
        else:
            self._reading = False

    async def _read_for(
        self, batch: list[tuple[Sequence[PointerKey], asyncio.Future[Vector]]]
    ) -> None:
        wanted = list(dict.fromkeys(key for keys, _ in batch for key in keys))
        try:
            values = dict(zip(wanted, await self._backend.read_pointers(wanted), strict=True))
            for keys, future in batch:
                if not future.done():
                    future.set_result([values[key] for key in keys])
        except Exception as error:  # noqa: BLE001  whatever it is, those who wait are told
            for _, future in batch:
                if not future.done():
                    future.set_exception(for_another_caller(error))
        finally:
            self._go_on()


def _differing(left: Vector, right: Vector) -> list[int]:
    """The places at which two vectors differ: none, one, or many."""
    return [at for at, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1]]
