"""Tables to test with, and commits as clients write them."""

import json
from typing import Any

from headgate.model.table_creation import new_table
from headgate.model.table_metadata import TableMetadata, encode, parse
from headgate.model.table_requirements import check, decode_requirements
from headgate.model.table_updates import apply, decode_updates

UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
LOCATION = "s3://bucket/db/table"
FILE = f"{LOCATION}/metadata/00000-a.metadata.json"
START_MS = 1_700_000_000_000

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
        {"id": 3, "name": "ts", "required": False, "type": "timestamp"},
    ],
}
EXTRA = {"id": 4, "name": "extra", "required": False, "type": "int"}
WIDER = {**SCHEMA, "fields": [*SCHEMA["fields"], EXTRA]}
OLD: dict[str, Any] = {
    "format-version": 1,
    "location": LOCATION,
    "last-updated-ms": START_MS,
    "last-column-id": 2,
    "schema": {
        "type": "struct",
        "fields": [{"id": 2, "name": "ts", "required": True, "type": "date"}],
    },
    "partition-spec": [{"source-id": 2, "name": "ts", "transform": "identity"}],
}
"""A file of version 1 as old writers left it, without lists and numbers."""


def table(version: int = 2, **properties: str) -> TableMetadata:
    """A new table, without snapshots."""
    return new_table(
        SCHEMA,
        None,
        None,
        {"format-version": str(version), **properties},
        location=LOCATION,
        uuid=UUID,
        now_ms=START_MS,
    )


def with_snapshots(count: int, version: int = 2) -> TableMetadata:
    """A table with snapshots 1, 2, …, one second apart, the last of them current."""
    metadata = table(version)
    for id in range(1, count + 1):
        metadata = appended(metadata, id)
    return metadata


def appended(metadata: TableMetadata, id: int) -> TableMetadata:
    at_ms = metadata.last_updated_ms + 1_000
    return commit(metadata, add_snapshot(metadata, id), set_main(id), now_ms=at_ms)


def add_snapshot(metadata: TableMetadata, id: int, **members: object) -> dict[str, Any]:
    """The update that a client would send to add a snapshot on top of the present one."""
    snapshot = {
        "snapshot-id": id,
        "timestamp-ms": metadata.last_updated_ms + 1_000,
        "summary": {"operation": "append"},
        "manifest-list": f"{LOCATION}/metadata/snap-{id}.avro",
        "schema-id": 0,
    }
    if metadata.current_snapshot_id is not None:
        snapshot["parent-snapshot-id"] = metadata.current_snapshot_id
    if metadata.format_version > 1:
        snapshot["sequence-number"] = metadata.last_sequence_number + 1
    if metadata.format_version > 2:
        snapshot |= {"first-row-id": metadata.next_row_id, "added-rows": 10}
    given = {name.replace("_", "-"): value for name, value in members.items()}
    merged = {name: value for name, value in (snapshot | given).items() if value is not ...}
    return {"action": "add-snapshot", "snapshot": merged}


def set_main(id: int, **members: Any) -> dict[str, Any]:
    return set_ref("main", id, **members)


def set_ref(name: str, id: int, type: str = "branch", **members: object) -> dict[str, Any]:
    given = {member.replace("_", "-"): value for member, value in members.items()}
    head = {"action": "set-snapshot-ref", "ref-name": name, "snapshot-id": id, "type": type}
    return head | given


def commit(
    metadata: TableMetadata | None,
    *updates: dict[str, Any],
    now_ms: int | None = None,
    previous: str | None = FILE,
) -> TableMetadata:
    """What a commit makes of a table; whatever comes out can be written and read again."""
    if now_ms is None:
        now_ms = metadata.last_updated_ms + 1_000 if metadata else START_MS
    decoded = decode_updates(json.dumps(updates, separators=(",", ":")).encode())
    after = apply(metadata, decoded, now_ms=now_ms, previous_location=previous)
    assert parse(encode(after)) == after
    return after


def require(metadata: TableMetadata | None, *requirements: dict[str, Any]) -> None:
    check(metadata, decode_requirements(json.dumps(requirements).encode()))


def document(metadata: TableMetadata) -> dict[str, Any]:
    """The metadata file, decoded."""
    decoded: dict[str, Any] = json.loads(encode(metadata))
    return decoded


def reread(file: dict[str, Any]) -> TableMetadata:
    """The table of a metadata file."""
    return parse(json.dumps(file, separators=(",", ":")).encode())
