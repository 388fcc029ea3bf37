"""What is sent to object stores, seen from the other side."""

import base64
import json
import traceback
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from headgate.clock import SystemClock
from headgate.errors import (
    AlreadyExists,
    BadSetting,
    FileMissing,
    Forbidden,
    HeadgateError,
    StorageRefused,
    StorageUnavailable,
    TooLarge,
)
from headgate.storage import file_sizes
from headgate.storage.files import StorageFiles
from headgate.storage.object_files import READ_AT_ONCE_BYTES
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.places import parse
from headgate.storage.stores import open_store
from headgate.testing.manual_clock import ManualClock
from headgate.testing.recording_server import RecordingServer, Reply

AMBIENT = "ambient-value-of-the-server"
AMBIENT_BASE64 = base64.b64encode(AMBIENT.encode()).decode()
ELSEWHERE = "http://127.0.0.1:9/ambient-value-of-the-server"
SECRETS = [
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_TOKEN"),
    *("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SSE_KMS_KEY_ID", "AWS_BUCKET"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_REGION", "AWS_DEFAULT_REGION"),
    *("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CLIENT_ID", "AZURE_STORAGE_CLIENT_SECRET"),
    *("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"),
    *("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN"),
    *("GOOGLE_BEARER_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BUCKET"),
]
IN_BASE64 = ["AWS_SSE_CUSTOMER_KEY_BASE64", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_ENCRYPTION_KEY"]
ADDRESSES = [
    *("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_STS_ENDPOINT"),
    *("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_METADATA_ENDPOINT"),
    *("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_MSI_ENDPOINT", "GOOGLE_BASE_URL"),
]
SWITCHES = [
    *("AWS_SKIP_SIGNATURE", "AWS_REQUEST_PAYER", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"),
    *("AWS_S3_EXPRESS", "AWS_UNSIGNED_PAYLOAD", "AZURE_SKIP_SIGNATURE", "AZURE_USE_AZURE_CLI"),
    *("AZURE_STORAGE_USE_EMULATOR", "AZURE_USE_FABRIC_ENDPOINT", "GOOGLE_SKIP_SIGNATURE"),
]
GOOGLE_KEY = json.dumps(
    {
        "client_email": AMBIENT,
        "private_key": AMBIENT,
        "private_key_id": AMBIENT,
        "gcs_base_url": ELSEWHERE,
        "disable_oauth": True,
    }
)
FOUND = {"etag": '"1"', "last-modified": "Wed, 21 Oct 2015 07:28:00 GMT", "x-goog-generation": "1"}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer(Reply(200, b"x", FOUND)) as server:
        yield server


@pytest.fixture
def ambient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment full of somebody else's credentials and addresses."""
    for name in SECRETS:
        monkeypatch.setenv(name, AMBIENT)
    for name in IN_BASE64:
        monkeypatch.setenv(name, AMBIENT_BASE64)
    for name in ADDRESSES:
        monkeypatch.setenv(name, ELSEWHERE)
    for name in SWITCHES:
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", GOOGLE_KEY)


def options(kind: str, server: RecordingServer, *, signed: bool) -> StorageOptions:
    s3 = S3Options(endpoint=server.url, allow_http=True, region="eu-x-1")
    gcs = GcsOptions(base_url=server.url, allow_http=True, token="our-token" if signed else "")
    azure = AzureOptions(
        account_name="acc",
        endpoint=f"{server.url}/acc",
        allow_http=True,
        sas_token="?sv=1&sig=our-signature" if signed and kind == "azure-sas" else "",
        account_key=base64.b64encode(b"our-key").decode() if signed and kind == "azure" else "",
    )
    if signed:
        s3 = S3Options(
            endpoint=server.url,
            allow_http=True,
            region="eu-x-1",
            access_key_id="our-id",
            secret_access_key="our-secret",
        )
    return StorageOptions(s3=s3, gcs=gcs, azure=azure, allowed_endpoints=(server.url,))


LOCATIONS = {
    "s3": "s3://bucket/t/v1.json",
    "gcs": "gs://bucket/t/v1.json",
    "azure": "abfss://box@acc.dfs.core.windows.net/t/v1.json",
    "azure-sas": "abfss://box@acc.dfs.core.windows.net/t/v1.json",
}
ROOTS = [
    *("s3://bucket", "gs://bucket", "abfss://box@acc.dfs.core.windows.net"),
    *("abfss://box@other.dfs.core.windows.net/", "s3://one", "s3://two", "s3://three"),
]
SIGNS = {
    "s3": "Credential=our-id/",
    "gcs": "Bearer our-token",
    "azure": "SharedKey acc:",
    "azure-sas": "sig=our-signature",
}


async def use(files: StorageFiles, location: str) -> None:
    await files.write(location, b"x")
    await files.read(location)
    await files.missing(location)
    await files.delete([location])


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("kind", LOCATIONS)
async def test_nothing_of_the_environment_is_sent_with_our_credentials(
    server: RecordingServer, kind: str
) -> None:
    """Neither a key nor a session token nor a region; all requests reach the address we named."""
    await use(StorageFiles(options(kind, server, signed=True), ROOTS), LOCATIONS[kind])

    assert len(server.received) >= 4
    assert AMBIENT not in server.text()
    assert AMBIENT_BASE64 not in server.text()
    assert "security-token" not in server.text()
    assert all(SIGNS[kind] in request.text() for request in server.received)


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("kind", LOCATIONS)
async def test_without_credentials_nothing_is_signed(server: RecordingServer, kind: str) -> None:
    """The server's own are not used instead."""
    await use(StorageFiles(options(kind, server, signed=False), ROOTS), LOCATIONS[kind])

    assert len(server.received) >= 4
    assert AMBIENT not in server.text()
    assert AMBIENT_BASE64 not in server.text()
    assert not any(
        request.headers.get("authorization", "").removeprefix("Bearer").strip()
        or "sig=" in request.target
        for request in server.received
    )


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("encryption", ["sse-c", "aws:kms"])
async def test_an_encryption_key_of_the_environment_is_not_sent(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch, encryption: str
) -> None:
    """It would be a header of every request."""
    monkeypatch.setenv("AWS_SERVER_SIDE_ENCRYPTION", encryption)

    await use(StorageFiles(options("s3", server, signed=True), ROOTS), LOCATIONS["s3"])

    assert AMBIENT not in server.text()
    assert AMBIENT_BASE64 not in server.text()


async def test_a_key_file_in_the_environment_is_refused_not_used(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one variable cannot be overridden; then nothing is sent at all."""
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/ambient.json")

    with pytest.raises(StorageUnavailable, match="service account"):
        await StorageFiles(options("gcs", server, signed=True), ROOTS).read(LOCATIONS["gcs"])

    assert server.received == []


@pytest.mark.usefixtures("ambient")
async def test_a_service_account_signs_with_its_own_key(server: RecordingServer) -> None:
    """Not with what the environment has, and an address in the key's file is not used."""
    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    key = json.dumps(
        {
            "client_email": "me@example.com",
            "private_key": pem,
            "private_key_id": "1",
            "gcs_base_url": ELSEWHERE,
        }
    )
    gcs = GcsOptions(service_account_key=key, base_url=server.url, allow_http=True)
    files = StorageFiles(
        StorageOptions(gcs=gcs, allowed_endpoints=(server.url,)),
        ROOTS,
        clock=ManualClock(1_700_000_000_000),
    )

    await files.read("gs://bucket/x")

    text, _, signature = server.received[0].headers["authorization"][7:].rpartition(".")
    claims = json.loads(decoded(text.partition(".")[2]))
    private.public_key().verify(decoded(signature), text.encode(), PKCS1v15(), SHA256())
    assert (claims["iss"], claims["exp"]) == ("me@example.com", 1_700_003_600)


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize("key", ["no JSON", "[]", '{"client_email": "x"}', "null"])
async def test_a_service_account_key_that_is_none_is_a_bad_setting(key: str) -> None:
    """Without showing it."""

    async def outside(host: str) -> list[str]:
        return ["142.250.1.1"]

    files = StorageFiles(
        StorageOptions(gcs=GcsOptions(service_account_key=key)), ROOTS, resolve=outside
    )

    with pytest.raises(BadSetting, match="private_key_id"):
        await files.read("gs://bucket/x")


def test_a_bucket_can_be_a_part_of_the_hosts_name() -> None:
    """In virtual host style it is, whatever the port."""
    options = S3Options(endpoint="https://s3.example.com:9000", path_style=False)

    config = open_store(options, "bucket", SystemClock()).config

    assert dict(config)["endpoint"] == "https://bucket.s3.example.com:9000"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, FileMissing),
        (412, AlreadyExists),
        (403, StorageRefused),
        (401, StorageRefused),
        (400, StorageRefused),
        (503, StorageUnavailable),
    ],
)
async def test_errors_of_a_store_become_ours(
    server: RecordingServer, status: int, error: type[HeadgateError]
) -> None:
    """Each with its meaning, and none with a secret, not even in its traceback."""
    files = StorageFiles(options("azure-sas", server, signed=True), ROOTS)
    server.reply = Reply(status, b"<Error><Code>Some</Code></Error>", FOUND)

    place = parse(LOCATIONS["azure"])
    call = files._objects.read(place) if status != 412 else files._objects.write(place, [b"x"])

    with pytest.raises(HeadgateError) as caught:
        await call

    assert type(caught.value) is error
    assert "our-signature" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["s3", "gcs", "azure"])
async def test_a_write_that_finds_no_bucket_says_so(server: RecordingServer, kind: str) -> None:
    """Nothing else can be missing for a new file, and the table it is for is not missing."""
    server.reply = Reply(404, b"<Error><Code>NoSuchBucket</Code></Error>")
    files = StorageFiles(options(kind, server, signed=True), ROOTS)

    with pytest.raises(StorageUnavailable, match="the bucket does not exist"):
        await files.write(LOCATIONS[kind], b"x")


async def test_a_large_object_is_read_in_pieces(server: RecordingServer) -> None:
    """They come together in their order."""
    content = bytes(range(256)) * (READ_AT_ONCE_BYTES // 100)
    server.reply = Reply(200, content, FOUND)

    files = StorageFiles(options("s3", server, signed=True), ROOTS)

    assert await files.read(LOCATIONS["s3"]) == content


async def test_an_object_that_is_too_large_is_not_read(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store says how large it is before it sends it."""
    monkeypatch.setattr(file_sizes, "METADATA_FILE_BYTES_MAX", 3)
    files = StorageFiles(options("s3", server, signed=True), ROOTS)
    server.reply = Reply(200, b"xxx", FOUND)
    assert await files.read(LOCATIONS["s3"]) == b"xxx"

    server.reply = Reply(200, b"xxxx", FOUND)
    with pytest.raises(TooLarge, match="it has 4 bytes, and metadata at most 3"):
        await files.read(LOCATIONS["s3"])


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("gs://bucket/x", "not configured"),
        ("abfss://box@other.dfs.core.windows.net/x", "uses the account 'acc'"),
        ("s3://bucket/x", "neither listed"),
    ],
)
async def test_what_is_not_configured_is_not_reached(location: str, why: str) -> None:
    """Another kind of store, another account, another endpoint."""
    s3 = S3Options(endpoint="https://evil.example.com")
    files = StorageFiles(StorageOptions(s3=s3, azure=AzureOptions(account_name="acc")), ROOTS)

    with pytest.raises(Forbidden, match=why):
        await files.read(location)


async def test_only_so_many_stores_are_kept(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has connections; the oldest is forgotten and opened again when needed."""
    monkeypatch.setattr("headgate.storage.stores.STORES_MAX", 2)
    files = StorageFiles(options("s3", server, signed=True), ROOTS)

    for bucket in ("one", "two", "three", "one"):
        await files.read(f"s3://{bucket}/x")

    assert len(files._objects._stores._stores) == 2
    assert [request.target for request in server.received] == [
        "/one/x",
        "/two/x",
        "/three/x",
        "/one/x",
    ]


@pytest.mark.parametrize("location", ["s3://bucket/t10/x", "s3://other/t1/x", "gs://bucket/t1/x"])
async def test_nothing_outside_of_the_roots_is_reached(
    server: RecordingServer, location: str
) -> None:
    """The server's keys may reach more than this catalog may."""
    files = StorageFiles(options("s3", server, signed=True), ["s3a://bucket/t1"])
    await files.read("s3://bucket/t1/x")

    with pytest.raises(Forbidden, match="below a location of this catalog"):
        await files.read(location)
    with pytest.raises(Forbidden):
        await files.write(location, b"x")
    with pytest.raises(Forbidden):
        files.list(location)
    kept = await files.delete([location])

    assert [name for name, _ in kept] == [location]
    assert len(server.received) == 1


async def test_a_connection_that_breaks_does_not_fail_a_write(server: RecordingServer) -> None:
    """A creation is repeated, since nobody can overwrite anything by it."""
    server.drops = 2

    await StorageFiles(options("s3", server, signed=True), ROOTS).write(LOCATIONS["s3"], b"x")

    assert [request.method for request in server.received] == ["PUT"] * 3


async def test_each_file_that_cannot_be_deleted_is_reported(server: RecordingServer) -> None:
    """A store refuses as a whole; then each file is tried by itself."""
    server.reply = Reply(403, b"<Error><Code>AccessDenied</Code></Error>")
    locations = ["s3://bucket/a", "s3://bucket/b"]

    kept = await StorageFiles(options("s3", server, signed=True), ROOTS).delete(locations)

    assert [location for location, _ in kept] == locations
    assert all("403" in why or "permission" in why.lower() for _, why in kept)
