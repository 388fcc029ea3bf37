"""Schemas: what makes one valid, and when two are equal."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.limits import SCHEMA_LEVELS_MAX
from headgate.model.schemas import check, columns, same, with_fresh_ids


def field(id: int, name: str, type: Any = "int", **members: object) -> dict[str, Any]:
    given = {member.replace("_", "-"): value for member, value in members.items()}
    return {"id": id, "name": name, "required": False, "type": type} | given


def struct(*fields: dict[str, Any], **members: object) -> dict[str, Any]:
    given = {member.replace("_", "-"): value for member, value in members.items()}
    return {"type": "struct", "fields": list(fields)} | given


def list_of(id: int, element: Any) -> dict[str, Any]:
    return {"type": "list", "element-id": id, "element": element, "element-required": True}


def map_of(key_id: int, value_id: int, value: Any, key: Any = "string") -> dict[str, Any]:
    return {
        "type": "map",
        "key-id": key_id,
        "key": key,
        "value-id": value_id,
        "value": value,
        "value-required": False,
    }


def test_columns_are_named_in_full() -> None:
    """Those inside of structs, lists and maps too."""
    schema = struct(
        field(1, "a", struct(field(2, "b"))),
        field(3, "c", list_of(4, struct(field(5, "d")))),
        field(6, "e", map_of(7, 8, "int")),
    )

    assert {id: column.name for id, column in columns(schema).items()} == {
        1: "a",
        2: "a.b",
        3: "c",
        4: "c.element",
        5: "c.element.d",
        6: "e",
        7: "e.key",
        8: "e.value",
    }
    assert [around.name for around in columns(schema)[5].ancestors] == ["c.element", "c"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (struct(field(1, "a"), field(1, "b")), "multiple fields with id 1: a and b"),
        (struct(field(1, "a"), field(2, "a")), "multiple fields for name a: 1 and 2"),
        (struct(field(1, "a.b"), field(2, "a", struct(field(3, "b")))), "for name a.b: 1 and 3"),
        (struct(field(1, "a", "integer")), "Cannot parse type string to primitive: integer"),
        (struct(field(1, "a", 3)), "Cannot parse schema field"),
        (struct(field(1, "a", {})), "Cannot parse type of a: None"),
        (struct(field(1, "a", {"type": "set"})), "Cannot parse type of a: 'set'"),
        (struct(field(1, "a", {"type": "list"})), "Cannot parse type of a: "),
        (struct(field(1, "a", {"type": "map"})), "Cannot parse type of a: "),
        (struct(field(1, "a", {"type": "struct"})), "Cannot parse schema"),
        (struct(field(2**31, "a")), "Cannot parse schema field"),
        (struct({"id": 1, "name": "a", "type": "int"}), "required"),
        (struct(field(1, "a", "unknown", required=True)), "required field with unknown type: a"),
        (struct(field(1, "a", struct(), write_default={})), "Invalid default value for a"),
        (struct(field(1, "a", "int", write_default="x")), "Cannot cast default value to int: x"),
        (struct(field(1, "a"), identifier_field_ids=[9]), "fieldId 9 as an identifier field"),
        (struct(field(1, "a"), identifier_field_ids=[1]), "a .*: not a required field"),
        (
            struct(field(1, "a", struct(), required=True), identifier_field_ids=[1]),
            "not a primitive type field",
        ),
        (
            struct(field(1, "a", "variant", required=True), identifier_field_ids=[1]),
            "not a primitive type field",
        ),
        (
            struct(field(1, "a", "double", required=True), identifier_field_ids=[1]),
            "must not be float or double field",
        ),
        (
            struct(field(1, "a", list_of(2, "int"), required=True), identifier_field_ids=[2]),
            "a.element .*: must not be nested in a",
        ),
        (
            struct(field(1, "a", struct(field(2, "b", required=True))), identifier_field_ids=[2]),
            "must not be nested in an optional field a",
        ),
    ],
)
def test_what_is_no_schema_is_refused(schema: dict[str, Any], message: str) -> None:
    """Each rule that a schema can break is named when it is broken."""
    with pytest.raises(BadMetadata, match=message):
        check(schema, 3)


def test_all_problems_with_a_version_are_told() -> None:
    """In the order of the columns."""
    schema = struct(
        field(2, "b", "string", initial_default="x"),
        field(1, "a", "geometry(srid:4326)"),
    )

    with pytest.raises(BadMetadata) as refused:
        check(schema, 2)
    assert str(refused.value).splitlines() == [
        "Invalid schema for v2:",
        "- Invalid type for a: geometry(srid:4326) is not supported until v3",
        "- Invalid initial default for b: non-null default (x) is not supported until v3",
    ]
    assert check(schema, 3).keys() == {1, 2}


def test_rows_can_be_identified_by_nested_columns() -> None:
    """Inside of structs that are always there."""
    inner = struct(field(2, "b", "string", required=True))
    schema = struct(field(1, "a", inner, required=True), identifier_field_ids=[2])

    assert check(schema, 2)


def test_schemas_are_not_nested_without_end() -> None:
    """Neither reading nor comparing one runs out of stack."""

    def nested(levels: int) -> dict[str, Any]:
        inner: Any = "int"
        for id in range(levels, 1, -1):
            inner = list_of(id, inner)
        return struct(field(1, "a", inner))

    deepest = nested(SCHEMA_LEVELS_MAX)
    assert len(check(deepest, 2)) == SCHEMA_LEVELS_MAX
    assert same(deepest, nested(SCHEMA_LEVELS_MAX))
    assert with_fresh_ids(deepest)[1] == {id: id for id in range(1, SCHEMA_LEVELS_MAX + 1)}
    with pytest.raises(BadMetadata, match="nested deeper than 100 levels"):
        check(nested(SCHEMA_LEVELS_MAX + 1), 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (struct(field(1, "a")), struct(field(1, "a"), schema_id=7)),
        (struct(field(1, "a")), struct(field(1, "a", doc=None, write_default=None))),
        (struct(field(1, "a", "decimal(9,2)")), struct(field(1, "a", "decimal(9, 2)"))),
        (struct(field(1, "a", "STRING")), struct(field(1, "a", "string"))),
        (struct(field(1, "a", "geometry")), struct(field(1, "a", "geometry(ogc:crs84)"))),
        (struct(identifier_field_ids=[1, 2]), struct(identifier_field_ids=[2, 1])),
        (struct(identifier_field_ids=[]), struct()),
        (
            struct(field(1, "a", list_of(2, "fixed[ 3 ]"))),
            struct(field(1, "a", list_of(2, "fixed[3]"))),
        ),
        (struct(field(1, "a", "later(7)")), struct(field(1, "a", "later(7)"))),
    ],
)
def test_equal_schemas_may_be_written_differently(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """The number, the order of identifiers, blanks in types, and null for nothing."""
    assert same(one, other)


@pytest.mark.parametrize(
    "other",
    [
        struct(),
        struct(field(2, "a")),
        struct(field(1, "b")),
        struct(field(1, "a", "long")),
        struct(field(1, "a", required=True)),
        struct(field(1, "a", doc="x")),
        struct(field(1, "a", initial_default=1)),
        struct(field(1, "a", future=1)),
        struct(field(1, "a"), identifier_field_ids=[1]),
    ],
)
def test_different_schemas_are_different(other: dict[str, Any]) -> None:
    """In any member that means something, or may mean something to others."""
    assert not same(struct(field(1, "a")), other)
