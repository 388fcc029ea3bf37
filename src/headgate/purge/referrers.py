"""Which tables refer to files that are not in their own places: other tables' files that they took
up, or what a table that was purged left for them. Those of all catalogs count.

Their metadata is read once: a table whose entry is the same refers to the same. So a purge costs
the tables that changed since the last one in this process, and the first one costs all of them.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.entities import TableEntity
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots
from headgate.catalog.purging import LiveJob
from headgate.catalog.territories import HAVE_CATALOGS, HAVE_PLACES
from headgate.errors import InvalidInput, ObjectNotFound
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import is_dropped
from headgate.kernel.records import PointerKey
from headgate.limits import FETCH_IDS_MAX, PATHS_PER_TURN, REFERENCE_COMMITS_MAX
from headgate.model.locations import index_key, is_within
from headgate.purge.holdings import Places, Store
from headgate.purge.neighbours import Neighbours
from headgate.purge.outsiders import Known, Outsider, all_tables, changes_between
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed, not_known

LOOKS_MAX = 10
"""At all catalogs in a row, as something changes all the time."""
MOMENT_SECONDS = 1.0
"""That the last of them takes: tables do not move on so soon."""
AWAY_PAUSES_SECONDS = (0.5, 2.0)
"""Before tables are read once more whose storage did not answer."""
UNREAD_SECONDS = 60.0
"""Then what was gone or damaged is looked for again: somebody may have restored it."""
UNCLEAR_SECONDS = 3_600.0
"""The same for what cannot be read at all: it may take minutes, and holds up those who wait. A
purge in the table's own schema reads it at once."""

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


class Referring(NamedTuple):
    """Tables that refer to some files outside of their places."""

    tables: tuple[Referrer, ...] = ()
    roots: Roots = ()
    """Below which lies what leads to these files."""
    is_lenient: bool = False
    """Tables of other schemas may be other than they were."""


NOBODY = Referring()


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
        self._placed: dict[PointerKey, Roots] = {}
        self._places = Places({})

    async def to_places(
        self, live: LiveJob, *, anew: bool = False, is_lenient: bool = False
    ) -> Referring:
        """Those that may refer to files in the places of a dropped table. `anew` reads what could
        not be read, however short ago that was; who asks meanwhile takes that over.

        StorageUnavailable if a table of its schema cannot be read. What cannot be read of others
        is passed over: no tenant holds up another. `is_lenient`: nor by changing all the time.
        """
        places = tuple(map(index_key, live.job.reserved))
        if anew:
            self._read_again(live, await self._in_schema(live))
        found, known = await self._outsiders(live.head, anew=anew)
        near = await self._near(live)
        tables = tuple(
            one.referrer(holds_up=one.table in near, is_checked=not is_lenient)
            for one in found
            if one.outside.touches(places)
        )
        roots = known.with_those_of(one.table for one in tables) if tables else ()
        return Referring(tables, roots, is_lenient)

    async def shared(
        self, live: LiveJob, paths: Sequence[str], *, is_lenient: bool = False
    ) -> Shared:
        """Those of these files of a dropped table, outside of its places, that others refer to."""
        found, places = await self._outsiders(live.head)
        near = await self._near(live)
        return await self._shared(found, places, paths, near, is_lenient=is_lenient)

    async def _near(self, live: LiveJob) -> set[Surveyed]:
        """The tables of the schema of a dropped one that refer to something outside;
        StorageUnavailable if it is not known to what."""
        found = await self._in_schema(live)
        for one in found:
            if not one.is_whole:
                self._read_again(live, found)
                raise not_known(one.table, one.outside.unclear)
        return {one.table for one in found}

    async def _in_schema(self, live: LiveJob) -> list[Outsider]:
        known = self._known.get(live.head)
        return [] if known is None else await known.in_schema(live.job.table.namespace)

    def _read_again(self, live: LiveJob, tables: Iterable[Outsider]) -> None:
        """Let the next look read those of these tables that could not be read."""
        known = self._known.get(live.head)
        if known is not None:
            known.read_again(one.table for one in tables if not one.is_whole)

    async def elsewhere(
        self, own: PointerKey, paths: Sequence[str], *, is_lenient: bool = False
    ) -> Shared:
        """Those of these files that other catalogs need than the one with this head: what lies in
        their places is theirs, needed or not."""
        found, places = await self._outsiders(own, besides=True, anew=True)
        theirs: list[str] = []
        rest: list[str] = []
        for number, path in enumerate(paths, 1):
            (rest if places.holder(path) in {own, None} else theirs).append(path)
            if not number % PATHS_PER_TURN:
                await asyncio.sleep(0)  # others have their turn
        shared = await self._shared(found, places, rest, is_lenient=is_lenient)
        return msgspec.structs.replace(shared, paths=[*theirs, *shared.paths])

    def doubt(self, referrers: Sequence[Referrer]) -> None:
        """Read these tables once more, all of them."""
        for known in self._known.values():
            known.doubt(referrers)

    async def _shared(
        self,
        outsiders: Iterable[Outsider],
        places: Places,
        paths: Sequence[str],
        near: AbstractSet[Surveyed] = frozenset(),
        *,
        is_lenient: bool,
    ) -> Shared:
        others = list(outsiders)
        folders: set[bytes] = set()
        for start in range(0, len(paths) if others else 0, PATHS_PER_TURN):
            folders.update(map(_folder_of, paths[start : start + PATHS_PER_TURN]))
            await asyncio.sleep(0)  # others have their turn
        found = [
            one.referrer(holds_up=one.table in near, is_checked=not is_lenient)
            for one in others
            if one.outside.lies_in(folders)
        ]
        if not found:
            return Shared()
        roots = places.with_those_of(one.table for one in found)
        shared = await self._surveyor.shared(found, roots, paths)
        if shared.is_stale:
            self.doubt(found)
        return shared

    async def _outsiders(
        self, own: PointerKey, *, besides: bool = False, anew: bool = False
    ) -> tuple[list[Outsider], Places]:
        """All tables that count for a catalog, as they are now, and the places of all catalogs;
        `besides`: without its own.

        Tables move from one catalog to another while the catalogs are read one by one, so what
        changed is looked at once more, until that is a matter of a moment; and what went meanwhile
        counts.
        """
        clock = self._kernel.clock
        found: dict[tuple[str, ...], Outsider] = {}
        for number in range(LOOKS_MAX):
            began = clock.seconds()
            store = await self._store()
            wanted = [
                key for key in store.heads if (not besides if key == own else self._across_catalogs)
            ]
            now = began + UNREAD_SECONDS if anew and not number else began
            moved = [key for key in wanted if not store.is_known(key, now)]
            for key in moved:
                await self._learn_live(key, store, now)
            for one in (one for key in wanted for one in store.known[key].referring):
                found[one.table.own or (one.table.metadata_location,)] = one
            if not moved or (number and clock.seconds() - began < MOMENT_SECONDS):
                break
        return list(found.values()), store.places

    async def _store(self) -> Store:
        """All catalogs that have places, and those of which tables may be live some day: nothing of
        a metalake comes back that is dropped."""
        scanned = await self._neighbours.heads()
        heads: dict[PointerKey, int] = {}
        places: dict[PointerKey, Roots] = {}
        for realm in await self._kernel.realms.list():
            if realm.state not in HAVE_PLACES or realm.id not in scanned:
                continue
            catalogs, of_catalogs = scanned[realm.id]
            with suppress(ObjectNotFound):  # it is purged at this moment, or not whole yet
                for id, place in (await self._neighbours.places(realm.id, catalogs)).items():
                    places[PointerKey(realm.id, head_pointer(id))] = place.roots
            if not is_dropped(realm):
                for id, head in of_catalogs.items():
                    heads[PointerKey(realm.id, head_pointer(id))] = head
        if places != self._placed:
            self._placed, self._places = places, Places(places)
        self._known = {key: self._known.get(key) or Known() for key in heads}
        return Store(heads, self._known, self._places)

    async def _learn_live(self, key: PointerKey, store: Store, now: float) -> None:
        """Find out all of a catalog, unless its metalake is purged at this moment, or not whole
        yet."""
        try:
            await self._learn(key, store.known[key], store.places, now)
        except ObjectNotFound:
            realms = {realm.id: realm for realm in await self._kernel.realms.list()}
            realm = realms.get(key.realm)
            if realm is not None and realm.state in HAVE_CATALOGS and not is_dropped(realm):
                raise

    async def _learn(self, key: PointerKey, known: Known, places: Places, now: float) -> None:
        """Find out all of a catalog as it is now. Of one that is dropped nothing comes back."""
        gone: set[str] = set()
        own = places.of_catalogs.get(key, ())
        async with known.learning:
            while True:
                head = await self._head(key)
                try:
                    known.forget_unread(own, places.roots, now)
                    await self._compare(known, head)
                    gaps = await self._read(known, head, places)
                except ObjectNotFound:  # of a state that is not the present one any more
                    if (await self._head(key)).id == head.id:
                        raise
                    continue
                # A table that changed may have moved what it was missing, unless it led there
                # after that was gone.
                if gaps <= gone or (await self._head(key)).id == head.id:
                    known.settled = head.id
                    return
                gone |= gaps

    async def _head(self, key: PointerKey) -> HeadView:
        [value] = await self._kernel.pointers.read([key])
        return await open_head(self._kernel.store, key.realm, value)

    async def _compare(self, known: Known, head: HeadView) -> None:
        """Find out which tables came, changed and went."""
        before = known.head
        if before is not None and before.id == head.id:
            return
        if head.head.sealed:
            known.forget()
            return
        changes = None
        if before is not None and head.head.seq - before.head.seq <= REFERENCE_COMMITS_MAX:
            with suppress(ObjectNotFound):  # pages of the head before are gone
                changes = await changes_between(before, head)
        if changes is None:
            changes = await all_tables(head)
            there = {*known.plain, *known.outsiders, *known.unknown}
            changes = changes._replace(gone=there - changes.come, recalled=known.waiting)
        known.replace(changes)
        known.head = head

    async def _read(self, known: Known, head: HeadView, places: Places) -> set[str]:
        """Read the tables that are not known; those of their files that are gone or damaged."""
        gaps: set[str] = set()
        objects = list(known.unknown)  # in no order: a million would hold up the loop
        for start in range(0, len(objects), FETCH_IDS_MAX):
            some = objects[start : start + FETCH_IDS_MAX]
            entities = await self._entities(head, some)
            asked = [
                _surveyed(one, known.own, is_doubted=object in known.doubted)
                for object, one in zip(some, entities, strict=True)
            ]
            began = self._kernel.clock.seconds()
            found = await self._surveyed(entities, asked, places.with_those_of(asked))
            ended = self._kernel.clock.seconds()
            for object, (table, outside) in zip(some, found, strict=True):
                gaps.update(outside.unread)
                is_whole = not (outside.unread or outside.unclear)
                if not is_whole and object not in known.outsiders:
                    _complain(table, outside)
                until = float("inf") if is_whole else _again(outside, began, ended)
                sure = msgspec.structs.replace(table, is_doubted=False)
                known.learn(object, Outsider(sure, outside, until))
        return gaps

    async def _surveyed(
        self, entities: Sequence[TableEntity], asked: Sequence[Surveyed], roots: Roots
    ) -> list[tuple[Surveyed, Outside]]:
        """Tables, with what they refer to. Where the database has what a metadata file said,
        clients are served from there: it counts also if the file is gone or damaged."""
        found = list(zip(asked, await self._patiently(asked, roots), strict=True))
        told: dict[int, Surveyed] = {}
        for number, (table, outside) in enumerate(found):
            known = entities[number].metadata
            if known and table.metadata_location in outside.unread:
                told[number] = msgspec.structs.replace(table, metadata=known)
        if told:
            anew = await self._surveyor.survey([*told.values()], roots)
            for number, outside in zip(told, anew, strict=True):
                found[number] = told[number], outside
        return found

    async def _patiently(self, asked: Sequence[Surveyed], roots: Roots) -> list[Outside]:
        """What these tables refer to. A storage that does not answer is asked a few times: after
        that, what cannot be read there is passed over."""
        found = await self._surveyor.survey(asked, roots)
        for pause in AWAY_PAUSES_SECONDS:
            away = [number for number, one in enumerate(found) if one.is_away]
            if not away:
                break
            await self._kernel.clock.sleep(pause)
            anew = await self._surveyor.survey([asked[number] for number in away], roots)
            for number, outside in zip(away, anew, strict=True):
                found[number] = outside
        return found

    async def _entities(self, head: HeadView, objects: Sequence[int]) -> list[TableEntity]:
        """What these tables are; nothing is pushed out of the cache for what nobody else asks."""
        store = self._kernel.store
        uncached = [object for object in objects if store.find(head.realm, object) is None]
        entities = await head.get_all(objects, TableEntity)
        store.forget(head.realm, uncached)
        return entities


def _surveyed(table: TableEntity, own: Roots, *, is_doubted: bool) -> Surveyed:
    """A table that is to be read, of a catalog that has these places."""
    held = tuple(one for one in table.reserved if any(is_within(one, root) for root in own))
    lost = tuple(one for one in table.reserved if one not in held)
    return Surveyed(table.metadata_location, held, is_doubted, lost=lost)


def _folder_of(path: str) -> bytes:
    try:
        return index_key(path.rstrip("/").rpartition("/")[0])
    except InvalidInput:  # no location at all: nothing of ours
        return b""


def _again(outside: Outside, began: float, ended: float) -> float:
    """When a table is read once more, of which not all is known: what is missing may be back since
    its reading began; what cannot be read took its time, and holds up nobody."""
    if not outside.unclear:
        return began + UNREAD_SECONDS
    return ended + (2 * UNREAD_SECONDS if outside.is_away else UNCLEAR_SECONDS)


def _complain(table: Surveyed, outside: Outside) -> None:
    """Tell the operator, and nobody else: the table may be of any tenant."""
    if outside.unclear:
        logger.warning(
            "it is not known which files the table of %s refers to: %s; purges of its own schema"
            " wait for it, those of others do not",
            table.metadata_location,
            outside.unclear,
        )
        return
    logger.warning(
        "the table of %s leads to files that are gone or damaged, such as %s: what these lead to"
        " nobody can read, so purges of other tables do not look for it",
        table.metadata_location,
        outside.unread[0],
    )
