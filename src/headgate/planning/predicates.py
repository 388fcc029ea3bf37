"""Single tests of a filter, bound to columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg import expressions
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, UnboundPredicate
from pyiceberg.expressions.literals import AboveMax, BelowMin, literal
from pyiceberg.schema import Schema
from pyiceberg.transforms import UnknownTransform, parse_transform
from pyiceberg.types import IcebergType, NestedField, StringType

from headgate.errors import BadRequest
from headgate.planning.filters import SETS, UNARY, Both, Either, Filter, Leaf
from headgate.planning.literals import NotComparable, comparable
from headgate.planning.table import NOT_UNDERSTOOD

CLASSES: dict[str, Any] = {
    "is-null": expressions.IsNull,
    "not-null": expressions.NotNull,
    "is-nan": expressions.IsNaN,
    "not-nan": expressions.NotNaN,
    "lt": expressions.LessThan,
    "lt-eq": expressions.LessThanOrEqual,
    "gt": expressions.GreaterThan,
    "gt-eq": expressions.GreaterThanOrEqual,
    "eq": expressions.EqualTo,
    "not-eq": expressions.NotEqualTo,
    "starts-with": expressions.StartsWith,
    "not-starts-with": expressions.NotStartsWith,
    "in": expressions.In,
    "not-in": expressions.NotIn,
}


@dataclass(frozen=True)
class Predicate:
    """A test of a column that exists."""

    operation: str
    field_id: int
    transform: str | None
    values: tuple[Any, ...]
    json: Any
    """In the older form."""
    unbound: BooleanExpression
    """For pyiceberg; AlwaysTrue if it cannot say this test."""
    bound: BooleanExpression
    """The same with its column; AlwaysFalse if no row can pass it."""

    def on(self, name: str) -> BooleanExpression:
        """The same test of another column."""
        return _expression(self.operation, name, self.values)


def bound(filter: Filter, schema: Schema, *, case_sensitive: bool) -> dict[Leaf, Predicate]:
    """All tests of a filter. Raises BadRequest if one tests what is not there."""
    return {leaf: _bound(leaf, schema, case_sensitive=case_sensitive) for leaf in _leaves(filter)}


def _leaves(filter: Filter) -> Iterator[Leaf]:
    rest = [filter]
    while rest:
        found = rest.pop()
        if isinstance(found, Both | Either):
            rest += [found.left, found.right]
        elif isinstance(found, Leaf):
            yield found


def _bound(leaf: Leaf, schema: Schema, *, case_sensitive: bool) -> Predicate:
    field, name = _column(leaf, schema, case_sensitive=case_sensitive)
    unbound = _unbound(leaf, field, name)
    try:
        found = unbound.bind(schema) if isinstance(unbound, UnboundPredicate) else unbound
    except (*NOT_UNDERSTOOD, ArithmeticError) as error:
        raise BadRequest(
            f"Cannot filter column {name} of type {field.field_type}", why=str(error)
        ) from error
    return Predicate(
        leaf.operation,
        field.field_id,
        leaf.transform,
        leaf.values,
        _json(leaf, leaf.column if isinstance(leaf.column, str) else name),
        unbound,
        found,
    )


def _column(leaf: Leaf, schema: Schema, *, case_sensitive: bool) -> tuple[NestedField, str]:
    try:
        field = schema.find_field(leaf.column, case_sensitive)
    except ValueError as error:
        raise BadRequest(
            f"Cannot find field '{leaf.column}' of the filter", why="the schema has none"
        ) from error
    name = schema.find_column_name(field.field_id)
    assert name is not None
    return field, name


def _unbound(leaf: Leaf, field: NestedField, name: str) -> BooleanExpression:
    if leaf.transform is not None:
        _check_transform(leaf.transform, field)
        return AlwaysTrue()
    if leaf.operation.endswith("starts-with") and not isinstance(field.field_type, StringType):
        raise BadRequest(f"Cannot test how column {name} starts", why=f"it is {field.field_type}")
    try:
        values = tuple(comparable(field.field_type, value) for value in leaf.values)
    except NotComparable:
        return AlwaysTrue()
    if leaf.operation in SETS:
        values = _in_range(values, field.field_type)
    return _expression(leaf.operation, name, values)


def _check_transform(transform: str, field: NestedField) -> None:
    try:
        found = parse_transform(transform)
    except NOT_UNDERSTOOD as error:
        raise BadRequest(f"Cannot parse the transform {transform}", why=str(error)) from error
    if not isinstance(found, UnknownTransform) and not found.can_transform(field.field_type):
        raise BadRequest(
            f"Cannot apply {transform} to {field.name}", why=f"it is {field.field_type}"
        )


def _in_range(values: tuple[Any, ...], type: IcebergType) -> tuple[Any, ...]:
    """Without values that no row can have."""
    try:
        return tuple(
            value
            for value in values
            if not isinstance(literal(value).to(type), AboveMax | BelowMin)
        )
    except (TypeError, ValueError, ArithmeticError):
        return values  # binding says what is wrong with them


def _expression(operation: str, name: str, values: tuple[Any, ...]) -> BooleanExpression:
    if operation in UNARY:
        found: BooleanExpression = CLASSES[operation](name)
    elif operation in SETS:
        found = CLASSES[operation](name, values)
    else:
        found = CLASSES[operation](name, values[0])
    return found


def _json(leaf: Leaf, name: str) -> dict[str, Any]:
    term: Any = name
    if leaf.transform is not None:
        term = {"type": "transform", "transform": leaf.transform, "term": name}
    json = {"type": leaf.operation, "term": term}
    if leaf.operation in SETS:
        json["values"] = list(leaf.values)
    elif leaf.operation not in UNARY:
        json["value"] = leaf.values[0]
    return json
