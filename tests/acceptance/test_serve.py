"""`headgate serve` as a user starts it: what keeps it from starting, and what it logs."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer, environment

UNREACHABLE = "postgresql://nobody:secret@127.0.0.1:1/none"


def started(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A server that is expected not to start."""
    return headgate("serve", "--data", folder / "data", *options)


def headgate(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """A command that ends by itself."""
    command = [sys.executable, "-m", "headgate", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port=0", "--backend", UNREACHABLE], "PostgreSQL at 127.0.0.1:1/none is not available"),
        (["--port=0", "--backend", UNREACHABLE, "--processes=2"], "PostgreSQL at 127.0.0.1:1/none"),
        (["--port=0", "--backend", "sqlite:///dev/null/x.db"], "cannot be opened"),
        (["--port=0", "--set", "schema.separator=/"], "Separator '/' is not allowed"),
        (["--port=0", "--set", "token.secret=short"], "it is shorter than 32 bytes"),
        (["--port=0", "--set", "bootstrap.warehouse=nonsense"], "nonsense"),
        (["--port=0", "--set", "http.portt=1"], "the nearest known name is 'http.port'"),
        (["--port=0", "--set", "bootstrap.warehouse=file:///dev/null/w"], "/dev/null is no folder"),
        (["--port=70000"], "is not a whole number from 0 to 65535"),
        (["--host=0.0.0.0"], "or say --insecure"),
        (["--host=192.0.2.1", "--insecure"], "it is no address of this machine"),
    ],
)
def test_what_keeps_a_server_from_starting_is_one_line_and_exit_code_2(
    tmp_path: Path, options: list[str], words: str
) -> None:
    """It says what, why and what to do; nothing is announced, no password is shown."""
    done = started(tmp_path, *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headgate: error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert "secret@" not in done.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("spoilt", ["keys", "keys/token.key"])
def test_keys_that_cannot_be_used_are_one_line_and_exit_code_2(
    tmp_path: Path, spoilt: str, processes: str
) -> None:
    """A folder that cannot be written, and a key that anybody could guess."""
    path = tmp_path / "data" / spoilt
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    done = started(tmp_path, "--port=0", "--processes", processes)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headgate: error: the key ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["serve", "work"])
def test_a_stored_catalog_that_holds_files_of_the_server_is_one_line_and_exit_code_2(
    tmp_path: Path, command: str
) -> None:
    """Its location was fine when it was made, and now the keys and the database lie in it."""
    old, data = tmp_path / "old", tmp_path / "data"
    assert headgate("realm", "create", "default", "--data", old).returncode == 0
    made = headgate("catalog", "create", "wide", "--warehouse", f"file://{data}", "--data", old)
    assert made.returncode == 0, made.stderr
    old.rename(data)
    port = ["--port=0"] if command == "serve" else []
    done = headgate(command, "--data", data, *port)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"catalog default.wide cannot be served: tables cannot lie in file://{data}" in (
        done.stderr
    )


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_port_in_use_is_one_line_and_exit_code_2(tmp_path: Path, processes: str) -> None:
    """Also for scripts: then the line is an object."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        options = (f"--port={other.getsockname()[1]}", "--processes", processes)
        done = started(tmp_path, *options, "--json")

    assert done.returncode == 2
    problem = json.loads(done.stderr)["error"]
    assert problem["type"] == "BadSetting"
    assert "another program listens there" in problem["message"]


def test_another_headgate_on_the_port_is_named(tmp_path: Path) -> None:
    """With its store: perhaps it is the one that was to be started."""
    with HeadgateServer(tmp_path) as server:
        done = started(tmp_path / "other", f"--port={server.url.rpartition(':')[2]}")

    store = f"sqlite://{tmp_path}/data/headgate.db"
    assert done.returncode == 2
    assert f"cannot be used: another Headgate on the store {store} serves there" in done.stderr


def test_a_warehouse_that_is_not_used_is_said(tmp_path: Path) -> None:
    """The first start decided where tables lie; the same one again is no news."""
    with HeadgateServer(tmp_path) as first:
        lies = f"file://{first.warehouse}"
    with HeadgateServer(tmp_path, "--set", f"bootstrap.warehouse={lies}/") as same:
        assert "is not used" not in same.said()
    with HeadgateServer(tmp_path, "--set", "bootstrap.warehouse=s3://b/w") as server:
        pass

    assert "bootstrap.warehouse is not used: catalog default.main was made before" in server.said()
    assert f"and its tables lie in {lies};" in server.said()


def test_a_bad_separator_is_found_before_a_store_is_made(tmp_path: Path) -> None:
    """What is made with one setting cannot be undone with another."""
    started(tmp_path, "--set", "schema.separator=ab")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        ([], True),
        (["--set", "log.level=error", "--processes=2"], True),
        (["--set", "log.access=false", "--set", "log.level=debug"], False),
    ],
)
def test_requests_are_logged_unless_that_is_switched_off(
    tmp_path: Path, options: list[str], logged: bool
) -> None:
    """Whatever the level of other messages."""
    with HeadgateServer(tmp_path, *options) as server:
        answer = httpx.get(f"{server.iceberg_url}/v1/config", headers={"x-request-id": "mine"})
        assert answer.status_code == 200

    assert (" headgate.access: GET /iceberg/v1/config 200 " in server.said()) == logged
    assert ("request=mine" in server.said()) == logged


def test_a_server_of_this_machine_is_safe_from_web_sites(tmp_path: Path) -> None:
    """Neither a name that was made to lead here nor a page of another site gets anywhere."""
    with HeadgateServer(tmp_path) as server:
        named = httpx.get(f"{server.url}/health/live", headers={"host": "evil.example:8181"})
        body = {"namespace": ["a"]}
        sent = httpx.post(
            f"{server.iceberg_url}/v1/main/namespaces",
            json=body,
            headers={"origin": "http://evil.example"},
        )

    assert named.status_code == 403
    assert sent.status_code == 403
    assert "requests from other web sites" in sent.json()["error"]["message"]


def test_a_separator_that_a_name_contains_keeps_a_server_from_starting(tmp_path: Path) -> None:
    """It would mean two things; with another one the server starts."""
    with HeadgateServer(tmp_path) as server:
        body = {"namespace": ["a", "x|y"]}
        httpx.post(f"{server.iceberg_url}/v1/main/namespaces", json=body).raise_for_status()
    done = started(tmp_path, "--port=0", "--set", "schema.separator=|")

    assert (done.returncode, done.stdout) == (2, "")
    assert "The separator '|' cannot be used with catalog default.main: 1 schema" in done.stderr
    with HeadgateServer(tmp_path, "--set", "schema.separator=;") as server:
        found = httpx.get(f"{server.iceberg_url}/v1/main/namespaces/a;x|y")
    assert found.json()["namespace"] == ["a", "x|y"]
