"""A catalog of a running server as its users see it: tables, drops, and files that lie there."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog

from headgate.catalog.providers import PURGE_SCOPE
from headgate.testing.headgate_server import HeadgateServer
from tests.purge.listing import files_below, local_path

NAMESPACE = "shop"
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
SECONDS_MAX = 60.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Known:
    """A table as it was before it was dropped."""

    folder: Path
    metadata_location: str
    answer: dict[str, Any]
    """Of loadTable."""
    files: frozenset[Path]
    data: frozenset[Path]
    ids: list[int]


@dataclass
class Lake:
    """A catalog of its own for one scenario, and what the scenario has to remember."""

    server: HeadgateServer
    metalake: str = "default"
    catalog: str = field(default_factory=lambda: f"lake{next(_numbers)}")
    known: dict[str, Known] = field(default_factory=dict)
    answer: httpx.Response = field(init=False, repr=False)
    seconds: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        body = {"name": self.catalog, "type": "RELATIONAL", "provider": "lakehouse-iceberg"}
        self.http = httpx.Client(timeout=SECONDS_MAX)
        self._ask("POST", f"/api/metalakes/{self.metalake}/catalogs", json=body).raise_for_status()
        self.iceberg = RestCatalog(
            "lake", uri=self.server.iceberg_url, warehouse=f"{self.metalake}.{self.catalog}"
        )
        self.iceberg.create_namespace(NAMESPACE)

    def purge_in(self, scope: str) -> None:
        """Let the catalog's owner say where purges delete."""
        update = {"@type": "setProperty", "property": PURGE_SCOPE, "value": scope}
        self._ask("PUT", self.catalog_path, json={"updates": [update]}).raise_for_status()

    def close(self) -> None:
        self.iceberg.close()
        self.http.close()

    @property
    def tables_path(self) -> str:
        """Of Iceberg's protocol."""
        return f"/iceberg/v1/{self.metalake}.{self.catalog}/namespaces/{NAMESPACE}/tables"

    @property
    def catalog_path(self) -> str:
        """Of Gravitino's protocol."""
        return f"/api/metalakes/{self.metalake}/catalogs/{self.catalog}"

    def create(self, name: str, **properties: str) -> None:
        """A table with two data files in two snapshots."""
        table = self.iceberg.create_table((NAMESPACE, name), ROWS.schema, properties=properties)
        table.append(ROWS[:2])
        table.append(ROWS[2:])
        self.remember(name)

    def remember(self, name: str) -> None:
        """Note how a table is now."""
        table = self.iceberg.load_table((NAMESPACE, name))
        folder = local_path(table.location())
        self.known[name] = Known(
            folder=folder,
            metadata_location=table.metadata_location,
            answer=self.load(name),
            files=frozenset(files_below(folder)),
            data=frozenset(files_below(folder / "data")),
            ids=self.ids(name),
        )

    def load(self, name: str) -> dict[str, Any]:
        """What the protocol answers for a table."""
        answer = self._ask("GET", f"{self.tables_path}/{name}").raise_for_status()
        loaded: dict[str, Any] = answer.json()
        return loaded

    def ids(self, name: str) -> list[int]:
        """The rows of a table, read by a client."""
        rows = self.iceberg.load_table((NAMESPACE, name)).scan().to_arrow()
        ids: list[int] = sorted(rows["id"].to_pylist())
        return ids

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request; its answer and how long it took are remembered."""
        began = time.monotonic()
        self.answer = self._ask(method, path, **more)
        self.seconds = time.monotonic() - began
        return self.answer

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.http.request(method, f"{self.server.url}{path}", **more)

    def drop(self, name: str, query: str = "purgeRequested=true") -> None:
        self.ask("DELETE", f"{self.tables_path}/{name}?{query}").raise_for_status()


def in_the_end(holds: Callable[[], object], seconds: float = SECONDS_MAX) -> bool:
    """Whether a condition holds at last."""
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(held)
