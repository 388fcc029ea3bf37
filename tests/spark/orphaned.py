"""A lake with tables of all formats, and files in it that nobody refers to."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyiceberg.typedef import TableVersion

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.places import Place
from headgate.pipelines.fixtures.table import Made, make_table
from headgate.testing.headgate_server import HeadgateServer

DAY_SECONDS = 86_400
OLD_SECONDS = 10 * DAY_SECONDS
FILES = 24
DELETED = 7
KILLED = f"""
import os, signal, sys
from headgate.cli.pipeline import pipeline
from headgate.pipelines import orphans
remove = orphans.remove
def killed(spark, where, found):
    remove(spark, where, found.slice(0, {DELETED}))
    os.kill(os.getpid(), signal.SIGKILL)
orphans.remove = killed
pipeline.main(sys.argv[1:])
"""
"""A program that is killed when it has deleted some orphans."""
VIEW: dict[str, Any] = {
    "schema": {"type": "struct", "schema-id": 0, "fields": []},
    "view-version": {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["shop"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    },
    "properties": {},
}


class Lake:
    """The tables of a server."""

    def __init__(self, server: HeadgateServer) -> None:
        self.server = server
        self.warehouse = server.warehouse
        self.catalog = Catalog(server.iceberg_url, warehouse="main")

    def make(
        self, namespace: str, name: str, version: TableVersion = 2, place: Place | None = None
    ) -> Made:
        """A table with all kinds of files."""
        return make_table(self.catalog, (namespace, name), FILES, version=version, place=place)

    def make_view(self, namespace: str) -> None:
        """A view beside the tables."""
        self.catalog.ask("POST", f"/namespaces/{namespace}/views", {"name": "seen", **VIEW})

    def drop(self, made: Made, *, purge: bool) -> None:
        """The table has no name any more."""
        flag = "true" if purge else "false"
        self.catalog.ask("DELETE", f"{made.path}?purgeRequested={flag}")

    def rename(self, namespace: str, name: str, to: str) -> None:
        """A table gets another name; its files stay where they are."""
        source, destination = ({"namespace": [namespace], "name": one} for one in (name, to))
        body = {"source": source, "destination": destination}
        self.catalog.ask("POST", "/tables/rename", body)

    def refer(self, made: Made, path: str) -> None:
        """A commit, after which a table refers to this file."""
        metadata = json.loads(self.catalog.ask("GET", made.path))["metadata"]
        id = metadata["snapshots"][1]["snapshot-id"]  # which has no statistics yet
        statistics = {
            "snapshot-id": id,
            "statistics-path": path,
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
        update = {"action": "set-statistics", "snapshot-id": id, "statistics": statistics}
        self.catalog.ask("POST", made.path, {"requirements": [], "updates": [update]})

    def files(self, namespace: str = "") -> set[str]:
        """All that lie on the local disk."""
        found = (self.warehouse / namespace).rglob("*")
        return {str(path) for path in found if path.is_file()}

    def age(self, *young: str) -> None:
        """All was written long ago, but for these."""
        now = time.time()
        for path in self.files() - set(young):
            os.utime(path, (now - OLD_SECONDS, now - OLD_SECONDS))


def local(location: str) -> str:
    """A location as a path."""
    return f"/{location.removeprefix('file:').lstrip('/')}"


def folder_of(made: Made) -> Path:
    """Where a table lies."""
    return Path(local(made.location))


def plant(paths: Iterable[Path]) -> set[str]:
    """Files that nobody refers to."""
    planted = set()
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"orphan")
        planted.add(str(path))
    return planted
