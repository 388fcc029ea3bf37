"""Filling a realm from an export. It is LOADING until all is there, and serves nobody until then.

Every step may be repeated: objects that are there are left, entries that are there change nothing.
So an import that was killed goes on when it is begun again, from the same export.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from headgate.catalog.left_places import adopt, returning
from headgate.catalog.metalakes import clear_away
from headgate.catalog.stored_names import CATALOG_POINTER, IDS
from headgate.catalog.territories import HAVE_PLACES
from headgate.errors import (
    Conflict,
    IllegalRealmMove,
    InvalidInput,
    RealmExists,
    RealmNotFound,
    Unsupported,
)
from headgate.ids import ID_MAX, time_ms
from headgate.kernel.draft import Draft
from headgate.kernel.index import Index, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Foreign, single, split
from headgate.kernel.realms import LOADED_FROM, Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.kernel.system import check_pointer_name
from headgate.limits import PORTAGE_AHEAD_MS_MAX
from headgate.portage.locations import LocationChecks, check_import, stored_locations
from headgate.portage.manifest import STATES, RealmFacts
from headgate.portage.rows import Carried, Facts, Row, pointer_state

_ID_BYTES = 8
UNFINISHED = (RealmState.CREATED, RealmState.LOADING, RealmState.PURGING, RealmState.PURGED)


async def begin(
    kernel: Kernel, wanted: RealmFacts, facts: Facts, checks: LocationChecks, *, by: str
) -> Realm:
    """A LOADING realm for an export: a new one, or that of an import which was not finished.

    What cannot be imported is refused before anything is written.
    """
    realm = await _unfinished(kernel, wanted.name)
    own = realm.id if realm else ""
    await _check(kernel, wanted, facts, own)
    former = await returning(kernel, facts.catalogs)
    await check_import(kernel, wanted.name, own, facts.places, former, checks)
    if realm is None:
        properties = {**wanted.properties, LOADED_FROM: facts.content}
        realm = await kernel.realms.reserve(wanted.name, properties, by=by)
    elif realm.properties[LOADED_FROM] != facts.content:
        raise RealmExists(
            f"realm {wanted.name!r} cannot be imported",
            why="one of this name is being filled from another export",
            fix="Finish that import, or end it with --abort",
        )
    if realm.state in {RealmState.PURGING, RealmState.PURGED}:
        raise IllegalRealmMove(
            f"realm {wanted.name!r} cannot be imported",
            why="an import of this name is being cleared away",
            fix="Repeat --abort, then import it again",
        )
    if realm.state is RealmState.LOADING:
        return realm
    return await kernel.realms.move(realm.id, RealmState.LOADING, by=by)


async def fill(kernel: Kernel, id: str, rows: Sequence[Row]) -> None:
    """Put rows into a realm that is LOADING: what entries refer to, then the entries."""
    realm = await kernel.realms.get(id)
    if realm.state is not RealmState.LOADING:
        raise not_loading(id)
    by_pointer = groupby(sorted(rows, key=attrgetter("pointer")), key=attrgetter("pointer"))
    grouped = [(pointer, list(some)) for pointer, some in by_pointer]
    for pointer, _ in grouped:
        check_pointer_name(pointer)
    _check_ids(one.id for row in rows for one in row.objects)
    await kernel.realms.create_pointers(realm.id, [pointer for pointer, _ in grouped])
    await _write(kernel, realm.id, [one for row in rows for one in row.objects])
    for pointer, some in grouped:
        await kernel.unserved.load(realm.id, pointer, _putting(some))


async def finish(
    kernel: Kernel, id: str, content: str, state: str, checks: LocationChecks, *, by: str
) -> Realm:
    """Let a realm serve that was filled with all rows of this content, and is as it was before."""
    realm = await kernel.realms.get(id)
    _check_state(state)
    to = RealmState(state)
    if realm.state not in {to, RealmState.LOADING}:
        raise not_loading(id)
    if realm.properties.get(LOADED_FROM, realm.imported or None) != content:
        raise Conflict(
            f"realm {realm.name!r} is not finished",
            why="it was not filled from this export",
            fix="Import the same export again, or end it with --abort",
        )
    if realm.state is to:
        return realm  # asked for once more
    former = await _former(kernel, realm.id)
    found = await stored_locations(kernel, realm.id)
    await check_import(kernel, realm.name, realm.id, found, former, checks)
    await adopt(kernel, former, realm)
    return await kernel.realms.move(realm.id, to, by=by)


async def abort(kernel: Kernel, name: str) -> Realm:
    """Clear away what an unfinished import left, by the name or the id of its realm."""
    realm = await kernel.realms.get(name)
    if LOADED_FROM not in realm.properties or realm.state not in UNFINISHED:
        raise not_loading(name)
    await clear_away(kernel, realm)
    return realm


def not_loading(name: str) -> RealmNotFound:
    """What to say of a realm that no import fills."""
    return RealmNotFound(
        f"there is no unfinished import of {name!r}", fix="`headgate realm list` shows all realms"
    )


async def _unfinished(kernel: Kernel, name: str) -> Realm | None:
    """The realm of this name that an import was filling; None if the name is free."""
    try:
        realm = await kernel.realms.get(name)
    except RealmNotFound:
        return None
    if realm.name != name or LOADED_FROM not in realm.properties:
        raise RealmExists(
            f"realm {name!r} cannot be imported",
            why="there is one of this name or id",
            fix="Choose another one with --name, or purge and delete that one first",
        )
    return realm


async def _check(kernel: Kernel, wanted: RealmFacts, facts: Facts, own: str) -> None:
    """Refuse what this store could not take."""
    _check_state(wanted.state)
    _check_ids(facts.catalogs)
    unknown = sorted(name for name in facts.types if not kernel.store.types.knows(name))
    if unknown:
        raise Unsupported(
            f"realm {wanted.name!r} cannot be imported",
            why=f"this program does not know what a {unknown[0]!r} is",
            fix="Upgrade this program",
        )
    ahead_ms = time_ms(facts.newest) - kernel.clock.wall_ms() if facts.newest else 0
    if ahead_ms > PORTAGE_AHEAD_MS_MAX:
        raise Conflict(
            f"realm {wanted.name!r} cannot be imported",
            why=f"its newest id is {ahead_ms // 1000:,} s ahead of this machine's clock, and could "
            "be given out once more",
            fix="Synchronise the clock (NTP), or wait until then",
        )
    await _check_catalogs(kernel, facts, own)


async def _check_catalogs(kernel: Kernel, facts: Facts, own: str) -> None:
    """Refuse catalogs that are there already: an id means one thing in a store."""
    for realm in await kernel.realms.list():
        if realm.id == own or realm.state not in HAVE_PLACES:
            continue
        index = await _catalogs(kernel, realm.id, IDS)
        for id in facts.catalogs:
            if await index.get(id.to_bytes(_ID_BYTES, "big")) is not None:
                raise Conflict(
                    "the export cannot be imported",
                    why=f"its catalogs are those of realm {realm.name!r}, which is still there",
                    fix="Purge and delete that one first; a copy would delete its files",
                )


async def _former(kernel: Kernel, id: str) -> set[str]:
    """The metalakes, no longer there, that the catalogs of a realm were part of."""
    index = await _catalogs(kernel, id, IDS)
    return await returning(kernel, [int.from_bytes(key, "big") async for key, _ in index.scan()])


async def _catalogs(kernel: Kernel, id: str, index: str) -> Index:
    """An index of the catalogs of a realm, as it is now."""
    [value] = await kernel.pointers.read([PointerKey(id, CATALOG_POINTER)])
    return (await open_head(kernel.store, id, value)).index(index)


async def _write(kernel: Kernel, realm: str, objects: Iterable[Carried]) -> None:
    """Store objects, those that change in place too; what is there is left as it is."""
    store = kernel.store
    rows = []
    for one in objects:
        encoded = store.types.encode(realm, one.id, Foreign(one.type, one.payload))
        if one.is_versioned:
            await store.backend.insert(single(realm, encoded, kernel.ids.next()))
        else:
            rows += split(realm, encoded)
    if rows:
        await store.backend.write(rows)


def _putting(rows: Sequence[Row]) -> Callable[[Draft], None]:
    """The attempt that puts these entries of one pointer into their indexes."""

    def attempt(draft: Draft) -> None:
        for row in rows:
            if row.index:
                draft.index(row.index).put(row.key, row.value)
                continue
            state = pointer_state(row)
            for name, number in state.marks:
                draft.mark(name, number)
            if state.sealed:
                draft.seal()

    return attempt


def _check_ids(ids: Iterable[int]) -> None:
    for id in ids:
        if not 0 < id <= ID_MAX:
            raise InvalidInput(f"{id} is no id", fix="Send what was exported")


def _check_state(state: str) -> None:
    if state not in STATES:
        raise InvalidInput(
            f"{state!r:.80} is no state of an imported realm", fix=f"Use {' or '.join(STATES)}"
        )
