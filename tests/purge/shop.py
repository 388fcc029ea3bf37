"""Tables on a real S3 server, purged by a real Headgate."""

from typing import Any

import httpx
from obstore.store import S3Store

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.places import ObjectPlace
from headgate.pipelines.fixtures.table import Made, make_table
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import MotoServer
from tests.purge.lake import in_the_end
from tests.purge.listing import keys_in

BUCKET = "troubled"
FILES = 40


class Shop:
    """A table on the store, and its purge as operators see it."""

    def __init__(self, server: HeadgateServer, store: MotoServer, name: str) -> None:
        self._server = server
        self._store = store
        self._name = name
        self._catalog = Catalog(server.iceberg_url, warehouse="main")
        bucket = S3Store(
            BUCKET,
            endpoint=store.url,
            region=store.region,
            client_options={"allow_http": True},
            **store.keys._asdict(),
        )
        place = ObjectPlace(f"s3://{BUCKET}", bucket)
        self.made: Made = make_table(self._catalog, ("shop", name), FILES, place=place)
        self.all = self.keys()

    def keys(self) -> set[str]:
        """What the store has of the table, by its own words."""
        prefix = self.made.location.removeprefix(f"s3://{BUCKET}/")
        return {key for key in keys_in(self._store, BUCKET) if key.startswith(prefix)}

    def drop(self) -> None:
        self._catalog.ask("DELETE", f"{self.made.path}?purgeRequested=true")

    def job(self) -> dict[str, Any]:
        with httpx.Client(base_url=f"{self._server.url}/management/v1/jobs") as http:
            jobs = http.get("", params={"catalog": "main"}).raise_for_status().json()["jobs"]
            [id] = [job["id"] for job in jobs if job["table"] == ["shop", self._name]]
            job: dict[str, Any] = http.get(f"/{id}").raise_for_status().json()
            return job

    def waits(self, attempts: int = 2) -> dict[str, Any]:
        """Its job when it has failed so often."""
        assert in_the_end(lambda: self.job()["attempts"] >= attempts), self.job()
        return self.job()

    def is_purged(self) -> bool:
        """Whether it is done at last, and nothing is left."""
        assert in_the_end(lambda: self.job()["state"] == "SUCCEEDED"), self.job()
        return self.keys() == set()
