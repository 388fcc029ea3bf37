"""Deleting large tables with Spark and small ones as ever, seen from the parent."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from headgate.errors import HeadgateError, Unavailable
from headgate.purge.deleter import Deleter, Progress, Task
from headgate.purge.selection import PURGERS, SPARK
from headgate.purge.sizer import Sizer
from headgate.workers.pool import WorkerPool

logger = logging.getLogger(__name__)


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
