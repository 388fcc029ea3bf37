"""The places of catalogs: no two of a store share files, whatever metalakes they are in.

Each metalake keeps the places of its own catalogs, in the commits that change these. Another one
is under another pointer, so it is asked before such a commit and once more after it.
"""

from collections.abc import Collection, Iterable, Sequence

from headgate.catalog.claimants import NOBODY, Claimant
from headgate.catalog.dropped_catalogs import DROPPED, find_dropped, still_there
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.holders import name_of
from headgate.catalog.left_places import IsEmpty, check_left, nobody_looks
from headgate.catalog.live_holders import Metalakes, holders_in
from headgate.catalog.reservations import (
    Locations,
    check_vacant,
    held_by,
    others_at,
    release,
    reserve,
)
from headgate.catalog.stored_names import CATALOG_POINTER, LOCATIONS, NAMES
from headgate.errors import Conflict, LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED as FORMER_NAME
from headgate.kernel.realms import Realm, RealmState, is_dropped
from headgate.kernel.records import PointerKey
from headgate.model.locations import normalize

HAVE_CATALOGS = (RealmState.ACTIVE, RealmState.INACTIVE)
"""One that is switched off can be switched on again, and has its files still."""
HAVE_PLACES = (*HAVE_CATALOGS, RealmState.LOADING)
"""One that is filled from an export will have catalogs."""


def places_of(catalog: CatalogEntity) -> Locations:
    """Where the files of a catalog may lie: nobody else's may. Some catalogs have no files."""
    return tuple(dict.fromkeys(map(normalize, catalog.locations)))


def settle(draft: Draft, id: int, before: Locations, wanted: Locations) -> None:
    """Give a catalog these places instead of those that it had, in a commit of its metalake."""
    held = held_by(draft, before, id)
    release(draft, held - set(wanted))
    reserve(draft, [place for place in wanted if place not in held], id)


async def check_elsewhere(
    kernel: Kernel,
    realm: str,
    wanted: Locations,
    is_empty: IsEmpty = nobody_looks,
    former: Collection[str] = (),
    own: int = NOBODY,
) -> None:
    """Refuse places that catalogs of other metalakes have, since each would purge the other's
    files, and those where they may have left files. `former` are metalakes that are this one.

    Tables and views count also where they lie outside of what their catalog is allowed now, but
    for those of the catalog `own` and of a metalake that is being imported.
    """
    metalakes = await _metalakes(kernel)
    for other, head in metalakes:
        if other.id != realm:
            await check_within(other, head, wanted)
    others = [one for one in metalakes if (one[0].id, one[0].state) != (realm, RealmState.LOADING)]
    await _check_held(kernel, others, wanted, own)
    # Last: who lets go of a place tells that files are left before it does.
    await check_left(kernel, {realm, *former}, wanted, is_empty)


async def check_unheld(kernel: Kernel, place: str) -> None:
    """Refuse to free a place in, above or below which a table or view of any catalog lies."""
    held = await holders_in(kernel, await _metalakes(kernel), [place])
    if held:
        raise Conflict(
            f"{place} cannot be freed",
            why=f"tables or views hold it, a location in it or one above it: "
            f"{'; '.join(map(str, held))}",
            fix="Drop these without purge; or, for purges, allow their catalog the location again "
            "with `headgate catalog set`, and remove it when they have ended",
        )


async def check_removable(
    kernel: Kernel, realm: Realm, lost: Collection[str], kept: Sequence[str], catalog: int
) -> None:
    """Refuse to remove locations from a catalog while tables or views of it lie there, and not in
    one that it keeps."""
    own = [one for one in await _metalakes(kernel) if one[0].id == realm.id]
    held = await holders_in(kernel, own, lost, outside=kept)
    for one in held:
        if one.catalog == catalog:
            raise Conflict(
                f"Allowed locations cannot be removed: {', '.join(lost)}",
                why=f"in them lie {one}; nothing could be committed to these any more, and no "
                "purge could delete their files",
                fix="Drop these first, or let the location stay allowed; or say --yes: then they "
                "stay where they are, and no other catalog gets the location",
            )


async def check_within(realm: Realm, head: HeadView, wanted: Locations) -> None:
    """Refuse places that catalogs of this metalake have, also dropped ones with files."""
    try:
        await look(head.index(LOCATIONS), lambda tree: check_vacant(tree, wanted))
    except LocationTaken as taken:
        raise await with_catalog(realm, head, taken) from taken


async def with_catalog(realm: Realm, head: HeadView, taken: LocationTaken) -> LocationTaken:
    """The same error, which says which catalog has the place."""
    metalake = realm.properties.get(FORMER_NAME, realm.name)
    dropped = await look(head.index(DROPPED), lambda tree: find_dropped(tree, taken.holder))
    if dropped is not None:
        return still_there(taken, f"catalog {metalake}.{dropped.name}")
    name = await look(head.index(NAMES), lambda tree: name_of(tree, taken.holder))
    holder = f"catalog {metalake}.{name}" if name else f"a catalog of metalake {metalake}"
    if is_dropped(realm):
        return still_there(taken, holder)
    return LocationTaken(
        taken.what,
        why=f"{holder} lies there, above it or below it, or is allowed to",
        fix="Choose another location, or take it from that one first",
        holder=taken.holder,
    )


async def _check_held(kernel: Kernel, metalakes: Metalakes, wanted: Locations, own: int) -> None:
    """Refuse places in which tables or views of other catalogs lie; it is not told whose."""
    for place in wanted:
        for held in await holders_in(kernel, metalakes, [place], but=[own]):
            taken = LocationTaken(
                f"Location is taken: {place}",
                why="tables or views of another catalog lie there, above it or below it",
                fix="Choose another location",
                holder=held.catalog,
            )
            raise still_there(taken, f"catalog {held.full_name}") if held.is_dropped else taken


async def foreign_places(kernel: Kernel, id: int, places: Iterable[str]) -> list[bytes]:
    """The keys of what other catalogs of the store have above, at and below these places."""
    wanted = list(places)
    return [
        key
        for _, head in await _metalakes(kernel)
        for key in await look(
            head.index(LOCATIONS),
            lambda tree: [
                key for place in wanted for key, _ in others_at(tree, place, Claimant(id))
            ],
        )
    ]


async def _metalakes(kernel: Kernel) -> list[tuple[Realm, HeadView]]:
    """All metalakes that have catalogs, or will have them, and what these are now."""
    realms = [realm for realm in await kernel.realms.list() if realm.state in HAVE_PLACES]
    keys = [PointerKey(realm.id, CATALOG_POINTER) for realm in realms]
    values = await kernel.pointers.read(keys)
    return [
        (realm, await open_head(kernel.store, realm.id, value))
        for realm, value in zip(realms, values, strict=True)
    ]
