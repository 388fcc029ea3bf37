"""A server that is told to stop while it is held."""

import sqlite3
import threading
import time
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer
from headgate.wiring import DATABASE_FILE


@pytest.mark.parametrize("processes", [1, 2])
def test_a_database_that_cannot_be_written_does_not_hold_up_the_stop(
    tmp_path: Path, processes: int
) -> None:
    """Within 10 s and with exit code 0; the commit is answered, and the log says what happened."""
    answers: list[httpx.Response] = []

    def commit() -> None:
        body = {"namespace": ["a"]}
        answers.append(httpx.post(f"{url}/v1/main/namespaces", json=body, timeout=30))

    with HeadgateServer(tmp_path, f"--processes={processes}") as server:
        url = server.iceberg_url
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
    assert answers[0].status_code >= 500
    assert "requests were still under way after 4 s" in server.said()
    assert "the server could not be closed within 8 s and is ended" in server.said()
