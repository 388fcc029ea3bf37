"""What temporary keys do not allow, on a server that enforces policies (`./test full` only)."""

import pytest

from headgate.errors import StorageUnavailable
from headgate.storage.files import StorageFiles
from headgate.testing.object_stores import MinioServer, S3Server, send
from tests.storage.clients import files_of, vended_keys

pytestmark = pytest.mark.parametrize("s3_server", [MinioServer], indirect=True)

OUTSIDE = ["ns/t10/f", "ns/t1", "ns/t2/f", "ns/f", "f", "ns/t1x/f", "NS/t1/f"]


@pytest.mark.parametrize("name", OUTSIDE)
async def test_nothing_outside_of_the_table_is_reached(
    files: StorageFiles, s3_server: S3Server, bucket: str, name: str
) -> None:
    """Neither a sibling whose name begins alike, nor what lies above."""
    outside = f"s3://{bucket}/{name}"
    await files.write(outside, b"x")
    client = files_of(
        s3_server, await vended_keys(s3_server, f"s3://{bucket}/ns/t1", write=True), bucket
    )

    with pytest.raises(StorageUnavailable, match="Check the credentials"):
        await client.read(outside)
    with pytest.raises(StorageUnavailable, match="Check the credentials"):
        await client.write(f"{outside}.new", b"x")
    assert [location for location, _ in await client.delete([outside])] == [outside]

    assert await files.read(outside) == b"x"


@pytest.mark.parametrize("prefix", ["", "ns", "ns/", "ns/t1", "ns/t10/", "ns/t"])
async def test_nothing_outside_of_the_table_is_listed(
    s3_server: S3Server, bucket: str, prefix: str
) -> None:
    """Not even the names of siblings: `ns/t1` without a slash would show `ns/t10`."""
    keys = await vended_keys(s3_server, f"s3://{bucket}/ns/t1", write=True)
    url = f"{s3_server.url}/{bucket}?list-type=2&prefix={prefix.replace('/', '%2F')}"

    status, answer = send(keys, "GET", url)

    assert (status, b"AccessDenied" in answer) == (403, True)


async def test_one_refusal_does_not_keep_other_files_from_being_deleted(
    files: StorageFiles, s3_server: S3Server, bucket: str
) -> None:
    """A bulk deletion that is refused in part says in which part."""
    mine, other = f"s3://{bucket}/t1/f", f"s3://{bucket}/t10/f"
    await files.write(mine, b"x")
    await files.write(other, b"x")
    client = files_of(
        s3_server, await vended_keys(s3_server, f"s3://{bucket}/t1", write=True), bucket
    )

    kept = await client.delete([mine, other, f"s3://{bucket}/t1/never-was"])

    assert [location for location, _ in kept] == [other]
    assert await files.missing(mine)
    assert not await files.missing(other)


async def test_a_reader_cannot_write(files: StorageFiles, s3_server: S3Server, bucket: str) -> None:
    """Keys for reading read and list, and change nothing."""
    table = f"s3://{bucket}/t1"
    await files.write(f"{table}/f", b"x")
    reader = files_of(s3_server, await vended_keys(s3_server, table, write=False), bucket)

    assert await reader.read(f"{table}/f") == b"x"
    assert [name async for name in reader.list(table)] == [f"{table}/f"]
    with pytest.raises(StorageUnavailable):
        await reader.write(f"{table}/g", b"x")
    assert len(await reader.delete([f"{table}/f"])) == 1
    assert await files.missing(f"{table}/g")
    assert await files.read(f"{table}/f") == b"x"


async def test_another_bucket_is_out_of_reach(s3_server: S3Server, bucket: str) -> None:
    """The same path in another bucket is another place."""
    s3_server.create_bucket(f"{bucket}-other")
    owner = files_of(s3_server, s3_server.keys, f"{bucket}-other")
    await owner.write(f"s3://{bucket}-other/t1/f", b"x")
    client = files_of(
        s3_server, await vended_keys(s3_server, f"s3://{bucket}/t1", write=True), f"{bucket}-other"
    )

    with pytest.raises(StorageUnavailable):
        await client.read(f"s3://{bucket}-other/t1/f")


async def test_wrong_keys_are_refused(s3_server: S3Server, bucket: str) -> None:
    """The server checks signatures, so the tests above prove what they say."""
    keys = (await vended_keys(s3_server, f"s3://{bucket}/t1", write=True))._replace(
        secret_access_key="wrong"
    )

    with pytest.raises(StorageUnavailable, match="Check the credentials"):
        await files_of(s3_server, keys, bucket).read(f"s3://{bucket}/t1/f")
