"""What the updates of a commit make of a table: a pure function from one version to the next."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from headgate.errors import BadMetadata
from headgate.model import definition_updates, snapshot_updates, statistics_updates
from headgate.model.definitions import ORDER_ID, SPEC_ID, define
from headgate.model.json_arrays import JsonArray
from headgate.model.json_values import Object, decode, encode
from headgate.model.partitioning import UNPARTITIONED
from headgate.model.sorting import UNSORTED, UNSORTED_ID
from headgate.model.table_actions import (
    AddEncryptionKey,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AddSpec,
    AssignUuid,
    RemoveEncryptionKey,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetSnapshotRef,
    SetStatistics,
    TableUpdate,
    UpgradeFormatVersion,
    decode_updates,
)
from headgate.model.table_metadata import (
    FORMAT_VERSION_DEFAULT,
    FORMAT_VERSION_MAX,
    MetadataLogEntry,
    TableMetadata,
    previous_files,
    without_last_slashes,
)
from headgate.model.table_properties import logged_files_max, without_reserved
from headgate.model.update_progress import Progress

__all__ = ["TableUpdate", "apply", "decode_updates", "expired_files"]

Handler = Callable[[TableMetadata, Any, Progress], TableMetadata]


class _EncryptionKey(Struct, rename="kebab"):
    key_id: str
    encrypted_key_metadata: str
    encrypted_by_id: str | None = None
    properties: dict[str, str] = {}


def apply(
    metadata: TableMetadata | None,
    updates: Sequence[TableUpdate],
    *,
    now_ms: int,
    previous_location: str | None,
    new_uuid: str = "",
) -> TableMetadata:
    """The next version of a table; the same object if nothing changes.

    None is a table that is to be created. `previous_location` is the file of the present version,
    and `new_uuid` is for clients that create a table and leave its identity to us.
    """
    # A table's time never runs backwards: readers refuse logs that do.
    now_ms = max(now_ms, metadata.last_updated_ms) if metadata else now_ms
    progress = Progress(now_ms, is_new=not metadata)
    table = metadata or _empty(updates, now_ms, new_uuid)
    for update in updates:
        table = _HANDLERS[type(update)](table, update, progress)
    table = snapshot_updates.with_history(table, progress)
    if not metadata:
        table = _completed(table)
    elif table == metadata:
        return metadata
    if progress.changed_schema:
        definition_updates.check_partition_names(table)
    if not metadata or _defaults(table) != _defaults(metadata):
        definition_updates.check_defaults(table)
    table = replace(table, last_updated_ms=now_ms)
    if metadata and previous_location is not None:
        entry = MetadataLogEntry(metadata.last_updated_ms, previous_location)
        table = replace(table, metadata_log=_logged(table, entry))
    return table


def expired_files(before: TableMetadata | None, after: TableMetadata) -> list[str]:
    """The metadata files that the log of `before` had and that of `after` has no more."""
    if not before or before.metadata_log is after.metadata_log:
        return []
    kept = set(previous_files(after))
    return [file for file in previous_files(before) if file not in kept]


def _empty(updates: Sequence[TableUpdate], now_ms: int, uuid: str) -> TableMetadata:
    versions = (each.format_version for each in updates if isinstance(each, UpgradeFormatVersion))
    version = next(versions, FORMAT_VERSION_DEFAULT)
    _check_version(version)
    return TableMetadata(
        format_version=version,
        table_uuid=uuid,
        location="",
        last_updated_ms=now_ms,
        last_column_id=0,
    )


def _completed(table: TableMetadata) -> TableMetadata:
    if not table.table_uuid:
        raise BadMetadata(f"UUID is required in format v{table.format_version}")
    if not table.location:
        raise BadMetadata(f"Table location is required in format v{table.format_version}")
    if not table.partition_specs:
        table = replace(table, partition_specs=(define(UNPARTITIONED, SPEC_ID, 0),))
    if not table.sort_orders:
        table = replace(table, sort_orders=(define(UNSORTED, ORDER_ID, UNSORTED_ID),))
    return table


def _defaults(table: TableMetadata) -> tuple[int, int, int]:
    return table.current_schema_id, table.default_spec_id, table.default_sort_order_id


def _logged(table: TableMetadata, entry: MetadataLogEntry) -> JsonArray:
    kept = logged_files_max(table.properties) - 1
    log = table.metadata_log
    if len(log) <= kept:
        return log.appended(encode(entry))
    return JsonArray.of((*log.elements()[len(log) - kept :], encode(entry)))


def _check_version(version: int) -> None:
    if not 1 <= version <= FORMAT_VERSION_MAX:
        raise BadMetadata(
            f"Cannot upgrade table to unsupported format version: v{version} "
            f"(supported: v{FORMAT_VERSION_MAX})"
        )


def _assign_uuid(table: TableMetadata, update: AssignUuid, progress: Progress) -> TableMetadata:
    if progress.is_new:
        return replace(table, table_uuid=_checked_uuid(update.uuid))
    if update.uuid.lower() != table.table_uuid.lower():
        raise BadMetadata(f"Cannot reassign uuid: {table.table_uuid} to {update.uuid}")
    return table


def _checked_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise BadMetadata(f"Cannot set uuid to {text[:80]!r}: it is not a UUID") from None


def _upgrade(table: TableMetadata, update: UpgradeFormatVersion, _: Progress) -> TableMetadata:
    _check_version(update.format_version)
    if update.format_version < table.format_version:
        raise BadMetadata(
            f"Cannot downgrade v{table.format_version} table to v{update.format_version}"
        )
    return replace(table, format_version=update.format_version)


def _set_location(table: TableMetadata, update: SetLocation, _: Progress) -> TableMetadata:
    location = without_last_slashes(update.location)
    if not location:
        raise BadMetadata("Cannot set location: path must not be null or empty")
    return replace(table, location=location)


def _set_properties(table: TableMetadata, update: SetProperties, _: Progress) -> TableMetadata:
    given = update.updated if update.updates is None else update.updates
    if given is None:
        raise BadMetadata("Cannot parse set-properties: updates is missing")
    return replace(table, properties=table.properties | without_reserved(given))


def _remove_properties(
    table: TableMetadata, update: RemoveProperties, _: Progress
) -> TableMetadata:
    given = update.removed if update.removals is None else update.removals
    if given is None:
        raise BadMetadata("Cannot parse remove-properties: removals is missing")
    kept = {name: value for name, value in table.properties.items() if name not in given}
    return replace(table, properties=kept)


def _add_encryption_key(
    table: TableMetadata, update: AddEncryptionKey, progress: Progress
) -> TableMetadata:
    decode(update.encryption_key, Object, "encryption key")
    key = decode(update.encryption_key, _EncryptionKey, "encryption key")
    try:
        base64.b64decode(key.encrypted_key_metadata, validate=True)
    except ValueError:
        raise BadMetadata(f"Invalid encryption key {key.key_id}: it is not base64") from None
    if key.key_id in progress.key_ids.keys(table.encryption_keys, _key_ids):
        return table
    keys = table.encryption_keys.appended(bytes(update.encryption_key))
    return replace(table, encryption_keys=progress.key_ids.added(keys, key.key_id))


def _remove_encryption_key(
    table: TableMetadata, update: RemoveEncryptionKey, _: Progress
) -> TableMetadata:
    ids = _key_ids(table.encryption_keys)
    if update.key_id not in ids:
        return table
    keys = zip(ids, table.encryption_keys.elements(), strict=True)
    kept = JsonArray.of(key for id, key in keys if id != update.key_id)
    return replace(table, encryption_keys=kept)


def _key_ids(keys: JsonArray) -> list[str]:
    return [key.key_id for key in keys.read(_EncryptionKey, "encryption-keys")]


_HANDLERS: Mapping[type[TableUpdate], Handler] = {
    AssignUuid: _assign_uuid,
    UpgradeFormatVersion: _upgrade,
    AddSchema: definition_updates.add_schema,
    SetCurrentSchema: definition_updates.set_current_schema,
    RemoveSchemas: definition_updates.remove_schemas,
    AddSpec: definition_updates.add_spec,
    SetDefaultSpec: definition_updates.set_default_spec,
    RemovePartitionSpecs: definition_updates.remove_partition_specs,
    AddSortOrder: definition_updates.add_sort_order,
    SetDefaultSortOrder: definition_updates.set_default_sort_order,
    AddSnapshot: snapshot_updates.add_snapshot,
    SetSnapshotRef: snapshot_updates.set_ref,
    RemoveSnapshotRef: snapshot_updates.remove_ref,
    RemoveSnapshots: snapshot_updates.remove_snapshots,
    SetLocation: _set_location,
    SetProperties: _set_properties,
    RemoveProperties: _remove_properties,
    SetStatistics: statistics_updates.set_statistics,
    RemoveStatistics: statistics_updates.remove_statistics,
    SetPartitionStatistics: statistics_updates.set_partition_statistics,
    RemovePartitionStatistics: statistics_updates.remove_partition_statistics,
    AddEncryptionKey: _add_encryption_key,
    RemoveEncryptionKey: _remove_encryption_key,
}
