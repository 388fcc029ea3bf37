"""Handlers for views."""

from typing import Any

import msgspec

from headgate.catalog import views
from headgate.catalog.entities import Kind
from headgate.catalog.relations import ground_of, load_relation
from headgate.http.iceberg.answers import view_answer
from headgate.http.iceberg.payloads import (
    CommitView,
    CreateView,
    CreateViewHead,
    LargeCommitView,
    RegisterView,
)
from headgate.http.iceberg.relations import exists_handler, list_handler, rename_handler
from headgate.http.iceberg.service import (
    Service,
    identifier_of,
    namespace_of,
    open_catalog,
)
from headgate.http.request import Request, Response, decode
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.names import Identifier

list_views = list_handler(Kind.VIEW)
exists = exists_handler(Kind.VIEW)
rename = rename_handler(Kind.VIEW)


async def create(service: Service, request: Request) -> Response:
    """Make a view."""
    wanted: dict[str, Any] | bytes
    new: CreateView | CreateViewHead
    if len(request.body) > DEFINITIONS_INLINE_BYTES_MAX:
        new, wanted = decode(request, CreateViewHead), request.body
    else:
        new = decode(request, CreateView)
        wanted = msgspec.to_builtins(new)
    opened = await open_catalog(service, request)
    identifier = Identifier(namespace_of(service, opened, request), new.name)
    view = await views.create_view(service.lake, opened, identifier, new.location, wanted)
    return await view_answer(service, view)


async def register(service: Service, request: Request) -> Response:
    """Let a view that lies in storage enter the catalog."""
    body = decode(request, RegisterView)
    opened = await open_catalog(service, request)
    identifier = Identifier(namespace_of(service, opened, request), body.name)
    view = await views.register_view(service.lake, opened, identifier, body.metadata_location)
    return await view_answer(service, view)


async def load(service: Service, request: Request) -> Response:
    """A view."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "view")
    view = await load_relation(service.lake, opened, identifier, Kind.VIEW)
    request.ground = ground_of(service.lake, view)
    return await view_answer(service, view)


async def replace(service: Service, request: Request) -> Response:
    """Commit changes to a view."""
    body: CommitView | LargeCommitView
    if len(request.body) > DEFINITIONS_INLINE_BYTES_MAX:
        body = decode(request, LargeCommitView)
    else:
        body = decode(request, CommitView)
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "view")
    view = await views.update_view(
        service.lake, opened, identifier, body.requirements, body.updates
    )
    return await view_answer(service, view)


async def drop(service: Service, request: Request) -> Response:
    """Take a view out of the catalog."""
    opened = await open_catalog(service, request)
    await views.drop_view(service.lake, opened, identifier_of(service, opened, request, "view"))
    return Response(204)
