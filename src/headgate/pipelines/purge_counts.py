"""How many files executors have deleted so far, counted when their tasks end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.purge.removal import Removed

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

Sums = tuple[int, int, int]


class _Adding:
    """Spark calls it with what each task counted."""

    def zero(self, value: Sums) -> Sums:  # noqa: ARG002  there is only one
        return 0, 0, 0

    def addInPlace(self, value1: Sums, value2: Sums) -> Sums:  # noqa: N802  Spark's word
        return value1[0] + value2[0], value1[1] + value2[1], value1[2] + value2[2]


class Counts:
    """Of one job. Spark Connect has nothing to count with: there they stay at zero."""

    def __init__(self, spark: SparkSession, *, is_remote: bool) -> None:
        self._sums: Accumulator[Sums] | None = (
            None if is_remote else spark.sparkContext.accumulator((0, 0, 0), _Adding())  # type: ignore[arg-type]
        )

    def add(self, removed: Removed) -> None:
        """Called by a task, for what it has done."""
        if self._sums is not None:
            self._sums.add((removed.deleted, removed.missing, removed.bytes))

    def so_far(self) -> Removed:
        """What tasks that have ended did."""
        return Removed() if self._sums is None else Removed(*self._sums.value)
