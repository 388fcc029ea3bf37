"""Partition specs and sort orders against the columns of a table."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.model import partitioning, sorting
from headgate.model.schemas import columns

COLUMNS = columns(
    {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "id", "required": True, "type": "long"},
            {"id": 2, "name": "ts", "required": False, "type": "timestamp"},
            {"id": 3, "name": "point", "required": False, "type": {"type": "struct", "fields": [
                {"id": 4, "name": "x", "required": False, "type": "int"}]}},
            {"id": 5, "name": "tags", "required": False, "type": {
                "type": "list", "element-id": 6, "element": "string", "element-required": False}},
            {"id": 7, "name": "any", "required": False, "type": "variant"},
        ],
    }
)  # fmt: skip


def part(source: int, transform: str = "identity", name: str = "p") -> dict[str, Any]:
    return {"source-id": source, "transform": transform, "name": name}


def by(source: int, transform: str = "identity", **members: str) -> dict[str, Any]:
    field = {"direction": "asc", "null-order": "nulls-last"} | members
    return {"source-id": source, "transform": transform, **field}


def spec(*fields: dict[str, Any]) -> dict[str, Any]:
    return partitioning.with_field_ids({"spec-id": 1, "fields": list(fields)})


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [part(1)],
        [part(1, name="id")],
        [part(1, "bucket[4]", "id")],
        [part(4, name="point.x")],
        [part(99, "void")],
        [part(1, "void", "a"), part(1, "void", "b")],
        [part(1, "bucket[4]", "a"), part(1, "bucket[8]", "b"), part(1, "identity", "c")],
        [part(2, "day", "a"), part(2, "void", "b")],
    ],
)
def test_a_spec_that_fits_passes(fields: list[dict[str, Any]]) -> None:
    """Also nested in structs, under the name of its own column, and void of a dropped one."""
    partitioning.check_new(spec(*fields), COLUMNS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([part(99)], r"Cannot find source column for partition field: 1000: p: identity\(99\)"),
        ([part(3)], "Cannot partition by non-primitive source field: point"),
        ([part(7)], "Cannot partition by non-primitive source field: any"),
        ([part(1, "day")], "Invalid source type long for transform: day"),
        ([part(6)], "Invalid partition field parent: tags"),
        ([part(1, name="ts")], "sourced from different field in schema: ts"),
        ([part(1, name="")], "Cannot use empty partition name"),
        ([part(1), part(2)], "Cannot use partition name more than once: p"),
        ([part(2, "day", "a"), part(2, "hour", "b")], "redundant partition: 1000: a: day"),
        ([part(1, name="a"), part(1, name="b")], "redundant partition"),
    ],
)
def test_a_spec_that_does_not_fit_is_refused(fields: list[dict[str, Any]], message: str) -> None:
    """With the reason, and the field."""
    with pytest.raises(BadMetadata, match=message):
        partitioning.check_new(spec(*fields), COLUMNS)


def test_an_order_that_fits_passes() -> None:
    """Any primitive column, also inside of others."""
    order = {"order-id": 1, "fields": [by(1), by(4, "bucket[2]"), by(6, "truncate[3]")]}

    sorting.check(order, COLUMNS)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (by(99), r"source column for sort field: identity\(99\) ASC NULLS LAST"),
        (by(3), "Cannot sort by non-primitive source field: point"),
        (by(1, "day"), "Invalid source type long for transform: day"),
        (by(1, direction="up"), "Invalid sort direction: up"),
        (by(1, **{"null-order": "last"}), "Unexpected null order: last"),
    ],
)
def test_an_order_that_does_not_fit_is_refused(field: dict[str, Any], message: str) -> None:
    """With the reason, and the field."""
    with pytest.raises(BadMetadata, match=message):
        sorting.check({"order-id": 1, "fields": [field]}, COLUMNS)
