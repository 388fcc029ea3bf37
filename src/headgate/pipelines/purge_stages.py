"""The files of a table, found and deleted by executors: manifests, then the files in them, each
once, then what came of them, as stages of one Spark job.

Very many files are deleted in several jobs. A task that dies is done again by Spark: what it had
deleted is missing then, so files that are gone are those deleted and those missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from headgate.pipelines.bounds import (
    MANIFEST_ENTRY_BYTES,
    SPARK_FEW_FILES,
    SPARK_FILES_PER_JOB,
    SPARK_FILES_PER_TASK,
    SPARK_FILES_READ_PER_TASK,
)
from headgate.pipelines.failures import translated
from headgate.pipelines.purge_counts import Counts
from headgate.pipelines.purge_executors import (
    FOUND,
    LISTED,
    REMOVED,
    Order,
    delete_files,
    read_manifests,
)
from headgate.pipelines.spark_jobs import collected, is_remote
from headgate.planning.reachable import Found, Listed, Walk
from headgate.purge.removal import Removal, Removed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headgate.purge.removal import Kind, Tell
    from headgate.storage.deletions import Check

T = TypeVar("T")


class SparkRemoval:
    """Lets executors delete; a few files are deleted here."""

    def __init__(self, spark: SparkSession, order: Order, here: Removal, check: Check) -> None:
        self._spark = spark
        self._order = order
        self._here = here
        self._check = check

    def data(self, walk: Walk, tell: Tell) -> None:
        if walk.keeps_data:
            return
        order = self._order
        for some in in_parts(walk.every_manifest(), files_in):
            files = sum(map(files_in, some))
            manifests = self._spark.createDataFrame(_listed_table(some), LISTED)
            found = manifests.mapInArrow(lambda batches: read_manifests(order, batches), FOUND)
            self._delete(found, files, tell)

    def files(self, kind: Kind, tell: Tell) -> None:
        for some in in_parts(kind(), lambda found: len(found.paths)):
            files = sum(len(found.paths) for found in some)
            if files <= SPARK_FEW_FILES:
                self._here.remove(some, tell)
            else:
                found = self._spark.createDataFrame(_found_table(some), FOUND)
                self._delete(found, files, tell)

    def _delete(self, found: DataFrame, files: int, tell: Tell) -> None:
        """Let executors delete these files, of which there are about so many. All that one of them
        is named comes to the same task, so each is deleted once."""
        order, counts = self._order, Counts(self._spark, is_remote=is_remote(self._spark))
        removed = found.repartition(tasks_for(files), "path").mapInArrow(
            lambda batches: delete_files(order, counts.add, batches), REMOVED
        )
        told = Removed()
        self._check()

        def look() -> None:
            nonlocal told
            self._check()
            now = counts.so_far()
            if now != told:
                tell(_less(now, told))
                told = now

        with translated():
            rows = collected(self._spark, removed, look)
        self._check()
        done = [msgspec.msgpack.decode(row.removed, type=Removed) for row in rows]
        tell(_less(_sum(done), told))
        for one in done:
            rest = msgspec.structs.replace(one, deleted=0, missing=0, bytes=0)
            if rest != Removed():
                tell(rest)


def in_parts(
    some: Iterable[T], files: Callable[[T], int], most: int = SPARK_FILES_PER_JOB
) -> Iterator[list[T]]:
    """What leads to files, in parts of no more files than that: for one job each, or one task."""
    part: list[T] = []
    count = 0
    for one in some:
        if part and count + files(one) > most:
            yield part
            part, count = [], 0
        part.append(one)
        count += files(one)
    if part:
        yield part


def tasks_for(files: int) -> int:
    """Into how many tasks so many files are divided: short ones, as nothing else stops a task that
    its driver does not see."""
    return max(-(-files // SPARK_FILES_PER_TASK), 1)


def files_in(manifest: Listed) -> int:
    """How many files there are in a manifest: a guess if its list does not say it."""
    return manifest.files or max(manifest.length // MANIFEST_ENTRY_BYTES, 1)


def _listed_table(some: list[Listed]) -> pa.Table:
    """Spark makes a task of each batch. Reading deletes nothing, so these may be long."""
    import pyarrow as pa

    form = pa.schema([("path", pa.string()), ("length", pa.int64()), ("files", pa.int64())])
    parts = in_parts(some, files_in, SPARK_FILES_READ_PER_TASK)
    batches = [pa.record_batch(list(zip(*part, strict=True)), form) for part in parts]
    return pa.Table.from_batches(batches, form)


def _found_table(some: list[Found]) -> pa.Table:
    import pyarrow as pa

    paths = [path for found in some for path in found.paths]
    sizes = [size for found in some for size in found.sizes]
    columns = [pa.array(paths), pa.array(sizes, pa.int64()), pa.nulls(len(paths), pa.string())]
    return pa.Table.from_arrays(columns, names=["path", "size", "why"])


def _sum(done: list[Removed]) -> Removed:
    return Removed(
        sum(one.deleted for one in done),
        sum(one.missing for one in done),
        sum(one.bytes for one in done),
    )


def _less(now: Removed, told: Removed) -> Removed:
    """What is new since something was told."""
    return Removed(now.deleted - told.deleted, now.missing - told.missing, now.bytes - told.bytes)
