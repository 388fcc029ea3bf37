"""Handlers for views."""

from typing import Any

import msgspec

from headgate.catalog import views
from headgate.catalog.entities import Kind
from headgate.catalog.relations import (
    find_relation,
    list_relations,
    load_relation,
    rename_relation,
)
from headgate.http.iceberg.answers import view_answer
from headgate.http.iceberg.payloads import (
    CommitView,
    CreateView,
    CreateViewHead,
    IdentifierList,
    LargeCommitView,
    RegisterView,
    Rename,
)
from headgate.http.iceberg.service import (
    Service,
    identifier_of,
    namespace_of,
    open_catalog,
    paging_of,
)
from headgate.http.iceberg.tables import identifier_in, identifiers_json
from headgate.http.request import Request, Response, decode, json_response
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.names import Identifier


async def list_views(service: Service, request: Request) -> Response:
    """The views of a namespace."""
    opened = await open_catalog(service, request)
    namespace = namespace_of(service, opened, request)
    page = await list_relations(opened, namespace, Kind.VIEW, paging_of(request))
    return json_response(200, IdentifierList(identifiers_json(page.entries), page.next))


async def create(service: Service, request: Request) -> Response:
    """Make a view."""
    opened = await open_catalog(service, request)
    wanted: dict[str, Any] | bytes
    new: CreateView | CreateViewHead
    if len(request.body) > DEFINITIONS_INLINE_BYTES_MAX:
        new, wanted = decode(request, CreateViewHead), request.body
    else:
        new = decode(request, CreateView)
        wanted = msgspec.to_builtins(new)
    identifier = Identifier(namespace_of(service, opened, request), new.name)
    view = await views.create_view(service.lake, opened, identifier, new.location, wanted)
    return await view_answer(service, view)


async def register(service: Service, request: Request) -> Response:
    """Let a view that lies in storage enter the catalog."""
    opened = await open_catalog(service, request)
    body = decode(request, RegisterView)
    identifier = Identifier(namespace_of(service, opened, request), body.name)
    view = await views.register_view(service.lake, opened, identifier, body.metadata_location)
    return await view_answer(service, view)


async def load(service: Service, request: Request) -> Response:
    """A view."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "view")
    return await view_answer(
        service, await load_relation(service.lake, opened, identifier, Kind.VIEW)
    )


async def exists(service: Service, request: Request) -> Response:
    """Whether there is such a view. Its metadata file may be missing: it must be droppable."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "view")
    await find_relation(opened, identifier, Kind.VIEW)
    return Response(204)


async def replace(service: Service, request: Request) -> Response:
    """Commit changes to a view."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "view")
    is_large = len(request.body) > DEFINITIONS_INLINE_BYTES_MAX
    body = decode(request, LargeCommitView) if is_large else decode(request, CommitView)
    view = await views.update_view(
        service.lake, opened, identifier, body.requirements, body.updates
    )
    return await view_answer(service, view)


async def drop(service: Service, request: Request) -> Response:
    """Take a view out of the catalog."""
    opened = await open_catalog(service, request)
    await views.drop_view(service.lake, opened, identifier_of(service, opened, request, "view"))
    return Response(204)


async def rename(service: Service, request: Request) -> Response:
    """Give a view another name."""
    opened = await open_catalog(service, request)
    body = decode(request, Rename)
    source, target = identifier_in(body.source), identifier_in(body.destination)
    await rename_relation(service.lake, opened, source, target, Kind.VIEW)
    return Response(204)
