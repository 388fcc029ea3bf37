"""`headgate serve` killed under real clients: what was acknowledged is there, and whole."""

import json
import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.reference_server import free_port
from tests.acceptance.crash_clients import Appender, Client, Committer, NamespaceMaker
from tests.conftest import FULL
from tests.seeds import draw_seed

KILLS = 30 if FULL else 5
SECONDS_BETWEEN = (0.1, 1.2)
WRITES_MIN = KILLS // 2  # fewer would prove nothing
SCHEMA = pa.schema([("id", pa.int64())])
LONG_LOG = {"write.metadata.previous-versions-max": "100000"}


@pytest.fixture(name="server")
def _server(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> HeadgateServer:
    """A server that always comes back on the same port."""
    options = []
    if database == "postgresql":
        options = ["--backend", request.getfixturevalue("postgresql_server").create_database()]
    return HeadgateServer(tmp_path, *options, port=free_port())


@pytest.fixture(name="catalog")
def _catalog(server: HeadgateServer) -> Iterator[RestCatalog]:
    with server, closing(RestCatalog("c", uri=server.iceberg_url, warehouse="main")) as catalog:
        yield catalog


def local(location: str) -> Path:
    return Path(urlsplit(location).path)


def missing_files(table: Table) -> list[Path]:
    """The files that a table's metadata refers to, and that are not there."""
    metadata = json.loads(local(table.metadata_location).read_bytes())
    files = [entry["metadata-file"] for entry in metadata["metadata-log"]]
    for snapshot in table.snapshots():
        files.append(snapshot.manifest_list)
        files += [manifest.manifest_path for manifest in snapshot.manifests(table.io)]
    return [local(file) for file in files if not local(file).exists()]


def kill_again_and_again(server: HeadgateServer, clients: list[Client]) -> None:
    """Kill the server at random instants and start it again, while the clients work."""
    chance = random.Random(draw_seed("server crash"))
    for client in clients:
        client.start()
    try:
        for _ in range(KILLS):
            time.sleep(chance.uniform(*SECONDS_BETWEEN))
            server.kill()
            server.start()
        time.sleep(SECONDS_BETWEEN[1])
    finally:
        for client in clients:
            client.stop()
        for client in clients:
            client.join()


def test_what_was_acknowledged_survives_every_kill(
    server: HeadgateServer, catalog: RestCatalog
) -> None:
    """Acknowledged changes are there, no other one is there twice, and every table is whole."""
    catalog.create_namespace("crash")
    for name in ("alone", "shared", "tagged"):
        catalog.create_table(f"crash.{name}", SCHEMA, properties=LONG_LOG)
    tagged = catalog.load_table("crash.tagged")
    tagged.append(pa.table({"id": [0]}))
    snapshot = tagged.history()[0].snapshot_id
    port, prefix = urlsplit(server.url).port or 0, catalog.properties["prefix"]
    alone = Appender(server.iceberg_url, "crash.alone", range(1_000_000))
    shared = [
        Appender(server.iceberg_url, "crash.shared", range(start, 1_000_000, 2)) for start in (0, 1)
    ]
    maker = NamespaceMaker(port, prefix)
    committer = Committer(port, prefix, "tagged", snapshot)

    kill_again_and_again(server, [alone, *shared, maker, committer])

    clients = (alone, *shared, maker, committer)
    assert [mistake for client in clients for mistake in client.mistakes] == []
    for name, writers in (("alone", [alone]), ("shared", shared)):
        acknowledged = {number for writer in writers for number in writer.acknowledged}
        unknown = {number for writer in writers for number in writer.unknown}
        table = catalog.load_table(f"crash.{name}")
        found = table.scan().to_arrow()["id"].to_pylist()
        assert len(found) == len(set(found))
        assert acknowledged <= set(found) <= acknowledged | unknown
        assert missing_files(table) == []
        assert len(acknowledged) >= WRITES_MIN
    made = {name for (name,) in catalog.list_namespaces()} - {"crash"}
    assert set(maker.made) <= made
    assert len(made) - len(maker.made) <= 1
    tags = set(catalog.load_table("crash.tagged").refs()) - {"main"}
    assert set(committer.tags) == tags
    assert missing_files(catalog.load_table("crash.tagged")) == []
    print(f"acknowledged: {len(alone.acknowledged)} + {sum(len(w.acknowledged) for w in shared)}")
    interrupted = maker.interrupted + committer.interrupted
    print(f"keyed: {len(maker.made)} + {len(tags)}, {interrupted} sent again after a cut")
