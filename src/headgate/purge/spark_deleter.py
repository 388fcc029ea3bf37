"""Deleting large tables with Spark and small ones as ever, seen from the parent.

The driver of Spark is a child process like any other: it is asked the same and answers the same.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from headgate.errors import HeadgateError, Unavailable
from headgate.purge.deleter import Deleter, Progress, Task
from headgate.purge.selection import PURGERS, SPARK
from headgate.purge.sizer import Sizer
from headgate.workers.pool import PoolOptions, WorkerPool, module

DRIVER = ("env", "PYTHONHASHSEED=0", *module("headgate.pipelines.purge_driver"))
"""By its name: it is above us, and what it imports need not be installed. It has the same hashes as
Python on executors, which Spark gives this seed."""
WAITING_MAX = 1_000
"""Large tables that wait for Spark."""

logger = logging.getLogger(__name__)


def driver_pool(idle_seconds: float) -> WorkerPool:
    """The driver of one process. It starts with the first large table; tables wait for each other,
    as all of Spark's machines work for one."""
    return WorkerPool(DRIVER, PoolOptions(1, waiting_max=WAITING_MAX, idle_seconds=idle_seconds))


async def check_spark(pool: WorkerPool, options: bytes) -> None:
    """Refuse what Spark cannot start with: BadSetting says what is missing. Machines that do not
    answer now may do so later."""
    try:
        await pool.run_all("check", options)
    except Unavailable as error:
        logger.warning("large tables cannot be purged now: %s", error)
    except HeadgateError as error:
        why = f"{error.what}: {error.why}" if error.why else error.what
        raise PURGERS.unusable(SPARK, why=why, fix=error.fix) from error


class SparkDeleter:
    """Lets Spark delete what is large."""

    def __init__(self, small: Deleter, large: Deleter, sizer: Sizer, least: int) -> None:
        self._small = small
        self._large = large
        self._sizer = sizer
        self._least = least

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        """One stage; see `Deleter`."""
        is_large = await self._sizer.is_large(task.metadata_location, task.roots, self._least)
        deleter = self._large if is_large else self._small
        async with aclosing(deleter.run(task, fence)) as steps:
            async for progress in steps:
                yield progress
