"""Reads what tables of a catalog refer to: while purges wait, as long as the reading budget lasts,
and all else in the background."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.entities import TableEntity
from headgate.catalog.ports import Roots
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import (
    FETCH_IDS_MAX,
    PATHS_PER_TURN,
    READING_BRIEF_SECONDS,
    REFERENCE_PERIOD_SECONDS,
    REFERENCE_TABLE_SECONDS_MAX,
    REFERENCE_TABLES_AT_ONCE,
    REFERENCE_WAITING_SECONDS_MAX,
)
from headgate.model.locations import is_within
from headgate.purge.background_reading import BackgroundReading, LateTable
from headgate.purge.holdings import Places
from headgate.purge.outages import Outages, Store, awaited, store_of
from headgate.purge.outsiders import Known, Outsider
from headgate.purge.reading_budget import ReadingBudget, SchemaKey
from headgate.purge.reading_turns import Turns
from headgate.purge.surveyor import Outside, Surveyed

AWAY_PAUSES_SECONDS = (0.5, 2.0)
"""Before tables are read once more whose storage did not answer."""
UNREAD_SECONDS = 60.0
"""Then what was gone or damaged is looked for again: it may be restored."""
UNCLEAR_SECONDS = 3_600.0
"""The same for what cannot be read at all. A purge in the table's own schema reads it at once."""
COST_SECONDS_MIN = 1.0
"""A table that is read in less is quick in any process."""
COSTS_KNOWN_MAX = 10_000
SPENT = "the time is used up in which tables of its schema, catalog or metalake are waited for"

logger = logging.getLogger(__name__)


class Reading(Protocol):
    """Reads what tables refer to; see `Surveyor`."""

    async def survey(
        self, tables: Sequence[Surveyed], roots: Roots, seconds: float = ...
    ) -> list[Outside]:
        """What each of these tables refers to outside of its places, below these roots."""
        ...


class Asked(NamedTuple):
    """A table that is to be read."""

    object: int
    entity: TableEntity
    table: Surveyed


class CatalogTables(NamedTuple):
    """The tables of a catalog, and what is known of them."""

    key: PointerKey
    known: Known

    def schema_of(self, object: int) -> SchemaKey:
        """The schema of a table."""
        return SchemaKey(self.key.realm, self.key.name, self.known.schemas.get(object, 0))


class TableReading:
    """Reads tables, and lets `Known` learn what they refer to."""

    def __init__(
        self,
        kernel: Kernel,
        waiting: Reading,
        background: Reading,
        catalogs: Callable[[], tuple[Mapping[PointerKey, Known], Places]],
    ) -> None:
        """`waiting` reads while purges wait, `background` what takes longer, so neither waits for
        the other. `catalogs` tells what is known now."""
        self._kernel = kernel
        self._waiting = waiting
        self._slow = background
        self._catalogs = catalogs
        self._budget = ReadingBudget(kernel.clock)
        self.outages = Outages(kernel.clock)
        self._costs: dict[tuple[str, ...], float] = {}
        """Seconds that reading tables took, by their own places: these outlive commits."""
        self._told: dict[SchemaKey, float] = {}
        """When it was told of schemas that their time is used up."""
        self.background = BackgroundReading(self._read_late)

    async def read(self, catalog: CatalogTables, head: HeadView, places: Places) -> set[str]:
        """Read the tables that are not known, or leave them to the background; those of their files
        that are gone or damaged. Schemas take turns. StorageAwaited while a store is waited for."""
        gaps: set[str] = set()
        known = catalog.known
        objects = await _by_turns(list(known.unknown), catalog)
        for start in range(0, len(objects), FETCH_IDS_MAX):
            some = objects[start : start + FETCH_IDS_MAX]
            left = deque(await self._asked(known, head, some))
            while left:
                batch = self._next(left, catalog)
                if batch:
                    gaps |= await self._read_batch(batch, catalog, places)
        return gaps

    def _next(self, left: "deque[Asked]", catalog: CatalogTables) -> list[Asked]:
        """Take the next tables that are to be read now; those before them whose time is used up
        are left to the background."""
        batch: list[Asked] = []
        spent: dict[SchemaKey, list[Asked]] = {}
        while left and len(batch) < REFERENCE_TABLES_AT_ONCE:
            one = left.popleft()
            schema = catalog.schema_of(one.object)
            if self._budget.is_spent(schema):
                spent.setdefault(schema, []).append(one)
            else:
                batch.append(one)
        for schema, tables in spent.items():
            self._complain_of_spent(schema, tables[0].table)
            for one in tables:
                before = catalog.known.outsiders.get(one.object)
                outside = before.outside if before else Outside()
                spent_of = msgspec.structs.replace(outside, unclear=SPENT, is_late=True)
                self._postpone(one, catalog, spent_of)
        return batch

    async def _read_batch(
        self, batch: Sequence[Asked], catalog: CatalogTables, places: Places
    ) -> set[str]:
        """Read some tables while purges wait; those of their files that are gone or damaged.
        StorageAwaited if a store does not answer that is waited for."""
        clock, gaps = self._kernel.clock, set[str]()
        began = clock.seconds()
        roots = places.with_those_of(one.table for one in batch)
        is_short = self._budget.is_short(*catalog.key)
        seconds = READING_BRIEF_SECONDS if is_short else REFERENCE_WAITING_SECONDS_MAX
        found = await self._surveyed(self._waiting, batch, roots, seconds)
        ended = clock.seconds()
        is_awaited = self._note_stores(found)
        self._charge(batch, [outside for _, outside in found], catalog, ended - began)
        for one, (table, outside) in zip(batch, found, strict=True):
            gaps.update(outside.unread)
            if not _is_whole(outside) and one.object not in catalog.known.outsiders:
                _complain(table, outside)
            if outside.is_late:
                self._postpone(one, catalog, outside)
            else:
                is_due = is_awaited and outside.is_away
                until = ended if is_due else _again(outside, began, ended)
                outsider = Outsider(table, outside, until, catalog.schema_of(one.object))
                self._learn(catalog.known, one.object, outsider)
        if is_awaited:
            raise awaited()
        return gaps

    def _note_stores(self, found: Iterable[tuple[Surveyed, Outside]]) -> bool:
        """Remember which stores answered; whether one of the others is waited for."""
        answers: dict[Store, bool] = {}
        for table, outside in found:
            store = _store(table)
            answers[store] = answers.get(store, True) and not outside.is_away
        for store, is_there in answers.items():
            (self.outages.answered if is_there else self.outages.failed)(store)
        away = [store for store, is_there in answers.items() if not is_there]
        return any(map(self.outages.is_waited_for, away))

    def _charge(
        self,
        batch: Sequence[Asked],
        found: Sequence[Outside],
        catalog: CatalogTables,
        seconds: float,
    ) -> None:
        """Charge the time that reading a batch took to the schemas of its tables. Some are read
        side by side, so the sum of their times may be more."""
        waited = self.outages.is_waited_for
        total = sum(outside.seconds for outside in found)
        share = min(1.0, seconds / total) if total > 0 else 0.0
        for one, outside in zip(batch, found, strict=True):
            # A purge that waits for a store anyway is not delayed by its tables.
            if not (outside.is_away and waited(_store(one.table))):
                self._budget.charge(catalog.schema_of(one.object), outside.seconds * share)

    def _postpone(self, one: Asked, catalog: CatalogTables, outside: Outside) -> None:
        """Leave a table to the background; until then it counts as far as it was read."""
        schema = catalog.schema_of(one.object)
        outsider = Outsider(one.table, outside, float("inf"), schema)
        catalog.known.learn(one.object, outsider, is_late=True)
        self.background.add(schema, LateTable(catalog.key, one.object))

    async def _read_late(self, late: LateTable) -> None:
        """Read a table for as long as a table may take, unless its catalog has it no more."""
        while True:
            catalogs, places = self._catalogs()
            known = catalogs.get(late.head)
            if known is None or late.object not in known.late:
                return
            own, before = known.own, known.outsiders[late.object]
            is_doubted = late.object in known.doubted
            one = await self._read_slowly(known, late.object, before, places)
            if late.object in known.doubted and not is_doubted:
                continue  # what was remembered of its manifests counted in this reading
            if late.object in known.late and known.own == own:
                if not _is_whole(one.outside) and before.outside.unclear == SPENT:
                    _complain(one.table, one.outside)  # it was not named yet
                self._learn(known, late.object, one)

    async def _read_slowly(
        self, known: Known, object: int, before: Outsider, places: Places
    ) -> Outsider:
        """What a table refers to; whatever goes wrong is said of it."""
        began, table = self._kernel.clock.seconds(), before.table
        try:
            assert known.head is not None
            [one] = await self._asked(known, known.head, [object])
            roots = places.with_those_of([one.table])
            found = await self._surveyed(self._slow, [one], roots, REFERENCE_TABLE_SECONDS_MAX)
            self._note_stores(found)
            [(table, outside)] = found
        except Exception as error:  # noqa: BLE001  whatever it is, others are read
            why = f"{type(error).__name__}: {error}"
            outside = msgspec.structs.replace(before.outside, unclear=why)
        again = _again(outside, began, self._kernel.clock.seconds())
        return Outsider(table, outside, again, before.schema)

    def _learn(self, known: Known, object: int, one: Outsider) -> None:
        """Take over what a table refers to. What was remembered of its manifests took no time, but
        does in another process: so the longest of all its readings counts."""
        key = one.table.own or (one.table.metadata_location,)
        seconds = max(one.outside.seconds, self._costs.pop(key, 0.0))
        if seconds > COST_SECONDS_MIN:
            if len(self._costs) >= COSTS_KNOWN_MAX:
                del self._costs[next(iter(self._costs))]
            self._costs[key] = seconds
        table = msgspec.structs.replace(one.table, is_doubted=False)
        outside = msgspec.structs.replace(one.outside, seconds=seconds)
        known.learn(object, one._replace(table=table, outside=outside))

    def _complain_of_spent(self, schema: SchemaKey, first: Surveyed) -> None:
        """Tell the operator once in a period: a schema may have very many tables."""
        now = self._kernel.clock.seconds()
        if now - self._told.get(schema, float("-inf")) < REFERENCE_PERIOD_SECONDS:
            return
        self._told = {
            key: at for key, at in self._told.items() if now - at < REFERENCE_PERIOD_SECONDS
        }
        self._told[schema] = now
        logger.warning(
            "tables of the schema of %s are read in the background, as %s; until then they keep no"
            " files of other schemas",
            first.metadata_location,
            SPENT,
        )

    async def _surveyed(
        self, reading: Reading, batch: Sequence[Asked], roots: Roots, seconds: float
    ) -> list[tuple[Surveyed, Outside]]:
        """Tables, with what they refer to. Where the database has what a metadata file said,
        clients are served from there: it counts also if the file is gone or damaged."""
        asked = [one.table for one in batch]
        outside = await self._patiently(reading, asked, roots, seconds)
        found = list(zip(asked, outside, strict=True))
        told: dict[int, Surveyed] = {}
        for number, (table, outside_of) in enumerate(found):
            metadata = batch[number].entity.metadata
            if metadata and table.metadata_location in outside_of.unread:
                told[number] = msgspec.structs.replace(table, metadata=metadata)
        if told:
            anew = await reading.survey([*told.values()], roots, seconds)
            for number, again in zip(told, anew, strict=True):
                took = found[number][1].seconds + again.seconds
                found[number] = told[number], msgspec.structs.replace(again, seconds=took)
        return found

    async def _patiently(
        self, reading: Reading, asked: Sequence[Surveyed], roots: Roots, seconds: float
    ) -> list[Outside]:
        """What these tables refer to. A storage that did answer before and does not now is asked a
        few times."""
        found = await reading.survey(asked, roots, seconds)
        failing = {store for store in map(_store, asked) if self.outages.is_failing(store)}
        for pause in AWAY_PAUSES_SECONDS:
            away = [
                number
                for number, (table, one) in enumerate(zip(asked, found, strict=True))
                if one.is_away and _store(table) not in failing
            ]
            if not away:
                break
            await self._kernel.clock.sleep(pause)
            anew = await reading.survey([asked[number] for number in away], roots, seconds)
            for number, outside in zip(away, anew, strict=True):
                took = found[number].seconds + outside.seconds
                found[number] = msgspec.structs.replace(outside, seconds=took)
        return found

    async def _asked(self, known: Known, head: HeadView, objects: Sequence[int]) -> list[Asked]:
        """What these tables are; nothing is pushed out of the cache for what is not used again."""
        store = self._kernel.store
        uncached = [object for object in objects if store.find(head.realm, object) is None]
        entities = await head.get_all(objects, TableEntity)
        store.forget(head.realm, uncached)
        return [
            Asked(object, entity, _surveyed(entity, known.own, is_doubted=object in known.doubted))
            for object, entity in zip(objects, entities, strict=True)
        ]


async def _by_turns(objects: Sequence[int], catalog: CatalogTables) -> list[int]:
    """Objects of tables in an order in which schemas take turns."""
    turns: Turns[int] = Turns()
    for number, object in enumerate(objects, 1):
        turns.add([catalog.schema_of(object).schema], object)
        if not number % PATHS_PER_TURN:
            await asyncio.sleep(0)
    found: list[int] = []
    for object in turns:
        found.append(object)
        if not len(found) % PATHS_PER_TURN:
            await asyncio.sleep(0)
    return found


def _store(table: Surveyed) -> Store:
    return store_of(table.metadata_location)


def _is_whole(outside: Outside) -> bool:
    return not (outside.unread or outside.unclear)


def _surveyed(table: TableEntity, own: Roots, *, is_doubted: bool) -> Surveyed:
    """A table that is to be read, of a catalog that has these places."""
    held = tuple(one for one in table.reserved if any(is_within(one, root) for root in own))
    lost = tuple(one for one in table.reserved if one not in held)
    return Surveyed(table.metadata_location, held, is_doubted, lost=lost)


def _again(outside: Outside, began: float, ended: float) -> float:
    """When a table is read once more, of which not all is known: what is missing may be back since
    its reading began; what cannot be read took its time."""
    if _is_whole(outside):
        return float("inf")
    if not outside.unclear:
        return began + UNREAD_SECONDS
    return ended + (2 * UNREAD_SECONDS if outside.is_away else UNCLEAR_SECONDS)


def _complain(table: Surveyed, outside: Outside) -> None:
    """Tell the operator, and no other reader: the table may be of any tenant."""
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
        " cannot be read, so purges of other tables do not look for it",
        table.metadata_location,
        outside.unread[0],
    )
