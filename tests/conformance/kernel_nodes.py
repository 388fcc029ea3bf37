"""Two kernels on the database that a conformance class names, with its cache and its faults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from headgate.clock import SystemClock
from headgate.errors import OutcomeUnknown, Unavailable
from headgate.kernel.backend import Backend
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.limits import CACHE_BYTES
from headgate.testing.faults import Fault, Faults, FaultyBackend
from headgate.testing.kernel_conformance import KernelConformance
from headgate.testing.kernel_objects import Settle
from headgate.wiring import entropy
from tests.conformance.conftest import Maker, Wrap
from tests.seeds import draw_seed

NO_CACHE = 0
TINY_CACHE = 20_000
ALL_FAULTS = {
    Fault.LOST_BEFORE: 0.02,
    Fault.LOST_AFTER: 0.04,
    Fault.DUPLICATE: 0.04,
    Fault.DELAY: 0.06,
    Fault.LATE: 0.04,
    Fault.UNAVAILABLE: 0.02,
}


def as_it_is(backend: Backend) -> Backend:
    """No decorator."""
    return backend


class KernelSuite(KernelConformance):
    """The suite on nodes as a class describes them: `database`, `wrap`, `cache_bytes`, `rates`.

    `outside` goes around the faults: each call that it makes of one may meet one of its own.
    """

    cache_bytes = CACHE_BYTES
    rates: dict[Fault, float] = {}
    outside: Wrap = staticmethod(as_it_is)

    @pytest.fixture
    async def faults(self) -> Faults:
        """What happens to the calls of both nodes."""
        return Faults(draw_seed("faults") if self.rates else 0, **self.rates)

    @pytest.fixture
    def settle(self, faults: Faults) -> Settle:
        """Lets all writes land that are still under way."""
        return faults.settle

    @pytest.fixture
    async def node(self, another: Maker, faults: Faults) -> AsyncIterator[Kernel]:
        """One node."""
        async with opened(another, self.cache_bytes, faults, self.outside) as kernel:
            yield kernel

    @pytest.fixture
    async def other_node(
        self, node: Kernel, another: Maker, faults: Faults
    ) -> AsyncIterator[Kernel]:
        """Another node on the same database."""
        async with opened(another, self.cache_bytes, faults, self.outside) as kernel:
            yield kernel
            await faults.settle()


@asynccontextmanager
async def opened(
    another: Maker, cache_bytes: int, faults: Faults, outside: Wrap
) -> AsyncIterator[Kernel]:
    """A kernel; if the database fails while it is opened, another one, as a supervisor would."""
    while True:
        backend = outside(FaultyBackend(another(), faults))
        options = KernelOptions(cache_bytes=cache_bytes, holder=f"node-{entropy()}")
        kernel = Kernel(backend, SystemClock(), entropy, options)
        try:
            await kernel.open()
        except (Unavailable, OutcomeUnknown):
            continue
        break
    try:
        yield kernel
    finally:
        await kernel.close()
