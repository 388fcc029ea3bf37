"""The JSON values of Gravitino that tables and views are described with."""

from typing import Any

import msgspec

from headgate.model.json_values import Int32

Type = str | dict[str, Any]
FieldName = list[str]
"""A column by its name and the names of those around it, outermost first."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A value that clients send. What nobody knows is refused, for its meaning would be lost."""


class Shown(Wire, frozen=True, omit_defaults=True):
    """A value that clients send and are sent. A member that is null, its default, is left out."""


class Expression(Shown, frozen=True):
    """A literal, a column, or a function of others."""

    type: str
    data_type: Type | None = None
    value: str | None = None
    field_name: FieldName | None = None
    func_name: str | None = None
    func_args: "list[Expression] | None" = None
    unparsed_expression: str | None = None


class Column(Shown, frozen=True):
    """A column of a table or a view. Plain defaults would be left out."""

    name: str
    type: Type
    comment: str | None = None
    nullable: bool = msgspec.field(default_factory=lambda: True)
    auto_increment: bool = msgspec.field(default_factory=lambda: False)
    default_value: Expression | None = None


class Partitioning(Shown, frozen=True):
    """One way in which rows are told apart; each strategy has members of its own."""

    strategy: str
    field_name: FieldName | None = None
    field_names: list[FieldName] | None = None
    num_buckets: Int32 | None = None
    width: Int32 | None = None
    assignments: list[Any] | None = None
    func_name: str | None = None
    func_args: list[Expression] | None = None


class Distribution(Wire, frozen=True):
    """How rows are shared out among those who write them."""

    strategy: str = "hash"
    number: Int32 = 0
    func_args: list[Expression] = []


class SortOrder(Wire, frozen=True):
    """One of the things that rows are sorted by."""

    sort_term: Expression
    direction: str = "asc"
    null_ordering: str | None = None


class Index(Wire, frozen=True):
    """Columns that identify a row."""

    index_type: str
    field_names: list[FieldName]
    name: str | None = None
    properties: dict[str, str] | None = None


class Representation(Wire, frozen=True):
    """What a view is, in the SQL of one engine."""

    dialect: str
    sql: str
    type: str = "sql"


def column(name: FieldName) -> Expression:
    """The expression that is a column."""
    return Expression(type="field", field_name=name)
