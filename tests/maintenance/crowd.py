"""Writers, readers and a sweeper on one database, all at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from headgate.errors import HeadgateError, NotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.testing.kernels import Thing, reachable_pages
from tests.unit.maintenance.stores import PLAIN, POINTER, THINGS, sweep

KEYS = 200  # so many entries need pages of their own
WRITERS, READERS = 3, 2

Pause = Callable[[float], Awaitable[None]]


class Crowd:
    """They share two nodes, of which the last one caches nothing."""

    def __init__(
        self, nodes: list[Kernel], realm: str, grace_ms: int, chance: random.Random, pause: Pause
    ) -> None:
        self.rows_deleted = 0
        self.heads_read = 0
        self._nodes = nodes
        self._realm = realm
        self._grace_ms = grace_ms
        self._chance = chance
        self._pause = pause
        self._is_over = False

    async def work(self, changes: int, *, until_deleted: bool = False) -> None:
        """All at once, until each writer has made so many changes, and sweeps have deleted
        something if they are to: one that meets a failure of the database is over."""
        async with asyncio.TaskGroup() as beside:
            for _ in range(READERS):
                beside.create_task(self._read())
            beside.create_task(self._sweep())
            await asyncio.gather(*(self._write(n, changes) for n in range(WRITERS)))
            while until_deleted and not self.rows_deleted:
                await asyncio.gather(*(self._write(n, 1) for n in range(WRITERS)))
            self._is_over = True

    async def check(self, head: HeadView) -> set[int]:
        """Read all that a head refers to; the ids of its things. What is gone is an error."""
        while True:
            try:
                found = set()
                async for _ in head.index(PLAIN).scan():
                    pass
                async for key, value in head.index(THINGS).scan():
                    id = int.from_bytes(value, "big")
                    assert (await head.get(id, Thing)).text == key.decode()
                    found.add(id)
                return found
            except NotFound:
                raise
            except HeadgateError:
                continue  # the database did not answer

    async def end(self) -> None:
        """After the grace a sweep leaves exactly what the head refers to."""
        run = await sweep(self._nodes[0], self._grace_ms)
        assert run.failures == ()
        self.rows_deleted += run.counts.rows_deleted
        [head] = await self.handle(-1).heads(POINTER)
        pages = await reachable_pages(self._nodes[-1], self._realm, head.id)

        assert await self._stored("thing") == await self.check(head)
        assert await self._stored("page") == set(pages)
        assert self.rows_deleted > len(pages)

    async def _stored(self, type: str) -> set[int]:
        return {
            row.id
            async for batch in self._nodes[0].backend.scan_rows()
            for row in batch
            if (row.realm, row.type) == (self._realm, type)
        }

    def handle(self, n: int) -> RealmHandle:
        """The realm, on one of the nodes."""
        return self._nodes[n % len(self._nodes)].realm(self._realm)

    async def _write(self, n: int, changes: int) -> None:
        for _ in range(changes):
            try:
                await self.handle(n).commit(POINTER, self._changing())
            except NotFound:
                raise
            except HeadgateError:
                pass  # the database did not answer
            await self._pause(self._chance.random() * 0.02)

    def _changing(self) -> Callable[[Draft], None]:
        key = b"%04d" % self._chance.randrange(KEYS)
        removes, number = self._chance.random() < 0.3, self._chance.random()

        def attempt(draft: Draft) -> None:
            draft.index(PLAIN).put(key, b"%f" % number)
            if removes:
                draft.index(THINGS).remove(key)
            else:
                id = draft.stage(Thing(key.decode(), b"%f" % number))
                draft.index(THINGS).put(key, id.to_bytes(8, "big"))

        return attempt

    async def _read(self) -> None:
        """Whoever has opened a head can read all of it within the grace."""
        clock = self._nodes[0].clock
        while not self._is_over:
            began = clock.seconds()
            try:
                [head] = await self.handle(-1).heads(POINTER)
            except NotFound:
                raise
            except HeadgateError:
                continue  # the database did not answer
            await self._pause(self._grace_ms / 2_000)
            try:
                await self.check(head)
                self.heads_read += 1
            except NotFound:
                assert clock.seconds() - began > self._grace_ms / 1_000, "within the grace"

    async def _sweep(self) -> None:
        while not self._is_over:
            try:
                run = await sweep(self._nodes[0], self._grace_ms)
            except HeadgateError:
                await self._pause(0.01)
                continue  # the database did not answer
            assert not any("not swept" in one for one in run.failures), run.failures
            self.rows_deleted += run.counts.rows_deleted
            await self._pause(0.05)
