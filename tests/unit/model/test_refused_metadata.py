"""Metadata files of tables that are refused."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.model import table_metadata
from headgate.model.table_metadata import (
    encode,
    parse,
    verify,
)
from tests.unit.model.tables import (
    OLD,
    START_MS,
    document,
    reread,
    table,
    with_snapshots,
)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"7", b"null", b"{", b'{"format-version":2', b"\xff\xfe", b'{"a":' * 3000]
)
def test_rubbish_is_refused(data: bytes) -> None:
    """What is no JSON object is no metadata."""
    with pytest.raises(BadMetadata, match="Cannot parse"):
        parse(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format-version": 4}, "Cannot read unsupported version 4"),
        ({"format-version": 0}, "Cannot read unsupported version 0"),
        ({"format-version": "2"}, "format-version"),
        ({"format-version": ...}, "format-version"),
        ({"location": ...}, "location"),
        ({"last-updated-ms": "x"}, "last-updated-ms"),
        ({"last-column-id": 2**31}, "last-column-id"),
        ({"table-uuid": ...}, "table-uuid must exist in format v2"),
        ({"last-sequence-number": ...}, "last-sequence-number must exist in format v2"),
        ({"last-partition-id": ...}, "last-partition-id must exist in format v2"),
        ({"schemas": ...}, "schemas must exist in format v2"),
        ({"partition-specs": ...}, "partition-specs must exist in format v2"),
        ({"sort-orders": ...}, "sort-orders must exist in format v2"),
        ({"schemas": []}, "nothing with current-schema-id=0"),
        ({"current-schema-id": ...}, "nothing with current-schema-id=None"),
        ({"partition-specs": []}, "nothing with default-spec-id=0"),
        ({"default-spec-id": 7}, "nothing with default-spec-id=7"),
        ({"sort-orders": []}, "nothing with default-sort-order-id=0"),
        ({"schemas": {}}, "Cannot parse schemas"),
        ({"schemas": [3]}, "Cannot parse schemas"),
        ({"sort-orders": [{"order-id": 0}] * 2}, "two have the same order-id"),
        ({"sort-orders": [{"order-id": "0"}]}, "Cannot parse order-id in sort-orders"),
        ({"properties": {"a": 1}}, "properties"),
        ({"refs": []}, "Cannot parse refs"),
        ({"refs": {"x": {"snapshot-id": 1, "type": "twig"}}}, "Invalid snapshot ref type: twig"),
        ({"refs": {"x": {"type": "tag"}}}, "Cannot parse ref x"),
        ({"refs": {"x": {"snapshot-id": 1}}}, "Cannot parse type of ref x"),
        ({"refs": {"main": {"snapshot-id": 1, "type": "branch"}}}, r"\(2 != 1\)"),
        ({"refs": {"x": {"snapshot-id": 9, "type": "tag"}}}, "Snapshot for reference x"),
        ({"current-snapshot-id": -1}, "Current snapshot is not set, but main branch exists"),
        ({"current-snapshot-id": 9, "refs": ...}, "Snapshot for reference main"),
        ({"snapshots": {}}, "Cannot parse snapshots"),
        ({"snapshots": [{}]}, "Cannot parse snapshots"),
        ({"snapshots": [{"snapshot-id": 2}] * 2}, "two have the same id"),
        ({"last-sequence-number": 1}, "sequence number 2 greater than last sequence number 1"),
        ({"snapshot-log": [{}]}, "Cannot parse snapshot-log"),
        ({"metadata-log": [{"timestamp-ms": START_MS}]}, "Cannot parse metadata-log"),
        ({"last-updated-ms": START_MS - 60_001}, "Invalid snapshot-log"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    """Each rule of the format that a file can break is named when it is broken."""
    file = document(with_snapshots(2)) | change
    file = {name: value for name, value in file.items() if value is not ...}

    with pytest.raises(BadMetadata, match=message):
        reread(file)


def test_version_3_must_say_the_next_row_id() -> None:
    """Without it rows would get ids that others have."""
    file = document(table(3))
    del file["next-row-id"]

    with pytest.raises(BadMetadata, match="next-row-id must exist in format v3"):
        reread(file)


def test_version_1_has_no_sequence_numbers() -> None:
    """A file that has one is not of version 1."""
    assert reread(OLD | {"last-sequence-number": 0}).last_sequence_number == 0
    with pytest.raises(BadMetadata, match="Sequence number must be 0 in v1: 3"):
        reread(OLD | {"last-sequence-number": 3})


@pytest.mark.parametrize("missing", ["schema", "partition-spec"])
def test_version_1_must_have_one_schema_and_spec(missing: str) -> None:
    """In a list or alone."""
    file = {name: value for name, value in OLD.items() if name != missing}

    with pytest.raises(BadMetadata, match="must exist in format v1"):
        reread(file)


def test_logs_may_run_backwards_as_far_as_clocks_differ() -> None:
    """A minute is the tolerance of Iceberg's readers."""
    file = document(with_snapshots(2))
    log = file["snapshot-log"]
    log[1]["timestamp-ms"] = log[0]["timestamp-ms"] - 60_000
    assert reread(file).current_snapshot_id == 2

    log[1]["timestamp-ms"] -= 1
    with pytest.raises(BadMetadata, match="Invalid snapshot-log"):
        reread(file)


def test_text_that_is_no_unicode_is_refused() -> None:
    """Also in what is kept encoded, for clients could not read the file."""
    data = encode(with_snapshots(1)).replace(b"snap-1", b"snap-\xff")

    with pytest.raises(BadMetadata, match="Cannot parse table metadata"):
        parse(data)


def test_a_long_file_is_verified_by_who_registers_it() -> None:
    """Reading one's own long file takes no second look at each snapshot."""
    file = document(with_snapshots(2))
    file["properties"]["padding"] = "x" * table_metadata.VERIFIED_AT_ONCE_BYTES_MAX
    file["last-sequence-number"] = 1
    metadata = reread(file)

    with pytest.raises(BadMetadata, match="greater than last sequence number"):
        verify(metadata)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (b'"format-version":2', b'"format-version":1,"format-version":2', "format-version"),
        (b'"format-version":2', b'"format-version":2, "format-version" : 2', "format-version"),
        (b'"last-updated-ms"', b'"location":"s3://b/x",\n"last-updated-ms"', "location"),
        (b'"last-updated-ms"', b'"l\\u006fcation":"s3://b/x","last-updated-ms"', "location"),
        (b'"last-updated-ms"', b'"x":1,"x":1,"y":1,"last-updated-ms"', "x"),
    ],
)
def test_a_member_that_stands_twice_is_refused(old: bytes, new: bytes, name: str) -> None:
    """One reader takes the first and another the last."""
    data = encode(with_snapshots(1))
    parse(data)

    with pytest.raises(BadMetadata, match=f"the member '{name}' stands in it more than once"):
        parse(data.replace(old, new, 1))


def test_columns_with_the_same_id_are_not_registered() -> None:
    """In any of the schemas, current or not."""
    file = document(table())
    fields = file["schemas"][0]["fields"]
    double = {"type": "struct", "schema-id": 7, "fields": [*fields, {**fields[0], "name": "other"}]}
    metadata = reread({**file, "schemas": [*file["schemas"], double]})

    with pytest.raises(BadMetadata, match="multiple fields with id 1: id and other"):
        verify(metadata)
