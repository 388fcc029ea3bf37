"""How updates change the schemas, partition specs and sort orders of a table."""

from msgspec.structs import replace

from headgate.errors import BadMetadata
from headgate.model import partitioning, schemas, sorting
from headgate.model.definitions import (
    ORDER_ID,
    SCHEMA_ID,
    SPEC_ID,
    Definition,
    Definitions,
    define,
    find,
)
from headgate.model.json_values import Object, decode, with_member
from headgate.model.schemas import Column
from headgate.model.table_actions import (
    LAST_ADDED,
    AddSchema,
    AddSortOrder,
    AddSpec,
    RemovePartitionSpecs,
    RemoveSchemas,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
)
from headgate.model.table_metadata import TableMetadata, default_spec
from headgate.model.update_progress import Progress


def add_schema(table: TableMetadata, update: AddSchema, progress: Progress) -> TableMetadata:
    """Its number is ours, whatever the client called it; column ids are the client's."""
    schema = decode(update.schema, Object, "schema")
    columns = schemas.check(schema, table.format_version)
    last_column_id = max(table.last_column_id, *columns, 0)
    equal = progress.schemas.equal(table.schemas, schemas.shape(schema))
    id = equal.id if equal else progress.schemas.next_id(table.schemas, 0)
    progress.last_schema_id = id
    if equal:
        return replace(table, last_column_id=last_column_id)
    clean = schemas.without_null_defaults(schema)
    if clean == schema:
        added = Definition(id, with_member(update.schema, SCHEMA_ID, id))
    else:
        added = define(clean, SCHEMA_ID, id)
    return replace(table, last_column_id=last_column_id, schemas=(*table.schemas, added))


def set_current_schema(
    table: TableMetadata, update: SetCurrentSchema, progress: Progress
) -> TableMetadata:
    """Old specs and orders stay as they are, valid or not, for they explain old files."""
    id = _resolved(update.schema_id, progress.last_schema_id, "schema")
    schema = find(table.schemas, id)
    if not schema:
        raise BadMetadata(f"Cannot set current schema to unknown schema: {id}")
    progress.changed_schema |= id != table.current_schema_id
    return replace(table, current_schema_id=id)


def check_partition_names(table: TableMetadata) -> None:
    """The names of all partitions fit the current schema, also those of specs out of use."""
    columns = _columns(table, "partition name")
    for spec in table.partition_specs:
        partitioning.check_names(spec.value, columns)


def remove_schemas(table: TableMetadata, update: RemoveSchemas, _: Progress) -> TableMetadata:
    """Numbers that are not known are ignored."""
    if table.current_schema_id in update.schema_ids:
        raise BadMetadata("Cannot remove the current schema")
    return replace(table, schemas=_without(table.schemas, update.schema_ids))


def add_spec(table: TableMetadata, update: AddSpec, progress: Progress) -> TableMetadata:
    """Its number is ours; the ids of its fields are the client's, or ours if it gave none."""
    spec = partitioning.normalized(decode(update.spec, Object, "partition spec"))
    columns = _columns(table, "partition spec", progress)
    partitioning.check(spec, columns)
    equal = progress.specs.equal(table.partition_specs, partitioning.shape(spec))
    id = equal.id if equal else progress.specs.next_id(table.partition_specs, 0)
    progress.last_spec_id = id
    if equal:
        return table
    spec = _with_field_ids(table, spec, progress)
    partitioning.check_new(spec, columns)
    if table.format_version == 1 and not partitioning.is_sequential(spec):
        raise BadMetadata(
            "Spec does not use sequential IDs that are required in v1",
            fix=f"Count field-id up from {partitioning.FIRST_FIELD_ID}",
        )
    return replace(
        table,
        partition_specs=(*table.partition_specs, define(spec, SPEC_ID, id)),
        last_partition_id=max(table.last_partition_id, partitioning.last_field_id(spec)),
    )


def set_default_spec(
    table: TableMetadata, update: SetDefaultSpec, progress: Progress
) -> TableMetadata:
    """Files are partitioned by it from now on."""
    id = _resolved(update.spec_id, progress.last_spec_id, "spec")
    if not find(table.partition_specs, id):
        raise BadMetadata(f"Cannot set default partition spec to unknown spec: {id}")
    return replace(table, default_spec_id=id)


def remove_partition_specs(
    table: TableMetadata, update: RemovePartitionSpecs, _: Progress
) -> TableMetadata:
    """Numbers that are not known are ignored."""
    if table.default_spec_id in update.spec_ids:
        raise BadMetadata("Cannot remove the default partition spec")
    return replace(table, partition_specs=_without(table.partition_specs, update.spec_ids))


def add_sort_order(table: TableMetadata, update: AddSortOrder, progress: Progress) -> TableMetadata:
    """Its number is ours: 0 for the order without fields, from 1 for all others."""
    order = sorting.normalized(decode(update.sort_order, Object, "sort order"))
    fields = sorting.shape(order)
    sorting.check(order, _columns(table, "sort order", progress))
    equal = progress.orders.equal(table.sort_orders, fields)
    if equal:
        progress.last_order_id = equal.id
        return table
    next_id = progress.orders.next_id(table.sort_orders, sorting.FIRST_ID)
    id = next_id if fields else sorting.UNSORTED_ID
    progress.last_order_id = id
    return replace(table, sort_orders=(*table.sort_orders, define(order, ORDER_ID, id)))


def set_default_sort_order(
    table: TableMetadata, update: SetDefaultSortOrder, progress: Progress
) -> TableMetadata:
    """Files are sorted by it from now on."""
    id = _resolved(update.sort_order_id, progress.last_order_id, "sort order")
    if not find(table.sort_orders, id):
        raise BadMetadata(f"Cannot set default sort order to unknown sort order: {id}")
    return replace(table, default_sort_order_id=id)


def check_defaults(table: TableMetadata) -> None:
    """Rows of the current schema can be partitioned and sorted as the table says."""
    columns = _columns(table, "default")
    partitioning.check(default_spec(table).value, columns)
    order = find(table.sort_orders, table.default_sort_order_id)
    if not order:  # a new table whose client added an order and did not make it the default
        raise BadMetadata(f"Invalid table: there is no sort order {table.default_sort_order_id}")
    sorting.check(order.value, columns)


def _columns(
    table: TableMetadata, what: str, progress: Progress | None = None
) -> dict[int, Column]:
    schema = find(table.schemas, table.current_schema_id)
    if not schema:
        raise BadMetadata(f"Cannot add a {what} before a schema is added")
    if progress is None:
        return schemas.columns(schema.value)
    if progress.columns[0] != schema.json:
        progress.columns = schema.json, schemas.columns(schema.value)
    return progress.columns[1]


def _with_field_ids(table: TableMetadata, spec: Object, progress: Progress) -> Object:
    if table.format_version == 1:
        return partitioning.with_field_ids(spec)
    known = progress.field_ids.of(table.partition_specs)
    return partitioning.with_field_ids(spec, known, table.last_partition_id)


def _without(definitions: Definitions, ids: list[int]) -> Definitions:
    gone = set(ids)
    return tuple(each for each in definitions if each.id not in gone)


def _resolved(id: int, last_added: int | None, noun: str) -> int:
    if id != LAST_ADDED:
        return id
    if last_added is None:
        raise BadMetadata(f"Cannot set last added {noun}: no {noun} has been added")
    return last_added
