"""What the metadata of a table tells of its size, its files, its age and its growth. Pure.

Sizes are those that the snapshots themselves sum up, so not one manifest is read.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from headgate.amounts import INT64_MAX, whole_number
from headgate.pipelines.appends import Column

DAY_MS = 24 * 60 * 60 * 1000
GROWTH_DAYS = 30
POINTS_MAX = 24
"""Of the growth of one table."""
TARGET_BYTES = 512 << 20
"""What a data file should have, unless the table says otherwise; Iceberg's own default."""
TARGET = "write.target-file-size-bytes"
FORMAT = "write.format.default"

COLUMNS = (
    Column("run", "STRING", "which inventory; those of one run have the same"),
    Column("time", "TIMESTAMP", "when that run began"),
    Column("metalake", "STRING", "where"),
    Column("catalog", "STRING", "where"),
    Column("schema", "STRING", "its levels joined by dots"),
    Column("name", "STRING", "of the table"),
    Column("levels", "ARRAY<STRING>", "all names from the catalog down, one by one"),
    Column("uuid", "STRING", "of the table; it stays when the table is renamed"),
    Column("owner", "STRING", "the user or group that owns it, else the property owner"),
    Column("location", "STRING", "where its files lie"),
    Column("format", "STRING", "of its data files: parquet, orc or avro"),
    Column("format_version", "INT", "of the table"),
    Column("bytes", "BIGINT", "of all files of the current snapshot"),
    Column("records", "BIGINT", "in them"),
    Column("files", "BIGINT", "data files"),
    Column("delete_files", "BIGINT", "files that say which records are deleted"),
    Column("average_bytes", "BIGINT", "of a data file"),
    Column("target_bytes", "BIGINT", "what a data file should have"),
    Column("spare_files", "BIGINT", "data files that a compaction could save at most"),
    Column("small_share", "DOUBLE", "the same as a share of all data files, from 0 to 1"),
    Column("snapshots", "INT", "that are kept"),
    Column("created", "TIMESTAMP", "when it was made, as far as that is known"),
    Column("changed", "TIMESTAMP", "when anything about it was changed last"),
    Column("written", "TIMESTAMP", "when its rows were changed last"),
    Column("bytes_before", "BIGINT", "in the run before this one"),
    Column("bytes_month_ago", "BIGINT", "30 days ago, as far as its snapshots tell"),
    Column("growth", "STRING", "how it grew, as JSON: a list of [time in ms, bytes, records]"),
    Column("problem", "STRING", "why nothing is known of it"),
)


class Snapshot(msgspec.Struct, frozen=True, rename="kebab"):
    """A snapshot, as far as it is looked at."""

    snapshot_id: int
    timestamp_ms: int
    parent_snapshot_id: int | None = None
    summary: dict[str, str] = {}


class Logged(msgspec.Struct, frozen=True, rename="kebab"):
    """An earlier version of the metadata."""

    timestamp_ms: int


class Metadata(msgspec.Struct, frozen=True, rename="kebab"):
    """Metadata, as far as it is looked at."""

    table_uuid: str
    location: str
    last_updated_ms: int
    format_version: int = 1
    current_snapshot_id: int | None = None
    snapshots: list[Snapshot] = []
    properties: dict[str, str] = {}
    metadata_log: list[Logged] = []


class Point(NamedTuple):
    """How large a table was from some time on."""

    time_ms: int
    bytes: int
    records: int


class Facts(msgspec.Struct, frozen=True):
    """What is known of a table; None is what its snapshots do not tell."""

    uuid: str
    location: str
    format: str
    format_version: int
    owner: str
    bytes: int | None
    records: int | None
    files: int | None
    delete_files: int | None
    average_bytes: int | None
    target_bytes: int
    spare_files: int | None
    small_share: float | None
    snapshots: int
    created: int
    changed: int
    written: int | None
    bytes_month_ago: int | None
    growth: str


def facts_of(metadata: Metadata, now_ms: int, created_ms: int | None = None) -> Facts:
    """What metadata tells of a table that was made then, if that is known."""
    line = ancestry(metadata)
    now = line[-1] if line else None
    size, files = _total(now, "total-files-size"), _total(now, "total-data-files")
    target = _number(metadata.properties.get(TARGET, "")) or TARGET_BYTES
    spare = None if size is None or files is None else spare_files(size, files, target)
    created = _oldest(metadata) if created_ms is None else created_ms
    points = points_of(line)
    return Facts(
        uuid=metadata.table_uuid,
        location=metadata.location,
        format=metadata.properties.get(FORMAT, "parquet"),
        format_version=metadata.format_version,
        owner=metadata.properties.get("owner", ""),
        bytes=size,
        records=_total(now, "total-records"),
        files=files,
        delete_files=_total(now, "total-delete-files"),
        average_bytes=size // files if size is not None and files else None,
        target_bytes=target,
        spare_files=spare,
        small_share=spare / files if spare is not None and files else None,
        snapshots=len(metadata.snapshots),
        created=created,
        changed=metadata.last_updated_ms,
        written=_written(line),
        bytes_month_ago=_size_at(points, now_ms - GROWTH_DAYS * DAY_MS, created),
        growth=msgspec.json.encode(thinned(points)).decode(),
    )


def ancestry(metadata: Metadata) -> Sequence[Snapshot]:
    """The current snapshot and those it came from, as far as they are kept, the oldest first."""
    known = {one.snapshot_id: one for one in metadata.snapshots}
    line: list[Snapshot] = []
    at = known.get(metadata.current_snapshot_id or -1)
    while at is not None:
        line.append(at)
        at = known.get(at.parent_snapshot_id or -1)
    return line[::-1]


def points_of(line: Sequence[Snapshot]) -> Sequence[Point]:
    """How large a table was after each snapshot that tells it."""
    return list(_points(line))


def thinned(points: Sequence[Point]) -> Sequence[Point]:
    """So many of them as are worth keeping; the first and the last are among them."""
    if len(points) <= POINTS_MAX:
        return points
    step = (len(points) - 1) / (POINTS_MAX - 1)
    return [points[round(number * step)] for number in range(POINTS_MAX)]


def spare_files(size: int, files: int, target: int) -> int:
    """How many data files could be saved if all were as large as they should be."""
    return max(0, files - max(1, -(-size // target))) if files else 0


def _points(line: Sequence[Snapshot]) -> Iterator[Point]:
    for one in line:
        size = _total(one, "total-files-size")
        if size is not None:
            yield Point(one.timestamp_ms, size, _total(one, "total-records") or 0)


def _size_at(points: Sequence[Point], then_ms: int, created_ms: int) -> int | None:
    """How large a table was then; None if its snapshots do not go back so far."""
    earlier = [point.bytes for point in points if point.time_ms <= then_ms]
    if earlier:
        return earlier[-1]
    return 0 if created_ms > then_ms else None


def _written(line: Sequence[Snapshot]) -> int | None:
    """When rows were changed last: a compaction only moves them."""
    changes = [one.timestamp_ms for one in line if one.summary.get("operation") != "replace"]
    return changes[-1] if changes else None


def _oldest(metadata: Metadata) -> int:
    """The first trace of a table."""
    logged = [one.timestamp_ms for one in metadata.metadata_log]
    written = [one.timestamp_ms for one in metadata.snapshots]
    return min([*logged, *written, metadata.last_updated_ms])


def _total(snapshot: Snapshot | None, name: str) -> int | None:
    """A total of a snapshot; a table without one has nothing in it."""
    return 0 if snapshot is None else _number(snapshot.summary.get(name, ""))


def _number(text: str) -> int | None:
    return whole_number(text, INT64_MAX) if text.isascii() else None
