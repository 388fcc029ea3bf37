"""What a client that is not authenticated can keep from others: nothing."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from headgate.limits import (
    BODIES_PER_ADDRESS_MAX,
    OPEN_BODIES_PER_ADDRESS_MAX,
    PASSWORDS_PER_ADDRESS_MAX,
)
from headgate.testing.headgate_server import HeadgateServer
from tests.authentication.asking import TABLES, bearer, command, get, sets, token_for

PASSWORD = "correct horse battery"
SLOW = 150
GUESSING = 24
FIRST = 4
METHODS = sets("authentication.methods=basic,token")
PATHS = ("/iceberg/v1/oauth/tokens", "/management/v1/tokens/revoke", TABLES)
PATIENCE_SECONDS = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HeadgateServer]:
    """A server that knows a user and no password yet."""
    with HeadgateServer(tmp_path, *METHODS) as server:
        data = ("--data", str(tmp_path / "data"), *METHODS)
        command("user", "create", "ann", *data, typed=f"{PASSWORD}\n")
        yield server


def known_client(server: HeadgateServer) -> dict[str, str]:
    """The header of a client with a token."""
    data = ("--data", str(server.folder / "data"), *METHODS)
    secret = command("token", "secret", "create", "spark", *data)["client-secret"]
    return bearer(token_for(server, "spark", secret).json()["access_token"])


def half_sent(server: HeadgateServer, path: str, header: str, stack: ExitStack) -> socket.socket:
    """A connection that announces a body and sends half of it."""
    place = urlsplit(server.url)
    connection = stack.enter_context(
        socket.create_connection((place.hostname, place.port), PATIENCE_SECONDS)
    )
    headers = f"host: localhost\r\n{header}content-length: 10\r\n"
    connection.sendall(f"POST {path} HTTP/1.1\r\n{headers}\r\nhalf".encode())
    return connection


def sample(server: HeadgateServer, name: str) -> int:
    """A number that the server shows."""
    found = re.search(rf"^{name} (\d+)$", get(server, "/metrics").text, re.MULTILINE)
    assert found is not None
    return int(found[1])


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true soon."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def answer(connection: socket.socket) -> int:
    """The status that a connection is answered."""
    return int(connection.recv(4096).split(b" ", 2)[1])


@pytest.mark.parametrize("path", PATHS)
def test_slow_bodies_of_strangers_keep_nobody_out(server: HeadgateServer, path: str) -> None:
    """Neither from reading nor from writing, while they take up no place of a request."""
    client = known_client(server)
    with ExitStack() as stack:
        slow = [half_sent(server, path, "", stack) for _ in range(SLOW)]
        read = [get(server, headers=client).status_code for _ in range(10)]
        made = [
            httpx.post(
                server.url + TABLES, json={"namespace": [f"n{number}"]}, headers=client, timeout=30
            ).status_code
            for number in range(10)
        ]
        answers = [answer(connection) for connection in slow]

    assert (read, made) == ([200] * 10, [200] * 10)
    assert set(answers) == ({401} if path == TABLES else {408})
    assert sample(server, "headgate_http_bodies_in_flight") == 0


def test_slow_bodies_of_one_client_keep_no_other_out(server: HeadgateServer) -> None:
    """Though both come from one address: the slowest body makes room for the next."""
    client = known_client(server)
    header = f"authorization: {client['authorization']}\r\n"
    with ExitStack() as stack:
        slow = [half_sent(server, TABLES, header, stack) for _ in range(SLOW)]
        made = [
            httpx.post(
                server.url + TABLES,
                json={"namespace": [f"n{number}"]},
                auth=("ann", PASSWORD),
                timeout=30,
            ).status_code
            for number in range(10)
        ]
        answers = [answer(connection) for connection in slow]

    assert made == [200] * 10
    assert set(answers) == {408}


def test_only_so_many_bodies_are_read_at_once(server: HeadgateServer) -> None:
    """Those of strangers and those of clients apart."""
    header = f"authorization: {known_client(server)['authorization']}\r\n"
    with ExitStack() as stack:
        for _ in range(SLOW):
            half_sent(server, PATHS[0], "", stack)
            half_sent(server, TABLES, header, stack)
        ended = 2 * SLOW - BODIES_PER_ADDRESS_MAX - OPEN_BODIES_PER_ADDRESS_MAX
        assert eventually(lambda: sample(server, "headgate_http_bodies_ended_total") >= ended)
        most = sample(server, "headgate_http_bodies_in_flight")
        requests = sample(server, "headgate_http_requests_in_flight")

    assert most <= BODIES_PER_ADDRESS_MAX + OPEN_BODIES_PER_ADDRESS_MAX
    assert requests == 0


def test_guesses_keep_no_first_login_out(server: HeadgateServer) -> None:
    """It waits its turn, and is let in at its first try though all guess from its address."""
    assert GUESSING < PASSWORDS_PER_ADDRESS_MAX
    done = threading.Event()
    begun = threading.Semaphore(0)
    refused: list[int] = []

    def guess(guesser: int) -> None:
        with httpx.Client(base_url=server.url, timeout=PATIENCE_SECONDS) as client:
            number = 0
            while not done.is_set():
                number += 1
                name = f"name-{guesser}-{number}"
                refused.append(client.get(TABLES, auth=(name, PASSWORD)).status_code)
                begun.release()

    threads = [threading.Thread(target=guess, args=[number]) for number in range(GUESSING)]
    for thread in threads:
        thread.start()
    for _ in range(FIRST):  # the others wait for their turn by now
        assert begun.acquire(timeout=PATIENCE_SECONDS)
    first = get(server, auth=("ann", PASSWORD)).status_code
    again = [get(server, auth=("ann", PASSWORD)).status_code for _ in range(20)]
    done.set()
    for thread in threads:
        thread.join()

    assert (first, again) == (200, [200] * 20)
    assert set(refused) == {401}


def test_every_answer_says_what_it_is_and_not_by_what(server: HeadgateServer) -> None:
    """No content is to be guessed, and no software is named."""
    for path in ("/health", "/configs", "/metrics", TABLES, "/nothing", "/iceberg/v1/openapi.json"):
        headers = get(server, path).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["server"] == "http"
