"""Tables: what a client asks for as a request of Iceberg, and a table as clients see it."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.errors import BadRequest
from headgate.model import table_properties
from headgate.model.gravitino import columns, layout, partitioning, paths, properties, sorting
from headgate.model.gravitino.changes import (
    PropertyChange,
    RemoveProperty,
    RenameTable,
    SetProperty,
    TableChange,
    UpdateComment,
)
from headgate.model.gravitino.evolution import Evolution
from headgate.model.gravitino.wire import (
    Column,
    Distribution,
    Index,
    Partitioning,
    SortOrder,
    Wire,
)
from headgate.model.json_values import Object
from headgate.model.table_actions import LAST_ADDED
from headgate.model.table_metadata import FORMAT_VERSION_DEFAULT
from headgate.model.table_outlines import TableOutline


class CreateTable(Wire, frozen=True):
    """What a client says of a table it wants."""

    name: str
    columns: list[Column]
    comment: str | None = None
    properties: dict[str, str] | None = None
    sort_orders: list[SortOrder] | None = None
    distribution: Distribution | None = None
    partitioning: list[Partitioning] | None = None
    indexes: list[Index] | None = None


class Description(NamedTuple):
    """A table as clients see it."""

    comment: str | None
    columns: list[Column]
    properties: dict[str, str]
    partitioning: list[Partitioning]
    distribution: Distribution
    sort_orders: list[SortOrder]
    indexes: list[Index]


def new_table(wanted: CreateTable) -> Object:
    """Iceberg's request for the same table."""
    if not wanted.columns:
        raise BadRequest("Cannot make a table", why="it has no columns", fix="Name at least one")
    given = wanted.properties or {}
    kept = properties.to_iceberg(given)
    version = table_properties.number(kept, properties.FORMAT_VERSION, FORMAT_VERSION_DEFAULT)
    schema = columns.to_schema(wanted.columns, version)
    identifiers = layout.to_identifiers(wanted.indexes or [], schema)
    if identifiers:
        schema["identifier-field-ids"] = identifiers
    spec = partitioning.to_spec(wanted.partitioning or [], schema)
    order = sorting.to_order(wanted.sort_orders or [], schema)
    kept[layout.DISTRIBUTION_MODE] = layout.to_mode(
        wanted.distribution, partitioned=bool(spec["fields"]), sorted=order is not None
    )
    if wanted.comment is not None:
        kept[properties.COMMENT] = wanted.comment
    return {
        "name": wanted.name,
        "location": given.get(properties.LOCATION),
        "schema": schema,
        "partition-spec": spec,
        "write-order": order,
        "properties": kept,
    }


def describe(table: TableOutline) -> Description:
    """A table in the words of Gravitino."""
    names = paths.names(table.schema)
    return Description(
        table.properties.get(properties.COMMENT),
        columns.from_schema(table.schema),
        properties.from_iceberg(table, names),
        partitioning.from_spec(table.spec, names),
        layout.from_mode(table.properties),
        sorting.from_order(table.order, names),
        layout.from_identifiers(table.schema, names),
    )


def updates_for(table: TableOutline, changes: Sequence[TableChange]) -> list[Object]:
    """Iceberg's updates that make all of these changes, in their order."""
    evolution, kept = Evolution(table), dict(table.properties)
    for change in changes:
        assert not isinstance(change, RenameTable), "that is no change of metadata"
        if isinstance(change, PropertyChange):
            _change_property(kept, change)
        else:
            evolution.apply(change)
    updates: list[Object] = []
    if evolution.schema != table.schema:
        updates += [
            {"action": "add-schema", "schema": evolution.schema},
            {"action": "set-current-schema", "schema-id": LAST_ADDED},
        ]
        before, after = paths.names(table.schema), paths.names(evolution.schema)
        kept = properties.of_columns(kept, before, after)
    return updates + property_updates(table.properties, kept)


def property_updates(before: dict[str, str], after: dict[str, str]) -> list[Object]:
    """Iceberg's updates from some properties to others."""
    new = {name: value for name, value in after.items() if before.get(name) != value}
    gone = [name for name in before if name not in after]
    updates: list[Object] = []
    if new:
        updates.append({"action": "set-properties", "updates": new})
    if gone:
        updates.append({"action": "remove-properties", "removals": gone})
    return updates


def _change_property(kept: dict[str, str], change: PropertyChange) -> None:
    match change:
        case UpdateComment(new_comment=None):
            kept.pop(properties.COMMENT, None)
        case UpdateComment(new_comment=str(comment)):
            kept[properties.COMMENT] = comment
        case SetProperty(property=name, value=value):
            properties.check_changeable(name)
            kept[name] = value
        case RemoveProperty(property=name):
            properties.check_changeable(name)
            kept.pop(name, None)
