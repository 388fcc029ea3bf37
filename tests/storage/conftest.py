"""These tests need real storage servers: moto always; MinIO, fake-gcs-server and Azurite in
`./test full`.

moto is installed from PyPI with the other test tools and enforces no policies. MinIO does; it is
built with Go into the user's cache the first time, which takes ten minutes. The other two need Go
and npm, and a minute each.
"""

import itertools
from collections.abc import Callable, Iterator

import pytest

from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.testing.object_stores import MinioServer, MotoServer, S3Server
from tests.conftest import FULL

SERVERS: list[Callable[[], S3Server]] = [MotoServer, MinioServer] if FULL else [MotoServer]
SERVERS_TO_BUILD = ["test_s3_policies.py", "test_cloud_files.py"]
BUCKETS = itertools.count(1)

collect_ignore = [] if FULL else SERVERS_TO_BUILD


@pytest.fixture(scope="session", params=SERVERS)
def s3_server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    """Each S3 server of this run."""
    with request.param() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server) -> str:
    """A new, empty bucket."""
    name = f"bucket-{next(BUCKETS)}"
    s3_server.create_bucket(name)
    return name


@pytest.fixture
def files(s3_server: S3Server, bucket: str) -> StorageFiles:
    """Files with all rights."""
    options = StorageOptions(s3=s3_server.options(), allowed_endpoints=(s3_server.url,))
    return StorageFiles(options, [f"s3://{bucket}", "s3://no-such-bucket"])
