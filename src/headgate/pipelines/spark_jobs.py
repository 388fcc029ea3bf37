"""A Spark job that is looked after while it runs, and stopped if there is a reason."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from headgate.pipelines.bounds import SPARK_LOOK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, Row, SparkSession

_numbers = count(1)


def collected(spark: SparkSession, frame: DataFrame, look: Callable[[], None]) -> list[Row]:
    """The rows of a frame. Now and then `look` is called on another thread; what it raises stops
    the job and is raised here."""
    watch = _Watch(spark, look)
    watch.mark()
    try:
        with watch:
            rows = frame.collect()
    except Exception:
        if watch.reason is None:
            raise
    finally:
        watch.unmark()
    if watch.reason is not None:
        raise watch.reason
    return rows


def is_remote(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


class _Watch:
    """Looks after the job with its tag. A session's own tags are known to one thread only, so the
    context's are used, where there is one."""

    def __init__(self, spark: SparkSession, look: Callable[[], None]) -> None:
        self.reason: Exception | None = None
        """Why the job is to end."""
        self._spark = spark
        self._tag = f"headgate-{next(_numbers)}"
        self._look = look
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="watch", daemon=True)

    def mark(self) -> None:
        """Give what this thread does from now on the tag."""
        if is_remote(self._spark):
            self._spark.addTag(self._tag)
        else:
            self._spark.sparkContext.addJobTag(self._tag)
            self._spark.sparkContext.setInterruptOnCancel(True)

    def unmark(self) -> None:
        """What this thread does from now on is something else."""
        with suppress(Exception):  # Spark may have died meanwhile
            if is_remote(self._spark):
                self._spark.removeTag(self._tag)
            else:
                self._spark.sparkContext.removeJobTag(self._tag)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(SPARK_LOOK_SECONDS):
            try:
                self._look()
            except Exception as error:  # noqa: BLE001  raised where the job is waited for
                self.reason = error
                self._stop()
                return

    def _stop(self) -> None:
        """End the job; one that is still planned is not stopped by the first word."""
        while not self._is_over.is_set():
            with suppress(Exception):  # Spark may have died meanwhile
                if is_remote(self._spark):
                    self._spark.interruptTag(self._tag)
                else:
                    self._spark.sparkContext.cancelJobsWithTag(self._tag)
            self._is_over.wait(SPARK_LOOK_SECONDS)
