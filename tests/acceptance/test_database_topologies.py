"""`headgate serve` on databases that are not what they seem: standbys, poolers, several hosts."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.pgbouncer import PgBouncer
from headgate.testing.postgresql import PostgresqlServer, PostgresqlStandby

START_SECONDS_MAX = 60


@pytest.fixture(scope="module", name="primary")
def _primary() -> Iterator[PostgresqlServer]:
    with PostgresqlServer() as primary:
        yield primary


@pytest.fixture(scope="module", name="standby")
def _standby(primary: PostgresqlServer) -> Iterator[PostgresqlStandby]:
    with PostgresqlStandby(primary) as standby:
        yield standby


def refused(folder: Path, *options: str) -> str:
    """The one line that a server says which does not start."""
    command = [sys.executable, "-m", "headgate", "serve", "--port=0", "--data", str(folder)]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=START_SECONDS_MAX,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def create(server: HeadgateServer, name: str) -> None:
    body = {"namespace": [name]}
    answer = httpx.post(f"{server.iceberg_url}/v1/main/namespaces", json=body, timeout=60)
    assert answer.status_code == 200, answer.text


def names(server: HeadgateServer) -> list[str]:
    found = httpx.get(f"{server.iceberg_url}/v1/main/namespaces").json()["namespaces"]
    return sorted(name for [name] in found)


def await_names(server: HeadgateServer, expected: list[str]) -> None:
    """Wait until a server that may be behind shows this."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while (found := names(server)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_standby_is_served_only_by_a_server_that_may_give_old_answers(
    tmp_path: Path, primary: PostgresqlServer, standby: PostgresqlStandby
) -> None:
    """Without the setting it is refused, also to read; with it, to write."""
    url = primary.create_database()
    at_standby = url.replace(str(primary.port), str(standby.port))
    with HeadgateServer(tmp_path / "primary", "--backend", url) as writer:
        create(writer, "a")
        stale = ("--set", "postgresql.stale-reads=true")
        for wrong in (("--read-only",), stale):
            said = refused(tmp_path / "refused", "--backend", at_standby, *wrong)
            assert "takes no writes" in said
            assert "Connect to the primary" in said
        options = ("--backend", at_standby, "--read-only", *stale)
        with HeadgateServer(tmp_path / "reader", *options) as reader:
            await_names(reader, ["a"])
            create(writer, "b")
            await_names(reader, ["a", "b"])


def test_a_server_behind_pgbouncer_needs_sessions_of_its_own(
    tmp_path: Path, primary: PostgresqlServer
) -> None:
    """The line that refuses to start says what to set; with it set, all works."""
    url = primary.create_database()
    with PgBouncer(primary.port, "transaction") as bouncer:
        said = refused(tmp_path, "--backend", bouncer.through(url))
    assert "pool_mode = session" in said

    with (
        PgBouncer(primary.port, "session") as bouncer,
        HeadgateServer(tmp_path, "--backend", bouncer.through(url)) as server,
    ):
        create(server, "a")
        assert names(server) == ["a"]


def test_a_server_takes_a_url_of_several_hosts(
    tmp_path: Path, primary: PostgresqlServer, standby: PostgresqlStandby
) -> None:
    """The standby is named first; the server uses the primary."""
    database = primary.create_database().rpartition("/")[2]
    hosts = f"127.0.0.1:{standby.port},127.0.0.1:{primary.port}"
    url = f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"
    with HeadgateServer(tmp_path, "--backend", url) as server:
        create(server, "a")
        assert names(server) == ["a"]
