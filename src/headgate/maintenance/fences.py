"""Fences before a deletion: what was assembled before the sweep began cannot be committed after it.

Looking at the heads shows what was committed, and not what is under way: a swap may have been sent
by a node that was stopped, or be late in the network. A fence on every pointer whose head is older
than the run lets all of these be lost. What is assembled later is made on a young head, and no node
commits on a head that its own clock is far behind; so all that follows is young.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from headgate.kernel.fence import needs_fence
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import PointerKey
from headgate.limits import SWEEP_FENCES_AT_ONCE
from headgate.maintenance.clocks import Surveyed
from headgate.maintenance.runs import Counts


class Fences:
    """Fences the realms of a run, each once, and only those in which something is deleted."""

    def __init__(
        self,
        kernel: Kernel,
        surveyed: Surveyed,
        counts: Counts,
        rest: Callable[[], Awaitable[None]],
    ) -> None:
        self._kernel = kernel
        self._surveyed = surveyed
        self._counts = counts
        self._rest = rest
        self._fenced: set[str] = set()

    async def around(self, realms: Collection[str]) -> None:
        """Fence all pointers of these realms.

        The list of realms is fenced as well: it is what the first commit to a pointer that is
        created later is compared with. Heads are checked before, so that a clock which is ahead
        is noticed before it is written into all logs, and after: see `Surveyed.check`.
        """
        new = sorted(set(realms) - self._fenced)
        if new:
            await self._surveyed.check(self._kernel.store, new)
            await self.on([REALMS_KEY])
        for realm in new:
            await self.on(await self._idle(realm))
            self._fenced.add(realm)

    async def on(self, keys: Sequence[PointerKey]) -> None:
        """Fence these pointers, if they need it."""
        since_ms = self._surveyed.started_ms
        for at in range(0, len(keys), SWEEP_FENCES_AT_ONCE):
            some = keys[at : at + SWEEP_FENCES_AT_ONCE]
            fence = self._kernel.committer.fence
            self._counts.fences += sum(
                await asyncio.gather(*(fence(key, since_ms) for key in some))
            )
            await self._rest()

    async def _idle(self, realm: str) -> list[PointerKey]:
        """The pointers that nothing was committed to since this run began."""
        return [
            PointerKey(one.realm, one.name)
            async for batch in self._kernel.backend.scan_pointers(realm)
            for one in batch
            if needs_fence(one.value, self._surveyed.started_ms)
        ]
