"""A real worker process and a table that is a bomb: one request fails, and the next is answered."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.catalog.ports import Roots
from headgate.errors import BadMetadata, TooLarge
from headgate.planning.files import LocalFiles
from headgate.planning.planner import WORKER, Planner
from headgate.workers.pool import PoolOptions, WorkerPool
from headgate.workers.turns import NO_TENANT
from tests.planning.bombs import avro, list_bomb, sized
from tests.planning.tables import MetadataTable, data_file

FILES = 3


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(WORKER, PoolOptions(workers=1))
    yield pool
    await pool.close()


def made(folder: Path) -> MetadataTable:
    folder.mkdir()
    table = MetadataTable(folder)
    table.snapshot(1, [table.manifest([data_file(f"{number}") for number in range(FILES)])])
    return table


def below(_roots: Roots) -> LocalFiles:
    return LocalFiles()


async def test_a_table_that_is_a_bomb_is_refused_and_the_next_scan_is_planned(
    tmp_path: Path, pool: WorkerPool
) -> None:
    """By the same process: nothing of the bomb went off."""
    planner = Planner(pool, below)
    good, bad = made(tmp_path / "good"), made(tmp_path / "bad")
    [listed] = (tmp_path / "bad").glob("snap-*.avro")
    spoilt = listed.read_bytes().replace(sized(b"deflate"), sized(b"null"))
    bombs = [
        (list_bomb(500_000, blocks=100), TooLarge),
        (avro(b"[" * 10_000, 1, b""), TooLarge),
        (spoilt, BadMetadata),
    ]

    for bomb, error in bombs:
        listed.write_bytes(bomb)
        with pytest.raises(error):
            await planner.plan(bad.metadata(), b"{}", (), NO_TENANT)
        answer = json.loads(await planner.plan(good.metadata(), b"{}", (), NO_TENANT))
        assert len(answer["file-scan-tasks"]) == FILES
    assert pool.processes == 1
