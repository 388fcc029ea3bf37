"""Who may see which purge jobs, and steer them: owners of what the table was in, and its own."""

from collections.abc import Mapping
from typing import Self

from headgate.access.decisions import Access, Scope, permits
from headgate.access.objects import ObjectType
from headgate.access.rules import READ_JOBS, Rule
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.entities import decode_entry
from headgate.catalog.full_names import write_full_name
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import Names, id_bytes
from headgate.catalog.objects import look_inside
from headgate.catalog.purging import LiveJob
from headgate.catalog.stored_names import IDS, NAMES
from headgate.catalog.ways import scope_of
from headgate.errors import Forbidden
from headgate.kernel.index import HeadView, look
from headgate.model.names import Levels

Scopes = tuple[Scope, ...]


class JobRights:
    """What one caller may see of purge jobs and do to them, for as long as one request takes."""

    def __init__(
        self, lake: Lake, call: Call, access: Access, metalakes: Mapping[str, OpenedMetalake]
    ) -> None:
        self._lake = lake
        self._call = call
        self._access = access
        """What it may do outside of any metalake."""
        self._metalakes = metalakes
        """Those that it may look into, by the ids of their realms."""
        self._catalogs: dict[tuple[str, int], Scope | None] = {}
        self._schemas: dict[tuple[str, int, Levels], Scopes] = {}

    @classmethod
    async def in_all(cls, lake: Lake, call: Call) -> Self:
        """Of a caller who asks for jobs of all metalakes, or of the one that it names."""
        access = await _outside(lake, call)
        if _is_admin(access):
            return cls(lake, call, access, {})
        if call.catalog.metalake:
            known = [await lake.open_metalake(call, inactive=True)]
        else:
            known = await lake.metalakes.known_to(call)
        return cls(lake, call, access, {one.realm.id: one for one in known})

    def call_on(self, live: LiveJob) -> Call:
        """Of the caller in the catalog of a job; an admin may open it, wherever it is no user."""
        call = self._call._replace(catalog=CatalogName(live.metalake, live.catalog_name))
        if not self._access.is_checked or not self.is_admin:
            return call
        return call._replace(caller=call.caller._replace(is_server=True))

    @property
    def is_admin(self) -> bool:
        """Whether it may do everything, wherever it is no user."""
        return _is_admin(self._access)

    async def sees(self, live: LiveJob) -> bool:
        """Whether it may know of a job."""
        metalake = self._metalakes.get(live.realm)
        if self.is_admin or metalake is None:
            return self.is_admin
        return metalake.may(READ_JOBS, await self._way(metalake, live))

    async def permits(self, rule: Rule, live: LiveJob) -> bool:
        """Whether this rule permits it on a job; a refusal is recorded."""
        try:
            await self.require(rule, live)
        except Forbidden:
            return False
        return True

    async def require(self, rule: Rule, live: LiveJob) -> None:
        """Refuse the call unless this rule permits it on a job; that is recorded."""
        names = (live.catalog_name, *live.job.table.namespace, live.job.table.name)
        shown = write_full_name(ObjectType.TABLE, names, self._lake.options.separator)
        metalake = self._metalakes.get(live.realm)
        if metalake is not None:
            metalake.require(rule, await self._way(metalake, live), names=names, shown=shown)
        else:
            judge, access = self._lake.openings.judge, self._access
            judge.check(rule, access, access.base, self.call_on(live), names, shown)

    async def _way(self, metalake: OpenedMetalake, live: LiveJob) -> Scopes:
        """The way to the table that was dropped, as far as it still is; it ends with the table.

        Schemas are of interest to who owns the table alone: others need no rights in them.
        """
        catalog = await self._catalog(metalake, live.catalog)
        if catalog is None:
            return ()
        if live.job.owner not in metalake.access.principals:
            return (catalog,)
        schemas = await self._path(metalake, live)
        table = Scope(ObjectType.TABLE, live.job.table_id or live.id, live.job.owner)
        return (catalog, *schemas, table)

    async def _catalog(self, metalake: OpenedMetalake, id: int) -> Scope | None:
        key = metalake.realm.id, id
        if key not in self._catalogs:
            self._catalogs[key] = await _catalog_scope(metalake.catalogs, id)
        return self._catalogs[key]

    async def _path(self, metalake: OpenedMetalake, live: LiveJob) -> Scopes:
        levels = live.job.table.namespace
        key = live.realm, live.catalog, levels
        if key not in self._schemas:
            inside = await look_inside(self._lake, metalake, [live.catalog])
            head, path = inside.heads.get(live.catalog), []
            if head is not None:
                path = await look(head.index(NAMES), lambda tree: Names(tree).path(levels))
            self._schemas[key] = tuple(map(scope_of, path))
        return self._schemas[key]


async def _outside(lake: Lake, call: Call) -> Access:
    return lake.openings.guard.outsider(await outsiders.confirm(lake, call.caller))


def _is_admin(access: Access) -> bool:
    return not access.is_checked or permits(READ_JOBS, access.base, access.standing)


async def _catalog_scope(catalogs: HeadView, id: int) -> Scope | None:
    """A catalog as rules see it, None if it is gone."""
    key = await catalogs.index(IDS).get(id_bytes(id))
    value = None if key is None else await catalogs.index(NAMES).get(key)
    return None if value is None else scope_of(decode_entry(value))
