"""Floods of clients that are not authenticated: a known client is served meanwhile."""

import json
import socket
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from headgate.limits import TOKENS_PER_ADDRESS_MAX
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.recording_server import RecordingServer, Reply
from tests.authentication.asking import TABLES, bearer, command, get, sets, token_for

TOKENS = "/iceberg/v1/oauth/tokens"
PATIENCE_SECONDS = 60
ROUNDS = 5
ISSUER = "https://provider.example.com"
METHODS = ("basic", "token", "oidc")


class Attacked(NamedTuple):
    """A server, a client that it knows, and the identity provider that it asks for keys."""

    server: HeadgateServer
    known: dict[str, str]
    provider: RecordingServer

    def served(self, about: str) -> bool:
        """Whether the known client reads and writes, on new connections."""
        statuses = Counter[int]()
        for number in range(ROUNDS):
            body = {"namespace": [f"{about}-{number}"]}
            statuses[get(self.server, f"{TABLES}?n={number}", headers=self.known).status_code] += 1
            made = httpx.post(
                self.server.url + TABLES, json=body, headers=self.known, timeout=PATIENCE_SECONDS
            )
            statuses[made.status_code] += 1
        return statuses == {200: 2 * ROUNDS}

    def send(self, stack: ExitStack, sent: bytes) -> socket.socket:
        """A connection on which so much is sent, as far as it is taken."""
        place = urlsplit(self.server.url)
        connection = stack.enter_context(
            socket.create_connection((place.hostname, place.port), PATIENCE_SECONDS)
        )
        with suppress(ConnectionError):  # it may be refused before all was sent
            connection.sendall(sent)
        return connection


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    with RecordingServer(Reply(200, b'{"keys": []}')) as provider:
        options = sets(
            f"authentication.methods={','.join(METHODS)}",
            f"authentication.oidc.issuers={ISSUER}={provider.url}/keys",
            "authentication.oidc.audience=headgate",
        )
        with HeadgateServer(folder, *options) as server:
            data = ("--data", str(folder / "data"), *options)
            secret = command("token", "secret", "create", "spark", *data)["client-secret"]
            token = token_for(server, "spark", secret).json()["access_token"]
            yield Attacked(server, bearer(token), provider)


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: localhost", *headers, "", ""]).encode()


def claims(part: object) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def made_up(number: int) -> str:
    """A token of the provider, signed by nothing, with a key id that is not known."""
    header, said = {"alg": "RS256", "kid": str(number)}, {"iss": ISSUER, "aud": "headgate"}
    return f"{claims(header)}.{claims(said)}.AAAA"


CHUNKED = head("POST", TOKENS, "transfer-encoding: chunked")
FLOODS = {
    "half-headers": (head("GET", TABLES)[:-4], 500),
    "long-headers": (head("GET", TABLES, *(["x-a: " + "a" * 8_000] * 100)), 50),
    "endless-header": (head("GET", TABLES, "x-a: " + "a" * 4_000_000), 10),
    "ahead": (head("GET", "/nothing") * 2_000, 20),
    "unread": (head("GET", "/api/openapi.json") * 200, 50),
    "huge-chunk": (CHUNKED + b"fffffffffffff0\r\n" + b"a" * 100, 200),
    "long-extension": (CHUNKED + b"1;" + b"e" * 1_000_000 + b"\r\na\r\n", 20),
    "tiny-chunks": (CHUNKED + b"2\r\nab\r\n" * 5_000, 20),
    "large-json": (head("POST", TABLES, "content-length: 10000000") + b"[" * 10_000_000, 10),
    "large-form": (head("POST", TOKENS, "content-length: 10000000") + b"[" * 10_000_000, 10),
    "long-path": (head("GET", "/iceberg/v1/" + "a/" * 10_000), 50),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_known_client_is_served_during_a_flood(attacked: Attacked, flood: str) -> None:
    """Whatever is sent without credentials, and is not read."""
    sent, count = FLOODS[flood]
    with ExitStack() as stack:
        for _ in range(count):
            attacked.send(stack, sent)

        assert attacked.served(flood)

    assert "Traceback" not in attacked.server.said()


def test_made_up_key_ids_reach_the_provider_once(attacked: Attacked) -> None:
    """However many tokens name keys that are not known; each is refused, or told to wait."""
    before = len(attacked.provider.received)
    with ExitStack() as stack:
        requests = [
            head("GET", TABLES, f"authorization: Bearer {made_up(number)}")
            for number in range(4 * TOKENS_PER_ADDRESS_MAX)
        ]
        connections = [attacked.send(stack, one) for one in requests]
        is_served = attacked.served("key-ids")
        statuses = {one.recv(4096).split(b" ", 2)[1] for one in connections}

    assert is_served
    assert statuses <= {b"401", b"429"}
    assert len(attacked.provider.received) - before <= 1
