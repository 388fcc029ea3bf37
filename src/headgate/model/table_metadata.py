"""Metadata of an Iceberg table, in split form: small parts decoded, long arrays as they came.

Unknown members survive at every level, because what is not understood is not decoded.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from msgspec import Raw, Struct

from headgate.errors import BadMetadata
from headgate.model import partitioning, schemas, sorting
from headgate.model.definitions import (
    ORDER_ID,
    SCHEMA_ID,
    SPEC_ID,
    Definition,
    Definitions,
    define,
    encode_definitions,
    find,
    parse_definitions,
)
from headgate.model.json_arrays import EMPTY, JsonArray
from headgate.model.json_values import Int32, Int64, Json, Object, decode, unique_members
from headgate.model.json_values import encode as encode_json
from headgate.model.snapshots import MAIN, NO_SNAPSHOTS, Ref, Snapshots, parse_refs
from headgate.model.snapshots import encode_refs as encode_ref_map

FORMAT_VERSION_MAX = 3
FORMAT_VERSION_DEFAULT = 2
ROW_LINEAGE_VERSION = 3
VERIFIED_AT_ONCE_BYTES_MAX = 256 << 10  # longer files are verified by who registers them
CLOCK_SKEW_MS_MAX = 60_000  # readers refuse logs that run backwards by more

NO_SNAPSHOT = -1


class TableMetadata(Struct, frozen=True, kw_only=True, gc=False):
    """One version of a table."""

    format_version: int
    table_uuid: str
    location: str
    last_updated_ms: int
    last_column_id: int
    last_sequence_number: int = 0
    current_schema_id: int = 0
    default_spec_id: int = 0
    last_partition_id: int = partitioning.FIRST_FIELD_ID - 1
    default_sort_order_id: int = sorting.UNSORTED_ID
    current_snapshot_id: int | None = None
    next_row_id: int = 0
    schemas: Definitions = ()
    partition_specs: Definitions = ()
    sort_orders: Definitions = ()
    properties: dict[str, str] = {}
    refs: dict[str, Ref] = {}
    unknown: dict[str, Raw] = {}
    encryption_keys: JsonArray = EMPTY
    statistics: JsonArray = EMPTY
    partition_statistics: JsonArray = EMPTY
    metadata_log: JsonArray = EMPTY
    snapshot_log: JsonArray = EMPTY
    snapshots: Snapshots = NO_SNAPSHOTS


class LogEntry(Struct, frozen=True, rename="kebab"):
    """Something that happened to a table."""

    timestamp_ms: Int64


class SnapshotLogEntry(LogEntry, frozen=True):
    """When a snapshot became the current one."""

    snapshot_id: Int64


class MetadataLogEntry(LogEntry, frozen=True):
    """A metadata file that was replaced, and when it had been written."""

    metadata_file: str


class _Scalars(Struct, rename="kebab"):
    format_version: Int32
    location: str
    last_updated_ms: Int64
    last_column_id: Int32
    table_uuid: str | None = None
    last_sequence_number: Int64 | None = None
    current_schema_id: Int32 | None = None
    default_spec_id: Int32 | None = None
    last_partition_id: Int32 | None = None
    default_sort_order_id: Int32 | None = None
    current_snapshot_id: Int64 | None = None
    next_row_id: Int64 | None = None
    properties: dict[str, str] = {}


_SCALARS = _Scalars.__struct_encode_fields__
_ARRAYS = {
    "encryption-keys": "encryption_keys",
    "statistics": "statistics",
    "partition-statistics": "partition_statistics",
    "metadata-log": "metadata_log",
    "snapshot-log": "snapshot_log",
    "snapshots": "snapshots",
}
_DEFINED = ("schemas", "schema", "partition-specs", "partition-spec", "sort-orders", "refs")
_KNOWN = frozenset((*_SCALARS, *_DEFINED, *_ARRAYS))


def parse(data: bytes) -> TableMetadata:
    """Reads a metadata file. One that contradicts itself is refused.

    What can be seen only by reading all snapshots is checked at once in files of ordinary
    length; who takes a file from elsewhere calls `verify`.
    """
    found = unique_members(data, "table metadata")
    known = {
        name: value
        for name, value in found.items()
        if name in _KNOWN and bytes(memoryview(value)[:1]) != b"n"  # null is the same as absent
    }
    unknown = {name: Raw(bytes(each)) for name, each in found.items() if name not in _KNOWN}
    scalars = _parse_scalars(known)
    version = scalars.format_version
    schemas, schema_id = _parse_schemas(known, scalars)
    specs, spec_id = _parse_specs(known, scalars)
    orders, order_id = _parse_orders(known, scalars)
    current = None if scalars.current_snapshot_id == NO_SNAPSHOT else scalars.current_snapshot_id
    metadata = TableMetadata(
        format_version=version,
        table_uuid=scalars.table_uuid or _uuid_of_old_table(scalars.location),
        location=without_last_slashes(scalars.location),
        last_updated_ms=scalars.last_updated_ms,
        last_column_id=scalars.last_column_id,
        last_sequence_number=scalars.last_sequence_number or 0,
        schemas=schemas,
        current_schema_id=schema_id,
        partition_specs=specs,
        default_spec_id=spec_id,
        last_partition_id=_last_partition_id(scalars, specs),
        sort_orders=orders,
        default_sort_order_id=order_id,
        properties=scalars.properties,
        current_snapshot_id=current,
        next_row_id=(scalars.next_row_id or 0) if version >= ROW_LINEAGE_VERSION else 0,
        refs=_parse_refs(known, current),
        unknown=unknown,
        **_parse_arrays(known),
    )
    if len(data) <= VERIFIED_AT_ONCE_BYTES_MAX:
        _verify_snapshots(metadata)
    return metadata


def verify(metadata: TableMetadata) -> None:
    """What `parse` leaves out to be quick: schemas are sound too, in files of any length."""
    for schema in metadata.schemas:
        schemas.columns(schema.value)
    _verify_snapshots(metadata)


def _verify_snapshots(metadata: TableMetadata) -> None:
    """Everything that metadata points at is there, and no snapshot is newer than the table."""
    newest, last = metadata.snapshots.newest_sequence_number(), metadata.last_sequence_number
    if newest > last:
        raise BadMetadata(
            f"Invalid snapshot with sequence number {newest} "
            f"greater than last sequence number {last}"
        )
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in metadata.snapshots:
            raise BadMetadata(
                f"Snapshot for reference {name} does not exist in the existing snapshots list"
            )
    _verify_times(metadata)
    try:
        encode(metadata).decode()
    except UnicodeDecodeError as broken:
        raise BadMetadata("Cannot parse table metadata", why=str(broken)) from None


def encode(metadata: TableMetadata) -> bytes:
    """The metadata file."""
    return b"".join(_parts(metadata, metadata.snapshots))


def encode_refs(metadata: TableMetadata) -> bytes:
    """The same with those snapshots only that a branch or tag points at."""
    ids = dict.fromkeys(ref.snapshot_id for ref in metadata.refs.values())
    found = (metadata.snapshots.get(id) for id in ids)
    return b"".join(_parts(metadata, Snapshots.of(each for each in found if each is not None)))


def previous_files(metadata: TableMetadata) -> list[str]:
    """The metadata files of earlier versions that are still logged, oldest first."""
    log = metadata.metadata_log.read(MetadataLogEntry, "metadata-log")
    return [entry.metadata_file for entry in log]


def snapshot(metadata: TableMetadata, id: int) -> Object | None:
    """A snapshot by its id, decoded."""
    found = metadata.snapshots.get(id)
    return None if found is None else decode(found, Object, f"snapshot {id}")


def without_last_slashes(location: str) -> str:
    """A location as it is stored; the slashes of a scheme alone stay."""
    while location.endswith("/") and not location.endswith("://"):
        location = location[:-1]
    return location


def current_schema(metadata: TableMetadata) -> Definition:
    """The schema of rows that are written now."""
    return _default(metadata.schemas, metadata.current_schema_id, "schema")


def default_spec(metadata: TableMetadata) -> Definition:
    """How rows are partitioned that are written now."""
    return _default(metadata.partition_specs, metadata.default_spec_id, "partition spec")


def _default(definitions: Definitions, id: int, what: str) -> Definition:
    found = find(definitions, id)
    assert found, f"no {what} {id}"  # parse and apply let no such metadata come to be
    return found


def _parse_scalars(known: dict[str, Raw]) -> _Scalars:
    given = {name: value for name, value in known.items() if name in _SCALARS}
    version = decode(given.get("format-version", b"null"), int, "format-version")
    if not 1 <= version <= FORMAT_VERSION_MAX:
        raise BadMetadata(f"Cannot read unsupported version {version}")
    scalars = decode(encode_json(given), _Scalars, "table metadata")
    required = {
        "table-uuid": scalars.table_uuid,
        "last-sequence-number": scalars.last_sequence_number,
        "last-partition-id": scalars.last_partition_id,
    }
    if version >= ROW_LINEAGE_VERSION:
        required["next-row-id"] = scalars.next_row_id
    for name, value in required.items():
        if value is None and version > 1:
            raise BadMetadata(f"{name} must exist in format v{version}")
    if version == 1 and scalars.last_sequence_number:
        raise BadMetadata(f"Sequence number must be 0 in v1: {scalars.last_sequence_number}")
    return scalars


def _parse_schemas(known: dict[str, Raw], scalars: _Scalars) -> tuple[Definitions, int]:
    if "schemas" in known:
        schemas = parse_definitions(known["schemas"], SCHEMA_ID, "schemas")
        return schemas, _existing(schemas, scalars.current_schema_id, "current-schema-id")
    old = _only_in_v1(known, scalars, "schemas", "schema")
    schemas = parse_definitions(b"[%b]" % old, SCHEMA_ID, "schemas")
    return schemas, schemas[0].id


def _parse_specs(known: dict[str, Raw], scalars: _Scalars) -> tuple[Definitions, int]:
    if "partition-specs" not in known:
        old = _only_in_v1(known, scalars, "partition-specs", "partition-spec")
        fields = decode(old, list[Object], "partition-spec")
        spec = partitioning.with_field_ids({"fields": fields})
        return (define(spec, SPEC_ID, 0),), 0
    specs = parse_definitions(known["partition-specs"], SPEC_ID, "partition-specs")
    specs = tuple(_with_field_ids(spec) for spec in specs)
    return specs, _existing(specs, scalars.default_spec_id, "default-spec-id")


def _parse_orders(known: dict[str, Raw], scalars: _Scalars) -> tuple[Definitions, int]:
    if "sort-orders" in known:
        orders = parse_definitions(known["sort-orders"], ORDER_ID, "sort-orders")
        return orders, _existing(orders, scalars.default_sort_order_id, "default-sort-order-id")
    if scalars.format_version > 1:
        raise BadMetadata(f"sort-orders must exist in format v{scalars.format_version}")
    return (define(sorting.UNSORTED, ORDER_ID, sorting.UNSORTED_ID),), sorting.UNSORTED_ID


def _only_in_v1(known: dict[str, Raw], scalars: _Scalars, name: str, old_name: str) -> bytes:
    if scalars.format_version > 1 or old_name not in known:
        raise BadMetadata(f"{name} must exist in format v{scalars.format_version}")
    return bytes(known[old_name])


def _existing(definitions: Definitions, id: int | None, member: str) -> int:
    if id is None or not find(definitions, id):
        raise BadMetadata(f"Invalid table metadata: there is nothing with {member}={id}")
    return id


def _with_field_ids(spec: Definition) -> Definition:
    value = spec.value
    numbered = partitioning.with_field_ids(value)
    return spec if numbered is value else define(numbered, SPEC_ID, spec.id)


def _last_partition_id(scalars: _Scalars, specs: Definitions) -> int:
    if scalars.last_partition_id is not None:
        return scalars.last_partition_id
    return max(partitioning.last_field_id(spec.value) for spec in specs)


def _parse_refs(known: dict[str, Raw], current: int | None) -> dict[str, Ref]:
    refs = parse_refs(known["refs"]) if "refs" in known else {}
    main = refs.get(MAIN)
    if current is None:
        if main:
            raise BadMetadata("Current snapshot is not set, but main branch exists")
        return refs
    if main and main.snapshot_id != current:
        raise BadMetadata(
            f"Current snapshot ID does not match main branch ({current} != {main.snapshot_id})"
        )
    return refs if main else {MAIN: Ref(current, "branch"), **refs}


def _parse_arrays(known: dict[str, Raw]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, attribute in _ARRAYS.items():
        if name in known:
            kind = Snapshots if name == "snapshots" else JsonArray
            arrays[attribute] = kind.parse(known[name], name)
    return arrays


def _uuid_of_old_table(location: str) -> str:
    """Format v1 did not require a uuid; the next commit writes down the one that is made here."""
    return str(uuid5(NAMESPACE_URL, location))


def _verify_times(metadata: TableMetadata) -> None:
    snapshots = metadata.snapshot_log.read(SnapshotLogEntry, "snapshot-log")
    files = metadata.metadata_log.read(MetadataLogEntry, "metadata-log")
    logs: dict[str, Sequence[LogEntry]] = {"snapshot-log": snapshots, "metadata-log": files}
    for name, log in logs.items():
        times = [entry.timestamp_ms for entry in log]
        for before, after in pairwise([*times, metadata.last_updated_ms]):
            if after - before < -CLOCK_SKEW_MS_MAX:
                raise BadMetadata(f"Invalid {name}", why=f"{after} comes after {before}")


def _parts(metadata: TableMetadata, snapshots: Snapshots) -> Iterator[Json]:
    yield memoryview(encode_json(dict(_small_members(metadata))))[:-1]
    for name, attribute in _ARRAYS.items():
        array = snapshots if name == "snapshots" else getattr(metadata, attribute)
        if array or name != "encryption-keys":
            yield b',"%b":' % name.encode()
            yield from array.encoded()
    yield b"}"


def _small_members(metadata: TableMetadata) -> Iterator[tuple[str, object]]:
    version, current = metadata.format_version, metadata.current_snapshot_id
    yield "format-version", version
    yield "table-uuid", metadata.table_uuid
    yield "location", metadata.location
    if version > 1:
        yield "last-sequence-number", metadata.last_sequence_number
    yield "last-updated-ms", metadata.last_updated_ms
    yield "last-column-id", metadata.last_column_id
    if version == 1:  # for readers that know one schema and one spec only
        yield "schema", Raw(current_schema(metadata).json)
        yield "partition-spec", default_spec(metadata).value["fields"]
    yield "current-schema-id", metadata.current_schema_id
    yield "schemas", Raw(encode_definitions(metadata.schemas))
    yield "default-spec-id", metadata.default_spec_id
    yield "partition-specs", Raw(encode_definitions(metadata.partition_specs))
    yield "last-partition-id", metadata.last_partition_id
    yield "default-sort-order-id", metadata.default_sort_order_id
    yield "sort-orders", Raw(encode_definitions(metadata.sort_orders))
    yield "properties", metadata.properties
    if version >= ROW_LINEAGE_VERSION:
        yield "current-snapshot-id", current
        yield "next-row-id", metadata.next_row_id
    else:
        yield "current-snapshot-id", NO_SNAPSHOT if current is None else current
    yield "refs", Raw(encode_ref_map(metadata.refs))
    yield from metadata.unknown.items()
