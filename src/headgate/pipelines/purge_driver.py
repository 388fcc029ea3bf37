"""A child process that lets Spark delete the files of large tables. It keeps its session for the
next table, until its parent ends it or something fails."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from headgate.pipelines.interruption import be_silent
from headgate.pipelines.purge_executors import new_order
from headgate.pipelines.purge_stages import SparkRemoval
from headgate.pipelines.session import (
    STARTING,
    SparkOptions,
    check_options,
    end_at_once,
    spark_session,
)
from headgate.pipelines.signals import listen
from headgate.purge import worker
from headgate.purge.deleter import Progress
from headgate.purge.removal import Removal
from headgate.workers.serving import Job, live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from pyspark.sql import SparkSession

    from headgate.purge.deleter import Task
    from headgate.purge.removal import Means, Remover

NAME = "headgate purge"
LEAN = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
}
"""Nearly all work is done by Python: a virtual machine that compiles for long, and plans that are
made once more while they run, take more time than they save. What the user says wins."""


class Driver:
    """The session of this process."""

    def __init__(self) -> None:
        self.has_failed = False
        """Then Spark may be in any state: the next table gets another process."""
        self._sessions = ExitStack()
        self._spark: SparkSession | None = None

    def check(self, options: bytes) -> Iterator[bytes]:
        """Refuse what Spark cannot start with."""
        check_options(msgspec.json.decode(options, type=SparkOptions))
        yield b""

    def delete(
        self,
        factory: bytes,
        others: bytes,
        asked: bytes,
        step: bytes,
        fence: bytes,
        options: bytes,
    ) -> Iterator[bytes]:
        """One step of a task: progress, encoded."""
        hands = partial(self._remover, factory, os.fsdecode(fence))
        self.has_failed = True
        if self._spark is None:  # told apart: nothing is deleted for some time
            for sign in worker.told(Progress(STARTING), lambda _tell, _check: self._start(options)):
                yield msgspec.msgpack.encode(sign)
        yield from worker.delete(factory, others, asked, step, fence, hands)
        self.has_failed = False

    def close(self) -> None:
        """Stop Spark. When Python itself stops it, threads are gone that it would wait for."""
        self._sessions.close()

    def _remover(
        self,
        factory: bytes,
        fence: str,
        task: Task,
        means: Means,
        needed: AbstractSet[int],
    ) -> Remover:
        order = new_order(task, needed, factory, fence)
        here = Removal(task, means, needed)
        assert self._spark is not None
        return SparkRemoval(self._spark, order, here, means.check)

    def _start(self, options: bytes) -> None:
        wanted = msgspec.json.decode(options, type=SparkOptions)
        if not wanted.remote:
            wanted = msgspec.structs.replace(wanted, conf=LEAN | wanted.conf)
        self._spark = self._sessions.enter_context(spark_session(wanted, NAME))


def main() -> None:
    """Drive Spark for the server that started this process."""
    listen(_end, signal.SIGTERM)
    driver = Driver()
    jobs: dict[bytes, Job] = {b"check": driver.check, b"delete": driver.delete}
    with closing(driver):
        live(jobs, lambda: driver.has_failed, allowance=None)  # Java inherits what is set


def _end() -> None:
    """Whoever started this process wants it to end, with its Spark, whatever both do."""
    be_silent()
    try:
        end_at_once()
    finally:
        os._exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
