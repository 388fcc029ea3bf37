"""Upkeep: small files merged, deleted rows removed, snapshots expired, manifests merged, statistics
kept up to date, in the tables that need it and as their policies say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from headgate.clock import Clock, SystemClock
from headgate.errors import BadRequest, NamespaceNotFound, TableNotFound
from headgate.pipelines.bounds import REPORT_LINE_SECONDS
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import CatalogInfo, Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.pipelines.upkeep_outcomes import TableUpkeep, UpkeepSummary, summary_of
from headgate.pipelines.upkeep_policy import Level
from headgate.pipelines.upkeep_running import Keeper, Order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Wanted(msgspec.Struct, frozen=True):
    """Which tables; nothing means all that the caller may see."""

    catalog: str = ""
    schemas: tuple[str, ...] = ()
    """With dots between their levels; what is in schemas below counts too."""
    tables: tuple[str, ...] = ()
    """With their schemas, as a.b.t."""


def run(
    wanted: Wanted,
    order: Order,
    server: Server,
    spark: SparkOptions,
    report: Report,
    clock: Clock | None = None,
) -> UpkeepSummary:
    """Look after these tables, one after another. Spark starts with the first that needs it."""
    clock = clock or SystemClock()
    began = clock.seconds()
    kept: list[TableUpkeep] = []
    for catalog in _catalogs(wanted, server):
        with ExitStack() as stack:
            keeper = Keeper(
                server,
                _opening(stack, spark, server, catalog.name, report),
                _levels(server, catalog),
                order=order,
                report=report,
                clock=clock,
            )
            kept += map(keeper.keep, _told(_tables(wanted, server, catalog.name), report, clock))
    return summary_of(kept, clock.seconds() - began)


def _catalogs(wanted: Wanted, server: Server) -> list[CatalogInfo]:
    if wanted.catalog:
        return [server.catalog(wanted.catalog)]
    if wanted.schemas or wanted.tables:
        raise BadRequest(
            "Schemas and tables are in a catalog, and none is named", fix="Name it with --catalog"
        )
    return server.catalogs()


def _tables(wanted: Wanted, server: Server, catalog: str) -> Iterator[TableName]:
    """Each table that is meant, once. What is named must be there."""
    if not (wanted.schemas or wanted.tables):
        yield from server.tables(catalog)
        return
    named = [TableName(catalog, *_split(name)) for name in wanted.tables]
    for table in named:
        _check_there(server, table)
    schemas = [tuple(name.split(".")) for name in wanted.schemas]
    for schema in schemas:
        server.get(server.path(catalog, schema))
    found = (table for schema in schemas for table in server.tables(catalog, schema))
    yield from dict.fromkeys((*named, *found))


def _check_there(server: Server, table: TableName) -> None:
    try:
        server.load(table, snapshots="refs")
    except (TableNotFound, NamespaceNotFound) as error:
        raise TableNotFound(
            f"there is no table {table}",
            why="or you may not see it",
            fix="Check --table and --catalog; without --table all tables are looked after",
        ) from error


def _told(tables: Iterator[TableName], report: Report, clock: Clock) -> Iterator[TableName]:
    """The same tables; now and then it is said how many there were. Most are healthy, and nothing
    else is said of them."""
    said = clock.seconds()
    for count, table in enumerate(tables):
        if clock.seconds() - said >= REPORT_LINE_SECONDS:
            report.say(f"tables looked at: {count:,}; now {table}")
            said = clock.seconds()
        yield table


def _split(name: str) -> tuple[tuple[str, ...], str]:
    *levels, last = name.split(".")
    if not levels or not all((*levels, last)):
        raise BadRequest(
            f"Invalid name of a table: {name[:80]!r}",
            why="it has no schema, or an empty part",
            fix="Write SCHEMA.NAME, as shop.orders",
        )
    return tuple(levels), last


def _opening(
    stack: ExitStack, options: SparkOptions, server: Server, catalog: str, report: Report
) -> Callable[[], "SparkSession"]:
    """Starts a session when it is called first, and stops it with the stack."""

    @cache
    def session() -> "SparkSession":
        opened = spark_session(options, "upkeep", server, catalog, iceberg=True, report=report)
        return stack.enter_context(opened)

    return session


def _levels(server: Server, catalog: CatalogInfo) -> Callable[[tuple[str, ...]], list[Level]]:
    """Tells what the schemas of a namespace say, the nearest first, and then the catalog."""

    @cache
    def properties(levels: tuple[str, ...]) -> dict[str, str]:
        answer: dict[str, dict[str, str]] = server.get(server.path(catalog.name, levels))
        return answer["properties"]

    def levels(namespace: tuple[str, ...]) -> list[Level]:
        schemas = [namespace[:depth] for depth in range(len(namespace), 0, -1)]
        return [
            *(Level(f"schema {'.'.join(one)}", properties(one)) for one in schemas),
            Level(f"catalog {catalog.name}", catalog.properties),
        ]

    return levels
