"""The change log as rows of a table: each record once, and where some are gone, a row that says so.

What this pipeline does is in the log too. A run reads as far as the log went when it began, and one
that finds nothing but the traces of earlier runs leaves them for the next time: on a lake where
nothing happens, nothing is written.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from headgate.errors import BadRequest, HeadgateError, LogCut
from headgate.pipelines.appends import Column, OnceTable, Reached
from headgate.pipelines.server import Server

PATH = "/management/v1/changes"
OLDEST, NOW = "oldest", "now"
PAGE = 1_000  # records; the server gives no more at once
CURSOR_CHARS_MAX = 2_000  # in an address; longer ones are sent in a body
GAP, LOG = "gap", "log"
LOST = "the position of the change log was lost with its snapshot: all that is kept was compared"
UNSURE = "the position was lost, and the oldest records that are kept were never read before"

COLUMNS = (
    Column("time", "TIMESTAMP", "when it was done, by the clock of the server"),
    Column("metalake", "STRING", "where"),
    Column("catalog", "STRING", "in which catalog; empty for what is in none"),
    Column("operation", "STRING", "create, alter, rename, drop, grant and so on, or gap"),
    Column("kind", "STRING", "of what it was done to: table, view, namespace, role and so on"),
    Column("name", "STRING", "of what it was done to, its levels joined by dots"),
    Column("levels", "ARRAY<STRING>", "the same name, level by level"),
    Column("new_name", "STRING", "of a rename"),
    Column("new_levels", "ARRAY<STRING>", "the same name, level by level"),
    Column("actor", "STRING", "who did it"),
    Column("details", "STRING", "what else is known, as JSON"),
    Column("commit_id", "BIGINT", "of the commit; all operations of a transaction have the same"),
    Column("position", "STRING", "names this record and no other"),
)


class Change(msgspec.Struct, frozen=True, rename="kebab"):
    """A record as the server gives it."""

    position: str
    commit: str
    time_ms: int
    do: str
    kind: str
    name: tuple[str, ...]
    metalake: str = ""
    catalog: str = ""
    to: tuple[str, ...] = ()
    by: str = ""
    details: dict[str, Any] = {}


class Page(msgspec.Struct, frozen=True):
    """Some records, and where to go on."""

    changes: list[Change]
    next: str
    more: bool


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far the log was read."""

    cursor: str = OLDEST
    again: bool = False
    """Records behind the cursor may be in the table already."""


class Batch(NamedTuple):
    """What is written at once."""

    changes: Sequence[Change]
    reached: Position
    more: bool
    gap: str = ""
    """Why some records are missing before these."""


class ChangesDone(msgspec.Struct):
    """What was made of a log."""

    records: int = 0
    commits: int = 0
    gaps: list[str] = []
    notes: list[str] = []


class ChangeReader:
    """Reads the log of a metalake, as far as it goes when the reader is made."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._present = self._page(NOW, 1).next
        self._later_ms: int | None = None
        """When the first was done that is not read any more, as soon as there is one."""

    def batch(self, position: Position, size: int) -> Batch:
        """About so many records behind a position; all that is kept if some of them are gone."""
        gap = ""
        try:
            page = self._page(position.cursor, min(size, PAGE))
        except (LogCut, BadRequest) as error:
            if position.cursor == OLDEST:
                raise  # it is being cut at this moment
            gap, position = _gap(error), Position(again=True)
            page = self._page(OLDEST, min(size, PAGE))
        changes = list(page.changes)
        while page.more and len(changes) < size:
            try:
                page = self._page(page.next, min(size - len(changes), PAGE))
            except LogCut:
                break  # what was read is written; the next batch meets the gap
            changes += page.changes
        more = page.more and not self._are_later(page.changes)
        return Batch(changes, Position(page.next, position.again and page.more), more, gap)

    def _are_later(self, changes: Sequence[Change]) -> bool:
        """Whether all of these were done since the reader was made."""
        if self._later_ms is None:
            first = self._page(self._present, 1).changes
            self._later_ms = first[0].time_ms if first else None
        later_ms = self._later_ms
        return later_ms is not None and all(one.time_ms >= later_ms for one in changes)

    def _page(self, since: str, limit: int) -> Page:
        query = {"since": since, "metalake": self._server.metalake}
        if len(since) > CURSOR_CHARS_MAX:
            answer = self._server.post(PATH, {**query, "limit": limit})
        else:
            answer = self._server.get(PATH, **query, limit=str(limit))
        return msgspec.convert(answer, Page)


class ChangeHistory:
    """Appends what a reader finds to a table; `is_own` tells the traces of this pipeline."""

    def __init__(
        self, table: OnceTable, reader: ChangeReader, is_own: Callable[[Change], bool], now_ms: int
    ) -> None:
        self.done = ChangesDone()
        self._table = table
        self._reader = reader
        self._is_own = is_own
        self._now_ms = now_ms

    def append(self, size: int, advance: Callable[[int], None]) -> None:
        """Append all, so many records at once; `advance` is told of each append."""
        reached, more = self._table.reached(), True
        position = self._start(reached)
        while more:
            batch = self._reader.batch(position, size)
            more = batch.more
            rows, gap = self._new_rows(position, batch)
            if not rows or self._is_idle(position, batch):
                position = batch.reached
                continue
            reach = msgspec.json.encode(batch.reached).decode()
            if self._table.append(self._table.frame(rows), reached, reach):
                self._count(len(rows), gap)
                advance(len(rows))
            else:
                more = True  # by now there may be less, or others
            reached = self._table.reached()
            position = self._start(reached)

    def _start(self, reached: Reached) -> Position:
        if reached.is_lost:
            self.done.notes = [LOST]
        return read_position(reached)

    def _new_rows(self, position: Position, batch: Batch) -> tuple[list[dict[str, Any]], str]:
        """The rows of a batch that are not in the table yet, and why some are missing before."""
        rows, gap = [row_of(change) for change in batch.changes], batch.gap
        if rows and (position.again or gap):
            known = self._table.known(rows, "position")
            rows = [row for row in rows if row["position"] not in known]
            if position == Position(again=True) and not known:
                gap = UNSURE
        if gap:
            rows.insert(0, gap_row(position.cursor, gap, self._now_ms))
        return rows, gap

    def _is_idle(self, position: Position, batch: Batch) -> bool:
        is_usual = not (batch.more or batch.gap or position.again)
        return is_usual and all(map(self._is_own, batch.changes))

    def _count(self, rows: int, gap: str) -> None:
        self.done.commits += 1
        self.done.records += rows - bool(gap)
        if gap:
            self.done.gaps.append(gap)


def _gap(error: HeadgateError) -> str:
    """Why a log cannot be read on. A metalake that was imported has another one than before."""
    return str(error) if isinstance(error, LogCut) else f"the log is another one: {error}"


def read_position(reached: Reached) -> Position:
    """Where to go on, by what a table knows."""
    if reached.position:
        return msgspec.json.decode(reached.position, type=Position)
    return Position(again=reached.is_lost)


def row_of(change: Change) -> dict[str, Any]:
    """A record as a row."""
    return {
        "time": change.time_ms,
        "metalake": change.metalake,
        "catalog": change.catalog,
        "operation": change.do,
        "kind": change.kind,
        "name": ".".join(change.name),
        "levels": list(change.name),
        "new_name": ".".join(change.to) or None,
        "new_levels": list(change.to) or None,
        "actor": change.by,
        "details": msgspec.json.encode(change.details).decode(),
        "commit_id": int(change.commit),
        "position": change.position,
    }


def gap_row(cursor: str, why: str, now_ms: int) -> dict[str, Any]:
    """The row that says that records behind a cursor were cut before they were read."""
    digest = hashlib.sha256(f"{now_ms} {cursor}".encode()).hexdigest()[:16]
    return {
        **dict.fromkeys(column.name for column in COLUMNS),
        "time": now_ms,
        "operation": GAP,
        "kind": LOG,
        "details": msgspec.json.encode({"why": why}).decode(),
        "position": f"{GAP}/{digest}",
    }
