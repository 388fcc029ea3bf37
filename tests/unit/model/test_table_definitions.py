"""Schemas, partition specs and sort orders of a table: added, reused, made current, removed."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.model.table_metadata import TableMetadata
from tests.unit.model.tables import (
    EXTRA,
    LOCATION,
    SCHEMA,
    UUID,
    WIDER,
    commit,
    document,
    reread,
    table,
    with_snapshots,
)

SORTED = {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}
BY_DAY = {"source-id": 3, "name": "ts_day", "transform": "day"}
BY_BUCKET = {"source-id": 1, "name": "id_bucket", "transform": "bucket[4]"}


def add_schema(schema: Any, id: int = 99) -> dict[str, Any]:
    return {"action": "add-schema", "schema": {**schema, "schema-id": id}, "last-column-id": 7}


def set_schema(id: int = -1) -> dict[str, Any]:
    return {"action": "set-current-schema", "schema-id": id}


def add_spec(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"action": "add-spec", "spec": {"spec-id": 99, "fields": fields}}


def set_spec(id: int = -1) -> dict[str, Any]:
    return {"action": "set-default-spec", "spec-id": id}


def add_order(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"action": "add-sort-order", "sort-order": {"order-id": 99, "fields": fields}}


def set_order(id: int = -1) -> dict[str, Any]:
    return {"action": "set-default-sort-order", "sort-order-id": id}


def without(name: str, schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    return {**schema, "fields": [each for each in schema["fields"] if each["name"] != name]}


def spec_ids(metadata: TableMetadata) -> list[list[int]]:
    specs = document(metadata)["partition-specs"]
    return [[field["field-id"] for field in spec["fields"]] for spec in specs]


def test_a_schema_gets_the_next_number() -> None:
    """Whatever the client called it; members that nobody knows are kept."""
    future = {**WIDER, "future": {"x": 1.50}}
    metadata = commit(table(), add_schema(future), set_schema())

    assert document(metadata)["schemas"][1] == {**future, "schema-id": 1}
    assert metadata.current_schema_id == 1
    assert metadata.last_column_id == 4


def test_a_default_that_is_null_is_left_out() -> None:
    """For Java readers fail on it; at every depth."""
    null = {**EXTRA, "initial-default": None, "write-default": None}
    nested = {**EXTRA, "id": 5, "name": "n", "type": {"type": "struct", "fields": [null]}}
    clean = {**nested, "type": {"type": "struct", "fields": [EXTRA]}}
    metadata = commit(table(), add_schema({**SCHEMA, "fields": [nested]}))

    assert document(metadata)["schemas"][1]["fields"] == [clean]


def test_an_equal_schema_is_used_again() -> None:
    """So that a change that is taken back leads to where it came from."""
    metadata = commit(table(), add_schema(WIDER), set_schema())
    back = commit(metadata, add_schema(SCHEMA), set_schema())

    assert len(back.schemas) == 2
    assert back.current_schema_id == 0
    assert back.last_column_id == 4
    assert commit(back, add_schema(SCHEMA)) is back


def test_last_added_is_the_last_of_several() -> None:
    """Also if it had been there before."""
    metadata = commit(table(), add_schema(WIDER), add_schema(SCHEMA), set_schema())
    assert (len(metadata.schemas), metadata.current_schema_id) == (2, 0)

    metadata = commit(table(), add_schema(SCHEMA), add_schema(WIDER), set_schema())
    assert (len(metadata.schemas), metadata.current_schema_id) == (2, 1)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (set_schema(), "Cannot set last added schema: no schema has been added"),
        (set_schema(7), "Cannot set current schema to unknown schema: 7"),
        (set_spec(), "Cannot set last added spec: no spec has been added"),
        (set_spec(7), "Cannot set default partition spec to unknown spec: 7"),
        (set_order(), "Cannot set last added sort order: no sort order has been added"),
        (set_order(7), "Cannot set default sort order to unknown sort order: 7"),
        ({"action": "remove-schemas", "schema-ids": [0]}, "Cannot remove the current schema"),
        (
            {"action": "remove-partition-specs", "spec-ids": [0]},
            "Cannot remove the default partition spec",
        ),
        (add_schema({"type": "struct"}), "Cannot parse schema"),
        ({"action": "add-schema", "schema": 3}, "Cannot parse schema"),
        (add_spec({}), "Cannot parse partition spec"),
        ({"action": "add-spec", "spec": []}, "Cannot parse partition spec"),
        (add_order({}), "Cannot parse sort order"),
        ({"action": "add-sort-order", "sort-order": None}, "Cannot parse sort order"),
    ],
)
def test_what_does_not_exist_or_is_in_use_is_refused(update: dict[str, Any], message: str) -> None:
    """Each with its reason."""
    with pytest.raises(BadMetadata, match=message):
        commit(table(), update)


def test_unused_definitions_are_removed() -> None:
    """Numbers that are not known are ignored; the next number is not given twice in a row."""
    metadata = commit(table(), add_schema(WIDER), set_schema(), add_spec(BY_DAY), set_spec())
    after = commit(
        metadata,
        {"action": "remove-schemas", "schema-ids": [0, 50]},
        {"action": "remove-partition-specs", "spec-ids": [0, 50]},
    )

    assert [each.id for each in after.schemas] == [1]
    assert [each.id for each in after.partition_specs] == [1]
    assert commit(after, {"action": "remove-schemas", "schema-ids": [0]}) is after


def test_a_schema_must_fit_the_version() -> None:
    """In the words that the compatibility kit expects."""
    variant = {
        **SCHEMA,
        "fields": [{"id": 9, "name": "data", "required": False, "type": "variant"}],
    }

    with pytest.raises(BadMetadata) as refused:
        commit(table(2), add_schema(variant))
    assert str(refused.value) == (
        "Invalid schema for v2:\n- Invalid type for data: variant is not supported until v3"
    )
    assert commit(table(3), add_schema(variant), set_schema()).current_schema_id == 1


def test_a_spec_gets_the_next_number_and_the_ids_it_came_with() -> None:
    """Its transforms are written as readers expect them."""
    field = {**BY_BUCKET, "transform": "Bucket[4]", "field-id": 1007, "future": 1}
    metadata = commit(table(), add_spec(field), set_spec())

    assert document(metadata)["partition-specs"][1] == {
        "spec-id": 1,
        "fields": [{**field, "transform": "bucket[4]"}],
    }
    assert (metadata.default_spec_id, metadata.last_partition_id) == (1, 1007)


def test_fields_without_ids_get_the_next_ones() -> None:
    """A field that some spec had before gets the id it had."""
    metadata = commit(table(), add_spec({**BY_DAY, "field-id": 1004}))
    metadata = commit(metadata, add_spec(BY_BUCKET, BY_DAY))

    assert spec_ids(metadata) == [[], [1004], [1005, 1004]]
    assert metadata.last_partition_id == 1005


def test_some_ids_are_not_enough() -> None:
    """All fields have one, or none has."""
    with pytest.raises(BadMetadata, match="missing field IDs: 1 missing of 2 fields"):
        commit(table(), add_spec({**BY_DAY, "field-id": 1000}, BY_BUCKET))


def test_ids_of_fields_are_unique() -> None:
    """Two fields of one id would be one column in manifests."""
    same = {"field-id": 1000}

    with pytest.raises(BadMetadata, match="two fields have the same field-id"):
        commit(table(), add_spec(BY_DAY | same, BY_BUCKET | same))


def test_an_equal_spec_is_used_again() -> None:
    """Equal but for the ids of its fields."""
    metadata = commit(table(), add_spec({**BY_DAY, "field-id": 1000}), set_spec())
    back = commit(metadata, add_spec(), set_spec())
    again = commit(back, add_spec({**BY_DAY, "field-id": 1050}), set_spec())

    assert (back.default_spec_id, again.default_spec_id) == (0, 1)
    assert spec_ids(again) == [[], [1000]]
    assert again.last_partition_id == 1000


def test_version_1_counts_the_ids_of_fields() -> None:
    """From 1000, without gaps, in each spec."""
    metadata = commit(table(1), add_spec(BY_DAY), add_spec(BY_BUCKET, BY_DAY), set_spec())

    assert spec_ids(metadata) == [[], [1000], [1000, 1001]]
    assert (
        document(metadata)["partition-spec"] == document(metadata)["partition-specs"][2]["fields"]
    )
    with pytest.raises(BadMetadata, match="sequential IDs that are required in v1"):
        commit(metadata, add_spec({**BY_BUCKET, "field-id": 1001}))


def test_an_order_gets_the_next_number_from_1() -> None:
    """Unsorted is 0 and always the same; an equal order is used again."""
    loud = {**SORTED, "direction": "ASC", "null-order": "NULLS-FIRST", "future": 1}
    down = {**SORTED, "direction": "desc"}
    metadata = commit(table(), add_order(loud), set_order())
    assert document(metadata)["sort-orders"][1] == {
        "order-id": 1,
        "fields": [{**SORTED, "future": 1}],
    }

    metadata = commit(metadata, add_order(down), set_order())
    assert metadata.default_sort_order_id == 2
    assert commit(metadata, add_order(SORTED), set_order()).default_sort_order_id == 1
    assert commit(metadata, add_order(), set_order()).default_sort_order_id == 0


def test_unsorted_comes_back_as_0() -> None:
    """Also if a table was made without it."""
    file = document(commit(table(), add_order(SORTED), set_order()))
    file["sort-orders"].pop(0)
    metadata = commit(reread(file), add_order(), set_order())

    assert [each.id for each in metadata.sort_orders] == [1, 0]
    assert metadata.default_sort_order_id == 0


def test_the_column_that_a_table_is_partitioned_by_stays() -> None:
    """As long as it is the default; older specs may refer to what is gone."""
    metadata = commit(table(), add_spec(BY_DAY), set_spec())

    with pytest.raises(
        BadMetadata, match="Cannot find source column for partition field: 1000: ts"
    ):
        commit(metadata, add_schema(without("ts")), set_schema())
    moved = commit(metadata, add_spec(BY_BUCKET), set_spec())
    assert commit(moved, add_schema(without("ts")), set_schema()).current_schema_id == 1


def test_the_column_that_a_table_is_sorted_by_stays() -> None:
    """The same for the default order."""
    metadata = commit(table(), add_order({**SORTED, "source-id": 2}), set_order())

    with pytest.raises(BadMetadata, match="Cannot find source column for sort field: identity"):
        commit(metadata, add_schema(without("name")), set_schema())
    unsorted = commit(metadata, add_schema(without("name")), set_schema(), set_order(0))
    assert unsorted.current_schema_id == 1


def test_version_1_keeps_fields_of_dropped_columns_as_void() -> None:
    """A void field needs no source."""
    metadata = commit(table(1), add_spec(BY_DAY), set_spec())
    void = {**BY_DAY, "transform": "void"}
    after = commit(metadata, add_spec(void), set_spec(), add_schema(without("ts")), set_schema())

    assert (after.default_spec_id, after.current_schema_id) == (2, 1)


def test_a_new_column_may_not_have_the_name_of_a_partition() -> None:
    """Java readers refuse such a table, even if the spec is no longer used."""
    metadata = commit(table(), add_spec(BY_DAY), set_spec(), set_spec(0))
    clash = {**SCHEMA["fields"][1], "id": 4, "name": "ts_day"}
    schema = {**SCHEMA, "fields": [*SCHEMA["fields"], clash]}

    with pytest.raises(BadMetadata, match="sourced from different field in schema: ts_day"):
        commit(metadata, add_schema(schema), set_schema())
    assert commit(metadata, add_schema(without("ts", schema)), set_schema()).last_column_id == 4


def test_definitions_need_a_schema() -> None:
    """In the list of a staged create."""
    for update in (add_spec(), add_order()):
        with pytest.raises(BadMetadata, match="before a schema is added"):
            commit(None, update)


def test_a_new_table_says_by_which_order_it_is_sorted() -> None:
    """If it has orders, it does not point at none of them."""
    create = [
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "set-location", "location": LOCATION},
        add_schema(SCHEMA),
        add_order(SORTED),
    ]

    with pytest.raises(BadMetadata, match="there is no sort order 0"):
        commit(None, *create)
    assert commit(None, *create, set_order()).default_sort_order_id == 1


def test_definitions_do_not_touch_snapshots() -> None:
    """Nor history."""
    metadata = with_snapshots(2)
    after = commit(metadata, add_schema(WIDER), set_schema(), add_spec(BY_DAY), add_order(SORTED))

    assert after.snapshots is metadata.snapshots
    assert after.snapshot_log is metadata.snapshot_log
