"""The audit as rows of a table: each line once, whatever its file is called by now.

A line that is not whole yet is left for the next run; one that never will be is a row with its
text. A file that went before it was known to be read to its end is a row that says so.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from headgate.errors import BadRequest
from headgate.pipelines.appends import Column, OnceTable, Reached
from headgate.pipelines.history_files import AuditFile, Line, Readers, read_lines

FILES_KNOWN_MAX = 1_000  # that positions are kept of; of others the rows tell them
LINES_TRIED = 10  # of a file, before it is said to be no audit
TEXT_CHARS_MAX = 4_000  # of a line that cannot be read
GAP = "gap"
LOST = "the position of the audit was lost with its snapshot: it was taken from the rows"

COLUMNS = (
    Column("time", "TIMESTAMP", "when it was decided"),
    Column("request", "STRING", "the id of the request, as the access log has it"),
    Column("principal", "STRING", "who asked"),
    Column("action", "STRING", "the rule that decided, or gap"),
    Column("metalake", "STRING", "where"),
    Column("object", "STRING", "of what, from the catalog down, its names joined by dots"),
    Column("levels", "ARRAY<STRING>", "the same names, one by one"),
    Column("allowed", "BOOLEAN", "the decision"),
    Column("why", "STRING", "the reason of a refusal"),
    Column("groups", "ARRAY<STRING>", "of who asked"),
    Column("text", "STRING", "the line itself, if it cannot be read"),
    Column("source", "STRING", "host and path of the file"),
    Column("file", "STRING", "names the file, whatever it is called later"),
    Column("offset", "BIGINT", "where the line begins in it"),
    Column("length", "INT", "of the line, in bytes"),
)


class AuditLine(msgspec.Struct, frozen=True):
    """A decision as the server writes it."""

    time: datetime
    request: str
    principal: str
    action: str
    metalake: str
    object: tuple[str, ...]
    allowed: bool
    why: str = ""
    groups: tuple[str, ...] = ()


class FilePosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a file was read."""

    offset: int
    source: str = ""
    done: bool = False
    """It was read to its end when the server wrote to it no more, or it is known to be gone."""


Positions = dict[str, FilePosition]


class Batch(NamedTuple):
    """What is written at once."""

    rows: Sequence[dict[str, Any]]
    reached: Positions
    gaps: Sequence[str]
    more: bool


class AuditDone(msgspec.Struct):
    """What was made of files."""

    records: int = 0
    damaged: int = 0
    """Lines that could not be read."""
    commits: int = 0
    gaps: list[str] = []
    notes: list[str] = []


class AuditHistory:
    """Appends what is in files to a table; `is_own` tells the traces of this pipeline."""

    def __init__(
        self,
        table: OnceTable,
        files: Sequence[AuditFile],
        is_own: Callable[[Sequence[str]], bool],
        now_ms: int,
    ) -> None:
        self.done = AuditDone()
        self._table = table
        self._files = files
        self._is_own = is_own
        self._now_ms = now_ms
        self._readers = Readers()

    def append(self, size: int, advance: Callable[[int], None]) -> None:
        """Append all, so many lines at once; `advance` is told of each append."""
        while True:
            reached = self._table.reached()
            known = self._positions(reached)
            batch = next_batch(self._files, known, size, self._now_ms, self._readers.lines)
            if not batch.rows or self._is_idle(batch):
                return
            reach = msgspec.json.encode(batch.reached).decode()
            if self._table.append(self._table.frame(batch.rows), reached, reach):
                self._count(batch)
                advance(len(batch.rows))

    def _positions(self, reached: Reached) -> Positions:
        if reached.is_lost:
            self.done.notes = [LOST]
            return self._ends()
        known = msgspec.json.decode(reached.position or "{}", type=Positions)
        others = [file.id for file in self._files if file.id not in known]
        if len(known) < FILES_KNOWN_MAX or not others:
            return known
        return known | self._ends(others)

    def _ends(self, files: Sequence[str] = ()) -> Positions:
        """Behind the last row of these files, or of all if none is named."""
        rows = self._table.rows().where("file <> ''")
        wanted = rows.where(rows["file"].isin(*files)) if files else rows
        ends = wanted.selectExpr("file", "offset + length AS end").groupBy("file").max("end")
        return {row["file"]: FilePosition(row["max(end)"]) for row in ends.collect()}

    def _is_idle(self, batch: Batch) -> bool:
        is_usual = not (batch.more or batch.gaps)
        return is_usual and all(self._is_own(row["levels"] or ()) for row in batch.rows)

    def _count(self, batch: Batch) -> None:
        damaged = sum(row["text"] is not None for row in batch.rows)
        self.done.commits += 1
        self.done.damaged += damaged
        self.done.records += len(batch.rows) - len(batch.gaps) - damaged
        self.done.gaps += batch.gaps


def next_batch(
    files: Sequence[AuditFile],
    known: Positions,
    size: int,
    now_ms: int,
    read: Callable[[AuditFile, int], Iterator[Line]] = read_lines,
) -> Batch:
    """The rows of the next lines, so many at most, and the positions behind them."""
    reached, rows, gaps, more = dict(known), [], [], False
    for id, position, why in missing(files, known):
        rows.append(_gap_row(id, known[id], why, now_ms))
        reached[id] = position
        gaps.append(why)
    for file in files:
        end = reached[file.id].offset if file.id in reached else 0
        for line in islice(read(file, end), size):
            rows += _rows(file, line)
            end = line.offset + len(line.data)
            size -= 1
        more = more or size == 0
        if end:
            reached[file.id] = FilePosition(end, file.source, done=size > 0 and not file.is_live)
    return Batch(rows, _newest(reached), gaps, more)


def missing(
    files: Sequence[AuditFile], known: Positions
) -> Iterator[tuple[str, FilePosition, str]]:
    """Files that were not known to be at their end and are gone, or shorter than they were.

    With each comes the position to go on from.
    """
    there = {file.id: file for file in files}
    sources = {file.source for file in files}
    for id, position in known.items():
        file = there.get(id)
        if file is None and not position.done and position.source in sources:
            why = f"{position.source} was rotated and is gone; it was read up to {position.offset}"
            yield id, msgspec.structs.replace(position, done=True), why
        elif file is not None and file.size is not None and file.size < position.offset:
            why = f"{file.path} has shrunk to {file.size}; it was read up to {position.offset}"
            yield id, FilePosition(file.size, file.source), why


def check_audit(file: AuditFile) -> None:
    """Refuse a file whose first lines are no decisions."""
    for count, line in enumerate(read_lines(file, 0), start=1):
        if _decoded(line.data) is not None:
            return
        if count == LINES_TRIED:
            break
    raise BadRequest(
        f"the audit {str(file.path)!r} cannot be read",
        why="its lines are not those of an audit",
        fix="Give the path that audit.file of the server names",
    )


def _newest(positions: Positions) -> Positions:
    return dict(list(positions.items())[-FILES_KNOWN_MAX:])


def _rows(file: AuditFile, line: Line) -> list[dict[str, Any]]:
    """The row of a line; an empty one has none."""
    if not line.data.strip():
        return []
    place = {
        "source": file.source,
        "file": file.id,
        "offset": line.offset,
        "length": len(line.data),
    }
    read = _decoded(line.data)
    if read is None:
        return [{**_EMPTY, **place, "text": _text(line.data)}]
    return [
        {
            **_EMPTY,
            **place,
            "time": _ms(read.time),
            "request": read.request,
            "principal": read.principal,
            "action": read.action,
            "metalake": read.metalake,
            "object": ".".join(read.object),
            "levels": list(read.object),
            "allowed": read.allowed,
            "why": read.why or None,
            "groups": list(read.groups),
        }
    ]


def _gap_row(id: str, position: FilePosition, why: str, now_ms: int) -> dict[str, Any]:
    return {
        **_EMPTY,
        "time": now_ms,
        "action": GAP,
        "why": why,
        "source": position.source,
        "file": id,
        "offset": position.offset,
        "length": 0,
    }


def _decoded(data: bytes) -> AuditLine | None:
    try:
        return msgspec.json.decode(data, type=AuditLine)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip("\n")[:TEXT_CHARS_MAX]


def _ms(time: datetime) -> int:
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


_EMPTY = dict.fromkeys(column.name for column in COLUMNS)
