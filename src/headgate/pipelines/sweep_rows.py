"""What executors do for a sweep: they open the store themselves, and walk, scan and delete with the
same code as the sweep of one process."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headgate.catalog.references import References
from headgate.ids import time_ms
from headgate.kernel.cache import Cache
from headgate.kernel.kernel import KERNEL_TYPES
from headgate.kernel.objects import ObjectTypes
from headgate.kernel.records import Partition, ScannedRow
from headgate.kernel.store import Store
from headgate.maintenance.clocks import Surveyed
from headgate.maintenance.deleting import Deletions
from headgate.maintenance.marks import Entrance, walk
from headgate.maintenance.runs import Counts
from headgate.pipelines.rows import Rows
from headgate.wiring import STORED_TYPES, backend_at

if TYPE_CHECKING:
    import pyarrow as pa

WORK = "realm string, pointer string, index string, pages array<bigint>, is_current boolean"
MARKS = "realm string, id bigint"
ROWS = "kind string, realm string, id bigint, part int, type string, version bigint, count bigint"
DELETED = "rows bigint"
ROW, YOUNG, LEFT, STRANGE = "row", "young", "left", "strange"
"""A row that may be dead; how many are young; how many are of other realms or types; how many are
of a realm that is not listed."""

T = TypeVar("T")
Judged = tuple[str, ScannedRow, int]
"""What kind of row it is, the row, and how many there are of it."""
Wait = Callable[[Awaitable[Any]], Any]


class Terms(NamedTuple):
    """What all executors are told."""

    place: Mapping[str, str]
    """Of the store."""
    references: References
    swept: frozenset[str]
    listed: frozenset[str]
    cutoff_ms: int
    shares: int
    is_dry: bool
    surveyed: Surveyed
    """The heads that the driver goes by. It has fenced all realms before rows are deleted."""


def types() -> ObjectTypes:
    """All that this program stores."""
    return ObjectTypes((*KERNEL_TYPES, *STORED_TYPES))


def mark(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The ids of all that lies behind these entrances."""
    marks = Rows(realm="string", id="int64")
    with _opened(terms) as (store, wait):
        for batch in batches:
            for one in batch.to_pylist():
                entrance = Entrance(
                    one["realm"],
                    one["pointer"],
                    one["index"],
                    tuple(one["pages"]),
                    one["is_current"],
                )
                for ids in _steps(wait, walk(store, terms.references, entrance, set(), set())):
                    yield from marks.add(len(ids), realm=[entrance.realm] * len(ids), id=ids)
    yield from marks.rest()


def scan(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The rows of these shares of the database that may be dead, and how many others there are."""
    rows = Rows(
        kind="string",
        realm="string",
        id="int64",
        part="int32",
        type="string",
        version="int64",
        count="int64",
    )
    with _opened(terms) as (store, wait):
        for batch in batches:
            for one in batch.to_pylist():
                share = Partition(one["id"], terms.shares)
                for judged in _steps(wait, _scanned(store, terms, share)):
                    yield from rows.add(len(judged), **_columns(judged))
    yield from rows.rest()


def delete(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Delete these rows; how many were."""
    import pyarrow as pa

    counts = Counts()
    with _opened(terms) as (store, wait):
        for batch in batches:
            rows = [
                ScannedRow(one["realm"], one["id"], one["part"], one["type"], one["version"])
                for one in batch.to_pylist()
            ]
            wait(_deleted(store, terms, rows, counts))
    yield pa.RecordBatch.from_pydict({"rows": pa.array([counts.rows_deleted], pa.int64())})


async def _scanned(store: Store, terms: Terms, share: Partition) -> AsyncIterator[list[Judged]]:
    """What may be dead, some at a time: a share may be larger than the memory of an executor."""
    counted = Counter[tuple[str, str]]()
    async for batch in store.backend.scan_rows(share):
        found: list[Judged] = []
        for row in batch:
            kind = _kind(row, terms, store.types.knows)
            if kind == ROW:
                found.append((ROW, row, 1))
            else:
                counted[kind, row.realm] += 1
        yield found
    yield [
        (kind, ScannedRow(realm, 0, 0, "", 0), count) for (kind, realm), count in counted.items()
    ]


def _columns(judged: list[Judged]) -> dict[str, list[Any]]:
    return {
        "kind": [kind for kind, _, _ in judged],
        "realm": [row.realm for _, row, _ in judged],
        "id": [row.id for _, row, _ in judged],
        "part": [row.part for _, row, _ in judged],
        "type": [row.type for _, row, _ in judged],
        "version": [row.version for _, row, _ in judged],
        "count": [count for _, _, count in judged],
    }


def _kind(row: ScannedRow, terms: Terms, is_known: Callable[[str], bool]) -> str:
    if row.realm not in terms.swept:
        return LEFT if row.realm in terms.listed else STRANGE
    if time_ms(row.id) >= terms.cutoff_ms:
        return YOUNG
    return ROW if is_known(row.type) else LEFT


async def _deleted(store: Store, terms: Terms, rows: Iterable[ScannedRow], counts: Counts) -> None:
    guard = partial(terms.surveyed.check, store)
    deletions = Deletions(store, counts, guard, is_dry=terms.is_dry)
    for row in rows:
        deletions.add(row)
        if deletions.is_full:
            await deletions.flush()
    await deletions.flush()


@contextmanager
def _opened(terms: Terms) -> Iterator[tuple[Store, Wait]]:
    """The store, and what waits for it."""
    with asyncio.Runner() as runner:
        wait = runner.get_loop().run_until_complete
        backend = backend_at(terms.place)
        wait(backend.open())
        try:
            yield Store(backend, types(), Cache(0)), wait
        finally:
            wait(backend.close())


def _steps(wait: Wait, steps: AsyncIterator[T]) -> Iterator[T]:
    """What comes step by step."""
    while (step := wait(anext(steps, None))) is not None:
        yield step
