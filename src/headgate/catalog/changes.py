"""The change log: everything that was done, behind any position, without a gap.

Each pointer has a log of its own, so a position is one in each of them, and records have an order
for each pointer. Between pointers they come as their commits' ids do: nearly in the order of time.
"""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.catalog.change_cursors import ALL, OLDEST, Cursor, Extent, Position, decode_cursor
from headgate.catalog.change_names import ChangeNames, catalog_of
from headgate.catalog.change_reading import GONE, Reading, Wanted, realm_keys, values_of
from headgate.catalog.change_records import Change
from headgate.catalog.commit_ids import CommitIds
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import BadRequest
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import EMPTY, PointerKey
from headgate.limits import CHANGES_MAX

BEGINNING, PRESENT = "oldest", "now"
"""What stands for a cursor: before all that is kept, and behind all that was done."""

Positions = dict[PointerKey, Position]


class ChangePage(NamedTuple):
    """Some records, the cursor behind them, and whether there may be more by now."""

    changes: Sequence[Change]
    next: Cursor
    more: bool


class ChangeLog:
    """The changes of all metalakes, or of some."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ids = CommitIds(kernel.log)
        self._names = ChangeNames(kernel)

    async def cursor(self, since: str, extent: Extent = ALL) -> Cursor:
        """The cursor that a text stands for; `BadRequest` if it is good for something else."""
        if since == BEGINNING:
            return await self.oldest(extent)
        if since == PRESENT:
            return await self.now(extent)
        cursor = decode_cursor(since)
        if cursor.realm != extent.realm:
            raise BadRequest(
                "Cannot read the changes",
                why="the cursor is of another metalake, or of all",
                fix="Ask for the same metalake as when it was given",
            )
        return await self._within(cursor, extent)

    async def oldest(self, extent: Extent = ALL) -> Cursor:
        """The cursor before all that is kept."""
        positions = dict.fromkeys(_system_keys(extent), Position(OLDEST))
        for realm in await self._realms(extent):
            positions |= await self._oldest(realm)
        return Cursor(extent.realm, positions)

    async def now(self, extent: Extent = ALL) -> Cursor:
        """The cursor behind all that was done."""
        positions = await self._present(_system_keys(extent))
        for realm in await self._realms(extent):
            positions |= await self._present(realm_keys(realm))
            listed = positions[PointerKey(realm, CATALOG_POINTER)].after
            heads = map(head_pointer, await self._names.catalogs(realm, listed))
            positions |= await self._present([PointerKey(realm, head) for head in heads])
        return Cursor(extent.realm, positions)

    async def page(
        self,
        cursor: Cursor,
        limit: int,
        wanted: Wanted = lambda _change: True,
        extent: Extent | None = None,
    ) -> ChangePage:
        """The records behind a cursor that are wanted; `LogCut` if some may be gone."""
        extent = extent or Extent(cursor.realm)
        reading = Reading(self._kernel, self._ids, cursor, extent, min(limit, CHANGES_MAX), wanted)
        more = await reading.read()
        changes = await self._names.filled_in(reading.found)
        return ChangePage(changes, Cursor(cursor.realm, reading.positions), more)

    async def _within(self, cursor: Cursor, extent: Extent) -> Cursor:
        """A cursor with all that its extent has and nothing else, whoever made it up.

        A realm that joined it since is read from its beginning.
        """
        own = set(_system_keys(extent))
        positions = {
            key: position
            for key, position in cursor.positions.items()
            if key in own or extent.has(key.realm)
        }
        known = {key.realm for key in positions}
        for realm in extent.realms or ():
            if realm not in known:
                positions |= await self._oldest(realm)
        return Cursor(cursor.realm, positions)

    async def _oldest(self, realm: str) -> Positions:
        live = await self._names.catalogs(realm)
        kept = [key for key in await self._kernel.log.pointers(realm) if _is_head(key)]
        heads = [PointerKey(realm, head_pointer(catalog)) for catalog in live]
        return dict.fromkeys([*realm_keys(realm), *heads, *kept], Position(OLDEST))

    async def _realms(self, extent: Extent) -> Sequence[str]:
        if extent.realm:
            return [extent.realm]
        found = await self._kernel.realms.list()
        return [one.id for one in found if one.state not in GONE and extent.has(one.id)]

    async def _present(self, keys: Sequence[PointerKey]) -> Positions:
        values = await values_of(self._kernel, keys)
        return {key: Position(EMPTY if value is None else value) for key, value in values}


def _system_keys(extent: Extent) -> list[PointerKey]:
    """The pointers that belong to no realm; those of identities are nobody's in particular."""
    return [REALMS_KEY, IDENTITIES_KEY] if extent == ALL else [REALMS_KEY]


def _is_head(key: PointerKey) -> bool:
    catalog = catalog_of(key.name)
    return catalog is not None and head_pointer(catalog) == key.name
