"""Where the files of all catalogs may lie, and what is known of their tables."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headgate.catalog.ports import Roots
from headgate.errors import InvalidInput
from headgate.kernel.records import PointerKey
from headgate.model.locations import index_key
from headgate.purge.folders import parent_of
from headgate.purge.outsiders import Known
from headgate.purge.surveyor import Surveyed


class Places:
    """Where the files of all catalogs may lie, each given by its head."""

    def __init__(self, places: Mapping[PointerKey, Roots]) -> None:
        self.of_catalogs = places
        self.roots = tuple(sorted({root for roots in places.values() for root in roots}))
        self._holders = {index_key(root): key for key, roots in places.items() for root in roots}

    def with_those_of(self, tables: Iterable[Surveyed]) -> Roots:
        """Besides, those that these tables have although their catalogs lost them."""
        return (*self.roots, *sorted({place for table in tables for place in table.lost}))

    def holder(self, location: str) -> PointerKey | None:
        """The catalog that a location is of."""
        try:
            key = index_key(location)
        except InvalidInput:  # no location at all
            return None
        while key and key not in self._holders:
            key = parent_of(key)
        return self._holders.get(key)


class Store(NamedTuple):
    """All catalogs at a moment."""

    heads: dict[PointerKey, int]
    """Of those whose tables count."""
    known: dict[PointerKey, Known]
    """What is known of them, which others add to."""
    places: Places

    def is_known(self, key: PointerKey, now: float) -> bool:
        """Whether all is known of a catalog."""
        own = self.places.of_catalogs.get(key, ())
        return self.known[key].is_all(self.heads[key], own, self.places.roots, now)
