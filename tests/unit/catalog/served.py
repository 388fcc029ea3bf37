"""Nodes that poll, behind a front as servers have it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from headgate.access.auditing import Decision
from headgate.catalog.guards import GuardOptions
from headgate.catalog.judging import Judge
from headgate.catalog.polling import Polling, Validation
from headgate.http.front import Front, FrontOptions
from headgate.http.measures import Measures
from headgate.http.router import Surface
from headgate.kernel.kernel import Kernel
from tests.unit.catalog.guarded import ADMIN, Guarded
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World, basic
from tests.unit.http.asgi import Answer, ask

INTERVAL_SECONDS = 5.0
GUARD = GuardOptions(is_on=True, admins=frozenset({ADMIN}))
TABLE = f"/v1/{METALAKE}.{CATALOG}/namespaces/a/tables/t"
TABLES = f"/v1/{METALAKE}.{CATALOG}/namespaces/a/tables"


class Heard:
    """An audit that a test can look into."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)


class Served:
    """One server process that polls."""

    def __init__(self, world: World, node: Node, polling: Polling, front: Front) -> None:
        self.world = world
        self.node = node
        self.polling = polling
        self.front = front
        self.heard = Heard()
        self.rights = Guarded(node.lake)
        node.lake.openings.judge = Judge(self.heard, node.kernel.clock)

    async def ask(self, method: str, path: str, user: str, *body: bytes) -> Answer:
        return await ask(self.front, method, path, *body, authorization=basic(user))

    async def get(self, path: str, user: str) -> int:
        """The status of the answer to a read."""
        return (await self.ask("GET", path, user)).status

    async def reads(self, path: str, user: str) -> Mapping[str, int]:
        """What such an answer costs the database, which must be a good one."""
        self.world.rig.backend.reset()
        assert await self.get(path, user) == 200
        return dict(self.world.rig.backend.calls)


@asynccontextmanager
async def served(world: World, guard: GuardOptions = GUARD) -> AsyncIterator[Served]:
    """Another node of a world, which polls when a test says so."""
    made: list[Polling] = []

    def validate(kernel: Kernel) -> Validation:
        made.append(Polling(kernel, INTERVAL_SECONDS))
        return made[0].validation

    node = await world.node(guard=guard, validate=validate)

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [node.surface]

    options = FrontOptions(is_polling=True)
    front = Front(opening, node.kernel.clock, Measures(), seed=1, options=options)
    async with front:
        yield Served(world, node, made[0], front)
