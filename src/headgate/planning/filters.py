"""Filters on the wire, of both forms, as trees without negations.

The older form names a column by a `term` and compares it with a `value` or `values`; the newer one
has a `child`, or `left` and `right`, each a reference, a literal or a function of such. What the
newer form can say and pruning cannot use is kept as it is: it prunes nothing, and comes back to the
client in the residual.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from headgate.errors import BadRequest

Json = Any
"""JSON as it was decoded."""

UNARY = {"is-null", "not-null", "is-nan", "not-nan"}
COMPARISONS = {
    "lt",
    "lt-eq",
    "gt",
    "gt-eq",
    "eq",
    "not-eq",
    "starts-with",
    "not-starts-with",
}
SETS = {"in", "not-in"}

_NEGATED = {
    "is-null": "not-null",
    "is-nan": "not-nan",
    "lt": "gt-eq",
    "gt": "lt-eq",
    "eq": "not-eq",
    "starts-with": "not-starts-with",
    "in": "not-in",
}
NEGATED = _NEGATED | {no: yes for yes, no in _NEGATED.items()}
MIRRORED = {
    "lt": "gt",
    "gt": "lt",
    "lt-eq": "gt-eq",
    "gt-eq": "lt-eq",
    "eq": "eq",
    "not-eq": "not-eq",
}


@dataclass(frozen=True)
class Constant:
    """Every row, or none."""

    holds: bool


@dataclass(frozen=True)
class Both:
    """Rows that pass both sides."""

    left: "Filter"
    right: "Filter"


@dataclass(frozen=True)
class Either:
    """Rows that pass one side, or the other, or both."""

    left: "Filter"
    right: "Filter"


@dataclass(frozen=True, eq=False)
class Leaf:
    """One test of one column."""

    operation: str
    column: str | int
    """A name, or a field id."""
    transform: str | None
    values: tuple[Json, ...]


@dataclass(frozen=True, eq=False)
class Opaque:
    """A test that only the client understands."""

    json: Json


Filter = Constant | Both | Either | Leaf | Opaque

ALL = Constant(holds=True)


def parse(data: bytes) -> Filter:
    """A filter from its JSON. Raises BadRequest if it is none."""
    try:
        json = msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise BadRequest("Cannot parse the filter", why=str(error)) from error
    return _parse(json, negated=False)


def _parse(json: Json, *, negated: bool) -> Filter:
    if isinstance(json, bool):
        return Constant(json != negated)
    operation = _operation(json)
    if operation in {"true", "false"}:
        return Constant((operation == "true") != negated)
    if operation == "literal" and isinstance(json.get("value"), bool):
        return Constant(json["value"] != negated)
    if operation == "not":
        return _parse(_part(json, "child"), negated=not negated)
    if operation in {"and", "or"}:
        branch = Both if (operation == "and") != negated else Either
        return branch(
            _parse(_part(json, "left"), negated=negated),
            _parse(_part(json, "right"), negated=negated),
        )
    leaf = _leaf(operation, json)
    if not negated:
        return leaf
    if isinstance(leaf, Opaque):
        return Opaque({"type": "not", "child": leaf.json})
    return Leaf(NEGATED[leaf.operation], leaf.column, leaf.transform, leaf.values)


def _operation(json: Json) -> str:
    if not isinstance(json, Mapping) or not isinstance(json.get("type"), str):
        raise _bad(json, "it is neither true, false, nor an object with a type")
    return str(json["type"]).lower().replace("_", "-")


def _leaf(operation: str, json: Mapping[str, Json]) -> Leaf | Opaque:
    if operation in UNARY:
        return _test(operation, _part(json, "term", "child"), (), json)
    if operation in SETS:
        return _test(operation, _part(json, "term", "child"), _set(_part(json, "values")), json)
    if operation not in COMPARISONS:
        raise _bad(json, f"there is no predicate of type {operation}")
    left, right = _part(json, "term", "left"), _part(json, "value", "right")
    if _is_literal(left) and operation in MIRRORED and "left" in json:
        operation, left, right = MIRRORED[operation], right, left
    if not _is_literal(right):
        return Opaque(json)
    return _test(operation, left, (_literal(right),), json)


def _test(
    operation: str, term: Json, values: tuple[Json, ...], json: Mapping[str, Json]
) -> Leaf | Opaque:
    if isinstance(term, str):
        return Leaf(operation, term, None, values)
    kind = _operation(term)
    if kind == "reference":
        return Leaf(operation, _column(term), None, values)
    if kind == "transform":
        inner = _part(term, "term")
        column = inner if isinstance(inner, str) else _column(inner)
        transform = _part(term, "transform")
        if not isinstance(transform, str):
            raise _bad(term, "its transform is no string")
        return Leaf(operation, column, transform, values)
    if kind in {"apply", "literal"}:
        return Opaque(json)
    raise _bad(term, "it is neither a reference nor a transform")


def _column(reference: Json) -> str | int:
    for key, type in (("name", str), ("id", int), ("term", str)):
        if isinstance(reference, Mapping) and isinstance(reference.get(key), type):
            found: str | int = reference[key]
            return found
    raise _bad(reference, "it names no column")


def _set(values: Json) -> tuple[Json, ...]:
    if isinstance(values, Mapping) and values.get("type") == "literals":
        values = values.get("values")
    if not isinstance(values, list) or not all(map(_is_literal, values)):
        raise _bad(values, "it is no list of literals")
    return tuple(map(_literal, values))


def _is_literal(value: Json) -> bool:
    if isinstance(value, Mapping):
        return value.get("type") == "literal" and _is_literal(value.get("value"))
    return isinstance(value, str | int | float)


def _literal(value: Json) -> Json:
    return value["value"] if isinstance(value, Mapping) else value


def _part(json: Mapping[str, Json], *names: str) -> Json:
    for name in names:
        if name in json:
            return json[name]
    raise _bad(json, f"it has no {' or '.join(names)}")


def _bad(json: Json, why: str) -> BadRequest:
    shown = msgspec.json.encode(json).decode()
    return BadRequest(f"Cannot parse the filter {shown[:200]}", why=why)
