"""All operations of the specification: that they are there, advertised, and answer."""

from typing import Any, NamedTuple

import pytest

from headgate.catalog.entities import FunctionEntity
from headgate.catalog.functions import create_function
from headgate.http.iceberg.routes import ROUTES
from headgate.model.names import Identifier
from headgate.storage.options import S3Options, StorageOptions
from tests.unit.catalog.lakes import (
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
)
from tests.unit.http.iceberg.far_files import far_catalog

SPECIFIED = {
    "getConfig": "GET /v1/config",
    "getToken": "POST /v1/oauth/tokens",
    "listNamespaces": "GET /v1/{prefix}/namespaces",
    "createNamespace": "POST /v1/{prefix}/namespaces",
    "loadNamespaceMetadata": "GET /v1/{prefix}/namespaces/{namespace}",
    "namespaceExists": "HEAD /v1/{prefix}/namespaces/{namespace}",
    "dropNamespace": "DELETE /v1/{prefix}/namespaces/{namespace}",
    "updateProperties": "POST /v1/{prefix}/namespaces/{namespace}/properties",
    "listTables": "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "createTable": "POST /v1/{prefix}/namespaces/{namespace}/tables",
    "listFunctions": "GET /v1/{prefix}/namespaces/{namespace}/functions",
    "loadFunction": "GET /v1/{prefix}/namespaces/{namespace}/functions/{function}",
    "planTableScan": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
    "fetchPlanningResult": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "cancelPlanning": "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "fetchScanTasks": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks",
    "registerTable": "POST /v1/{prefix}/namespaces/{namespace}/register",
    "loadTable": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "updateTable": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "dropTable": "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "tableExists": "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "unregisterTable": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister",
    "loadCredentials": "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials",
    "signRequest": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign",
    "renameTable": "POST /v1/{prefix}/tables/rename",
    "reportMetrics": "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
    "commitTransaction": "POST /v1/{prefix}/transactions/commit",
    "listViews": "GET /v1/{prefix}/namespaces/{namespace}/views",
    "createView": "POST /v1/{prefix}/namespaces/{namespace}/views",
    "loadView": "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "replaceView": "POST /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "dropView": "DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "viewExists": "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "renameView": "POST /v1/{prefix}/views/rename",
    "registerView": "POST /v1/{prefix}/namespaces/{namespace}/register-view",
}


class Operation(NamedTuple):
    """A request of each kind that succeeds, and what its answer says."""

    request: str
    status: int
    members: set[str] | None = None
    body: object = None


def renaming(name: str) -> dict[str, Any]:
    source = {"namespace": ["a"], "name": name}
    return {"source": source, "destination": {"namespace": ["a"], "name": "new"}}


TABLE = "namespaces/a/tables/t"
LOADED = {"metadata", "metadata-location", "config"}
LISTED = {"identifiers", "next-page-token"}
SUCCESSES = {
    "getConfig": Operation(
        "GET /v1/config", 200, {"defaults", "overrides", "endpoints", "idempotency-key-lifetime"}
    ),
    "getToken": Operation(
        "POST /v1/oauth/tokens",
        200,
        {"access_token", "token_type", "expires_in", "issued_token_type"},
        b"grant_type=client_credentials&client_id=me&client_secret=x",
    ),
    "listNamespaces": Operation("GET namespaces", 200, {"namespaces", "next-page-token"}),
    "createNamespace": Operation(
        "POST namespaces", 200, {"namespace", "properties"}, {"namespace": ["x"]}
    ),
    "loadNamespaceMetadata": Operation("GET namespaces/a", 200, {"namespace", "properties"}),
    "namespaceExists": Operation("HEAD namespaces/a", 204),
    "dropNamespace": Operation("DELETE namespaces/empty", 204),
    "updateProperties": Operation(
        "POST namespaces/a/properties",
        200,
        {"updated", "removed", "missing"},
        {"removals": ["x"], "updates": {"k": "v"}},
    ),
    "listTables": Operation("GET namespaces/a/tables", 200, LISTED),
    "createTable": Operation("POST namespaces/a/tables", 200, LOADED, new_table("new")),
    "listFunctions": Operation("GET namespaces/a/functions", 200, LISTED),
    "loadFunction": Operation("GET namespaces/a/functions/f", 200, {"metadata"}),
    "planTableScan": Operation(
        f"POST {TABLE}/plan", 200, {"status", "plan-id", "plan-tasks"}, {"snapshot-id": 1}
    ),
    "fetchPlanningResult": Operation(f"GET {TABLE}/plan/plan-1", 200, {"status", "plan-tasks"}),
    "cancelPlanning": Operation(f"DELETE {TABLE}/plan/plan-1", 204),
    "fetchScanTasks": Operation(
        f"POST {TABLE}/tasks", 200, {"file-scan-tasks", "delete-files"}, {"plan-task": "task-1"}
    ),
    "registerTable": Operation("POST namespaces/a/register", 200, LOADED, "loose table"),
    "loadTable": Operation(f"GET {TABLE}", 200, LOADED),
    "updateTable": Operation(
        f"POST {TABLE}", 200, {"metadata", "metadata-location"}, commit([set_properties(k="v")])
    ),
    "dropTable": Operation(f"DELETE {TABLE}", 204),
    "tableExists": Operation(f"HEAD {TABLE}", 204),
    "unregisterTable": Operation(
        f"POST {TABLE}/unregister", 200, {"metadata", "metadata-location"}
    ),
    "loadCredentials": Operation(f"GET {TABLE}/credentials", 200, {"storage-credentials"}),
    "signRequest": Operation(
        f"POST {TABLE}/sign",
        200,
        {"uri", "headers"},
        {
            "region": "us-east-1",
            "uri": "https://s3.us-east-1.amazonaws.com/bucket/{location}/data/x.parquet",
            "method": "GET",
            "headers": {},
        },
    ),
    "renameTable": Operation("POST tables/rename", 204, None, renaming("t")),
    "reportMetrics": Operation(f"POST {TABLE}/metrics", 204, None, {"report-type": "scan-report"}),
    "commitTransaction": Operation(
        "POST transactions/commit",
        204,
        None,
        {"table-changes": [commit([set_properties(k="v")], table="t")]},
    ),
    "listViews": Operation("GET namespaces/a/views", 200, LISTED),
    "createView": Operation("POST namespaces/a/views", 200, LOADED, new_view("new")),
    "loadView": Operation("GET namespaces/a/views/v", 200, LOADED),
    "replaceView": Operation(
        "POST namespaces/a/views/v", 200, LOADED, commit([set_properties(k="v")])
    ),
    "dropView": Operation("DELETE namespaces/a/views/v", 204),
    "viewExists": Operation("HEAD namespaces/a/views/v", 204),
    "renameView": Operation("POST views/rename", 204, None, renaming("v")),
    "registerView": Operation("POST namespaces/a/register-view", 200, LOADED, "loose view"),
}


async def test_every_operation_of_the_specification_has_a_route() -> None:
    """By its name, its method and its path: 35, and no other."""
    found = {
        route.operation: f"{route.method} {route.template.replace('plan_id', 'plan-id')}"
        for route in ROUTES
    }

    assert found == SPECIFIED
    assert len(SPECIFIED) == 35
    assert SUCCESSES.keys() == SPECIFIED.keys()


async def test_every_operation_of_a_catalog_is_advertised(node: Node) -> None:
    """Clients do not use what they are not told of. Two operations need no catalog."""
    config = (await node.get("/v1/config")).json

    assert sorted(config["endpoints"]) == sorted(list(SPECIFIED.values())[2:])
    assert len(config["endpoints"]) == 33


@pytest.fixture
async def prepared(world: World) -> tuple[Node, dict[str, Any]]:
    """A node whose catalog lies on S3, with one of everything, and what is in no catalog."""
    world.storage = StorageOptions(
        local_sync=False,
        s3=S3Options(access_key_id="key", secret_access_key="secret", delegation="static"),
    )
    node = await world.node()
    await far_catalog(node)

    async def made(path: str, body: object) -> Any:
        return await node.made(path, body, catalog="far")

    for name in ("a", "empty"):
        await made("namespaces", {"namespace": [name]})
    table = await made("namespaces/a/tables", new_table("t"))
    await made("namespaces/a/views", new_view("v"))
    loose = await made("namespaces/a/tables", new_table("loose"))
    await node.delete("namespaces/a/tables/loose", catalog="far")
    loose_view = await made("namespaces/a/views", new_view("loose"))
    await node.delete("namespaces/a/views/loose", catalog="far")
    function = FunctionEntity(b'{"function-uuid":"u"}')
    opened = await node.opened("far")
    await create_function(node.lake, opened, Identifier(("a",), "f"), function)
    return node, {"t": table, "loose table": loose, "loose view": loose_view}


@pytest.mark.parametrize("operation", SPECIFIED)
async def test_every_operation_answers(
    prepared: tuple[Node, dict[str, Any]], operation: str
) -> None:
    """With its status, and with all members that the specification requires."""
    node, made = prepared
    request, status, members, body = SUCCESSES[operation]
    if isinstance(body, str):
        body = {"name": "new", "metadata-location": made[body]["metadata-location"]}
    if operation == "signRequest":
        location = made["t"]["metadata"]["location"].removeprefix("s3://bucket/")
        assert isinstance(body, dict)
        body = body | {"uri": body["uri"].replace("{location}", location)}
    method, path = request.split()
    answer = await node.send(method, path, body, catalog="far")

    assert answer.status == status, answer
    assert (set(answer.json) if answer.json is not None else None) == members
    if members:
        assert answer.headers["content-type"] == "application/json"


async def test_local_tables_need_no_keys(world: World, node: Node) -> None:
    """Local tables have no credentials, and cannot be signed for."""
    await node.table()
    credentials = await node.get(f"{TABLE}/credentials")
    body = {"region": "x", "uri": "http://x/y", "method": "GET", "headers": {}}
    signed = await node.post(f"{TABLE}/sign", body)

    assert credentials.json == {"storage-credentials": []}
    assert signed.error[:2] == (406, "UnsupportedOperationException")
