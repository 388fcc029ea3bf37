"""Handlers for namespaces."""

from headgate.catalog import namespaces
from headgate.errors import NamespaceNotFound
from headgate.http.iceberg.payloads import (
    CreateNamespace,
    NamespaceAnswer,
    NamespaceList,
    PropertiesAnswer,
    UpdateProperties,
)
from headgate.http.iceberg.service import Service, call_of, namespace_of, paging_of, parent_of
from headgate.http.request import Request, Response, decode, json_response
from headgate.model.wire_names import unquoted_again


async def list_namespaces(service: Service, request: Request) -> Response:
    """The direct children of a namespace."""
    call = call_of(service, request)
    parent, paging = await parent_of(service, call, request), paging_of(request)
    try:
        page = await namespaces.list_namespaces(service.lake, call, parent, paging)
    except NamespaceNotFound:
        again = unquoted_again(parent)
        if again is None:
            raise
        page = await namespaces.list_namespaces(service.lake, call, again, paging)
    return json_response(200, NamespaceList([list(one) for one in page.entries], page.next))


async def create_namespace(service: Service, request: Request) -> Response:
    """Make a namespace, and those above it."""
    call = call_of(service, request)
    new = decode(request, CreateNamespace)
    properties = await namespaces.create_namespace(
        service.lake, call, tuple(new.namespace), new.properties or {}
    )
    return json_response(200, NamespaceAnswer(new.namespace, properties))


async def load_namespace(service: Service, request: Request) -> Response:
    """The properties of a namespace."""
    call = call_of(service, request)
    levels = await namespace_of(service, call, request)
    properties = await namespaces.load_namespace(service.lake, call, levels)
    return json_response(200, NamespaceAnswer(list(levels), properties))


async def namespace_exists(service: Service, request: Request) -> Response:
    """Whether there is such a namespace."""
    call = call_of(service, request)
    opened = await service.lake.open(call)
    await namespaces.find_namespace(opened, await namespace_of(service, call, request))
    return Response(204)


async def drop_namespace(service: Service, request: Request) -> Response:
    """Remove an empty namespace."""
    call = call_of(service, request)
    levels = await namespace_of(service, call, request)
    await namespaces.drop_namespace(service.lake, call, levels)
    return Response(204)


async def update_properties(service: Service, request: Request) -> Response:
    """Set and remove properties of a namespace."""
    call = call_of(service, request)
    levels = await namespace_of(service, call, request)
    body = decode(request, UpdateProperties)
    changes = await namespaces.update_namespace(
        service.lake, call, levels, body.updates, body.removals
    )
    return json_response(200, PropertiesAnswer(*changes))
