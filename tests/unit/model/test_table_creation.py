"""New tables: fresh ids, what is mapped to them, and what is checked once."""

import json
from typing import Any

import pytest
from msgspec import Raw

from headgate.errors import BadMetadata
from headgate.model.table_creation import new_table
from headgate.model.table_metadata import (
    TableMetadata,
    current_schema,
    default_spec,
    encode,
    parse,
)
from tests.unit.model.tables import LOCATION, SCHEMA, START_MS, UUID

NESTED: dict[str, Any] = {
    "type": "struct",
    "schema-id": 12,
    "identifier-field-ids": [30, 81],
    "fields": [
        {"id": 30, "name": "id", "required": True, "type": "int", "doc": "unique ID 🤪"},
        {"id": 40, "name": "list", "required": True, "type": {
            "type": "list", "element-id": 5, "element": "int", "element-required": False}},
        {"id": 50, "name": "map", "required": False, "type": {
            "type": "map", "key-id": 9, "key": "string", "value-id": 2, "value-required": True,
            "value": {"type": "struct", "fields": [
                {"id": 1, "name": "x", "required": False, "type": "date"}]}}},
        {"id": 80, "name": "point", "required": True, "type": {"type": "struct", "fields": [
            {"id": 81, "name": "lat", "required": True, "type": "long", "future": 1}]}},
        {"id": 3, "name": "ts", "required": False, "type": "timestamptz"},
    ],
}  # fmt: skip

V3 = {"format-version": "3"}


def create(
    schema: object = SCHEMA, spec: object = None, order: object = None, **properties: str
) -> TableMetadata:
    metadata = new_table(
        schema, spec, order, properties, location=f"{LOCATION}/", uuid=UUID, now_ms=START_MS
    )
    assert parse(encode(metadata)) == metadata
    return metadata


def ids(schema: Any) -> list[int]:
    """All ids of a schema, in the order in which they are written."""
    if isinstance(schema, list):
        return [id for each in schema for id in ids(each)]
    if isinstance(schema, dict):
        own = [
            schema[name] for name in ("id", "element-id", "key-id", "value-id") if name in schema
        ]
        return own + [id for each in schema.values() for id in ids(each)]
    return []


def test_columns_are_numbered_level_by_level() -> None:
    """All columns of a struct first, then what is inside of them, as Iceberg does it."""
    schema = current_schema(create(NESTED)).value

    assert [field["id"] for field in schema["fields"]] == [1, 2, 3, 4, 5]
    assert ids(schema) == [1, 2, 6, 3, 7, 8, 9, 4, 10, 5]
    assert schema["identifier-field-ids"] == [1, 10]
    assert schema["schema-id"] == 0
    assert schema["fields"][0]["doc"] == "unique ID 🤪"
    assert schema["fields"][3]["type"]["fields"][0]["future"] == 1
    assert create(NESTED).last_column_id == 10


def test_partitions_and_order_follow_their_columns() -> None:
    """Their own ids are counted anew as well."""
    spec = {
        "spec-id": 4,
        "fields": [
            {"source-id": 3, "field-id": 1234, "name": "day", "transform": "day"},
            {"source-id": 81, "field-id": 1, "name": "lat", "transform": "identity"},
        ],
    }
    sorted_by = {"source-id": 30, "direction": "desc", "null-order": "nulls-last"}
    order = {"order-id": 9, "fields": [{**sorted_by, "transform": "bucket[8]"}]}
    metadata = create(NESTED, spec, order)

    assert default_spec(metadata).value == {
        "spec-id": 0,
        "fields": [
            {"source-id": 5, "name": "day", "transform": "day", "field-id": 1000},
            {"source-id": 10, "name": "lat", "transform": "identity", "field-id": 1001},
        ],
    }
    assert metadata.last_partition_id == 1001
    assert metadata.default_sort_order_id == 1
    assert metadata.sort_orders[-1].value == {
        "order-id": 1,
        "fields": [{**sorted_by, "source-id": 1, "transform": "bucket[8]"}],
    }


def test_a_table_need_not_be_partitioned_or_sorted() -> None:
    """Both have number 0 then."""
    metadata = create()

    assert default_spec(metadata).value == {"spec-id": 0, "fields": []}
    assert metadata.default_sort_order_id == 0
    assert metadata.sort_orders[-1].value == {"order-id": 0, "fields": []}
    assert metadata.last_partition_id == 999
    assert create(SCHEMA, Raw(b"null"), b"null") == metadata


@pytest.mark.parametrize("form", ["decoded", "bytes", "raw"])
def test_a_request_is_taken_encoded_or_decoded(form: str) -> None:
    """Whatever the caller has at hand."""
    encoded = json.dumps(SCHEMA).encode()
    given = {"decoded": SCHEMA, "bytes": encoded, "raw": Raw(encoded)}[form]

    assert create(given) == create()


def test_the_version_is_a_property_that_is_not_stored() -> None:
    """Version 2 is the default; reserved names are dropped, others stored."""
    assert create().format_version == 2
    metadata = create(**{"format-version": "3", "uuid": "x", "owner": "me"})

    assert metadata.format_version == 3
    assert metadata.table_uuid == UUID
    assert metadata.properties == {"write.parquet.compression-codec": "zstd", "owner": "me"}


def test_defaults_of_columns_need_version_3() -> None:
    """Those that rows are read with; those that rows are written with do not."""
    field = {"id": 1, "name": "a", "required": True, "type": "int", "write-default": 10}
    read = {**field, "initial-default": 12}

    created = current_schema(create({"type": "struct", "fields": [field]})).value
    assert created["fields"] == [field]
    created = current_schema(create({"type": "struct", "fields": [read]}, **V3)).value
    assert created["fields"] == [read]
    with pytest.raises(BadMetadata, match=r"non-null default \(12\) is not supported until v3"):
        create({"type": "struct", "fields": [read]})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"format-version": "4"}, r"Unsupported format version: v4 \(supported: v3\)"),
        ({"format-version": "two"}, "format-version must have integer value"),
        ({"commit.retry.num-retries": "x"}, "num-retries must have integer value"),
        ({"commit.retry.min-wait-ms": "-1"}, "min-wait-ms must have non negative integer value"),
        ({"encryption.key-id": "k"}, "Invalid properties for v2"),
        ({"write.metadata.metrics.column.none": "full"}, "could not find column none"),
    ],
)
def test_properties_of_a_new_table_are_checked(properties: dict[str, str], message: str) -> None:
    """Once; those of existing tables stay what they are."""
    with pytest.raises(BadMetadata, match=message):
        create(**properties)


def test_properties_that_refer_to_what_exists_pass() -> None:
    """Nested columns are named in full."""
    properties = {
        "commit.retry.num-retries": "0",
        "write.metadata.metrics.column.point.lat": "full",
        "encryption.key-id": "k",
        "format-version": "3",
    }

    assert create(NESTED, **properties).format_version == 3


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"schema": None}, "Cannot parse schema"),
        ({"schema": b"{"}, "Cannot parse schema"),
        ({"schema": {"type": "list"}}, "Cannot parse schema"),
        ({"schema": {"type": "list", "fields": []}}, "not a struct type: list"),
        ({"schema": {**SCHEMA, "identifier-field-ids": [9]}}, "fieldId 9 as an identifier"),
        ({"spec": 3}, "Cannot parse partition spec"),
        ({"spec": {}}, "Cannot parse partition spec"),
        ({"order": {"fields": [{}]}}, "Cannot parse sort order"),
        (
            {"spec": {"fields": [{"source-id": 9, "name": "x", "transform": "day"}]}},
            "Cannot find source column for partition field",
        ),
        (
            {
                "order": {
                    "fields": [
                        {
                            "source-id": 9,
                            "transform": "day",
                            "direction": "asc",
                            "null-order": "nulls-last",
                        }
                    ]
                }
            },
            "Cannot find source column for sort field",
        ),
    ],
)
def test_what_cannot_be_a_table_is_refused(request_: dict[str, Any], message: str) -> None:
    """Each part of the request."""
    with pytest.raises(BadMetadata, match=message):
        create(**request_)
