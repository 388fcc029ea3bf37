"""These tests need a whole server, without a port: two tenants on one store, and several attackers.

Their tables lie on the local disk, and in S3: on moto in `./test`, on MinIO, which enforces the
policies of vended keys, in `./test full`.
"""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from headgate.testing.object_stores import MinioServer, MotoServer, S3Server
from tests.authorization.sites import Mode, Place, fronts
from tests.conftest import FULL
from tests.non_interference.stores import BucketStore, LocalStore, Store
from tests.non_interference.tenants import Tenants

BUCKETS = itertools.count(1)

collect_ignore = [] if FULL else ["test_keys.py"]  # moto enforces no policies


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One S3 server for all of these tests."""
    with (MinioServer if FULL else MotoServer)() as server:
        yield server


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    """Where all tables of a test lie."""
    if request.param == "local":
        return LocalStore()
    server: S3Server = request.getfixturevalue("s3_server")
    bucket = f"tenants-{next(BUCKETS)}"
    server.create_bucket(bucket)
    return BucketStore(server, bucket)


@pytest.fixture
async def tenants(store: Store, tmp_path: Path) -> AsyncIterator[Tenants]:
    """A victim with tables, and attackers with one small right each."""
    async with fronts(Mode(more=store.settings), Place(tmp_path), 1) as site:
        made = Tenants(site, store, tmp_path)
        await made.furnish()
        yield made
