"""Handlers for tables."""

import msgspec

from headgate.access.rules import LOAD_SCHEMA
from headgate.catalog import table_commits, tables
from headgate.catalog.entities import Kind
from headgate.catalog.new_tables import LargeTable, create_table, register_table, stage_table
from headgate.catalog.relations import ground_of, load_relation
from headgate.catalog.table_commits import TableChange, commit_table
from headgate.catalog.versions import NewTable
from headgate.errors import BadRequest
from headgate.http.iceberg.answers import (
    commit_answer,
    etag,
    is_among,
    made_answer,
    staged_answer,
    table_answer,
)
from headgate.http.iceberg.delegation import permitted, representation_of
from headgate.http.iceberg.payloads import (
    CommitTable,
    CommitTransaction,
    CreateTableHead,
    RegisterTable,
)
from headgate.http.iceberg.relations import (
    exists_handler,
    identifier_in,
    list_handler,
    rename_handler,
)
from headgate.http.iceberg.service import (
    Service,
    identifier_of,
    namespace_of,
    open_catalog,
)
from headgate.http.request import JSON_CONTENT, Request, Response, decode, flag
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.names import Identifier

list_tables = list_handler(Kind.TABLE)
exists = exists_handler(Kind.TABLE)
rename = rename_handler(Kind.TABLE)


async def create(service: Service, request: Request) -> Response:
    """Make a table, or stage one."""
    new: NewTable | LargeTable
    if len(request.body) > DEFINITIONS_INLINE_BYTES_MAX:
        head = decode(request, CreateTableHead)
        new, is_staged = LargeTable(head.name, head.location, request.body), head.stage_create
    else:
        new = decode(request, NewTable)
        is_staged = new.stage_create
    form = representation_of(request)
    opened = await open_catalog(service, request)
    namespace = namespace_of(service, opened, request)
    identifier = Identifier(namespace, new.name)
    if is_staged:
        version = await stage_table(service.lake, opened, namespace, new)
        return await staged_answer(service, opened, identifier, version, form)
    table = await create_table(service.lake, opened, namespace, new)
    return await made_answer(service, table, identifier, form)


async def register(service: Service, request: Request) -> Response:
    """Let a table that lies in storage enter the catalog."""
    body = decode(request, RegisterTable)
    opened = await open_catalog(service, request)
    identifier = Identifier(namespace_of(service, opened, request), body.name)
    table = await register_table(
        service.lake, opened, identifier, body.metadata_location, overwrite=body.overwrite
    )
    return await made_answer(service, table, identifier, representation_of(request))


async def load(service: Service, request: Request) -> Response:
    """A table, unless the client has it already."""
    form = representation_of(request, refs=_wants_refs(request))
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    table = await load_relation(service.lake, opened, identifier, Kind.TABLE)
    form = await permitted(opened, identifier, form)
    request.ground = ground_of(service.lake, table)
    sent = request.headers.get("if-none-match")
    if sent is not None and is_among(tag := etag(service, table, identifier, form), sent):
        return Response(304, b"", [("ETag", tag)])
    return await table_answer(service, table, identifier, form)


async def update(service: Service, request: Request) -> Response:
    """Commit changes to a table."""
    body = decode(request, CommitTable)
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    if body.identifier is not None and identifier_in(body.identifier) != identifier:
        await opened.require(LOAD_SCHEMA, identifier.namespace)
        raise BadRequest(
            f"Invalid commit to {identifier}",
            why=f"its body names {identifier_in(body.identifier)}",
            fix="Name the same table in both",
        )
    change = _change(identifier, body)
    table = await commit_table(service.lake, opened, change)
    return await commit_answer(service, table, identifier)


async def commit_transaction(service: Service, request: Request) -> Response:
    """Commit changes to several tables, all or none."""
    body = decode(request, CommitTransaction)
    if not body.table_changes:
        raise BadRequest(
            "Invalid transaction", why="it changes no table", fix="Name at least one table"
        )
    changes = [_change(_own_identifier(one), one) for one in body.table_changes]
    opened = await open_catalog(service, request)
    await table_commits.commit_transaction(service.lake, opened, changes)
    return Response(204)


async def drop(service: Service, request: Request) -> Response:
    """Take a table out of the catalog, and with `purgeRequested` delete its files."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    purge = flag(request, "purgeRequested")
    id = await tables.drop_table(service.lake, opened, identifier, purge=purge)
    service.reports.forget(opened, id)
    return Response(204)


async def unregister(service: Service, request: Request) -> Response:
    """Take a table out of the catalog and hand its metadata back."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    id, location, raw = await tables.unregister_table(service.lake, opened, identifier)
    service.reports.forget(opened, id)
    parts = [b'{"metadata-location":', msgspec.json.encode(location), b',"metadata":', raw, b"}"]
    return Response(200, parts, [JSON_CONTENT])


def _change(identifier: Identifier, body: CommitTable) -> TableChange:
    return TableChange(identifier, body.requirements, body.updates)


def _own_identifier(body: CommitTable) -> Identifier:
    if body.identifier is None:
        raise BadRequest(
            "Invalid transaction", why="a change names no table", fix="Give each an identifier"
        )
    return identifier_in(body.identifier)


def _wants_refs(request: Request) -> bool:
    wanted = (request.first("snapshots") or "all").lower()
    if wanted not in {"all", "refs"}:
        raise BadRequest(
            f"Invalid snapshots: {wanted[:80]}", why="it is unknown", fix="Use all or refs"
        )
    return wanted == "refs"
