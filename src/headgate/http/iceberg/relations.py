"""Handlers that tables and views have in common."""

from headgate.catalog.entities import Kind
from headgate.catalog.relations import list_relations, rename_relation, see_relation
from headgate.http.iceberg.lists import identifiers_in, list_response
from headgate.http.iceberg.payloads import Rename, TableIdentifier
from headgate.http.iceberg.service import (
    Service,
    identifier_of,
    namespace_of,
    open_catalog,
    paging_of,
)
from headgate.http.request import Request, Response, decode
from headgate.http.router import Handler
from headgate.model.names import Identifier


def list_handler(kind: Kind) -> Handler:
    """Lists those of a namespace."""

    async def handler(service: Service, request: Request) -> Response:
        paging = paging_of(request)
        opened = await open_catalog(service, request)
        namespace = namespace_of(service, opened, request)
        page = await list_relations(opened, namespace, kind, paging)
        return await list_response("identifiers", page, identifiers_in(namespace))

    return handler


def exists_handler(kind: Kind) -> Handler:
    """Tells whether there is one. Its metadata file may be missing: it must be droppable."""

    async def handler(service: Service, request: Request) -> Response:
        opened = await open_catalog(service, request)
        identifier = identifier_of(service, opened, request, kind.name.lower())
        await see_relation(opened, identifier, kind)
        return Response(204)

    return handler


def rename_handler(kind: Kind) -> Handler:
    """Gives one another name."""

    async def handler(service: Service, request: Request) -> Response:
        body = decode(request, Rename)
        opened = await open_catalog(service, request)
        source, target = identifier_in(body.source), identifier_in(body.destination)
        await rename_relation(service.lake, opened, source, target, kind)
        return Response(204)

    return handler


def identifier_in(body: TableIdentifier) -> Identifier:
    """The identifier in a body."""
    return Identifier(tuple(body.namespace), body.name)
