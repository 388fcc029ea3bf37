"""What executors do of a purge, without Spark, and how its work is divided."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from headgate.clock import NEVER, SystemClock, deadline_from
from headgate.errors import LeaseLost, Unsupported
from headgate.pipelines.bounds import SPARK_FILES_PER_JOB, SPARK_FILES_PER_TASK
from headgate.pipelines.purge_executors import Order, delete_files, new_order, read_manifests
from headgate.pipelines.purge_stages import files_in, in_parts, tasks_for
from headgate.planning.files import LocalFiles
from headgate.planning.reachable import Listed, Walk
from headgate.purge.fence import Fence, new_fence
from headgate.purge.removal import Removed
from headgate.purge.territory import Territory
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.planning.tables import data_file
from tests.unit.purge.dropped import SIZE, DroppedTable, files_below


@pytest.fixture
def fence() -> Iterator[Fence]:
    """Open for as long as a test takes."""
    clock = SystemClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(600))
        yield fence


def order_of(table: DroppedTable, fence: Fence, needed: frozenset[int] = frozenset()) -> Order:
    """What a driver on this machine says."""
    task = table.task()
    files = pickle.dumps(WorkerFiles(StorageOptions(local_sync=False), task.roots))
    return new_order(task, needed, files, str(fence.path))


def listed(table: DroppedTable) -> pa.RecordBatch:
    """The manifests of a table, as executors get them."""
    walk = Walk(table.root.read_bytes(), LocalFiles())
    return pa.RecordBatch.from_pylist([one._asdict() for one in walk.every_manifest()])


def found(order: Order, table: DroppedTable) -> pa.Table:
    """What executors find in all manifests."""
    return pa.Table.from_batches(read_manifests(order, [listed(table)]))


def removed(order: Order, files: pa.Table) -> list[Removed]:
    """What comes of files."""
    batches = delete_files(order, lambda _: None, files.to_batches())
    rows = [row for batch in batches for row in batch.column("removed").to_pylist()]
    return [msgspec.msgpack.decode(row, type=Removed) for row in rows]


def test_executors_find_and_delete_files(tmp_path: Path, fence: Fence) -> None:
    """What is counted is what they tell."""
    table = DroppedTable(tmp_path).with_many(6, manifests=2)
    order = order_of(table, fence)
    counted: list[Removed] = []
    batches = found(order, table).to_batches(max_chunksize=4)
    told = list(delete_files(order, counted.append, batches))

    assert sum(one.deleted for one in counted) == 6
    assert sum(one.bytes for one in counted) == 6 * SIZE
    assert sum(batch.num_rows for batch in told) == len(counted)
    assert files_below(table.data) == set()


def test_a_file_that_comes_to_a_task_twice_counts_once(tmp_path: Path, fence: Fence) -> None:
    """Several manifests may name it."""
    table = DroppedTable(tmp_path).with_many(6, manifests=2)
    order = order_of(table, fence)
    files = found(order, table)
    told = removed(order, pa.concat_tables([files, files]))

    assert sum(one.deleted for one in told) == 6
    assert sum(one.missing for one in told) == 0


def test_tasks_of_one_purge_share_what_they_know_of_folders(tmp_path: Path, fence: Fence) -> None:
    """A folder is looked at once for checksums; they go with their files, whichever task has them;
    another purge looks anew."""
    table = DroppedTable(tmp_path).with_many(2)
    order = order_of(table, fence)
    files = found(order, table)
    twins = [table.data / f".0-{number}.parquet.crc" for number in range(2)]
    for twin in twins:
        twin.touch()
    first, second = (files.slice(number, 1) for number in range(2))

    assert [one.deleted for part in (first, second) for one in removed(order, part)] == [1, 1]
    assert files_below(table.data) == set()

    table.file("0-0.parquet")
    twins[0].touch()
    with new_fence(SystemClock()) as another:
        another.extend(deadline_from(SystemClock()).after(600))
        removed(order._replace(fence=str(another.path)), first)
    assert files_below(table.data) == set()


def test_a_manifest_that_cannot_be_read_is_told_with_its_reason(
    tmp_path: Path, fence: Fence
) -> None:
    """One that is missing leads to nothing; the files of all others go."""
    table = DroppedTable(tmp_path).with_many(6, manifests=3)
    order = order_of(table, fence)
    [cut, gone, _] = [Path(path) for path in listed(table).column("path").to_pylist()]
    cut.write_bytes(cut.read_bytes()[:-10])
    gone_rows = listed(table)
    gone.unlink()
    files = pa.Table.from_batches(read_manifests(order, [gone_rows]))
    [line] = [line for one in removed(order, files) for line in one.failed]

    assert Path(line.path) == cut
    assert "bytes of" in line.why
    assert len(files_below(table.data)) == 4


def test_executors_of_this_machine_see_the_fence(tmp_path: Path, fence: Fence) -> None:
    """Others cannot: there the driver ends their tasks."""
    table = DroppedTable(tmp_path).with_many(2)
    order = order_of(table, fence)
    files = found(order, table)
    fence.extend(NEVER)
    with pytest.raises(LeaseLost):
        removed(order, files)
    with pytest.raises(LeaseLost):
        found(order, table)
    elsewhere = order._replace(machine="another")

    assert len(files_below(table.data)) == 2
    assert sum(one.deleted for one in removed(elsewhere, files)) == 2


def test_files_that_others_need_stay(tmp_path: Path, fence: Fence) -> None:
    """They are known by their hashes, if these can be compared."""
    table = DroppedTable(tmp_path).with_many(2)
    plain = order_of(table, fence)
    [needed, _] = sorted(found(plain, table).column("path").to_pylist())
    order = order_of(table, fence, frozenset({key_of(table, needed)}))
    with pytest.raises(Unsupported, match="another seed"):
        removed(order._replace(sample=0), found(order, table))
    told = removed(order, found(order, table))

    assert sum(one.kept for one in told) == 1
    assert files_below(table.data) == {Path(needed).name}


def test_executors_leave_what_is_not_in_the_table_s_own_places(
    tmp_path: Path, fence: Fence
) -> None:
    """They count and list it; also a manifest elsewhere that cannot be read fails nothing."""
    table = DroppedTable(tmp_path / "w")
    loose = [tmp_path / "w" / "loose", tmp_path / "elsewhere"]
    for file in loose:
        file.write_bytes(b"x")
    names = [data_file(str(file)) for file in loose]
    manifest = table.table.manifest([table.row("a.parquet"), *names])
    table.table.snapshot(1, [manifest])
    table.root.write_bytes(table.table.metadata())
    order = order_of(table, fence)
    elsewhere = pa.RecordBatch.from_pylist([Listed(str(loose[0]))._asdict()])
    files = pa.Table.from_batches(read_manifests(order, [listed(table), elsewhere]))
    told = removed(order, files)

    assert [one.failed for one in told if one.failed] == []
    left = [one.left_outside for one in told if one.left_outside.count]
    assert sum(one.count for one in left) == 2
    assert {path for one in left for path in one.paths} == set(map(str, loose))
    assert sum(one.deleted for one in told) == 1
    assert all(file.exists() for file in loose)


def key_of(table: DroppedTable, path: str) -> int:
    """The hash of a file, as steps make it."""
    task = table.task()
    folder, name = Territory(task.roots, task.own, task.foreign).find(path)
    return hash((folder.key, name))


def test_work_is_divided_by_the_number_of_files() -> None:
    """Manifests whose lists do not tell it are guessed by their length."""
    half = Listed("a", 1, SPARK_FILES_PER_JOB // 2)
    tasks = in_parts([half, half], files_in, SPARK_FILES_PER_TASK)
    parts = list(in_parts([half, half, half, Listed("b", 200)], files_in))

    assert [len(part) for part in parts] == [2, 2]
    assert [len(task) for task in tasks] == [1, 1]
    assert list(in_parts([], files_in)) == []
    assert (files_in(Listed("b", 200)), files_in(Listed("c"))) == (2, 1)
    assert [tasks_for(count) for count in (0, 1, SPARK_FILES_PER_TASK + 1)] == [1, 1, 2]
