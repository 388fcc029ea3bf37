"""Products with a mistake that a simulation must find: databases that break the promises of their
port, ids without leases, purges without a fence."""

import asyncio
from collections.abc import Callable, Sequence

from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.ids import Lease
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import Outcome, PointerKey, Row, Swap
from headgate.testing.simulation.network import Network, Wire
from headgate.testing.simulation.processes import Process

MakeWire = Callable[[Network, Process], Wire]


class ResendingWire(Wire):
    """Sends a swap again when its reply is lost, and takes the second answer for the first."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        try:
            return await super().commit(rows, swap)
        except OutcomeUnknown:
            return await super().commit(rows, swap)


class CertainWire(Wire):
    """Says of a swap whose reply is lost that it was certainly not applied."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        try:
            return await super().commit(rows, swap)
        except OutcomeUnknown as error:
            raise BackendUnavailable(str(error)) from error


class SwapFirstWire(Wire):
    """Swaps the pointer before the rows of a commit are stored."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        head = [row for row in rows if row.id == swap.new]
        outcome = await super().commit(head, swap)
        if outcome is Outcome.APPLIED:
            await self.write(rows)
        return outcome


class CachingWire(Wire):
    """Answers some reads of pointers from what it read a moment ago."""

    def __init__(self, network: Network, process: Process) -> None:
        super().__init__(network, process)
        self._known: dict[tuple[PointerKey, ...], list[int | None]] = {}
        self._reads = 0

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        self._reads += 1
        known = self._known.get(tuple(keys))
        if known is not None and self._reads % 4 == 0:
            await asyncio.sleep(0)
            return known
        values = self._known[tuple(keys)] = await super().read_pointers(keys)
        return values


def share_one_node_id(kernel: Kernel) -> None:
    """Let a kernel make ids without a lease, all with the same node in them."""
    forever = Lease(1, 0, 1 << 62)
    kernel.ids.use(forever)
    kernel.ids.use = lambda lease: None  # type: ignore[method-assign]
