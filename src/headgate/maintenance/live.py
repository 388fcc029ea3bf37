"""What lives in one realm: all that its pointers lead to, and which pointers nobody needs."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.catalog.change_names import catalog_of
from headgate.catalog.dropped_catalogs import DROPPED
from headgate.catalog.references import References
from headgate.catalog.stored_names import CATALOG_POINTER, IDS
from headgate.ids import time_ms
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import Pointer, PointerKey
from headgate.kernel.store import Store
from headgate.maintenance.commits import KeptCommits
from headgate.maintenance.heads import kept_heads
from headgate.maintenance.marks import Outline, marks, outline


class Survey(NamedTuple):
    """A realm as its heads show it: what is left is to walk through the pages."""

    pointers: list[Pointer]
    outlines: list[Outline]
    commits: KeptCommits
    dead: list[PointerKey]
    """Pointers of catalogs that are gone."""


async def survey(kernel: Kernel, references: References, realm: str, cutoff_ms: int) -> Survey:
    """Look at all heads of a realm; `NewerFormat` if something in them is not declared."""
    pointers = [one async for batch in kernel.backend.scan_pointers(realm) for one in batch]
    for one in pointers:
        references.of(realm, one.name)
    looking = _Looking(kernel.store, references, cutoff_ms)
    for one in pointers:
        if catalog_of(one.name) is None:
            await looking.at(one)
    dead = await _dead(kernel, [one for one in pointers if looking.is_unneeded(one)])
    gone = {key.name for key in dead}
    for one in pointers:
        if catalog_of(one.name) is not None and one.name not in gone:
            await looking.at(one)
    return Survey(pointers, looking.outlines, looking.commits, dead)


class _Looking:
    """Looks at the pointers of a realm, one after the other."""

    def __init__(self, store: Store, references: References, cutoff_ms: int) -> None:
        self.outlines: list[Outline] = []
        self.commits = KeptCommits()
        self._store = store
        self._references = references
        self._cutoff_ms = cutoff_ms
        self._needed: set[str] = set()

    async def at(self, pointer: Pointer) -> None:
        """Look at the heads of a pointer. Of the list of catalogs also at its pages: they tell
        which other pointers are needed."""
        kept = await kept_heads(self._store, pointer, self._cutoff_ms)
        self.commits.add(kept.ids)
        found = outline(self._references, pointer, kept, self._needed)
        if pointer.name == CATALOG_POINTER:
            pages = marks(self._store, self._references, found, self._needed)
            found = Outline(found.ids, [])
            async for ids in pages:
                found.ids.extend(ids)
        self.outlines.append(found)

    def is_unneeded(self, pointer: Pointer) -> bool:
        """Whether it is that of a catalog which nothing refers to, and which is not being made."""
        catalog = catalog_of(pointer.name)
        if catalog is None or pointer.name in self._needed:
            return False
        return time_ms(catalog) < self._cutoff_ms


async def _dead(kernel: Kernel, unneeded: Sequence[Pointer]) -> list[PointerKey]:
    """Those of these pointers of catalogs that nobody reads any more.

    As long as the log tells of a catalog, whoever reads on from there wants its log too.
    """
    if not unneeded:
        return []
    told: set[int] = set()
    async for commit in kernel.log.newest_first(PointerKey(unneeded[0].realm, CATALOG_POINTER)):
        for group in commit.groups:
            told |= {
                int.from_bytes(entry.key, "big")
                for entry in group.entries
                if entry.index in {IDS, DROPPED}
            }
    return [PointerKey(one.realm, one.name) for one in unneeded if catalog_of(one.name) not in told]
