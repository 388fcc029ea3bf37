"""A new table from what a client asks for: its columns are numbered from 1, by us."""

from collections.abc import Mapping

from msgspec import Raw

from headgate.errors import BadMetadata
from headgate.model import partitioning, schemas, sorting
from headgate.model.json_values import Object, builtins, convert, encode
from headgate.model.table_actions import (
    LAST_ADDED,
    AddSchema,
    AddSortOrder,
    AddSpec,
    AssignUuid,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    UpgradeFormatVersion,
)
from headgate.model.table_metadata import FORMAT_VERSION_DEFAULT, FORMAT_VERSION_MAX, TableMetadata
from headgate.model.table_properties import (
    FORMAT_VERSION,
    NEW_TABLE,
    check_new,
    number,
    without_reserved,
)
from headgate.model.table_updates import apply


def new_table(  # noqa: PLR0913  the members of a CreateTableRequest
    schema: object,
    spec: object,
    order: object,
    properties: Mapping[str, str],
    *,
    location: str,
    uuid: str,
    now_ms: int,
) -> TableMetadata:
    """The first version of a table.

    Schema, partition spec and write order are the members of a CreateTableRequest, encoded
    (`Raw`, `bytes`) or decoded; spec and order may be null.
    """
    version = number(properties, FORMAT_VERSION, FORMAT_VERSION_DEFAULT)
    if not 1 <= version <= FORMAT_VERSION_MAX:
        raise BadMetadata(
            f"Unsupported format version: v{version} (supported: v{FORMAT_VERSION_MAX})"
        )
    fresh, ids = schemas.with_fresh_ids(_object(schema, None, "schema"))
    stored = NEW_TABLE | without_reserved(properties)
    columns = schemas.check(fresh, version)
    check_new(stored, version, (column.name for column in columns.values()))
    updates = (
        AssignUuid(uuid),
        UpgradeFormatVersion(version),
        AddSchema(Raw(encode(fresh))),
        SetCurrentSchema(LAST_ADDED),
        AddSpec(Raw(encode(_fresh_spec(spec, ids)))),
        SetDefaultSpec(LAST_ADDED),
        AddSortOrder(Raw(encode(_fresh_order(order, ids)))),
        SetDefaultSortOrder(LAST_ADDED),
        SetLocation(location),
        SetProperties(stored),
    )
    return apply(None, updates, now_ms=now_ms, previous_location=None)


def _object(value: object, default: object, what: str) -> Object:
    given = builtins(value, what)
    return convert(default if given is None else given, Object, what)


def _fresh_spec(given: object, ids: Mapping[int, int]) -> Object:
    spec = _object(given, partitioning.UNPARTITIONED, "partition spec")
    fields = []
    for field, member in zip(partitioning.fields(spec), spec["fields"], strict=True):
        if field.source_id not in ids:
            raise BadMetadata(f"Cannot find source column for partition field: {field}")
        fields.append({**member, "source-id": ids[field.source_id]})
        fields[-1].pop("field-id", None)
    return {**spec, "fields": fields}


def _fresh_order(given: object, ids: Mapping[int, int]) -> Object:
    order = _object(given, sorting.UNSORTED, "sort order")
    fields = []
    for field, member in zip(sorting.fields(order), order["fields"], strict=True):
        if field.source_id not in ids:
            raise BadMetadata(f"Cannot find source column for sort field: {field}")
        fields.append({**member, "source-id": ids[field.source_id]})
    return {**order, "fields": fields}
