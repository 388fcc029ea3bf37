"""What metadata tells of a table."""

from typing import Any

import msgspec
import pytest

from headgate.pipelines.inventory_facts import (
    COLUMNS,
    DAY_MS,
    POINTS_MAX,
    TARGET_BYTES,
    Facts,
    Metadata,
    Point,
    facts_of,
    spare_files,
    thinned,
)

NOW_MS = 1_800_000_000_000


def snapshot(
    id: int, days_ago: float, parent: int | None = None, **summary: object
) -> dict[str, Any]:
    told = {name.replace("_", "-"): str(value) for name, value in summary.items()}
    time_ms = round(NOW_MS - days_ago * DAY_MS)
    made = {"snapshot-id": id, "timestamp-ms": time_ms, "summary": {"operation": "append", **told}}
    return made | ({} if parent is None else {"parent-snapshot-id": parent})


def facts(*snapshots: dict[str, Any], created_ms: int | None = None, **more: Any) -> Facts:
    document = {
        "table-uuid": "u",
        "location": "file:///t",
        "last-updated-ms": NOW_MS,
        "format-version": 2,
        "snapshots": snapshots,
        "current-snapshot-id": snapshots[-1]["snapshot-id"] if snapshots else -1,
        "schemas": [{"anything": 1}],
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    metadata = msgspec.json.decode(msgspec.json.encode(document), type=Metadata)
    return facts_of(metadata, NOW_MS, created_ms)


def totals(size: int, files: int, records: int = 1) -> dict[str, int]:
    return {
        "total_files_size": size,
        "total_data_files": files,
        "total_records": records,
        "total_delete_files": 0,
    }


def test_the_current_snapshot_tells_the_size() -> None:
    """Bytes, records and files are its totals, and the average follows."""
    found = facts(snapshot(1, 1, **totals(1_000, 4, 70)))

    assert (found.bytes, found.records, found.files, found.delete_files) == (1_000, 70, 4, 0)
    assert (found.average_bytes, found.snapshots) == (250, 1)


def test_a_table_without_a_snapshot_is_empty() -> None:
    """Nothing was written, so everything is zero and nothing was written last."""
    found = facts()

    assert (found.bytes, found.files, found.records, found.snapshots) == (0, 0, 0, 0)
    assert (found.average_bytes, found.small_share, found.written) == (None, None, None)


def test_totals_that_are_not_told_are_not_made_up() -> None:
    """A snapshot without totals, or with nonsense in them, is unknown and not zero."""
    found = facts(snapshot(1, 1, total_files_size="many", total_records="-4"))

    assert (found.bytes, found.files, found.records, found.spare_files) == (None, None, None, None)


@pytest.mark.parametrize(
    ("size", "files", "spare"), [(0, 0, 0), (10, 1, 0), (10, 100, 99), (250, 3, 0), (251, 10, 7)]
)
def test_files_that_could_be_saved(size: int, files: int, spare: int) -> None:
    """As many as there are beyond those of the right size, which is 100 here."""
    assert spare_files(size, files, 100) == spare


def test_a_table_says_itself_how_large_files_should_be() -> None:
    """Its property counts; else Iceberg's default."""
    own = facts(properties={"write.target-file-size-bytes": "1000"})

    assert (own.target_bytes, facts().target_bytes) == (1_000, TARGET_BYTES)


def test_a_compaction_is_no_writing() -> None:
    """Rows were changed last by the snapshot before it."""
    found = facts(snapshot(1, 9), snapshot(2, 1, 1, operation="replace"))

    assert found.written == NOW_MS - 9 * DAY_MS


def test_growth_is_that_of_the_main_line() -> None:
    """Snapshots of branches, and those that were rolled back, are none of it."""
    found = facts(
        snapshot(1, 9, **totals(10, 1)),
        snapshot(7, 8, 1, **totals(99, 1)),
        snapshot(3, 1, 1, **totals(30, 1)),
    )
    points = msgspec.json.decode(found.growth)

    assert [point[1] for point in points] == [10, 30]


def test_the_size_of_a_month_ago() -> None:
    """The last snapshot before then tells; a table that is younger was empty."""
    older = facts(snapshot(1, 60, **totals(10, 1)), snapshot(2, 1, 1, **totals(25, 1)))
    younger = facts(snapshot(1, 3, **totals(25, 1)))
    expired = facts(snapshot(1, 3, **totals(25, 1)), created_ms=NOW_MS - 90 * DAY_MS)

    assert (older.bytes_month_ago, younger.bytes_month_ago) == (10, 0)
    assert expired.bytes_month_ago is None


def test_a_table_is_as_old_as_its_first_trace() -> None:
    """Unless the server knows when it was made."""
    log = [{"timestamp-ms": NOW_MS - 40 * DAY_MS, "metadata-file": "x"}]
    by_trace = facts(snapshot(1, 3), metadata_log=log)
    by_server = facts(snapshot(1, 3), created_ms=5)

    assert (by_trace.created, by_server.created) == (NOW_MS - 40 * DAY_MS, 5)


def test_long_histories_are_thinned() -> None:
    """So many points are kept, the first and the last among them, all in order."""
    points = [Point(time, time, 0) for time in range(10_000)]
    kept = thinned(points)

    assert len(kept) == POINTS_MAX
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert list(kept) == sorted(kept)


def test_each_fact_has_a_column() -> None:
    """What is found is written."""
    columns = {column.name for column in COLUMNS}

    assert set(Facts.__struct_fields__) <= columns
