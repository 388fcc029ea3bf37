"""Handlers for views: the same that Iceberg's protocol serves."""

from functools import partial
from typing import Annotated

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.catalog.alterations import alter_view
from headgate.catalog.entities import Kind
from headgate.catalog.long_work import work_out
from headgate.catalog.relations import (
    Relation,
    find_relation,
    ground_of,
    load_relation,
    rename_relation,
)
from headgate.catalog.views import create_view, drop_view
from headgate.http.gravitino.relations import (
    audit,
    check_alone,
    identifier_of,
    list_handler,
    relational,
)
from headgate.http.gravitino.route_parts import IN_SCHEMA, SCHEMA, read, write
from headgate.http.gravitino.schema_names import joined_name, schema_of, split_name
from headgate.http.gravitino.service import Gravitino
from headgate.http.gravitino.shapes import Answer, Audit, Dropped, IdentifierList, Payload, Shape
from headgate.http.request import Request, Response, decode, json_response
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.gravitino.changes import Rename, ViewChange
from headgate.model.gravitino.names import check_name
from headgate.model.gravitino.views import CreateView, describe, new_view, updates_for
from headgate.model.gravitino.wire import Column, Representation
from headgate.model.json_values import encode
from headgate.model.names import Identifier

VIEWS = f"{SCHEMA}/views"
VIEW = f"{VIEWS}/{{view}}"


class AlterView(Payload, frozen=True):
    """Changes of a view, in this order, all or none. A new name comes alone."""

    updates: Annotated[list[ViewChange], msgspec.Meta(min_length=1)]


class ViewShape(Shape, frozen=True):
    """A view."""

    name: str
    columns: list[Column]
    representations: list[Representation]
    properties: dict[str, str]
    audit: Audit
    comment: str | None = None
    default_catalog: str | None = None
    default_schema: str | None = None


class ViewAnswer(Answer, frozen=True):
    """One view."""

    view: ViewShape


list_views = list_handler(Kind.VIEW)


async def create(service: Gravitino, request: Request) -> Response:
    """Make a view."""
    wanted = decode(request, CreateView)
    check_name(wanted.name)
    opened = await relational(service, request)
    identifier = Identifier(schema_of(service, opened, request), wanted.name)
    split = partial(split_name, service, opened)
    size = len(request.body)
    new = await work_out(partial(new_view, wanted, identifier.namespace, split), size)
    encoded = encode(new)
    is_large = len(encoded) > DEFINITIONS_INLINE_BYTES_MAX
    view = await create_view(service.lake, opened, identifier, None, encoded if is_large else new)
    return await _answer(service, view, identifier.name)


async def load(service: Gravitino, request: Request) -> Response:
    """A view."""
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "view")
    view = await load_relation(service.lake, opened, identifier, Kind.VIEW)
    request.ground = ground_of(service.lake, view)
    return await _answer(service, view, identifier.name)


async def alter(service: Gravitino, request: Request) -> Response:
    """Change a view, or give it another name."""
    changes = decode(request, AlterView).updates
    renames = [one for one in changes if isinstance(one, Rename)]
    check_alone(renames, changes, "view")
    for rename in renames:
        check_name(rename.new_name)
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "view")
    if not renames:
        split = partial(split_name, service, opened)
        view = await alter_view(
            service.lake,
            opened,
            identifier,
            lambda outline, now_ms: updates_for(outline, changes, split, now_ms),
            len(request.body),
        )
        return await _answer(service, view, identifier.name)
    target = Identifier(identifier.namespace, renames[-1].new_name)
    await rename_relation(service.lake, opened, identifier, target, Kind.VIEW)
    renamed = await find_relation(await service.lake.open(opened.call), target, Kind.VIEW)
    return await _answer(service, renamed, target.name)


async def drop(service: Gravitino, request: Request) -> Response:
    """Take a view out of the catalog."""
    opened = await relational(service, request)
    try:
        await drop_view(service.lake, opened, identifier_of(service, opened, request, "view"))
    except errors.ViewNotFound:
        return json_response(200, Dropped(dropped=False))
    return json_response(200, Dropped(dropped=True))


async def _answer(service: Gravitino, view: Relation, name: str) -> Response:
    files, metadata = service.lake.files(view.opened), service.lake.metadata
    outline = await metadata.view_outline(files, view.state, view.opened.call.tenant)
    size = len(await metadata.raw(files, view.state))
    shown = await work_out(partial(describe, outline), size)
    schema = joined_name(service, view.opened, shown.default_namespace)
    shape = ViewShape(
        name=name,
        columns=shown.columns,
        representations=shown.representations,
        properties=shown.properties,
        audit=audit(view),
        comment=shown.comment,
        default_catalog=shown.default_catalog,
        default_schema=schema or None,
    )
    return json_response(200, ViewAnswer(view=shape))


_IN_VIEW = (*IN_SCHEMA, errors.ViewNotFound)
_NEW = (*IN_SCHEMA, errors.TableExists, errors.ViewExists)

ROUTES = (
    read(
        "GET",
        VIEWS,
        list_views,
        "listViews",
        "List the views of a schema",
        response=IdentifierList,
        errors=IN_SCHEMA,
        rule=rules.LOAD_SCHEMA,
    ),
    write(
        "POST",
        VIEWS,
        create,
        "createView",
        "Create a view",
        request=CreateView,
        response=ViewAnswer,
        errors=(*_NEW, errors.Unsupported),
        rule=rules.CREATE_VIEW,
    ),
    read(
        "GET",
        VIEW,
        load,
        "loadView",
        "Load a view",
        response=ViewAnswer,
        errors=(*_IN_VIEW, errors.FileMissing),
        rule=rules.LOAD_VIEW,
    ),
    write(
        "PUT",
        VIEW,
        alter,
        "alterView",
        "Change a view",
        request=AlterView,
        response=ViewAnswer,
        errors=(*_IN_VIEW, errors.TableExists, errors.ViewExists, errors.Unsupported),
        rule=rules.ALTER_VIEW,
    ),
    write(
        "DELETE",
        VIEW,
        drop,
        "dropView",
        "Drop a view",
        response=Dropped,
        errors=IN_SCHEMA,
        rule=rules.DROP_VIEW,
    ),
)
