"""Which snapshot is read, with which schema, in which format version."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.manifest import ManifestEntryStatus

from headgate.errors import BadMetadata, BadRequest, FileMissing
from tests.planning.plans import files, plan
from tests.planning.tables import SCHEMA, MetadataTable, bounds, data_file, entry

DELETED, EXISTING = ManifestEntryStatus.DELETED, ManifestEntryStatus.EXISTING


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    """Appends 1, 2 and 4, and between them an overwrite, 3."""
    table = MetadataTable(tmp_path)
    one = table.manifest([data_file("one")], number=1, snapshot=1)
    two = table.manifest([data_file("two")], number=2, snapshot=2)
    three = table.manifest(
        [
            entry(data_file("one"), DELETED, snapshot_id=3, sequence_number=1),
            entry(data_file("three"), snapshot_id=3),
        ],
        number=3,
        snapshot=3,
    )
    four = table.manifest(
        [data_file("four"), entry(data_file("two"), EXISTING, snapshot_id=2, sequence_number=2)],
        number=4,
        snapshot=4,
    )
    table.snapshot(1, [one])
    table.snapshot(2, [two, one], parent=1)
    table.snapshot(3, [three, two], parent=2, operation="overwrite")
    table.snapshot(4, [four, three], parent=3)
    return table


def test_without_a_snapshot_the_current_one_is_read(table: MetadataTable) -> None:
    """Deleted entries are left out, existing ones are not."""
    assert files(plan(table)) == ["four", "two", "three"]


def test_an_older_snapshot_is_read_as_it_was(table: MetadataTable) -> None:
    """Time travel names a snapshot."""
    assert files(plan(table, snapshot_id=2)) == ["two", "one"]


def test_a_table_without_snapshots_has_no_files(tmp_path: Path) -> None:
    """A new table is empty, and not an error."""
    assert plan(MetadataTable(tmp_path))["file-scan-tasks"] == []


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (1, 2, ["two"]),
        (1, 4, ["four", "two"]),
        (2, 4, ["four"]),
        (2, 3, []),
        (4, 4, []),
    ],
)
def test_a_range_reads_what_was_appended_after_its_start(
    table: MetadataTable, start: int, end: int, expected: list[str]
) -> None:
    """The start is left out, the end is not, and overwrites between them are passed over."""
    assert files(plan(table, start_snapshot_id=start, end_snapshot_id=end)) == expected


@pytest.mark.parametrize(
    "request_",
    [
        {"snapshot_id": 9},
        {"snapshot_id": 1, "start_snapshot_id": 1, "end_snapshot_id": 2},
        {"snapshot_id": 1, "end_snapshot_id": 2},
        {"start_snapshot_id": 1},
        {"end_snapshot_id": 1},
        {"start_snapshot_id": 2, "end_snapshot_id": 1},
        {"start_snapshot_id": 9, "end_snapshot_id": 4},
        {"start_snapshot_id": 1, "end_snapshot_id": 9},
        {"snapshot_id": "1"},
        {"snapshot_id": 1 << 70},
        {"min_rows_requested": -1},
        {"select": "id"},
        {"stats_fields": [1]},
        {"case_sensitive": "yes"},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    table: MetadataTable, request_: dict[str, Any]
) -> None:
    """Unknown snapshots, mixed ranges and wrong types are the client's mistake."""
    with pytest.raises(BadRequest):
        plan(table, **request_)


def test_the_schema_of_the_snapshot_is_used_when_asked_for(table: MetadataTable) -> None:
    """A column that was renamed has its old name in an old snapshot."""
    table.snapshots[2].schema_id = 1
    old = json.loads(SCHEMA.model_dump_json())
    new = json.loads(SCHEMA.model_dump_json()) | {"schema-id": 2}
    new["fields"][0]["name"] = "number"
    table.extra = {"schemas": [old | {"schema-id": 1}, new], "current-schema-id": 2}
    by_old_name = {"type": "not-null", "term": "id"}

    answer = plan(table, snapshot_id=2, use_snapshot_schema=True, filter=by_old_name)

    assert files(answer) == ["two", "one"]
    with pytest.raises(BadRequest):
        plan(table, snapshot_id=2, filter=by_old_name)


def test_names_are_matched_without_case_when_asked_for(table: MetadataTable) -> None:
    """Spark matches names in this way by default."""
    filter = {"type": "not-null", "term": "ID"}

    assert len(files(plan(table, case_sensitive=False, filter=filter))) == 3
    with pytest.raises(BadRequest):
        plan(table, filter=filter)


def test_a_table_of_format_1_is_read(tmp_path: Path) -> None:
    """Its manifests know neither contents nor sequence numbers."""
    table = MetadataTable(tmp_path, version=1)
    table.snapshot(1, [table.manifest([data_file("one"), data_file("two")])])

    assert files(plan(table)) == ["one", "two"]


def test_a_snapshot_of_format_1_may_name_its_manifests_itself(tmp_path: Path) -> None:
    """The oldest tables have no manifest lists."""
    table = MetadataTable(tmp_path, version=1)
    manifest = table.manifest([data_file("one")])
    table.extra = {
        "current-snapshot-id": 1,
        "snapshots": [{"snapshot-id": 1, "manifests": [manifest.manifest_path]}],
    }

    assert files(plan(table)) == ["one"]


def test_rows_of_format_3_are_numbered_through_a_manifest(tmp_path: Path) -> None:
    """Files without row ids take the next ones, counted from the manifest's."""
    table = MetadataTable(tmp_path, version=3)
    found = [
        data_file("one", record_count=5),
        data_file("two", record_count=7, first_row_id=1_000),
        data_file("three", record_count=9),
        data_file("four"),
    ]
    table.snapshot(1, [table.manifest(found, first_row_id=100)])

    answer = plan(table)

    assert [task["data-file"]["first-row-id"] for task in answer["file-scan-tasks"]] == [
        100,
        1_000,
        105,
        114,
    ]


def test_rows_are_not_numbered_without_a_start(tmp_path: Path) -> None:
    """A manifest from before the upgrade to format 3 gives no row ids."""
    table = MetadataTable(tmp_path, version=3)
    table.snapshot(1, [table.manifest([data_file("one")])])

    assert "first-row-id" not in plan(table)["file-scan-tasks"][0]["data-file"]


def test_columns_of_types_that_pyiceberg_lacks_do_no_harm(tmp_path: Path) -> None:
    """Variant columns are planned around, and filters on them come back to the client."""
    table = MetadataTable(tmp_path, version=3)
    table.snapshot(1, [table.manifest([data_file("one", **bounds(1, 2))])])
    schema = json.loads(SCHEMA.model_dump_json())
    schema["fields"].append({"id": 3, "name": "v", "type": "variant", "required": False})
    inner = {"id": 5, "name": "w", "type": "variant", "required": True}
    nested = {"type": "list", "element-id": 6, "element-required": True}
    nested["element"] = {"type": "struct", "fields": [inner]}
    schema["fields"].append({"id": 4, "name": "s", "type": nested, "required": False})
    table.extra = {"schemas": [schema]}
    filter = {"type": "eq", "term": "v", "value": 1}

    answer = plan(table, filter=filter)

    assert files(answer) == ["one"]
    assert answer["file-scan-tasks"][0]["residual-filter"] == filter


def test_a_missing_manifest_list_is_named(table: MetadataTable) -> None:
    """The message is the one that clients know."""
    (table.folder / "snap-4.avro").unlink()

    with pytest.raises(FileMissing, match=r"Failed to open input stream for file: .*snap-4.avro"):
        plan(table)


def test_a_file_that_is_no_manifest_is_named(table: MetadataTable) -> None:
    """Damage in a table is not a mistake of the server."""
    Path(table.snapshots[4].manifests[0].manifest_path).write_bytes(b"Obj\x01rubbish")

    with pytest.raises(BadMetadata, match="Cannot read the manifest "):
        plan(table)
