"""Symbolic links: two names of one folder, which nobody sees who compares names only."""

from collections.abc import Callable

from headgate.catalog.catalogs import stored_catalogs
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import left_places
from headgate.catalog.territories import HAVE_CATALOGS, places_of
from headgate.errors import LocationTaken
from headgate.kernel.kernel import Kernel
from headgate.model.locations import normalize, overlaps


async def check_links(
    kernel: Kernel, metalake: str, catalog: CatalogEntity, real: Callable[[str], str]
) -> None:
    """Refuse places of a catalog that links lead to what it has already, or another one has.

    Each name would be purged with the files of the other. `real` tells where a location is.
    """
    wanted = places_of(catalog)
    known = dict.fromkeys(wanted, f"catalog {metalake}.{catalog.name} itself")
    known |= await _taken(kernel, metalake, catalog)
    at = {place: real(place) for place in known}
    moved = {place for place, there in at.items() if there != normalize(place)}
    for place in wanted:
        others = known if place in moved else known.keys() & moved  # others are as their names say
        for taken in others:
            if overlaps(at[place], at[taken]) and not overlaps(place, taken):
                raise LocationTaken(
                    f"Location is taken: {place}",
                    why=f"without symbolic links it is {at[place]}, and {known[taken]} has "
                    f"{taken}, which is there, above it or below it",
                    fix="Choose another location, or take it from that one first",
                )


async def _taken(kernel: Kernel, metalake: str, catalog: CatalogEntity) -> dict[str, str]:
    """The places that this catalog must not have, and who has them."""
    known: dict[str, str] = {}
    realms = await kernel.realms.list()
    for realm in realms:
        if realm.state not in HAVE_CATALOGS:
            continue
        for other in await stored_catalogs(kernel, realm):
            if (realm.name, other.name) != (metalake, catalog.name):
                known |= dict.fromkeys(places_of(other), f"catalog {realm.name}.{other.name}")
        for _, record, gone in await dropped_catalogs(kernel, realm.id):
            holder = f"the dropped catalog {realm.name}.{record.name}, whose files are still there,"
            known |= dict.fromkeys(places_of(gone), holder)
    own = {realm.id for realm in realms if realm.name == metalake}
    for left in await left_places(kernel):
        if left.realm not in own:
            known.setdefault(left.location, "another metalake, whose files may be there,")
    return known
