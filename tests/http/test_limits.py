"""What happens at the limits: too many requests, too slow ones, clients that go away."""

import asyncio
import socket
import time
from urllib.parse import urlsplit

import httpx

from tests.http.conftest import DemoServer, eventually
from tests.http.demo import REQUESTS_MAX

PER_PRINCIPAL = REQUESTS_MAX - REQUESTS_MAX // 4
"""A quarter is for others."""


def test_a_read_that_takes_too_long_may_be_tried_again(client: httpx.Client) -> None:
    """It changed nothing."""
    answer = client.get("/iceberg/v1/slow/30")

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_a_commit_that_takes_too_long_is_of_unknown_outcome(client: httpx.Client) -> None:
    """Clients keep their files and look for themselves."""
    answer = client.post("/iceberg/v1/commit/30")

    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "CommitStateUnknownException"
    assert "retry-after" not in answer.headers


async def test_too_many_requests_are_sent_away_and_probes_are_not(server: DemoServer) -> None:
    """The refusal costs no work and says when to come back; afterwards all is as before."""
    async with httpx.AsyncClient(base_url=server.url, timeout=20, trust_env=False) as client:
        slow = [
            asyncio.create_task(client.get("/iceberg/v1/slow/0.8")) for _ in range(PER_PRINCIPAL)
        ]
        await asyncio.sleep(0.3)
        refused = await client.get("/iceberg/v1/slow/0.8")
        waiting = [task.done() for task in slow]
        probe = await client.get("/health/ready")
        measured = await client.get("/metrics")
        served = await asyncio.gather(*slow)
        after = await client.get("/iceberg/v1/echo/a")

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["error"]["type"] == "TooManyRequestsException"
    assert waiting == [False] * PER_PRINCIPAL
    assert probe.status_code == 200
    assert f"headgate_http_requests_in_flight {PER_PRINCIPAL}\n" in measured.text
    assert [answer.status_code for answer in served] == [204] * PER_PRINCIPAL
    assert after.status_code == 200


def test_a_client_that_goes_away_does_not_stop_its_commit(
    server: DemoServer, client: httpx.Client
) -> None:
    """What was asked for is done, and its place becomes free again."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(
            b"POST /iceberg/v1/commit/0.3 HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n"
            b"x-request-id: gone-away\r\n\r\n"
        )
        time.sleep(0.1)

    assert "gone-away" not in client.get("/iceberg/v1/committed").json()
    assert eventually(lambda: "gone-away" in client.get("/iceberg/v1/committed").json())
    assert "headgate_http_requests_in_flight 0\n" in client.get("/metrics").text


def test_a_client_that_goes_away_in_the_middle_of_its_body_is_forgotten(
    server: DemoServer, client: httpx.Client
) -> None:
    """Half a request is no request."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(
            b"POST /iceberg/v1/commit/0 HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n"
            b"x-request-id: half\r\n\r\nabc"
        )
        time.sleep(0.1)

    assert eventually(lambda: any(line.get("request_id") == "half" for line in server.lines()))
    [logged] = [line for line in server.lines() if line.get("request_id") == "half"]
    assert logged["status"] == 400
    assert "half" not in client.get("/iceberg/v1/committed").json()
