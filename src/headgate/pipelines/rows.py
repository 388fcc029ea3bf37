"""Work for executors in tasks and batches of a reasonable size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headgate.pipelines.bounds import ORPHANS_ROWS_AT_ONCE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def tasks_for(spark: SparkSession, parts: int) -> int:
    """How many tasks some work is divided into: each costs time by itself, so there are no more
    than the session divides all other work into."""
    return max(min(parts, int(spark.conf.get("spark.sql.shuffle.partitions") or 1)), 1)


class Rows:
    """Collects columns until there are enough for a batch; what is not told is null."""

    def __init__(self, **types: str) -> None:
        self._types = types
        self._count = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in types}

    def add(self, count: int, /, **columns: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """So many rows more; a batch, if there are enough by now."""
        for name, column in self._columns.items():
            column.extend(columns.get(name) or [None] * count)
        self._count += count
        if self._count >= ORPHANS_ROWS_AT_ONCE:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is left."""
        import pyarrow as pa

        if self._count:
            arrays = [
                pa.array(self._columns[name], pa.type_for_alias(type))
                for name, type in self._types.items()
            ]
            self._count, self._columns = 0, {name: [] for name in self._types}
            yield pa.RecordBatch.from_arrays(arrays, names=list(self._types))
