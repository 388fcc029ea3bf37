"""Handlers for functions."""

from collections.abc import Sequence

import msgspec

from headgate.catalog import functions
from headgate.http.iceberg.lists import arrays, list_response
from headgate.http.iceberg.service import (
    Service,
    identifier_of,
    namespace_of,
    open_catalog,
    paging_of,
)
from headgate.http.request import JSON_CONTENT, Request, Response
from headgate.model.names import Identifier


async def list_functions(service: Service, request: Request) -> Response:
    """The functions of a namespace."""
    opened = await open_catalog(service, request)
    namespace = namespace_of(service, opened, request)
    page = await functions.list_functions(opened, namespace, paging_of(request))
    return await list_response("identifiers", page, _paths)


async def load_function(service: Service, request: Request) -> Response:
    """A function."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "function")
    function = await functions.load_function(opened, identifier)
    body = b'{"metadata":' + function.metadata
    if function.metadata_location:
        body += b',"metadata-location":' + msgspec.json.encode(function.metadata_location)
    return Response(200, body + b"}", [JSON_CONTENT])


def _paths(identifiers: Sequence[Identifier]) -> bytes:
    return arrays([(*one.namespace, one.name) for one in identifiers])
