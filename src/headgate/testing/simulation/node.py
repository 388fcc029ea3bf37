"""A simulated node: a process with a real kernel, and clients, sweeps and purges in it."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from headgate.catalog.entities import CATALOG_TYPES
from headgate.clock import SystemClock
from headgate.errors import HeadgateError, OutcomeUnknown
from headgate.kernel.backend import Backend
from headgate.kernel.commit import CommitOptions
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.records import PointerKey
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.maintenance.running import Order, Running
from headgate.purge.jobs import PURGE_TYPES
from headgate.testing.kernels import THING_TYPE
from headgate.testing.simulation.changes import KNOWN, MADE, NAMES, POINTERS, Change
from headgate.testing.simulation.lake import LakeClient, purge_workers
from headgate.testing.simulation.oracle import Oracle, Rule
from headgate.testing.simulation.plans import Habits, Plan
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.storage import SimulatedStorage
from headgate.testing.simulation.weather import log_uniform

TYPES = (THING_TYPE, *MAINTENANCE_TYPES, *CATALOG_TYPES, *PURGE_TYPES)
CACHES_BYTES = (0, 40_000, 1 << 20)
OPEN_AGAIN_SECONDS = 20.0
PAUSES_SECONDS = (0.0, 0.5, 2.0, 4.0, 8.0)
REALMS = ("acme", "hooli", "umbrella")
THINKING_SECONDS_MIN = 0.001


class Surroundings(NamedTuple):
    """What a node works with and on."""

    backend: Backend
    oracle: Oracle
    storage: SimulatedStorage
    plan: Plan
    habits: Habits
    numbers: Callable[[], int]
    """New numbers for changes and places, for all nodes."""


class Node:
    """One process, from its start until it is killed."""

    def __init__(self, process: Process, around: Surroundings, seed: str) -> None:
        self.process = process
        self.kernel: Kernel | None = None
        """Once it is open."""
        self.chance = random.Random(f"node/{seed}")
        self.sweeps = 0
        self._backend = around.backend
        self._oracle = around.oracle
        self._storage = around.storage
        self._plan = around.plan
        self._habits = around.habits
        self._numbers = around.numbers
        self._seed = seed

    @property
    def is_awake(self) -> bool:
        """Whether it can do something now."""
        return self.kernel is not None and not self.process.is_stopped

    async def live(self) -> None:
        """Open the store, again and again if need be, and work on it."""
        while self.kernel is None:
            kernel = self._new_kernel()
            try:
                await kernel.open()
                self._oracle.watch_ids(self.process, kernel)
                for name in REALMS:
                    await _set_up(kernel, name)
                self.kernel = kernel
            except HeadgateError:
                await asyncio.sleep(OPEN_AGAIN_SECONDS)
        works = [self._change_things] * self._plan.clients + [self._read_things]
        if self._plan.sweeps:
            works.append(self._sweep)
        if self._plan.catalogs:
            works.append(self._use_catalogs)
        if self._plan.purges:
            workers = purge_workers(
                self.process, self.kernel, self._oracle, self._storage, self.chance
            )
            workers.start()
        await asyncio.gather(*(self._guarded(work, self.kernel) for work in works))

    def _new_kernel(self) -> Kernel:
        options = KernelOptions(
            cache_bytes=self.chance.choice(CACHES_BYTES),
            commit=CommitOptions(),
            holder=self.process.name,
        )
        return Kernel(self._backend, SystemClock(), entropy_of(self._seed), options, TYPES)

    async def _guarded(self, work: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """Work that must not end by an error."""
        try:
            await work(*args)
        except Exception as error:
            if self._oracle.broken is None:
                raise self._oracle.fail(Rule.SOUND, f"{self.process}: {error!r}") from error
            raise

    # Clients

    def follow(self, key: PointerKey) -> None:
        """Change something at a pointer that was just changed."""
        if self.kernel is not None:
            asyncio.get_running_loop().create_task(
                self._guarded(self._change_one, self.kernel, key)
            )

    async def _change_things(self, kernel: Kernel) -> None:
        chance = self.chance
        realms = {one.name: one.id for one in await _patiently(kernel, kernel.realms.list)}
        while True:
            await asyncio.sleep(
                log_uniform(chance, THINKING_SECONDS_MIN, self._habits.thinking_seconds_max)
            )
            key = PointerKey(realms[chance.choice(REALMS)], chance.choice(POINTERS))
            if self._oracle.recent is not None and chance.random() < self._habits.following:
                key = self._oracle.recent
            count = chance.choice((1, 1, 1, 2, 4))
            await asyncio.gather(*(self._change_one(kernel, key) for _ in range(count)))

    async def _change_one(self, kernel: Kernel, key: PointerKey) -> None:
        chance, oracle = self.chance, self._oracle
        number = self._numbers()
        name = b"%04d" % chance.randrange(NAMES)
        adds, is_operation = chance.random() < 0.8, chance.random() < 0.3
        change = Change(number, name, adds, b"%d" % number if is_operation else b"")
        oracle.begin(change)
        handle = kernel.realm(key.realm)
        told_nothing = False
        while True:
            try:
                answer = await handle.commit(key.name, change.attempt, operation=change.operation)
            except OutcomeUnknown:
                told_nothing = True
                if change.operation and chance.random() < 0.8:
                    continue
                oracle.told_nothing(change)
            except HeadgateError as error:
                if told_nothing:
                    oracle.told_nothing(change)
                else:
                    oracle.told_not_made(change, error)
            else:
                if answer == MADE:
                    oracle.told_made(change)
            return

    async def _read_things(self, kernel: Kernel) -> None:
        """Read what is there now: it must not be older than what was acknowledged before."""
        chance, oracle = self.chance, self._oracle
        realms = {one.name: one.id for one in await _patiently(kernel, kernel.realms.list)}
        while True:
            await asyncio.sleep(log_uniform(chance, 0.01, self._habits.thinking_seconds_max))
            realm = realms[chance.choice(REALMS)]
            keys = [PointerKey(realm, name) for name in POINTERS]
            least = [len(oracle.histories.get(key, ())) for key in keys]
            try:
                heads = await kernel.realm(realm).heads(*POINTERS)
            except HeadgateError:
                continue
            for key, head, seq in zip(keys, heads, least, strict=True):
                if head.head.seq < seq:
                    why = f"{self.process} read {key.name} at #{head.head.seq}, it was at #{seq}"
                    raise oracle.fail(Rule.FRESH, why)

    async def _use_catalogs(self, kernel: Kernel) -> None:
        client = LakeClient(self.process, self._oracle, self._storage, self.chance, self._numbers)
        await client.live(kernel, REALMS[0], self._habits.thinking_seconds_max)

    # Sweeps

    async def _sweep(self, kernel: Kernel) -> None:
        chance, grace = self.chance, self._plan.grace_seconds
        while True:
            await asyncio.sleep(log_uniform(chance, grace / 10, grace * 3))
            order = Order(
                by="simulation",
                holder=self.process.name,
                grace_ms=int(self._plan.sweep_grace_seconds * 1_000),
                pause_seconds=chance.choice(PAUSES_SECONDS),
            )
            try:
                running = Running(kernel, order, KNOWN)
                await running.begin()
                self.process.is_sweeping = True
                await running.complete()
                self.sweeps += 1
            except HeadgateError:
                continue
            finally:
                self.process.is_sweeping = False


def entropy_of(seed: str) -> Callable[[], int]:
    """Numbers that look random, the same for the same seed."""
    source = random.Random(f"entropy/{seed}")
    return lambda: source.getrandbits(62) + 1


async def _set_up(kernel: Kernel, name: str) -> None:
    if name not in {one.name for one in await kernel.realms.list()}:
        await kernel.realms.create(name)
    await kernel.realms.activate(name)


async def _patiently(kernel: Kernel, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:  # noqa: ANN401
    while True:
        try:
            return await work()
        except HeadgateError:
            await kernel.clock.sleep(1.0)
