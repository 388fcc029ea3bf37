"""The updates that a commit may ask for, as clients write them."""

from typing import cast

from msgspec import Raw, Struct

from headgate.limits import TABLE_UPDATES_MAX
from headgate.model.json_values import Int32, Int64, Json
from headgate.model.tagged_values import Vocabulary, check_count, decode_tagged, tags

LAST_ADDED = -1  # in place of an id: what this commit added last


class _Update(Struct, frozen=True, rename="kebab", tag_field="action"):
    pass


class AssignUuid(_Update, frozen=True, tag="assign-uuid"):
    """Give a new table its identity."""

    uuid: str


class UpgradeFormatVersion(_Update, frozen=True, tag="upgrade-format-version"):
    """Use a later version of the format."""

    format_version: Int32


class AddSchema(_Update, frozen=True, tag="add-schema"):
    """Add a schema, unless there is an equal one."""

    schema: Raw


class SetCurrentSchema(_Update, frozen=True, tag="set-current-schema"):
    """Write rows of this schema from now on."""

    schema_id: Int32


class RemoveSchemas(_Update, frozen=True, tag="remove-schemas"):
    """Forget schemas that no snapshot uses."""

    schema_ids: list[Int32]


class AddSpec(_Update, frozen=True, tag="add-spec"):
    """Add a partition spec, unless there is an equal one."""

    spec: Raw


class SetDefaultSpec(_Update, frozen=True, tag="set-default-spec"):
    """Partition by this spec from now on."""

    spec_id: Int32


class RemovePartitionSpecs(_Update, frozen=True, tag="remove-partition-specs"):
    """Forget specs that no file uses."""

    spec_ids: list[Int32]


class AddSortOrder(_Update, frozen=True, tag="add-sort-order"):
    """Add a sort order, unless there is an equal one."""

    sort_order: Raw


class SetDefaultSortOrder(_Update, frozen=True, tag="set-default-sort-order"):
    """Sort by this order from now on."""

    sort_order_id: Int32


class AddSnapshot(_Update, frozen=True, tag="add-snapshot"):
    """Add a snapshot; no branch points at it yet."""

    snapshot: Raw


class SetSnapshotRef(_Update, frozen=True, tag="set-snapshot-ref"):
    """Point a branch or tag at a snapshot."""

    ref_name: str
    type: str
    snapshot_id: Int64
    min_snapshots_to_keep: Int32 | None = None
    max_snapshot_age_ms: Int64 | None = None
    max_ref_age_ms: Int64 | None = None


class RemoveSnapshotRef(_Update, frozen=True, tag="remove-snapshot-ref"):
    """Remove a branch or tag; its snapshots stay."""

    ref_name: str


class RemoveSnapshots(_Update, frozen=True, tag="remove-snapshots"):
    """Remove snapshots, and what refers to them."""

    snapshot_ids: list[Int64]


class SetLocation(_Update, frozen=True, tag="set-location"):
    """Write files to another place from now on."""

    location: str


class SetProperties(_Update, frozen=True, tag="set-properties"):
    """Set properties; older clients say `updated`."""

    updates: dict[str, str] | None = None
    updated: dict[str, str] | None = None


class RemoveProperties(_Update, frozen=True, tag="remove-properties"):
    """Remove properties; older clients say `removed`."""

    removals: list[str] | None = None
    removed: list[str] | None = None


class SetStatistics(_Update, frozen=True, tag="set-statistics"):
    """Say where the statistics of a snapshot are."""

    statistics: Raw


class RemoveStatistics(_Update, frozen=True, tag="remove-statistics"):
    """Forget the statistics of a snapshot."""

    snapshot_id: Int64


class SetPartitionStatistics(_Update, frozen=True, tag="set-partition-statistics"):
    """Say where the partition statistics of a snapshot are."""

    partition_statistics: Raw


class RemovePartitionStatistics(_Update, frozen=True, tag="remove-partition-statistics"):
    """Forget the partition statistics of a snapshot."""

    snapshot_id: Int64


class AddEncryptionKey(_Update, frozen=True, tag="add-encryption-key"):
    """Add an encrypted key, unless its id is known."""

    encryption_key: Raw


class RemoveEncryptionKey(_Update, frozen=True, tag="remove-encryption-key"):
    """Remove an encrypted key."""

    key_id: str


TableUpdate = (
    AssignUuid
    | UpgradeFormatVersion
    | AddSchema
    | SetCurrentSchema
    | RemoveSchemas
    | AddSpec
    | SetDefaultSpec
    | RemovePartitionSpecs
    | AddSortOrder
    | SetDefaultSortOrder
    | AddSnapshot
    | SetSnapshotRef
    | RemoveSnapshotRef
    | RemoveSnapshots
    | SetLocation
    | SetProperties
    | RemoveProperties
    | SetStatistics
    | RemoveStatistics
    | SetPartitionStatistics
    | RemovePartitionStatistics
    | AddEncryptionKey
    | RemoveEncryptionKey
)

_VIEW_ONLY = ("add-view-version", "set-current-view-version")
_VOCABULARY = Vocabulary(
    "action",
    "update",
    tags(*TableUpdate.__args__),
    {name: f"Cannot apply update {name} to a table" for name in _VIEW_ONLY},
)


def decode_updates(data: Json) -> list[TableUpdate]:
    """The updates of a commit, in order."""
    updates = _folded(cast("list[TableUpdate]", decode_tagged(data, _VOCABULARY)))
    check_count(len(updates), TABLE_UPDATES_MAX)
    return updates


def _folded(updates: list[TableUpdate]) -> list[TableUpdate]:
    """Snapshots that are removed one after the other are removed at once: older clients send an
    update for each of them, and may expire very many."""
    folded: list[TableUpdate] = []
    for update in updates:
        last = folded[-1] if folded else None
        if isinstance(update, RemoveSnapshots) and isinstance(last, RemoveSnapshots):
            last.snapshot_ids.extend(update.snapshot_ids)
        else:
            folded.append(update)
    return folded
