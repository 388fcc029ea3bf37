"""Connections of a real server: half a request, a rest, and a request that takes its time."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.http.conftest import PATIENCE_SECONDS, DemoServer

HALF = b"GET /iceberg/v1/echo/a HTTP/1.1\r\nhost: loc"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server that looks at its connections all the time."""
    log: Path = tmp_path_factory.mktemp("strict") / "log"
    with DemoServer(log, DEMO_LOOK_SECONDS="0.02") as server:
        yield server


def connect(server: DemoServer) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname, place.port), PATIENCE_SECONDS)


def wait_until_closed(server: DemoServer, sent: bytes) -> bytes:
    """What a connection that sends only this is answered until the server closes it."""
    with connect(server) as connection:
        connection.sendall(sent)
        return connection.recv(1)


@pytest.mark.parametrize("sent", [b"", b"\r\n", HALF])
def test_a_connection_without_a_request_is_closed(strict: DemoServer, sent: bytes) -> None:
    """No answer is owed to it."""
    assert wait_until_closed(strict, sent) == b""


def test_a_connection_that_rests_stays_open(strict: DemoServer) -> None:
    """Others are closed meanwhile, and it is used again."""
    with strict.client() as client:
        peers = []
        for _ in range(3):
            answer = client.get("/iceberg/v1/echo/a").raise_for_status()
            stream = answer.extensions["network_stream"]
            peers.append(stream.get_extra_info("client_addr"))
            assert wait_until_closed(strict, HALF) == b""

    assert len(set(peers)) == 1


def test_half_a_request_after_a_whole_one_is_closed_too(strict: DemoServer) -> None:
    """The answer to the whole one came before."""
    with connect(strict) as connection:
        connection.sendall(b"HEAD /iceberg/v1/there/yes HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"204" in connection.recv(4096)
        assert wait_until_closed(strict, HALF) == b""  # it has been seen at rest
        connection.sendall(HALF)

        assert connection.recv(1) == b""


def test_a_request_that_takes_its_time_is_answered(strict: DemoServer) -> None:
    """Also one whose body comes slowly."""
    with strict.client() as client:
        assert client.get("/iceberg/v1/slow/0.5").status_code == 204
    with connect(strict) as connection:
        connection.sendall(
            b"POST /iceberg/v1/echo/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nab"
        )
        assert wait_until_closed(strict, HALF) == b""
        connection.sendall(b"cd")

        assert connection.recv(12) == b"HTTP/1.1 200"
