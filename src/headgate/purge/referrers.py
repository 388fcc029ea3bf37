"""Which tables refer to files that are not in their own places: other tables' files that they took
up, or what a table that was purged left for them. Those of all catalogs count.

Their metadata is read once: a table whose entry is the same refers to the same. So a purge costs
the tables that changed since the last one in this process, and the first one costs all of them.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.entities import Kind, TableEntity, decode_entry
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots
from headgate.catalog.purging import PURGE, LiveJob, can_come_back, decode_job, is_job
from headgate.catalog.stored_names import NAMES
from headgate.catalog.territories import HAVE_CATALOGS
from headgate.catalog.walks import unhurried
from headgate.errors import InvalidInput, ObjectNotFound
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import is_dropped
from headgate.kernel.records import PointerKey
from headgate.limits import FETCH_IDS_MAX, REFERENCE_COMMITS_MAX
from headgate.model.locations import index_key
from headgate.purge.neighbours import Neighbours
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed

UNREAD_SECONDS = 60.0
"""Then what was gone or damaged is looked for again: somebody may have restored it."""

logger = logging.getLogger(__name__)


class Surveying(Protocol):
    """Reads what tables refer to; see `Surveyor`. What leads there is read below the roots."""

    async def survey(self, tables: Sequence[Surveyed], roots: Roots) -> list[Outside]:
        """What each of these tables refers to outside of its places."""
        ...

    async def shared(
        self, referrers: Sequence[Referrer], roots: Roots, paths: Sequence[str]
    ) -> Shared:
        """Those of these files that these tables refer to."""
        ...


class Outsider(NamedTuple):
    """A table that refers to files outside of its places, or of which not all could be read."""

    table: Surveyed
    outside: Outside
    again: float
    """When it is to be read once more, by the stopwatch."""

    @property
    def referrer(self) -> Referrer:
        return Referrer(self.table, self.outside.digest)


class Changes(NamedTuple):
    """Objects of the entries of tables that changed."""

    gone: set[int]
    come: set[int]
    recalled: set[int]
    """Of those that were dropped and could come back: they did, or cannot any more."""
    waiting: set[int]
    """Of those that are dropped now and can come back."""


class Referring(NamedTuple):
    """Tables that refer to some files outside of their places."""

    tables: tuple[Referrer, ...] = ()
    roots: Roots = ()
    """Below which lies what leads to these files."""


NOBODY = Referring()


class Known:
    """What is known of the tables of a catalog, by the objects of their entries."""

    def __init__(self) -> None:
        self.head: HeadView | None = None
        self.plain: set[int] = set()
        """Those that refer to nothing outside."""
        self.outsiders: dict[int, Outsider] = {}
        self.waiting: set[int] = set()
        """Those that are dropped, and can come back."""
        self.unknown: set[int] = set()
        """Those that are not read yet."""
        self.doubted: set[int] = set()
        """Those of which not even manifests are known."""
        self.again = float("inf")
        """When something of it is to be read once more, by the stopwatch."""
        self.learning = asyncio.Lock()

    @property
    def referring(self) -> list[Outsider]:
        """Those that refer to something outside."""
        return [one for one in self.outsiders.values() if not one.outside.is_nothing]

    def is_all(self, head: int, now: float) -> bool:
        """Whether all is known of the catalog as it is under this head."""
        is_same = self.head is not None and self.head.id == head
        return is_same and not self.unknown and now < self.again

    def replace(self, changes: Changes) -> None:
        """Take over what changed."""
        waiting = (self.waiting - changes.recalled) | changes.waiting
        left = (changes.gone | self.waiting).difference(changes.come, waiting)
        self.plain -= left
        self.unknown -= left
        self.doubted -= left
        for object in left:
            self.outsiders.pop(object, None)
        self.waiting = waiting
        for new in (changes.come, waiting):
            self.unknown |= new.difference(self.plain, self.outsiders)

    def learn(self, object: int, one: Outsider) -> None:
        """Take over what a table refers to."""
        self.unknown.discard(object)
        self.doubted.discard(object)
        if one.outside.is_nothing and not one.outside.unread:
            self.plain.add(object)
            self.outsiders.pop(object, None)
        else:
            self.outsiders[object] = one
            self.again = min(self.again, one.again)

    def forget_unread(self, now: float) -> None:
        """Those that are to be read once more are not known."""
        due = {object for object, one in self.outsiders.items() if one.again <= now}
        self.unknown |= due
        rest = [one.again for object, one in self.outsiders.items() if object not in due]
        self.again = min(rest, default=float("inf"))

    def doubt(self, referrers: Iterable[Referrer]) -> None:
        """These tables do not refer to what they did, although they are the same: their files were
        changed behind our back."""
        tables = {one.table for one in referrers}
        doubted = {object for object, one in self.outsiders.items() if one.table in tables}
        self.doubted |= doubted
        self.unknown |= doubted


class Referrers:
    """The tables of all catalogs that refer to files outside of their places."""

    def __init__(
        self, kernel: Kernel, surveyor: Surveying, *, across_catalogs: bool = True
    ) -> None:
        """Without `across_catalogs` nobody refers to files of another catalog."""
        self._kernel = kernel
        self._surveyor = surveyor
        self._across_catalogs = across_catalogs
        self._neighbours = Neighbours(kernel)
        self._known: dict[PointerKey, Known] = {}

    async def to_places(self, live: LiveJob) -> Referring:
        """Those that may refer to files in the places of a dropped table."""
        places = tuple(map(index_key, live.job.reserved))
        found, roots = await self._outsiders(live.head)
        tables = tuple(one.referrer for one in found if one.outside.touches(places))
        return Referring(tables, roots) if tables else NOBODY

    async def shared(self, live: LiveJob, paths: Sequence[str]) -> Shared:
        """Those of these files of a dropped table, outside of its places, that others refer to."""
        return await self._shared(*await self._outsiders(live.head), paths)

    async def elsewhere(self, own: PointerKey, paths: Sequence[str]) -> Shared:
        """Those of these files of a catalog, given by its head, that tables of others refer to."""
        return await self._shared(*await self._outsiders(own, besides=True), paths)

    def doubt(self, referrers: Sequence[Referrer]) -> None:
        """Read these tables once more, all of them."""
        for known in self._known.values():
            known.doubt(referrers)

    async def _shared(
        self, outsiders: Iterable[Outsider], roots: Roots, paths: Sequence[str]
    ) -> Shared:
        folders = set(map(_folder_of, paths))
        found = [one.referrer for one in outsiders if one.outside.lies_in(folders)]
        if not found:
            return Shared()
        shared = await self._surveyor.shared(found, roots, paths)
        if shared.is_stale:
            self.doubt(found)
        return shared

    async def _outsiders(
        self, own: PointerKey, *, besides: bool = False
    ) -> tuple[list[Outsider], Roots]:
        """All tables that count for a catalog, as they are now, and the places of all catalogs;
        `besides`: without its own."""
        heads, roots = await self._heads()
        self._known = {key: known for key, known in self._known.items() if key in heads}
        found: list[Outsider] = []
        for key, head in heads.items():
            counts = not besides if key == own else self._across_catalogs
            if counts:
                found += await self._of(key, head, roots)
        return found, roots

    async def _heads(self) -> tuple[dict[PointerKey, int], Roots]:
        """The heads of all catalogs whose tables count, and where their files may lie. Nothing of
        a metalake comes back that is dropped."""
        heads = await self._neighbours.heads()
        found: dict[PointerKey, int] = {}
        roots: set[str] = set()
        for realm in await self._kernel.realms.list():
            if realm.state not in HAVE_CATALOGS or is_dropped(realm) or realm.id not in heads:
                continue
            catalogs, of_catalogs = heads[realm.id]
            found |= {
                PointerKey(realm.id, head_pointer(id)): head for id, head in of_catalogs.items()
            }
            places = await self._neighbours.places(realm.id, catalogs)
            roots |= {root for place in places.values() for root in place.roots}
        return found, tuple(sorted(roots))

    async def _of(self, key: PointerKey, value: int, roots: Roots) -> list[Outsider]:
        """Those of a catalog. Of one that is dropped nothing comes back."""
        known = self._known.setdefault(key, Known())
        if known.is_all(value, self._kernel.clock.seconds()):
            return known.referring
        gone: set[str] = set()
        async with known.learning:
            while True:
                head = await self._head(key)
                if head.head.sealed:
                    return []
                try:
                    await self._compare(known, head)
                    gaps = await self._read(known, head, roots)
                except ObjectNotFound:  # of a state that is not the present one any more
                    if (await self._head(key)).id == head.id:
                        raise
                    continue
                # A table that changed may have moved what it was missing, unless it led there
                # after that was gone.
                if gaps <= gone or (await self._head(key)).id == head.id:
                    return known.referring
                gone |= gaps

    async def _head(self, key: PointerKey) -> HeadView:
        [value] = await self._kernel.pointers.read([key])
        return await open_head(self._kernel.store, key.realm, value)

    async def _compare(self, known: Known, head: HeadView) -> None:
        """Find out which tables came, changed and went."""
        known.forget_unread(self._kernel.clock.seconds())
        before = known.head
        if before is not None and before.id == head.id:
            return
        changes = None
        if before is not None and head.head.seq - before.head.seq <= REFERENCE_COMMITS_MAX:
            with suppress(ObjectNotFound):  # pages of the head before are gone
                changes = await _changes(before, head)
        if changes is None:
            changes = await _all(head)
            there = {*known.plain, *known.outsiders, *known.unknown}
            changes = changes._replace(gone=there - changes.come, recalled=known.waiting)
        known.replace(changes)
        known.head = head

    async def _read(self, known: Known, head: HeadView, roots: Roots) -> set[str]:
        """Read the tables that are not known; those of their files that are gone or damaged."""
        gaps: set[str] = set()
        objects = list(known.unknown)  # in no order: a million would hold up the loop
        for start in range(0, len(objects), FETCH_IDS_MAX):
            some = objects[start : start + FETCH_IDS_MAX]
            entities = await self._entities(head, some)
            asked = [
                Surveyed(one.metadata_location, one.reserved, object in known.doubted)
                for object, one in zip(some, entities, strict=True)
            ]
            found = await self._surveyed(entities, asked, roots)
            again = self._kernel.clock.seconds() + UNREAD_SECONDS
            for object, (table, outside) in zip(some, found, strict=True):
                gaps.update(outside.unread)
                if outside.unread and object not in known.outsiders:
                    _complain(table, outside)
                until = again if outside.unread else float("inf")
                sure = msgspec.structs.replace(table, is_doubted=False)
                known.learn(object, Outsider(sure, outside, until))
        return gaps

    async def _surveyed(
        self, entities: Sequence[TableEntity], asked: Sequence[Surveyed], roots: Roots
    ) -> list[tuple[Surveyed, Outside]]:
        """Tables, with what they refer to. Where the database has what a metadata file said,
        clients are served from there: it counts also if the file is gone or damaged."""
        found = list(zip(asked, await self._surveyor.survey(asked, roots), strict=True))
        for number, (table, outside) in enumerate(found):
            known = entities[number].metadata
            if known and table.metadata_location in outside.unread:
                told = msgspec.structs.replace(table, metadata=known)
                [anew] = await self._surveyor.survey([told], roots)
                found[number] = told, anew
        return found

    async def _entities(self, head: HeadView, objects: Sequence[int]) -> list[TableEntity]:
        """What these tables are; nothing is pushed out of the cache for what nobody else asks."""
        store = self._kernel.store
        uncached = [object for object in objects if store.find(head.realm, object) is None]
        entities = await head.get_all(objects, TableEntity)
        store.forget(head.realm, uncached)
        return entities


async def _changes(before: HeadView, head: HeadView) -> Changes:
    """What changed from one head to another, at the cost of what changed."""
    names = await before.index(NAMES).difference(head.index(NAMES))
    jobs = await before.index(PURGE).difference(head.index(PURGE))
    return Changes(
        gone=_tables(old for _, old, _ in names),
        come=_tables(new for _, _, new in names),
        recalled={one for key, old, _ in jobs for one in _waiting(key, old)},
        waiting={one for key, _, new in jobs for one in _waiting(key, new)},
    )


async def _all(head: HeadView) -> Changes:
    """All that there is, a chunk at a time."""
    names, jobs = head.index(NAMES).scan(), head.index(PURGE).scan()
    return Changes(
        gone=set(),
        come={one async for _, value in unhurried(names) for one in _tables([value])},
        recalled=set(),
        waiting={one async for entry in unhurried(jobs) for one in _waiting(*entry)},
    )


def _tables(values: Iterable[bytes | None]) -> set[int]:
    """The objects of those of these entries that are tables."""
    entries = [decode_entry(value) for value in values if value is not None]
    return {entry.object for entry in entries if entry.kind is Kind.TABLE}


def _waiting(key: bytes, value: bytes | None) -> set[int]:
    """The object of a table that is dropped and can come back, if this is the job of one."""
    if value is None or not is_job(key):
        return set()
    _, job = decode_job(key, value)
    return {job.object} if can_come_back(job) else set()


def _folder_of(path: str) -> bytes:
    try:
        return index_key(path.rstrip("/").rpartition("/")[0])
    except InvalidInput:  # no location at all: nothing of ours
        return b""


def _complain(table: Surveyed, outside: Outside) -> None:
    logger.warning(
        "the table of %s leads to files that are gone or damaged, such as %s: what these lead to"
        " nobody can read, so purges of other tables do not look for it",
        table.metadata_location,
        outside.unread[0],
    )
