"""What the updates of one commit did so far."""

from dataclasses import dataclass, field

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
