"""All operations of the Iceberg REST specification."""

from typing import Any

from headgate import errors
from headgate.catalog.new_tables import NewTable
from headgate.http.iceberg import (
    access,
    config,
    functions,
    metrics,
    namespaces,
    scans,
    tables,
    views,
)
from headgate.http.iceberg import payloads as p
from headgate.http.router import Handler, Parameter, Route

_CATALOG = "/v1/{prefix}"
_NAMESPACES = f"{_CATALOG}/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace}}"
_TABLES = f"{_NAMESPACE}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_VIEWS = f"{_NAMESPACE}/views"
_VIEW = f"{_VIEWS}/{{view}}"

_PAGE = (
    Parameter("pageToken", description="Where the page begins; empty for the first."),
    Parameter("pageSize", int, description="How many entries a page may have."),
)
_KEY = Parameter(
    "Idempotency-Key", place="header", description="A UUID under which a repetition is known."
)
_DELEGATION = Parameter(
    "X-Iceberg-Access-Delegation",
    place="header",
    description="How the client wants to reach files: vended-credentials, remote-signing.",
)
_NO_NAMESPACE = (errors.NamespaceNotFound,)
_NO_TABLE = (errors.TableNotFound,)
_NO_VIEW = (errors.ViewNotFound,)


def _write(
    method: str,
    template: str,
    handler: Handler,
    operation: str,
    **more: Any,  # noqa: ANN401
) -> Route:
    """A route that changes something, once however often it is sent with the same key."""
    more["parameters"] = (_KEY, *more.get("parameters", ()))
    return Route(method, template, handler, operation, writes=True, **more)


_OPERATIONS = (
    Route(
        "GET",
        _NAMESPACES,
        namespaces.list_namespaces,
        "listNamespaces",
        parameters=(*_PAGE, Parameter("parent", description="Whose children to list.")),
        response=p.NamespaceList,
        errors=_NO_NAMESPACE,
    ),
    _write(
        "POST",
        _NAMESPACES,
        namespaces.create_namespace,
        "createNamespace",
        request=p.CreateNamespace,
        response=p.NamespaceAnswer,
        errors=(errors.NamespaceExists,),
    ),
    Route(
        "GET",
        _NAMESPACE,
        namespaces.load_namespace,
        "loadNamespaceMetadata",
        response=p.NamespaceAnswer,
        errors=_NO_NAMESPACE,
    ),
    Route(
        "HEAD",
        _NAMESPACE,
        namespaces.namespace_exists,
        "namespaceExists",
        status=204,
        errors=_NO_NAMESPACE,
    ),
    _write(
        "DELETE",
        _NAMESPACE,
        namespaces.drop_namespace,
        "dropNamespace",
        status=204,
        errors=(*_NO_NAMESPACE, errors.NamespaceNotEmpty),
    ),
    _write(
        "POST",
        f"{_NAMESPACE}/properties",
        namespaces.update_properties,
        "updateProperties",
        request=p.UpdateProperties,
        response=p.PropertiesAnswer,
        errors=(*_NO_NAMESPACE, errors.Unprocessable),
    ),
    Route(
        "GET",
        _TABLES,
        tables.list_tables,
        "listTables",
        parameters=_PAGE,
        response=p.IdentifierList,
        errors=_NO_NAMESPACE,
    ),
    _write(
        "POST",
        _TABLES,
        tables.create,
        "createTable",
        parameters=(_DELEGATION,),
        request=NewTable,
        response=p.LoadTableResult,
        errors=(*_NO_NAMESPACE, errors.TableExists),
    ),
    _write(
        "POST",
        f"{_NAMESPACE}/register",
        tables.register,
        "registerTable",
        parameters=(_DELEGATION,),
        request=p.RegisterTable,
        response=p.LoadTableResult,
        errors=(*_NO_NAMESPACE, errors.TableExists),
    ),
    Route(
        "GET",
        _TABLE,
        tables.load,
        "loadTable",
        parameters=(
            _DELEGATION,
            Parameter("If-None-Match", place="header", description="ETags the client has."),
            Parameter("snapshots", description="all, or refs: only those that a branch names."),
        ),
        response=p.LoadTableResult,
        other_statuses=(304,),
        errors=_NO_TABLE,
    ),
    _write(
        "POST",
        _TABLE,
        tables.update,
        "updateTable",
        request=p.CommitTable,
        response=p.LoadTableResult,
        errors=(*_NO_TABLE, errors.RequirementFailed),
    ),
    _write(
        "DELETE",
        _TABLE,
        tables.drop,
        "dropTable",
        parameters=(Parameter("purgeRequested", bool, description="Delete its files too."),),
        status=204,
        errors=_NO_TABLE,
    ),
    Route("HEAD", _TABLE, tables.exists, "tableExists", status=204, errors=_NO_TABLE),
    _write(
        "POST",
        f"{_TABLE}/unregister",
        tables.unregister,
        "unregisterTable",
        response=p.LoadTableResult,
        errors=_NO_TABLE,
    ),
    Route(
        "GET",
        f"{_TABLE}/credentials",
        access.load_credentials,
        "loadCredentials",
        response=p.CredentialsAnswer,
        errors=_NO_TABLE,
    ),
    Route(
        "POST",
        f"{_TABLE}/sign",
        access.sign,
        "signRequest",
        request=p.SignBody,
        response=p.SignAnswer,
        errors=(*_NO_TABLE, errors.Forbidden, errors.Unsupported),
    ),
    Route(
        "POST",
        f"{_TABLE}/metrics",
        metrics.report,
        "reportMetrics",
        request=p.Report,
        status=204,
        errors=_NO_TABLE,
    ),
    Route(
        "POST",
        f"{_TABLE}/plan",
        scans.plan,
        "planTableScan",
        parameters=(_KEY, _DELEGATION),
        request=p.PlanScan,
        errors=_NO_TABLE,
    ),
    Route(
        "GET",
        f"{_TABLE}/plan/{{plan_id}}",
        scans.fetch_plan,
        "fetchPlanningResult",
        parameters=(_DELEGATION,),
        errors=(*_NO_TABLE, errors.PlanNotFound),
    ),
    Route(
        "DELETE",
        f"{_TABLE}/plan/{{plan_id}}",
        scans.cancel_plan,
        "cancelPlanning",
        parameters=(_KEY,),
        status=204,
        errors=(*_NO_TABLE, errors.PlanNotFound),
    ),
    Route(
        "POST",
        f"{_TABLE}/tasks",
        scans.fetch_tasks,
        "fetchScanTasks",
        parameters=(_KEY,),
        request=p.FetchTasks,
        errors=(*_NO_TABLE, errors.PlanTaskNotFound),
    ),
    _write(
        "POST",
        f"{_CATALOG}/tables/rename",
        tables.rename,
        "renameTable",
        request=p.Rename,
        status=204,
        errors=(*_NO_TABLE, *_NO_NAMESPACE, errors.TableExists),
    ),
    _write(
        "POST",
        f"{_CATALOG}/transactions/commit",
        tables.commit_transaction,
        "commitTransaction",
        request=p.CommitTransaction,
        status=204,
        errors=(*_NO_TABLE, errors.RequirementFailed),
    ),
    Route(
        "GET",
        _VIEWS,
        views.list_views,
        "listViews",
        parameters=_PAGE,
        response=p.IdentifierList,
        errors=_NO_NAMESPACE,
    ),
    _write(
        "POST",
        _VIEWS,
        views.create,
        "createView",
        request=p.CreateView,
        response=p.LoadViewResult,
        errors=(*_NO_NAMESPACE, errors.ViewExists),
    ),
    Route("GET", _VIEW, views.load, "loadView", response=p.LoadViewResult, errors=_NO_VIEW),
    _write(
        "POST",
        _VIEW,
        views.replace,
        "replaceView",
        request=p.CommitView,
        response=p.LoadViewResult,
        errors=(*_NO_VIEW, errors.RequirementFailed),
    ),
    _write("DELETE", _VIEW, views.drop, "dropView", status=204, errors=_NO_VIEW),
    Route("HEAD", _VIEW, views.exists, "viewExists", status=204, errors=_NO_VIEW),
    _write(
        "POST",
        f"{_CATALOG}/views/rename",
        views.rename,
        "renameView",
        request=p.Rename,
        status=204,
        errors=(*_NO_VIEW, *_NO_NAMESPACE, errors.ViewExists),
    ),
    _write(
        "POST",
        f"{_NAMESPACE}/register-view",
        views.register,
        "registerView",
        request=p.RegisterView,
        response=p.LoadViewResult,
        errors=(*_NO_NAMESPACE, errors.ViewExists),
    ),
    Route(
        "GET",
        f"{_NAMESPACE}/functions",
        functions.list_functions,
        "listFunctions",
        parameters=_PAGE,
        response=p.FunctionList,
        errors=_NO_NAMESPACE,
    ),
    Route(
        "GET",
        f"{_NAMESPACE}/functions/{{function}}",
        functions.load_function,
        "loadFunction",
        errors=(*_NO_NAMESPACE, errors.FunctionNotFound),
    ),
)


def _advertised(route: Route) -> str:
    """An endpoint in the words of the specification, whose parameters have dashes."""
    return f"{route.method} {route.template.replace('plan_id', 'plan-id')}"


ROUTES = (
    Route(
        "GET",
        "/v1/config",
        config.config_handler([_advertised(route) for route in _OPERATIONS]),
        "getConfig",
        parameters=(Parameter("warehouse", description="The catalog: NAME or METALAKE.NAME."),),
        response=p.CatalogConfig,
        errors=(errors.CatalogNotFound,),
    ),
    Route(
        "POST",
        "/v1/oauth/tokens",
        config.get_token,
        "getToken",
        request_content="application/x-www-form-urlencoded",
    ),
    *_OPERATIONS,
)
