"""Purges on a real S3 server, which is listed without Headgate."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from obstore.store import S3Store
from pyiceberg.typedef import TableVersion

from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.places import ObjectPlace
from headgate.pipelines.fixtures.table import make_table
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import S3Server, send
from tests.purge.kinds import EXPECTED, enumeration
from tests.purge.lake import in_the_end
from tests.purge.listing import keys_in
from tests.storage.test_s3_server import STATIC, settings

BUCKET = "purged"
FILES = 40


@pytest.fixture(name="server", scope="module")
def _server(
    s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeadgateServer]:
    """Its tables lie in a bucket of their own."""
    s3_server.create_bucket(BUCKET)
    options = settings(s3_server, BUCKET, STATIC)
    with HeadgateServer(tmp_path_factory.mktemp("server"), *options) as server:
        yield server
    assert " ERROR " not in server.said()


def place(s3: S3Server) -> ObjectPlace:
    """Files are written by whoever has the keys of the store."""
    store = S3Store(
        BUCKET,
        endpoint=s3.url,
        region=s3.region,
        access_key_id=s3.keys.access_key_id,
        secret_access_key=s3.keys.secret_access_key,
        client_options={"allow_http": True},
    )
    return ObjectPlace(f"s3://{BUCKET}", store)


def read(s3: S3Server, location: str) -> bytes:
    """An object as the store itself has it."""
    status, content = send(s3.keys, "GET", location.replace("s3://", f"{s3.url}/"))
    assert status == 200, content
    return content


@pytest.mark.parametrize("version", EXPECTED)
def test_every_kind_of_object_goes_with_its_table(
    server: HeadgateServer, s3_server: S3Server, version: TableVersion, tmp_path: Path
) -> None:
    """What lies in the bucket is what the table's metadata leads to, then nothing."""
    catalog = Catalog(server.iceberg_url, warehouse="main")
    name = ("shop", f"v{version}")
    made = make_table(catalog, name, FILES, version=version, place=place(s3_server))
    location = json.loads(catalog.ask("GET", made.path))["metadata-location"]
    with enumeration(lambda one: read(s3_server, one), tmp_path) as files:
        kinds = files.kinds(location)
    lying = keys_in(s3_server, BUCKET)
    catalog.ask("DELETE", f"{made.path}?purgeRequested=true")
    empty = in_the_end(lambda: not keys_in(s3_server, BUCKET))

    assert set(kinds) == EXPECTED[version]
    assert {one for some in kinds.values() for one in some} == {
        f"s3://{BUCKET}/{key}" for key in lying
    }
    assert len(lying) == made.files
    assert empty, keys_in(s3_server, BUCKET)
