"""Metrics reports of clients: what their scans and commits cost. Kept per table, newest first.

Reports come with every scan, so they are gathered and stored a second's worth at a time, under a
pointer of their own: they never hold up a commit. A server that stops in order stores them all;
one that is killed loses those of its last second.
They go with their table. If the server dies in the second after a drop they stay, up to
`REPORTS_PER_TABLE_MAX` of them, and nobody can reach them.
"""

import asyncio
import logging
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from headgate.catalog.entities import Kind, ReportEntity
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.catalog.relations import Relation, see_relation
from headgate.errors import HeadgateError, PointerNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import after_prefix, look
from headgate.limits import (
    REPORTS_FLUSH_SECONDS,
    REPORTS_PER_TABLE_MAX,
    REPORTS_WAITING_BYTES_MAX,
    REPORTS_WAITING_MAX,
)
from headgate.model.names import Identifier

REPORTS = "reports"
_ID_BYTES = 8

logger = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    realm: RealmHandle
    pointer: str
    table: int
    report: ReportEntity | None  # None: the table was dropped

    @property
    def bytes(self) -> int:
        """About how much memory it takes, without what all of them take."""
        return len(self.report.report) if self.report else 0


class Reports:
    """Gathers reports and stores them."""

    def __init__(self, lake: Lake, *, stored: bool = True) -> None:
        self._lake = lake
        self._stored = stored
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._later: asyncio.Task[None] | None = None
        self._flushes: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    async def add(self, opened: Opened, identifier: Identifier, report: bytes) -> None:
        """Take a report about a table, which must exist."""
        table = await see_relation(opened, identifier, Kind.TABLE)
        entity = ReportEntity(table.entry.id, self._lake.now_ms(), opened.call.principal, report)
        self._gather(opened, table.entry.id, entity)

    def forget(self, opened: Opened, table: int) -> None:
        """Let the reports about a table go that was dropped."""
        self._gather(opened, table, None)

    async def list(self, opened: Opened, identifier: Identifier) -> list[ReportEntity]:
        """The reports about a table, newest first."""
        await self.flush()
        table = await see_relation(opened, identifier, Kind.TABLE)
        return await _stored(table)

    async def flush(self) -> None:
        """Store what was gathered, after what is being stored. Who goes away stops nothing."""
        flush = asyncio.create_task(self._flush())
        self._flushes.add(flush)
        flush.add_done_callback(self._flushes.discard)
        await asyncio.shield(flush)

    async def close(self) -> None:
        """Store what was gathered, and stop."""
        if self._later is not None:
            self._later.cancel()
        await self.flush()

    def _gather(self, opened: Opened, table: int, report: ReportEntity | None) -> None:
        if not self._stored:
            return
        pointer = reports_pointer(opened.catalog.id)
        waiting = _Waiting(opened.realm, pointer, table, report)
        self._waiting.append(waiting)
        self._waiting_bytes += waiting.bytes
        while (
            len(self._waiting) > REPORTS_WAITING_MAX
            or self._waiting_bytes > REPORTS_WAITING_BYTES_MAX
        ):
            self._next()
        if self._later is None or self._later.done():
            self._later = asyncio.create_task(self._flush_later())

    def _next(self) -> _Waiting:
        waiting = self._waiting.popleft()
        self._waiting_bytes -= waiting.bytes
        return waiting

    async def _flush_later(self) -> None:
        while self._waiting:  # more may come while some are stored
            await self._lake.kernel.clock.sleep(REPORTS_FLUSH_SECONDS)
            await self.flush()

    async def _flush(self) -> None:
        async with self._one_at_a_time:
            gathered: dict[tuple[RealmHandle, str], list[_Waiting]] = {}
            while self._waiting:
                waiting = self._next()
                gathered.setdefault((waiting.realm, waiting.pointer), []).append(waiting)
            for (realm, pointer), changes in gathered.items():
                try:
                    await _keep(realm, pointer, changes)
                except HeadgateError as error:  # those of other catalogs are not lost with these
                    logger.warning("%d metrics reports were not stored: %s", len(changes), error)


def reports_pointer(catalog: int) -> str:
    """The pointer of all reports about tables of a catalog."""
    return f"cat/{catalog}/reports"


async def _stored(table: Relation) -> list[ReportEntity]:
    pointer = reports_pointer(table.opened.catalog.id)
    try:
        [head] = await table.opened.realm.heads(pointer)
    except PointerNotFound:
        return []  # there never was one
    prefix = table.entry.id.to_bytes(_ID_BYTES, "big")
    ids = await look(
        head.index(REPORTS),
        lambda tree: [
            int.from_bytes(key[_ID_BYTES:], "big")
            for key, _ in tree.scan(prefix, after_prefix(prefix))
        ],
    )
    return [await head.get(id, ReportEntity) for id in reversed(ids)]


async def _keep(realm: RealmHandle, pointer: str, changes: list[_Waiting]) -> None:
    """Store what was gathered for one catalog, in one commit."""
    gone = {table for _, _, table, report in changes if report is None}
    reports = [report for *_, report in changes if report and report.table not in gone]
    if reports:
        await realm.create_pointers([pointer])
    with suppress(PointerNotFound):  # there is nothing to forget
        await realm.commit(pointer, partial(_store, reports=_newest(reports), gone=gone))


def _newest(reports: list[ReportEntity]) -> list[ReportEntity]:
    """Without those that would be dropped as soon as they are stored."""
    count: Counter[int] = Counter()
    kept = []
    for report in reversed(reports):
        count[report.table] += 1
        if count[report.table] <= REPORTS_PER_TABLE_MAX:
            kept.append(report)
    return kept[::-1]


def _store(draft: Draft, reports: list[ReportEntity], gone: set[int]) -> None:
    """Add reports, and drop the oldest of tables that have many, and all of those that are gone."""
    index = draft.index(REPORTS)
    for report in reports:
        id = draft.stage(report)
        index.put(report.table.to_bytes(_ID_BYTES, "big") + id.to_bytes(_ID_BYTES, "big"), b"")
    for table in gone | {report.table for report in reports}:
        keys = [key for key, _ in index.prefix(table.to_bytes(_ID_BYTES, "big"))]
        kept = 0 if table in gone else REPORTS_PER_TABLE_MAX
        for key in keys[: max(len(keys) - kept, 0)]:
            index.remove(key)
            draft.discard(int.from_bytes(key[_ID_BYTES:], "big"))
