"""Large tables for Spark, small ones as ever, as the parent sees it."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import pytest

from headgate.errors import BadSetting, Unavailable, Unsupported
from headgate.purge.deleter import WORKER, Deleter, Progress, Task
from headgate.purge.sizer import Sizer
from headgate.purge.spark_deleter import SparkDeleter, check_spark
from headgate.purge.spark_driver import DRIVER, driver_pool
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from headgate.workers.pool import WorkerPool
from tests.unit.purge.dropped import DroppedTable

SMALL, LARGE = Progress("small"), Progress("large")


class Told:
    """A deleter that only tells who it is."""

    def __init__(self, word: Progress) -> None:
        self._word = word

    async def run(self, task: Task, fence: Path) -> AsyncGenerator[Progress]:
        assert task.metadata_location
        assert fence.name
        yield self._word


class Refusing:
    """A driver that refuses what it is to check."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def run_all(self, _job: str, *_arguments: bytes) -> list[bytes]:
        raise self._error


@pytest.fixture
async def sizer() -> AsyncIterator[Sizer]:
    pool = WorkerPool(WORKER)
    yield Sizer(pool, partial(WorkerFiles, StorageOptions(local_sync=False)))
    await pool.close()


async def told(sizer: Sizer, least: int, task: Task) -> Progress:
    """Who deletes a table, if Spark gets those of so many files."""
    small, large = (cast("Deleter", Told(word)) for word in (SMALL, LARGE))
    [word] = [one async for one in SparkDeleter(small, large, sizer, least).run(task, Path("/f"))]
    return word


async def test_tables_of_many_files_are_for_spark(sizer: Sizer, tmp_path: Path) -> None:
    """From the threshold on; 0 means all, also what is not looked at."""
    task = DroppedTable(tmp_path).with_many(6, manifests=2).task()

    assert await told(sizer, 7, task) == SMALL
    assert await told(sizer, 6, task) == LARGE
    assert await told(sizer, 0, task) == LARGE


async def test_what_cannot_be_read_is_not_for_spark(sizer: Sizer, tmp_path: Path) -> None:
    """A child says what is wrong with it."""
    table = DroppedTable(tmp_path)
    missing = await told(sizer, 1, table.task())
    table.root.write_bytes(b"{")

    assert missing == SMALL
    assert await told(sizer, 1, table.task()) == SMALL


async def test_what_is_missing_is_said_in_one_line() -> None:
    """As of any purger that cannot be used."""
    error = Unsupported("Java was not found", why="it is not in the PATH", fix="Install Java 17")
    with pytest.raises(BadSetting) as caught:
        await check_spark(cast("WorkerPool", Refusing(error)), b"{}")

    assert str(caught.value) == (
        "purger 'spark' cannot be used: Java was not found: it is not in the PATH. Install Java 17"
    )


async def test_machines_that_do_not_answer_keep_no_server_from_starting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They may answer when a table is to be purged."""
    caplog.set_level(logging.WARNING)
    await check_spark(cast("WorkerPool", Refusing(Unavailable("no master"))), b"{}")

    assert "large tables cannot be purged now: no master" in caplog.text


async def test_the_real_driver_refuses_what_is_no_master() -> None:
    """It has started no Spark for that."""
    pool = driver_pool(60.0)
    try:
        with pytest.raises(BadSetting, match=r"^purger 'spark' cannot be used: master 'moon' "):
            await check_spark(pool, msgspec.json.encode({"master": "moon"}))
    finally:
        await pool.close()

    assert "PYTHONHASHSEED=0" in DRIVER
