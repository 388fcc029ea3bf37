"""What executors do for exports and imports: each task is told something, and tells what it did.

Tasks may be repeated, and run twice at once: files are named by what is in them, and rows that are
there already do no harm.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from headgate.errors import OutcomeUnknown
from headgate.http.management.realm_messages import IMPORTS, ExportOutline, ExportRows, RowsRequest
from headgate.limits import PORTAGE_FILE_BYTES
from headgate.pipelines.rows import tasks_for
from headgate.pipelines.server import Server
from headgate.portage import folder as folders
from headgate.portage.manifest import ExportFile, described
from headgate.portage.parquet import decoded, encoded
from headgate.portage.rows import Facts, Row, batches, facts_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

TRIES = 5
"""Of a request whose answer was lost: it may be sent again."""
FILES_PER_TASK = 1_000  # at most: they are numbered

T = TypeVar("T")


class Share(msgspec.Struct, frozen=True):
    """What one task is told: pieces of a metalake, or files of an export."""

    number: int
    parts: list[str]


class Done(msgspec.Struct, frozen=True):
    """What one task tells."""

    facts: Facts
    files: tuple[ExportFile, ...] = ()


def shares(parts: Sequence[str], tasks: int) -> list[Share]:
    """Neighbours together, so that rows stay in order, for so many tasks at most."""
    count = min(len(parts), tasks)
    ends = [len(parts) * (number + 1) // count for number in range(count)]
    return [
        Share(number, list(parts[begin:end]))
        for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False))
    ]


def spread(
    spark: "SparkSession", parts: Sequence[str], work: Callable[[Share], Done]
) -> tuple[Facts, list[ExportFile]]:
    """Let executors work on these parts; what they did, all together."""
    if not parts:
        return Facts(), []
    divided = shares(parts, tasks_for(spark, len(parts)))
    told = [(share.number, json.dumps(share.parts)) for share in divided]
    frame = spark.createDataFrame(told, "number INT, parts STRING").repartition(len(told))
    answers = frame.mapInArrow(partial(_worked, work), "done STRING").collect()
    done = [msgspec.json.decode(answer["done"], type=Done) for answer in answers]
    files = sorted((file for one in done for file in one.files), key=lambda file: file.name)
    return sum((one.facts for one in done), Facts()), files


def write_pieces(server: Server, metalake: str, folder: Path, share: Share) -> Done:
    """Read pieces from the server, and write their rows into files."""
    files, facts = list[ExportFile](), Facts()
    for rows in _files_of(read_pieces(server, metalake, share.parts)):
        data = encoded(rows)
        file = described(FILES_PER_TASK * share.number + len(files), data, len(rows))
        folders.store(folder, file.name, data)
        files.append(file)
        facts += facts_of(rows)
    return Done(facts, tuple(files))


def count_pieces(server: Server, metalake: str, share: Share) -> Done:
    """Read pieces from the server only to know what is in them."""
    return Done(facts_of(read_pieces(server, metalake, share.parts)))


def check_files(folder: Path, share: Share) -> Done:
    """Read files, and see that they are what was written."""
    return Done(facts_of(_rows_of(folder, share)))


def send_files(server: Server, id: str, folder: Path, share: Share) -> Done:
    """Send the rows of files to the server."""
    facts, path = Facts(), f"{IMPORTS}/{quote(id, safe='')}/rows"
    for rows in batches(_rows_of(folder, share)):
        again(partial(server.post, path, RowsRequest(rows)))
        facts += facts_of(rows)
    return Done(facts)


def outlined(server: Server, metalake: str) -> ExportOutline:
    """A metalake as it is now, by its name or id."""
    return msgspec.convert(server.get(_path(metalake)), ExportOutline)


def read_pieces(server: Server, metalake: str, pieces: Iterable[str]) -> Iterator[Row]:
    """All rows of these pieces, page by page."""
    for piece in pieces:
        rest: str | None = piece
        while rest is not None:
            answer = server.get(f"{_path(metalake)}/rows", piece=rest)
            page = msgspec.convert(answer, ExportRows)
            yield from page.rows
            rest = page.rest


def again(ask: Callable[[], T]) -> T:
    """Ask once more if nobody knows what came of it: for what does no harm when it is repeated."""
    for _ in range(TRIES - 1):
        try:
            return ask()
        except OutcomeUnknown:
            continue
    return ask()


def _worked(
    work: Callable[[Share], Done], some: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in some:
        for told in batch.to_pylist():
            done = work(Share(told["number"], json.loads(told["parts"])))
            text = msgspec.json.encode(done).decode()
            yield pa.RecordBatch.from_pydict({"done": [text]})


def _rows_of(folder: Path, share: Share) -> Iterator[Row]:
    for text in share.parts:
        file = msgspec.json.decode(text, type=ExportFile)
        yield from decoded(folders.load(folder, file), file.name)


def _files_of(rows: Iterable[Row]) -> Iterator[list[Row]]:
    waiting, size = list[Row](), 0
    for row in rows:
        waiting.append(row)
        size += row.bytes
        if size >= PORTAGE_FILE_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _path(metalake: str) -> str:
    return f"/management/v1/metalakes/{quote(metalake, safe='')}/export"
