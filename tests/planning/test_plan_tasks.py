"""Plans that are too large for one answer, and the tokens that stand for their parts."""

import json
from pathlib import Path

import pytest

from headgate.errors import FileMissing, PlanNotFound, PlanTaskNotFound
from headgate.planning import scan
from headgate.planning.files import LocalFiles
from headgate.planning.tokens import Pinned, pack
from tests.planning.plans import deletes, fetch_tasks, files, plan
from tests.planning.tables import POSITIONS, MetadataTable, bounds, data_file

MANIFESTS = 80


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    """80 manifests of two files, and one of deletes that concern all."""
    table = MetadataTable(tmp_path)
    manifests = [
        table.manifest([data_file(f"data-{n}-{i}", **bounds(n, n)) for i in range(2)], number=1)
        for n in range(MANIFESTS)
    ]
    removed = table.manifest([data_file("removed", content=POSITIONS)], number=2)
    table.snapshot(1, [*manifests[:40], removed, *manifests[40:]])
    return table


def test_many_manifests_become_plan_tasks(table: MetadataTable) -> None:
    """Together the tasks give every file once, each with the deletes of the whole snapshot."""
    answer = plan(table)

    groups = [deletes(fetch_tasks(table, task)) for task in answer["plan-tasks"]]

    assert "file-scan-tasks" not in answer
    assert [len(group) for group in groups] == [64, 64, 32]
    found = {path: removed for group in groups for path, removed in group.items()}
    assert found == {f"data-{n}-{i}": {"removed"} for n in range(MANIFESTS) for i in range(2)}


def test_plan_tasks_keep_the_filter(table: MetadataTable) -> None:
    """The second request carries nothing but the token."""
    answer = plan(table, filter={"type": "eq", "term": "id", "value": 50}, stats_fields=["id"])

    tasks = [
        task
        for token in answer["plan-tasks"]
        for task in fetch_tasks(table, token)["file-scan-tasks"]
    ]

    assert [task["data-file"]["file-path"] for task in tasks] == ["data-50-0", "data-50-1"]
    assert tasks[0]["residual-filter"] == {"type": "eq", "term": "id", "value": 50}
    assert tasks[0]["data-file"]["lower-bounds"] == {"keys": [1], "values": ["3200000000000000"]}


def test_plan_tasks_read_the_snapshot_of_their_plan(table: MetadataTable) -> None:
    """A commit between planning and reading changes nothing."""
    answer = plan(table)
    table.snapshot(2, [table.manifest([data_file("later")], number=3)], parent=1)

    found = [path for task in answer["plan-tasks"] for path in files(fetch_tasks(table, task))]

    assert len(found) == 2 * MANIFESTS


def test_a_plan_can_be_fetched_again(table: MetadataTable) -> None:
    """Its id holds the whole request, so any node can answer, also after a commit."""
    answer = plan(table, filter={"type": "lt", "term": "id", "value": 2})
    table.snapshot(2, [table.manifest([data_file("later")], number=3)], parent=1)

    fetched = json.loads(
        next(scan.fetch_plan(LocalFiles(), table.metadata(), answer["plan-id"].encode()))
    )

    assert fetched == {"status": "completed", "plan-tasks": answer["plan-tasks"]}


def test_a_plan_with_a_long_filter_is_over_once_it_is_answered(table: MetadataTable) -> None:
    """Its id has to fit into a path, so it is cut; the answer itself is complete."""
    values = [n * 7919 % 1_000_003 for n in range(5_000)]

    answer = plan(table, filter={"type": "in", "term": "id", "values": [50, *values]})

    assert len(answer["plan-id"]) < 2_000
    assert len(answer["plan-tasks"]) == 3
    with pytest.raises(PlanNotFound):
        next(scan.fetch_plan(LocalFiles(), table.metadata(), answer["plan-id"].encode()))


def test_a_very_long_filter_makes_fewer_and_larger_tasks(
    table: MetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter is repeated in each task, and the answer is bounded."""
    monkeypatch.setattr(scan, "PLAN_TASKS_BYTES_MAX", 1)

    [task] = plan(table)["plan-tasks"]

    assert len(files(fetch_tasks(table, task))) == 2 * MANIFESTS


def test_tasks_of_a_snapshot_that_is_gone_are_gone(table: MetadataTable) -> None:
    """After an expiry the client has to plan again."""
    answer = plan(table)
    del table.snapshots[1]

    with pytest.raises(PlanTaskNotFound):
        fetch_tasks(table, answer["plan-tasks"][0])
    with pytest.raises(PlanNotFound):
        next(scan.fetch_plan(LocalFiles(), table.metadata(), answer["plan-id"].encode()))


def test_positions_that_do_not_exist_give_no_files(table: MetadataTable) -> None:
    """A made-up token can name positions in this table's list and nothing else."""
    task = pack(Pinned(1, 1, None, 0, filter=b"true", manifests=[-1, 40, 10_000]))

    assert fetch_tasks(table, task) == {"file-scan-tasks": []}


def test_few_rows_need_few_manifests(table: MetadataTable) -> None:
    """A limit stops planning as soon as enough rows are certain."""
    table.snapshot(1, [found for found in table.snapshots[1].manifests if found.content == 0])

    assert files(plan(table, min_rows_requested=35)) == [
        "data-0-0",
        "data-0-1",
        "data-1-0",
        "data-1-1",
    ]


def test_rows_that_may_be_deleted_or_filtered_do_not_count(table: MetadataTable) -> None:
    """A limit never leaves out a file that may be needed to fulfil it."""
    filter = {"type": "lt-eq", "term": "id", "value": 10}

    assert len(plan(table, min_rows_requested=5)["plan-tasks"]) == 3
    table.snapshot(1, [found for found in table.snapshots[1].manifests if found.content == 0][:20])
    assert len(files(plan(table, min_rows_requested=5, filter=filter))) == 22


def test_deletes_are_read_once_for_all_tasks_of_a_plan(table: MetadataTable) -> None:
    """A large table with many deletes would be read once for every group otherwise."""
    reads: list[str] = []

    class Counting(LocalFiles):
        def read(self, location: str) -> bytes:
            reads.append(location)
            return super().read(location)

    counting = Counting()
    for task in plan(table)["plan-tasks"]:
        next(scan.fetch_tasks(counting, table.metadata(), task.encode()))

    assert reads.count(table.snapshots[1].manifests[40].manifest_path) == 1


def test_a_scan_never_gets_the_deletes_of_another(table: MetadataTable) -> None:
    """Another filter, other files or other specs over the same manifests are another scan."""
    [task, *_] = plan(table)["plan-tasks"]
    fetch_tasks(table, task)
    removed = table.snapshots[1].manifests[40]

    class Refusing(LocalFiles):
        def read(self, location: str) -> bytes:
            return super().read("/gone" if location == removed.manifest_path else location)

    with pytest.raises(FileMissing):
        next(scan.fetch_tasks(Refusing("/"), table.metadata(), task.encode()))
