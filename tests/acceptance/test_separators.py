"""Nodes of one store with different separators: the second one does not start."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer, environment

BAR = ("--set", "schema.separator=|")


def headgate(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """A command that ends by itself."""
    command = [sys.executable, "-m", "headgate", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )


def check_refused(done: "subprocess.CompletedProcess[str]", words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "the separator '|' cannot be used" in done.stderr
    assert words in done.stderr


def test_a_node_with_another_separator_does_not_start_beside_others(tmp_path: Path) -> None:
    """Nor does a worker, nor a command that writes names; the healthy one notices nothing."""
    data = tmp_path / "data"
    living = "uses this store with ':', and all nodes need the same"
    with HeadgateServer(tmp_path) as server:
        spaces = f"{server.iceberg_url}/v1/main/namespaces"
        assert httpx.post(spaces, json={"namespace": ["a", "b|c"]}).status_code == 200
        for processes in ("1", "2"):
            options = ("--data", data, "--port=0", "--processes", processes, *BAR)
            check_refused(headgate("serve", *options), living)
        check_refused(headgate("serve", "--data", data, "--port=0", "--read-only", *BAR), living)
        in_force = "this store is used with ':'"
        check_refused(headgate("work", "--data", data, *BAR), in_force)
        check_refused(headgate("catalog", "create", "x", "--data", data, *BAR), in_force)
        assert headgate("realm", "create", "other", "--data", data, *BAR).returncode == 0
        assert httpx.get(f"{spaces}/a%3Ab%7Cc").status_code == 200


def test_the_separator_is_changed_by_the_first_server_after_all_were_stopped(
    tmp_path: Path,
) -> None:
    """If no name contains it; from then on it is what all others need."""
    data = tmp_path / "data"
    with HeadgateServer(tmp_path) as server:
        spaces = f"{server.iceberg_url}/v1/main/namespaces"
        assert httpx.post(spaces, json={"namespace": ["a", "b"]}).status_code == 200
    check_refused(headgate("catalog", "create", "x", "--data", data, *BAR), "stop all nodes and")
    with HeadgateServer(tmp_path, *BAR) as server:
        spaces = f"{server.iceberg_url}/v1/main/namespaces"
        assert httpx.get(f"{spaces}/a%7Cb").status_code == 200
        done = headgate("catalog", "create", "x", "--data", data)
        assert done.returncode == 2
        assert "Set schema.separator='|'" in done.stderr
        assert headgate("catalog", "create", "x", "--data", data, *BAR).returncode == 0


@pytest.mark.parametrize("is_new", [True, False])
def test_of_two_servers_that_start_at_once_one_starts(tmp_path: Path, is_new: bool) -> None:
    """Each with another separator, on a new store and on one that has a third."""
    if not is_new:
        with HeadgateServer(tmp_path, "--set", "schema.separator=;"):
            pass
    data = str(tmp_path / "data")
    servers = [
        HeadgateServer(tmp_path / name, "--data", data, "--set", f"schema.separator={separator}")
        for name, separator in (("one", ":"), ("other", "|"))
    ]

    def start(server: HeadgateServer) -> bool:
        try:
            server.start()
        except RuntimeError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(start, servers))
    assert sorted(outcomes) == [False, True]
    winner, loser = servers[outcomes.index(True)], servers[outcomes.index(False)]
    winner.stop()
    assert "and all nodes need the same" in loser.said()
