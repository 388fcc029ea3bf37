"""Each error of the specification, provoked once in each operation; nothing changes by any."""
# ruff: noqa: E501  the table has one line for each case

from typing import Any, NamedTuple

import pytest

from headgate.errors import (
    BackendUnavailable,
    Corrupt,
    NotAuthenticated,
    OutcomeUnknown,
    Overloaded,
)
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.iceberg.routes import ROUTES
from headgate.http.problems import ICEBERG
from headgate.limits import TOKEN_SECONDS
from headgate.testing.faults import Fault
from headgate.testing.manual_clock import START_MS, ManualClock
from tests.unit.catalog.lakes import (
    SECRET,
    VIEW_VERSION,
    Node,
    World,
    at_snapshot,
    commit,
    new_table,
    new_view,
    set_properties,
)

BAD = (400, "BadRequestException")
INVALID = (400, "ValidationException")
ILLEGAL = (400, "IllegalArgumentException")
FORBIDDEN = (403, "ForbiddenException")
NO_WAREHOUSE = (404, "NoSuchWarehouseException")
NO_NAMESPACE = (404, "NoSuchNamespaceException")
NO_TABLE = (404, "NoSuchTableException")
NO_VIEW = (404, "NoSuchViewException")
NO_FUNCTION = (404, "NoSuchFunctionException")
NO_PLAN = (404, "NoSuchPlanIdException")
NO_TASK = (404, "NoSuchPlanTaskException")
NO_FILE = (404, "NotFoundException")
UNSUPPORTED = (406, "UnsupportedOperationException")
EXISTS = (409, "AlreadyExistsException")
NOT_EMPTY = (409, "NamespaceNotEmptyException")
FAILED = (409, "CommitFailedException")
CONTRADICTION = (422, "UnprocessableEntityException")

NO_SUCH_NAMESPACE = "Namespace does not exist: none"
NO_SUCH_TABLE = "Table does not exist: a.none"
NO_SUCH_VIEW = "View does not exist: a.none"
UNREADABLE = "Cannot read the request: "
TABLE, NO = "namespaces/a/tables/t", "namespaces/a/tables/none"


class Case(NamedTuple):
    """A request, and how it is refused."""

    operation: str
    request: str
    error: tuple[int, str]
    message: str
    body: object = None


def renaming(source: str, target: str, namespace: str = "a") -> dict[str, Any]:
    return {
        "source": {"namespace": ["a"], "name": source},
        "destination": {"namespace": [namespace], "name": target},
    }


def transaction(*changes: object) -> dict[str, object]:
    return {"table-changes": list(changes)}


SET = set_properties(k="v")
TWO_DIALECTS = VIEW_VERSION | {"representations": VIEW_VERSION["representations"] * 2}
VARIANT = {
    "type": "struct",
    "fields": [{"id": 1, "name": "data", "required": False, "type": "variant"}],
}
SIGN = {"region": "x", "uri": "http://x/y", "method": "GET", "headers": {}}
REGISTER = {"name": "r", "metadata-location": "{warehouse}/none.json"}
OUTSIDE = {"name": "r", "metadata-location": "/outside/x.json"}

CASES = [
    Case("getConfig", "GET /v1/config?warehouse=none", NO_WAREHOUSE, "Catalog does not exist: default.none"),
    Case("getConfig", "GET /v1/config?warehouse=no.main", NO_WAREHOUSE, "Metalake does not exist: no"),
    Case("listNamespaces", "GET namespaces?parent=none", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("listNamespaces", "GET namespaces?parent=a%1Fnone", NO_NAMESPACE, "Namespace does not exist: a.none"),
    Case("listNamespaces", "GET namespaces?parent=%25zz", NO_NAMESPACE, "Namespace does not exist: %zz"),
    Case("listNamespaces", "GET namespaces?parent=%ff", BAD, "Cannot decode the name"),
    Case("listNamespaces", "GET namespaces?pageToken=!", BAD, "Invalid pageToken"),
    Case("listNamespaces", "GET namespaces?pageToken=&pageSize=0", BAD, "Invalid pageSize: 0"),
    Case("createNamespace", "POST namespaces", BAD, UNREADABLE, b""),
    Case("createNamespace", "POST namespaces", BAD, UNREADABLE, b"{"),
    Case("createNamespace", "POST namespaces", BAD, UNREADABLE, {"namespace": "x"}),
    Case("createNamespace", "POST namespaces", BAD, UNREADABLE, {"namespace": ["x"], "properties": {"a": 1}}),
    Case("createNamespace", "POST namespaces", BAD, "Invalid namespace: it is empty", {"namespace": []}),
    Case("createNamespace", "POST namespaces", BAD, "Invalid name: 'x:y'", {"namespace": ["x:y"]}),
    Case("createNamespace", "POST namespaces", EXISTS, "Namespace already exists: a", {"namespace": ["a"]}),
    Case("createNamespace", "POST namespaces", FORBIDDEN, "Location is not allowed: /x", {"namespace": ["x"], "properties": {"location": "/x"}}),
    Case("loadNamespaceMetadata", "GET namespaces/none", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("namespaceExists", "HEAD namespaces/none", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("dropNamespace", "DELETE namespaces/none", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("dropNamespace", "DELETE namespaces/a", NOT_EMPTY, "Namespace a is not empty"),
    Case("dropNamespace", "DELETE namespaces/a?cascade=true", BAD, "Unsupported: cascade"),
    Case("updateProperties", "POST namespaces/none/properties", NO_NAMESPACE, NO_SUCH_NAMESPACE, {"updates": {"k": "v"}}),
    Case("updateProperties", "POST namespaces/a/properties", CONTRADICTION, "Invalid property changes: k", {"updates": {"k": "v"}, "removals": ["k"]}),
    Case("updateProperties", "POST namespaces/a/properties", BAD, UNREADABLE, {"updates": ["k"]}),
    Case("listTables", "GET namespaces/none/tables", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("createTable", "POST namespaces/none/tables", NO_NAMESPACE, NO_SUCH_NAMESPACE, new_table()),
    Case("createTable", "POST namespaces/a/tables", EXISTS, "Table already exists: a.t", new_table("t")),
    Case("createTable", "POST namespaces/a/tables", EXISTS, "View with same name already exists: a.v", new_table("v")),
    Case("createTable", "POST namespaces/a/tables", BAD, UNREADABLE, {"name": "x"}),
    Case("createTable", "POST namespaces/a/tables", BAD, "Invalid name: '..'", new_table("..")),
    Case("createTable", "POST namespaces/a/tables", INVALID, "", new_table("x") | {"schema": {"type": "list"}}),
    Case("createTable", "POST namespaces/a/tables", INVALID, "Invalid schema for v2:\n- Invalid type for data: variant is not supported until v3", new_table("x") | {"schema": VARIANT}),
    Case("createTable", "POST namespaces/a/tables", INVALID, "Unsupported format version: v4", new_table("x", properties={"format-version": "4"})),
    Case("createTable", "POST namespaces/a/tables", INVALID, "Table property commit.retry.num-retries", new_table("x", properties={"commit.retry.num-retries": "-1"})),
    Case("createTable", "POST namespaces/a/tables", FORBIDDEN, "Location is not allowed", new_table("x", location="/x")),
    Case("createTable", "POST namespaces/none/tables", NO_NAMESPACE, NO_SUCH_NAMESPACE, new_table(stage_create=True)),
    Case("listFunctions", "GET namespaces/none/functions", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("loadFunction", "GET namespaces/none/functions/f", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("loadFunction", "GET namespaces/a/functions/f", NO_FUNCTION, "Function does not exist: a.f"),
    Case("planTableScan", f"POST {NO}/plan", NO_TABLE, NO_SUCH_TABLE, {}),
    Case("planTableScan", f"POST {TABLE}/plan", BAD, "Cannot parse the scan request: ", {"snapshot-id": "x"}),
    Case("fetchPlanningResult", f"GET {NO}/plan/plan-1", NO_TABLE, NO_SUCH_TABLE),
    Case("fetchPlanningResult", f"GET {TABLE}/plan/none", NO_PLAN, "Plan does not exist: none"),
    Case("cancelPlanning", f"DELETE {NO}/plan/plan-1", NO_TABLE, NO_SUCH_TABLE),
    Case("cancelPlanning", f"DELETE {TABLE}/plan/none", NO_PLAN, "Plan does not exist: none"),
    Case("fetchScanTasks", f"POST {NO}/tasks", NO_TABLE, NO_SUCH_TABLE, {"plan-task": "task-1"}),
    Case("fetchScanTasks", f"POST {TABLE}/tasks", NO_TASK, "Plan task does not exist: x", {"plan-task": "x"}),
    Case("fetchScanTasks", f"POST {TABLE}/tasks", BAD, UNREADABLE, {}),
    Case("registerTable", "POST namespaces/none/register", NO_NAMESPACE, NO_SUCH_NAMESPACE, REGISTER),
    Case("registerTable", "POST namespaces/a/register", EXISTS, "Table already exists: a.t", REGISTER | {"name": "t"}),
    Case("registerTable", "POST namespaces/a/register", EXISTS, "View with same name already exists: a.v", REGISTER | {"name": "v"}),
    Case("registerTable", "POST namespaces/a/register", NO_FILE, "Failed to open input stream for file: ", REGISTER),
    Case("registerTable", "POST namespaces/a/register", FORBIDDEN, "Location is not allowed: /outside", OUTSIDE),
    Case("registerTable", "POST namespaces/a/register", BAD, UNREADABLE, {"name": "r"}),
    Case("registerTable", "POST namespaces/a/register", BAD, "Invalid name: ''", REGISTER | {"name": ""}),
    Case("loadTable", f"GET {NO}", NO_TABLE, NO_SUCH_TABLE),
    Case("loadTable", "GET namespaces/none/tables/t", NO_TABLE, "Table does not exist: none.t"),
    Case("loadTable", "GET namespaces/a/tables/v", NO_TABLE, "Table does not exist: a.v"),
    Case("loadTable", f"GET {TABLE}?snapshots=some", BAD, "Invalid snapshots: some"),
    Case("loadTable", "GET namespaces/a/tables/%zz", BAD, "Cannot decode the name '%zz'"),
    Case("updateTable", f"POST {NO}", NO_TABLE, NO_SUCH_TABLE, commit([SET])),
    Case("updateTable", "POST namespaces/none/tables/t", NO_TABLE, "Table does not exist: none.t", commit([SET])),
    Case("updateTable", "POST namespaces/none/tables/t", NO_NAMESPACE, NO_SUCH_NAMESPACE, commit([SET], [{"type": "assert-create"}])),
    Case("updateTable", f"POST {TABLE}", FAILED, "Requirement failed: branch or tag main is missing", commit([SET], [at_snapshot(7)])),
    Case("updateTable", f"POST {TABLE}", INVALID, "", commit([{"action": "set-default-spec", "spec-id": 9}])),
    Case("updateTable", f"POST {TABLE}", BAD, "", commit([{"action": "dance"}])),
    Case("updateTable", f"POST {TABLE}", BAD, UNREADABLE, {"requirements": []}),
    Case("updateTable", f"POST {TABLE}", FORBIDDEN, "Location is not allowed", commit([{"action": "set-location", "location": "/x"}])),
    Case("updateTable", f"POST {TABLE}", BAD, "Invalid commit to a.t: its body names a.u", commit([SET], table="u")),
    Case("dropTable", f"DELETE {NO}", NO_TABLE, NO_SUCH_TABLE),
    Case("dropTable", f"DELETE {NO}?purgeRequested=true", NO_TABLE, NO_SUCH_TABLE),
    Case("dropTable", f"DELETE {TABLE}?purgeRequested=maybe", BAD, "Invalid purgeRequested: maybe"),
    Case("tableExists", f"HEAD {NO}", NO_TABLE, NO_SUCH_TABLE),
    Case("unregisterTable", f"POST {NO}/unregister", NO_TABLE, NO_SUCH_TABLE),
    Case("loadCredentials", f"GET {NO}/credentials", NO_TABLE, NO_SUCH_TABLE),
    Case("signRequest", f"POST {NO}/sign", NO_TABLE, NO_SUCH_TABLE, SIGN),
    Case("signRequest", f"POST {TABLE}/sign", UNSUPPORTED, "Remote signing is not available", SIGN),
    Case("signRequest", f"POST {TABLE}/sign", BAD, "Invalid provider: gcs", SIGN | {"provider": "gcs"}),
    Case("signRequest", f"POST {TABLE}/sign", BAD, UNREADABLE, {"uri": "x"}),
    Case("renameTable", "POST tables/rename", NO_TABLE, NO_SUCH_TABLE, renaming("none", "x")),
    Case("renameTable", "POST tables/rename", NO_NAMESPACE, NO_SUCH_NAMESPACE, renaming("t", "x", "none")),
    Case("renameTable", "POST tables/rename", EXISTS, "Cannot rename a.t to a.v. View already exists", renaming("t", "v")),
    Case("renameTable", "POST tables/rename", EXISTS, "Cannot rename a.t to a.t. Table already exists", renaming("t", "t")),
    Case("renameTable", "POST tables/rename", BAD, "Invalid name: ''", renaming("t", "")),
    Case("reportMetrics", f"POST {NO}/metrics", NO_TABLE, NO_SUCH_TABLE, {"report-type": "scan-report"}),
    Case("reportMetrics", f"POST {TABLE}/metrics", BAD, "Invalid report type: x", {"report-type": "x"}),
    Case("reportMetrics", f"POST {TABLE}/metrics", BAD, UNREADABLE, {}),
    Case("reportMetrics", f"POST {TABLE}/metrics", BAD, "Invalid report: it has", {"report-type": "scan-report", "x": "x" * 300_000}),
    Case("commitTransaction", "POST transactions/commit", BAD, "Invalid transaction: it changes no table", transaction()),
    Case("commitTransaction", "POST transactions/commit", BAD, "Invalid transaction: a change names no table", transaction(commit([SET]))),
    Case("commitTransaction", "POST transactions/commit", BAD, "Invalid transaction: it names a table twice", transaction(*[commit([SET], table="t")] * 2)),
    Case("commitTransaction", "POST transactions/commit", NO_TABLE, NO_SUCH_TABLE, transaction(commit([SET], table="t"), commit([SET], table="none"))),
    Case("commitTransaction", "POST transactions/commit", FAILED, "Requirement failed", transaction(commit([SET], [at_snapshot(7)], "t"))),
    Case("listViews", "GET namespaces/none/views", NO_NAMESPACE, NO_SUCH_NAMESPACE),
    Case("createView", "POST namespaces/none/views", NO_NAMESPACE, NO_SUCH_NAMESPACE, new_view()),
    Case("createView", "POST namespaces/a/views", EXISTS, "View already exists: a.v", new_view("v")),
    Case("createView", "POST namespaces/a/views", EXISTS, "Table with same name already exists: a.t", new_view("t")),
    Case("createView", "POST namespaces/a/views", ILLEGAL, "Invalid view version: Cannot add multiple queries for dialect spark", new_view("x", view_version=TWO_DIALECTS)),
    Case("createView", "POST namespaces/a/views", FORBIDDEN, "Location is not allowed: ", new_view("x", location="/x")),
    Case("createView", "POST namespaces/a/views", BAD, UNREADABLE, {"name": "x"}),
    Case("loadView", "GET namespaces/a/views/none", NO_VIEW, NO_SUCH_VIEW),
    Case("loadView", "GET namespaces/none/views/v", NO_VIEW, "View does not exist: none.v"),
    Case("replaceView", "POST namespaces/a/views/none", NO_VIEW, NO_SUCH_VIEW, commit([SET])),
    Case("replaceView", "POST namespaces/a/views/v", FAILED, "Requirement failed: view UUID does not match", commit([SET], [{"type": "assert-view-uuid", "uuid": "x"}])),
    Case("replaceView", "POST namespaces/a/views/v", INVALID, "", commit([{"action": "assign-uuid", "uuid": "x"}])),
    Case("replaceView", "POST namespaces/a/views/v", BAD, UNREADABLE, {}),
    Case("dropView", "DELETE namespaces/a/views/none", NO_VIEW, NO_SUCH_VIEW),
    Case("dropView", "DELETE namespaces/a/views/t", NO_VIEW, "View does not exist: a.t"),
    Case("viewExists", "HEAD namespaces/a/views/none", NO_VIEW, NO_SUCH_VIEW),
    Case("renameView", "POST views/rename", NO_VIEW, NO_SUCH_VIEW, renaming("none", "x")),
    Case("renameView", "POST views/rename", NO_NAMESPACE, NO_SUCH_NAMESPACE, renaming("v", "x", "none")),
    Case("renameView", "POST views/rename", EXISTS, "Cannot rename a.v to a.t. Table already exists", renaming("v", "t")),
    Case("registerView", "POST namespaces/none/register-view", NO_NAMESPACE, NO_SUCH_NAMESPACE, REGISTER),
    Case("registerView", "POST namespaces/a/register-view", EXISTS, "View already exists: a.v", REGISTER | {"name": "v"}),
    Case("registerView", "POST namespaces/a/register-view", EXISTS, "Table with same name already exists: a.t", REGISTER | {"name": "t"}),
    Case("registerView", "POST namespaces/a/register-view", NO_FILE, "Failed to open input stream for file: ", REGISTER),
    Case("registerView", "POST namespaces/a/register-view", FORBIDDEN, "Location is not allowed: /outside", OUTSIDE),
]  # fmt: skip


@pytest.fixture
async def furnished(node: Node) -> Node:
    """A table and a view, and requests so far have warmed the node."""
    await node.table()
    await node.view()
    return node


def by_operation() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in CASES:
        found.setdefault(case.operation, []).append(case)
    return found


@pytest.mark.parametrize("operation", by_operation())
async def test_what_is_refused_changes_nothing(
    world: World, furnished: Node, operation: str
) -> None:
    """Status, type and text are what clients know; the store and the files are as before."""
    before = await world.state()
    for case in by_operation()[operation]:
        method, path = case.request.split()
        body = filled(case.body, world.warehouse)
        answer = await furnished.send(method, path, body)

        assert answer.error[:2] == case.error, (case, answer)
        assert answer.error[2].startswith(case.message), (case, answer)
        assert set(answer.json["error"]) == {"message", "type", "code"}
    assert await world.state() == before
    assert not furnished.reports._waiting


def filled(body: object, warehouse: str) -> object:
    if isinstance(body, dict) and "metadata-location" in body:
        location = body["metadata-location"].replace("{warehouse}", warehouse)
        return body | {"metadata-location": location}
    return body


def test_every_operation_can_be_refused() -> None:
    """All but tokens, whose errors have another form; and each answers what it documents."""
    problems = {
        route.operation: {ICEBERG.problem_of(error)[:2] for error in route.errors}
        for route in ROUTES
    }
    provoked = {name: {case.error for case in cases} for name, cases in by_operation().items()}

    assert problems.keys() - provoked.keys() == {"getToken"}
    missing = {name: problems[name] - errors for name, errors in provoked.items()}
    assert {name: errors for name, errors in missing.items() if errors} == {
        "signRequest": {FORBIDDEN}  # with S3 only, in test_access
    }


OF_CATALOGS = [route for route in ROUTES if "{prefix}" in route.template]
BODIES = {
    "createNamespace": {"namespace": ["x"]},
    "updateProperties": {"updates": {"k": "v"}},
    "createTable": new_table("x"),
    "registerTable": {"name": "r", "metadata-location": "/x"},
    "updateTable": commit([SET]),
    "signRequest": SIGN,
    "reportMetrics": {"report-type": "scan-report"},
    "planTableScan": {},
    "fetchScanTasks": {"plan-task": "task-1"},
    "renameTable": renaming("t", "x"),
    "commitTransaction": transaction(commit([SET], table="t")),
    "createView": new_view("x"),
    "replaceView": commit([SET]),
    "renameView": renaming("v", "x"),
    "registerView": {"name": "r", "metadata-location": "/x"},
}


@pytest.mark.parametrize("route", OF_CATALOGS, ids=lambda route: route.operation)
async def test_what_can_go_wrong_everywhere(world: World, furnished: Node, route: Any) -> None:
    """An unknown catalog or metalake, a token that is over, a database that is away."""
    path = (
        route.template.removeprefix("/v1/{prefix}/")
        .replace("{namespace}", "a")
        .replace("{table}", "t")
        .replace("{view}", "v")
        .replace("{function}", "f")
        .replace("{plan_id}", "plan-1")
    )
    body = BODIES.get(route.operation)
    before = await world.state()
    for catalog, message in [
        ("none", "Catalog does not exist: default.none"),
        ("no.main", "Metalake does not exist: no"),
    ]:
        answer = await furnished.send(route.method, path, body, catalog=catalog)
        assert answer.error[:2] == NO_WAREHOUSE
        assert answer.error[2].startswith(message)
    old = SimpleTokens(SECRET, ManualClock(START_MS - 1_000 * TOKEN_SECONDS)).issue("me")
    headers = {"authorization": f"Bearer {old}"}
    answer = await furnished.send(route.method, path, body, headers=headers)
    assert answer.error[:2] == (401, "NotAuthorizedException")
    assert answer.headers["www-authenticate"] == "Bearer"
    world.rig.faults.schedule("read_pointers", Fault.UNAVAILABLE)
    answer = await furnished.send(route.method, path, body)
    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"] == "1"

    assert await world.state() == before


@pytest.mark.parametrize(
    ("error", "status", "type", "retry"),
    [
        (NotAuthenticated("x"), 401, "NotAuthorizedException", False),
        (Overloaded("x"), 429, "TooManyRequestsException", True),
        (BackendUnavailable("x"), 503, "ServiceUnavailableException", True),
        (OutcomeUnknown("x"), 500, "CommitStateUnknownException", False),
        (Corrupt("x"), 500, "InternalServerError", False),
    ],
)
def test_the_rest_of_the_table(error: Any, status: int, type: str, retry: bool) -> None:
    """Errors that no request provokes at will."""
    problem = ICEBERG.problem_of(error.__class__)

    assert (problem.status, problem.type, problem.retry) == (status, type, retry)
