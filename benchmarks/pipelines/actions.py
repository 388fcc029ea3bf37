"""Iceberg's own actions, called where they live: in the virtual machine of Spark."""

import time
from typing import TYPE_CHECKING

from headgate.pipelines.server import Server
from headgate.pipelines.session import add_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALIAS = "theirs"
"""The catalog of the server, as Iceberg's procedures know it."""


class IcebergActions:
    """What Iceberg does on a session that has its jar."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session

    def delete_reachable(self, metadata_location: str) -> float:
        """The seconds that it takes to delete all that a metadata file leads to, and itself."""
        machine = self._session._jvm  # noqa: SLF001  there is no other way to its actions
        assert machine is not None, "the session has a virtual machine of its own"
        actions = machine.org.apache.iceberg.spark.actions.SparkActions
        began = time.perf_counter()
        actions.get(self._session._jsparkSession).deleteReachableFiles(  # noqa: SLF001  the same
            metadata_location
        ).execute()
        return time.perf_counter() - began

    def know(self, server: Server, catalog: str) -> None:
        """Let procedures find the tables of a server."""
        add_catalog(self._session, ALIAS, server, catalog, {})

    def find_orphans(self, namespace: str, table: str) -> tuple[float, int]:
        """The seconds that a dry run takes, and how many orphans it tells."""
        given = f"table => '{namespace}.{table}', dry_run => true"
        call = f"CALL {ALIAS}.system.remove_orphan_files({given})"
        began = time.perf_counter()
        found = len(self._session.sql(call).collect())
        return time.perf_counter() - began, found
