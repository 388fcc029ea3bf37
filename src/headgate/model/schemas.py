"""Schemas: their columns at every depth, what makes one valid, fresh ids, when two are equal."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from headgate.errors import BadMetadata
from headgate.limits import SCHEMA_LEVELS_MAX
from headgate.model import default_values, types
from headgate.model.json_values import Int32, Object, convert

Type = str | Object


class Column(NamedTuple):
    """One column: of the table, of a struct, or the element, key or value of a list or map."""

    id: int
    name: str  # in full, as `person.address.element.street`
    type: Type
    required: bool
    parent: "Column | None"
    initial_default: object
    write_default: object

    @property
    def is_primitive(self) -> bool:
        return isinstance(self.type, str) and types.kind(self.type) != "variant"

    @property
    def is_struct(self) -> bool:
        return isinstance(self.type, dict) and self.type["type"] == "struct"

    @property
    def ancestors(self) -> "Iterator[Column]":
        """The columns around it, nearest first."""
        parent = self.parent
        while parent:
            yield parent
            parent = parent.parent


class _Field(Struct, rename="kebab"):
    id: Int32
    name: str
    type: Type
    required: bool
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None


class _List(Struct, rename="kebab"):
    element_id: Int32
    element: Type
    element_required: bool


class _Map(Struct, rename="kebab"):
    key_id: Int32
    key: Type
    value_id: Int32
    value: Type
    value_required: bool


class _StructType(Struct, rename="kebab"):
    type: str
    fields: list[Object]
    schema_id: Int32 | None = None
    identifier_field_ids: list[Int32] | None = None


def columns(schema: Object) -> dict[int, Column]:
    """All columns by id, each before those inside of it."""
    found: dict[int, Column] = {}
    names: dict[str, int] = {}
    for column in _columns_of_struct(schema, None, 0):
        if column.id in found:
            raise BadMetadata(
                f"Invalid schema: multiple fields with id {column.id}: "
                f"{found[column.id].name} and {column.name}"
            )
        if column.name in names:
            raise BadMetadata(
                f"Invalid schema: multiple fields for name {column.name}: "
                f"{names[column.name]} and {column.id}"
            )
        found[column.id] = column
        names[column.name] = column.id
    return found


def check(schema: Object, format_version: int) -> dict[int, Column]:
    """A schema is well formed, its types and defaults fit the format version; its columns."""
    found = columns(schema)
    for id in identifier_ids(schema):
        _check_identifier(id, found)
    problems = [problem for id in sorted(found) for problem in _problems(found[id], format_version)]
    if problems:
        listed = "\n- ".join(problems)
        raise BadMetadata(f"Invalid schema for v{format_version}:\n- {listed}")
    return found


def identifier_ids(schema: Object) -> list[int]:
    """The ids of the columns that identify a row."""
    ids: list[int] | None = convert(schema, _StructType, "schema").identifier_field_ids
    return ids or []


def without_null_defaults(schema: Object) -> Object:
    """A schema whose defaults are values or absent: Java readers fail on a null."""
    clean = _without_null_defaults(schema)
    assert isinstance(clean, dict)
    return clean


def same(one: Object, other: Object) -> bool:
    """Whether two schemas are equal but for their ids."""
    return shape(one) == shape(other)


def shape(schema: Object) -> Hashable:
    """What schemas have in common that are equal but for their ids."""
    plain = {name: value for name, value in schema.items() if name != "schema-id"}
    plain["identifier-field-ids"] = sorted(set(schema.get("identifier-field-ids") or ()))
    return _comparable(plain)


def with_fresh_ids(schema: Object) -> tuple[Object, dict[int, int]]:
    """A schema with all column ids counted from 1, and which id became which.

    The columns of a level come first, then what is inside of them, in order.
    """
    renamed: dict[int, int] = {}

    def fresh(id: int) -> int:
        renamed[id] = len(renamed) + 1
        return renamed[id]

    columns(schema)  # refuses what is no schema, and ids that stand for two columns
    struct = _fresh_type(schema, fresh)
    assert isinstance(struct, dict)
    identifiers = identifier_ids(schema)
    missing = [id for id in identifiers if id not in renamed]
    if missing:
        raise BadMetadata(
            f"Cannot add fieldId {missing[0]} as an identifier field: field does not exist"
        )
    if identifiers:
        struct["identifier-field-ids"] = [renamed[id] for id in identifiers]
    return {**struct, "schema-id": 0}, renamed


def _columns_of_struct(struct: Object, parent: Column | None, depth: int) -> Iterator[Column]:
    parsed = convert(struct, _StructType, "schema")
    if parsed.type != "struct":
        raise BadMetadata(f"Cannot create schema, not a struct type: {parsed.type}")
    for member in parsed.fields:
        each = convert(member, _Field, "schema field")
        name = f"{parent.name}.{each.name}" if parent else each.name
        yield from _with_nested(
            Column(
                each.id,
                name,
                each.type,
                each.required,
                parent,
                each.initial_default,
                each.write_default,
            ),
            depth + 1,
        )


def _with_nested(column: Column, depth: int) -> Iterator[Column]:
    if depth > SCHEMA_LEVELS_MAX:
        raise BadMetadata(f"Invalid schema: nested deeper than {SCHEMA_LEVELS_MAX} levels")
    yield column
    nested = column.type
    if isinstance(nested, str):
        return
    match nested.get("type"):
        case "struct":
            yield from _columns_of_struct(nested, column, depth)
        case "list":
            each = convert(nested, _List, f"type of {column.name}")
            yield from _with_nested(
                _inner(
                    column, "element", each.element_id, each.element, required=each.element_required
                ),
                depth + 1,
            )
        case "map":
            pair = convert(nested, _Map, f"type of {column.name}")
            yield from _with_nested(
                _inner(column, "key", pair.key_id, pair.key, required=True), depth + 1
            )
            yield from _with_nested(
                _inner(column, "value", pair.value_id, pair.value, required=pair.value_required),
                depth + 1,
            )
        case other:
            raise BadMetadata(f"Cannot parse type of {column.name}: {other!r}")


def _inner(parent: Column, name: str, id: int, type: Type, *, required: bool) -> Column:
    return Column(id, f"{parent.name}.{name}", type, required, parent, None, None)


def _check_identifier(id: int, found: Mapping[int, Column]) -> None:
    column = found.get(id)
    if not column:
        raise BadMetadata(f"Cannot add fieldId {id} as an identifier field: field does not exist")
    why = ""
    if not column.is_primitive:
        why = "not a primitive type field"
    elif not column.required:
        why = "not a required field"
    elif column.type in {"float", "double"}:
        why = "must not be float or double field"
    for around in column.ancestors:
        if not around.is_struct:
            why = why or f"must not be nested in {around.name}"
        elif not around.required:
            why = why or f"must not be nested in an optional field {around.name}"
    if why:
        raise BadMetadata(f"Cannot add field {column.name} as an identifier field: {why}")


def _problems(column: Column, format_version: int) -> Iterator[str]:
    defaults = (column.initial_default, column.write_default)
    if not isinstance(column.type, str):
        if defaults != (None, None):
            yield f"Invalid default value for {column.name}: must be null"
        return
    since = types.since_version(column.type)
    if format_version < since:
        yield f"Invalid type for {column.name}: {column.type} is not supported until v{since}"
    if column.required and types.kind(column.type) == "unknown":
        yield f"Cannot create required field with unknown type: {column.name}"
    if column.initial_default is not None and format_version < types.DEFAULTS_SINCE_VERSION:
        yield (
            f"Invalid initial default for {column.name}: non-null default "
            f"({column.initial_default}) is not supported until v{types.DEFAULTS_SINCE_VERSION}"
        )
    for default in defaults:
        if not default_values.fits(default, column.type):
            yield f"Cannot cast default value to {column.type}: {default} ({column.name})"


def _fresh_type(type: Type, fresh: Callable[[int], int]) -> Type:
    if isinstance(type, str):
        return type
    if type["type"] == "list":
        id = fresh(type["element-id"])
        return {**type, "element-id": id, "element": _fresh_type(type["element"], fresh)}
    if type["type"] == "map":
        key, value = fresh(type["key-id"]), fresh(type["value-id"])
        return {
            **type,
            "key-id": key,
            "value-id": value,
            "key": _fresh_type(type["key"], fresh),
            "value": _fresh_type(type["value"], fresh),
        }
    ids = [fresh(member["id"]) for member in type["fields"]]
    fields = [
        {**member, "id": id, "type": _fresh_type(member["type"], fresh)}
        for member, id in zip(type["fields"], ids, strict=True)
    ]
    return {**type, "fields": fields}


def _without_null_defaults(value: object) -> object:
    if isinstance(value, list):
        return [_without_null_defaults(each) for each in value]
    if isinstance(value, dict):
        return {
            name: _without_null_defaults(each)
            for name, each in value.items()
            if each is not None or name not in {"initial-default", "write-default"}
        }
    return value


def _comparable(value: object, member: str = "") -> Hashable:
    """A value with one spelling for each type, and without members that are null."""
    if isinstance(value, list):
        return tuple(_comparable(each) for each in value)
    if isinstance(value, dict):
        members = value.items()
        return frozenset(
            (name, _comparable(each, name)) for name, each in members if each is not None
        )
    if isinstance(value, str) and member in {"type", "element", "key", "value"}:
        return value if value in {"struct", "list", "map"} else types.canonical(value)
    assert isinstance(value, Hashable)
    return value
