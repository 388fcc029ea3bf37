"""Whether a commit was made before: its answer was lost, and its client sends it again.

Clients do so with appends, whose snapshots have ids that nobody else makes. All that such a commit
asks for must be in force, or be the past of what is; otherwise it is not the same commit.
"""

from collections.abc import Sequence

from headgate.errors import BadMetadata
from headgate.model.json_values import Object, decode
from headgate.model.table_actions import AddSnapshot, AssignUuid, SetSnapshotRef, TableUpdate
from headgate.model.table_metadata import TableMetadata, snapshot
from headgate.model.table_requirements import AssertCreate, AssertTableUuid, TableRequirement
from headgate.model.table_updates import apply

ANCESTORS_MAX = 1_000  # that are looked at; an answer is not lost for so many commits


def is_repetition(
    metadata: TableMetadata,
    requirements: Sequence[TableRequirement],
    updates: Sequence[TableUpdate],
) -> bool:
    """Whether a table is one that these updates were applied to already."""
    added = [update for update in updates if isinstance(update, AddSnapshot)]
    refs = [update for update in updates if isinstance(update, SetSnapshotRef)]
    others = [each for each in updates if not isinstance(each, AddSnapshot | SetSnapshotRef)]
    return (
        bool(added)
        and all(_has_snapshot(metadata, update) for update in added)
        and _is_meant(metadata, requirements, updates)
        and all(_was_there(metadata, update) for update in refs)
        and _is_in_force(metadata, others)
    )


def _has_snapshot(metadata: TableMetadata, update: AddSnapshot) -> bool:
    wanted = decode(update.snapshot, Object, "snapshot")
    id = wanted.get("snapshot-id")
    return isinstance(id, int) and snapshot(metadata, id) == wanted


def _is_meant(
    metadata: TableMetadata,
    requirements: Sequence[TableRequirement],
    updates: Sequence[TableUpdate],
) -> bool:
    """Whether it is this table that was to be changed, or to be created under this identity."""
    wanted = {each.uuid.lower() for each in requirements if isinstance(each, AssertTableUuid)}
    if wanted - {metadata.table_uuid.lower()}:
        return False
    is_creation = any(isinstance(each, AssertCreate) for each in requirements)
    return not is_creation or any(isinstance(update, AssignUuid) for update in updates)


def _was_there(metadata: TableMetadata, update: SetSnapshotRef) -> bool:
    """Whether a branch or tag points at the snapshot, or has moved on from it since."""
    ref = metadata.refs.get(update.ref_name)
    if ref is None or ref.type != update.type.lower():
        return False
    id: object = ref.snapshot_id
    for _ in range(ANCESTORS_MAX):
        if id == update.snapshot_id:
            return True
        found = snapshot(metadata, id) if isinstance(id, int) else None
        if found is None:
            break
        id = found.get("parent-snapshot-id")
    return False


def _is_in_force(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> bool:
    """Whether these would change nothing."""
    try:
        now_ms = metadata.last_updated_ms
        return apply(metadata, updates, now_ms=now_ms, previous_location=None) is metadata
    except BadMetadata:
        return False
