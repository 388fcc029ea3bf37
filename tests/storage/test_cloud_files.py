"""Files in Google's and Azure's storage, through the port (`./test full` only)."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from headgate.errors import AlreadyExists, FileMissing, StorageUnavailable
from headgate.storage.files import StorageFiles
from headgate.storage.options import AzureOptions, StorageOptions
from headgate.testing.cloud_stores import AzuriteServer, FakeGcsServer

BUCKETS = itertools.count(1)


class Cloud(NamedTuple):
    files: StorageFiles
    location: str


@pytest.fixture(scope="module")
def google() -> Iterator[FakeGcsServer]:
    with FakeGcsServer() as server:
        yield server


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteServer]:
    with AzuriteServer() as server:
        yield server


@pytest.fixture(params=["google", "azure-key", "azure-token"])
def cloud(request: pytest.FixtureRequest, google: FakeGcsServer, azurite: AzuriteServer) -> Cloud:
    """A new bucket or container, and files with all rights."""
    name = f"bucket-{next(BUCKETS)}"
    if request.param == "google":
        return Cloud(StorageFiles(google.options()), google.create_bucket(name))
    options = azurite.options(by_key=request.param == "azure-key")
    return Cloud(StorageFiles(options), azurite.create_bucket(name))


async def test_a_file_has_a_life(cloud: Cloud) -> None:
    """It is missing, written once, read, listed and deleted; a sibling is another file."""
    files, file = cloud.files, f"{cloud.location}/t1/a b.json"
    with pytest.raises(FileMissing, match="Failed to open input stream for file"):
        await files.read(file)
    assert await files.missing(file)

    await files.write(file, [b"one", b"two"])
    await files.write(f"{cloud.location}/t10/x", b"x")
    with pytest.raises(AlreadyExists):
        await files.write(file, b"other")

    assert await files.read(file) == b"onetwo"
    assert [name async for name in files.list(f"{cloud.location}/t1")] == [file]
    assert await files.delete([file, f"{cloud.location}/t1/never-was"]) == []
    assert await files.missing(file)
    assert not await files.missing(f"{cloud.location}/t10/x")


async def test_wrong_credentials_are_refused_without_showing_them(azurite: AzuriteServer) -> None:
    """A token is part of each address, and no part of any message."""
    location = azurite.create_bucket(f"bucket-{next(BUCKETS)}")
    wrong = AzureOptions(
        account_name=azurite.account,
        sas_token=azurite.token().replace("sig=", "sig=hush"),
        endpoint=f"{azurite.url}/{azurite.account}",
        allow_http=True,
    )
    files = StorageFiles(StorageOptions(azure=wrong, allowed_endpoints=(azurite.url,)))

    with pytest.raises(StorageUnavailable, match="Check the credentials") as caught:
        await files.read(f"{location}/x")

    assert "hush" not in str(caught.value)
