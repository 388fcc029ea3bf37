"""Sort orders: what makes one valid and when two are the same."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from headgate.errors import BadMetadata
from headgate.model import transforms
from headgate.model.json_values import Int32, Object, convert
from headgate.model.schemas import Column

UNSORTED_ID = 0
FIRST_ID = 1
UNSORTED: Object = {"order-id": UNSORTED_ID, "fields": []}
_DIRECTIONS = {"asc", "desc"}
_NULL_ORDERS = {"nulls-first", "nulls-last"}


class SortField(NamedTuple):
    """One field of a sort order."""

    source_id: int
    transform: str
    direction: str
    null_order: str

    def __str__(self) -> str:
        nulls = self.null_order.replace("-", " ").upper()
        return f"{self.transform}({self.source_id}) {self.direction.upper()} {nulls}"


class _Field(Struct, rename="kebab"):
    source_id: Int32
    transform: str
    direction: str
    null_order: str


class _Order(Struct, rename="kebab"):
    fields: list[_Field]
    order_id: Int32 | None = None


def fields(order: Object) -> list[SortField]:
    """The fields of an order, each word in its one spelling."""
    return [_field(field) for field in convert(order, _Order, "sort order").fields]


def shape(order: Object) -> tuple[SortField, ...]:
    """What orders have in common that sort alike."""
    return tuple(fields(order))


def normalized(order: Object) -> Object:
    """An order with each word in its one spelling."""
    members = [
        {
            **member,
            "transform": field.transform,
            "direction": field.direction,
            "null-order": field.null_order,
        }
        for field, member in zip(fields(order), order["fields"], strict=True)
    ]
    return {**order, "fields": members}


def check(order: Object, columns: Mapping[int, Column]) -> None:
    """An order can sort a table of these columns."""
    for field in fields(order):
        column = columns.get(field.source_id)
        if not column:
            raise BadMetadata(f"Cannot find source column for sort field: {field}")
        if not column.is_primitive:
            raise BadMetadata(f"Cannot sort by non-primitive source field: {column.name}")
        transforms.check(field.transform, column)


def _field(field: _Field) -> SortField:
    direction, null_order = field.direction.lower(), field.null_order.lower()
    if direction not in _DIRECTIONS:
        raise BadMetadata(f"Invalid sort direction: {field.direction}")
    if null_order not in _NULL_ORDERS:
        raise BadMetadata(f"Unexpected null order: {field.null_order}")
    return SortField(field.source_id, transforms.canonical(field.transform), direction, null_order)
