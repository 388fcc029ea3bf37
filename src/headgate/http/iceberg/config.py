"""Handlers that need no catalog yet: what the server offers, and tokens."""

from headgate.catalog.calls import Call
from headgate.http.iceberg.payloads import CatalogConfig
from headgate.http.iceberg.service import Service, catalog_name, prefix_of
from headgate.http.iceberg.tokens import issue_token
from headgate.http.request import Request, Response, json_response
from headgate.http.router import Handler
from headgate.limits import OPERATION_LIFETIME_MS
from headgate.model.wire_names import UNIT_SEPARATOR, advertised

LIFETIME = f"PT{OPERATION_LIFETIME_MS // 60_000}M"


def config_handler(endpoints: list[str]) -> Handler:
    """The handler that hands out the configuration, with all these endpoints."""

    async def get_config(service: Service, request: Request) -> Response:
        """What a client of this catalog must know."""
        warehouse = request.first("warehouse")
        name = catalog_name(service, warehouse or service.catalog)
        opened = await service.lake.open(Call(name, service.authenticate(request)))
        separator = service.lake.options.separator if opened.catalog.nested else UNIT_SEPARATOR
        overrides = {"prefix": prefix_of(name), "namespace-separator": advertised(separator)}
        return json_response(200, CatalogConfig({}, overrides, endpoints, LIFETIME))

    return get_config


async def get_token(service: Service, request: Request) -> Response:
    """A token for a client."""
    return issue_token(service.tokens, request)
