"""Files on a real S3 server, through the port."""

import asyncio

import pytest

from headgate.errors import AlreadyExists, FileMissing, StorageUnavailable
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.testing.object_stores import S3Server, send

ODD_NAMES = ["a b", "a%20b", "ä€😀", "x+y=z", "a'b\"c", "(1)~[2]{3}^`|<>", "*?#&@:,;$!"]


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
async def test_an_object_is_read_as_it_was_written(
    files: StorageFiles, bucket: str, scheme: str
) -> None:
    """Under any scheme, in pieces, and it is not missing then."""
    location = f"{scheme}://{bucket}/t/metadata/v1.json"
    assert await files.missing(location)

    await files.write(location, [b"one", b"two"])

    assert await files.read(f"s3://{bucket}/t/metadata/v1.json") == b"onetwo"
    assert not await files.missing(location)


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_names_are_taken_literally(
    files: StorageFiles, s3_server: S3Server, bucket: str, name: str
) -> None:
    """What a location says is the key, in each verb, and for other clients too."""
    location = f"s3://{bucket}/{name}/{name}"

    await files.write(location, b"x")

    assert await files.read(location) == b"x"
    assert [found async for found in files.list(f"s3://{bucket}/{name}")] == [location]
    assert await files.delete([location]) == []
    assert await files.missing(location)


async def test_an_object_that_is_not_there_is_named(files: StorageFiles, bucket: str) -> None:
    """The text is the one that Iceberg's tests look for."""
    with pytest.raises(FileMissing) as caught:
        await files.read(f"s3://{bucket}/no/v1.json")

    assert str(caught.value) == f"Failed to open input stream for file: s3://{bucket}/no/v1.json"


async def test_of_many_writers_one_wins(files: StorageFiles, bucket: str) -> None:
    """An object is created once; whoever brings other bytes hears that it lost."""
    location = f"s3://{bucket}/v1.json"
    offers = [b"%d" % number for number in range(8)]

    results = await asyncio.gather(
        *(files.write(location, offer) for offer in offers), return_exceptions=True
    )

    winners = [offer for offer, result in zip(offers, results, strict=True) if result is None]
    assert winners == [await files.read(location)]
    assert {type(result) for result in results} == {type(None), AlreadyExists}
    await files.write(location, winners[0])


async def test_a_list_ends_at_a_segment(files: StorageFiles, bucket: str) -> None:
    """`t1` does not list `t10`, and the form of the prefix is kept."""
    for name in ("t1/a", "t1/b/c", "t10/d"):
        await files.write(f"s3://{bucket}/{name}", b"x")

    found = [location async for location in files.list(f"s3a://{bucket}/t1/")]

    assert sorted(found) == [f"s3a://{bucket}/t1/a", f"s3a://{bucket}/t1/b/c"]


async def test_more_than_a_thousand_objects_are_listed_and_deleted(
    files: StorageFiles, bucket: str
) -> None:
    """A page of a list and a request of a deletion both end at 1,000; absent ones are fine."""
    locations = [f"s3://{bucket}/t/{number:04}" for number in range(1005)]
    for start in range(0, len(locations), 50):
        await asyncio.gather(*(files.write(name, b"x") for name in locations[start : start + 50]))

    assert [name async for name in files.list(f"s3://{bucket}/t")] == locations
    assert await files.delete([*locations, f"s3://{bucket}/never-was"]) == []
    assert [name async for name in files.list(f"s3://{bucket}/t")] == []


async def test_what_cannot_be_deleted_is_reported(files: StorageFiles, bucket: str) -> None:
    """A store that refuses does not keep others from being emptied."""
    await files.write(f"s3://{bucket}/x", b"x")

    kept = await files.delete(["s3://no-such-bucket/x", "gs://other/x", f"s3://{bucket}/x"])

    assert {location for location, _ in kept} <= {"s3://no-such-bucket/x", "gs://other/x"}
    assert dict(kept)["gs://other/x"]
    assert await files.missing(f"s3://{bucket}/x")


async def test_a_bucket_that_is_not_there_cannot_be_written_to(files: StorageFiles) -> None:
    """It is the store that is not available; nothing was written anywhere."""
    with pytest.raises(StorageUnavailable, match="the bucket does not exist"):
        await files.write("s3://no-such-bucket/x", b"x")


async def test_a_server_that_is_gone_is_unavailable(s3_server: S3Server) -> None:
    """Known to have failed, with what to do, after a few tries."""
    nobody = "http://127.0.0.1:9"
    options = s3_server.options(endpoint=nobody)
    files = StorageFiles(StorageOptions(s3=options, allowed_endpoints=(nobody,)), ["s3://bucket-x"])

    with pytest.raises(StorageUnavailable, match="Check the catalog's endpoint") as caught:
        await files.read("s3://bucket-x/v1.json")

    assert s3_server.keys.secret_access_key not in str(caught.value)


async def test_another_client_sees_the_same_key(
    files: StorageFiles, s3_server: S3Server, bucket: str
) -> None:
    """A plain request of our own finds the object under its encoded name."""
    await files.write(f"s3://{bucket}/a b%2F+ü/x", b"content")

    answer = send(s3_server.keys, "GET", f"{s3_server.url}/{bucket}/a%20b%252F%2B%C3%BC/x")

    assert answer == (200, b"content")
