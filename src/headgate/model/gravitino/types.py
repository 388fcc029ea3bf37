"""Types of columns: Gravitino's as Iceberg's and back."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from headgate.errors import BadRequest, Unsupported
from headgate.limits import SCHEMA_LEVELS_MAX
from headgate.model import schemas
from headgate.model import types as iceberg
from headgate.model.gravitino.wire import Type
from headgate.model.json_values import Object, reason

NextId = Callable[[], int]
"""Gives each column the next id."""

T = TypeVar("T")

_SAME = ("boolean", "long", "float", "double", "date", "string", "uuid", "binary", "variant")
_TO_ICEBERG = {
    **{name: name for name in _SAME},
    "integer": "int",
    "null": "unknown",
    "time": "time",
    "timestamp": "timestamp",
    "timestamp_tz": "timestamptz",
    "time(6)": "time",
    "timestamp(6)": "timestamp",
    "timestamp_tz(6)": "timestamptz",
    "timestamp(9)": "timestamp_ns",
    "timestamp_tz(9)": "timestamptz_ns",
}
_FROM_ICEBERG = {theirs: ours for ours, theirs in _TO_ICEBERG.items()}  # the last one: with (6)
_FIXED = re.compile(r"fixed\((\d{1,9})\)", re.ASCII)
_DECIMAL = re.compile(r"decimal\((\d{1,9}),(\d{1,9})\)", re.ASCII)
_FIXES = {
    "byte": "Use integer",
    "short": "Use integer",
    "integer unsigned": "Use long",
    "char": "Use string",
    "varchar": "Use string",
    "time": "Use time(6): Iceberg counts microseconds",
    "timestamp": "Use timestamp(6), or timestamp(9) in format version 3",
    "timestamp_tz": "Use timestamp_tz(6), or timestamp_tz(9) in format version 3",
}


class _Field(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    type: Type
    nullable: bool = True
    comment: str | None = None


class _Struct(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    fields: list[_Field]


class _List(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    type: str
    element_type: Type
    contains_null: bool = True


class _Map(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    type: str
    key_type: Type
    value_type: Type
    value_contains_null: bool = True


def to_iceberg(type: Type, next_id: NextId, depth: int = 1) -> schemas.Type:
    """The type of a column in Iceberg. The columns of a level get their ids first, then what is
    inside of them, in order: as Iceberg does it."""
    if depth > SCHEMA_LEVELS_MAX:
        raise BadRequest(
            "Cannot read a type",
            why=f"it is nested deeper than {SCHEMA_LEVELS_MAX} levels",
            fix="Nest it less deeply",
        )
    if isinstance(type, str):
        return _primitive_to_iceberg(type)
    match type.get("type"):
        case "struct":
            return _struct_to_iceberg(_read(type, _Struct).fields, next_id, depth)
        case "list":
            array, id = _read(type, _List), next_id()
            return {
                "type": "list",
                "element-id": id,
                "element": to_iceberg(array.element_type, next_id, depth + 1),
                "element-required": not array.contains_null,
            }
        case "map":
            pair, key, value = _read(type, _Map), next_id(), next_id()
            return {
                "type": "map",
                "key-id": key,
                "key": to_iceberg(pair.key_type, next_id, depth + 1),
                "value-id": value,
                "value": to_iceberg(pair.value_type, next_id, depth + 1),
                "value-required": not pair.value_contains_null,
            }
        case "unparsed" if isinstance(type.get("unparsedType"), str):
            return _primitive_to_iceberg(type["unparsedType"])  # of later versions than its client
        case other:
            raise _unsupported(str(other))


def from_iceberg(type: schemas.Type) -> Type:
    """The type of a column in Gravitino; what it has no word for is `external`."""
    if isinstance(type, str):
        return _primitive_from_iceberg(type)
    match type["type"]:
        case "struct":
            return {
                "type": "struct",
                "fields": [_field_from_iceberg(one) for one in type["fields"]],
            }
        case "list":
            return {
                "type": "list",
                "elementType": from_iceberg(type["element"]),
                "containsNull": not type["element-required"],
            }
        case _:
            return {
                "type": "map",
                "keyType": from_iceberg(type["key"]),
                "valueType": from_iceberg(type["value"]),
                "valueContainsNull": not type["value-required"],
            }


def field(name: str, type: schemas.Type, id: int, *, nullable: bool, doc: str | None) -> Object:
    """A column of a struct, or of a table, in Iceberg."""
    if not name.strip():
        raise BadRequest("Invalid column", why="its name is empty", fix="Name it")
    described = {} if doc is None else {"doc": doc}
    return {"id": id, "name": name, "required": not nullable, "type": type, **described}


def _struct_to_iceberg(fields: list[_Field], next_id: NextId, depth: int) -> Object:
    ids = [next_id() for _ in fields]
    return {
        "type": "struct",
        "fields": [
            field(
                one.name,
                to_iceberg(one.type, next_id, depth + 1),
                id,
                nullable=one.nullable,
                doc=one.comment,
            )
            for one, id in zip(fields, ids, strict=True)
        ],
    }


def _field_from_iceberg(field: Object) -> Object:
    shown = {
        "name": field["name"],
        "type": from_iceberg(field["type"]),
        "nullable": not field["required"],
    }
    return shown if field.get("doc") is None else {**shown, "comment": field["doc"]}


def _primitive_to_iceberg(type: str) -> str:
    if known := _TO_ICEBERG.get(type):  # as nearly always
        return known
    spelled = re.sub(r"\s*([(),])\s*", r"\1", " ".join(type.split()))
    lower = spelled.lower()
    if known := _TO_ICEBERG.get(lower):
        return known
    if fixed := _FIXED.fullmatch(lower):
        return f"fixed[{fixed[1]}]"
    if decimal := _DECIMAL.fullmatch(lower):
        spelled = f"decimal({decimal[1]}, {decimal[2]})"
    elif not lower.startswith(("geometry", "geography")):
        raise _unsupported(spelled)
    iceberg.kind(spelled)  # refuses what cannot be read
    return spelled


def _primitive_from_iceberg(type: str) -> Type:
    if known := _FROM_ICEBERG.get(type):
        return known
    kind = iceberg.kind(type)
    match kind:
        case "fixed":
            return f"fixed({iceberg.fixed_length(type)})"
        case "decimal":
            return iceberg.canonical(type)
        case "geometry" | "geography":
            return type
        case _:
            return _FROM_ICEBERG[kind]


def _read(value: Object, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.MsgspecError as broken:
        raise BadRequest(
            f"Cannot read a type {value['type']}", why=reason(broken), fix="Correct it"
        ) from None


def _unsupported(type: str) -> Unsupported:
    name = type.lower().partition("(")[0].strip()
    return Unsupported(
        f"Iceberg has no type {type[:80]}",
        fix=_FIXES.get(name, "Use another type"),
    )
