"""Where a new table or view gets its name and its location."""

from headgate.catalog.claimants import Claimant
from headgate.catalog.entities import Entry, Kind, NamespaceEntity
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace
from headgate.catalog.openings import Opened
from headgate.catalog.relations import check_free, entry_of
from headgate.catalog.reservations import is_inside
from headgate.catalog.schema_places import LOCATION
from headgate.catalog.stored_names import LOCATIONS
from headgate.kernel.index import look
from headgate.model.locations import normalize
from headgate.model.names import Identifier, Levels, check_name
from headgate.model.physical import default_folder, location_in, own_folder


async def check_new(opened: Opened, identifier: Identifier, kind: Kind) -> None:
    """Refuse a name that cannot be had."""
    check_name(identifier.name)
    await find_namespace(opened, identifier.namespace)
    entry = await opened.look(lambda names: entry_of(names, identifier))
    check_free(entry, identifier, kind)


async def location_of(
    lake: Lake, opened: Opened, identifier: Identifier, wanted: str | None
) -> str:
    """Where a new table or view lies: where it is wanted, else in a place of its own."""
    if wanted:
        return wanted if wanted.endswith("://") else wanted.rstrip("/")
    parent = await find_namespace(opened, identifier.namespace)
    properties = (await opened.head.get(parent.object, NamespaceEntity)).properties
    unique = lake.new_uuid().replace("-", "")
    folder = properties.get(LOCATION) or await _folder(lake, opened, identifier.namespace, parent)
    return location_in(folder, identifier.name, unique)


async def _folder(lake: Lake, opened: Opened, levels: Levels, schema: Entry) -> str:
    """The default folder of a namespace, or another one if that is, or lies in, a table's."""
    warehouse = opened.catalog.warehouse
    folder = default_folder(warehouse, levels)
    claimant = Claimant(schema=schema.id, now_ms=lake.now_ms())
    place = normalize(folder)
    is_taken = await look(
        opened.head.index(LOCATIONS), lambda tree: is_inside(tree, place, claimant)
    )
    return own_folder(warehouse, schema.id) if is_taken else folder
