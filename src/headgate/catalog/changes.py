"""The change log: everything that was done, behind any position, without a gap.

Each pointer has a log of its own, so a position is one in each of them, and records have an order
for each pointer. Between pointers they come as their commits' ids do: nearly in the order of time.
"""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.catalog.change_cursors import OLDEST, Cursor, Position
from headgate.catalog.change_names import ChangeNames, catalog_of
from headgate.catalog.change_reading import Reading, Wanted, realm_keys
from headgate.catalog.change_records import Change
from headgate.catalog.commit_ids import CommitIds
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.naming import CATALOGS, NAMES, ROOT, Names
from headgate.catalog.openings import CATALOG_POINTER, head_pointer
from headgate.errors import BadRequest
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import EMPTY, PointerKey
from headgate.limits import CHANGES_MAX


class ChangePage(NamedTuple):
    """Some records, the cursor behind them, and whether there may be more by now."""

    changes: Sequence[Change]
    next: Cursor
    more: bool


class ChangeLog:
    """The changes of all metalakes, or of one."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ids = CommitIds(kernel.log)
        self._names = ChangeNames(kernel)

    async def oldest(self, realm: str = "") -> Cursor:
        """The cursor before all that is kept, of one metalake by its id, or of all."""
        positions = dict.fromkeys(_system_keys(realm), Position(OLDEST))
        for id in await self._realms(realm):
            heads = [head_pointer(catalog) for catalog in await self._catalogs(id)]
            known = [key for key in await self._kernel.log.pointers(id) if _is_head(key)]
            keys = [*realm_keys(id), *(PointerKey(id, head) for head in heads), *known]
            positions |= dict.fromkeys(keys, Position(OLDEST))
        return Cursor(realm, positions)

    async def now(self, realm: str = "") -> Cursor:
        """The cursor behind all that was done, of one metalake by its id, or of all."""
        positions = await self._present(_system_keys(realm))
        for id in await self._realms(realm):
            positions |= await self._present(realm_keys(id))
            listed = positions[PointerKey(id, CATALOG_POINTER)].after
            heads = map(head_pointer, await self._catalogs(id, listed))
            positions |= await self._present([PointerKey(id, head) for head in heads])
        return Cursor(realm, positions)

    async def page(
        self, cursor: Cursor, limit: int, wanted: Wanted = lambda _realm, _change: True
    ) -> ChangePage:
        """The records behind a cursor that are wanted; `LogCut` if some may be gone."""
        _check_within(cursor)
        reading = Reading(self._kernel, self._ids, cursor, min(limit, CHANGES_MAX), wanted)
        more = await reading.read()
        changes = await self._names.filled_in(reading.found)
        return ChangePage(changes, Cursor(cursor.realm, reading.positions), more)

    async def _realms(self, realm: str) -> list[str]:
        return [realm] if realm else [one.id for one in await self._kernel.realms.list()]

    async def _catalogs(self, realm: str, listed: int | None = None) -> list[int]:
        """The ids of a metalake's catalogs, in this list of them or in the present one."""
        if listed is None:
            [listed] = await self._kernel.pointers.read([PointerKey(realm, CATALOG_POINTER)])
        if listed is None:
            return []
        head = await open_head(self._kernel.store, realm, listed)
        return await look(
            head.index(NAMES),
            lambda tree: [entry.id for _, entry in Names(tree).below(ROOT, CATALOGS)],
        )

    async def _present(self, keys: Sequence[PointerKey]) -> dict[PointerKey, Position]:
        values = await self._kernel.pointers.read(keys)
        return {
            key: Position(EMPTY if value is None else value)
            for key, value in zip(keys, values, strict=True)
        }


def _system_keys(realm: str) -> list[PointerKey]:
    """The pointers that belong to no realm; that of identities is nobody's in particular."""
    return [REALMS_KEY] if realm else [REALMS_KEY, IDENTITIES_KEY]


def _is_head(key: PointerKey) -> bool:
    catalog = catalog_of(key.name)
    return catalog is not None and head_pointer(catalog) == key.name


def _check_within(cursor: Cursor) -> None:
    """Refuse a cursor that reaches beyond what it is for: somebody made it up."""
    if not cursor.realm:
        return
    for key in cursor.positions:
        if key.realm != cursor.realm and key != REALMS_KEY:
            raise BadRequest(
                "Cannot read the changes",
                why="the cursor was changed",
                fix="Send `next` of an earlier answer",
            )
