"""Rows that are appended to an Iceberg table once, whatever is killed and whoever else is at it.

How far an append has come is kept in the snapshot that it makes, so rows and position are one
commit. It is made on condition that nobody has added rows since the position was read: of two runs
that read the same one, one wins, and the other one reads again.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from headgate.errors import BadName, Conflict
from headgate.pipelines.failures import translated
from headgate.pipelines.names import ALIAS, TableName, quoted
from headgate.pipelines.server import Server

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

POSITION = "headgate.position"
"""The property of a snapshot that says how far its rows have come."""
METADATA_FILES_KEPT = 20
RACES_MAX = 10  # with other runs; whoever loses so often is not needed


class Column(NamedTuple):
    """A column of a table that a pipeline makes."""

    name: str
    type: str
    """In Spark's words."""
    comment: str


class Reached(NamedTuple):
    """How far a table has come."""

    snapshot: int | None = None
    """Its present state; None if nothing was ever written."""
    position: str = ""
    """Empty if nothing was written, or if the snapshot that knew it has expired."""

    @property
    def is_lost(self) -> bool:
        """Whether there are rows and nobody knows how far they have come."""
        return self.snapshot is not None and not self.position


class OnceTable:
    """A table that rows are appended to, each once."""

    def __init__(
        self, spark: "SparkSession", server: Server, name: TableName, columns: Sequence[Column]
    ) -> None:
        self.name = name
        self.races = 0
        """How often another run was faster."""
        self._spark = spark
        self._server = server
        self._columns = columns

    def create(self, comment: str) -> None:
        """Make the table and its schema if they are not there; there is a file for each day."""
        schema = [ALIAS, *map(quoted, self.name.namespace)]
        columns = ", ".join(
            f"{column.name} {column.type} COMMENT {_text(column.comment)}"
            for column in self._columns
        )
        with translated():
            for level in range(2, len(schema) + 1):
                self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {'.'.join(schema[:level])}")
            self._spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self.name.sql} ({columns}) USING iceberg "
                f"PARTITIONED BY (days(time)) COMMENT {_text(comment)} TBLPROPERTIES ("
                "'format-version' = '2', 'write.metadata.delete-after-commit.enabled' = 'true', "
                f"'write.metadata.previous-versions-max' = '{METADATA_FILES_KEPT}')"
            )
        self._check_columns()

    def reached(self) -> Reached:
        """How far it has come by now."""
        return reached_of(self._server.load(self.name).document())

    def rows(self) -> "DataFrame":
        """What is in it by now."""
        return self._spark.table(self.name.sql)

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
        """Rows as Spark takes them; times are in milliseconds."""
        return self._spark.createDataFrame(arrow_table(self._columns, rows))

    def known(self, rows: Sequence[Mapping[str, Any]], column: str) -> set[str]:
        """What those of these rows have in a column that are in the table already."""
        times = [row["time"] for row in rows]
        there = self.rows()
        near = there.where(there["time"].between(instant(min(times)), instant(max(times))))
        wanted = self.frame(rows).select(column)
        found = near.select(column).join(wanted, column, "left_semi").collect()
        return {row[column] for row in found}

    def append(self, rows: "DataFrame", reached: Reached, position: str) -> bool:
        """Append rows and reach `position`, all or nothing; False if another run was faster."""
        from pyspark.sql import functions

        options = {"isolation-level": "serializable", f"snapshot-property.{POSITION}": position}
        if reached.snapshot is not None:
            options["validate-from-snapshot-id"] = str(reached.snapshot)
        writer = rows.writeTo(self.name.sql)
        for option, text in options.items():
            writer = writer.option(option, text)
        try:
            with translated():
                # An overwrite of nothing: an append that looks whether others have appended.
                writer.overwrite(functions.lit(False))
        except Exception:
            now = self.reached()
            if now.snapshot == reached.snapshot:
                raise
            if now.position != position:
                self._lose()
                return False
        return True

    def _lose(self) -> None:
        self.races += 1
        if self.races > RACES_MAX:
            raise Conflict(
                f"nothing is appended to {self.name}",
                why=f"other runs were faster {self.races} times",
                fix="Let one run at a time append to it",
            )

    def _check_columns(self) -> None:
        """Refuse a table of this name that is something else."""
        metadata = self._server.load(self.name, "refs").document()
        schemas = {one["schema-id"]: one for one in metadata["schemas"]}
        known = {field["name"] for field in schemas[metadata["current-schema-id"]]["fields"]}
        missing = [column.name for column in self._columns if column.name not in known]
        if missing:
            raise Conflict(
                f"the table {self.name} cannot be used",
                why=f"it is there already, and has no column {missing[0]!r}",
                fix="Choose another --schema",
            )


def reached_of(metadata: Mapping[str, Any]) -> Reached:
    """How far the rows of a table have come: others may have made snapshots since."""
    snapshots = {one["snapshot-id"]: one for one in metadata.get("snapshots", ())}
    current = metadata.get("current-snapshot-id")
    snapshot = snapshots.get(current)
    if snapshot is None:
        return Reached()
    while snapshot is not None:
        if position := snapshot.get("summary", {}).get(POSITION):
            return Reached(current, position)
        snapshot = snapshots.get(snapshot.get("parent-snapshot-id"))
    return Reached(current)


def schema_levels(text: str) -> tuple[str, ...]:
    """The levels of a schema that somebody named: a or a.b."""
    levels = tuple(text.split("."))
    if not all(levels):
        raise BadName(
            f"Invalid name of a schema: {text[:80]!r}",
            why="it has an empty level",
            fix="Write it as a or a.b",
        )
    return levels


def arrow_table(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Rows in Arrow's form; their times are in milliseconds."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    times = [column.name for column in columns if column.type == "TIMESTAMP"]
    exact = [
        {**row, **{name: row[name] * 1000 for name in times if row[name] is not None}}
        for row in rows
    ]
    return pa.Table.from_pylist(exact, schema)


def arrow_schema(columns: Sequence[Column]) -> "pa.Schema":
    """Columns in Arrow's words."""
    import pyarrow as pa

    types = {
        "STRING": pa.string(),
        "BIGINT": pa.int64(),
        "INT": pa.int32(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
        "ARRAY<STRING>": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in columns])


def instant(time_ms: int) -> datetime:
    """A time as it is compared with columns."""
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def _text(words: str) -> str:
    return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"
