"""Listing what lies in a bucket, with sizes and times."""

import asyncio
import http.client
import time

import pytest

from headgate.errors import Forbidden, StorageUnavailable
from headgate.storage import listing
from headgate.storage.files import StorageFiles
from headgate.storage.listing import Listing
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import ASKED_AT_ONCE, WorkerFiles
from headgate.testing.object_stores import MinioServer, S3Server, send

MINUTE_MS = 60_000


@pytest.fixture(name="found")
def _found(s3_server: S3Server, bucket: str) -> Listing:
    """Below `w` only."""
    options = StorageOptions(s3=s3_server.options(), allowed_endpoints=(s3_server.url,))
    return Listing(WorkerFiles(options, (f"s3://{bucket}/w", "s3://no-such-bucket")))


def write(files: StorageFiles, bucket: str, *keys: str) -> None:
    for key in keys:
        asyncio.run(files.write(f"s3://{bucket}/{key}", b"12345"))


def test_objects_are_listed_with_sizes_and_times(
    found: Listing, files: StorageFiles, bucket: str
) -> None:
    """All below a place, or those right there; names are literal."""
    write(files, bucket, "w/a b%20é", "w/x/1", "w/x/y/2", "wider/3")
    place = f"s3a://{bucket}/w"

    [deep] = found.files(place, deep=True)
    [here] = found.files(place, deep=False)

    assert deep.prefix == f"s3a://{bucket}/"
    assert sorted(deep.names) == ["w/a b%20é", "w/x/1", "w/x/y/2"]
    assert deep.sizes == [5, 5, 5]
    assert all(abs(one - time.time() * 1_000) < 10 * MINUTE_MS for one in deep.times_ms)
    assert here.names == ["w/a b%20é"]
    assert found.folders(place) == [f"{place}/x"]


def test_what_stands_for_a_folder_is_no_file(
    found: Listing, files: StorageFiles, s3_server: S3Server, bucket: str
) -> None:
    """Consoles and Hadoop write objects whose names end with a slash; they are listed without."""
    write(files, bucket, "w/x/1", "w/file")
    assert send(s3_server.keys, "PUT", f"{s3_server.url}/{bucket}/w/x/")[0] == http.client.OK

    [listed] = found.files(f"s3://{bucket}/w", deep=True)

    assert sorted(listed.names) == ["w/file", "w/x", "w/x/1"]
    looked = found.look(f"s3://{bucket}/w/file")
    assert looked
    assert looked.size == 5
    assert found.look(f"s3://{bucket}/w/x") is None


def test_many_objects_without_folders_are_one_part(
    found: Listing, files: StorageFiles, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request tells, however many there are."""
    monkeypatch.setattr(listing, "SAMPLE_ENTRIES", 2)
    write(files, bucket, "w/1", "w/2", "w/3/4")
    place = f"s3://{bucket}/w"

    mixed = found.folders(place)
    monkeypatch.setattr(listing, "LISTED_AT_ONCE", 2)
    flat = found.folders(place)

    assert (mixed, flat) == ([f"{place}/3"], [])


def test_a_key_that_is_no_path_is_told_as_such(
    found: Listing, s3_server: S3Server, bucket: str
) -> None:
    """Waiting does not help, nor does a look at the network. MinIO takes no such key."""
    status, _ = send(s3_server.keys, "PUT", f"{s3_server.url}/{bucket}/w/x//y")
    if isinstance(s3_server, MinioServer):
        assert status == http.client.BAD_REQUEST
        return
    assert status == http.client.OK

    with pytest.raises(StorageUnavailable, match=r"cannot be listed.*x//y") as refused:
        list(found.files(f"s3://{bucket}/w", deep=True))

    assert refused.value.fix.startswith("Rename or delete that object")


def test_what_cannot_be_listed_is_an_error(found: Listing, bucket: str) -> None:
    """A bucket that is not there is no empty one, and other places are refused."""
    with pytest.raises(StorageUnavailable, match="NoSuchBucket"):
        list(found.files("s3://no-such-bucket/x", deep=True))
    with pytest.raises(Forbidden):
        list(found.files(f"s3://{bucket}", deep=True))


@pytest.mark.parametrize("number", [None, 0, ASKED_AT_ONCE + 1])
def test_many_objects_are_looked_for_at_once(
    s3_server: S3Server, files: StorageFiles, bucket: str, number: int | None
) -> None:
    """One that is there is enough to say no."""
    options = StorageOptions(s3=s3_server.options(), allowed_endpoints=(s3_server.url,))
    wanted = [f"s3://{bucket}/w/{one}" for one in range(ASKED_AT_ONCE + 2)]
    if number is not None:
        write(files, bucket, f"w/{number}")

    assert WorkerFiles(options, (f"s3://{bucket}/w",))().all_missing(wanted) == (number is None)
