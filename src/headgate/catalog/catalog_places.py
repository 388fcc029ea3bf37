"""Where catalogs may lie that callers create: below what the operator allows, and nowhere else."""

from collections.abc import Callable
from typing import NamedTuple

from headgate.errors import BadRequest
from headgate.model.locations import is_within, normalize
from headgate.model.physical import path_segment


class CatalogPlaces(NamedTuple):
    """What the operator allows, and how places are looked at."""

    root: str = ""
    """Below it each catalog that chooses no place gets a folder; empty if none can."""
    allowed: tuple[str, ...] = ()
    """Below which other locations one may be chosen."""
    real: Callable[[str], str] = normalize
    """The same place without symbolic links."""
    check: Callable[[str], None] = lambda _: None
    """Refuses a place that cannot be written."""

    def own(self, metalake: str, catalog: str, suffix: str) -> str:
        """A folder that no other catalog has, also not one that was renamed or dropped."""
        if not self.root:
            raise BadRequest(
                f"Catalog {metalake}.{catalog} has no place",
                why="there is none for catalogs that choose none",
                fix="Ask for the setting catalogs.warehouse",
            )
        return f"{self.root.rstrip('/')}/{path_segment(f'{metalake}.{catalog}')}-{suffix}"

    def chosen(self, location: str) -> str:
        """A place that a caller chose, if it may; links must not lead out of what is allowed."""
        place = location.rstrip("/")
        if not (self._allows(normalize(place), normalize) and self._allows(place, self.real)):
            raise BadRequest(
                f"Location is not allowed: {location[:200]}",
                why="the operator allows catalogs to lie elsewhere",
                fix="Leave the warehouse out, or ask for it in the setting "
                "catalogs.allowed-locations",
            )
        return place

    def _allows(self, place: str, seen: Callable[[str], str]) -> bool:
        """Whether it lies below the root or an allowed location, or is one of the latter."""
        where, root = seen(place), seen(self.root) if self.root else ""
        if root and is_within(where, root):
            return not is_within(root, where)
        return any(is_within(where, seen(allowed)) for allowed in self.allowed)
