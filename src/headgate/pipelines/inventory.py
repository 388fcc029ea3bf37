"""What there is: a row for each table and each run, and a page that a person wants to look at.

All rows of a run are one commit that carries its id, so a run that was killed has written all or
nothing, and the same run once more writes nothing twice.
"""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from headgate.clock import Clock, SystemClock
from headgate.errors import BadRequest, BadSetting, CatalogNotFound
from headgate.pipelines.appends import OnceTable, instant, schema_levels
from headgate.pipelines.inventory_facts import COLUMNS, DAY_MS
from headgate.pipelines.inventory_measuring import Run, measured
from headgate.pipelines.inventory_page import (
    COLD_DAYS,
    SMALL_SHARE_MIN,
    SPARE_FILES_MIN,
    EarlierRun,
    Inventory,
    Totals,
    page,
)
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCHEMA = "headgate_inventory"
TABLE = "tables"
ROWS_SHOWN_MAX = 10_000
RUNS_SHOWN_MAX = 200
PROBLEMS_TOLD_MAX = 100
RUN_CHARS_MAX = 200


class InventoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at, and where that is written."""

    catalog: str = ""
    """Where the table of inventories is; the only one there is, if there is one."""
    only: tuple[str, ...] = ()
    """Catalogs that are looked at; all that the caller may see, if none is named."""
    schema: str = SCHEMA
    run: str = ""
    """The id of this run; its time, if there is none."""
    html: Path | None = None


class InventorySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    run: str
    table: str
    rows_written: int
    """0 if this run was made before."""
    tables: int
    bytes: int
    records: int
    files: int
    delete_files: int
    snapshots: int
    small_file_tables: int
    cold_tables: int
    unknown_sizes: int
    """Tables whose snapshots do not say how large they are."""
    not_loaded: int
    problems: list[str]
    html: str
    seconds: float


def run(
    options: InventoryOptions,
    server: Server,
    spark: SparkOptions,
    report: Report,
    clock: Clock | None = None,
) -> InventorySummary:
    """Measure all tables; what came of it. What cannot work is said before Spark starts."""
    clock = clock or SystemClock()
    began, now_ms = clock.seconds(), clock.wall_ms()
    this = Run(check_run(options.run) or iso(now_ms), now_ms)
    check_page(options.html)
    catalogs, home = chosen([one.name for one in server.catalogs()], options)
    name = TableName(home, schema_levels(options.schema), TABLE)
    with spark_session(spark, "inventory", server, home, iceberg=True, report=report) as session:
        table = OnceTable(session, server, name, COLUMNS)
        table.create("What every table of the lake is like, a row for each run of the inventory")
        is_new = not _is_done(table, this)
        if is_new:
            tables = _listed(server, catalogs, report)
            with report.stage("measure", spark=session) as stage:
                _append(session, server, table, tables, this)
                stage.advance(rows=len(tables))
        with report.stage("report", spark=session):
            found = _inventory(table, this, server.metalake)
            if options.html is not None:
                write_page(options.html, page(found))
    totals = found.totals
    problems = [
        f"{'.'.join(row['levels'])}: {row['problem']}" for row in found.rows if row["problem"]
    ]
    return InventorySummary(
        run=this.id,
        table=str(name),
        rows_written=totals.tables if is_new else 0,
        tables=totals.tables,
        bytes=totals.bytes,
        records=totals.records,
        files=totals.files,
        delete_files=totals.delete_files,
        snapshots=totals.snapshots,
        small_file_tables=totals.small_file_tables,
        cold_tables=totals.cold_tables,
        unknown_sizes=totals.unknown_sizes,
        not_loaded=totals.problems,
        problems=problems[:PROBLEMS_TOLD_MAX],
        html=str(options.html or ""),
        seconds=round(clock.seconds() - began, 3),
    )


def chosen(known: Sequence[str], options: InventoryOptions) -> tuple[Sequence[str], str]:
    """The catalogs to look at, and the one that the table of inventories is in."""
    for name in (*options.only, *([options.catalog] if options.catalog else ())):
        if name not in known:
            raise CatalogNotFound(
                f"there is no catalog {name!r}",
                why=f"you may use {', '.join(known) or 'none'}",
                fix="Name one of them",
            )
    if not options.catalog and len(known) != 1:
        raise BadSetting(
            "it is not clear where the inventory is to be written",
            why=f"there are {len(known)} catalogs",
            fix="Name one with --catalog",
        )
    return options.only or known, options.catalog or known[0]


def check_run(id: str) -> str:
    """Refuse an id that nobody could name again."""
    if len(id) > RUN_CHARS_MAX or not id.isprintable():
        raise BadRequest(
            "the id of a run cannot be used",
            why=f"it is longer than {RUN_CHARS_MAX} characters, or some cannot be printed",
            fix="Choose another --run",
        )
    return id


def iso(time_ms: int) -> str:
    """The id of a run that nobody gave one."""
    return instant(time_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_page(path: Path | None) -> None:
    """Refuse a page that could not be written in the end."""
    if path is not None and (path.is_dir() or not os.access(path.absolute().parent, os.W_OK)):
        raise BadRequest(
            f"the page {str(path)!r} cannot be written",
            why="it is a folder" if path.is_dir() else "its folder is not there, or not writable",
            fix="Give the path of a file with --html",
        )


def write_page(path: Path, text: str) -> None:
    """Write it whole: whoever looks meanwhile sees the one before."""
    handle, scratch = tempfile.mkstemp(prefix=path.name, dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _listed(server: Server, catalogs: Sequence[str], report: Report) -> list[TableName]:
    found: list[TableName] = []
    with report.stage("list tables") as stage:
        for catalog in catalogs:
            for table in server.tables(catalog):
                found.append(table)
                stage.advance(rows=1)
    return found


def _append(
    session: "SparkSession",
    server: Server,
    table: OnceTable,
    tables: Sequence[TableName],
    this: Run,
) -> None:
    """Write the rows of a run, unless another one of the same id is faster."""
    is_done = False
    while not is_done:
        reached = table.reached()
        rows = with_earlier(measured(session, server, tables, this), table.rows(), this)
        is_done = table.append(rows, reached, this.id) or _is_done(table, this)


def with_earlier(rows: "DataFrame", there: "DataFrame", this: Run) -> "DataFrame":
    """The rows of a run, with the sizes of the run before."""
    earlier = there.where(there["time"] < instant(this.time_ms)).orderBy(there["time"].desc())
    last = earlier.select("run").limit(1).collect()
    if not last:
        return rows
    before = there.where(there["run"] == last[0]["run"]).where("uuid IS NOT NULL")
    sizes = before.groupBy("uuid").max("bytes").withColumnRenamed("max(bytes)", "bytes_before")
    return rows.drop("bytes_before").join(sizes, "uuid", "left")


def _is_done(table: OnceTable, this: Run) -> bool:
    rows = table.rows()
    return bool(rows.where(rows["run"] == this.id).limit(1).collect())


def _inventory(table: OnceTable, this: Run, metalake: str) -> Inventory:
    """What a run has found, as it is in the table."""
    rows = table.rows()
    own = rows.where(rows["run"] == this.id)
    largest = own.orderBy(own["problem"].isNull(), own["bytes"].desc_nulls_last())
    shown = [_plain(row) for row in largest.limit(ROWS_SHOWN_MAX).collect()]
    time_ms = shown[0]["time"] if shown else this.time_ms
    runs = rows.where(rows["time"] <= instant(time_ms)).groupBy("run", "time")
    sums = runs.agg({"bytes": "sum", "*": "count"}).orderBy("time", ascending=False)
    earlier = [
        EarlierRun(_ms(row["time"]), row["sum(bytes)"] or 0, row["count(1)"])
        for row in sums.limit(RUNS_SHOWN_MAX).collect()
    ]
    return Inventory(
        run=this.id,
        metalake=metalake,
        time_ms=time_ms,
        totals=_totals(own, time_ms),
        rows=shown,
        runs=earlier[::-1],
    )


def _totals(own: "DataFrame", now_ms: int) -> Totals:
    """What the rows of a run come to."""
    cold = f"coalesce(written, created) < timestamp_millis({now_ms - COLD_DAYS * DAY_MS})"
    small = f"spare_files >= {SPARE_FILES_MIN} AND small_share >= {SMALL_SHARE_MIN}"
    found = own.selectExpr(
        "count(*) AS tables",
        *(f"coalesce(sum({name}), 0) AS {name}" for name in ("bytes", "records", "files")),
        *(f"coalesce(sum({name}), 0) AS {name}" for name in ("delete_files", "snapshots")),
        f"count_if({small}) AS small_file_tables",
        f"count_if({cold}) AS cold_tables",
        "count(problem) AS problems",
        "count_if(bytes IS NULL AND problem IS NULL) AS unknown_sizes",
    ).collect()[0]
    return Totals(**found.asDict())


def _plain(row: "Row") -> dict[str, Any]:
    """A row with its times in milliseconds."""
    values: dict[str, Any] = row.asDict()
    for name in ("time", "created", "changed", "written"):
        values[name] = None if values[name] is None else _ms(values[name])
    return values


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
