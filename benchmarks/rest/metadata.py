"""Metadata files as a table gets them from years of use, made without those years."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from benchmarks.rest.servers import Server

COLUMNS = 20
SUMMARY_KEYS = 15
STARTED_MS = 1_700_000_000_000
SNAPSHOT_FIRST = 4_000_000_000_000_000_000


def schema(columns: int = COLUMNS) -> dict[str, Any]:
    fields = [
        {"id": number, "name": f"column_{number}", "required": False, "type": "string"}
        for number in range(1, columns + 1)
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def table_uuid(number: int) -> str:
    return str(UUID(int=(number << 64) | 0x4000_8000_0000_0000_0000))


def snapshot(location: str, number: int) -> dict[str, Any]:
    """The snapshot of this number, from 1; its parent is the one before."""
    id = SNAPSHOT_FIRST + number
    summary = {"operation": "append"} | {
        f"added-figure-{key}": str(number * 1_000 + key) for key in range(SUMMARY_KEYS - 1)
    }
    return {
        **({"parent-snapshot-id": id - 1} if number > 1 else {}),
        "snapshot-id": id,
        "sequence-number": number,
        "timestamp-ms": STARTED_MS + number,
        "manifest-list": f"{location}/metadata/snap-{id}-1-{UUID(int=id)}.avro",
        "summary": summary,
        "schema-id": 0,
    }


def table(location: str, number: int, snapshots: int) -> bytes:
    """The content of a metadata file, format version 2."""
    last = SNAPSHOT_FIRST + snapshots
    made = [snapshot(location, one) for one in range(1, snapshots + 1)]
    content = {
        "format-version": 2,
        "table-uuid": table_uuid(number),
        "location": location,
        "last-sequence-number": snapshots,
        "last-updated-ms": STARTED_MS + snapshots,
        "last-column-id": COLUMNS,
        "current-schema-id": 0,
        "schemas": [schema()],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"owner": "benchmark", "write.parquet.compression-codec": "zstd"},
        "current-snapshot-id": last if snapshots else -1,
        "refs": {"main": {"snapshot-id": last, "type": "branch"}} if snapshots else {},
        "snapshots": made,
        "statistics": [],
        "partition-statistics": [],
        "snapshot-log": [
            {"timestamp-ms": one["timestamp-ms"], "snapshot-id": one["snapshot-id"]} for one in made
        ],
        "metadata-log": [],
    }
    return msgspec.json.encode(content)


def write_file(folder: Path, data: bytes) -> Path:
    """A metadata file of a table that lies in this folder."""
    path = folder / "metadata" / "00000-00000000-0000-4000-8000-000000000000.metadata.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def register(server: Server, namespace: str, name: str, number: int, snapshots: int) -> str:
    """Make a table with so many snapshots; its path below the server's base."""
    data = table(server.location(f"{namespace}/{name}"), number, snapshots)
    path = write_file(server.warehouse / namespace / name, data)
    body = {"name": name, "metadata-location": f"file://{path}"}
    answer = server.ask("POST", f"/namespaces/{namespace}/register", body)
    found = json.loads(answer)["metadata"]["table-uuid"]
    assert found == table_uuid(number), f"the server answered with another table: {found}"
    return f"/namespaces/{namespace}/tables/{name}"
