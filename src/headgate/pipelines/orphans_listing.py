"""Everything that lies below some places, listed by executors, each some folders at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from headgate.pipelines.bounds import ORPHANS_PARTS_MAX
from headgate.pipelines.orphans_keys import Keys
from headgate.pipelines.rows import Rows, tasks_for
from headgate.pipelines.zips import forget_zips
from headgate.storage.listing import Listing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headgate.storage.worker_files import WorkerFiles

    Batches = Iterable[pa.RecordBatch]

PARTS = "location string, deep boolean"
LISTED = "key string, size long, modified long"
"""Local files have no size and no time yet: most of them need none."""
TWIN_BEGIN, TWIN_END = ".", ".crc"  # of the name of a checksum that Hadoop writes beside a file


class Part(NamedTuple):
    """What one executor lists at a time."""

    location: str
    deep: bool
    """With all folders in it; else only the files that lie right there."""


def list_files(spark: SparkSession, where: WorkerFiles, roots: Sequence[str]) -> DataFrame:
    """All files below the roots, when somebody asks for them."""
    import pyarrow as pa

    parts = divide(roots, Listing(where).folders)
    tasks = tasks_for(spark, len(parts))
    form = pa.schema([("location", pa.string()), ("deep", pa.bool_())])
    shares = (list(zip(*parts[number::tasks], strict=True)) for number in range(tasks))
    table = pa.Table.from_batches([pa.record_batch(one, form) for one in shares], form)
    spread = spark.createDataFrame(table, PARTS)  # a task for each batch
    return spread.mapInArrow(lambda some: list_parts(where, some), LISTED)


def divide(roots: Iterable[str], folders: Callable[[str], list[str]]) -> list[Part]:
    """Places cut at their folders, the upper ones first, until there are enough parts."""
    parts: list[Part] = []
    waiting = deque(roots)
    while waiting and len(waiting) + len(parts) < ORPHANS_PARTS_MAX:
        place = waiting.popleft()
        inner = folders(place)
        parts.append(Part(place, deep=not inner))
        waiting.extend(inner)
    return [*parts, *(Part(place, deep=True) for place in waiting)]


def list_parts(where: WorkerFiles, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From parts to the files in them. Runs on executors."""
    forget_zips()
    listing, keys = Listing(where), Keys()
    rows = Rows(key="string", size="int64", modified="int64")
    for batch in batches:
        for location, deep in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for found in listing.files(location, deep=deep):
                names = found.names if found.sizes else without_twins(found.names)
                prefix = keys.prefix(found.prefix.rstrip("/")) or keys.prefix(found.prefix)
                yield from rows.add(
                    len(names),
                    key=[prefix + name for name in names],
                    size=found.sizes,
                    modified=found.times_ms,
                )
    yield from rows.rest()


def without_twins(names: list[str]) -> list[str]:
    """The files of a folder without the checksums of others: each goes with its file."""
    twins = {name for name in names if name[0] == TWIN_BEGIN and name.endswith(TWIN_END)}
    if not twins:
        return names
    known = set(names)
    paired = {one for one in twins if one[len(TWIN_BEGIN) : -len(TWIN_END)] in known}
    return [name for name in names if name not in paired]
