"""The kernel keeps its promises on the memory backend, however that behaves."""

import asyncio
import random
from collections.abc import Sequence

from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.records import Outcome, PointerKey, Row, Swap
from headgate.testing.faults import TornBackend, TwoStepBackend
from tests.conformance.kernel_nodes import ALL_FAULTS, NO_CACHE, TINY_CACHE, KernelSuite

TURNS_MAX = 60


class UnevenBackend(ForwardingBackend):
    """Questions and answers about pointers arrive at once, or after many turns of others."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self._chance = random.Random(1)

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        await self._wait()
        values = await self.inner.read_pointers(keys)
        await self._wait()
        return values

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        await self._wait()
        outcome = await self.inner.commit(rows, swap)
        await self._wait()
        return outcome

    async def _wait(self) -> None:
        for _ in range(self._chance.choice([0, 0, 0, TURNS_MAX])):
            await asyncio.sleep(0)


def torn(backend: Backend) -> Backend:
    """Between two pointers of a batch much may happen."""
    return TornBackend(UnevenBackend(backend))


def two_steps(backend: Backend) -> Backend:
    """Rows first, and the swap perhaps much later."""
    return TwoStepBackend(UnevenBackend(backend))


class TestPlain(KernelSuite):
    database = "memory"
    cache_bytes = NO_CACHE


class TestCached(KernelSuite):
    database = "memory"


class TestTinyCache(KernelSuite):
    database = "memory"
    cache_bytes = TINY_CACHE


class TestFaults(KernelSuite):
    database = "memory"
    wrap = UnevenBackend
    rates = ALL_FAULTS


class TestTorn(KernelSuite):
    database = "memory"
    wrap = staticmethod(torn)


class TestTornWithFaults(KernelSuite):
    database = "memory"
    wrap = staticmethod(torn)
    rates = ALL_FAULTS


class TestTwoSteps(KernelSuite):
    database = "memory"
    wrap = staticmethod(two_steps)


class TestTwoStepsWithFaults(KernelSuite):
    database = "memory"
    wrap = staticmethod(two_steps)
    rates = ALL_FAULTS


class TestFaultsBetweenTwoSteps(KernelSuite):
    database = "memory"
    wrap = UnevenBackend
    rates = ALL_FAULTS
    outside = staticmethod(TwoStepBackend)
