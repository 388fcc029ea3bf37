"""Handlers for tables: the same that Iceberg's protocol serves."""

from functools import partial
from typing import Annotated

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.access.privileges import Privilege, privilege_of
from headgate.catalog.alterations import alter_table
from headgate.catalog.entities import Kind
from headgate.catalog.long_work import work_out
from headgate.catalog.new_tables import LargeTable, create_table
from headgate.catalog.openings import Opened
from headgate.catalog.relations import (
    Relation,
    find_relation,
    ground_of,
    load_relation,
    rename_relation,
)
from headgate.catalog.tables import drop_table
from headgate.catalog.versions import NewTable
from headgate.http.gravitino.relations import (
    audit,
    check_alone,
    identifier_of,
    list_handler,
    relational,
)
from headgate.http.gravitino.route_parts import IN_SCHEMA, SCHEMA, read, write
from headgate.http.gravitino.schema_names import schema_of, split_name
from headgate.http.gravitino.service import Gravitino
from headgate.http.gravitino.shapes import Answer, Audit, Dropped, IdentifierList, Payload, Shape
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.http.router import Parameter, Route
from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX
from headgate.model.gravitino import tables
from headgate.model.gravitino.changes import RenameTable, TableChange
from headgate.model.gravitino.names import check_name
from headgate.model.gravitino.tables import CreateTable, describe, updates_for
from headgate.model.gravitino.wire import Column, Distribution, Index, Partitioning, SortOrder
from headgate.model.json_values import encode
from headgate.model.names import Identifier, Levels
from headgate.model.table_outlines import TableOutline

TABLES = f"{SCHEMA}/tables"
TABLE = f"{TABLES}/{{table}}"
PARTITIONS = f"{TABLE}/partitions"
PARTITION = f"{PARTITIONS}/{{partition}}"


class AlterTable(Payload, frozen=True):
    """Changes of a table, in this order, all or none. A new name comes alone."""

    updates: Annotated[list[TableChange], msgspec.Meta(min_length=1)]


class TableShape(Shape, frozen=True):
    """A table."""

    name: str
    columns: list[Column]
    properties: dict[str, str]
    partitioning: list[Partitioning]
    distribution: Distribution
    sort_orders: list[SortOrder]
    indexes: list[Index]
    audit: Audit
    comment: str | None = None


class TableAnswer(Answer, frozen=True):
    """One table."""

    table: TableShape


list_tables = list_handler(Kind.TABLE)


async def create(service: Gravitino, request: Request) -> Response:
    """Make a table."""
    wanted = decode(request, CreateTable)
    check_name(wanted.name)
    new = await work_out(partial(_new, wanted), len(request.body))
    opened = await relational(service, request)
    schema = schema_of(service, opened, request)
    table = await create_table(service.lake, opened, schema, new)
    return await _answer(service, table, wanted.name)


async def load(service: Gravitino, request: Request) -> Response:
    """A table, for those who may do with it what they say."""
    named = [privilege_of(one) for one in (request.first("privileges") or "").split(",") if one]
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "table")
    if Privilege.MODIFY_TABLE in named:
        await opened.require(rules.ALTER_TABLE, *identifier)
    table = await load_relation(service.lake, opened, identifier, Kind.TABLE)
    request.ground = ground_of(service.lake, table)
    return await _answer(service, table, identifier.name)


async def alter(service: Gravitino, request: Request) -> Response:
    """Change a table, or give it another name."""
    changes = decode(request, AlterTable).updates
    renames = [one for one in changes if isinstance(one, RenameTable)]
    check_alone(renames, changes, "table")
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "table")
    if not renames:
        updates = partial(updates_for, changes=changes)
        size = len(request.body)
        table = await alter_table(service.lake, opened, identifier, updates, size)
        return await _answer(service, table, identifier.name)
    target = identifier
    for rename in renames:
        target = _renamed(service, opened, target, rename)
    await rename_relation(service.lake, opened, identifier, target, Kind.TABLE)
    renamed = await find_relation(await service.lake.open(opened.call), target, Kind.TABLE)
    return await _answer(service, renamed, target.name)


async def drop(service: Gravitino, request: Request) -> Response:
    """Take a table out of the catalog, and with `purge` delete its files."""
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "table")
    purge = flag(request, "purge")
    try:
        id = await drop_table(service.lake, opened, identifier, purge=purge)
    except errors.TableNotFound:
        return json_response(200, Dropped(dropped=False))
    if service.reports is not None:
        service.reports.forget(opened, id)
    return json_response(200, Dropped(dropped=True))


async def refuse_partitions(service: Gravitino, request: Request) -> Response:
    """Iceberg's partitions come and go with rows, and nobody keeps a list of them."""
    opened = await relational(service, request)
    identifier = identifier_of(service, opened, request, "table")
    await load_relation(service.lake, opened, identifier, Kind.TABLE)
    raise errors.Unsupported(
        f"Table {identifier} has no partitions that can be listed, added or dropped",
        why="Iceberg's partitions come and go with the rows in them",
        fix="Ask an engine for the metadata table `partitions`",
    )


def _new(wanted: CreateTable) -> NewTable | LargeTable:
    """The same request in Iceberg's words; one that is long is read elsewhere."""
    new = tables.new_table(wanted)
    encoded = encode(new)
    if len(encoded) > DEFINITIONS_INLINE_BYTES_MAX:
        return LargeTable(wanted.name, new["location"], encoded)
    return msgspec.convert(new, NewTable)


def _renamed(
    service: Gravitino, opened: Opened, identifier: Identifier, rename: RenameTable
) -> Identifier:
    check_name(rename.new_name)
    schema: Levels = identifier.namespace
    if rename.new_schema_name is not None:
        schema = split_name(service, opened, rename.new_schema_name)
    return Identifier(schema, rename.new_name)


async def _answer(service: Gravitino, table: Relation, name: str) -> Response:
    files, metadata = service.lake.files(table.opened), service.lake.metadata
    outline = await metadata.table_outline(files, table.state, table.opened.call.tenant)
    size = len(await metadata.raw(files, table.state))
    return await work_out(partial(_shown, outline, name, audit(table)), size)


def _shown(outline: TableOutline, name: str, audit: Audit) -> Response:
    shape = TableShape(name=name, audit=audit, **describe(outline)._asdict())
    return json_response(200, TableAnswer(table=shape))


_IN_TABLE = (*IN_SCHEMA, errors.TableNotFound)
_NEW = (*IN_SCHEMA, errors.TableExists, errors.ViewExists, errors.LocationTaken)

ROUTES = (
    read(
        "GET",
        TABLES,
        list_tables,
        "listTables",
        "List the tables of a schema",
        response=IdentifierList,
        errors=IN_SCHEMA,
        rule=rules.LOAD_SCHEMA,
    ),
    write(
        "POST",
        TABLES,
        create,
        "createTable",
        "Create a table",
        request=CreateTable,
        response=TableAnswer,
        errors=(*_NEW, errors.Unsupported),
        rule=rules.CREATE_TABLE,
    ),
    read(
        "GET",
        TABLE,
        load,
        "loadTable",
        "Load a table",
        parameters=(
            Parameter(
                "privileges",
                description="What the caller is going to do, as SELECT_TABLE,MODIFY_TABLE.",
            ),
        ),
        response=TableAnswer,
        errors=(*_IN_TABLE, errors.FileMissing),
        rule=rules.LOAD_TABLE,
    ),
    write(
        "PUT",
        TABLE,
        alter,
        "alterTable",
        "Change a table",
        request=AlterTable,
        response=TableAnswer,
        errors=(*_IN_TABLE, errors.TableExists, errors.ViewExists, errors.Unsupported),
        rule=rules.ALTER_TABLE,
    ),
    write(
        "DELETE",
        TABLE,
        drop,
        "dropTable",
        "Drop a table",
        parameters=(Parameter("purge", bool, description="Delete its files too."),),
        response=Dropped,
        errors=IN_SCHEMA,
        rule=rules.DROP_TABLE,
    ),
    *(
        Route(
            method,
            template,
            refuse_partitions,
            operation,
            f"{verb} of a table, which Iceberg does not have",
            errors=(*_IN_TABLE, errors.Unsupported),
            rule=rules.LOAD_TABLE,
        )
        for method, template, operation, verb in (
            ("GET", PARTITIONS, "listPartitions", "List the partitions"),
            ("POST", PARTITIONS, "addPartitions", "Add partitions"),
            ("GET", PARTITION, "loadPartition", "Load a partition"),
            ("DELETE", PARTITION, "dropPartition", "Drop a partition"),
        )
    ),
)
