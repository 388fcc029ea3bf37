"""Whether a real server is ready, on a store that was taken from it."""

from pathlib import Path

import httpx

from headgate.testing.headgate_server import HeadgateServer


def test_a_server_whose_database_is_gone_is_not_ready(tmp_path: Path) -> None:
    """It lives, says what is wrong, and is ready again when the file is back."""
    with HeadgateServer(tmp_path) as server:
        file, aside = tmp_path / "data" / "headgate.db", tmp_path / "aside"
        before = httpx.get(f"{server.url}/health/ready")
        file.rename(aside)
        gone = httpx.get(f"{server.url}/health/ready")
        live = httpx.get(f"{server.url}/health/live")
        aside.rename(file)
        after = httpx.get(f"{server.url}/health/ready")

    assert [one.status_code for one in (before, gone, live, after)] == [200, 503, 200, 200]
    assert gone.json()["status"] == "down"
    assert f"{file} cannot be written: it was removed or replaced" in gone.json()["problem"]
