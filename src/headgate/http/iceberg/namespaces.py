"""Handlers for namespaces."""

from headgate.catalog import namespaces
from headgate.errors import BadRequest, NamespaceNotFound
from headgate.http.iceberg.lists import arrays, list_response
from headgate.http.iceberg.payloads import (
    CreateNamespace,
    NamespaceAnswer,
    PropertiesAnswer,
    UpdateProperties,
)
from headgate.http.iceberg.service import (
    Service,
    namespace_of,
    open_catalog,
    paging_of,
    parent_of,
)
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.model.wire_names import unquote_segment, unquoted_again


async def list_namespaces(service: Service, request: Request) -> Response:
    """The direct children of a namespace."""
    unquote_segment(request.first_encoded("parent") or "")  # what cannot be read is refused first
    paging = paging_of(request)
    opened = await open_catalog(service, request)
    parent = parent_of(service, opened, request)
    try:
        page = await namespaces.list_namespaces(opened, parent, paging)
    except NamespaceNotFound:
        again = unquoted_again(parent)
        if again is None:
            raise
        page = await namespaces.list_namespaces(opened, again, paging)
    return await list_response("namespaces", page, arrays)


async def create_namespace(service: Service, request: Request) -> Response:
    """Make a namespace, and those above it."""
    new = decode(request, CreateNamespace)
    opened = await open_catalog(service, request)
    properties = await namespaces.create_namespace(
        service.lake, opened, tuple(new.namespace), new.properties or {}
    )
    return json_response(200, NamespaceAnswer(new.namespace, properties))


async def load_namespace(service: Service, request: Request) -> Response:
    """The properties of a namespace."""
    opened = await open_catalog(service, request)
    levels = namespace_of(service, opened, request)
    properties = await namespaces.load_namespace(opened, levels)
    return json_response(200, NamespaceAnswer(list(levels), properties))


async def namespace_exists(service: Service, request: Request) -> Response:
    """Whether there is such a namespace."""
    opened = await open_catalog(service, request)
    await namespaces.check_namespace(opened, namespace_of(service, opened, request))
    return Response(204)


async def drop_namespace(service: Service, request: Request) -> Response:
    """Remove an empty namespace."""
    if flag(request, "cascade"):
        raise BadRequest(
            "Unsupported: cascade",
            why="a namespace is dropped when it is empty",
            fix="Drop its content first",
        )
    opened = await open_catalog(service, request)
    levels = namespace_of(service, opened, request)
    await namespaces.drop_namespace(service.lake, opened, levels)
    return Response(204)


async def update_properties(service: Service, request: Request) -> Response:
    """Set and remove properties of a namespace."""
    body = decode(request, UpdateProperties)
    opened = await open_catalog(service, request)
    levels = namespace_of(service, opened, request)
    changes = await namespaces.update_namespace(
        service.lake, opened, levels, body.updates, body.removals
    )
    return json_response(200, PropertiesAnswer(*changes))
