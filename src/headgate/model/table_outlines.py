"""What a table or view is now, without its history: small, however long it has been there."""

import msgspec

from headgate.model.definitions import find
from headgate.model.json_values import Object
from headgate.model.sorting import UNSORTED
from headgate.model.table_metadata import TableMetadata, current_schema, default_spec
from headgate.model.view_metadata import ViewMetadata, schema_id


class TableOutline(msgspec.Struct, frozen=True):
    """The present definitions of a table."""

    format_version: int
    location: str
    last_column_id: int
    schema: Object
    spec: Object
    order: Object
    properties: dict[str, str]
    current_snapshot_id: int | None = None


class ViewOutline(msgspec.Struct, frozen=True):
    """The present version of a view."""

    schema: Object
    queries: dict[str, str]
    """The SQL of each dialect."""
    default_catalog: str | None
    default_namespace: tuple[str, ...]
    properties: dict[str, str]


Outline = TableOutline | ViewOutline


def table_outline(metadata: TableMetadata) -> TableOutline:
    """The outline of a table."""
    order = find(metadata.sort_orders, metadata.default_sort_order_id)
    return TableOutline(
        metadata.format_version,
        metadata.location,
        metadata.last_column_id,
        current_schema(metadata).value,
        default_spec(metadata).value,
        order.value if order else UNSORTED,
        metadata.properties,
        metadata.current_snapshot_id,
    )


def view_outline(metadata: ViewMetadata) -> ViewOutline:
    """The outline of a view."""
    version = metadata.current_version
    return ViewOutline(
        next(one for one in metadata.schemas if schema_id(one) == version.schema_id),
        {one.dialect: one.sql for one in version.representations if one.dialect and one.sql},
        version.default_catalog,
        version.default_namespace,
        metadata.properties,
    )
