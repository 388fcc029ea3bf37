"""A server that is told to stop while it is held."""

import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from headgate.limits import FINISH_SECONDS
from headgate.testing.headgate_server import HeadgateServer
from headgate.wiring import DATABASE_FILE


@pytest.mark.parametrize("processes", [1, 2])
def test_a_database_that_cannot_be_written_does_not_hold_up_the_stop(
    tmp_path: Path, processes: int
) -> None:
    """Within 10 s and with exit code 0; nobody is told that the commit was made, and the log says
    what happened."""
    statuses: list[int] = []

    def commit() -> None:
        body = {"namespace": ["a"]}
        with suppress(httpx.TransportError):  # a connection that ends tells as little as a 5xx
            answer = httpx.post(f"{url}/v1/main/namespaces", json=body, timeout=30)
            statuses.append(answer.status_code)

    with HeadgateServer(tmp_path, f"--processes={processes}") as server:
        url = server.iceberg_url
        for _ in range(30):  # until all processes have opened: each has a share of these
            httpx.get(f"{server.url}/health/live", timeout=30).raise_for_status()
        database = sqlite3.connect(tmp_path / "data" / DATABASE_FILE, isolation_level=None)
        database.execute("begin immediate")
        committing = threading.Thread(target=commit)
        committing.start()
        time.sleep(0.5)
        began = time.monotonic()
        server.stop()
        seconds = time.monotonic() - began
        committing.join()
        database.close()

    assert seconds < 10
    assert all(status >= 500 for status in statuses)
    assert f"requests were still under way after {FINISH_SECONDS:g} s" in server.said()
    assert "the server could not be closed within" in server.said()
