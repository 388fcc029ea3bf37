"""What we write is read by pyiceberg, which checks metadata in its own way."""

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from headgate.model.table_creation import new_table
from headgate.model.table_metadata import TableMetadata, encode, encode_refs
from tests.unit.model.tables import (
    LOCATION,
    SCHEMA,
    START_MS,
    UUID,
    WIDER,
    add_snapshot,
    commit,
    set_main,
    set_ref,
    table,
    with_snapshots,
)

SPEC = {"fields": [{"source-id": 3, "name": "ts_day", "transform": "day"}]}
SORTED = {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}
BLOB = {
    "type": "apache-datasketches-theta-v1",
    "snapshot-id": 2,
    "sequence-number": 2,
    "fields": [1],
}
STATISTICS = {
    "snapshot-id": 2,
    "statistics-path": "s3://s",
    "file-size-in-bytes": 2,
    "file-footer-size-in-bytes": 1,
    "blob-metadata": [BLOB],
}


def busy_table(version: int) -> TableMetadata:
    """A table to which everything happened."""
    metadata = with_snapshots(3, version)
    return commit(
        metadata,
        {"action": "add-schema", "schema": WIDER},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": SPEC},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [SORTED]}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-statistics", "statistics": STATISTICS},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
        set_ref("label", 2, "tag", max_ref_age_ms=5),
        add_snapshot(metadata, 9),
        set_main(9),
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_a_table_to_which_everything_happened(version: int) -> None:
    """And sees the same table."""
    ours = busy_table(version)
    theirs = TableMetadataUtil.parse_raw(encode(ours).decode())

    assert (theirs.format_version, str(theirs.table_uuid)) == (version, ours.table_uuid)
    assert theirs.current_snapshot_id == ours.current_snapshot_id == 9
    assert [each.snapshot_id for each in theirs.snapshots] == [2, 3, 9]
    assert [each.snapshot_id for each in theirs.snapshot_log] == [2, 3, 9]
    assert theirs.schema().schema_id == ours.current_schema_id == 1
    assert theirs.spec().fields[0].name == "ts_day"
    assert theirs.sort_order().order_id == 1
    assert theirs.refs.keys() == {"main", "label"}
    assert theirs.statistics[0].snapshot_id == 2
    assert len(theirs.metadata_log) == 4


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_a_new_table(version: int) -> None:
    """Without a snapshot, partitioned or not."""
    properties = {"format-version": str(version)}
    partitioned = new_table(
        SCHEMA, SPEC, None, properties, location=LOCATION, uuid=UUID, now_ms=START_MS
    )

    for ours in (table(version), partitioned):
        theirs = TableMetadataUtil.parse_raw(encode(ours).decode())
        assert theirs.current_snapshot_id is None
        assert theirs.last_partition_id == ours.last_partition_id
        assert theirs.last_column_id == 3


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_the_short_form(version: int) -> None:
    """Which has the snapshots of branches and tags only."""
    theirs = TableMetadataUtil.parse_raw(encode_refs(busy_table(version)).decode())

    assert sorted(each.snapshot_id for each in theirs.snapshots) == [2, 9]
