"""Sort orders: Gravitino's as Iceberg's and back."""

import re
from collections.abc import Mapping, Sequence

from headgate.errors import BadRequest, Unsupported
from headgate.model import sorting, transforms
from headgate.model.gravitino import paths
from headgate.model.gravitino.wire import Expression, FieldName, SortOrder, column
from headgate.model.json_values import Object

_PLAIN = ("year", "month", "day", "hour")
_WIDE = ("bucket", "truncate")
_WIDTH = re.compile(r"[1-9]\d{0,9}", re.ASCII)
_NULLS = {"asc": "nulls_first", "desc": "nulls_last"}  # unless it is said otherwise


def to_order(orders: Sequence[SortOrder], schema: Object) -> Object | None:
    """The write order of a new table, None if there is none."""
    fields = [_to_field(one, schema) for one in orders]
    return {"order-id": sorting.FIRST_ID, "fields": fields} if fields else None


def from_order(order: Object, names: Mapping[int, FieldName]) -> list[SortOrder]:
    """An order in the words of Gravitino."""
    return [
        SortOrder(
            sort_term=_from_transform(field.transform, names[field.source_id]),
            direction=field.direction,
            null_ordering=field.null_order.replace("-", "_"),
        )
        for field in sorting.fields(order)
        if field.source_id in names
    ]


def describe(order: Object, names: Mapping[int, FieldName]) -> str:
    """An order as the property `sort-order` says it."""
    return ", ".join(
        f"{_described(field.transform, '.'.join(names[field.source_id]))}"
        f" {field.direction.upper()} {field.null_order.replace('-', ' ').upper()}"
        for field in sorting.fields(order)
        if field.source_id in names
    )


def _to_field(one: SortOrder, schema: Object) -> Object:
    transform, name = _transform(one.sort_term)
    direction = one.direction.lower()
    if direction not in _NULLS:
        raise BadRequest(
            f"Invalid sort direction {direction[:80]}", why="it is unknown", fix="Use asc or desc"
        )
    nulls = (one.null_ordering or _NULLS[direction]).lower()
    if nulls not in _NULLS.values():
        raise BadRequest(
            f"Invalid nullOrdering {nulls[:80]}",
            why="it is unknown",
            fix="Use nulls_first or nulls_last",
        )
    return {
        "source-id": paths.require(schema, name).id,
        "transform": transform,
        "direction": direction,
        "null-order": nulls.replace("_", "-"),
    }


def _transform(term: Expression) -> tuple[str, FieldName]:
    """What rows are sorted by: a column, or a transform of one."""
    if term.type.lower() == "field" and term.field_name:
        return "identity", term.field_name
    function, arguments = (term.func_name or "").lower(), term.func_args or []
    match arguments:
        case [Expression(type="field", field_name=[*name])] if function in _PLAIN:
            return function, name
        case [
            Expression(type="literal", value=str(width)),
            Expression(type="field", field_name=[*name]),
        ] if function in _WIDE and _WIDTH.fullmatch(width):
            return f"{function}[{width}]", name
    raise Unsupported(
        f"Iceberg cannot sort by {function[:80] or term.type[:80]} of {len(arguments)} arguments",
        fix="Sort by a column, by year, month, day or hour of one, "
        "or by bucket or truncate of a whole number and a column",
    )


def _from_transform(transform: str, name: FieldName) -> Expression:
    kind = transforms.kind(transform)
    if kind == "identity":
        return column(name)
    arguments = [column(name)]
    if kind != transform:
        width = str(transforms.width(transform))
        arguments.insert(0, Expression(type="literal", data_type="integer", value=width))
    return Expression(type="function", func_name=kind, func_args=arguments)


def _described(transform: str, name: str) -> str:
    kind = transforms.kind(transform)
    match kind:
        case "identity":
            return name
        case "bucket":
            return f"bucket({transforms.width(transform)}, {name})"
        case "truncate":
            return f"truncate({name}, {transforms.width(transform)})"
        case "year" | "month" | "day" | "hour":
            return f"{kind}s({name})"
    return f"{transform}({name})"
