"""What executors do for a sweep: they open the store themselves, and walk, scan and delete with the
same code as the sweep of one process."""

import asyncio
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from headgate.catalog.references import References
from headgate.ids import time_ms
from headgate.kernel.cache import Cache
from headgate.kernel.kernel import KERNEL_TYPES
from headgate.kernel.objects import ObjectTypes
from headgate.kernel.records import Partition, ScannedRow
from headgate.kernel.store import Store
from headgate.maintenance.deleting import Deletions
from headgate.maintenance.marks import Entrance, walk
from headgate.maintenance.runs import Counts
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
BATCH = 10_000

T = TypeVar("T")


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


def types() -> ObjectTypes:
    """All that this program stores."""
    return ObjectTypes((*KERNEL_TYPES, *STORED_TYPES))


def mark(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The ids of all that lies behind these entrances."""
    for batch in batches:
        for one in batch.to_pylist():
            entrance = Entrance(
                one["realm"], one["pointer"], one["index"], tuple(one["pages"]), one["is_current"]
            )
            ids = _with_store(terms, partial(_walked, terms=terms, entrance=entrance))
            yield from _marked(entrance.realm, ids)


def scan(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The rows of these shares of the database that may be dead, and how many others there are."""
    for batch in batches:
        for one in batch.to_pylist():
            share = Partition(one["id"], terms.shares)
            rows = _with_store(terms, partial(_scanned, terms=terms, share=share))
            yield from _row_batches(rows)


def delete(terms: Terms, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Delete these rows; how many were."""
    import pyarrow as pa

    counts = Counts()
    for batch in batches:
        rows = [
            ScannedRow(one["realm"], one["id"], one["part"], one["type"], one["version"])
            for one in batch.to_pylist()
        ]
        _with_store(terms, partial(_deleted, terms=terms, rows=rows, counts=counts))
    yield pa.RecordBatch.from_pydict({"rows": pa.array([counts.rows_deleted], pa.int64())})


async def _walked(store: Store, terms: Terms, entrance: Entrance) -> "array[int]":
    found = array("q")
    async for ids in walk(store, terms.references, entrance, set(), set()):
        found.extend(ids)
    return found


async def _scanned(
    store: Store, terms: Terms, share: Partition
) -> list[tuple[str, ScannedRow, int]]:
    found, counted = [], Counter[tuple[str, str]]()
    async for batch in store.backend.scan_rows(share):
        for row in batch:
            kind = _kind(row, terms, store.types.knows)
            if kind == ROW:
                found.append((ROW, row, 1))
            else:
                counted[kind, row.realm] += 1
    for (kind, realm), count in counted.items():
        found.append((kind, ScannedRow(realm, 0, 0, "", 0), count))
    return found


def _kind(row: ScannedRow, terms: Terms, is_known: Callable[[str], bool]) -> str:
    if row.realm not in terms.swept:
        return LEFT if row.realm in terms.listed else STRANGE
    if time_ms(row.id) >= terms.cutoff_ms:
        return YOUNG
    return ROW if is_known(row.type) else LEFT


async def _deleted(store: Store, terms: Terms, rows: Iterable[ScannedRow], counts: Counts) -> None:
    deletions = Deletions(store, counts, is_dry=terms.is_dry)
    for row in rows:
        deletions.add(row)
        if deletions.is_full:
            await deletions.flush()
    await deletions.flush()


def _with_store(terms: Terms, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open the store, do this, and close it."""

    async def opened() -> T:
        backend = backend_at(terms.place)
        await backend.open()
        try:
            return await work(Store(backend, types(), Cache(0)))
        finally:
            await backend.close()

    return asyncio.run(opened())


def _marked(realm: str, ids: "array[int]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for at in range(0, len(ids), BATCH):
        some = ids[at : at + BATCH]
        yield pa.RecordBatch.from_pydict(
            {"realm": pa.array([realm] * len(some), pa.string()), "id": pa.array(some, pa.int64())}
        )


def _row_batches(rows: list[tuple[str, ScannedRow, int]]) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for at in range(0, len(rows), BATCH):
        some = rows[at : at + BATCH]
        yield pa.RecordBatch.from_pydict(
            {
                "kind": pa.array([kind for kind, _, _ in some], pa.string()),
                "realm": pa.array([row.realm for _, row, _ in some], pa.string()),
                "id": pa.array([row.id for _, row, _ in some], pa.int64()),
                "part": pa.array([row.part for _, row, _ in some], pa.int32()),
                "type": pa.array([row.type for _, row, _ in some], pa.string()),
                "version": pa.array([row.version for _, row, _ in some], pa.int64()),
                "count": pa.array([count for _, _, count in some], pa.int64()),
            }
        )
