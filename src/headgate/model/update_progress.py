"""What the updates of one commit did so far, and what they have read."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from headgate.model import partitioning, schemas, sorting
from headgate.model.json_arrays import KnownElements
from headgate.model.known_definitions import KnownDefinitions, KnownFieldIds
from headgate.model.partitioning import PartitionField
from headgate.model.schemas import Column
from headgate.model.sorting import SortField
from headgate.model.table_metadata import SnapshotLogEntry


@dataclass(slots=True)
class Progress:
    """Lasts as long as one commit is applied."""

    now_ms: int
    is_new: bool = False  # the table does not exist yet
    last_schema_id: int | None = None
    last_spec_id: int | None = None
    last_order_id: int | None = None
    added_at_ms: dict[int, int] = field(default_factory=dict)  # by the id of a new snapshot
    history: list[SnapshotLogEntry] = field(default_factory=list)  # of main, by this commit
    removed_snapshots: bool = False
    changed_schema: bool = False  # another one became the current one, if only for a while
    schemas: KnownDefinitions[Hashable] = field(
        default_factory=lambda: KnownDefinitions(schemas.shape)
    )
    specs: KnownDefinitions[tuple[PartitionField, ...]] = field(
        default_factory=lambda: KnownDefinitions(partitioning.shape)
    )
    field_ids: KnownFieldIds = field(default_factory=KnownFieldIds)  # of partitions
    key_ids: KnownElements[str] = field(default_factory=KnownElements)  # of encryption keys
    statistics: KnownElements[int] = field(default_factory=KnownElements)  # by their snapshots
    partition_statistics: KnownElements[int] = field(default_factory=KnownElements)
    orders: KnownDefinitions[tuple[SortField, ...]] = field(
        default_factory=lambda: KnownDefinitions(sorting.shape)
    )
    columns: tuple[bytes, dict[int, Column]] = (b"", {})  # of the schema that was looked at last
