"""The commits of a realm that are kept, and whether what was too large for one still belongs to
it."""

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable

from headgate.ids import node
from headgate.kernel.head import Head
from headgate.kernel.store import Store
from headgate.limits import SWEEP_PAGES_AT_ONCE
from headgate.maintenance.reading import read_objects

CHANGES_TYPE = "changes"


class KeptCommits:
    """Ids of commits, by the nodes that made them.

    Only one commit in twenty is read. So the changes that did not fit into a commit are found the
    other way round: a node gives the id of a commit right after that of its changes.
    """

    def __init__(self) -> None:
        self._by_node: dict[int, array[int]] = {}
        self._is_sorted = True

    def add(self, ids: Iterable[int]) -> None:
        """Take these in."""
        self._is_sorted = False
        for id in ids:
            self._by_node.setdefault(node(id), array("q")).append(id)

    async def orphans(self, store: Store, realm: str, changes: Collection[int]) -> list[int]:
        """Those of these changes that no kept commit refers to."""
        owners = {id: self._following(id) for id in changes}
        wanted = sorted({owner for owner in owners.values() if owner is not None})
        spilled: set[int] = set()
        for at in range(0, len(wanted), SWEEP_PAGES_AT_ONCE):
            found = await read_objects(store, realm, wanted[at : at + SWEEP_PAGES_AT_ONCE])
            spilled |= {head.spilled for head in found.values() if isinstance(head, Head)}
        return [id for id in changes if id not in spilled]

    def _following(self, id: int) -> int | None:
        """The first commit that the node of this id made after it."""
        if not self._is_sorted:
            self._by_node = {one: array("q", sorted(ids)) for one, ids in self._by_node.items()}
            self._is_sorted = True
        ids = self._by_node.get(node(id), array("q"))
        at = bisect_right(ids, id)
        return ids[at] if at < len(ids) else None
