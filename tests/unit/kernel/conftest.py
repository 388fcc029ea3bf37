"""What kernel tests share: a database with one node and one realm, and one bare pointer."""

from collections.abc import AsyncIterator, Mapping
from itertools import count

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.kernel.assemble import Assembled, assemble
from headgate.kernel.cache import Cache
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import HEAD_TYPES
from headgate.kernel.index import HeadView, Index, PageShelf, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import ObjectTypes, split
from headgate.kernel.pages import PAGE_TYPE
from headgate.kernel.records import EMPTY
from headgate.kernel.store import Store
from headgate.kernel.tree import Missing
from headgate.limits import CACHE_BYTES
from headgate.testing.counting import CountingBackend
from headgate.testing.kernels import Rig

REALM = "r"
NAMES = "names"
FIRST_ID = 1 << 62  # ids as large as they get: each takes nine bytes


class CountedIds:
    """Hands out one number after the other."""

    def __init__(self, first: int = FIRST_ID) -> None:
        self._ids = count(first)

    def next(self) -> int:
        return next(self._ids)

    def pair(self) -> tuple[int, int]:
        return self.next(), self.next()


class OnePointer:
    """The heads of one pointer, the newest of which is `id`, and a store that reads them."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self.backend = CountingBackend(MemoryBackend())
        self.types = ObjectTypes((*HEAD_TYPES, PAGE_TYPE))
        self.ids = CountedIds()
        self.id = EMPTY
        self.restart(cache_bytes)

    def restart(self, cache_bytes: int = CACHE_BYTES) -> None:
        """Read with a cold cache of this size from now on, and count from zero."""
        self.store = Store(self.backend, self.types, Cache(cache_bytes))
        self.backend.reset()

    async def head(self, id: int | None = None) -> HeadView:
        return await open_head(self.store, REALM, self.id if id is None else id)

    async def index(self, id: int | None = None) -> Index:
        return (await self.head(id)).index(NAMES)

    async def draft(self) -> tuple[Draft, PageShelf]:
        shelf = PageShelf(self.store, REALM)
        return Draft(await self.head(), shelf, self.ids, self.types, 0), shelf

    async def commit(self, draft: Draft) -> Assembled:
        assembled = assemble(draft, self.types, self.ids)
        rows = [row for staged in assembled.objects for row in split(REALM, staged.encoded)]
        await self.backend.write(rows)
        for staged in assembled.objects:
            self.store.keep(REALM, staged.encoded, staged.value)
        self.id = assembled.id
        return assembled

    async def change(self, entries: Mapping[bytes, bytes | None]) -> Assembled:
        """Commit these entries; None removes one."""
        draft, shelf = await self.draft()
        tree = draft.tree(NAMES)
        for key, value in entries.items():
            while True:
                try:
                    if value is None:
                        tree.remove(key)
                    else:
                        tree.put(key, value)
                    break
                except Missing as missing:
                    await shelf.fetch(missing)
        return await self.commit(draft)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database with one node."""
    async with Rig() as rig:
        await rig.open()
        yield rig


@pytest.fixture
async def realm(rig: Rig) -> RealmHandle:
    """A realm on the node; calls and waits are counted from here on."""
    realm = await rig.realm()
    rig.backend.reset()
    rig.clock.slept.clear()
    return realm


@pytest.fixture
def kernel(rig: Rig) -> Kernel:
    """The node."""
    return rig.kernels[0]


@pytest.fixture
def pointer() -> OnePointer:
    """An EMPTY pointer."""
    return OnePointer()
