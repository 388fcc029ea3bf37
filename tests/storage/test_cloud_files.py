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
DELETING = ["google", "azure-key"]  # Azurite knows no batches with a token


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


@pytest.fixture(params=[*DELETING, "azure-token"])
def cloud(request: pytest.FixtureRequest, google: FakeGcsServer, azurite: AzuriteServer) -> Cloud:
    """A new bucket or container, and files with all rights."""
    name = f"bucket-{next(BUCKETS)}"
    if request.param == "google":
        location = google.create_bucket(name)
        return Cloud(StorageFiles(google.options(), [location]), location)
    options = azurite.options(by_key=request.param == "azure-key")
    location = azurite.create_bucket(name)
    return Cloud(StorageFiles(options, [location]), location)


async def test_a_file_is_written_once_and_read(cloud: Cloud) -> None:
    """It is missing, then written, read and listed; a sibling is another file."""
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


@pytest.mark.parametrize("cloud", DELETING, indirect=True)
async def test_files_are_deleted(cloud: Cloud) -> None:
    """Those that are not there are fine, and a sibling stays."""
    files, locations = cloud.files, [f"{cloud.location}/t1/{name}" for name in "abc"]
    for location in (*locations[:2], f"{cloud.location}/t10/x"):
        await files.write(location, b"x")

    assert await files.delete(locations) == []

    assert await files.missing(locations[0])
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
    files = StorageFiles(StorageOptions(azure=wrong, allowed_endpoints=(azurite.url,)), [location])

    with pytest.raises(StorageUnavailable, match="Check the credentials") as caught:
        await files.read(f"{location}/x")

    assert "hush" not in str(caught.value)
