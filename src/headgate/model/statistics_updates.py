"""How updates change which statistics files a table has: at most one of each kind a snapshot."""

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from headgate.model.json_arrays import JsonArray, KnownElements
from headgate.model.json_values import Int32, Int64, Json, Object, decode
from headgate.model.table_actions import (
    RemovePartitionStatistics,
    RemoveStatistics,
    SetPartitionStatistics,
    SetStatistics,
)
from headgate.model.table_metadata import TableMetadata
from headgate.model.update_progress import Progress


class _OfSnapshot(Struct, rename="kebab"):
    snapshot_id: Int64


class _Blob(Struct, rename="kebab"):
    type: str
    snapshot_id: Int64
    sequence_number: Int64
    fields: list[Int32]
    properties: dict[str, str] = {}


class _PartitionStatistics(_OfSnapshot):
    statistics_path: str
    file_size_in_bytes: Int64


class _Statistics(_PartitionStatistics):
    file_footer_size_in_bytes: Int64
    blob_metadata: list[_Blob]


def set_statistics(
    table: TableMetadata, update: SetStatistics, progress: Progress
) -> TableMetadata:
    """They take the place of those that the snapshot had."""
    files = _put(table.statistics, update.statistics, _Statistics, progress.statistics)
    return replace(table, statistics=files)


def remove_statistics(table: TableMetadata, update: RemoveStatistics, _: Progress) -> TableMetadata:
    """Nothing happens if the snapshot has none."""
    return replace(table, statistics=without_snapshots(table.statistics, {update.snapshot_id}))


def set_partition_statistics(
    table: TableMetadata, update: SetPartitionStatistics, progress: Progress
) -> TableMetadata:
    """They take the place of those that the snapshot had."""
    files = _put(
        table.partition_statistics,
        update.partition_statistics,
        _PartitionStatistics,
        progress.partition_statistics,
    )
    return replace(table, partition_statistics=files)


def remove_partition_statistics(
    table: TableMetadata, update: RemovePartitionStatistics, _: Progress
) -> TableMetadata:
    """Nothing happens if the snapshot has none."""
    files = without_snapshots(table.partition_statistics, {update.snapshot_id})
    return replace(table, partition_statistics=files)


def without_snapshots(files: JsonArray, ids: Collection[int]) -> JsonArray:
    """Statistics files but for those of some snapshots."""
    of = _snapshots(files)
    if not any(id in ids for id in of):
        return files
    kept = zip(of, files.elements(), strict=True)
    return JsonArray.of(file for id, file in kept if id not in ids)


def _put(
    files: JsonArray, file: Json, kind: type[_OfSnapshot], known: KnownElements[int]
) -> JsonArray:
    decode(file, Object, "statistics")  # also what is not looked at must be JSON
    id = decode(file, kind, "statistics").snapshot_id
    if id not in known.keys(files, _snapshots):
        return known.added(files.appended(bytes(file)), id)
    if bytes(file) in map(bytes, files.elements()):
        return files
    return without_snapshots(files, {id}).appended(bytes(file))


def _snapshots(files: JsonArray) -> list[int]:
    return [file.snapshot_id for file in files.read(_OfSnapshot, "statistics")]
