"""Deleting orphans on executors, with an exact account of each file."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from headgate.limits import OBJECTS_DELETED_AT_ONCE
from headgate.pipelines.rows import Rows, tasks_for
from headgate.pipelines.zips import forget_zips
from headgate.planning.files import open_files
from headgate.storage.deletions import Folders, may_go_on

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from headgate.storage.worker_files import OpenedFiles, WorkerFiles

    Batches = Iterable[pa.RecordBatch]

FOUND, DELETED, MISSING, FAILED = "found", "deleted", "missing", "failed"
"""What came of an orphan. Somebody else may have deleted it, or a task that was tried twice: gone
are those deleted and those missing."""
PATHS = "path string"
REMOVED = "deleted long, path string, why string"
"""How many were deleted; and each that was not: why, or nothing if it was missing."""


def remove(spark: SparkSession, where: WorkerFiles, orphans: pa.Table) -> pa.Table:
    """Delete these; the same with what came of each."""
    paths = spark.createDataFrame(orphans.select(["path"]), PATHS)
    spread = paths.repartition(tasks_for(spark, -(-orphans.num_rows // OBJECTS_DELETED_AT_ONCE)))
    rows = spread.mapInArrow(lambda some: remove_files(where, some), REMOVED).collect()
    left = {row.path: row.why for row in rows if row.path is not None}
    deleted = sum(row.deleted for row in rows)
    assert deleted + len(left) == orphans.num_rows, (deleted, len(left), orphans.num_rows)
    return with_outcomes(orphans, left)


def remove_files(where: WorkerFiles, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From paths to what came of them. Runs on executors."""
    forget_zips()
    rows = Rows(deleted="int64", path="string", why="string")
    opened = cast("OpenedFiles", open_files(pickle.dumps(where)))  # connections are used again
    deletion = opened.deletion()
    for batch in batches:
        done = deletion.delete(by_folder(batch.column(0).to_pylist()), may_go_on)
        left = dict.fromkeys(done.missing) | dict(done.failed)
        yield from rows.add(1, deleted=[done.deleted])
        yield from rows.add(
            len(left), deleted=[0] * len(left), path=list(left), why=list(left.values())
        )
    yield from rows.rest()


def by_folder(paths: list[str]) -> Folders:
    """Names of files by their folders."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return folders


def with_outcomes(orphans: pa.Table, left: dict[str, str | None] | None) -> pa.Table:
    """Orphans with what came of them: None if nobody was to delete any."""
    import pyarrow as pa

    outcomes, whys = [FOUND] * orphans.num_rows, [""] * orphans.num_rows
    if left is not None:
        for number, path in enumerate(orphans["path"].to_pylist()):
            why = left.get(path, "")
            outcomes[number] = DELETED if path not in left else FAILED if why else MISSING
            whys[number] = why or ""
    columns = pa.array(outcomes, pa.string()), pa.array(whys, pa.string())
    return orphans.append_column("outcome", columns[0]).append_column("why", columns[1])
