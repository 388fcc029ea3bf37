"""What routes are made of: paths, errors, and the query parameters and headers that they take."""

from typing import Any
from uuid import UUID

from headgate import errors
from headgate.http.router import Handler, Parameter, Route

CATALOG = "/v1/{prefix}"
NAMESPACES = f"{CATALOG}/namespaces"
NAMESPACE = f"{NAMESPACES}/{{namespace}}"
TABLES = f"{NAMESPACE}/tables"
TABLE = f"{TABLES}/{{table}}"
VIEWS = f"{NAMESPACE}/views"
VIEW = f"{VIEWS}/{{view}}"

NO_NAMESPACE = (errors.NamespaceNotFound,)
NO_TABLE = (errors.TableNotFound,)
NO_VIEW = (errors.ViewNotFound,)

PAGE = (
    Parameter("pageToken", description="Where the page begins; empty for the first."),
    Parameter("pageSize", int, description="How many entries a page may have."),
)
PARENT = Parameter("parent", description="Whose children to list.")
WAREHOUSE = Parameter("warehouse", description="The catalog: NAME or METALAKE.NAME.")
KEY = Parameter(
    "Idempotency-Key",
    UUID,
    place="header",
    description="A UUID under which a repetition is known.",
)
DELEGATION = Parameter(
    "X-Iceberg-Access-Delegation",
    place="header",
    description="How the client wants to reach files: vended-credentials, remote-signing.",
)
IF_NONE_MATCH = Parameter("If-None-Match", place="header", description="ETags the client has.")
SNAPSHOTS = Parameter("snapshots", description="all, or refs: only those that a branch names.")
REFERENCED_BY = Parameter(
    "referenced-by",
    description="The views through which it is reached; whoever may ask may ask through them.",
)
PLAN_ID = Parameter("planId", description="The plan that the credentials are for.")
PURGE = Parameter("purgeRequested", bool, description="Delete its files too.")
CASCADE = Parameter(
    "cascade",
    bool,
    description="Not offered: only an empty namespace is dropped, and true is answered with 400.",
)


def write(
    method: str,
    template: str,
    handler: Handler,
    operation: str,
    summary: str,
    **more: Any,  # noqa: ANN401  whatever else a route has
) -> Route:
    """A route that changes something, once however often it is sent with the same key."""
    more["parameters"] = (KEY, *more.get("parameters", ()))
    return Route(method, template, handler, operation, summary, writes=True, **more)


def read(
    method: str,
    template: str,
    handler: Handler,
    operation: str,
    summary: str,
    **more: Any,  # noqa: ANN401  whatever else a route has
) -> Route:
    """A route that answers from nothing but the catalog."""
    return Route(method, template, handler, operation, summary, stands=True, **more)
