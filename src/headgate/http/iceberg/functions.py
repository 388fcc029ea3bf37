"""Handlers for functions."""

import msgspec

from headgate.catalog import functions
from headgate.http.iceberg.payloads import FunctionList
from headgate.http.iceberg.service import (
    Service,
    call_of,
    identifier_of,
    namespace_of,
    paging_of,
)
from headgate.http.request import JSON_CONTENT, Request, Response, json_response


async def list_functions(service: Service, request: Request) -> Response:
    """The functions of a namespace."""
    call = call_of(service, request)
    namespace = await namespace_of(service, call, request)
    page = await functions.list_functions(service.lake, call, namespace, paging_of(request))
    found = [[*one.namespace, one.name] for one in page.entries]
    return json_response(200, FunctionList(found, page.next))


async def load_function(service: Service, request: Request) -> Response:
    """A function."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "function")
    function = await functions.load_function(service.lake, call, identifier)
    body = b'{"metadata":' + function.metadata
    if function.metadata_location:
        body += b',"metadata-location":' + msgspec.json.encode(function.metadata_location)
    return Response(200, body + b"}", [JSON_CONTENT])
