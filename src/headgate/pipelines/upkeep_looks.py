"""A closer look at a table, by Iceberg's metadata tables: what its manifests tell of its files."""

from typing import TYPE_CHECKING, Any

import msgspec

from headgate.pipelines.failures import translated
from headgate.pipelines.names import TableName
from headgate.pipelines.upkeep_health import (
    MANIFEST_BYTES,
    MANIFEST_BYTES_DEFAULT,
    Files,
    Health,
    Looks,
    Manifests,
)
from headgate.pipelines.upkeep_policy import Policy
from headgate.pipelines.upkeep_snapshots import Metadata
from headgate.sql import load_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = load_statements("headgate.pipelines", "upkeep.sql")
DATA, DELETES = 0, 1  # contents of manifests


class Looker:
    """Looks at one table as it is now."""

    def __init__(
        self, spark: "SparkSession", name: TableName, metadata: Metadata, policy: Policy
    ) -> None:
        self._spark = spark
        self._name = name
        self._metadata = metadata
        self._policy = policy

    def looked(self, health: Health, looks: Looks) -> Health:
        """The same health with the answers to these questions."""
        files: dict[str, int] = {}
        if looks.small_files:
            files |= self._small_files()
        if looks.deletes:
            files |= self._deletes()
        if files:
            health = msgspec.structs.replace(health, files=msgspec.convert(files, Files))
        return self._with_manifests(health) if looks.manifests else health

    def _small_files(self) -> dict[str, int]:
        policy = self._policy
        [row] = self._ask(
            "small_files",
            partition=self._partition(""),
            spec=self._metadata.default_spec_id,
            small_bytes=policy.small_file_bytes,
            target_bytes=policy.compact_target_file_size_bytes,
            inputs=policy.compact_min_input_files,
        )
        return row

    def _deletes(self) -> dict[str, int]:
        policy = self._policy
        [row] = self._ask(
            "deletes",
            partition=self._partition("data_file."),
            deletes=policy.compact_delete_files,
            ratio=policy.compact_delete_ratio,
        )
        return row

    def _with_manifests(self, health: Health) -> Health:
        target = self._metadata.number(MANIFEST_BYTES, MANIFEST_BYTES_DEFAULT)
        rows = self._ask("manifests", spec=self._metadata.default_spec_id)
        kinds = {row["content"]: Manifests(row["count"], row["bytes"], target) for row in rows}
        return msgspec.structs.replace(
            health,
            data_manifests=kinds.get(DATA, Manifests(target_bytes=target)),
            delete_manifests=kinds.get(DELETES, Manifests(target_bytes=target)),
        )

    def _partition(self, prefix: str) -> str:
        """The column of partitions. What Iceberg does not show of them depends on all that the
        table ever was, so Spark is asked."""
        with translated():
            columns = self._spark.table(f"{self._name.sql}.data_files").columns
        return f"{prefix}partition" if "partition" in columns else "NULL"

    def _ask(self, name: str, *, partition: str = "", **values: float) -> list[dict[str, Any]]:
        """The rows of a statement."""
        statement = STATEMENTS[name].format(table=self._name.sql, partition=partition)
        with translated():
            rows = self._spark.sql(statement, args=values).collect()
        return [row.asDict() for row in rows]
