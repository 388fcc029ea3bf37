"""Commits to realms that serve nobody: one that is being made or loaded, one that was dropped."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from headgate.kernel.commit import Committer
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.lane import Watch
from headgate.kernel.realms import REALMS_KEY, RealmState, is_dropped, realm_of, unknown
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.kernel.system import SYSTEM_REALM, check_pointer_name

T = TypeVar("T")


class UnservedRealms:
    """Realms that no handle serves, by their ids."""

    def __init__(self, store: Store, committer: Committer) -> None:
        self._store = store
        self._committer = committer

    async def fill(self, id: str, pointer: str, attempt: Callable[[Draft], T]) -> T:
        """Commit to a realm that is INITIALIZING, before anybody else can."""
        check_pointer_name(pointer)
        watch = Watch(REALMS_KEY, _Check(self._store, id, check_being_made))
        return await self._committer.commit(PointerKey(id, pointer), attempt, watch=watch)

    async def load(self, id: str, pointer: str, attempt: Callable[[Draft], T]) -> T:
        """Commit to a realm that is LOADING, also to what is sealed: it may be loaded again."""
        check_pointer_name(pointer)
        watch = Watch(REALMS_KEY, _Check(self._store, id, check_loading))
        key = PointerKey(id, pointer)
        return await self._committer.commit(key, attempt, watch=watch, sealed=True)

    async def clear(self, id: str, pointer: str, attempt: Callable[[Draft], T]) -> T:
        """Commit to a realm that was dropped, also to what is sealed: it is cleared away."""
        check_pointer_name(pointer)
        watch = Watch(REALMS_KEY, _Check(self._store, id, check_dropped))
        key = PointerKey(id, pointer)
        return await self._committer.commit(key, attempt, watch=watch, sealed=True)


async def check_being_made(realms: HeadView, id: str) -> None:
    """Refuse a realm that is not being made."""
    if (await realm_of(realms, id)).state is not RealmState.INITIALIZING:
        raise unknown(id)


async def check_loading(realms: HeadView, id: str) -> None:
    """Refuse a realm that is not being filled from an export."""
    if (await realm_of(realms, id)).state is not RealmState.LOADING:
        raise unknown(id)


async def check_dropped(realms: HeadView, id: str) -> None:
    """Refuse a realm that was not dropped, or whose data is being deleted."""
    if not is_dropped(await realm_of(realms, id)):
        raise unknown(id)


class _Check(msgspec.Struct, frozen=True):
    """What a realm must pass at each batch. Equal ones are the same: they share a lane."""

    store: Store
    id: str
    passes: Callable[[HeadView, str], Awaitable[None]]

    async def __call__(self, realms: int | None) -> None:
        await self.passes(await open_head(self.store, SYSTEM_REALM, realms), self.id)
