"""Catalogs and dropped tables of a simulation: made, dropped and purged by the real use cases. Only
the files, and the child process that deletes them, are simulated."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_commits import add_catalog, remove_catalog
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity, Entry, Kind, TableEntity
from headgate.catalog.events import EventBus
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PurgeTerms, record_purge
from headgate.errors import HeadgateError
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.model.names import Identifier
from headgate.purge.claims import Claims
from headgate.purge.deleter import Progress, Task
from headgate.purge.fence import open_fence
from headgate.purge.jobs import JobTerms
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.stages import Children, Stages
from headgate.purge.steps import LEAVES
from headgate.purge.surveyor import Outside, Shared, Surveyed
from headgate.purge.workers import Workers
from headgate.testing.simulation.oracle import Oracle
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.storage import SimulatedStorage
from headgate.testing.simulation.weather import log_uniform

CATALOGS = ("east", "west", "north", "south")
FILES = 4
DELETING_SECONDS = (0.01, 40.0)
TERMS = JobTerms(worker_threads=2, poll_ms=20_000, lease_ms=60_000, backoff_base_ms=10_000)


class LakeClient:
    """Makes and drops catalogs and tables on one node."""

    def __init__(
        self,
        process: Process,
        oracle: Oracle,
        storage: SimulatedStorage,
        chance: random.Random,
        numbers: Callable[[], int],
    ) -> None:
        self._process = process
        self._oracle = oracle
        self._storage = storage
        self._chance = chance
        self._numbers = numbers

    async def live(self, kernel: Kernel, metalake: str, thinking_seconds_max: float) -> None:
        """Do one thing after the other."""
        doings = (self._create, self._drop, self._drop_table, self._drop_table)
        while True:
            await asyncio.sleep(log_uniform(self._chance, 0.01, thinking_seconds_max))
            try:
                realm = await kernel.realms.get(metalake)
                await self._chance.choice(doings)(kernel, realm)
            except HeadgateError:
                continue

    async def _create(self, kernel: Kernel, realm: Realm) -> None:
        name = self._chance.choice(CATALOGS)
        new = CatalogEntity(0, name, f"/warehouse/{self._numbers()}", {})
        call = Call(CatalogName(realm.name, name))
        made = await add_catalog(kernel, realm, call, new)
        self._oracle.catalog_made(realm.id, made.id)

    async def _drop(self, kernel: Kernel, realm: Realm) -> None:
        found = await list_catalogs(kernel, realm.name)
        if found:
            gone = self._chance.choice(found)
            call = Call(CatalogName(realm.name, gone.name))
            await remove_catalog(kernel, realm, call, gone, force=True)

    async def _drop_table(self, kernel: Kernel, realm: Realm) -> None:
        """Make a table and drop it in one commit: what is left is a purge job."""
        found = await list_catalogs(kernel, realm.name)
        if not found:
            await self._create(kernel, realm)
            return
        catalog, number = self._chance.choice(found), self._numbers()
        location = f"{catalog.warehouse}/t{number}"
        paths = [f"{location}/data/{file}" for file in range(FILES)]
        metadata = f"{location}/metadata/1.json"
        self._storage.add(paths, metadata)
        call = Call(CatalogName(realm.name, catalog.name))
        table = TableEntity(str(number), location, metadata, b"", (location,))

        def attempt(draft: Draft) -> None:
            entry = Entry(Kind.TABLE, draft.new_id(), draft.stage(table))
            name = Identifier(("a",), f"t{number}")
            id = record_purge(draft, call, name, entry, PurgeTerms())
            self._oracle.job_recorded(location, realm.id, id)

        await kernel.realm(realm.id).commit(head_pointer(catalog.id), attempt)


class SimulatedDeleter:
    """Deletes the files of tables, slowly, as long as the fence lets it."""

    obeys = True
    """Whether it looks at the fence."""

    def __init__(
        self,
        process: Process,
        oracle: Oracle,
        storage: SimulatedStorage,
        clock: Any,  # noqa: ANN401  whatever clock the kernel has
        chance: random.Random,
    ) -> None:
        self._process = process
        self._oracle = oracle
        self._storage = storage
        self._clock = clock
        self._chance = chance

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage."""
        deleted = 0
        for location in task.own:
            for path in self._storage.below(location, leaves=task.stage == LEAVES):
                await asyncio.sleep(log_uniform(self._chance, *DELETING_SECONDS))
                with open_fence(fence, self._clock) as opened:
                    if self.obeys:
                        opened.check()
                    self._oracle.deleting_file(self._process, location, path)
                    self._storage.files_there.discard(path)
                deleted += 1
                yield Progress(task.stage, deleted=deleted, expected=deleted)
        yield Progress(task.stage, deleted=deleted, expected=deleted)


class Unrelated:
    """Finds that no table refers to files of another one."""

    async def survey(self, tables: Sequence[Surveyed], *_: object, **__: object) -> list[Outside]:
        return [Outside() for _ in tables]

    async def shared(self, *_: object, **__: object) -> Shared:
        return Shared()


def purge_workers(
    process: Process,
    kernel: Kernel,
    oracle: Oracle,
    storage: SimulatedStorage,
    chance: random.Random,
) -> Workers:
    """The purge machinery of a node. Its owner is this incarnation of the process."""
    deleter = SimulatedDeleter(process, oracle, storage, kernel.clock, chance)
    children = Children(deleter, Unrelated())
    stages = Stages(kernel, Queue(kernel), storage, children, TERMS)
    claims = Claims(kernel, TERMS, repr(process))
    return Workers(Runner(stages, EventBus(repr(process)), chance.random), claims, chance.random)
