"""A server that is told to stop while a commit waits for its database."""

import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from headgate.limits import FINISH_SECONDS
from headgate.settings.store import DATABASE_FILE
from headgate.testing.headgate_server import STOP_SECONDS_MAX, HeadgateServer

WAIT_SECONDS_MAX = 30.0
NAMESPACE = {"namespace": ["a"], "properties": {}}


@pytest.fixture(params=[1, 2])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HeadgateServer]:
    """A server of one process and one of two, all of which serve."""
    with HeadgateServer(tmp_path, f"--processes={request.param}") as server:
        _wait_until(lambda: _sample(server, "headgate_processes") == request.param)
        yield server


def test_what_is_under_way_is_answered_and_kept(server: HeadgateServer) -> None:
    """Nobody new is let in meanwhile; what was acknowledged is there after the next start."""
    with _held_commit(server) as (database, commit):
        os.kill(server.pid, signal.SIGTERM)
        _wait_until(lambda: _refuses(server))
        assert not commit.done()
        database.rollback()
        answer = commit.result(WAIT_SECONDS_MAX)
        server.stop()

    assert answer.status_code == 200
    assert answer.json() == NAMESPACE
    assert "requests were still under way" not in server.said()
    server.start()
    assert _namespaces(server) == [["a"]]


def test_a_database_that_cannot_be_written_does_not_hold_up_the_stop(
    server: HeadgateServer,
) -> None:
    """It ends in time and well; the commit is answered, and the log says what happened."""
    with _held_commit(server) as (_, commit):
        began = time.monotonic()
        server.stop()
        seconds = time.monotonic() - began
        answer = commit.result(WAIT_SECONDS_MAX)

    assert seconds < STOP_SECONDS_MAX
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "CommitStateUnknownException"
    assert f"requests were still under way after {FINISH_SECONDS:g} s" in server.said()
    assert "the server could not be closed within" in server.said()
    server.start()
    assert _namespaces(server) == []


@contextmanager
def _held_commit(
    server: HeadgateServer,
) -> Iterator[tuple[sqlite3.Connection, "Future[httpx.Response]"]]:
    """A commit that the server has begun, and the database that it cannot write to until then."""
    file = server.folder / "data" / DATABASE_FILE
    url = f"{server.iceberg_url}/v1/main/namespaces"
    with ThreadPoolExecutor(1) as caller:
        database = sqlite3.connect(file, isolation_level=None)
        try:
            database.execute("begin immediate")
            commit = caller.submit(httpx.post, url, json=NAMESPACE, timeout=WAIT_SECONDS_MAX)
            _wait_until(lambda: _sample(server, "headgate_http_requests_in_flight") == 1)
            yield database, commit
        finally:
            database.close()


def _namespaces(server: HeadgateServer) -> list[list[str]]:
    answer = httpx.get(f"{server.iceberg_url}/v1/main/namespaces", timeout=WAIT_SECONDS_MAX)
    listed: list[list[str]] = answer.json()["namespaces"]
    return listed


def _sample(server: HeadgateServer, name: str) -> float:
    lines = httpx.get(f"{server.url}/metrics", timeout=WAIT_SECONDS_MAX).text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def _refuses(server: HeadgateServer) -> bool:
    url = httpx.URL(server.url)
    try:
        socket.create_connection((url.host, url.port), WAIT_SECONDS_MAX).close()
    except ConnectionRefusedError:
        return True
    return False


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
