"""Columns change as pyiceberg changes them: the same ids, the same order, the same refusals."""

import json
from itertools import count
from types import SimpleNamespace
from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st
from pyiceberg.exceptions import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table.update.schema import UpdateSchema

from headgate.errors import InvalidInput
from headgate.model.gravitino.wire import Column
from headgate.model.json_values import Object
from headgate.model.schemas import without_null_defaults
from headgate.model.table_outlines import TableOutline
from tests.unit.model.gravitino.descriptions import outline, people
from tests.unit.model.gravitino.table_changes import changed

POINT = {
    "type": "struct",
    "fields": [
        {"name": "x", "type": "integer", "nullable": True},
        {"name": "y", "type": "decimal(9,2)", "nullable": False, "comment": "c"},
        {"name": "last", "type": "string", "nullable": True},  # it stays, and so does the struct
    ],
}
COLUMNS = [
    Column(name="id", type="integer", nullable=False),
    Column(name="point", type=POINT),
    Column(name="points", type={"type": "list", "elementType": POINT, "containsNull": False}),
    Column(name="pairs", type={"type": "map", "keyType": "string", "valueType": "float"}),
]
PATHS = st.sampled_from(
    [
        ["id"], ["point"], ["point", "x"], ["point", "y"], ["points"], ["points", "element", "x"],
        ["points", "element", "y"], ["pairs", "value"], ["pairs", "key"], ["new"], ["other"],
        ["point", "new"], ["points", "element", "new"], ["none"],
    ]
)  # fmt: skip
NAMES = st.sampled_from(["id", "x", "new", "other"])
NEW_TYPES = {
    "string": "string",
    "long": "long",
    "double": "double",
    "decimal(12,2)": "decimal(12, 2)",
}
TYPES = st.sampled_from(sorted(NEW_TYPES))
CHANGES = st.one_of(
    st.tuples(st.just("addColumn"), PATHS, TYPES),
    st.tuples(st.just("deleteColumn"), PATHS, st.none()),
    st.tuples(st.just("renameColumn"), PATHS, NAMES),
    st.tuples(st.just("updateColumnType"), PATHS, TYPES),
    st.tuples(st.just("updateColumnNullability"), PATHS, st.booleans()),
    st.tuples(st.just("updateColumnComment"), PATHS, st.sampled_from(["a", "b"])),
    st.tuples(st.just("first"), PATHS, st.none()),
    st.tuples(st.just("after"), PATHS, NAMES),
)


def ours(table: TableOutline, kind: str, path: list[str], value: Any) -> TableOutline | None:
    """The table afterwards, None if the change is refused."""
    bodies: dict[str, Any] = {
        "addColumn": {"fieldName": path, "type": value},
        "deleteColumn": {"fieldName": path},
        "renameColumn": {"oldFieldName": path, "newFieldName": value},
        "updateColumnType": {"fieldName": path, "newType": value},
        "updateColumnNullability": {"fieldName": path, "nullable": value},
        "updateColumnComment": {"fieldName": path, "newComment": value},
        "first": {"fieldName": path, "newPosition": "first"},
        "after": {"fieldName": path, "newPosition": {"after": value}},
    }
    name = "updateColumnPosition" if kind in {"first", "after"} else kind
    try:
        return changed(table, {"@type": name, **bodies[kind]})
    except InvalidInput:
        return None


def theirs(table: TableOutline, kind: str, path: list[str], value: Any) -> Object | None:
    """The schema that pyiceberg makes, None if it refuses."""
    schema = Schema.model_validate_json(msgspec.json.encode(table.schema))
    transaction: Any = SimpleNamespace(
        table_metadata=SimpleNamespace(partition_specs=[], schemas=[schema])
    )
    update = UpdateSchema(transaction, schema=schema)
    update._last_column_id = count(table.last_column_id + 1)
    try:
        _ask(update, kind, tuple(path), value)
        applied = json.loads(update._apply().model_dump_json())
    except (ValueError, ValidationError):
        return None
    return without_null_defaults(applied)


def _ask(update: UpdateSchema, kind: str, path: tuple[str, ...], value: Any) -> None:
    match kind:
        case "addColumn":
            update.add_column(path, _type(value))
        case "deleteColumn":
            update.delete_column(path)
        case "renameColumn":
            update.rename_column(path, value)
        case "updateColumnType":
            update.update_column(path, field_type=_type(value))
        case "updateColumnNullability":
            update.update_column(path, required=not value)
        case "updateColumnComment":
            update.update_column(path, doc=value)
        case "first":
            update.move_first(path)
        case "after":
            update.move_after(path, (*path[:-1], value))


def _type(name: str) -> Any:
    field = {"id": 1, "name": "a", "required": False, "type": NEW_TYPES[name]}
    document = json.dumps({"type": "struct", "fields": [field]})
    return Schema.model_validate_json(document).fields[0].field_type


def plain(schema: Object) -> Object:
    """A schema as both write it."""
    document = Schema.model_validate_json(msgspec.json.encode(schema)).model_dump_json()
    return {"fields": json.loads(document)["fields"]}


@given(st.lists(CHANGES, min_size=1, max_size=8))
def test_columns_change_as_pyiceberg_changes_them(changes: list[Any]) -> None:
    """One after the other. To refuse a change and to make none is the same here: it ignores some
    that we refuse, and the other way round."""
    table = outline(people(columns=COLUMNS, partitioning=[], sort_orders=[]))
    for change in changes:
        expected, after = theirs(table, *change), ours(table, *change)
        event(f"{change[0]} {'refused' if after is None else 'made'}")
        present = plain(table.schema)
        made = present if after is None else plain(after.schema)
        assert made == (present if expected is None else plain(expected)), change
        table = after or table
