"""Checks that the catalogs of an import may have their locations in this store and on this machine,
as when a catalog is created."""

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import IsEmpty, nobody_looks
from headgate.catalog.linked_places import check_links
from headgate.catalog.naming import CATALOGS
from headgate.catalog.stored_names import CATALOG_POINTER, LOCATIONS
from headgate.catalog.territories import check_elsewhere, places_of
from headgate.catalog.walks import names_in, unhurried
from headgate.errors import BadRequest, BadSetting
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.model.locations import normalize
from headgate.portage.rows import location_of


class LocationChecks(NamedTuple):
    """What the process that imports knows about locations."""

    check: Callable[[str], None]
    """Refuses a location that no catalog may have here: `BadSetting` or `BadRequest`."""
    is_empty: IsEmpty = nobody_looks
    real: Callable[[str], str] = normalize
    """The same location without symbolic links."""


async def check_import(
    kernel: Kernel,
    metalake: str,
    realm: str,
    locations: Collection[str],
    former: Collection[str],
    checks: LocationChecks,
) -> None:
    """Refuse locations that a new catalog could not have; `former` are metalakes that are this
    one."""
    wanted = tuple(sorted(map(normalize, locations)))
    await asyncio.to_thread(_check_each, metalake, wanted, checks.check)
    together = CatalogEntity(0, "", "", {}, allowed_locations=wanted)
    await check_links(kernel, metalake, together, checks.real)
    await check_elsewhere(kernel, realm, wanted, checks.is_empty, former)


async def stored_locations(kernel: Kernel, realm: str) -> set[str]:
    """The locations of all catalogs of a realm: those that are reserved, and those that the
    catalogs themselves name, also dropped ones."""
    [value] = await kernel.pointers.read([PointerKey(realm, CATALOG_POINTER)])
    head = await open_head(kernel.store, realm, value)
    found = {location_of(key) async for key, _ in unhurried(head.index(LOCATIONS).scan())}
    async for _, entry in names_in(head, CATALOGS):
        found.update(places_of(await head.get(entry.object, CatalogEntity)))
    for gone in await dropped_catalogs(kernel, realm):
        found.update(places_of(gone.entity))
    return found


def _check_each(metalake: str, locations: Collection[str], check: Callable[[str], None]) -> None:
    what = f"realm {metalake!r} cannot be imported"
    for location in locations:
        try:
            check(location)
        except BadSetting as error:
            raise BadSetting(
                f"{what}: {error.what}",
                why=error.why,
                fix="Move the server's files with --data and the settings that name them, or "
                "import into another store",
            ) from error
        except BadRequest as error:
            raise BadRequest(f"{what}: {error.what}", why=error.why, fix=error.fix) from error
