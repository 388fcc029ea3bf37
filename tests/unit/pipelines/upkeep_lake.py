"""A lake without Spark: tables that get better when their procedures are called."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from headgate.errors import TableNotFound
from headgate.pipelines.names import TableName
from headgate.pipelines.server import CatalogInfo, LoadedTable, Server

MERGE, DELETES = "rewrite_data_files", "rewrite_position_delete_files"
EXPIRE, MANIFESTS, STATISTICS = "expire_snapshots", "rewrite_manifests", "compute_table_stats"
DAY_MS = 24 * 3_600_000


class Table:
    """One table, as its metadata and its manifests show it."""

    def __init__(self, **properties: str) -> None:
        self.properties = properties
        self.files = 100
        self.small = 0
        self.superfluous = 0
        self.old_snapshots = 0
        self.manifests = 1
        self.has_statistics = True
        self.failures: list[Exception] = []
        """Raised by the next procedures that are called on it."""
        self.effects = True
        """Whether a procedure does anything."""

    def metadata(self, now_ms: int) -> bytes:
        times = [now_ms - 10 * DAY_MS] * self.old_snapshots + [now_ms]
        snapshots: list[dict[str, Any]] = [
            {
                "snapshot-id": at + 1,
                "timestamp-ms": time,
                "parent-snapshot-id": at or None,
                "summary": {
                    "operation": "append",
                    "total-data-files": str(self.files),
                    "total-delete-files": str(self.superfluous),
                    "total-records": "1000",
                },
            }
            for at, time in enumerate(times)
        ]
        last = len(times)
        return msgspec.json.encode(
            {
                "format-version": 2,
                "properties": self.properties,
                "current-snapshot-id": last,
                "snapshots": snapshots,
                "statistics": [{"snapshot-id": last}] if self.has_statistics else [],
            }
        )

    def call(self, procedure: str) -> dict[str, object]:
        """What a procedure does and says."""
        if self.failures:
            raise self.failures.pop(0)
        if not self.effects:
            return {"rewritten_data_files_count": 0}
        before = self.small + self.superfluous + self.old_snapshots + self.manifests
        if procedure == MERGE:
            self.files, self.small = self.files - self.small + 1, 0
        elif procedure == DELETES:
            self.superfluous = 0
        elif procedure == EXPIRE:
            self.old_snapshots = 0
        elif procedure == MANIFESTS:
            self.manifests = 1
        else:
            self.has_statistics = True
            return {"statistics_file": "file:/s"}
        return {"rewritten_data_files_count": before, "rewritten_bytes_count": 10}


class Lake(Server):
    """A server and a Spark in one; it remembers which procedures were called on which table."""

    def __init__(self, clock_ms: Callable[[], int], **tables: Table) -> None:
        super().__init__("http://127.0.0.1:1", metalake="default")
        self.tables_by_name = tables
        self.catalog_properties: dict[str, str] = {}
        self.schema_properties: dict[str, str] = {}
        self.called: list[tuple[str, str]] = []
        self.statements: list[str] = []
        self.sessions = 0
        self.sparkContext = self
        self._clock_ms = clock_ms

    def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802  as Spark has it
        """Progress is asked of nobody here."""

    @contextmanager
    def session(self, *_: object, **__: object) -> Iterator["Lake"]:
        self.sessions += 1
        yield self

    def catalogs(self) -> list[CatalogInfo]:
        return [self.catalog("main")]

    def catalog(self, name: str) -> CatalogInfo:
        return CatalogInfo(name, "lakehouse-iceberg", self.catalog_properties)

    def tables(self, catalog: str, below: tuple[str, ...] = ()) -> Iterator[TableName]:
        for name in list(self.tables_by_name):
            yield TableName(catalog, ("a", "b"), name)

    def path(
        self, catalog: str, namespace: tuple[str, ...] = (), kind: str = "", name: str = ""
    ) -> str:
        return f"/{catalog}/{'.'.join(namespace)}"

    def get(self, path: str, **query: str) -> Any:
        return {"properties": self.schema_properties if path.endswith("/a") else {}}

    def load(
        self, table: TableName, snapshots: str = "all", *, credentials: bool = False
    ) -> LoadedTable:
        if table.name not in self.tables_by_name:
            raise TableNotFound(f"Table does not exist: {table}")
        found = self.tables_by_name[table.name]
        return LoadedTable(table, found.metadata(self._clock_ms()), "file:/m")

    def table(self, name: str) -> "Answer":
        """What a table is made of."""
        return Answer([])

    def sql(self, statement: str, args: dict[str, Any] | None = None) -> "Answer":
        """What Spark would answer."""
        self.statements.append(statement)
        [(name, table)] = [
            (name, table)
            for name, table in self.tables_by_name.items()
            if f"`a`.`b`.`{name}`" in statement
        ]
        if statement.startswith("CALL"):
            procedure = statement.partition("(")[0].removeprefix("CALL hg.system.")
            self.called.append((name, procedure))
            return Answer([table.call(procedure)])
        if ".manifests" in statement:
            return Answer([{"content": 0, "count": table.manifests, "bytes": table.manifests}])
        if ".entries" in statement:
            many = table.superfluous
            return Answer([{"position_delete_files": many, "superfluous_delete_files": many}])
        return Answer([{"small_files": table.small, "mergeable_files": table.small}])


class Answer:
    """A frame that is there already."""

    columns = ("partition",)

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self._rows = rows

    def collect(self) -> list["Answer"]:
        return [Answer([row]) for row in self._rows]

    def asDict(self) -> dict[str, object]:  # noqa: N802  as Spark has it
        return self._rows[0]
