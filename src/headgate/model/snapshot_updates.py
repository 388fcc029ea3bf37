"""How updates change the snapshots of a table, its branches and tags, and the history of main."""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.errors import BadMetadata, RequirementFailed
from headgate.model.json_arrays import JsonArray
from headgate.model.json_values import Json, Object, decode, encode
from headgate.model.snapshots import MAIN, Ref, Snapshot, check_ref, ref_type
from headgate.model.statistics_updates import without_snapshots
from headgate.model.table_actions import (
    AddSnapshot,
    RemoveSnapshotRef,
    RemoveSnapshots,
    SetSnapshotRef,
)
from headgate.model.table_metadata import (
    CLOCK_SKEW_MS_MAX,
    ROW_LINEAGE_VERSION,
    SnapshotLogEntry,
    TableMetadata,
)
from headgate.model.update_progress import Progress

RETRY = "Validation failed, please retry: "  # so that clients refresh and try again


def add_snapshot(table: TableMetadata, update: AddSnapshot, progress: Progress) -> TableMetadata:
    """A snapshot made on a table that has moved on is refused in a way that can be retried."""
    snapshot = read_snapshot(update.snapshot)
    _check_definitions(table)
    if snapshot.snapshot_id in table.snapshots:
        raise BadMetadata(f"Snapshot already exists for id: {snapshot.snapshot_id}")
    _check_files(table, snapshot)
    _check_rows(snapshot)
    _check_sequence_number(table, snapshot)
    progress.added_at_ms[snapshot.snapshot_id] = snapshot.timestamp_ms
    return replace(
        table,
        snapshots=table.snapshots.with_snapshot(snapshot.snapshot_id, bytes(update.snapshot)),
        last_sequence_number=max(table.last_sequence_number, snapshot.sequence_number),
        next_row_id=_next_row_id(table, snapshot),
    )


def read_snapshot(data: Json) -> Snapshot:
    """A snapshot as a client sent it."""
    decode(data, Object, "snapshot")  # also what is not looked at must be JSON
    snapshot: Snapshot = decode(data, Snapshot, "snapshot")
    return snapshot


def set_ref(table: TableMetadata, update: SetSnapshotRef, progress: Progress) -> TableMetadata:
    """Moving main makes another snapshot the current one, and history notes it."""
    name = update.ref_name
    ref = Ref(
        update.snapshot_id,
        ref_type(update.type),
        update.min_snapshots_to_keep,
        update.max_snapshot_age_ms,
        update.max_ref_age_ms,
    )
    check_ref(name, ref)
    present = table.refs.get(name)
    if present and replace(present, unknown={}) == ref:
        return table
    if ref.snapshot_id not in table.snapshots:
        raise BadMetadata(f"Cannot set {name} to unknown snapshot: {ref.snapshot_id}")
    table = replace(table, refs={**table.refs, name: ref})
    if name != MAIN or table.current_snapshot_id == ref.snapshot_id:
        return table
    # A return to an older snapshot happens now, not when that snapshot was made.
    at_ms = progress.added_at_ms.get(ref.snapshot_id, progress.now_ms)
    progress.history.append(SnapshotLogEntry(at_ms, ref.snapshot_id))
    return replace(table, current_snapshot_id=ref.snapshot_id)


def remove_ref(table: TableMetadata, update: RemoveSnapshotRef, _: Progress) -> TableMetadata:
    """Without main there is no current snapshot."""
    return _without_refs(table, {update.ref_name})


def remove_snapshots(
    table: TableMetadata, update: RemoveSnapshots, progress: Progress
) -> TableMetadata:
    """What points at them goes too; the parents that others name stay as they are."""
    ids = {id for id in update.snapshot_ids if id in table.snapshots}
    if not ids:
        return table
    progress.removed_snapshots = True
    table = replace(
        table,
        snapshots=table.snapshots.without(ids),
        statistics=without_snapshots(table.statistics, ids),
        partition_statistics=without_snapshots(table.partition_statistics, ids),
    )
    return _without_refs(
        table, {name for name, ref in table.refs.items() if ref.snapshot_id not in table.snapshots}
    )


def with_history(table: TableMetadata, progress: Progress) -> TableMetadata:
    """The table with its snapshot log brought up to date.

    Snapshots that this commit added and replaced at once never were current.
    """
    current = table.current_snapshot_id
    log = _without_gaps(table) if progress.removed_snapshots else table.snapshot_log
    for entry in progress.history:
        passing = entry.snapshot_id in progress.added_at_ms and entry.snapshot_id != current
        if not passing and entry.snapshot_id in table.snapshots:
            _check_time(log, entry, progress)
            log = log.appended(encode(entry))
    if progress.removed_snapshots and current is not None and _last(log, current) != current:
        raise BadMetadata(
            "Cannot set invalid snapshot log: latest entry is not the current snapshot"
        )
    return table if log is table.snapshot_log else replace(table, snapshot_log=log)


def _check_definitions(table: TableMetadata) -> None:
    needed = {
        "a schema": table.schemas,
        "a partition spec": table.partition_specs,
        "a sort order": table.sort_orders,
    }
    for what, definitions in needed.items():
        if not definitions:
            raise BadMetadata(f"Attempting to add a snapshot before {what} is added")


def _check_files(table: TableMetadata, snapshot: Snapshot) -> None:
    if snapshot.manifest_list is None and (table.format_version > 1 or snapshot.manifests is None):
        raise BadMetadata(f"Cannot add snapshot {snapshot.snapshot_id}: it has no manifest-list")


def _check_sequence_number(table: TableMetadata, snapshot: Snapshot) -> None:
    given, last = snapshot.sequence_number, table.last_sequence_number
    if table.format_version == 1:
        if given != 0:
            raise BadMetadata(f"Sequence number must be 0 in v1: {given}")
    elif given <= last and snapshot.has_parent:
        raise RequirementFailed(
            f"{RETRY}Cannot add snapshot with sequence number {given} "
            f"older than last sequence number {last}"
        )


def _check_rows(snapshot: Snapshot) -> None:
    """Readers check these also in versions to which they mean nothing."""
    first, rows = snapshot.first_row_id, snapshot.added_rows
    if first is not None and first < 0:
        raise BadMetadata(f"Invalid first-row-id (cannot be negative): {first}")
    if rows is not None and rows < 0:
        raise BadMetadata(f"Invalid added-rows (cannot be negative): {rows}")
    if first is not None and rows is None:
        raise BadMetadata("Invalid added-rows (required when first-row-id is set): null")


def _next_row_id(table: TableMetadata, snapshot: Snapshot) -> int:
    if table.format_version < ROW_LINEAGE_VERSION:
        return table.next_row_id
    first = snapshot.first_row_id
    if first is None:
        raise BadMetadata("Cannot add a snapshot: first-row-id is null")
    if first < table.next_row_id:
        raise RequirementFailed(
            f"{RETRY}Cannot add a snapshot, first-row-id is behind table next-row-id: "
            f"{first} < {table.next_row_id}"
        )
    return first + (
        snapshot.added_rows or 0
    )  # also if rows were left out before it: no id is given to two rows


def _without_refs(table: TableMetadata, names: set[str]) -> TableMetadata:
    refs = {name: ref for name, ref in table.refs.items() if name not in names}
    current = None if MAIN in names else table.current_snapshot_id
    return replace(table, refs=refs, current_snapshot_id=current)


def _without_gaps(table: TableMetadata) -> JsonArray:
    """The log since the last snapshot that is gone: a gap would look as if its neighbour lasted."""
    return JsonArray.of(reversed(list(_newest_first(table))))


def _newest_first(table: TableMetadata) -> Iterator[Json]:
    log = table.snapshot_log
    entries = log.read(SnapshotLogEntry, "snapshot-log")
    for entry, encoded in zip(reversed(entries), reversed(log.elements()), strict=True):
        if entry.snapshot_id not in table.snapshots:
            return
        yield encoded


def _last(log: JsonArray, default: int) -> int:
    last = log.last()
    return decode(last, SnapshotLogEntry, "snapshot-log").snapshot_id if last else default


def _check_time(log: JsonArray, entry: SnapshotLogEntry, progress: Progress) -> None:
    """Readers refuse a log that runs backwards, by more than clocks may differ."""
    last = log.last()
    before_ms = decode(last, SnapshotLogEntry, "snapshot-log").timestamp_ms if last else 0
    if entry.timestamp_ms - before_ms < -CLOCK_SKEW_MS_MAX:
        raise BadMetadata(
            f"Invalid snapshot timestamp {entry.timestamp_ms}: "
            f"before last snapshot timestamp {before_ms}",
            fix="Set the clock of this client",
        )
    if progress.now_ms - entry.timestamp_ms < -CLOCK_SKEW_MS_MAX:
        raise BadMetadata(
            f"Invalid update timestamp {progress.now_ms}: "
            f"before last snapshot log entry at {entry.timestamp_ms}",
            fix="Set the clock of this client",
        )
