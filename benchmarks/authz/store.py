"""What is asked for: a schema with very many tables, and users of all kinds.

All of it is written as the server keeps it, as commits of clients would, but much with each.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.authz.people import Person, Rights, add_people
from benchmarks.authz.scale import Scale
from benchmarks.rest.loads import NAMESPACE as LOADS
from benchmarks.rest.metadata import table_uuid
from headgate.access.objects import ObjectType
from headgate.access.privileges import Privilege as Right
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity, Entry, Kind, NamespaceEntity, TableEntity
from headgate.catalog.naming import NAMESPACES, RELATIONS, ROOT, Names, NamesDraft
from headgate.catalog.openings import head_pointer
from headgate.catalog.rights import Grant
from headgate.catalog.stored_names import NAMES
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import look
from headgate.settings.loading import load
from headgate.wiring import open_kernel

METALAKE, CATALOG = "default", "main"
LONG = "long"
"""The schema with very many tables."""
LOADER, STRANGER, GUEST = "loader", "stranger", "guest"
"""Who loads tables, who does so for the first time, and whose right to do so comes and goes."""
MIXES = ("schema", "tables", "denied")
"""Users who see a list because of a right on its schema, of one on each table, or of the first
with one table denied: of this one each entry is looked at, too."""
TABLES_PER_COMMIT = 500
READING = int(Right.USE_SCHEMA | Right.SELECT_TABLE)


class Place(NamedTuple):
    """The catalog that all is in, and rights on what it holds."""

    realm: RealmHandle
    catalog: CatalogEntity

    @property
    def pointer(self) -> str:
        return head_pointer(self.catalog.id)

    def use(self) -> Rights:
        """The right to use the catalog."""
        return self._on(ObjectType.CATALOG, self.catalog.id, Right.USE_CATALOG)

    def read(self, schema: int) -> Rights:
        """The right to load all tables of a schema."""
        return self._on(ObjectType.SCHEMA, schema, READING)

    def enter(self, schema: int) -> Rights:
        """The right to use a schema, but nothing in it."""
        return self._on(ObjectType.SCHEMA, schema, Right.USE_SCHEMA)

    def select(self, table: int) -> Rights:
        """The right to load one table."""
        return self._on(ObjectType.TABLE, table, Right.SELECT_TABLE)

    def deny(self, table: int) -> Rights:
        """No right to load one table."""
        return self._on(ObjectType.TABLE, table, 0, Right.SELECT_TABLE)

    def _on(self, kind: ObjectType, id: int, allow: int, deny: int = 0) -> Rights:
        return {id: Grant(int(kind), int(allow), int(deny), self.catalog.id)}


async def fill(data: Path, scale: Scale) -> dict[str, list[str]]:
    """Add the long schema and all users to a store whose schema to load from is there.

    The users of each mix.
    """
    async with open_kernel(load(flags={"data": str(data)})) as kernel:
        [catalog] = await list_catalogs(kernel, METALAKE)
        place = Place(kernel.realm((await kernel.realms.get(METALAKE)).id), catalog)
        loads = await _schema(place)
        long = await place.realm.commit(place.pointer, _make_schema)
        tables = await _make_tables(place, long, scale.listed)
        loading = [place.use(), place.read(loads), place.read(long)]
        mixes = _mixes(place, long, tables, place.read(loads), scale.users)
        people = [Person(name, loading) for name in (LOADER, STRANGER)]
        people.append(Person(GUEST, [place.use() | place.enter(loads), place.read(loads)]))
        await add_people(place.realm, [*people, *(one for mix in mixes.values() for one in mix)])
    return {mix: [one.name for one in users] for mix, users in mixes.items()}


def _mixes(
    place: Place, schema: int, tables: Sequence[int], loading: Rights, users: int
) -> Mapping[str, list[Person]]:
    """As many users of each kind. All see all tables, or all but one: the length of the answers
    makes no difference. Those with a right on each may also load from another schema."""
    each = users // len(MIXES)
    singly = {id: grant for table in tables[1:] for id, grant in place.select(table).items()}
    roles: dict[str, list[Rights]] = {
        "schema": [place.use(), place.read(schema)],
        "tables": [place.use(), place.enter(schema) | loading, singly],
        "denied": [place.use(), place.read(schema), place.deny(tables[0])],
    }
    return {
        mix: [Person(f"{mix}-{number:02}", roles[mix]) for number in range(each)] for mix in MIXES
    }


async def _schema(place: Place) -> int:
    """The id of the schema to load from."""
    [head] = await place.realm.heads(place.pointer)
    entry = await look(head.index(NAMES), lambda tree: Names(tree).namespace((LOADS,)))
    assert entry is not None, "its tables were made before"
    return entry.id


def _make_schema(draft: Draft) -> int:
    entry = Entry(Kind.NAMESPACE, draft.new_id(), draft.stage(NamespaceEntity({})))
    NamesDraft(draft).add(ROOT, NAMESPACES, LONG, entry)
    return entry.id


async def _make_tables(place: Place, schema: int, count: int) -> list[int]:
    """The ids of new tables. Nobody will load them, so they have no files."""
    ids: list[int] = []
    for start in range(0, count, TABLES_PER_COMMIT):
        numbers = range(start, min(start + TABLES_PER_COMMIT, count))
        ids += await place.realm.commit(place.pointer, _making(place.catalog, schema, numbers))
    return ids


def _making(
    catalog: CatalogEntity, schema: int, numbers: Sequence[int]
) -> Callable[[Draft], list[int]]:
    def attempt(draft: Draft) -> list[int]:
        names, ids = NamesDraft(draft), []
        for number in numbers:
            location = f"{catalog.warehouse}/{LONG}/table_{number:05}"
            file = f"{location}/metadata/00000.metadata.json"
            entity = TableEntity(table_uuid(number), location, file, b"", (location,))
            entry = Entry(Kind.TABLE, draft.new_id(), draft.stage(entity))
            names.add(schema, RELATIONS, f"table_{number:05}", entry)
            ids.append(entry.id)
        return ids

    return attempt
