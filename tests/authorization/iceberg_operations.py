"""The operations of Iceberg's protocol."""

from functools import partial
from typing import Any

from headgate.access.objects import ObjectType as T
from headgate.catalog.entities import FunctionEntity
from headgate.catalog.functions import create_function
from headgate.model.names import Identifier
from headgate.testing.access_model import Thing
from tests.authorization.clerk import Clerk
from tests.authorization.operations import SCHEMA, SPARES, TABLE, VIEW, Operation, spare
from tests.unit.catalog.lakes import CATALOG, commit, new_table, new_view, set_properties
from tests.unit.catalog.outside import PLAN_ID, PLAN_TASK

CATALOG_URL = "/iceberg/v1/default.main"
SCHEMA_URL = f"{CATALOG_URL}/namespaces/a:b"
TABLE_URL = f"{SCHEMA_URL}/tables/t"
VIEW_URL = f"{SCHEMA_URL}/views/v"
FUNCTION = (*SCHEMA, "f")
_files: dict[str, str] = {}
_REPORT = {
    "report-type": "scan-report",
    "table-name": "t",
    "snapshot-id": 1,
    "filter": True,
    "schema-id": 0,
    "projected-field-ids": [],
    "projected-field-names": [],
    "metrics": {},
}
_SIGNED = {"region": "r", "uri": "https://b.s3.amazonaws.com/x", "method": "GET", "headers": {}}


async def _function(clerk: Clerk) -> None:
    schema = clerk.model.find(SCHEMA)
    assert schema is not None
    if "f" not in schema.below:
        opened = await clerk.node.catalog()
        entity = FunctionEntity(b"{}")
        await create_function(clerk.node.lake, opened, Identifier(("a", "b"), "f"), entity)
        schema.below["f"] = Thing(T.FUNCTION, "f")


def _file_of(kind: str) -> Any:
    async def make(clerk: Clerk) -> None:
        """Leave the metadata file of a table or view that is in no catalog."""
        new = new_table("gone") if kind == "tables" else new_view("gone")
        made = await clerk.node.must("POST", f"{SCHEMA_URL}/{kind}", new)
        _files[kind] = made["metadata-location"]
        await clerk.node.must("DELETE", f"{SCHEMA_URL}/{kind}/gone")

    return make


def _rename(kind: T, n: int) -> dict[str, Any]:
    return {
        "source": {"namespace": ["a", "b"], "name": SPARES[kind][-1]},
        "destination": {"namespace": ["a", "b"], "name": f"renamed_{kind.name}_{n}"},
    }


def _set(n: int) -> dict[str, Any]:
    return commit([set_properties(n=str(n))])


ICEBERG = {
    "getConfig": Operation("GET", "/iceberg/v1/config", (CATALOG,)),
    "listNamespaces": Operation("GET", f"{CATALOG_URL}/namespaces", (CATALOG,)),
    "createNamespace": Operation(
        "POST",
        f"{CATALOG_URL}/namespaces",
        SCHEMA,
        lambda n: {"namespace": ["a", "b", f"n{n}"]},
    ),
    "loadNamespaceMetadata": Operation("GET", SCHEMA_URL, SCHEMA),
    "namespaceExists": Operation("HEAD", SCHEMA_URL, SCHEMA),
    "dropNamespace": Operation(
        "DELETE", f"{SCHEMA_URL}:spare", SPARES[T.SCHEMA], before=spare(T.SCHEMA)
    ),
    "updateProperties": Operation(
        "POST", f"{SCHEMA_URL}/properties", SCHEMA, lambda n: {"updates": {"n": str(n)}}
    ),
    "listTables": Operation("GET", f"{SCHEMA_URL}/tables", SCHEMA),
    "createTable": Operation(
        "POST", f"{SCHEMA_URL}/tables", SCHEMA, lambda n: new_table(f"new{n}")
    ),
    "registerTable": Operation(
        "POST",
        f"{SCHEMA_URL}/register",
        SCHEMA,
        lambda n: {"name": f"registered{n}", "metadata-location": _files["tables"]},
        _file_of("tables"),
    ),
    "loadTable": Operation("GET", TABLE_URL, TABLE),
    "tableExists": Operation("HEAD", TABLE_URL, TABLE),
    "updateTable": Operation("POST", TABLE_URL, TABLE, _set),
    "dropTable": Operation(
        "DELETE", f"{SCHEMA_URL}/tables/spare_table", SPARES[T.TABLE], before=spare(T.TABLE)
    ),
    "unregisterTable": Operation(
        "POST",
        f"{SCHEMA_URL}/tables/spare_table/unregister",
        SPARES[T.TABLE],
        before=spare(T.TABLE),
    ),
    "loadCredentials": Operation("GET", f"{TABLE_URL}/credentials", TABLE),
    "signRequest": Operation(
        "POST", f"{TABLE_URL}/sign", TABLE, lambda _: _SIGNED, done=frozenset({400, 406})
    ),
    "reportMetrics": Operation("POST", f"{TABLE_URL}/metrics", TABLE, lambda _: _REPORT),
    "planTableScan": Operation("POST", f"{TABLE_URL}/plan", TABLE, lambda _: {}),
    "fetchPlanningResult": Operation("GET", f"{TABLE_URL}/plan/{PLAN_ID}", TABLE),
    "cancelPlanning": Operation("DELETE", f"{TABLE_URL}/plan/{PLAN_ID}", TABLE),
    "fetchScanTasks": Operation(
        "POST", f"{TABLE_URL}/tasks", TABLE, lambda _: {"plan-task": PLAN_TASK}
    ),
    "renameTable": Operation(
        "POST",
        f"{CATALOG_URL}/tables/rename",
        SPARES[T.TABLE],
        partial(_rename, T.TABLE),
        spare(T.TABLE),
    ),
    "commitTransaction": Operation(
        "POST",
        f"{CATALOG_URL}/transactions/commit",
        TABLE,
        lambda n: {
            "table-changes": [
                {**_set(n), "identifier": {"namespace": ["a", "b"], "name": TABLE[-1]}}
            ]
        },
    ),
    "listViews": Operation("GET", f"{SCHEMA_URL}/views", SCHEMA),
    "createView": Operation("POST", f"{SCHEMA_URL}/views", SCHEMA, lambda n: new_view(f"new{n}")),
    "registerView": Operation(
        "POST",
        f"{SCHEMA_URL}/register-view",
        SCHEMA,
        lambda n: {"name": f"registered{n}", "metadata-location": _files["views"]},
        _file_of("views"),
    ),
    "loadView": Operation("GET", VIEW_URL, VIEW),
    "viewExists": Operation("HEAD", VIEW_URL, VIEW),
    "replaceView": Operation("POST", VIEW_URL, VIEW, _set),
    "dropView": Operation(
        "DELETE", f"{SCHEMA_URL}/views/spare_view", SPARES[T.VIEW], before=spare(T.VIEW)
    ),
    "renameView": Operation(
        "POST",
        f"{CATALOG_URL}/views/rename",
        SPARES[T.VIEW],
        partial(_rename, T.VIEW),
        spare(T.VIEW),
    ),
    "listFunctions": Operation("GET", f"{SCHEMA_URL}/functions", SCHEMA),
    "loadFunction": Operation("GET", f"{SCHEMA_URL}/functions/f", FUNCTION, before=_function),
}
