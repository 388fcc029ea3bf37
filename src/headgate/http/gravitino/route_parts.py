"""What routes are made of: paths, errors, and query parameters."""

from typing import Any

from headgate import errors
from headgate.http.router import Handler, Parameter, Route

METALAKES = "/metalakes"
METALAKE = f"{METALAKES}/{{metalake}}"
CATALOGS = f"{METALAKE}/catalogs"
CATALOG = f"{CATALOGS}/{{catalog}}"
SCHEMAS = f"{CATALOG}/schemas"
SCHEMA = f"{SCHEMAS}/{{schema}}"

IN_METALAKE = (
    errors.NotAuthenticated,
    errors.Forbidden,
    errors.MetalakeNotFound,
    errors.MetalakeNotInUse,
)
IN_CATALOG = (*IN_METALAKE, errors.CatalogNotFound, errors.CatalogNotInUse)
IN_SCHEMA = (*IN_CATALOG, errors.NamespaceNotFound)

DETAILS = Parameter("details", bool, description="Whole objects instead of their names.")
FORCE = Parameter("force", bool, description="Even if it is in use, with all that it holds.")


def read(
    method: str,
    template: str,
    handler: Handler,
    operation: str,
    summary: str,
    **more: Any,  # noqa: ANN401  whatever else a route has
) -> Route:
    """A route that answers from nothing but what lies behind pointers."""
    return Route(method, template, handler, operation, summary, stands=True, **more)


def write(
    method: str,
    template: str,
    handler: Handler,
    operation: str,
    summary: str,
    **more: Any,  # noqa: ANN401  whatever else a route has
) -> Route:
    """A route that changes something."""
    return Route(method, template, handler, operation, summary, writes=True, **more)
