"""Frees locations that dropped tables left, once their files are gone.

A table that is dropped without purge leaves its location to its namespace, since its files stay.
Any node looks into such locations now and then, a few in each round. A location is freed if it was
empty at two looks, with as much time between them as keys live that were handed out for it. Storage
that does not answer, and a local folder that is not there, are not empty.

The second look is made while the location is held like that of a staged table. So no table comes
and goes between the look and the commit that frees it, and what a node holds that stops in between
is left as before.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from headgate.catalog.catalogs import stored_catalogs
from headgate.catalog.claimants import is_left
from headgate.catalog.left_places import looking_into
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Storage
from headgate.catalog.reservations import Locations
from headgate.catalog.staged_places import end_staged, hold_ms, hold_staged
from headgate.catalog.stored_names import LOCATIONS
from headgate.catalog.territories import places_of
from headgate.catalog.walks import unhurried
from headgate.errors import HeadgateError, Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import (
    LEFT_ENTRIES_PER_ROUND,
    LEFT_LOOKS_PER_ROUND,
    LEFT_ROUND_SECONDS,
    STAGED_AFTER_KEYS_MS,
)
from headgate.model.locations import indexed

_PARTS = 1_000
_HOLDER = "\0left"  # no principal has such a name

logger = logging.getLogger(__name__)


class _Left(NamedTuple):
    """A location in the index of a catalog."""

    catalog: PointerKey
    key: bytes
    value: bytes

    @property
    def location(self) -> str:
        return indexed(self.key)


class _Allowance:
    """What is left of the work that a round may do."""

    def __init__(self) -> None:
        self.looks = LEFT_LOOKS_PER_ROUND
        self.entries = LEFT_ENTRIES_PER_ROUND

    @property
    def is_spent(self) -> bool:
        return self.looks <= 0 or self.entries <= 0

    def shares(self, number: int) -> Iterator["_Allowance"]:
        """A part for each of so many: what one does not use is for those behind it."""
        for waiting in range(number, 0, -1):
            share = _Allowance()
            share.looks = before = -(-self.looks // waiting)
            share.entries = entries = -(-self.entries // waiting)
            yield share
            self.looks -= before - share.looks
            self.entries -= entries - share.entries


class LeftRounds:
    """Looks into the locations of all catalogs, a few at a time."""

    def __init__(self, kernel: Kernel, storage: Storage) -> None:
        self._kernel = kernel
        self._storage = storage
        self._is_empty = looking_into(storage)
        self._next: dict[PointerKey, bytes] = {}
        """Where the next round continues in each catalog."""
        self._first = 0
        """With which catalog the next round begins."""
        self._empty: dict[_Left, float] = {}
        """What was empty at the first look, and when that was by the stopwatch, which no change of
        the date moves."""
        self.freed = 0

    async def make_for_ever(self, entropy: Callable[[], int]) -> None:
        """Look now and then; servers that start together do not do it together."""
        share = entropy() % _PARTS / _PARTS
        while True:
            await self._kernel.clock.sleep(LEFT_ROUND_SECONDS * share)
            try:
                await self.make_one()
            except Exception as error:  # whatever it is, it is tried again
                unexpected = not isinstance(error, HeadgateError)
                logger.warning(
                    "locations of dropped tables are not freed: %s", error, exc_info=unexpected
                )
            share = 1.0

    async def make_one(self) -> None:
        """Free what may be freed by now, and look for more."""
        allowance = _Allowance()
        await self._look_again(allowance)
        catalogs = await self._catalogs()
        known = {key for key, _ in catalogs}
        self._next = {key: at for key, at in self._next.items() if key in known}
        self._empty = {left: at for left, at in self._empty.items() if left.catalog in known}
        start = self._first % len(catalogs) if catalogs else 0
        self._first = start + 1
        turns = [*catalogs[start:], *catalogs[:start]]
        for (key, roots), share in zip(turns, allowance.shares(len(turns)), strict=True):
            if share.is_spent:
                break
            try:
                await self._look_on(key, roots, share)
            except Unavailable:
                raise  # so are the others
            except HeadgateError as error:
                logger.warning("locations of %s are not looked at: %s", key, error)

    async def _catalogs(self) -> list[tuple[PointerKey, Locations]]:
        """The pointers of all catalogs in use, with the locations of each."""
        return [
            (PointerKey(realm.id, head_pointer(catalog.id)), places_of(catalog))
            for realm in await self._kernel.realms.list()
            if realm.state is RealmState.ACTIVE
            for catalog in await stored_catalogs(self._kernel, realm)
        ]

    async def _look_on(self, key: PointerKey, roots: Locations, allowance: _Allowance) -> None:
        """Look into further locations of a catalog, from where the last round ended."""
        [value] = await self._kernel.pointers.read([key])
        if not value:
            return  # nothing was ever created in it
        head = await open_head(self._kernel.store, key.realm, value)
        begin = self._next.pop(key, b"")
        async for place, holder in unhurried(head.index(LOCATIONS).scan(begin)):
            if allowance.is_spent:
                self._next[key] = place
                return
            allowance.entries -= 1
            left = _Left(key, place, holder)
            if not is_left(holder) or left in self._empty or left.location in roots:
                continue  # a disk that is away leaves an empty folder where a root was
            allowance.looks -= 1
            if len(self._empty) < LEFT_ENTRIES_PER_ROUND and await self._is_empty(left.location):
                self._empty[left] = self._kernel.clock.seconds()

    async def _look_again(self, allowance: _Allowance) -> None:
        """Free those locations that have been empty for long enough."""
        now = self._kernel.clock.seconds()
        for left, since in list(self._empty.items()):
            if allowance.is_spent:
                return
            if now < since + hold_ms(self._storage, [left.location]) / 1_000:
                continue
            allowance.looks -= 1
            del self._empty[left]
            try:
                if await self._is_empty(left.location):
                    await self._free(left)
            except Unavailable:
                raise
            except HeadgateError as error:
                logger.warning("location %s is not freed: %s", left.location, error)

    async def _free(self, left: _Left) -> None:
        """Free a location that is still left and still empty while it is held."""
        realm, pointer = left.catalog
        handle = self._kernel.realm(realm)
        held = await handle.commit(pointer, partial(_hold, left=left))
        if held:
            is_empty = await self._is_empty(left.location)
            ending = partial(_end, left=left, held=held, is_empty=is_empty)
            self.freed += await handle.commit(pointer, ending)


def _hold(draft: Draft, left: _Left) -> bytes:
    """Hold a location for a moment, if it is as it was; what the index says of it then."""
    index = draft.index(LOCATIONS)
    if index.get(left.key) != left.value:
        return b""
    hold_staged(draft, [left.key], _HOLDER, draft.now_ms + STAGED_AFTER_KEYS_MS)
    return index.get(left.key) or b""


def _end(draft: Draft, left: _Left, held: bytes, *, is_empty: bool) -> bool:
    """Let go of a location, which is free if it is empty; whether it is."""
    index = draft.index(LOCATIONS)
    if index.get(left.key) != held:
        return False  # it was held for too long
    end_staged(draft, held)
    return is_empty and index.remove(left.key)
