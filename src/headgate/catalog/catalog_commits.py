"""The commits that add, change and remove catalogs of one metalake, which is known by its realm."""

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import TypeVar

import msgspec

from headgate.catalog import dropped_catalogs
from headgate.catalog.calls import Call
from headgate.catalog.dropped_catalogs import Dropped
from headgate.catalog.entities import CatalogEntity, Entry, Kind, decode_entry
from headgate.catalog.left_places import IsEmpty, keep_places_of, nobody_looks
from headgate.catalog.naming import CATALOGS, ROOT, Names, NamesDraft, Readable, place_of
from headgate.catalog.openings import content_of, head_pointer
from headgate.catalog.purging import PURGE
from headgate.catalog.reservations import held_by, release
from headgate.catalog.stored_names import CATALOG_POINTER, IDS, NAMES
from headgate.catalog.territories import check_elsewhere, places_of, settle, with_catalog
from headgate.errors import (
    BadRequest,
    CatalogExists,
    CatalogNotEmpty,
    CatalogNotFound,
    Conflict,
    LocationTaken,
    PointerNotFound,
)
from headgate.ids import time_ms
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.limits import COMMIT_AGE_MS_MAX, NAMES_LOOKED_AT_MAX
from headgate.model.names import check_name

CLOSED, BY = "closed", b"by"
"""Where the head of a catalog that is being dropped says who does it."""

R = TypeVar("R")

_decoder = msgspec.msgpack.Decoder(tuple[str, str])


async def add_catalog(
    kernel: Kernel,
    realm: Realm,
    call: Call,
    new: CatalogEntity,
    owner: int = 0,
    *,
    is_empty: IsEmpty = nobody_looks,
) -> CatalogEntity:
    """Add a catalog: first what nobody can reach yet, then its name."""
    check_catalog_name(new.name)
    places = places_of(new)
    await check_elsewhere(kernel, realm.id, places, is_empty)
    made = None
    while made is None:
        made = await _try_to_add(kernel, realm, call, new, owner)
    try:
        # One may have come meanwhile.
        await check_elsewhere(kernel, realm.id, places, is_empty, (), made.id)
    except LocationTaken:
        with suppress(Conflict):  # somebody uses it already: neither purges what both have
            await remove_catalog(kernel, realm, call, made)
        raise
    return made


async def _try_to_add(
    kernel: Kernel, realm: Realm, call: Call, new: CatalogEntity, owner: int
) -> CatalogEntity | None:
    """Add a catalog with a new id; None, and nothing is added, if that was held up for so long
    that a sweep may have deleted the pointer of that id by now."""
    id = kernel.ids.next()
    pointers = [head_pointer(id)]
    await kernel.realm(realm.id).create_pointers(pointers)

    def attempt(draft: Draft) -> CatalogEntity | None:
        if _is_old(id, draft.new_id()):
            return None
        names = NamesDraft(draft)
        _check_free(names, call, new.name)
        settle(draft, id, (), places_of(new))
        entity = msgspec.structs.replace(new, id=id, created_ms=draft.now_ms)
        names.add(ROOT, CATALOGS, new.name, Entry(Kind.CATALOG, id, draft.stage(entity), owner))
        draft.note(call.note("create", "catalog", [new.name]))
        return entity

    made = await _commit(kernel, realm, attempt)
    if made is not None and _is_old(id, kernel.ids.next()):  # it was held up behind the attempt
        await kernel.realm(realm.id).create_pointers(pointers)
    return made


def _is_old(id: int, now: int) -> bool:
    """Whether an id was made long before another one of the same process: no clock of another
    node counts, since a new id must never be taken for an old one."""
    return time_ms(now) - time_ms(id) > COMMIT_AGE_MS_MAX


async def change_catalog(
    kernel: Kernel, realm: Realm, call: Call, change: Callable[[CatalogEntity], CatalogEntity]
) -> CatalogEntity:
    """Change a catalog, perhaps its name, by a pure function of what it is."""
    name = call.catalog.catalog

    def attempt(draft: Draft) -> CatalogEntity:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, name)
        if entry is None:
            raise absent(call)
        old = draft.fetch(entry.object, CatalogEntity)
        new = change(old)
        if new == old:
            return old
        new = msgspec.structs.replace(new, changed_ms=draft.now_ms, changed_by=call.principal)
        if new.allowed_locations != old.allowed_locations:
            settle(draft, old.id, places_of(old), places_of(new))
        moved = msgspec.structs.replace(entry, object=draft.stage(new))
        draft.discard(entry.object)
        if new.name == old.name:
            names.put(ROOT, CATALOGS, name, moved)
            draft.note(call.note(_done(old, new), "catalog", [name]))
        else:
            check_catalog_name(new.name)
            _check_free(names, call, new.name)
            names.remove(ROOT, CATALOGS, name, entry)
            names.add(ROOT, CATALOGS, new.name, moved)
            draft.note(call.note("rename", "catalog", [name], to=[new.name]))
        return new

    return await _commit(kernel, realm, attempt)


async def remove_catalog(
    kernel: Kernel, realm: Realm, call: Call, gone: CatalogEntity, *, force: bool = False
) -> None:
    """Take a catalog out of its metalake: first nobody can use it, then its name is free.

    One that holds something stays, unless `force` says so. Where files are left its places stay
    taken, and any server deletes them. Where dropped tables left theirs, its places stay with the
    metalake. If it stops half-way, the catalog serves nobody, and any
    server completes it, as does removing it again.
    """
    handle, pointer = kernel.realm(realm.id), head_pointer(gone.id)
    attempt = closing(call, force=force)
    try:
        await handle.commit(pointer, attempt, sealed=True)
    except PointerNotFound:  # it holds nothing, and is closed as any other: also if it comes back
        await handle.create_pointers([pointer])
        await handle.commit(pointer, attempt, sealed=True)
    left = await has_files(kernel, realm.id, gone.id)
    await keep_places_of(kernel, realm, gone.id, call.principal)
    await handle.commit(CATALOG_POINTER, forgetting(call, gone.id, left=left))


def closing(call: Call, *, force: bool) -> Callable[[Draft], None]:
    """The commit after which nobody can use a catalog any more."""

    def attempt(draft: Draft) -> None:
        if draft.sealed:
            return  # it was begun before
        if not force:
            _check_empty(draft, call)
        draft.index(CLOSED).put(BY, msgspec.msgpack.encode((call.principal, call.request)))
        draft.seal()

    return attempt


async def closed_by(head: HeadView) -> tuple[str, str]:
    """Who closed a catalog, and with which request; empty if an older program did it."""
    value = await head.index(CLOSED).get(BY)
    return ("", "") if value is None else _decoder.decode(value)


async def has_files(kernel: Kernel, realm: str, id: int) -> bool:
    """Whether files of tables may be left in a catalog that nobody can use any more."""
    head = await content_of(kernel, realm, id)
    purges = await look(head.index(PURGE), lambda tree: next(tree.scan(), None))
    return purges is not None or await look(head.index(NAMES), _may_have_tables)


def forgetting(call: Call, id: int, *, left: bool, noted: bool = True) -> Callable[[Draft], None]:
    """The commit that frees the name of a closed catalog, and its places if no files are left.

    It is noted as a drop, unless the metalake was dropped: then that is.
    """

    def attempt(draft: Draft) -> None:
        place = place_of(draft.index(IDS), id)
        if place is None:
            return  # somebody else was faster
        names = NamesDraft(draft)
        entry = names.find(*place)
        assert entry is not None, "whoever has an id has a name"
        names.remove(*place, entry)
        if left:
            by = call.principal, call.request
            record = Dropped(entry.object, place.name, draft.now_ms, *by)
            dropped_catalogs.remember(draft, id, record)
        else:
            _let_go(draft, entry.object)
        if noted:
            draft.note(call.note("drop", "catalog", [place.name]))

    return attempt


def end_dropped(draft: Draft, id: int) -> bool:
    """Free the places of a dropped catalog, all of whose files are gone; whether we did."""
    record = dropped_catalogs.forget(draft, id)
    if record is not None:
        _let_go(draft, record.object)
    return record is not None


def check_catalog_name(name: str) -> None:
    """A catalog has a name without dots: they separate it from its metalake's."""
    check_name(name)
    if "." in name:
        raise BadRequest(
            f"Invalid catalog name: {name}", why="it has a dot", fix="Choose another name"
        )


def absent(call: Call) -> CatalogNotFound:
    """What to say of a catalog that does not exist."""
    metalake = call.catalog.metalake
    return CatalogNotFound(
        f"Catalog does not exist: {call.catalog}",
        fix=f"`headgate catalog list --metalake {metalake}` shows those that do",
    )


def _let_go(draft: Draft, object: int) -> None:
    """Free the places of a catalog that is no more, whose last state this was."""
    last = draft.fetch(object, CatalogEntity)
    release(draft, held_by(draft, places_of(last), last.id))
    draft.discard(object)


def _may_have_tables(names: Readable) -> bool:
    """Only tables have files that a drop deletes. Of very many names it is not asked."""
    some = list(islice(names.scan(b"", None), NAMES_LOOKED_AT_MAX))
    tables = any(decode_entry(value).kind is Kind.TABLE for _, value in some)
    return tables or len(some) == NAMES_LOOKED_AT_MAX


async def _commit(kernel: Kernel, realm: Realm, attempt: Callable[[Draft], R]) -> R:
    """Change the catalogs of a metalake; an error names the one that is in the way."""
    handle = kernel.realm(realm.id)
    try:
        return await handle.commit(CATALOG_POINTER, attempt)
    except LocationTaken as taken:
        [head] = await handle.heads(CATALOG_POINTER)
        raise await with_catalog(realm, head, taken) from taken


def _done(old: CatalogEntity, new: CatalogEntity) -> str:
    """What the change log calls it."""
    if new.in_use == old.in_use:
        return "alter"
    return "enable" if new.in_use else "disable"


def _check_free(names: Names, call: Call, name: str) -> None:
    if names.find(ROOT, CATALOGS, name) is not None:
        raise CatalogExists(f"Catalog already exists: {call.catalog.metalake}.{name}")


def _check_empty(draft: Draft, call: Call) -> None:
    found = Names(draft.index(NAMES)).first_below(ROOT)
    if found is not None:
        raise CatalogNotEmpty(
            f"Catalog is not empty: {call.catalog}",
            why=f"it has the namespace {found[1]}, and perhaps others",
            fix="Drop its tables, views and namespaces first",
        )
