"""Which tables refer to files that are not in their own places: other tables' files that they took
up, or what a table that was purged left for them. Those of all catalogs count.

Their metadata is read once: a table whose entry is the same refers to the same. So a purge costs
the tables that changed since the last one in this process, and the first one costs all of them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots
from headgate.catalog.purging import LiveJob
from headgate.catalog.territories import HAVE_CATALOGS, HAVE_PLACES
from headgate.errors import InvalidInput, ObjectNotFound, StorageAwaited
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import is_dropped
from headgate.kernel.records import PointerKey
from headgate.limits import PATHS_PER_TURN, REFERENCE_COMMITS_MAX
from headgate.model.locations import index_key
from headgate.purge.background_reading import LateTable
from headgate.purge.holdings import Places, Store
from headgate.purge.neighbours import Neighbours
from headgate.purge.outages import awaited, store_of
from headgate.purge.outsiders import Known, Outsider, all_tables, changes_between
from headgate.purge.reading_turns import Turns
from headgate.purge.surveyor import PassedOver, Referrer, Shared, Surveyed, not_known
from headgate.purge.table_reading import UNREAD_SECONDS, CatalogTables, Reading, TableReading
from headgate.workers.turns import Tenant

LOOKS_MAX = 10
"""At all catalogs in a row, as something changes all the time."""
MOMENT_SECONDS = 1.0
"""That the last of them takes: tables do not move on so soon."""
NEAR_LOOKS_MAX = 3
"""At the tables of a schema, as they change while they are waited for."""
PASSED_OVER_KNOWN_MAX = 10_000
"""Tables of which it was told that a purge passed them over."""

logger = logging.getLogger(__name__)


class Looking(Protocol):
    """Looks files up in tables; see `Surveyor`. What leads there is read below the roots."""

    async def shared(
        self,
        referrers: Sequence[Referrer],
        roots: Roots,
        paths: Sequence[str],
        tenant: Tenant = ...,
    ) -> Shared:
        """Those of these files that these tables refer to."""
        ...


class Surveying(Reading, Looking, Protocol):
    """Does both."""


class Lookups(NamedTuple):
    """What looks files up, in processes of its own: one lookup may take minutes."""

    of_purges: Looking
    of_enquiries: Looking


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
        self,
        kernel: Kernel,
        surveyor: Surveying,
        background: Reading | None = None,
        lookups: Lookups | None = None,
        *,
        across_catalogs: bool = True,
    ) -> None:
        """`background` reads tables that purges do not wait for. Without `across_catalogs` no table
        refers to files of another catalog."""
        self._kernel = kernel
        self._lookups = lookups or Lookups(surveyor, surveyor)
        self._reading = TableReading(
            kernel, surveyor, background or surveyor, lambda: (self._known, self._places)
        )
        self._told: set[PassedOver] = set()
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

        StorageUnavailable if a table of its schema cannot be read, and StorageAwaited while a store
        does not answer that did a short time ago. What else cannot be read of other schemas is
        passed over: no tenant holds up another. `is_lenient`: nor by changing all the time.
        """
        places = tuple(map(index_key, live.job.reserved))
        if anew:
            self._read_again(live, (await self._in_schema(live)).values())
        found, known, near = await self._with_near(live, anew=anew)
        touching = [one for one in found if one.outside.touches(places)]
        tables = tuple(self._referrers(touching, near, is_lenient=is_lenient))
        roots = known.with_those_of(one.table for one in tables) if tables else ()
        return Referring(tables, roots, is_lenient)

    async def shared(
        self, live: LiveJob, paths: Sequence[str], *, is_lenient: bool = False
    ) -> Shared:
        """Those of these files of a dropped table, outside of its places, that others refer to."""
        found, places, near = await self._with_near(live)
        lookup = partial(
            self._lookups.of_purges.shared, tenant=Tenant(live.realm, live.job.created_by)
        )
        return await self._shared(lookup, found, places, paths, near, is_lenient=is_lenient)

    def report(self, passed_over: Iterable[PassedOver]) -> None:
        """Tell the operator once of tables of which a child could not read all."""
        for one in passed_over:
            if one not in self._told:
                if len(self._told) >= PASSED_OVER_KNOWN_MAX:
                    self._told.clear()
                self._told.add(one)
                text = "a purge could not read all of the table of %s: %s"
                logger.warning(text, one.table, one.why)

    def awaited(self, table: str) -> StorageAwaited:
        """The error of a purge whose child could not read a table, given by its metadata file, as
        its storage did not answer."""
        self._reading.outages.failed(store_of(table))
        return awaited()

    async def close(self) -> None:
        """Stop reading in the background."""
        await self._reading.background.close()

    async def _with_near(
        self, live: LiveJob, *, anew: bool = False
    ) -> tuple[list[Outsider], Places, AbstractSet[Surveyed]]:
        """All tables that count for a dropped one, the places of all catalogs, and which of the
        tables are of its schema: these are waited for, however long they take.

        StorageUnavailable if it is not known what one of them refers to.
        """
        for number in range(NEAR_LOOKS_MAX):
            found, places = await self._outsiders(live.head, anew=anew and not number)
            near = await self._in_schema(live)
            known = self._known.get(live.head)
            late = set(near) & known.late if known else set()
            if not late:
                break
            await self._reading.background.wait(LateTable(live.head, object) for object in late)
        if not all(one.is_whole for one in near.values()):
            self._read_again(live, near.values())
            raise not_known()
        return found, places, {one.table for one in near.values()}

    async def _in_schema(self, live: LiveJob) -> dict[int, Outsider]:
        """The tables of the schema of a dropped one that refer to something outside."""
        known = self._known.get(live.head)
        return {} if known is None else await known.in_schema(live.job.table.namespace)

    def _read_again(self, live: LiveJob, tables: Iterable[Outsider]) -> None:
        """Let the next look read those of these tables that could not be read."""
        known = self._known.get(live.head)
        if known is not None:
            known.read_again(one.table for one in tables if not one.is_whole)

    async def elsewhere(
        self, own: PointerKey, paths: Sequence[str], principal: str, *, is_lenient: bool = False
    ) -> Shared:
        """Those of these files that other catalogs need than the one with this head: what lies in
        their places is theirs, needed or not. Principals take turns."""
        found, places = await self._outsiders(own, besides=True, anew=True)
        theirs: list[str] = []
        rest: list[str] = []
        for number, path in enumerate(paths, 1):
            (rest if places.holder(path) in {own, None} else theirs).append(path)
            if not number % PATHS_PER_TURN:
                await asyncio.sleep(0)  # others have their turn
        lookup = partial(self._lookups.of_enquiries.shared, tenant=Tenant(own.realm, principal))
        shared = await self._shared(lookup, found, places, rest, is_lenient=is_lenient)
        return msgspec.structs.replace(shared, paths=[*theirs, *shared.paths])

    def doubt(self, referrers: Sequence[Referrer]) -> None:
        """Read these tables once more, all of them."""
        for known in self._known.values():
            known.doubt(referrers)

    async def _shared(
        self,
        lookup: Callable[[Sequence[Referrer], Roots, Sequence[str]], Awaitable[Shared]],
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
        there = [one for one in others if one.outside.lies_in(folders)]
        found = self._referrers(there, near, is_lenient=is_lenient)
        if not found:
            return Shared()
        roots = places.with_those_of(one.table for one in found)
        shared = await lookup(found, roots, paths)
        self.report(shared.passed_over)
        if shared.away:
            raise self.awaited(shared.away)
        if shared.is_held_up:
            raise not_known()
        if shared.is_stale:
            self.doubt(found)
        return shared

    def _referrers(
        self, tables: Iterable[Outsider], near: AbstractSet[Surveyed], *, is_lenient: bool
    ) -> list[Referrer]:
        """Tables as a child is asked about them. Those of other schemas share a time, so the quick
        ones of each schema come first, and schemas take turns."""
        is_awaited = self._reading.outages.is_waited_for
        quick_first = sorted(tables, key=lambda one: one.outside.seconds)
        return [
            one.referrer(
                holds_up=one.table in near,
                is_checked=not is_lenient,
                is_awaited=is_awaited(store_of(one.table.metadata_location)),
            )
            for one in Turns((one.schema, one) for one in quick_first)
        ]

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
                    gaps = await self._reading.read(CatalogTables(key, known), head, places)
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
            changes = changes._replace(gone=there - changes.come.keys(), recalled=known.waiting)
        known.replace(changes)
        known.head = head


def _folder_of(path: str) -> bytes:
    try:
        return index_key(path.rstrip("/").rpartition("/")[0])
    except InvalidInput:  # no location at all: nothing of ours
        return b""
