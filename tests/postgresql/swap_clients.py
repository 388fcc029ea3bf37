"""Clients that swap pointers all the time, and the check that what they were told is true."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap

POINTERS = 4
TASKS = 20
GIVE_UP_SECONDS = 60.0


class Attempt(NamedTuple):
    """A swap that was asked for, and what the caller was told."""

    swap: Swap
    told: Outcome | type[BackendUnavailable | OutcomeUnknown]


class Clients:
    """Tasks that swap pointers all the time and write down what they were told."""

    def __init__(self, backend: PostgresqlBackend, keys: list[PointerKey]) -> None:
        self.attempts: list[Attempt] = []
        self.backend = backend
        """May be replaced by another one while clients run."""
        self._keys = keys
        self._ids = itertools.count(1)
        self._stopping = False

    async def run(self) -> None:
        await asyncio.gather(*[self._client(self._keys[n % POINTERS]) for n in range(TASKS)])

    def stop(self) -> None:
        self._stopping = True

    async def applied_again(self) -> None:
        """Wait for the first swap of every pointer that is applied from now on."""
        seen = len(self.attempts)
        waiting = set(self._keys)
        async with asyncio.timeout(GIVE_UP_SECONDS):
            while waiting:
                await asyncio.sleep(0.01)
                waiting -= {a.swap.key for a in self.attempts[seen:] if a.told is Outcome.APPLIED}

    async def _client(self, key: PointerKey) -> None:
        while not self._stopping:
            try:
                [value] = await self.backend.read_pointers([key])
            except BackendUnavailable:
                await asyncio.sleep(0.01)
                continue
            assert value is not None
            swap = Swap(key, value, next(self._ids))
            self.attempts.append(Attempt(swap, await self._commit(swap)))

    async def _commit(
        self, swap: Swap
    ) -> Outcome | type[BackendUnavailable] | type[OutcomeUnknown]:
        row = Row(swap.key.realm, swap.new, 0, 1, "head", 0, swap.new.to_bytes(8, "big"))
        try:
            return await self.backend.commit([row], swap)
        except OutcomeUnknown:
            return OutcomeUnknown
        except BackendUnavailable:
            await asyncio.sleep(0.01)
            return BackendUnavailable


def chain(attempts: list[Attempt], last: int) -> Iterator[int]:
    """The values a pointer had, from its last one back to its first."""
    before = {attempt.swap.new: attempt.swap.expected for attempt in attempts}
    while last != EMPTY:
        yield last
        last = before[last]


async def check_chains(
    backend: PostgresqlBackend, keys: list[PointerKey], attempts: list[Attempt]
) -> None:
    """What was told fits what is stored."""
    stored = {row.id async for batch in backend.scan_rows() for row in batch}
    values = await backend.read_pointers(keys)
    for key, value in zip(keys, values, strict=True):
        assert value is not None
        mine = [attempt for attempt in attempts if attempt.swap.key == key]
        happened = set(chain(mine, value))
        for swap, told in mine:
            assert (swap.new in happened) == (swap.new in stored), (swap, told)
            if told is Outcome.APPLIED:
                assert swap.new in happened, swap
            elif told is not OutcomeUnknown:
                assert swap.new not in happened, (swap, told)
    assert {attempt.told for attempt in attempts} >= {Outcome.APPLIED, Outcome.LOST}
