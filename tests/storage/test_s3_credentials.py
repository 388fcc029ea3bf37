"""Keys that are handed to clients, used on a real S3 server as a client would use them."""

import pytest

from headgate.errors import AlreadyExists, FileMissing
from headgate.testing.object_stores import S3Server, send
from tests.storage.clients import files_of, vended_keys


async def test_a_client_can_work_in_its_table(s3_server: S3Server, bucket: str) -> None:
    """Write, read, list and delete, with temporary keys that are not the server's own."""
    table = f"s3://{bucket}/ns/t1"
    keys = await vended_keys(s3_server, table, write=True)
    client = files_of(s3_server, keys, bucket)

    await client.write(f"{table}/data/f.parquet", b"x")

    assert keys.access_key_id != s3_server.keys.access_key_id
    assert await client.read(f"{table}/data/f.parquet") == b"x"
    assert [name async for name in client.list(table)] == [f"{table}/data/f.parquet"]
    with pytest.raises(AlreadyExists):
        await client.write(f"{table}/data/f.parquet", b"y")
    assert await client.delete([f"{table}/data/f.parquet"]) == []
    with pytest.raises(FileMissing):
        await client.read(f"{table}/data/f.parquet")


async def test_a_client_may_write_a_file_in_parts(s3_server: S3Server, bucket: str) -> None:
    """Large files are sent that way."""
    keys = await vended_keys(s3_server, f"s3://{bucket}/t", write=True)
    url = f"{s3_server.url}/{bucket}/t/f.parquet"

    status, answer = send(keys, "POST", f"{url}?uploads=")
    upload = answer.partition(b"<UploadId>")[2].partition(b"</UploadId>")[0].decode()
    parts = send(keys, "PUT", f"{url}?partNumber=1&uploadId={upload}", b"x")
    stopped = send(keys, "DELETE", f"{url}?uploadId={upload}")

    assert (status, parts[0], stopped[0]) == (200, 200, 204)
