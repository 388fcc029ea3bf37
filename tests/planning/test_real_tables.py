"""Tables that pyiceberg wrote, planned in real worker processes."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, MonthTransform, TruncateTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType

from headgate.errors import BadRequest, FileMissing, Forbidden, PlanNotFound
from headgate.planning.files import LocalFiles
from headgate.planning.planner import WORKER, Planner
from headgate.planning.reachable import Walk
from headgate.workers.pool import WorkerPool
from headgate.workers.turns import NO_TENANT
from tests.planning.batches import batches
from tests.planning.tables import MetadataTable, bounds, data_file

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "day", DateType(), required=False),
)
SPEC = PartitionSpec(
    PartitionField(1, 1000, BucketTransform(3), "id_bucket"),
    PartitionField(3, 1001, MonthTransform(), "month"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def table(folder: Path) -> Iterator[Table]:
    """Three appends, a new partitioning, one more append, and a delete."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", SCHEMA, partition_spec=SPEC)
    for month in (1, 2, 3):
        table.append(rows(month))
    with table.update_spec() as update:
        update.remove_field("id_bucket")
        update.add_field("name", TruncateTransform(1), "name_start")
    table.append(rows(4))
    table.delete("name == 'b1'")
    yield table
    catalog.close()


def rows(month: int) -> pa.Table:
    return pa.table(
        {
            "id": [month * 10 + n for n in range(9)] + [None],
            "name": [f"{'abc'[n % 3]}{n}" for n in range(10)],
            "day": [date(2020, month, 1 + n) for n in range(10)],
        },
        schema=SCHEMA.as_arrow(),
    )


def metadata_of(table: Table) -> bytes:
    return Path(table.metadata_location.removeprefix("file://")).read_bytes()


@pytest.fixture
async def planner() -> AsyncIterator[Planner]:
    pool = WorkerPool(WORKER)
    yield Planner(pool, lambda roots: LocalFiles(*roots))
    await pool.close()


@pytest.mark.parametrize(
    "filter",
    [
        True,
        {"type": "eq", "term": "id", "value": 25},
        {"type": "gt", "term": "day", "value": "2020-03-05"},
        {"type": "starts-with", "term": "name", "value": "a"},
        {"type": "not", "child": {"type": "in", "term": "id", "values": [11, 12]}},
        {"type": "is-null", "term": "id"},
        {
            "type": "and",
            "left": {"type": "lt-eq", "term": "day", "value": "2020-02-04"},
            "right": {"type": "not-eq", "term": "name", "value": "c2"},
        },
    ],
)
async def test_the_files_and_residuals_are_those_of_pyiceberg(
    table: Table, planner: Planner, filter: Any
) -> None:
    """The server plans what the client would have planned."""
    expression = AlwaysTrue() if filter is True else BooleanExpression.model_validate(filter)
    request = json.dumps({"filter": filter}).encode()

    answer = json.loads(await planner.plan(metadata_of(table), request, (), NO_TENANT))

    expected = {task.file.file_path: task.residual for task in table.scan(expression).plan_files()}
    tasks = {task["data-file"]["file-path"]: task for task in answer["file-scan-tasks"]}
    assert set(tasks) == set(expected)
    for path, residual in expected.items():
        null = None in tasks[path]["data-file"]["partition"]  # its tests are left to the client
        if isinstance(residual, AlwaysTrue) and not null:
            assert tasks[path]["residual-filter"] is True


def test_every_file_of_a_table_is_reached(table: Table, folder: Path) -> None:
    """The walk finds what lies in the table's folder, and nothing else."""
    walk = batches(Walk(metadata_of(table), LocalFiles()), table.metadata_location)

    found = [path for batch in walk for path in batch.paths]

    lying = [str(path) for path in (folder / "w").rglob("*") if path.is_file()]
    assert sorted(path.removeprefix("file://") for path in found) == sorted(lying)


async def test_a_plan_is_fetched_and_checked_by_its_id(table: Table, planner: Planner) -> None:
    """Cancelling asks only whether the id is one of ours."""
    metadata = metadata_of(table)
    answer = json.loads(await planner.plan(metadata, b"{}", (), NO_TENANT))

    fetched = json.loads(await planner.fetch_plan(metadata, answer["plan-id"], (), NO_TENANT))

    planner.check_plan(answer["plan-id"])
    assert fetched["file-scan-tasks"] == answer["file-scan-tasks"]
    with pytest.raises(PlanNotFound):
        planner.check_plan("rubbish")
    with pytest.raises(PlanNotFound):
        await planner.fetch_plan(metadata, "rubbish", (), NO_TENANT)


async def test_files_outside_of_the_allowed_folder_are_not_read(
    table: Table, planner: Planner, tmp_path: Path
) -> None:
    """Metadata comes from clients, and may name any file."""
    with pytest.raises(Forbidden):
        await planner.plan(metadata_of(table), b"{}", (str(tmp_path / "elsewhere"),), NO_TENANT)


async def test_errors_come_out_of_the_worker(table: Table, planner: Planner) -> None:
    """They are the same as if planning ran here."""
    metadata = metadata_of(table)
    with pytest.raises(BadRequest, match="Cannot find field 'x'"):
        await planner.plan(metadata, b'{"filter": {"type": "is-null", "term": "x"}}', (), NO_TENANT)
    lost = metadata.replace(b"/snap-", b"/lost-")
    with pytest.raises(FileMissing):
        await planner.plan(lost, b"{}", (), NO_TENANT)


@pytest.mark.parametrize("depth", [2_000, 100_000])
async def test_long_filters_do_not_break_a_worker(
    table: Table, planner: Planner, depth: int
) -> None:
    """Clients write a thousand alternatives as a thousand levels."""
    leaf = b'{"type":"eq","term":"id","value":5}'
    filter = b'{"type":"or","left":' * depth + leaf + (b',"right":' + leaf + b"}") * depth
    request = b'{"filter":' + filter + b"}"

    if depth > 10_000:
        with pytest.raises(BadRequest):
            await planner.plan(metadata_of(table), request, (), NO_TENANT)
    else:
        assert json.loads(await planner.plan(metadata_of(table), request, (), NO_TENANT))


def test_the_server_does_not_import_pyiceberg() -> None:
    """It costs tens of megabytes and half a second: only workers pay that."""
    import subprocess  # noqa: PLC0415

    code = "import sys, headgate.planning.planner; print('pyiceberg' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert answer.stdout == b"False\n"


@contextmanager
def longest_work() -> Iterator[list[float]]:
    """For how many seconds the event loop worked on one thing, at most. Its own time counts: what
    other processes take from the machine is nothing that planning could give back."""
    longest = [0.0]

    async def watch() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest[0] = max(longest[0], time.thread_time() - before)

    watching = asyncio.ensure_future(watch())
    yield longest
    watching.cancel()


async def test_planning_many_files_does_not_hold_up_the_loop(
    tmp_path: Path, planner: Planner
) -> None:
    """Other requests wait for milliseconds, however large the table is."""
    table = MetadataTable(tmp_path)
    manifest = table.manifest([data_file(f"data-{n}", **bounds(n, n)) for n in range(10_000)])
    table.snapshot(1, [manifest] * 5)
    metadata = table.metadata()
    [task, *_] = json.loads(await planner.plan(metadata, b"{}", (), NO_TENANT))["plan-tasks"]

    with longest_work() as work:
        answer = await planner.fetch_tasks(metadata, task, (), NO_TENANT)

    assert len(json.loads(answer)["file-scan-tasks"]) == 10_000
    assert work[0] < 0.01
