"""Stores in which days pass, for tests of what becomes old."""

import asyncio
import random
from collections.abc import Callable, Collection

from headgate.backends.memory import MemoryBackend
from headgate.catalog.log_rounds import DAY_MS
from headgate.errors import NoNodeId
from headgate.ids import time_ms
from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.records import PointerKey
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import Crashed
from headgate.testing.kernels import SteppedClock, history, open_kernel_on, putting

POINTERS = ("root", "catalogs", "grants")
COMMITS, DAYS, RETENTION = 61, 40, 30


class Dying(ForwardingBackend):
    """Deletes row by row in any order, and dies when it has deleted so many."""

    def __init__(self, inner: Backend, seed: int = 0) -> None:
        super().__init__(inner)
        self.rows_left: int | None = None
        self._random = random.Random(seed)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        for id in self._random.sample(list(ids), len(ids)):
            if self.rows_left == 0:
                raise Crashed
            if self.rows_left is not None:
                self.rows_left -= 1
            await self.inner.delete(realm, [id])


class AgingStore:
    """A database, a kernel on it, and a realm with commits of many days."""

    def __init__(self, connect: Callable[[], Backend], seed: int = 0) -> None:
        self.clock = SteppedClock()
        self.connect = connect
        self.dying = Dying(connect(), seed)
        self.backend = CountingBackend(self.dying)
        self.kernel = open_kernel_on(self.backend, clock=self.clock)
        self.realm: RealmHandle

    async def open(self) -> None:
        await self.kernel.open()
        self.realm = self.kernel.realm((await self.kernel.realms.create("acme")).id)

    async def another(self, seed: int, cache_bytes: int = 0) -> Kernel:
        """Another node on the same database, to be closed by whoever wants it."""
        kernel = open_kernel_on(
            self.connect(), clock=self.clock, seed=seed, cache_bytes=cache_bytes
        )
        await kernel.open()
        return kernel

    async def pass_days(self, days: float) -> None:
        """Let time pass, and the lease be renewed after it."""
        self.clock.advance(days * DAY_MS)
        async with asyncio.timeout(10):
            while not self._makes_ids():
                await asyncio.sleep(0)

    def _makes_ids(self) -> bool:
        try:
            self.kernel.ids.next()
        except NoNodeId:
            return False
        return True

    async def live(self, commits: int = COMMITS, days: float = DAYS) -> None:
        """Commit to three pointers, over some days."""
        for number in range(commits):
            for pointer in POINTERS:
                await self.realm.commit(pointer, putting(b"%d" % (number % 7), b"%d" % number))
            await self.pass_days(days / commits)

    async def logs(self) -> dict[str, list[Commit]]:
        """The logs of all three pointers, each read to its end."""
        return {name: await history(self.kernel, self.realm, name) for name in POINTERS}

    async def ids(self, pointer: str = "root") -> list[int]:
        return [commit.id for commit in await history(self.kernel, self.realm, pointer)]

    def expected(self, ids: list[int], retention: int = RETENTION) -> list[int]:
        """What is to be left of a log: from the newest that is too old on."""
        before_ms = self.clock.wall_ms() - retention * DAY_MS
        old = [at for at, id in enumerate(ids) if time_ms(id) < before_ms]
        return ids[max(old, default=0) :]

    def key(self, pointer: str = "root") -> PointerKey:
        return PointerKey(self.realm.id, pointer)


def aging_store(seed: int = 0) -> AgingStore:
    """A store in memory, still to be opened."""
    memory = MemoryBackend()
    return AgingStore(lambda: memory, seed)
