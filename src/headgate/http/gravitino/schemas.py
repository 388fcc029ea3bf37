"""Handlers for schemas: the namespaces of a catalog, each by one name that joins its levels."""

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import unquote

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.catalog import namespaces
from headgate.catalog.entities import NamespaceEntity
from headgate.catalog.openings import Opened
from headgate.catalog.paging import Paging
from headgate.catalog.providers import ICEBERG
from headgate.errors import BadRequest, NamespaceNotFound, Unsupported
from headgate.http.gravitino.route_parts import IN_CATALOG, IN_SCHEMA, SCHEMA, SCHEMAS, read, write
from headgate.http.gravitino.schema_names import joined_name, schema_of, separator_of, split_name
from headgate.http.gravitino.service import Gravitino, catalog_of
from headgate.http.gravitino.shapes import (
    Answer,
    Audit,
    Dropped,
    IdentifierList,
    NameIdentifier,
    Payload,
    Shape,
    audit_of,
)
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.http.router import Parameter
from headgate.model.gravitino.changes import RemoveProperty, SetProperty
from headgate.model.names import Levels
from headgate.model.wire_names import levels_of, unquote_segment

PARENT = Parameter("parentSchema", description="Whose children to list; the first level if empty.")
CASCADE = Parameter(
    "cascade", bool, description="With all that it holds; Iceberg's catalogs answer 400."
)

Update = SetProperty | RemoveProperty
Updates = Annotated[list[Update], msgspec.Meta(min_length=1)]


class CreateSchema(Payload, frozen=True):
    """A schema that a client wants."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterSchema(Payload, frozen=True):
    """Changes of a schema, in this order."""

    updates: Updates


class SchemaShape(Shape, frozen=True):
    """A schema."""

    name: str
    properties: dict[str, str]
    audit: Audit
    comment: str | None = None


class SchemaAnswer(Answer, frozen=True):
    """One schema."""

    schema: SchemaShape


async def list_schemas(service: Gravitino, request: Request) -> Response:
    """The schemas of the first level, or the direct children of one, by their whole names."""
    unquote_segment(request.first_encoded("parentSchema") or "")  # refused first
    opened = await catalog_of(service, request)
    parent = await _parent(service, opened, request)
    page = await namespaces.list_namespaces(opened, parent, Paging())
    above = list(opened.call.catalog)
    named = [
        NameIdentifier(namespace=above, name=joined_name(service, opened, levels))
        for levels in page.entries
    ]
    return json_response(200, IdentifierList(identifiers=named))


async def create_schema(service: Gravitino, request: Request) -> Response:
    """A new schema, with those above it that are missing."""
    new = decode(request, CreateSchema)
    opened = await catalog_of(service, request)
    levels = split_name(service, opened, _sent_name(new.name))
    await namespaces.create_namespace(
        service.lake, opened, levels, new.properties or {}, new.comment or ""
    )
    return await _described(service, opened, levels)


async def load_schema(service: Gravitino, request: Request) -> Response:
    """One schema."""
    opened = await catalog_of(service, request)
    levels = schema_of(service, opened, request)
    await opened.require(rules.LOAD_SCHEMA, levels)
    return _answer(service, opened, levels, await namespaces.describe_namespace(opened, levels))


async def alter_schema(service: Gravitino, request: Request) -> Response:
    """Set and remove properties of a schema."""
    updates, removals = _changes(decode(request, AlterSchema).updates)
    opened = await catalog_of(service, request)
    levels = schema_of(service, opened, request)
    await namespaces.update_namespace(service.lake, opened, levels, updates, removals)
    return await _described(service, opened, levels)


async def drop_schema(service: Gravitino, request: Request) -> Response:
    """Take an empty schema away."""
    opened = await catalog_of(service, request)
    levels = schema_of(service, opened, request)
    if flag(request, "cascade") and opened.catalog.provider == ICEBERG:
        await opened.require(rules.DROP_SCHEMA, levels)
        raise BadRequest(
            "Unsupported: cascade",
            why="a schema is dropped when it is empty",
            fix="Drop its content first",
        )
    try:
        await namespaces.drop_namespace(service.lake, opened, levels)
    except NamespaceNotFound:
        return json_response(200, Dropped(dropped=False))
    return json_response(200, Dropped(dropped=True))


async def _parent(service: Gravitino, opened: Opened, request: Request) -> Levels:
    encoded = request.first_encoded("parentSchema") or ""
    if encoded and not opened.catalog.nested:
        await opened.require(rules.LOAD_CATALOG)
        raise Unsupported(
            f"Catalog {opened.catalog.name} has no nested schemas",
            fix="Leave parentSchema out",
        )
    levels = levels_of(encoded, separator_of(service, opened))
    if not all(levels):
        await opened.require(rules.LOAD_CATALOG)
        raise BadRequest(
            "Invalid parentSchema", why="one of its levels is empty", fix="Name each level"
        )
    return levels


def _sent_name(name: str) -> str:
    """The name that a client means. Python's sends it percent-encoded in the body too, and no
    other can mean an escape by one: Gravitino allows no percent sign in a name."""
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name


def _changes(updates: Iterable[Update]) -> tuple[dict[str, str], list[str]]:
    """What is set in the end, and what is removed."""
    last = {one.property: one for one in updates}
    return (
        {name: one.value for name, one in last.items() if isinstance(one, SetProperty)},
        [name for name, one in last.items() if isinstance(one, RemoveProperty)],
    )


async def _described(service: Gravitino, before: Opened, levels: Levels) -> Response:
    """A schema that the caller has just changed, as it is now."""
    opened = await service.lake.open(before.call)
    return _answer(service, opened, levels, await namespaces.describe_namespace(opened, levels))


def _answer(
    service: Gravitino, opened: Opened, levels: Levels, entity: NamespaceEntity
) -> Response:
    shape = SchemaShape(
        name=joined_name(service, opened, levels),
        comment=entity.comment or None,
        properties=entity.properties,
        audit=audit_of(entity.created_by, entity.created_ms, entity.changed_by, entity.changed_ms),
    )
    return json_response(200, SchemaAnswer(schema=shape))


ROUTES = (
    read(
        "GET",
        SCHEMAS,
        list_schemas,
        "listSchemas",
        "List the schemas of a catalog, or the children of one",
        parameters=(PARENT,),
        response=IdentifierList,
        errors=(*IN_SCHEMA, errors.Unsupported),
        rule=rules.LOAD_CATALOG,
    ),
    write(
        "POST",
        SCHEMAS,
        create_schema,
        "createSchema",
        "Create a schema, and those above it that are missing",
        request=CreateSchema,
        response=SchemaAnswer,
        errors=(*IN_CATALOG, errors.NamespaceExists),
        rule=rules.CREATE_SCHEMA,
    ),
    read(
        "GET",
        SCHEMA,
        load_schema,
        "loadSchema",
        "Load a schema",
        response=SchemaAnswer,
        errors=IN_SCHEMA,
        rule=rules.LOAD_SCHEMA,
    ),
    write(
        "PUT",
        SCHEMA,
        alter_schema,
        "alterSchema",
        "Set and remove properties of a schema",
        request=AlterSchema,
        response=SchemaAnswer,
        errors=IN_SCHEMA,
        rule=rules.ALTER_SCHEMA,
    ),
    write(
        "DELETE",
        SCHEMA,
        drop_schema,
        "dropSchema",
        "Drop an empty schema",
        parameters=(CASCADE,),
        response=Dropped,
        errors=(*IN_SCHEMA, errors.NamespaceNotEmpty),
        rule=rules.DROP_SCHEMA,
    ),
)
