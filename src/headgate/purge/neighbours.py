"""All catalogs of a store: which heads they have now, and where their files may lie."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from headgate.catalog.dropped_catalogs import dropped_under
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.naming import CATALOGS, ROOT, Names
from headgate.catalog.providers import purges_whole_catalog
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel

_HEAD = re.compile(r"cat/(\d+)/heads/main")


class Place(NamedTuple):
    """A catalog by its name, and where its files may lie."""

    name: str
    roots: tuple[str, ...]
    whole_catalog: bool = False
    """Whether purges of its tables may delete in all of these."""

    @classmethod
    def of(cls, catalog: CatalogEntity, name: str) -> "Place":
        """That of a catalog with this name."""
        return cls(name, catalog.locations, purges_whole_catalog(catalog.properties))


class Heads(NamedTuple):
    """What the pointers of a metalake say."""

    catalogs: int
    """Which catalogs there are."""
    of_catalogs: dict[int, int]
    """What each of them is, by its id."""


NO_HEADS = Heads(0, {})


class Neighbours:
    """Looks at all catalogs at once; what did not move since is known."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._places: dict[str, tuple[int, dict[int, Place]]] = {}

    async def heads(self) -> dict[str, Heads]:
        """What the pointers of all metalakes say now; of one that has no catalogs, nothing."""
        found: dict[str, Heads] = {}
        async for batch in self._kernel.backend.scan_pointers():
            for realm, name, value in batch:
                match = _HEAD.fullmatch(name)
                if value and match:
                    found.setdefault(realm, Heads(0, {})).of_catalogs[int(match[1])] = value
                elif value and name == CATALOG_POINTER:
                    found[realm] = found.get(realm, Heads(0, {}))._replace(catalogs=value)
        self._forget_others(found)
        return found

    async def places(self, realm: str, catalogs: int) -> dict[int, Place]:
        """Where the catalogs of a metalake are, dropped or not."""
        known = self._places.get(realm)
        if known is None or known[0] != catalogs:
            head = await open_head(self._kernel.store, realm, catalogs)
            entries = await look(
                head.index(NAMES), lambda tree: list(Names(tree).below(ROOT, CATALOGS))
            )
            entities = await head.get_all([entry.object for _, entry in entries], CatalogEntity)
            places = {one.id: Place.of(one, one.name) for one in entities}
            for dropped in await dropped_under(head):
                places[dropped.id] = Place.of(dropped.entity, dropped.record.name)
            known = self._places[realm] = catalogs, places
        return known[1]

    def _forget_others(self, realms: Iterable[str]) -> None:
        kept = set(realms)
        self._places = {realm: known for realm, known in self._places.items() if realm in kept}
