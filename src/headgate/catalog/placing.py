"""Where a new table or view gets its name and its location."""

from headgate.catalog.entities import Kind, NamespaceEntity
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace
from headgate.catalog.openings import Opened
from headgate.catalog.own_places import LOCATION
from headgate.catalog.relations import check_free, entry_of
from headgate.model.names import Identifier, check_name
from headgate.model.physical import default_location, path_segment


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
    if LOCATION in properties:
        folder = properties[LOCATION].rstrip("/")
        return f"{folder}/{path_segment(identifier.name)}-{unique}"
    return default_location(opened.catalog.warehouse, identifier.namespace, identifier.name, unique)
