"""Requests that the catalog signs, sent by a client that knows no keys."""

import base64
import hashlib
import http.client
from urllib.parse import quote

import pytest

from headgate.clock import SystemClock
from headgate.storage.files import StorageFiles
from headgate.storage.signing import S3Signer
from headgate.testing.object_stores import S3Server
from headgate.testing.store_process import send


class Client:
    """Asks for a signature, then sends."""

    def __init__(self, server: S3Server, prefix: str) -> None:
        self._signer = S3Signer(server.options(), SystemClock())
        self._prefix = prefix
        self._url = server.url

    def send(
        self, method: str, target: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes]:
        url, added = self._signer.sign(
            method,
            self._url + target,
            headers,
            region=S3Server.region,
            body=body,
            prefixes=[self._prefix],
            write=True,
        )
        return send(method, url, headers | added, body)


@pytest.fixture
def client(s3_server: S3Server, bucket: str) -> Client:
    return Client(s3_server, f"s3://{bucket}/ns/t1")


@pytest.mark.parametrize("name", ["f", "a b", "x=1/ä%2F€", "p+q"])
async def test_a_signed_request_is_accepted(
    client: Client, files: StorageFiles, bucket: str, name: str
) -> None:
    """Write, read in full and in part, and delete, whatever the name is."""
    target = f"/{bucket}/ns/t1/{quote(name)}"

    written = client.send("PUT", target, b"content")
    found = await files.read(f"s3://{bucket}/ns/t1/{name}")
    read = client.send("GET", target)
    part = client.send("GET", f"{target}?x-id=GetObject", Range="bytes=0-2")
    deleted = client.send("DELETE", target)

    assert (written[0], found, read) == (200, b"content", (200, b"content"))
    assert part == (206, b"con")
    assert deleted[0] == 204
    assert await files.missing(f"s3://{bucket}/ns/t1/{name}")


async def test_a_signed_list_is_answered(client: Client, files: StorageFiles, bucket: str) -> None:
    """Of the table's own files."""
    await files.write(f"s3://{bucket}/ns/t1/f", b"x")

    status, answer = client.send("GET", f"/{bucket}?list-type=2&prefix=ns%2Ft1%2F")

    assert status == http.client.OK
    assert b"<Key>ns/t1/f</Key>" in answer


async def test_several_files_are_deleted_at_once(
    client: Client, files: StorageFiles, bucket: str
) -> None:
    """The body that was looked at is the one that is sent."""
    for name in ("f", "g"):
        await files.write(f"s3://{bucket}/ns/t1/{name}", b"x")
    body = (
        b"<Delete><Object><Key>ns/t1/f</Key></Object><Object><Key>ns/t1/g</Key></Object></Delete>"
    )
    md5 = {"Content-MD5": md5_of(body)}

    status, _ = client.send("POST", f"/{bucket}?delete", body, **md5)

    assert status == http.client.OK
    assert [name async for name in files.list(f"s3://{bucket}/ns/t1")] == []


def md5_of(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body).digest()).decode()
