"""Tables are measured by executors: each loads them over a connection of its own, one by one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import msgspec

from headgate.errors import HeadgateError, NamespaceNotFound, TableNotFound
from headgate.pipelines.appends import arrow_table
from headgate.pipelines.failures import is_of_table
from headgate.pipelines.inventory_facts import COLUMNS, Metadata, facts_of
from headgate.pipelines.names import TableName
from headgate.pipelines.server import Server

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

UNIT_SEPARATOR = "\x1f"  # joins names that nothing else can be in
ROWS_AT_ONCE = 500
TABLES_A_TASK = 200


class Run(NamedTuple):
    """One inventory."""

    id: str
    time_ms: int


def measured(
    spark: "SparkSession", server: Server, tables: Iterable[TableName], run: Run
) -> "DataFrame":
    """A row for each table that is still there when its turn comes."""
    import pyarrow as pa

    names = [[one.catalog, *one.namespace, one.name] for one in tables]
    levels = pa.table({"levels": pa.array(names, pa.list_(pa.string()))})
    tasks = -(-len(names) // TABLES_A_TASK)
    return (
        spark.createDataFrame(levels)
        .repartition(max(tasks, 1))
        .mapInArrow(measuring(server, run), ", ".join(f"{one[0]} {one[1]}" for one in COLUMNS))
    )


def measuring(
    server: Server, run: Run
) -> "Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]":
    """What an executor does with names."""

    def measure_all(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            names = batch.column("levels").to_pylist()
            for at in range(0, len(names), ROWS_AT_ONCE):
                rows = [measure(server, name_of(one), run) for one in names[at : at + ROWS_AT_ONCE]]
                found = [row for row in rows if row is not None]
                yield from arrow_table(COLUMNS, found).combine_chunks().to_batches()

    return measure_all


def measure(server: Server, table: TableName, run: Run) -> dict[str, Any] | None:
    """The row of a table; None if it was dropped meanwhile. What would be said of all tables, as
    that the server does not answer, is said of none: the task fails, and is tried again."""
    row = {**_EMPTY, **_named(server, table, run)}
    try:
        loaded = server.load(table)
        metadata = msgspec.json.decode(loaded.metadata, type=Metadata)
    except (TableNotFound, NamespaceNotFound):
        return None
    except HeadgateError as error:
        if not is_of_table(error):
            raise
        return {**row, "problem": str(error)}
    except msgspec.MsgspecError as error:
        return {**row, "problem": str(error)}
    facts = facts_of(metadata, run.time_ms, _created_ms(server, table))
    row |= msgspec.structs.asdict(facts)
    row["owner"] = _owner(server, table) or facts.owner
    return row


def name_of(levels: list[str]) -> TableName:
    """A table by all of its names."""
    catalog, *namespace, name = levels
    return TableName(catalog, tuple(namespace), name)


def _named(server: Server, table: TableName, run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "time": run.time_ms,
        "metalake": server.metalake,
        "catalog": table.catalog,
        "schema": ".".join(table.namespace),
        "name": table.name,
        "levels": [table.catalog, *table.namespace, table.name],
    }


def _owner(server: Server, table: TableName) -> str:
    """Who owns a table by the server's word; empty if nobody does."""
    full = quote(UNIT_SEPARATOR.join((table.catalog, *table.namespace, table.name)), safe="")
    with suppress(HeadgateError):
        owner = server.get(f"{_metalake(server)}/owners/table/{full}").get("owner") or {}
        return str(owner.get("name", ""))
    return ""


def _created_ms(server: Server, table: TableName) -> int | None:
    """When a table was made by the server's word; None if it cannot say."""
    schema = quote(UNIT_SEPARATOR.join(table.namespace), safe="")
    path = f"catalogs/{quote(table.catalog, safe='')}/schemas/{schema}/tables"
    with suppress(HeadgateError, ValueError, KeyError):
        answer = server.get(f"{_metalake(server)}/{path}/{quote(table.name, safe='')}")
        time = datetime.fromisoformat(answer["table"]["audit"]["createTime"])
        return round(time.timestamp() * 1000)
    return None


def _metalake(server: Server) -> str:
    return f"/api/metalakes/{quote(server.metalake, safe='')}"


_EMPTY = dict.fromkeys(column.name for column in COLUMNS)
