"""Places of catalogs that are no more, where files may be left: they stay with their metalake.

A table that was dropped without purge has its files still, and so has a catalog that is dropped
after that. Whoever could make a catalog of another metalake there could register them. So the store
remembers such places beside its list of metalakes, also of those that are gone: the same metalake
may use them again, others when no file is there any more, or when an operator frees them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from headgate.catalog.entities import CatalogEntity
from headgate.catalog.naming import Names, Readable, place_of
from headgate.catalog.openings import content_of
from headgate.catalog.ports import Storage
from headgate.catalog.reservations import all_at
from headgate.catalog.stored_names import CATALOG_POINTER, IDS, LEFT, LOCATIONS, NAMES
from headgate.errors import HeadgateError, LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, after_prefix, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, REALMS_KEY, Realm
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.model.locations import ancestors, index_key, index_range, is_within, normalize

IsEmpty = Callable[[str], Awaitable[bool]]
"""Tells whether there is certainly no file at a location or below it."""


class Left(msgspec.Struct, frozen=True, array_like=True):
    """Who left a place. New fields come last and have defaults."""

    location: str
    realm: str
    """The id of its metalake."""
    metalake: str
    """The name that this had."""
    catalog: int
    name: str
    """The name that the catalog had."""
    left_ms: int = 0
    by: str = ""


class _Found(NamedTuple):
    """A place that is left, and its key in the index."""

    key: bytes
    left: Left


_EXACTLY = b"\0"  # in a key behind a place: what lies below it goes on with a name
_decoder = msgspec.msgpack.Decoder(Left)


async def nobody_looks(_location: str) -> bool:
    """Where no storage is at hand, files are taken to be there."""
    return False


def looking_into(storage: Storage) -> IsEmpty:
    """Looks into storage whether there are files; what cannot be told counts as if there were."""

    async def is_empty(location: str) -> bool:
        try:
            return await storage.files((location,)).is_empty(location)
        except HeadgateError:
            return False

    return is_empty


async def left_places(kernel: Kernel) -> list[Left]:
    """All places of the store that catalogs left, in the order of their locations."""
    return [found.left for found in await _all(kernel)]


async def keep_places(
    kernel: Kernel, realm: Realm, catalog: CatalogEntity, places: Iterable[str], by: str
) -> None:
    """Remember places that a catalog of this metalake lets go of, before it does.

    One that never had a table has no files, and leaves nothing.
    """
    wanted = sorted({normalize(place) for place in places})
    if not wanted or not await _was_used(kernel, realm.id, catalog.id):
        return
    metalake = realm.properties.get(DROPPED, realm.name)

    def attempt(draft: Draft) -> None:
        index = draft.index(LEFT)
        for place in wanted:
            record = Left(place, realm.id, metalake, catalog.id, catalog.name, draft.now_ms, by)
            index.put(_key(record), msgspec.msgpack.encode(record))

    await kernel.committer.commit(REALMS_KEY, attempt)


async def keep_used_places(
    kernel: Kernel,
    realm: Realm,
    catalog: CatalogEntity,
    places: Iterable[str],
    by: str,
    has_no_file: IsEmpty,
) -> None:
    """The same for locations that a catalog loses and that hold or held a table or view.

    One that no entry of the index overlaps, and in which no file is found, was not used: a folder
    that is not there has no file.
    """
    head = await content_of(kernel, realm.id, catalog.id)
    used = [
        place
        for place in places
        if await look(head.index(LOCATIONS), partial(_is_entered, place=place))
        or not await has_no_file(place)
    ]
    await keep_places(kernel, realm, catalog, used, by)


async def keep_places_of(kernel: Kernel, realm: Realm, id: int, by: str) -> None:
    """The same for all places of the catalog of this id."""
    [value] = await kernel.pointers.read([PointerKey(realm.id, CATALOG_POINTER)])
    head = await open_head(kernel.store, realm.id, value)
    place = await look(head.index(IDS), lambda tree: place_of(tree, id))
    if place is None:
        return  # somebody else was faster
    entry = await look(head.index(NAMES), lambda tree: Names(tree).find(*place))
    assert entry is not None, "whoever has an id has a name"
    catalog = await head.get(entry.object, CatalogEntity)
    await keep_places(kernel, realm, catalog, catalog.locations, by)


async def check_left(
    kernel: Kernel, realms: Collection[str], wanted: Sequence[str], is_empty: IsEmpty
) -> None:
    """Refuse places where other metalakes than these may have left files. Where there certainly
    are none, the place is free from now on."""
    head, gone = await _head(kernel), list[_Found]()
    for place in wanted:
        for found in await look(head.index(LEFT), partial(_overlapping, place=place)):
            left = found.left
            if left.realm in realms:
                continue
            is_whole = is_within(left.location, place)
            if not await is_empty(left.location if is_whole else place):
                raise _kept(place)
            if is_whole:
                gone.append(found)
    await _forget(kernel, gone)


async def returning(kernel: Kernel, catalogs: Collection[int]) -> set[str]:
    """The metalakes, no longer there, that these catalogs were part of when they left places."""
    return {left.realm for left in await left_places(kernel) if left.catalog in catalogs}


async def adopt(kernel: Kernel, realms: Collection[str], realm: Realm) -> None:
    """Give what these metalakes left to the one that they come back as."""
    found = [one for one in await _all(kernel) if one.left.realm in realms]

    def attempt(draft: Draft) -> None:
        index = draft.index(LEFT)
        for key, left in found:
            if index.remove(key):
                moved = msgspec.structs.replace(left, realm=realm.id, metalake=realm.name)
                index.put(_key(moved), msgspec.msgpack.encode(moved))

    if found:
        await kernel.committer.commit(REALMS_KEY, attempt)


async def free_places(kernel: Kernel, places: Collection[Left]) -> None:
    """Let others use these places."""
    await _forget(kernel, [_Found(_key(left), left) for left in places])


async def _forget(kernel: Kernel, places: Sequence[_Found]) -> None:
    def attempt(draft: Draft) -> None:
        for key, left in places:
            found = draft.index(LEFT).get(key)
            if found is not None and _decoder.decode(found) == left:
                draft.index(LEFT).remove(key)

    if places:
        await kernel.committer.commit(REALMS_KEY, attempt)


async def _all(kernel: Kernel) -> list[_Found]:
    head = await _head(kernel)
    return await look(head.index(LEFT), lambda tree: _found(tree.scan(b"", None)))


async def _head(kernel: Kernel) -> HeadView:
    [value] = await kernel.pointers.read([REALMS_KEY])
    return await open_head(kernel.store, SYSTEM_REALM, value)


def _overlapping(index: Readable, place: str) -> list[_Found]:
    """What is left above, at and below a place."""
    found = _found(index.scan(*index_range(place)))
    for above in ancestors(place):
        exactly = index_key(above) + _EXACTLY
        found += _found(index.scan(exactly, after_prefix(exactly)))
    return found


def _found(entries: Iterable[tuple[bytes, bytes]]) -> list[_Found]:
    return [_Found(key, _decoder.decode(value)) for key, value in entries]


def _is_entered(index: Readable, place: str) -> bool:
    return next(all_at(index, place), None) is not None


async def _was_used(kernel: Kernel, realm: str, id: int) -> bool:
    """Whether a catalog ever had a table or view, or one was staged: then it has such an index."""
    return LOCATIONS in (await content_of(kernel, realm, id)).head.roots


def _key(left: Left) -> bytes:
    return index_key(left.location) + _EXACTLY + left.realm.encode()


def _kept(place: str) -> LocationTaken:
    error = LocationTaken(
        f"Location is taken: {place}",
        why="it was a place of another metalake, whose files may still be there, above it or below "
        "it",
        fix="Choose another location; whoever has the store sees it with `headgate location list` "
        "and can free it",
    )
    error.passing = True
    return error
