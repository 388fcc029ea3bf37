"""What the handlers for tables and for views have in common."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from headgate.access.rules import LOAD_CATALOG
from headgate.catalog.entities import Kind
from headgate.catalog.openings import Opened
from headgate.catalog.paging import Paging
from headgate.catalog.providers import ICEBERG
from headgate.catalog.relations import Relation, list_relations
from headgate.errors import BadRequest, Unsupported
from headgate.http.gravitino.schema_names import joined_name, schema_of
from headgate.http.gravitino.service import Gravitino, catalog_of, segment
from headgate.http.gravitino.shapes import Audit, audit_of
from headgate.http.request import JSON_CONTENT, Request, Response
from headgate.http.router import Handler
from headgate.limits import LIST_CHUNK_ENTRIES
from headgate.model.names import Identifier, Levels

_encode = msgspec.json.Encoder().encode


async def relational(service: Gravitino, request: Request) -> Opened:
    """The catalog in the path of a request, which must be one that has tables and views."""
    opened = await catalog_of(service, request)
    catalog = opened.catalog
    if catalog.provider != ICEBERG:
        await opened.require(LOAD_CATALOG)
        raise Unsupported(
            f"Catalog {catalog.name} has no tables and no views",
            why=f"its provider is {catalog.provider}",
            fix=f"Use a catalog of the provider {ICEBERG}",
        )
    return opened


def identifier_of(
    service: Gravitino, opened: Opened, request: Request, parameter: str
) -> Identifier:
    """The table or view in the path of a request."""
    return Identifier(schema_of(service, opened, request), segment(request, parameter))


def list_handler(kind: Kind) -> Handler:
    """Lists those of a schema."""

    async def handler(service: Gravitino, request: Request) -> Response:
        opened = await relational(service, request)
        schema = schema_of(service, opened, request)
        page = await list_relations(opened, schema, kind, Paging())
        return await _list_response(_above(service, opened, schema), page.entries)

    return handler


def audit(relation: Relation) -> Audit:
    """Who made a table or view and who changed it last."""
    entity = relation.entity
    is_changed = entity.changed_ms != entity.created_ms
    return audit_of(
        entity.created_by,
        entity.created_ms,
        entity.changed_by if is_changed else "",
        entity.changed_ms if is_changed else 0,
    )


def check_alone(renames: Sequence[object], changes: Sequence[object], what: str) -> None:
    """Refuse a new name together with other changes: they could not be made all or none."""
    if renames and len(renames) < len(changes):
        raise BadRequest(
            f"Cannot rename a {what} and change it at once",
            why="these are two operations",
            fix="Send the new name in a request of its own",
        )


def _above(service: Gravitino, opened: Opened, schema: Levels) -> list[str]:
    return [*opened.call.catalog, joined_name(service, opened, schema)]


async def _list_response(above: list[str], entries: Sequence[Identifier]) -> Response:
    """Identifiers that differ in their names only: the rest is encoded once.

    A list may be long, so it is encoded piece by piece, and others have their turn.
    """
    before = b'{"namespace":%s,"name":' % _encode(above)
    body = [b'{"code":0,"identifiers":[']
    for piece in _pieces(entries):
        names = (b"}," + before).join([_encode(one.name) for one in piece])
        body.append(b"".join((b"," if len(body) > 1 else b"", before, names, b"}")))
        await asyncio.sleep(0)
    body.append(b"]}")
    return Response(200, body, [JSON_CONTENT])


def _pieces(entries: Sequence[Identifier]) -> Iterator[Sequence[Identifier]]:
    for start in range(0, len(entries), LIST_CHUNK_ENTRIES):
        yield entries[start : start + LIST_CHUNK_ENTRIES]
