"""A request for every route of all surfaces, with placeholders for whatever it names.

Paths come from the templates of the routes. Bodies, and the query parameters that name something,
are tables here; `unnamed_in` tells what of a route is in neither.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from headgate.http.router import Route
from tests.unit.catalog.lakes import new_table, new_view
from tests.unit.catalog.outside import PLAN_ID, PLAN_TASK

Body = object
KEY = str(UUID(int=15))


class Shape(NamedTuple):
    """A request, with placeholders in braces."""

    prefix: str
    route: Route
    path: str
    query: str = ""
    body: Body = None

    @property
    def text(self) -> str:
        """All of it, for its placeholders and for messages."""
        return f"{self.route.method} {self.path}?{self.query} {self.body}"

    def __repr__(self) -> str:
        return f"{self.route.operation}: {self.text}"


SEGMENTS = {
    "prefix": "{metalake}.{catalog}",
    "metalake": "{metalake}",
    "catalog": "{catalog}",
    "namespace": "{schema}",
    "schema": "{schema}",
    "table": "{table}",
    "view": "{view}",
    "function": "{function}",
    "role": "{role}",
    "user": "{user}",
    "group": "{group}",
    "id": "{job}",
    "plan_id": PLAN_ID,
    "partition": "p=1",
}
"""Parameters of templates; `{type}/{fullName}` is one object of each kind."""
FULL_NAMES = {
    "metalake": "{metalake}",
    "catalog": "{catalog}",
    "schema": "{catalog}.{schema}",
    "table": "{catalog}.{schema}.{table}",
    "view": "{catalog}.{schema}.{view}",
    "function": "{catalog}.{schema}.{function}",
    "role": "{role}",
}
NAMING = {
    "parent": "{schema}",
    "parentSchema": "{schema}",
    "warehouse": "{metalake}.{catalog}",
    "referenced-by": "{schema}.{view}",
    "metalake": "{metalake}",
    "catalog": "{catalog}",
    "page-token": "{job}",
}
"""Query parameters that name something."""
PLAIN = {
    "pageToken",
    "pageSize",
    "Idempotency-Key",
    "X-Iceberg-Access-Delegation",
    "If-None-Match",
    "snapshots",
    "planId",
    "purgeRequested",
    "cascade",
    "force",
    "details",
    "privileges",
    "purge",
    "since",
    "limit",
    "kind",
    "state",
    "piece",
}
"""Query parameters and headers that name nothing."""
PLAIN_FIELDS = {
    "comment",
    "properties",
    "removals",
    "partition-spec",
    "write-order",
    "externalId",
    "enabled",
    "token_type_hint",
    "snapshot-id",
    "start-snapshot-id",
    "end-snapshot-id",
    "select",
    "filter",
    "case-sensitive",
    "use-snapshot-schema",
    "stats-fields",
    "min-rows-requested",
    "body",
    "provider",
    "password",
    "since",
    "limit",
    "kind",
    "dry-run",
    "sortOrders",
    "distribution",
    "partitioning",
    "indexes",
    "defaultCatalog",
    "defaultSchema",
    "securityMode",
}
"""Fields of bodies that name nothing, and are left out."""

_IDENTIFIER = {"namespace": ["{schema}"], "name": "{table}"}
_VIEW = {"namespace": ["{schema}"], "name": "{view}"}
_OWN = {"namespace": ["mine"], "name": "own"}
_COLUMNS = [{"name": "id", "type": "long"}]
_SQL = [{"type": "sql", "dialect": "spark", "sql": "SELECT 1"}]
_SET = [{"action": "set-properties", "updates": {"n": "1"}}]
_CREATES = [{"type": "assert-create"}]
_COMMENT = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
_PROPERTY = {"updates": [{"@type": "setProperty", "property": "n", "value": "1"}]}
_RIGHT = [{"name": "manage_grants", "condition": "allow"}]
_REPORT = {
    "report-type": "scan-report",
    "table-name": "{table}",
    "snapshot-id": 1,
    "filter": True,
    "schema-id": 0,
    "projected-field-ids": [],
    "projected-field-names": [],
    "metrics": {},
}


def _rename(named: object) -> list[Body]:
    target = {"namespace": ["{target_schema}"], "name": "{target}"}
    own = {"namespace": ["mine"], "name": "own" if named is _IDENTIFIER else "own_v"}
    return [{"source": named, "destination": target}, {"source": own, "destination": target}]


def _transaction(needed: object, *tables: object) -> Body:
    changes = [{"identifier": one, "requirements": needed, "updates": _SET} for one in tables]
    return {"table-changes": changes}


def _rights() -> list[Body]:
    return [
        [{"fullName": text, "type": kind, "privileges": _RIGHT}]
        for kind, text in FULL_NAMES.items()
        if kind != "role"
    ]


def _files(extra: Mapping[str, Any]) -> list[Body]:
    return [{"name": "new", "metadata-location": "{file}", **extra}]


BODIES: dict[tuple[str, str], list[Body]] = {
    ("/iceberg", "getToken"): ["grant_type=client_credentials&client_id=x&client_secret=y"],
    ("/iceberg", "createNamespace"): [
        {"namespace": ["{schema}", "new"]},
        {"namespace": ["{schema}"]},
        {"namespace": ["mine", "new"], "properties": {"location": "{place}"}},
    ],
    ("/iceberg", "updateProperties"): [
        {"updates": {"n": "1"}},
        {"updates": {"location": "{place}"}},
    ],
    ("/iceberg", "createTable"): [
        new_table("{table}"),
        new_table("new", location="{place}"),
        new_table("new", location="{place}", **{"stage-create": True}),
    ],
    ("/iceberg", "registerTable"): [*_files({}), *_files({"overwrite": True, "name": "{table}"})],
    ("/iceberg", "updateTable"): [
        {"requirements": [], "updates": _SET},
        {"requirements": _CREATES, "updates": _SET},
        {"requirements": [], "updates": _SET, "identifier": _IDENTIFIER},
    ],
    ("/iceberg", "signRequest"): [
        {
            "region": "r",
            "uri": "https://b.s3.amazonaws.com/x",
            "method": "GET",
            "headers": {},
            "properties": {},
        }
    ],
    ("/iceberg", "reportMetrics"): [_REPORT],
    ("/iceberg", "planTableScan"): [{}],
    ("/iceberg", "fetchScanTasks"): [{"plan-task": PLAN_TASK}],
    ("/iceberg", "renameTable"): _rename(_IDENTIFIER),
    ("/iceberg", "commitTransaction"): [
        _transaction([], _IDENTIFIER),
        _transaction(_CREATES, _IDENTIFIER),
        _transaction([], _OWN, _IDENTIFIER),
    ],
    ("/iceberg", "createView"): [new_view("{view}"), {**new_view("new"), "location": "{place}"}],
    ("/iceberg", "replaceView"): [{"requirements": [], "updates": _SET, "identifier": _VIEW}],
    ("/iceberg", "renameView"): _rename(_VIEW),
    ("/iceberg", "registerView"): _files({}),
    ("/api", "createKeptUser"): [{"user": "{user}", "password": "a long password"}],
    ("/api", "updateKeptUser"): [{"enabled": False}],
    ("/api", "createKeptGroup"): [{"group": "{group}"}],
    ("/api", "usersKeptGroup"): [{"usersToAdd": ["{user}"], "usersToRemove": []}],
    ("/api", "addKeptGroup"): [{"usersToAdd": ["{user}"], "usersToRemove": []}],
    ("/api", "removeKeptGroup"): [{"usersToAdd": [], "usersToRemove": ["{user}"]}],
    ("/api", "createMetalake"): [{"name": "{metalake}"}],
    ("/api", "alterMetalake"): [
        _COMMENT,
        {"updates": [{"@type": "rename", "newName": "{target_metalake}"}]},
    ],
    ("/api", "switchMetalake"): [{"inUse": False}],
    ("/api", "createCatalog"): [
        {
            "name": "{catalog}",
            "type": "relational",
            "provider": "lakehouse-iceberg",
            "properties": {"warehouse": "{place}"},
        }
    ],
    ("/api", "testNewConnection"): [
        {"name": "{catalog}", "type": "relational", "provider": "lakehouse-iceberg"}
    ],
    ("/api", "alterCatalog"): [
        _COMMENT,
        {"updates": [{"@type": "rename", "newName": "{target_catalog}"}]},
    ],
    ("/api", "switchCatalog"): [{"inUse": False}],
    ("/api", "createSchema"): [{"name": "{schema}:new"}, {"name": "{schema}"}],
    ("/api", "alterSchema"): [_PROPERTY],
    ("/api", "createTable"): [{"name": "{table}", "columns": _COLUMNS}],
    ("/api", "alterTable"): [
        _PROPERTY,
        {
            "updates": [
                {"@type": "rename", "newName": "{target}", "newSchemaName": "{target_schema}"}
            ]
        },
    ],
    ("/api", "createView"): [{"name": "{view}", "columns": _COLUMNS, "representations": _SQL}],
    ("/api", "alterView"): [_PROPERTY, {"updates": [{"@type": "rename", "newName": "{target}"}]}],
    ("/api", "addUser"): [{"name": "{user}"}],
    ("/api", "switchUser"): [{"enabled": False}],
    ("/api", "bulkAddUsers"): [{"users": [{"name": "{user}"}]}],
    ("/api", "bulkRemoveUsers"): [{"names": ["{user}"]}],
    ("/api", "addGroup"): [{"name": "{group}"}],
    ("/api", "createRole"): [
        {"name": "{role}", "securableObjects": []},
        *({"name": "new", "securableObjects": one} for one in _rights()),
    ],
    **{
        ("/api", operation): [{"roleNames": ["{target_role}"]}]
        for operation in (
            "grantRolesToUser",
            "revokeRolesFromUser",
            "grantRolesToGroup",
            "revokeRolesFromGroup",
        )
    },
    ("/api", "grantPrivilegesToRole"): [{"privileges": _RIGHT}],
    ("/api", "revokePrivilegesFromRole"): [{"privileges": _RIGHT}],
    ("/api", "overrideRolePrivileges"): [{"overrides": one} for one in _rights()],
    ("/api", "setOwner"): [
        {"name": "{user}", "type": "USER"},
        {"name": "{group}", "type": "GROUP"},
    ],
    ("", "revokeToken"): ["token=x"],
    ("", "searchChanges"): [{"metalake": "{metalake}"}],
    ("", "retryJob"): [{"end-grace": True}],
    ("", "undropTable"): [None, {"name": ["{schema}", "{table}"]}],
    ("", "reportJob"): [{}],
    ("", "findReferences"): [{"paths": ["{place}/data/x.parquet"]}],
    ("", "startMaintenanceRun"): [{"sweep": ["{metalake}"]}, {"purge": ["{metalake}"]}],
    ("", "beginImport"): [{}],
    ("", "importRows"): [{"rows": []}],
    ("", "finishImport"): [{"content": "", "state": ""}],
}
"""By surface and operation. `{target…}` is a second name of the same kind."""
_UNREAD = {("", "reportJob"), ("", "beginImport"), ("/iceberg", "getToken")}
"""Bodies that only a service admin, or nobody, gets as far as being read for what they name."""


def shapes(prefix: str, route: Route) -> Iterator[Shape]:
    """All requests for a route."""
    queries = [""]
    named = [one for one in route.parameters if one.place == "query" and one.name in NAMING]
    queries += [f"{one.name}={NAMING[one.name]}" for one in named]
    for path in _paths(prefix, route):
        for body in BODIES.get((prefix, route.operation), [None]):
            for query in queries:
                yield Shape(prefix, route, path, query, body)


def _paths(prefix: str, route: Route) -> Iterator[str]:
    parts = route.template.split("/")
    kinds = FULL_NAMES.items() if "{type}" in parts else [("", "")]
    for kind, name in kinds:
        known = {**SEGMENTS, "type": kind, "fullName": name}
        yield prefix + "/".join(known[part[1:-1]] if part[:1] == "{" else part for part in parts)


def unnamed_in(prefix: str, route: Route) -> set[str]:
    """What of a route has no case here: parameters, its body, or fields of its body."""
    known = {*SEGMENTS, "type", "fullName"}
    lacking = {name for name in route.names if name not in known}
    lacking |= {one.name for one in route.parameters if one.name not in {*NAMING, *PLAIN}}
    key = (prefix, route.operation)
    if route.request is None or key in _UNREAD:
        return lacking
    if key not in BODIES:
        return {*lacking, "its body"}
    used = {field for body in BODIES[key] if isinstance(body, dict) for field in body}
    fields = {one.encode_name for one in msgspec.structs.fields(route.request)}
    return lacking | (fields - used - PLAIN_FIELDS if used else set())
