"""Handlers that need no catalog yet: what the server offers, and tokens."""

from urllib.parse import quote

from headgate.access.rules import LOAD_CATALOG
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.openings import Opened
from headgate.catalog.providers import ICEBERG
from headgate.errors import CatalogNotFound
from headgate.http.iceberg.payloads import CatalogConfig
from headgate.http.iceberg.service import (
    Service,
    catalog_name,
    check_iceberg,
    prefix_of,
    separator_of,
)
from headgate.http.request import Request, Response, json_response
from headgate.http.router import Handler
from headgate.limits import OPERATION_LIFETIME_MS
from headgate.model.wire_names import advertised

LIFETIME = f"PT{OPERATION_LIFETIME_MS // 60_000}M"


def config_handler(endpoints: list[str]) -> Handler:
    """The handler that hands out the configuration, with all these endpoints."""

    async def get_config(service: Service, request: Request) -> Response:
        """What a client of this catalog must know."""
        opened = await _open(service, request)
        await opened.require(LOAD_CATALOG)
        await check_iceberg(opened)
        overrides = {
            "prefix": prefix_of(opened.call.catalog),
            "namespace-separator": advertised(separator_of(service, opened)),
        }
        return json_response(200, CatalogConfig({}, overrides, endpoints, LIFETIME))

    return get_config


async def _open(service: Service, request: Request) -> Opened:
    """The catalog that is named; else the default one, or the only one there is."""
    name = CatalogName(service.metalake, service.catalog)
    call = Call(name, request.caller, request=request.id, is_fresh=request.is_fresh)
    warehouse = request.first("warehouse")
    if warehouse:
        name = catalog_name(service, quote(warehouse, safe=""))
        return await service.lake.open(call._replace(catalog=name))
    try:
        return await service.lake.open(call)
    except CatalogNotFound:
        catalogs = await list_catalogs(service.lake.kernel, service.metalake)
        names = [one.name for one in catalogs if one.provider == ICEBERG]
        if len(names) != 1:
            raise
        only = CatalogName(service.metalake, names[0])
        return await service.lake.open(call._replace(catalog=only))


async def get_token(service: Service, request: Request) -> Response:
    """A token for a client."""
    return await service.tokens.answer(request)
