"""A realm in use: its heads and its commits, each checked against the realm's present state."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from headgate.errors import PointerNotFound
from headgate.kernel.commit import Committer
from headgate.kernel.draft import Draft
from headgate.kernel.history import KnownHead
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.lane import Watch
from headgate.kernel.objects import Foreign, Stored
from headgate.kernel.pointers import Pointers, Vector
from headgate.kernel.realms import REALMS_KEY, check_active
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.kernel.system import SYSTEM_REALM, check_pointer_name

KNOWN_VECTORS_MAX = 1_024

T = TypeVar("T")


class RealmHandle:
    """One realm, by its id.

    Every operation reads the pointer `realms` together with those it reads anyway. If it moved, the
    realm is looked up again: a realm that was switched off on another node refuses the next
    operation.
    """

    def __init__(self, id: str, store: Store, pointers: Pointers, committer: Committer) -> None:
        self.id = id
        self._store = store
        self._pointers = pointers
        self._committer = committer
        self._active_at: int | None = None  # the `realms` head under which the realm was ACTIVE
        self._watch = Watch(REALMS_KEY, self._check)
        self._known: dict[tuple[str, ...], Vector] = {}

    async def heads(self, *names: str) -> list[HeadView]:
        """The current heads of these pointers, all current at one instant, in one read."""
        keys = [REALMS_KEY, *(self._key(name) for name in names)]
        known = self._known.get(names)
        vector = await self._pointers.read_together(keys, known)
        if len(self._known) >= KNOWN_VECTORS_MAX:
            self._known.clear()
        self._known[names] = vector
        await self._check(vector[0])
        await self._store.fetch(self.id, [value for value in vector[1:] if value])
        views = [
            await self._open(name, value) for name, value in zip(names, vector[1:], strict=True)
        ]
        if vector != known:
            for key, view in zip(keys[1:], views, strict=True):
                self._store.history.see(key, KnownHead(view.head.seq, view.id))
        return views

    async def commit(
        self,
        pointer: str,
        attempt: Callable[[Draft], T],
        *,
        operation: bytes = b"",
        sealed: bool = False,
    ) -> T:
        """Change what a pointer holds; see `Committer.commit`."""
        return await self._committer.commit(
            self._key(pointer), attempt, operation=operation, watch=self._watch, sealed=sealed
        )

    async def create_pointers(self, names: Collection[str]) -> None:
        """Make sure that these pointers exist."""
        for name in names:
            check_pointer_name(name)
        await self.heads()
        await self._store.backend.create_pointers(self.id, names)

    async def get(self, id: int, cls: type[T]) -> T:
        """An immutable object of this realm. What belongs to a head is read with `HeadView.get`."""
        await self.heads()
        return await self._store.get(self.id, id, cls)

    async def write(self, objects: Mapping[int, Stored | Foreign]) -> None:
        """Store immutable objects, usually large ones, before the commit that refers to them."""
        await self.heads()
        await self._store.write(self.id, objects)

    def _key(self, name: str) -> PointerKey:
        check_pointer_name(name)
        return PointerKey(self.id, name)

    async def _check(self, realms: int | None) -> None:
        if realms is None or realms != self._active_at:
            await check_active(await open_head(self._store, SYSTEM_REALM, realms), self.id)
            self._active_at = realms

    async def _open(self, name: str, value: int | None) -> HeadView:
        if value is None:
            raise PointerNotFound(
                f"pointer {name!r} of realm {self.id!r} cannot be read",
                why="it does not exist",
                fix="Create it first",
            )
        return await open_head(self._store, self.id, value)
