"""Catalogs and metalakes that are dropped with what is in them: the storage is empty in the end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer, environment
from tests.purge.lake import NAMESPACE, Lake, in_the_end
from tests.purge.listing import files_below, lying_below

TERMS = ("poll-interval-ms=100", "backoff-base-ms=50", "backoff-max-ms=400", "max-attempts=1000")
HASTY = [word for term in TERMS for word in ("--set", f"purger.async.{term}")]
"""Nobody waits for minutes here."""


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[HeadgateServer]:
    with HeadgateServer(tmp_path, *HASTY) as server:
        yield server


@pytest.fixture(name="lake")
def _lake(server: HeadgateServer) -> Iterator[Lake]:
    """A catalog with two tables, one of which keeps its data files."""
    lake = Lake(server)
    lake.create("orders")
    lake.create("kept", **{"gc.enabled": "false"})
    yield lake
    lake.close()


def create_there(lake: Lake) -> httpx.Response:
    """Ask for another catalog where the tables of the first one lie."""
    body = {
        "name": "again",
        "type": "RELATIONAL",
        "provider": "lakehouse-iceberg",
        "properties": {"warehouse": str(lake.known["orders"].folder.parents[1])},
    }
    return lake.ask("POST", f"/api/metalakes/{lake.metalake}/catalogs", json=body)


def realms(server: HeadgateServer) -> list[str]:
    """The metalakes in the database, also those that serve nobody."""
    command = [sys.executable, "-m", "headgate", "realm", "list", "--json"]
    done = subprocess.run(
        [*command, "--data", str(server.folder / "data")],
        env=environment(),
        capture_output=True,
        check=True,
    )
    return [realm["name"] for realm in json.loads(done.stdout)]


def check_purged(lake: Lake) -> None:
    """All is gone in the end but for the data files that are kept."""
    orders, kept = lake.known["orders"], lake.known["kept"]
    assert in_the_end(lambda: not orders.folder.exists()), lying_below(orders.folder)
    assert in_the_end(lambda: files_below(kept.folder) == kept.data), lying_below(kept.folder)


def test_a_catalog_dropped_by_force_leaves_no_files(lake: Lake) -> None:
    """Its name is free at once, its place when the last file is gone."""
    lake.ask("DELETE", f"{lake.catalog_path}?force=true").raise_for_status()
    assert lake.ask("GET", lake.catalog_path).status_code == 404
    Lake(lake.server, catalog=lake.catalog).close()

    check_purged(lake)
    assert in_the_end(lambda: create_there(lake).is_success), lake.answer.text


def test_a_metalake_dropped_by_force_leaves_no_files(server: HeadgateServer) -> None:
    """And then nothing of it is left in the database either."""
    url = f"{server.url}/api/metalakes"
    httpx.post(url, json={"name": "shop", "comment": ""}).raise_for_status()
    lake = Lake(server, "shop")
    lake.create("orders")
    lake.create("kept", **{"gc.enabled": "false"})
    lake.ask("DELETE", "/api/metalakes/shop?force=true").raise_for_status()
    assert lake.ask("GET", "/api/metalakes/shop").status_code == 404
    httpx.post(url, json={"name": "shop", "comment": ""}).raise_for_status()

    check_purged(lake)
    lake.close()
    assert in_the_end(lambda: realms(server) == ["default", "shop"]), realms(server)


def test_a_forced_drop_outlives_its_server(lake: Lake) -> None:
    """The server is killed as soon as it has answered."""
    lake.ask("DELETE", f"{lake.catalog_path}?force=true").raise_for_status()
    lake.server.kill()
    lake.server.start()

    check_purged(lake)


def test_an_empty_catalog_is_dropped_while_files_are_deleted(lake: Lake) -> None:
    """Its job goes on, and keeps the place until it has ended: whoever wants it is told so."""
    file = min(lake.known["orders"].data)
    file.unlink()
    file.mkdir()
    (file / "obstacle").touch()
    for name in ("orders", "kept"):
        lake.drop(name)
    lake.iceberg.drop_namespace(NAMESPACE)
    lake.ask("PATCH", lake.catalog_path, json={"inUse": False}).raise_for_status()
    lake.ask("DELETE", lake.catalog_path).raise_for_status()
    refused = create_there(lake)

    assert refused.is_client_error
    assert "files of its tables are still being deleted" in refused.json()["message"]
    (file / "obstacle").unlink()
    file.rmdir()
    check_purged(lake)
    assert in_the_end(lambda: create_there(lake).is_success), lake.answer.text
