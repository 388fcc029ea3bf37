"""Which credentials are handed out, and how often they are made."""

import asyncio
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest

from headgate.errors import BadRequest, Forbidden, StorageUnavailable
from headgate.limits import CREDENTIAL_SECONDS_MAX
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.vending import StorageVending
from headgate.testing.manual_clock import START_MS, ManualClock
from headgate.testing.recording_server import RecordingServer, Reply

ANSWER = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<Credentials><AccessKeyId>temporary-id</AccessKeyId><SecretAccessKey>temporary-secret
</SecretAccessKey><SessionToken>temporary-token</SessionToken></Credentials>
</AssumeRoleResult></AssumeRoleResponse>"""
TABLE = "s3://bucket/ns/t1"
AZURE = "abfss://box@acc.dfs.core.windows.net/t"


@pytest.fixture
def sts() -> Iterator[RecordingServer]:
    with RecordingServer(Reply(200, ANSWER)) as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def vending(sts: RecordingServer, clock: ManualClock) -> StorageVending:
    return StorageVending(StorageOptions(s3=s3(sts), allowed_endpoints=(sts.url,)), clock)


def s3(sts: RecordingServer) -> S3Options:
    return S3Options(
        sts_endpoint=sts.url,
        allow_http=True,
        region="eu-x-1",
        access_key_id="our-id",
        secret_access_key="our-secret",
        role_arn="arn:aws:iam::123456789012:role/tables",
        external_id="outside",
        delegation="sts",
    )


async def test_temporary_keys_are_made_for_one_table(
    vending: StorageVending, sts: RecordingServer
) -> None:
    """Role, life and policy go to the token service; the client gets what comes back."""
    [credential] = await vending.credentials(TABLE, write=True)

    assert credential.prefix == TABLE
    assert credential.config == {
        "s3.access-key-id": "temporary-id",
        "s3.secret-access-key": "temporary-secret",
        "s3.session-token": "temporary-token",
        "s3.session-token-expires-at-ms": str(START_MS + 900_000),
        "client.region": "eu-x-1",
    }
    [request] = sts.received
    form = parse_qs(request.body.decode())
    assert form["RoleArn"] == ["arn:aws:iam::123456789012:role/tables"]
    assert (form["DurationSeconds"], form["ExternalId"]) == (["900"], ["outside"])
    assert "bucket/ns/t1/*" in form["Policy"][0]
    assert "/eu-x-1/sts/aws4_request" in request.headers["authorization"]
    assert "our-secret" not in sts.text()


async def test_keys_serve_for_half_of_their_life(
    vending: StorageVending, sts: RecordingServer, clock: ManualClock
) -> None:
    """Within the same half they are shared; writers, readers and other tables have their own."""
    generation = vending.generation(TABLE)
    for location, write in [(TABLE, True), (TABLE, True), (TABLE, False), (f"{TABLE}0", True)]:
        await vending.credentials(location, write=write)
    assert len(sts.received) == 3
    assert vending.generation(TABLE) == generation

    clock.advance(450_000)
    await vending.credentials(TABLE, write=True)

    assert len(sts.received) == 4
    assert vending.generation(TABLE) != generation


async def test_whoever_comes_last_still_has_half_of_their_life(
    vending: StorageVending, clock: ManualClock
) -> None:
    """At any time, whenever they were made."""
    for _ in range(50):
        [credential] = await vending.credentials(TABLE, write=True)
        left = int(credential.config["s3.session-token-expires-at-ms"]) - clock.wall_ms()
        assert 450_000 <= left <= 900_000
        clock.advance(37_000)


async def test_many_who_ask_at_once_share_one_request(
    vending: StorageVending, sts: RecordingServer
) -> None:
    """A thousand readers of one table are one call to the token service."""
    answers = await asyncio.gather(*(vending.credentials(TABLE, write=False) for _ in range(20)))

    assert len(sts.received) == 1
    assert all(answer == answers[0] for answer in answers)


async def test_one_who_goes_away_takes_nothing_from_the_others(
    vending: StorageVending, sts: RecordingServer
) -> None:
    """A client that hangs up does not cancel the request that others wait for."""
    impatient = asyncio.create_task(vending.credentials(TABLE, write=True))
    patient = asyncio.create_task(vending.credentials(TABLE, write=True))
    await asyncio.sleep(0)
    impatient.cancel()

    assert len(await patient) == 1
    assert len(sts.received) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(403, b"<Error><Code>AccessDenied</Code></Error>"), "403 AccessDenied"),
        (Reply(302, b"", {"location": "http://127.0.0.1:9/"}), "answers 302"),
        (Reply(200, b"<x"), "no XML"),
        (Reply(200, b"<x/>"), "no credentials"),
        (Reply(200, b"<x><Credentials/></x>"), "lacks a part"),
    ],
)
async def test_a_failure_is_explained_and_forgotten(
    vending: StorageVending, sts: RecordingServer, reply: Reply, why: str
) -> None:
    """The next one to ask tries again; a redirect is not followed."""
    sts.reply = reply
    with pytest.raises(StorageUnavailable, match=why):
        await vending.credentials(TABLE, write=True)

    sts.reply = Reply(200, ANSWER)

    assert len(await vending.credentials(TABLE, write=True)) == 1


async def test_keys_are_asked_for_by_the_present_time_after_a_jump(
    vending: StorageVending, sts: RecordingServer, clock: ManualClock
) -> None:
    """A service refuses requests whose time is off: that of a jump which is over is not used."""
    clock.jump(30 * 86_400_000)
    clock.follow()
    clock.jump(-30 * 86_400_000)
    await vending.credentials(TABLE, write=True)

    assert sts.received[-1].headers["x-amz-date"].startswith("20260101T")


async def test_a_token_service_that_is_gone_is_unavailable(clock: ManualClock) -> None:
    """With what to do."""
    nobody = "http://127.0.0.1:9"
    options = S3Options(sts_endpoint=nobody, allow_http=True, access_key_id="x", delegation="sts")
    vending = StorageVending(StorageOptions(s3=options, allowed_endpoints=(nobody,)), clock)

    with pytest.raises(StorageUnavailable, match="Check the catalog's role"):
        await vending.credentials(TABLE, write=True)


async def test_nobody_is_asked_for_what_is_refused(
    vending: StorageVending, sts: RecordingServer, clock: ManualClock
) -> None:
    """A pattern, a bad location, an endpoint that is not listed: no request is made."""
    unlisted = StorageVending(StorageOptions(s3=s3(sts)), clock)

    with pytest.raises(Forbidden):
        await vending.credentials("s3://bucket/ns/*", write=True)
    with pytest.raises(BadRequest):
        await vending.credentials("s3://bucket/ns/../x", write=True)
    with pytest.raises(Forbidden):
        await unlisted.credentials(TABLE, write=True)

    assert sts.received == []


async def test_the_store_of_keys_does_not_grow_without_end(
    vending: StorageVending, sts: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts anew when it is full."""
    monkeypatch.setattr("headgate.storage.vending.CREDENTIALS_KNOWN_MAX", 2)

    for number in range(5):
        await vending.credentials(f"{TABLE}/{number}", write=True)

    assert len(vending._made) <= 2


@pytest.mark.parametrize(
    ("location", "config"),
    [
        (
            TABLE,
            {"s3.access-key-id": "id", "s3.secret-access-key": "hush", "client.region": "eu-x-1"},
        ),
        ("gs://bucket/t", {"gcs.oauth2.token": "token"}),
        (
            AZURE,
            {
                "adls.sas-token.acc": "sv=1",
                "adls.sas-token.acc.dfs.core.windows.net": "sv=1",
            },
        ),
    ],
)
async def test_static_keys_are_handed_out_where_the_operator_says_so(
    location: str, config: dict[str, str], clock: ManualClock
) -> None:
    """As they are; they change when somebody changes them."""
    static, other = (
        StorageVending(
            StorageOptions(
                s3=S3Options(
                    access_key_id="id",
                    secret_access_key=secret,
                    region="eu-x-1",
                    delegation="static",
                ),
                gcs=GcsOptions(token=token, delegation="static"),
                azure=AzureOptions(account_name="acc", sas_token=sas, delegation="static"),
            ),
            clock,
        )
        for secret, token, sas in [("hush", "token", "?sv=1"), ("hush2", "token2", "?sv=2")]
    )

    [credential] = await static.credentials(location, write=False)

    assert (credential.prefix, credential.config) == (location, config)
    assert static.generation(location) != other.generation(location)
    assert static.generation(location) == static.generation(location)


@pytest.mark.parametrize("location", [TABLE, "gs://bucket/t", AZURE, "/warehouse/t"])
async def test_nothing_is_handed_out_unless_the_operator_says_so(
    location: str, clock: ManualClock
) -> None:
    """Keys that the server uses are its own; there is no empty credential, which Java refuses."""
    own = StorageOptions(
        s3=S3Options(access_key_id="id", secret_access_key="hush"),
        gcs=GcsOptions(token="token"),
        azure=AzureOptions(account_name="acc", sas_token="sv=1"),
    )

    for options in (own, StorageOptions()):
        vending = StorageVending(options, clock)
        assert await vending.credentials(location, write=True) == []
        assert vending.generation(location) == ""


async def test_nothing_is_handed_out_where_there_is_nothing(clock: ManualClock) -> None:
    """Static without keys, and another account than the configured one."""
    options = StorageOptions(
        s3=S3Options(delegation="static"),
        azure=AzureOptions(account_name="other", sas_token="sv=1", delegation="static"),
    )
    vending = StorageVending(options, clock)

    assert await vending.credentials(TABLE, write=True) == []
    assert await vending.credentials(AZURE, write=True) == []


@pytest.mark.parametrize(
    ("options", "location", "config"),
    [
        (StorageOptions(s3=S3Options(region="r")), TABLE, {"client.region": "r"}),
        (
            StorageOptions(s3=S3Options(endpoint="https://s3.example.com", secret_access_key="x")),
            TABLE,
            {
                "client.region": "us-east-1",
                "s3.endpoint": "https://s3.example.com",
                "s3.path-style-access": "true",
            },
        ),
        (
            StorageOptions(s3=S3Options(endpoint="https://s3.example.com", path_style=False)),
            TABLE,
            {
                "client.region": "us-east-1",
                "s3.endpoint": "https://s3.example.com",
                "s3.path-style-access": "false",
                "s3.force-virtual-addressing": "true",
            },
        ),
        (
            StorageOptions(gcs=GcsOptions(base_url="https://gcs.example.com")),
            "gs://bucket/t",
            {"gcs.service.host": "https://gcs.example.com"},
        ),
        (StorageOptions(gcs=GcsOptions(token="x")), "gs://bucket/t", {}),
        (StorageOptions(), TABLE, {}),
        (StorageOptions(), "/warehouse/t", {}),
    ],
)
def test_clients_are_told_how_to_reach_the_store(
    options: StorageOptions, location: str, config: dict[str, str], clock: ManualClock
) -> None:
    """What is no secret is told to everybody."""
    assert StorageVending(options, clock).config(location) == config


@pytest.mark.parametrize(
    ("options", "location", "seconds"),
    [
        (StorageOptions(s3=S3Options(delegation="sts", duration_seconds=1_800)), TABLE, 1_800),
        (StorageOptions(s3=S3Options(delegation="static")), TABLE, CREDENTIAL_SECONDS_MAX),
        (StorageOptions(s3=S3Options()), TABLE, 0),
        (StorageOptions(s3=S3Options(delegation="sts")), "/local/t", 0),
        (StorageOptions(), TABLE, 0),
        (StorageOptions(gcs=GcsOptions(delegation="static")), "gs://b/t", CREDENTIAL_SECONDS_MAX),
        (StorageOptions(azure=AzureOptions(account_name="acc")), AZURE, 0),
    ],
)
def test_the_longest_life_of_credentials_is_known_before_any_are_made(
    clock: ManualClock, options: StorageOptions, location: str, seconds: int
) -> None:
    """Configured keys have no known end, and count as the longest."""
    assert StorageVending(options, clock).seconds(location) == seconds
