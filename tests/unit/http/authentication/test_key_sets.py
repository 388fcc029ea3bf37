"""Key sets: fetched from one address, believed for a while, looked for again, but not too often."""

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest

from headgate.errors import Unavailable
from headgate.http.authentication.key_sets import KeySet, fetch, keys_in
from headgate.limits import (
    KEY_SET_AGAIN_SECONDS,
    KEY_SET_BYTES_MAX,
    KEY_SET_SECONDS,
    KEY_SET_STALE_SECONDS,
)
from headgate.testing.manual_clock import ManualClock
from headgate.testing.recording_server import RecordingServer, Reply
from tests.unit.http.authentication.providers import KEYS, OTHER_RSA, URL, Provider, public

DOCUMENT = json.dumps({"keys": KEYS}).encode()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer(Reply(200, DOCUMENT)) as server:
        yield server


async def test_keys_are_fetched_when_they_are_needed(clock: ManualClock) -> None:
    """Once for many who ask at once, and again when they have become old."""
    provider = Provider()
    keys = provider.key_set(clock)
    assert provider.fetches == 0

    found = await asyncio.gather(*(keys.find("rsa", "RS256") for _ in range(9)))
    assert all(found)
    assert provider.fetches == 1
    clock.advance(KEY_SET_SECONDS * 1000 - 1)
    assert await keys.find("rsa", "RS256")
    assert provider.fetches == 1
    clock.advance(1)
    assert await keys.find("rsa", "RS256")
    assert provider.fetches == 2


async def test_a_caller_that_is_cancelled_leaves_the_fetch_to_the_others(
    clock: ManualClock,
) -> None:
    """Also the first, for whom it was begun: the others get the keys, of the same fetch."""
    provider = Provider()
    let_go, fetches = asyncio.Event(), [0]

    async def slowly(url: str) -> bytes:
        fetches[0] += 1
        await let_go.wait()
        return await provider.fetch(url)

    keys = KeySet(URL, clock, slowly)
    first, *others = [asyncio.create_task(keys.find("rsa", "RS256")) for _ in range(9)]
    unknown = [asyncio.create_task(keys.find(str(number), "RS256")) for number in range(9)]
    while not fetches[0]:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    let_go.set()

    assert all(await asyncio.gather(*others))
    assert await asyncio.gather(*unknown) == [None] * 9
    assert fetches == [1]


async def test_a_key_that_is_withdrawn_is_not_believed_for_long(clock: ManualClock) -> None:
    """Only until the set is fetched again."""
    provider = Provider()
    keys = provider.key_set(clock)
    assert await keys.find("rsa", "RS256")
    provider.keys = [public(OTHER_RSA, kid="other")]
    clock.advance(KEY_SET_SECONDS * 1000)

    assert await keys.find("rsa", "RS256") is None
    assert await keys.find("other", "RS256")


async def test_an_unknown_key_is_looked_for_now_and_then(clock: ManualClock) -> None:
    """A new one is found; whoever makes names up does not make us ask all the time."""
    provider = Provider()
    keys = provider.key_set(clock)
    assert await keys.find("rsa", "RS256")
    provider.keys.append(public(OTHER_RSA, kid="new"))
    assert await keys.find("new", "RS256") is None, "it was fetched a moment ago"
    clock.advance(KEY_SET_AGAIN_SECONDS * 1000)
    assert await keys.find("new", "RS256")
    assert provider.fetches == 2

    for number in range(50):
        assert await keys.find(str(number), "RS256") is None
    assert provider.fetches == 2


@pytest.mark.parametrize("error", [ConnectionRefusedError("no"), TimeoutError()])
async def test_a_provider_that_does_not_answer_is_spared(
    clock: ManualClock, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Known keys stay good for an hour; without any, nobody can be let in, nor be told it lies."""
    provider = Provider()
    keys = provider.key_set(clock)
    provider.error = error
    for _ in range(3):
        with pytest.raises(Unavailable, match="Tokens cannot be checked"):
            await keys.find("rsa", "RS256")
    assert provider.fetches == 1
    provider.error = None
    clock.advance(KEY_SET_AGAIN_SECONDS * 1000)
    assert await keys.find("rsa", "RS256")

    provider.error = error
    clock.advance(KEY_SET_SECONDS * 1000)
    assert await keys.find("rsa", "RS256")
    assert await keys.find("new", "RS256") is None
    assert "cannot be fetched" in caplog.text
    clock.advance(KEY_SET_STALE_SECONDS * 1000)
    with pytest.raises(Unavailable):
        await keys.find("rsa", "RS256")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"keys": 7}', b"\xff", b'{"keys": [7]}'])
async def test_what_is_no_key_set_is_not_used(clock: ManualClock, raw: bytes) -> None:
    """The keys that were known before are."""
    provider = Provider()
    keys = provider.key_set(clock)
    assert await keys.find("rsa", "RS256")
    provider.raw = raw or b" "
    clock.advance(KEY_SET_SECONDS * 1000)

    assert await keys.find("rsa", "RS256")
    assert provider.fetches == 2


def test_keys_are_only_public_ones() -> None:
    """A secret in a key set is of no use to anybody."""
    private = {**public(OTHER_RSA, kid="private"), "d": "AQAB"}
    raw = json.dumps({"keys": [private, *KEYS]}).encode()

    assert [key.id for key in keys_in(raw)] == ["rsa", "p256", "ed"]


async def test_a_key_set_comes_over_http(server: RecordingServer, clock: ManualClock) -> None:
    """With a plain request that carries nothing."""
    keys = KeySet(f"{server.url}/keys?tenant=1", clock)

    assert await keys.find("rsa", "RS256")
    [request] = server.received
    assert (request.method, request.target, request.body) == ("GET", "/keys?tenant=1", b"")
    assert "authorization" not in request.headers
    assert "cookie" not in request.headers


async def test_no_redirect_is_followed(server: RecordingServer) -> None:
    """The operator named this address and no other."""
    with RecordingServer(Reply(200, DOCUMENT)) as other:
        server.reply = Reply(302, b"", {"location": f"{other.url}/keys"})
        with pytest.raises(OSError, match="it answers 302"):
            await fetch(f"{server.url}/keys")

    assert other.received == []


async def test_a_key_set_has_a_limited_size(server: RecordingServer) -> None:
    """Nobody fills our memory."""
    server.reply = Reply(200, b" " * (KEY_SET_BYTES_MAX + 1))
    with pytest.raises(OSError, match="more than"):
        await fetch(f"{server.url}/")

    server.reply = Reply(200, DOCUMENT.ljust(KEY_SET_BYTES_MAX))
    assert len(await fetch(server.url)) == KEY_SET_BYTES_MAX


async def test_a_provider_that_never_answers_holds_up_nobody(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is in a thread, and ends."""
    monkeypatch.setattr("headgate.http.authentication.key_sets.KEY_SET_TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        looking = asyncio.create_task(KeySet(f"http://127.0.0.1:{port}", clock).find("a", "RS256"))
        turns = 0
        while not looking.done():
            await asyncio.sleep(0.005)
            turns += 1
        with pytest.raises(Unavailable):
            await looking

    assert turns > 5
