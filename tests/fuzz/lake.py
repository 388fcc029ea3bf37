"""A small lake for fuzzing, and bodies of requests that are right before they are spoilt."""

from typing import Any

import httpx

from headgate.testing.headgate_server import HeadgateServer

NAMESPACE, TABLE, VIEW = "ns", "t", "v"
BASE = "/v1/default.main"

FIELDS = [
    {"id": 1, "name": "id", "type": "long", "required": True},
    {"id": 2, "name": "at", "type": "timestamptz", "required": False},
    {
        "id": 3,
        "name": "tags",
        "required": False,
        "type": {"type": "list", "element-id": 4, "element": "string", "element-required": False},
    },
]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": FIELDS, "identifier-field-ids": [1]}
SPEC = {
    "spec-id": 0,
    "fields": [{"source-id": 2, "field-id": 1000, "name": "day", "transform": "day"}],
}
ORDER = {
    "order-id": 1,
    "fields": [
        {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    ],
}
CREATE_TABLE = {
    "name": TABLE,
    "schema": SCHEMA,
    "partition-spec": SPEC,
    "write-order": ORDER,
    "properties": {"owner": "me"},
    "stage-create": False,
}
CREATE_VIEW = {
    "name": VIEW,
    "schema": SCHEMA,
    "properties": {"comment": "c"},
    "view-version": {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {"engine-name": "x"},
        "default-namespace": [NAMESPACE],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    },
}
SNAPSHOT = {
    "snapshot-id": 7,
    "sequence-number": 1,
    "timestamp-ms": 1_700_000_000_000,
    "schema-id": 0,
    "manifest-list": "file:/nowhere/list.avro",
    "summary": {"operation": "append"},
}
COMMIT: dict[str, Any] = {
    "identifier": {"namespace": [NAMESPACE], "name": TABLE},
    "requirements": [
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 4},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
    ],
    "updates": [
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": SCHEMA, "last-column-id": 4},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": SPEC},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": ORDER},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "add-snapshot", "snapshot": SNAPSHOT},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 7},
        {"action": "remove-snapshot-ref", "ref-name": "other"},
        {"action": "remove-snapshots", "snapshot-ids": [9]},
        {"action": "set-properties", "updates": {"a": "b"}},
        {"action": "remove-properties", "removals": ["a"]},
        {
            "action": "set-statistics",
            "statistics": {
                "snapshot-id": 7,
                "statistics-path": "file:/s",
                "file-size-in-bytes": 1,
                "file-footer-size-in-bytes": 1,
                "blob-metadata": [],
            },
        },
        {"action": "remove-statistics", "snapshot-id": 7},
        {
            "action": "set-partition-statistics",
            "partition-statistics": {
                "snapshot-id": 7,
                "statistics-path": "file:/s",
                "file-size-in-bytes": 1,
            },
        },
        {"action": "remove-partition-statistics", "snapshot-id": 7},
        {"action": "remove-partition-specs", "spec-ids": [5]},
        {"action": "remove-schemas", "schema-ids": [5]},
        {
            "action": "add-encryption-key",
            "encryption-key": {"key-id": "k", "encrypted-key-metadata": "AA=="},
        },
        {"action": "remove-encryption-key", "key-id": "k"},
    ],
}
COMMIT_VIEW = {
    "requirements": [],
    "updates": [
        {"action": "add-schema", "schema": SCHEMA},
        {"action": "add-view-version", "view-version": CREATE_VIEW["view-version"]},
        {"action": "set-current-view-version", "view-version-id": -1},
        {"action": "set-properties", "updates": {"a": "b"}},
    ],
}
FILTER = {
    "type": "and",
    "left": {"type": "gt", "term": "id", "value": 3},
    "right": {"type": "not", "child": {"type": "in", "term": "id", "values": [1, 2]}},
}
PLAN = {"filter": FILTER, "select": ["id"], "case-sensitive": True, "stats-fields": ["id"]}
NAMESPACE_BODY = {"namespace": ["a", "b"], "properties": {"k": "v"}}
PROPERTIES = {"removals": ["x"], "updates": {"y": "z"}}
RENAME = {
    "source": {"namespace": [NAMESPACE], "name": "absent"},
    "destination": {"namespace": [NAMESPACE], "name": "other"},
}
REPORT = {
    "report-type": "scan-report",
    "table-name": "t",
    "snapshot-id": 7,
    "filter": True,
    "schema-id": 0,
    "projected-field-ids": [1],
    "projected-field-names": ["id"],
    "metrics": {},
}
SIGN = {"region": "us-east-1", "uri": "http://s3/b/k", "method": "GET", "headers": {"a": ["b"]}}

_TABLE = f"{BASE}/namespaces/{NAMESPACE}/tables/{TABLE}"
BODIES: dict[str, dict[str, Any]] = {
    f"{BASE}/namespaces": NAMESPACE_BODY,
    f"{BASE}/namespaces/{NAMESPACE}/properties": PROPERTIES,
    f"{BASE}/namespaces/{NAMESPACE}/tables": CREATE_TABLE,
    f"{BASE}/namespaces/{NAMESPACE}/register": {"name": "r", "metadata-location": "file:/x.json"},
    f"{BASE}/namespaces/{NAMESPACE}/views": CREATE_VIEW,
    f"{BASE}/namespaces/{NAMESPACE}/views/{VIEW}": COMMIT_VIEW,
    f"{BASE}/tables/rename": RENAME,
    f"{BASE}/views/rename": RENAME,
    f"{BASE}/transactions/commit": {"table-changes": [COMMIT]},
    _TABLE: COMMIT,
    f"{_TABLE}/plan": PLAN,
    f"{_TABLE}/tasks": {"plan-task": "abc"},
    f"{_TABLE}/metrics": REPORT,
    f"{_TABLE}/sign": SIGN,
}


def made_lake(server: HeadgateServer) -> None:
    """A namespace with a table and a view, by the requests that are spoilt later."""
    with httpx.Client(base_url=server.iceberg_url, timeout=30) as client:
        steps = (
            (f"{BASE}/namespaces", {"namespace": [NAMESPACE]}),
            (f"{BASE}/namespaces/{NAMESPACE}/tables", CREATE_TABLE),
            (f"{BASE}/namespaces/{NAMESPACE}/views", CREATE_VIEW),
        )
        for path, body in steps:
            client.post(path, json=body).raise_for_status()
