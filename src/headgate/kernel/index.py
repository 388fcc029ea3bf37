"""Reading: the indexes of one head, opened lazily and fetched on demand."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from typing import TypeVar

from headgate.errors import ObjectNotFound
from headgate.kernel.head import NO_HEAD, Head, decode_root
from headgate.kernel.objects import expect
from headgate.kernel.pages import Page
from headgate.kernel.records import EMPTY
from headgate.kernel.store import Store
from headgate.kernel.tree import Difference, Missing, Tree

R = TypeVar("R")
T = TypeVar("T")


class PageShelf:
    """The pages of one realm that one reader or batch has needed: fetched once, held until it is
    done.

    Holding them guarantees progress: a page that was fetched is there at the next try, however
    small the cache is.
    """

    __slots__ = ("_find_cached", "_held", "_realm", "_store", "missed")

    def __init__(self, store: Store, realm: str, *, in_thread: bool = False) -> None:
        """With `in_thread` another thread may look things up; `fetch` is for the event loop."""
        self._store = store
        self._realm = realm
        self._held: dict[int, object] = {}
        # without a detour: it is asked for every page
        self._find_cached = store.cache.peek if in_thread else store.cache.find
        self.missed: set[int] = set()

    def find(self, id: int) -> Page | None:
        """The page, if it is held or cached."""
        value = self._held.get(id)
        if value is None:
            value = self._find_cached((self._realm, id))
            if value is None:
                self.missed.add(id)
                return None
        return value if type(value) is Page else expect(value, Page, id)

    def find_object(self, id: int) -> object | None:
        """The object, if it is held or cached."""
        value = self._held.get(id) or self._find_cached((self._realm, id))
        if value is None:
            self.missed.add(id)
        return value

    def clear(self) -> None:
        """Hold nothing any more."""
        self._held.clear()

    async def fetch(self, missing: Missing) -> None:
        """Bring what is missing; `ObjectNotFound` if the database does not have it."""
        found = await self._store.fetch(self._realm, missing.ids)
        lost = [id for id in missing.ids if id not in found]
        if lost:
            raise ObjectNotFound(
                f"objects {lost} of realm {self._realm!r} do not exist",
                why="a commit refers to them and they are not stored",
                fix="The commit may be older than the retention; else restore a backup",
            )
        self._held |= found


class HeadView:
    """One commit of one pointer, opened for reading. An EMPTY pointer reads as one without
    entries."""

    def __init__(self, store: Store, realm: str, id: int, head: Head = NO_HEAD) -> None:
        self.id = id
        self.realm = realm
        self.head = head
        self._store = store

    def root(self, index: str) -> Page:
        """The root page of an index."""
        return self._store.find_root(self.realm, self.id, index) or self._decode_root(index)

    def index(self, name: str) -> "Index":
        """An index of this head."""
        return Index(self.root(name), self._store, self.realm)

    async def get(self, id: int, cls: type[T]) -> T:
        """An immutable object that this head refers to."""
        return await self._store.get(self.realm, id, cls)

    async def get_all(self, ids: Collection[int], cls: type[T]) -> list[T]:
        """Immutable objects that this head refers to, in this order; all are read together."""
        await self._store.fetch(self.realm, ids)
        return [await self._store.get(self.realm, id, cls) for id in ids]

    def for_thread(self) -> "HeadView":
        """The same commit, opened for another thread."""
        return HeadInThread(self._store, self.realm, self.id, self.head)

    def _decode_root(self, index: str) -> Page:
        page = decode_root(self.head, index)
        self._store.keep_root(self.realm, self.id, index, page)
        return page


class HeadInThread(HeadView):
    """A commit that another thread reads: it decodes roots for itself and uses no cache."""

    def __init__(self, store: Store, realm: str, id: int, head: Head) -> None:
        super().__init__(store, realm, id, head)
        self._roots: dict[str, Page] = {}

    def root(self, index: str) -> Page:
        """The root page of an index, always the same object."""
        root = self._roots.get(index)
        if root is None:
            root = self._roots[index] = decode_root(self.head, index)
        return root


class Index:
    """An index as one head has it."""

    __slots__ = ("shelf", "tree")

    def __init__(self, root: Page, store: Store, realm: str) -> None:
        self.shelf = PageShelf(store, realm)
        self.tree = Tree(root, self.shelf)

    async def get(self, key: bytes) -> bytes | None:
        """The value of this key, None if it is absent."""
        while True:
            try:
                return self.tree.get(key)
            except Missing as missing:
                await self.shelf.fetch(missing)

    async def scan(
        self, low: bytes = b"", high: bytes | None = None
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """The entries with low <= key < high, in order."""

        def walk(last: tuple[bytes, bytes] | None) -> Iterator[tuple[bytes, bytes]]:
            return self.tree.scan(low if last is None else last[0] + b"\0", high)

        async for entry in self._walked(walk):
            yield entry

    async def prefix(self, prefix: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
        """The entries whose key begins with a prefix, in order."""
        async for entry in self.scan(prefix, after_prefix(prefix)):
            yield entry

    async def children(
        self, prefix: bytes, after: bytes | None = None
    ) -> AsyncIterator[tuple[bytes, bytes | None]]:
        """The direct children below a prefix; see `Tree.children`."""

        def walk(last: tuple[bytes, bytes | None] | None) -> Iterator[tuple[bytes, bytes | None]]:
            return self.tree.children(prefix, after if last is None else last[0])

        async for child in self._walked(walk):
            yield child

    async def difference(self, new: "Index") -> list[Difference]:
        """What changed from this index to `new`, at the cost of what changed."""
        while True:
            try:
                return self.tree.difference(new.tree)
            except Missing as missing:
                await asyncio.gather(self.shelf.fetch(missing), new.shelf.fetch(missing))

    async def _walked(self, walk: Callable[[R | None], Iterator[R]]) -> AsyncIterator[R]:
        """All entries of a walk, which after each fetch goes on behind the last one."""
        last: R | None = None
        while True:
            before = last
            try:
                for entry in walk(last):
                    last = entry
                    yield entry
            except Missing as missing:
                if last is not before:
                    self.shelf.clear()  # what is behind us is not needed again
                await self.shelf.fetch(missing)
            else:
                return


async def open_head(store: Store, realm: str, id: int | None) -> HeadView:
    """The head with this id; EMPTY and None read as a head without entries."""
    if id is None or id == EMPTY:
        return HeadView(store, realm, EMPTY)
    return HeadView(store, realm, id, await store.get(realm, id, Head))


async def look(index: Index, find: Callable[[Tree], R]) -> R:
    """What a pure function finds in an index. What it misses is fetched, and it is run again."""
    while True:
        try:
            return find(index.tree)
        except Missing as missing:
            await index.shelf.fetch(missing)


def after_prefix(prefix: bytes) -> bytes | None:
    """The smallest key above every key with this prefix, None if there is no such key."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
