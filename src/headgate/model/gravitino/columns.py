"""Columns: those of Gravitino as a schema of Iceberg and back."""

from collections.abc import Sequence
from itertools import count

from headgate.errors import BadRequest
from headgate.model.gravitino import defaults, types
from headgate.model.gravitino.wire import Column
from headgate.model.json_values import Object
from headgate.model.types import DEFAULTS_SINCE_VERSION


def to_schema(columns: Sequence[Column], format_version: int) -> Object:
    """The schema of a new table or view, its columns counted from 1."""
    counter = count(1)
    ids = [next(counter) for _ in columns]
    return {
        "type": "struct",
        "schema-id": 0,
        "fields": [
            to_field(column, id, lambda: next(counter), format_version)
            for column, id in zip(columns, ids, strict=True)
        ],
    }


def to_field(column: Column, id: int, next_id: types.NextId, format_version: int) -> Object:
    """A new column, which is given this id, and to what is inside of it the next ones."""
    if column.auto_increment:
        raise BadRequest(
            f"Invalid column {column.name[:80]}",
            why="Iceberg has no columns that count by themselves",
            fix="Leave autoIncrement out",
        )
    type = types.to_iceberg(column.type, next_id)
    field = types.field(column.name, type, id, nullable=column.nullable, doc=column.comment)
    if column.default_value is None:
        return field
    value = defaults.to_iceberg(column.default_value, type)
    if value is None:
        return field
    check_defaults(format_version)
    return {**field, "initial-default": value, "write-default": value}


def check_defaults(format_version: int) -> None:
    """Refuse default values where the format has none."""
    if format_version < DEFAULTS_SINCE_VERSION:
        raise BadRequest(
            "Cannot set a default value",
            why=f"tables of format version {format_version} have none",
            fix=f"Make the table with the property format-version={DEFAULTS_SINCE_VERSION}",
        )


def from_schema(schema: Object) -> list[Column]:
    """The columns of a schema. A default is what rows that are written now get."""
    return [_from_field(field) for field in schema["fields"]]


def _from_field(field: Object) -> Column:
    type, default = field["type"], field.get("write-default")
    return Column(
        name=field["name"],
        type=types.from_iceberg(type),
        comment=field.get("doc"),
        nullable=not field["required"],
        default_value=None if default is None else defaults.from_iceberg(default, type),
    )
