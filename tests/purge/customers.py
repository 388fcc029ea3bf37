"""A client of servers that die: it asks until it is answered, and remembers what it was told."""

import threading
import time
from pathlib import Path
from typing import Any

import httpx

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.table import make_table
from headgate.testing.headgate_server import HeadgateServer
from tests.acceptance.crash_clients import uuid7
from tests.purge.listing import local_path

NAMESPACE = "shop"
PATIENCE_SECONDS = 40.0
PAUSE_SECONDS = 0.02
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}]}


class Customer:
    """Of one catalog; any number of threads may use it."""

    def __init__(self, server: HeadgateServer, catalog: str) -> None:
        self.catalog = catalog
        self.dropped: list[tuple[str, Path]] = []
        """Tables that are gone for good: their names and folders."""
        self.recreated: dict[str, Path] = {}
        """Tables that took the name of another one."""
        self.creations_cut = 0
        """Requests for a table that may have been begun, and were not answered."""
        self._server = server
        self._tables = f"/iceberg/v1/default.{catalog}/namespaces/{NAMESPACE}/tables"
        self._http = httpx.Client(base_url=server.url, timeout=10)
        self._counting = threading.Lock()

    def close(self) -> None:
        self._http.close()

    def make_catalog(self) -> None:
        body = {"name": self.catalog, "type": "RELATIONAL", "provider": "lakehouse-iceberg"}
        self._http.post("/api/metalakes/default/catalogs", json=body).raise_for_status()

    def drop_catalog(self) -> None:
        """With all that is in it."""
        status = self._send("DELETE", f"/api/metalakes/default/catalogs/{self.catalog}?force=true")
        assert status == httpx.codes.OK, status

    def make(self, name: str, files: int) -> Path:
        """A table with files of all kinds, while nothing dies; its folder."""
        catalog = Catalog(self._server.iceberg_url, warehouse=f"default.{self.catalog}")
        return local_path(make_table(catalog, (NAMESPACE, name), files).location)

    def drop(self, name: str, folder: Path) -> None:
        """With purge. Who was told that a table is dropped does not find it any more."""
        status = self._send("DELETE", f"{self._tables}/{name}?purgeRequested=true")
        assert status == httpx.codes.NO_CONTENT, (name, status)
        self.dropped.append((name, folder))
        assert self._send("HEAD", f"{self._tables}/{name}") == httpx.codes.NOT_FOUND, name

    def recreate(self, name: str) -> None:
        """Another table of the same name, as soon as the first one is dropped."""
        body = {"name": name, "schema": SCHEMA}
        status = self._send("POST", self._tables, json=body)
        assert status == httpx.codes.OK, (name, status)
        self.recreated[name] = local_path(self.load(name)["metadata"]["location"])

    def load(self, name: str) -> dict[str, Any]:
        """What a server answers for a table that is there."""
        answer = self._answer("GET", f"{self._tables}/{name}").raise_for_status()
        loaded: dict[str, Any] = answer.json()
        return loaded

    def names(self) -> set[str]:
        """The tables that are listed."""
        answer = self._http.get(self._tables).raise_for_status()
        return {one["name"] for one in answer.json()["identifiers"]}

    def jobs(self) -> list[tuple[str, str]]:
        """Tables and states of all purges of this catalog."""
        found: list[tuple[str, str]] = []
        query = {"metalake": "default", "catalog": self.catalog}
        while True:
            answer = self._http.get("/management/v1/jobs", params=query).raise_for_status().json()
            found += [(job["table"][-1], job["state"]) for job in answer["jobs"]]
            if not answer.get("next-page-token"):
                return sorted(found)
            query["page-token"] = answer["next-page-token"]

    def _send(self, method: str, path: str, **more: Any) -> int:
        """The status of such an answer."""
        return self._answer(method, path, **more).status_code

    def _answer(self, method: str, path: str, **more: Any) -> httpx.Response:
        """An answer that is no failure of a server, however often it takes."""
        headers = {"Idempotency-Key": str(uuid7())}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = self._http.request(method, path, headers=headers, **more)
            except httpx.ConnectError:
                pass
            except httpx.TransportError:
                with self._counting:
                    self.creations_cut += method == "POST"
            else:
                if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                    return answer
            time.sleep(PAUSE_SECONDS)
        raise AssertionError(f"no answer to {method} {path} in {PATIENCE_SECONDS:.0f} s")
