"""Handlers for views."""

import msgspec

from headgate.catalog import views
from headgate.http.iceberg.answers import view_answer
from headgate.http.iceberg.payloads import (
    CommitView,
    CreateView,
    IdentifierList,
    RegisterView,
    Rename,
)
from headgate.http.iceberg.service import (
    Service,
    call_of,
    identifier_of,
    namespace_of,
    paging_of,
)
from headgate.http.iceberg.tables import identifier_in, identifiers_json
from headgate.http.request import Request, Response, decode, json_response
from headgate.model.names import Identifier


async def list_views(service: Service, request: Request) -> Response:
    """The views of a namespace."""
    call = call_of(service, request)
    namespace = await namespace_of(service, call, request)
    page = await views.list_views(service.lake, call, namespace, paging_of(request))
    return json_response(200, IdentifierList(identifiers_json(page.entries), page.next))


async def create(service: Service, request: Request) -> Response:
    """Make a view."""
    call = call_of(service, request)
    new = decode(request, CreateView)
    identifier = Identifier(await namespace_of(service, call, request), new.name)
    view = await views.create_view(service.lake, call, identifier, msgspec.to_builtins(new))
    return await view_answer(service, view)


async def register(service: Service, request: Request) -> Response:
    """Let a view that lies in storage enter the catalog."""
    call = call_of(service, request)
    body = decode(request, RegisterView)
    identifier = Identifier(await namespace_of(service, call, request), body.name)
    view = await views.register_view(service.lake, call, identifier, body.metadata_location)
    return await view_answer(service, view)


async def load(service: Service, request: Request) -> Response:
    """A view."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "view")
    return await view_answer(service, await views.load_view(service.lake, call, identifier))


async def exists(service: Service, request: Request) -> Response:
    """Whether there is such a view. Its metadata file may be missing: it must be droppable."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "view")
    await views.find_view(service.lake, call, identifier)
    return Response(204)


async def replace(service: Service, request: Request) -> Response:
    """Commit changes to a view."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "view")
    body = decode(request, CommitView)
    view = await views.update_view(service.lake, call, identifier, body.requirements, body.updates)
    return await view_answer(service, view)


async def drop(service: Service, request: Request) -> Response:
    """Take a view out of the catalog."""
    call = call_of(service, request)
    await views.drop_view(service.lake, call, await identifier_of(service, call, request, "view"))
    return Response(204)


async def rename(service: Service, request: Request) -> Response:
    """Give a view another name."""
    call = call_of(service, request)
    body = decode(request, Rename)
    source, target = identifier_in(body.source), identifier_in(body.destination)
    await views.rename_view(service.lake, call, source, target)
    return Response(204)
