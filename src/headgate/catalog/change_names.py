"""What metalakes and catalogs are called that changes belong to."""

from collections.abc import Iterable

import msgspec

from headgate.catalog.change_reading import Found
from headgate.catalog.change_records import Change, records_of
from headgate.catalog.dropped_catalogs import DROPPED, all_dropped
from headgate.catalog.naming import CATALOGS, ROOT, Names, id_bytes
from headgate.catalog.stored_names import CATALOG_POINTER, IDS, NAMES
from headgate.errors import LogCut, NotFound
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import OPENINGS_KNOWN_MAX

CATALOG_POINTERS = "cat/"
"""How the names of all pointers of a catalog begin."""


def catalog_of(pointer: str) -> int | None:
    """The id of the catalog that a pointer belongs to."""
    if not pointer.startswith(CATALOG_POINTERS):
        return None
    id = pointer.split("/")[1]
    return int(id) if id.isdigit() else None


class ChangeNames:
    """Finds names for ids: those of now, or the last ones of what is gone."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._dropped: dict[tuple[str, int], str] = {}

    async def filled_in(self, found: Iterable[Found]) -> list[Change]:
        """The changes with the names of what they belong to."""
        found = list(found)
        if not found:
            return []
        realms = {realm.id: realm.name for realm in await self._kernel.realms.list()}
        catalogs: dict[tuple[str, int], str] = {}
        for realm in {one.key.realm for one in found if catalog_of(one.key.name) is not None}:
            names = await self.catalogs(realm)
            catalogs |= {(realm, id): name for id, name in names.items()}
        return [await self._filled_in(one, realms, catalogs) for one in found]

    async def _filled_in(
        self, found: Found, realms: dict[str, str], catalogs: dict[tuple[str, int], str]
    ) -> Change:
        realm, key, change = found
        catalog = catalog_of(key.name)
        known = "" if catalog is None else catalogs.get((realm, catalog))
        return msgspec.structs.replace(
            change,
            metalake=change.metalake or realms.get(realm, ""),
            catalog=await self._last(realm, catalog or 0) if known is None else known,
        )

    async def catalogs(self, realm: str, listed: int | None = None) -> dict[int, str]:
        """The names of a metalake's catalogs by their ids, in this list of them or the present.

        Dropped ones whose files are still there are among them.
        """
        if listed is None:
            [listed] = await self._kernel.pointers.read([PointerKey(realm, CATALOG_POINTER)])
        if listed is None:
            return {}
        try:
            head = await open_head(self._kernel.store, realm, listed)
            named = await look(
                head.index(NAMES),
                lambda tree: {entry.id: name for name, entry in Names(tree).below(ROOT, CATALOGS)},
            )
            dropped = await look(
                head.index(DROPPED),
                lambda tree: {id: record.name for id, record in all_dropped(tree)},
            )
            return named | dropped
        except NotFound:
            return {}  # its metalake is purged at this moment

    async def _last(self, realm: str, id: int) -> str:
        """What a catalog was called when it was dropped; empty if nobody knows any more."""
        known = self._dropped.get((realm, id))
        if known is None:
            if len(self._dropped) >= OPENINGS_KNOWN_MAX:
                self._dropped.clear()
            known = self._dropped[realm, id] = await self._logged(realm, id)
        return known

    async def _logged(self, realm: str, id: int) -> str:
        key = PointerKey(realm, CATALOG_POINTER)
        try:
            async for commit in self._kernel.log.newest_first(key):
                for group in commit.groups:
                    is_drop = any(
                        entry.index == IDS and entry.kind == "removed" and entry.key == id_bytes(id)
                        for entry in group.entries
                    )
                    if is_drop:
                        own = msgspec.structs.replace(commit, groups=[group])
                        return "".join(change.name[-1] for _, change in records_of(own))
        except (LogCut, NotFound):
            return ""  # its metalake is purged at this moment
        return ""
