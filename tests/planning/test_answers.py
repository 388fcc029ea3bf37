"""Answers in the form that clients read."""

import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest.scan_planning import PlanCompleted, ScanTasks
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from headgate.planning.literals import single_value
from tests.planning.plans import fetch_tasks, files, plan
from tests.planning.tables import EQUALITY, POSITIONS, MetadataTable, bounds, data_file

U = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
SECOND = 1_577_836_800


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        (BooleanType(), True, True),
        (LongType(), 5, 5),
        (DoubleType(), 5, 5.0),
        (StringType(), "a", "a"),
        (DateType(), -1, "1969-12-31"),
        (TimeType(), 1_000_001, "00:00:01.000001"),
        (TimestampType(), SECOND * 1_000_000, "2020-01-01T00:00:00"),
        (TimestamptzType(), SECOND * 1_000_000 + 5, "2020-01-01T00:00:00.000005+00:00"),
        (TimestampNanoType(), SECOND * 10**9 + 5, "2020-01-01T00:00:00.000000005"),
        (TimestamptzNanoType(), -1, "1969-12-31T23:59:59.999999999+00:00"),
        (DecimalType(9, 2), Decimal("1.50"), "1.50"),
        (UUIDType(), U, str(U)),
        (BinaryType(), b"\x0a\xff", "0AFF"),
        (FixedType(2), b"\x0a\xff", "0AFF"),
        (UnknownType(), 5, None),
        (LongType(), None, None),
    ],
)
def test_values_are_written_as_the_specification_says(
    type: IcebergType, value: Any, expected: Any
) -> None:
    """Dates and times in words, decimals as text, bytes as digits."""
    assert single_value(type, value) == expected


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    """Format 3, partitioned in many ways, with statistics and all kinds of deletes."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "ts", TimestamptzType(), required=False),
        NestedField(3, "u", UUIDType(), required=False),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, BucketTransform(4), "id_bucket"),
        PartitionField(2, 1001, YearTransform(), "year"),
        PartitionField(2, 1002, MonthTransform(), "month"),
        PartitionField(2, 1003, DayTransform(), "day"),
        PartitionField(2, 1004, HourTransform(), "hour"),
        PartitionField(3, 1005, IdentityTransform(), "u"),
    )
    partition = [1, 50, 600, 18262, 438288, U]
    table = MetadataTable(tmp_path, schema, (spec,), version=3)
    data = data_file(
        "data",
        partition=partition,
        split_offsets=[4, 1000],
        sort_order_id=1,
        key_metadata=b"\xab\xcd",
        column_sizes={1: 10, 2: 20},
        value_counts={1: 10, 2: 10},
        null_value_counts={1: 0, 2: 0},
        nan_value_counts={},
        **bounds(1, 255),
    )
    removed = [
        data_file("positions", partition=partition, content=POSITIONS),
        data_file("values", partition=partition, content=EQUALITY, equality_ids=[1]),
        data_file(
            "vector",
            partition=partition,
            content=POSITIONS,
            file_format="puffin",
            referenced_data_file="other",
            content_offset=1,
            content_size_in_bytes=2,
        ),
    ]
    table.snapshot(
        1,
        [
            table.manifest([data, data_file("other", partition=partition)], first_row_id=7),
            table.manifest(removed, number=2),
        ],
    )
    return table


def test_a_data_file_has_all_its_fields(table: MetadataTable) -> None:
    """Names, cases and encodings are those of the specification."""
    [data, _] = plan(table, stats_fields=["id", "_file"])["file-scan-tasks"]

    assert data["data-file"] == {
        "spec-id": 0,
        "content": "data",
        "file-path": "data",
        "file-format": "parquet",
        "partition": [1, 50, 600, "2020-01-01", 438288, str(U)],
        "file-size-in-bytes": 1000,
        "record-count": 10,
        "key-metadata": "ABCD",
        "split-offsets": [4, 1000],
        "sort-order-id": 1,
        "first-row-id": 7,
        "column-sizes": {"keys": [1], "values": [10]},
        "value-counts": {"keys": [1], "values": [10]},
        "null-value-counts": {"keys": [1], "values": [0]},
        "nan-value-counts": {"keys": [], "values": []},
        "lower-bounds": {"keys": [1], "values": ["0100000000000000"]},
        "upper-bounds": {"keys": [1], "values": ["FF00000000000000"]},
    }


def test_statistics_are_sent_only_when_asked_for(table: MetadataTable) -> None:
    """They are the largest part of an answer, and few clients need them."""
    data = plan(table)["file-scan-tasks"][0]["data-file"]

    assert not {"column-sizes", "value-counts", "lower-bounds", "upper-bounds"} & set(data)


def test_a_residual_is_always_there(table: MetadataTable) -> None:
    """Java cannot read a task without one, and `true` says that nothing is left to test."""
    filter = {"type": "gt-eq", "term": "ts", "value": "2020-01-01T00:00:00+00:00"}

    assert {task["residual-filter"] for task in plan(table)["file-scan-tasks"]} == {True}
    assert plan(table, filter=filter)["file-scan-tasks"][0]["residual-filter"] is True


def test_pyiceberg_reads_a_plan(table: MetadataTable) -> None:
    """Its models accept every part of the answer, and mean the same by it."""
    filter = {"type": "and", "left": {"type": "gt", "term": "id", "value": 0}}
    filter["right"] = {"type": "in", "term": "ts", "values": ["2020-01-01T00:30:00+00:00"]}
    answer = plan(table, filter=filter, stats_fields=["id", "ts"])

    read = PlanCompleted.model_validate(answer)

    assert [task.data_file.file_path for task in read.file_scan_tasks] == ["data", "other"]
    assert "GreaterThan" in str(read.file_scan_tasks[0].residual_filter)
    assert {file.file_path for file in read.delete_files} == {"positions", "values", "vector"}


def test_pyiceberg_reads_the_tasks_of_a_group(table: MetadataTable) -> None:
    """Answers about groups have the same form, without a status."""
    manifests = table.snapshots[1].manifests
    table.snapshot(2, [*[manifests[0]] * 40, manifests[1]])
    answer = plan(table)

    read = PlanCompleted.model_validate(answer)
    tasks = ScanTasks.model_validate(fetch_tasks(table, read.plan_tasks[0]))

    assert len(tasks.file_scan_tasks) == 64


def test_a_partition_of_a_dropped_column_is_unknown(table: MetadataTable) -> None:
    """Clients bind specs to the current schema, where the column has no type any more."""
    table.extra = {
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "fields": [{"id": 1, "name": "id", "type": "long", "required": False}],
            }
        ]
    }

    data = plan(table)["file-scan-tasks"][0]["data-file"]

    assert data["partition"] == [1, None, None, None, None, None]


def test_a_transform_prunes_where_a_spec_has_the_same(table: MetadataTable) -> None:
    """A test of a bucket is decided by a partition of the same buckets, and by no other."""

    def bucket(transform: str, value: int) -> dict[str, Any]:
        term = {"type": "transform", "transform": transform, "term": "id"}
        return {"type": "eq", "term": term, "value": value}

    same, other = plan(table, filter=bucket("bucket[4]", 1)), bucket("bucket[8]", 1)

    assert files(same) == ["data", "other"]
    assert same["file-scan-tasks"][0]["residual-filter"] is True
    assert files(plan(table, filter=bucket("bucket[4]", 2))) == []
    assert plan(table, filter=other)["file-scan-tasks"][0]["residual-filter"] == other
