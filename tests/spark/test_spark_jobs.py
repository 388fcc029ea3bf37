"""Spark jobs that are looked after while they run."""

import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.errors import LeaseLost
from headgate.pipelines.spark_jobs import collected

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

LONG_SECONDS = 60.0


def test_a_job_is_stopped_as_soon_as_there_is_a_reason(spark: SparkSession) -> None:
    """Whoever waits for it hears the reason, long before it would have ended."""

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(LONG_SECONDS)
        yield from batches

    def look() -> None:
        raise LeaseLost("the lease is lost")

    began = time.monotonic()
    with pytest.raises(LeaseLost, match="the lease is lost"):
        collected(spark, spark.range(2).mapInArrow(wait, "id long"), look)

    assert time.monotonic() - began < LONG_SECONDS / 2


def test_a_job_that_nobody_stops_gives_its_rows(spark: SparkSession) -> None:
    """What it raises itself is raised."""
    assert sorted(row.id for row in collected(spark, spark.range(3), lambda: None)) == [0, 1, 2]

    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        collected(spark, spark.sql("SELECT 1 DIV (id - 1) FROM range(3)"), lambda: None)
