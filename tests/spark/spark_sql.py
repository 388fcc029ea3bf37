"""Spark SQL in tests: catalogs, statements and their rows."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.spark_session import add_catalog

MODES = {
    "": {},
    "_planned": {"scan_planning_mode": "server"},
    "_purging": {"rest_catalog_purge": "true"},
}
"""Names under which one server is known, by what the client leaves to it."""


class SparkSql:
    """One server's catalog in Spark, as `name`; by default the current one."""

    def __init__(self, session: SparkSession, server: HeadgateServer, name: str) -> None:
        self.session = session
        self.name = name
        for suffix, options in MODES.items():
            add_catalog(session, f"{name}{suffix}", server.iceberg_url, "main", **options)
        session.sql(f"USE {name}")

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.session.sql(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, in the order they come."""
        return [tuple(row) for row in self.session.sql(query).collect()]

    def column(self, query: str) -> list[Any]:
        """The first value of each row, sorted."""
        return sorted(row[0] for row in self.session.sql(query).collect())

    def pairs(self, query: str) -> dict[str, str]:
        """The second value of each row by its first."""
        return {row[0]: row[1] for row in self.session.sql(query).collect()}

    def files(self, table: str) -> list[Path]:
        """Every file below a table's location, Hadoop's hidden checksums too."""
        return files_below(self.location(table))

    def location(self, table: str) -> str:
        return self.pairs(f"DESCRIBE TABLE EXTENDED {table}")["Location"]


def files_below(location: str) -> list[Path]:
    folder = Path(urlsplit(location).path)
    return sorted(path for path in folder.rglob("*") if path.is_file())
