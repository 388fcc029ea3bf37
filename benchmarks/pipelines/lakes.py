"""Metalakes with very many tables, written as the server keeps them: commits of clients would do
the same, but with one table each."""

from collections.abc import Callable, Sequence

from benchmarks.rest.metadata import table, table_uuid
from headgate.catalog.catalogs import bootstrap, list_catalogs
from headgate.catalog.entities import CatalogEntity, Entry, Kind, NamespaceEntity, TableEntity
from headgate.catalog.naming import NAMESPACES, RELATIONS, ROOT, NamesDraft
from headgate.catalog.openings import head_pointer
from headgate.catalog.reservations import reserve
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel

METALAKE, CATALOG, SCHEMA = "default", "main", "many"
TABLES_PER_COMMIT = 500
SNAPSHOTS = 1


async def make_lake(kernel: Kernel, warehouse: str, tables: int) -> RealmHandle:
    """A fresh store gets a metalake with so many tables in one schema."""
    await bootstrap(kernel, METALAKE, CatalogEntity(0, CATALOG, warehouse, {}))
    [catalog] = await list_catalogs(kernel, METALAKE)
    realm = kernel.realm((await kernel.realms.get(METALAKE)).id)
    pointer = head_pointer(catalog.id)
    schema = await realm.commit(pointer, _make_schema)
    for start in range(0, tables, TABLES_PER_COMMIT):
        numbers = range(start, min(start + TABLES_PER_COMMIT, tables))
        await realm.commit(pointer, _making(catalog.warehouse, schema, numbers))
    return realm


def _make_schema(draft: Draft) -> int:
    entry = Entry(Kind.NAMESPACE, draft.new_id(), draft.stage(NamespaceEntity({})))
    NamesDraft(draft).add(ROOT, NAMESPACES, SCHEMA, entry)
    return entry.id


def _making(warehouse: str, schema: int, numbers: Sequence[int]) -> Callable[[Draft], None]:
    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        for number in numbers:
            entity = new_entity(warehouse, number)
            entry = Entry(Kind.TABLE, draft.new_id(), draft.stage(entity))
            names.add(schema, RELATIONS, f"table_{number:07}", entry)
            reserve(draft, entity.reserved, entry.id)

    return attempt


def new_entity(warehouse: str, number: int) -> TableEntity:
    """A table as it is kept. Nobody will load it, so it has no files."""
    location = f"{warehouse}/{SCHEMA}/table_{number:07}"
    file = f"{location}/metadata/00000.metadata.json"
    metadata = table(location, number, SNAPSHOTS)
    return TableEntity(table_uuid(number), location, file, metadata, (location,))
