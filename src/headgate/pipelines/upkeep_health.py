"""How well a table is: what its metadata file tells, and what its manifests tell.

The first costs one request. The second costs a look into every manifest, on Spark, and is taken
where the first leaves a question open.
"""

from typing import NamedTuple

import msgspec

from headgate.pipelines.upkeep_policy import Policy, Step
from headgate.pipelines.upkeep_snapshots import (
    Expiry,
    Metadata,
    changed_since_statistics,
    expiring,
)

GC = "gc.enabled"
GRANULARITY, OF_PARTITIONS = "write.delete.granularity", "partition"
MANIFEST_BYTES = "commit.manifest.target-size-bytes"
MANIFEST_BYTES_DEFAULT = 8 << 20
_DATA_FILES, _DELETE_FILES = "total-data-files", "total-delete-files"


class Files(msgspec.Struct, frozen=True):
    """What the manifests of the current snapshot tell of files, as `upkeep.sql` asks for it."""

    small_files: int = 0
    """Data files below the policy's share of the target size."""
    mergeable_files: int = 0
    """Those that are worth to be merged, in partitions that have enough of them."""
    mergeable_bytes: int = 0
    mergeable_partitions: int = 0
    merged_files: int = 0
    """How many files would be made of these."""
    worn_files: int = 0
    """Data files with too many delete files, or too many deleted rows."""
    position_delete_files: int = 0
    """Those that can be rewritten: deletion vectors are not among them."""
    superfluous_delete_files: int = 0
    """Of these, how many are of data files that are gone, or could be one with others."""
    deleted_records: int = 0
    """Rows that position deletes and deletion vectors name."""
    shared_deleted_records: int = 0
    """Of these, those in files for many data files at once: nobody can tell how worn each is."""


class Manifests(msgspec.Struct, frozen=True):
    """The manifests of one kind, in the current way of partitioning."""

    count: int = 0
    bytes: int = 0
    target_bytes: int = MANIFEST_BYTES_DEFAULT

    @property
    def merged(self) -> int:
        """How many would be made of them."""
        return -(-self.bytes // self.target_bytes)


class Health(msgspec.Struct, frozen=True):
    """How well a table is, as far as it was looked at."""

    data_files: int
    data_bytes: int
    records: int
    delete_files: int
    snapshots: int
    oldest_snapshot_age_ms: int
    branches_and_tags: int
    metadata_files: int
    gc_enabled: bool
    older_than_ms: int
    """Where the policy draws the line between old snapshots and others."""
    expiring_snapshots: int
    expiring_refs: int
    changed_records: int | None
    """Since there were statistics; None if there are none."""
    is_sorted: bool = False
    """Whether it has a sort order, which merging alone would not keep."""
    splits_deletes: bool = True
    """Whether each data file gets delete files of its own when they are rewritten."""
    files: Files | None = None
    """None if nobody looked, as nothing can be to do; the same of the next two."""
    data_manifests: Manifests | None = None
    delete_manifests: Manifests | None = None


class Looks(NamedTuple):
    """Which questions only the manifests can answer."""

    small_files: bool = False
    deletes: bool = False
    manifests: bool = False


def health_of(table: Metadata, policy: Policy, now_ms: int) -> Health:
    """What the metadata file tells."""
    older_than_ms = max(0, now_ms - policy.expire_max_snapshot_age_ms)
    gone = expiring(table, Expiry(now_ms, older_than_ms, policy.expire_min_snapshots_to_keep))
    oldest_ms = min((one.timestamp_ms for one in table.snapshots), default=now_ms)
    current = table.current
    total = current.count if current else lambda _: 0
    return Health(
        data_files=total(_DATA_FILES),
        data_bytes=total("total-files-size"),
        records=total("total-records"),
        delete_files=total(_DELETE_FILES),
        snapshots=len(table.snapshots),
        oldest_snapshot_age_ms=now_ms - oldest_ms,
        branches_and_tags=len(table.refs),
        metadata_files=1 + len(table.metadata_log),
        gc_enabled=table.properties.get(GC, "true").strip().lower() != "false",
        older_than_ms=older_than_ms,
        expiring_snapshots=len(gone.snapshots),
        expiring_refs=len(gone.refs),
        changed_records=changed_since_statistics(table),
        is_sorted=table.default_sort_order_id != 0,
        splits_deletes=table.properties.get(GRANULARITY, "").lower() != OF_PARTITIONS,
    )


def looks_for(
    table: Metadata, policy: Policy, health: Health, steps: frozenset[Step] = frozenset(Step)
) -> Looks:
    """What the metadata file leaves open of these steps. Not every writer sums up what it wrote."""
    if table.current is None:
        return Looks()
    wanted = {step for step in steps if policy.has(step)}
    is_told = {_DATA_FILES, _DELETE_FILES} <= table.current.summary.keys()
    files = health.data_files + health.delete_files  # a manifest lists one of them at least
    return Looks(
        small_files=Step.COMPACT in wanted
        and (not is_told or health.data_files >= policy.compact_min_input_files),
        deletes=Step.COMPACT in wanted and (not is_told or health.delete_files > 0),
        manifests=Step.MANIFESTS in wanted and (not is_told or files >= policy.manifests_min_count),
    )
