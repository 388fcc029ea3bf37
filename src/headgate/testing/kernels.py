"""Kernels for tests: one database in memory; time, chance and faults are in the hands of a test."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from headgate.backends.memory import MemoryBackend
from headgate.clock import Clock
from headgate.kernel.backend import Backend
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import Head, decode_root
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.log import Commit
from headgate.kernel.objects import ObjectType, Stored, encode_fields
from headgate.kernel.pages import Page
from headgate.kernel.realms import BY_ID, REALMS_KEY, Realm, RealmState
from headgate.kernel.records import PointerKey, Row
from headgate.limits import CACHE_BYTES, LEASE_RENEW_MS
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import Faults, FaultyBackend
from headgate.testing.manual_clock import START_MS, ManualClock

INDEX = "names"
POINTER = "catalogs"  # every realm has it
SHORT_SECONDS = 1.0


class Thing(Stored, frozen=True):
    """A stored type for tests."""

    text: str = ""
    blob: bytes = b""


THING_TYPE = ObjectType("thing", Thing)


class SteppedClock(ManualClock):
    """Short waits move the time; longer ones end when a test has moved it far enough.

    So a kernel's background tasks stand still while its commits retry and pause as they like.
    """

    def __init__(self, start_ms: int = START_MS) -> None:
        super().__init__(start_ms)
        self.short_seconds = SHORT_SECONDS  # waits below this are short
        self.slept: list[float] = []  # the short waits, in seconds
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._fell_asleep = asyncio.Event()

    def advance(self, ms: float) -> None:
        super().advance(ms)
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self.seconds()]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper not in due]
        for _, future in due:
            if not future.done():
                future.set_result(None)

    async def sleep(self, seconds: float) -> None:
        if seconds < self.short_seconds:
            self.slept.append(seconds)
            await super().sleep(seconds)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.seconds() + seconds, future))
        self._fell_asleep.set()
        await future

    async def until_asleep(self, seconds: float) -> None:
        """Return when somebody has begun to wait for this long."""
        while all(due != self.seconds() + seconds for due, _ in self._sleepers):
            self._fell_asleep.clear()
            await self._fell_asleep.wait()


class Snapshot(NamedTuple):
    """All that a database holds."""

    pointers: dict[PointerKey, int]
    rows: dict[tuple[str, int, int], Row]

    def ids(self, realm: str, type: str) -> set[int]:
        """The ids of all objects of a type in a realm."""
        return {row.id for row in self.rows.values() if (row.realm, row.type) == (realm, type)}


class Rig:
    """One database in memory behind a fault injector and a counter, and kernels opened on it."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.memory = MemoryBackend()
        self.faults = faults or Faults()
        self.backend = CountingBackend(FaultyBackend(self.memory, self.faults))
        self.clock = SteppedClock()
        self.kernels: list[Kernel] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.faults.active = False
        for kernel in self.kernels:
            await kernel.close()

    async def open(
        self,
        *,
        clock: Clock | None = None,
        cache_bytes: int = CACHE_BYTES,
        commit: CommitOptions = CommitOptions(),
        types: Iterable[ObjectType] = (THING_TYPE,),
    ) -> Kernel:
        """Another node on this database; closed with the rig."""
        kernel = open_kernel_on(
            self.backend,
            clock=clock or self.clock,
            seed=len(self.kernels),
            cache_bytes=cache_bytes,
            commit=commit,
            types=types,
        )
        await kernel.open()
        self.kernels.append(kernel)
        return kernel

    async def pass_time(self, ms: float) -> None:
        """Move the clock on, slowly enough for leases to be renewed on the way."""
        while ms > 0:
            self.clock.advance(min(ms, LEASE_RENEW_MS))
            ms -= LEASE_RENEW_MS
            await turns(5)

    async def realm(self, name: str = "acme") -> RealmHandle:
        """An ACTIVE realm of this name, on the first node."""
        kernel = self.kernels[0] if self.kernels else await self.open()
        return kernel.realm((await kernel.realms.create(name)).id)


class Held:
    """The next commit on the database waits here until it is let go."""

    def __init__(self, rig: Rig) -> None:
        self.reached = asyncio.Event()
        self.let_go = asyncio.Event()
        rig.faults.crash_at("before_commit", self._wait)

    async def _wait(self) -> None:
        self.reached.set()
        await self.let_go.wait()


def open_kernel_on(
    backend: Backend,
    *,
    clock: Clock | None = None,
    seed: int = 0,
    cache_bytes: int = CACHE_BYTES,
    commit: CommitOptions = CommitOptions(),
    types: Iterable[ObjectType] = (THING_TYPE,),
) -> Kernel:
    """A kernel with repeatable chance, opened on entry and closed on exit of `async with`."""
    options = KernelOptions(cache_bytes=cache_bytes, commit=commit, holder=f"test-{seed}")
    return Kernel(backend, clock or SteppedClock(), entropy(seed), options, types)


def entropy(seed: int) -> Callable[[], int]:
    """Numbers that look random, the same in every run; another seed gives other numbers."""
    source = random.Random(f"entropy/{seed}")
    return lambda: source.getrandbits(62) + 1


def putting(key: bytes, value: bytes = b"", index: str = INDEX) -> Callable[[Draft], None]:
    """An attempt that puts one entry."""
    return lambda draft: draft.index(index).put(key, value)


def removing(key: bytes, index: str = INDEX) -> Callable[[Draft], bool]:
    """An attempt that removes one entry."""
    return lambda draft: draft.index(index).remove(key)


def putting_all(entries: Mapping[bytes, bytes], index: str = INDEX) -> Callable[[Draft], None]:
    """An attempt that puts many entries."""

    def attempt(draft: Draft) -> None:
        for key, value in entries.items():
            draft.index(index).put(key, value)

    return attempt


async def entries(
    handle: RealmHandle, pointer: str = POINTER, index: str = INDEX
) -> dict[bytes, bytes]:
    """What an index of a pointer holds now."""
    [head] = await handle.heads(pointer)
    return {key: value async for key, value in head.index(index).scan()}


async def history(kernel: Kernel, handle: RealmHandle, pointer: str = POINTER) -> list[Commit]:
    """The log of a pointer, oldest first."""
    key = PointerKey(handle.id, pointer)
    return [commit async for commit in kernel.log.oldest_first(key)]


async def snapshot(backend: Backend) -> Snapshot:
    """All that a database holds, to compare what was before with what is after."""
    pointers = [pointer async for batch in backend.scan_pointers() for pointer in batch]
    scanned = [row async for batch in backend.scan_rows() for row in batch]
    rows: list[Row] = []
    for realm in {row.realm for row in scanned}:
        rows += await backend.fetch(realm, {row.id for row in scanned if row.realm == realm})
    return Snapshot(
        {PointerKey(realm, name): value for realm, name, value in pointers},
        {(row.realm, row.id, row.part): row for row in rows},
    )


async def reachable_pages(kernel: Kernel, realm: str, head: int) -> list[int]:
    """The ids of all pages that the indexes of a head use, each as often as it is used."""
    found = await kernel.store.get(realm, head, Head)
    pages = [decode_root(found, index) for index in found.roots]
    ids: list[int] = []
    while pages:
        below = [child for page in pages for child in page.children]
        ids += below
        pages = [await kernel.store.get(realm, id, Page) for id in below]
    return ids


async def realm_in(kernel: Kernel, state: RealmState, name: str = "acme") -> Realm:
    """A realm that is in this state, however it got there."""
    realm = await kernel.realms.reserve(name)
    forced = msgspec.structs.replace(realm, state=state)

    def attempt(draft: Draft) -> None:
        draft.index(BY_ID).put(realm.id.encode(), encode_fields(forced))

    await kernel.committer.commit(REALMS_KEY, attempt)
    return forced


async def turns(count: int) -> None:
    """Let other tasks run."""
    for _ in range(count):
        await asyncio.sleep(0)
