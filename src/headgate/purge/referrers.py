"""Which tables of a catalog refer to files that are not in their own places: other tables' files
that they took up, or what a table that was purged left for them.

Their metadata is read once: a table whose entry is the same refers to the same. So a purge costs
the tables that changed since the last one in this process, and the first one costs all of them.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.entities import Kind, TableEntity, decode_entry
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots
from headgate.catalog.purging import PURGE, LiveJob, can_come_back, decode_job, is_job
from headgate.catalog.stored_names import NAMES
from headgate.catalog.walks import unhurried
from headgate.errors import InvalidInput, ObjectNotFound
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import (
    FETCH_IDS_MAX,
    REFERENCE_CATALOGS_KNOWN_MAX,
    REFERENCE_COMMITS_MAX,
)
from headgate.model.locations import index_key
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed

UNREAD_SECONDS = 60.0
"""Then what was gone or damaged is looked for again: somebody may have restored it."""

logger = logging.getLogger(__name__)


class Surveying(Protocol):
    """Reads what tables refer to; see `Surveyor`."""

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


class Catalog:
    """What is known of the tables of a catalog, by the objects of their entries."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
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
        self.learning = asyncio.Lock()

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

    def forget_unread(self, now: float) -> None:
        """Those that are to be read once more are not known."""
        self.unknown |= {object for object, one in self.outsiders.items() if one.again <= now}

    def doubt(self, referrers: Iterable[Referrer]) -> None:
        """These tables do not refer to what they did, although they are the same: their files were
        changed behind our back."""
        tables = {one.table for one in referrers}
        doubted = {object for object, one in self.outsiders.items() if one.table in tables}
        self.doubted |= doubted
        self.unknown |= doubted


class Referrers:
    """The tables of all catalogs that refer to files outside of their places."""

    def __init__(self, kernel: Kernel, surveyor: Surveying) -> None:
        self._kernel = kernel
        self._surveyor = surveyor
        self._catalogs: OrderedDict[int, Catalog] = OrderedDict()

    async def to_places(self, live: LiveJob) -> tuple[Referrer, ...]:
        """Those that may refer to files in the places of a dropped table."""
        places = tuple(map(index_key, live.job.reserved))
        found = await self._outsiders(live)
        return tuple(one.referrer for one in found if one.outside.touches(places))

    async def shared(self, live: LiveJob, paths: Sequence[str]) -> Shared:
        """Those of these files of a dropped table, outside of its places, that others refer to."""
        folders = set(map(_folder_of, paths))
        outsiders = await self._outsiders(live)
        found = [one.referrer for one in outsiders if one.outside.lies_in(folders)]
        if not found:
            return Shared()
        shared = await self._surveyor.shared(found, live.roots, paths)
        if shared.is_stale:
            self.doubt(live, found)
        return shared

    def doubt(self, live: LiveJob, referrers: Iterable[Referrer]) -> None:
        """Read these tables of a job's catalog once more, all of them."""
        self._catalog(live).doubt(referrers)

    async def _outsiders(self, live: LiveJob) -> list[Outsider]:
        """All of a catalog as it is now. Of one that is dropped nothing comes back."""
        catalog = self._catalog(live)
        gone: set[str] = set()
        async with catalog.learning:
            while True:
                head = await self._head(live)
                if head.head.sealed:
                    return []
                try:
                    await self._compare(catalog, head)
                    gaps = await self._read(catalog, head, live)
                except ObjectNotFound:  # of a state that is not the present one any more
                    if (await self._head(live)).id == head.id:
                        raise
                    continue
                # A table that changed may have moved what it was missing, unless it led there
                # after that was gone.
                if gaps <= gone or (await self._head(live)).id == head.id:
                    return [one for one in catalog.outsiders.values() if not one.outside.is_nothing]
                gone |= gaps

    def _catalog(self, live: LiveJob) -> Catalog:
        known = self._catalogs.get(live.catalog)
        if known is None or known.roots != live.roots:
            known = self._catalogs[live.catalog] = Catalog(live.roots)
        self._catalogs.move_to_end(live.catalog)
        while len(self._catalogs) > REFERENCE_CATALOGS_KNOWN_MAX:
            self._catalogs.popitem(last=False)
        return known

    async def _head(self, live: LiveJob) -> HeadView:
        key = PointerKey(live.realm, head_pointer(live.catalog))
        [value] = await self._kernel.pointers.read([key])
        return await open_head(self._kernel.store, live.realm, value)

    async def _compare(self, catalog: Catalog, head: HeadView) -> None:
        """Find out which tables came, changed and went."""
        catalog.forget_unread(self._kernel.clock.seconds())
        before = catalog.head
        if before is not None and before.id == head.id:
            return
        changes = None
        if before is not None and head.head.seq - before.head.seq <= REFERENCE_COMMITS_MAX:
            with suppress(ObjectNotFound):  # pages of the head before are gone
                changes = await _changes(before, head)
        if changes is None:
            changes = await _all(head)
            there = {*catalog.plain, *catalog.outsiders, *catalog.unknown}
            changes = changes._replace(gone=there - changes.come, recalled=catalog.waiting)
        catalog.replace(changes)
        catalog.head = head

    async def _read(self, catalog: Catalog, head: HeadView, live: LiveJob) -> set[str]:
        """Read the tables that are not known; those of their files that are gone or damaged."""
        gaps: set[str] = set()
        objects = list(catalog.unknown)  # in no order: a million would hold up the loop
        for start in range(0, len(objects), FETCH_IDS_MAX):
            some = objects[start : start + FETCH_IDS_MAX]
            entities = await self._entities(head, some)
            asked = [
                Surveyed(one.metadata_location, one.reserved, object in catalog.doubted)
                for object, one in zip(some, entities, strict=True)
            ]
            found = await self._surveyed(entities, asked, live.roots)
            again = self._kernel.clock.seconds() + UNREAD_SECONDS
            for object, (table, outside) in zip(some, found, strict=True):
                gaps.update(outside.unread)
                if outside.unread and object not in catalog.outsiders:
                    _complain(table, outside)
                until = again if outside.unread else float("inf")
                known = msgspec.structs.replace(table, is_doubted=False)
                catalog.learn(object, Outsider(known, outside, until))
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
