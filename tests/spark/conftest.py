"""Pipelines and Spark SQL against `headgate serve`, on local files and in S3; they need Java 17.

The Spark session is that of the whole run (tests/conftest.py): pipelines that run in this process
find it and use it. What kills a driver runs in processes of its own.
"""

import itertools
from collections.abc import Iterator
from contextlib import closing

import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.clock import SystemClock, deadline_from
from headgate.pipelines.server import Server
from headgate.purge.fence import Fence, new_fence
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import S3Server
from tests.clients.conftest import JSON_LOG, connect, troubles
from tests.spark.cluster import SparkCluster
from tests.spark.connect import ConnectServer
from tests.spark.purging import SETTINGS, patient, sets
from tests.storage.conftest import SERVERS

BUCKETS = itertools.count(1)


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """One server for a module, which must have met no error of its own in the end."""
    with HeadgateServer(tmp_path_factory.mktemp("server"), *JSON_LOG) as server:
        yield server
    assert troubles(server) == []


@pytest.fixture(name="headgate", scope="module")
def _headgate(server: HeadgateServer) -> Server:
    """The same server as pipelines see it."""
    return Server(server.url)


@pytest.fixture(name="catalog", scope="module")
def _catalog(server: HeadgateServer) -> Iterator[RestCatalog]:
    """Its catalog as pyiceberg sees it."""
    with closing(connect(server)) as catalog:
        yield catalog


@pytest.fixture(name="s3_server", scope="session", params=SERVERS)
def _s3_server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    """Each S3 server of this run: moto always, MinIO in `./test full`."""
    with request.param() as server:
        yield server


@pytest.fixture(name="bucket", scope="module")
def _bucket(s3_server: S3Server) -> str:
    """A new, empty bucket."""
    name = f"spark-{next(BUCKETS)}"
    s3_server.create_bucket(name)
    return name


@pytest.fixture(name="s3_lake", scope="module")
def _s3_lake(
    s3_server: S3Server, bucket: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeadgateServer]:
    """A server whose tables lie in S3, and which hands out the keys to them."""
    chosen = {
        "bootstrap.warehouse": f"s3://{bucket}/wh",
        "s3.endpoint": s3_server.url,
        "s3.allow-http": "true",
        "s3.access-key-id": s3_server.keys.access_key_id,
        "s3.secret-access-key": s3_server.keys.secret_access_key,
        "s3.delegation": "static",
        "storage.allowed-endpoints": s3_server.url,
    }
    sets = [part for name, text in chosen.items() for part in ("--set", f"{name}={text}")]
    with HeadgateServer(tmp_path_factory.mktemp("s3-lake"), *JSON_LOG, *sets) as server:
        yield server
    assert troubles(server) == []


@pytest.fixture(name="cluster", scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """One master and two workers, started by the first test that asks for them."""
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(name="connect_server", scope="session")
def _connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server of Spark Connect."""
    with ConnectServer(tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture
def fence() -> Iterator[Fence]:
    """Open for as long as a test takes."""
    clock = SystemClock()
    with new_fence(clock) as fence:
        fence.extend(deadline_from(clock).after(600))
        yield fence


@pytest.fixture(name="purging", scope="module")
def _purging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """A server with the purger `spark`: it looks for Spark before it is ready."""
    with patient(), HeadgateServer(tmp_path_factory.mktemp("purging"), *sets(SETTINGS)) as server:
        yield server
