"""The real `headgate serve` on S3, and a real client that is let in by keys or by signatures."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from headgate.storage.sigv4 import Keys
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import S3Server, send

PURGE_SECONDS_MAX = 20.0
ARROW, FSSPEC = "pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO"
NAME = ("a b", "t.x")
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


class Way(NamedTuple):
    """How a client reaches files: what the server is told, what is asked for, and with what."""

    delegation: str
    header: str
    file_io: str


STATIC = Way("static", "vended-credentials", ARROW)
TEMPORARY = Way("sts", "vended-credentials", ARROW)
SIGNED = Way("none", "remote-signing", FSSPEC)  # pyarrow's S3 cannot ask for signatures


def settings(s3: S3Server, bucket: str, way: Way) -> list[str]:
    """The command line of a server whose warehouse lies in the bucket."""
    chosen = {
        "bootstrap.warehouse": f"s3://{bucket}/wh",
        "s3.endpoint": s3.url,
        "s3.allow-http": "true",
        "s3.access-key-id": s3.keys.access_key_id,
        "s3.secret-access-key": s3.keys.secret_access_key,
        "s3.delegation": way.delegation,
        "storage.allowed-endpoints": s3.url,
    }
    if way is TEMPORARY:
        chosen["s3.role-arn"] = "arn:aws:iam::123456789012:role/tables"
    return [part for name, text in chosen.items() for part in ("--set", f"{name}={text}")]


@pytest.fixture(name="way", params=[STATIC, TEMPORARY, SIGNED], ids=lambda way: way.delegation)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    """Each way; whatever keys this machine has are out of reach."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    way: Way = request.param
    return way


@pytest.fixture(name="server")
def _server(s3_server: S3Server, bucket: str, way: Way, tmp_path: Path) -> Iterator[HeadgateServer]:
    with HeadgateServer(tmp_path, *settings(s3_server, bucket, way)) as server:
        yield server
    assert " ERROR " not in server.said()


@pytest.fixture(name="catalog")
def _catalog(server: HeadgateServer, way: Way) -> Iterator[RestCatalog]:
    """A client that lets the server plan its scans and was told no keys."""
    properties = {
        "header.X-Iceberg-Access-Delegation": way.header,
        "py-io-impl": way.file_io,
        "scan-planning-mode": "server",
    }
    catalog = RestCatalog("s3", uri=server.iceberg_url, warehouse="main", **properties)
    with closing(catalog):
        catalog.create_namespace(NAME[0])
        yield catalog


def keys_in(s3: S3Server, bucket: str) -> list[str]:
    """What lies in the bucket, as the store itself says."""
    status, answer = send(s3.keys, "GET", f"{s3.url}/{bucket}?list-type=2")
    assert status == 200, answer
    return re.findall("<Key>(.*?)</Key>", answer.decode())


def answered(server: HeadgateServer, ending: str) -> int:
    """How many POST requests to paths with this ending were answered well."""
    text = httpx.get(f"{server.url}/metrics").text
    sample = (
        rf'headgate_http_requests_total{{method="POST",route="[^"]*/{ending}",status="200"}} (.*)'
    )
    return sum(map(int, re.findall(sample, text)))


def test_a_client_works_on_s3(
    catalog: RestCatalog, server: HeadgateServer, s3_server: S3Server, bucket: str, way: Way
) -> None:
    """It creates a table, appends, loads, reads by a plan and purges; nothing is left behind."""
    table = catalog.create_table(NAME, ROWS.schema)
    table.append(ROWS[:2])
    table.append(ROWS[2:])
    loaded = catalog.load_table(NAME)
    read = sorted(loaded.scan().to_arrow()["id"].to_pylist())
    filled = keys_in(s3_server, bucket)
    catalog.purge_table(NAME)
    deadline = time.monotonic() + PURGE_SECONDS_MAX
    while (left := keys_in(s3_server, bucket)) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert read == [1, 2, 3]
    assert sum(key.endswith(".parquet") for key in filled) == 2
    assert {key.partition("/")[0] for key in filled} == {"wh"}
    assert left == []
    assert answered(server, "plan") == 1
    assert (answered(server, "sign") > 0) == (way is SIGNED)
    assert way_of(loaded, s3_server.keys) is way


def way_of(table: Table, own: Keys) -> Way:
    """How a client was let in, by the keys it was handed."""
    key = table.io.properties.get("s3.access-key-id")
    if key is None:
        return SIGNED
    if key == own.access_key_id:
        return STATIC
    assert table.io.properties["s3.session-token"]
    return TEMPORARY
