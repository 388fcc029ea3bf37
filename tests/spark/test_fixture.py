"""`headgate pipeline fixture`, on local files and in S3; it needs no Spark."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

from headgate.cli.main import run
from headgate.errors import TableNotFound
from headgate.pipelines.fixtures.kinds import counted
from headgate.pipelines.fixtures.places import local_path
from headgate.pipelines.names import TableName
from headgate.pipelines.server import Server
from headgate.testing.headgate_server import HeadgateServer, environment

FILES = 3_000
WAIT_SECONDS_MAX = 120.0

# Clients leave their connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(name="lake", scope="module")
def _lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """A server that checks rights; whoever says a name is believed."""
    sets = ("authorization.enabled=true", "authorization.service-admins=root")
    options = [word for one in sets for word in ("--set", one)]
    with HeadgateServer(tmp_path_factory.mktemp("lake"), *options) as server:
        yield server


def command(server: HeadgateServer, *arguments: str) -> list[str]:
    where = ("--server", server.url, "--user", "root", "--catalog", "main", "--json")
    return ["pipeline", "fixture", *where, *arguments]


def made(capsys: pytest.CaptureFixture[str], line: list[str]) -> dict[str, Any]:
    """What a run says it made."""
    assert run(line) == 0, capsys.readouterr().err
    summary: dict[str, Any] = json.loads(capsys.readouterr().out)
    return summary


def files_of(summary: dict[str, Any]) -> list[str]:
    folder = Path(local_path(summary["location"]))
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def rows_of(server: HeadgateServer, name: str, **properties: str) -> int:
    """What a reader finds."""
    catalog = RestCatalog("c", uri=server.iceberg_url, warehouse="main", **properties)
    with closing(catalog):
        return len(catalog.load_table(("fixtures", name)).scan().to_arrow())


def test_there_is_as_much_as_was_wanted(
    lake: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files, namespaces and grants; a second run finds all of it and changes nothing."""
    line = command(lake, "--files", "60", "--namespaces", "250", "--grants", "600")
    server = Server(lake.url, user="root")

    first = made(capsys, line)
    before = server.load(TableName("main", ("fixtures",), "files_60"))
    second = made(capsys, line)

    assert first | {"took_seconds": 0} == second | {"took_seconds": 0}
    assert len(files_of(first)) == first["files"] > 60
    assert server.load(before.name) == before
    below = list(server.namespaces("main", ("fixtures",)))
    assert len([one for one in below if len(one) == 3]) == first["namespaces"] == 250
    roles = server.get("/api/metalakes/default/roles")["names"]
    assert (first["roles"], first["grants"]) == (3, 600)
    held = [server.get(f"/api/metalakes/default/roles/{role}")["role"] for role in sorted(roles)]
    assert [len(role["securableObjects"]) for role in held] == [250, 250, 100]


def test_a_run_that_was_killed_is_gone_on_with(
    server: HeadgateServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end is the same as without: every file once, and every row."""
    size = ("--files", str(FILES), "--format-version", "1")  # without deletes: pyiceberg reads it
    name = (*size, "--name", "killed")
    table = TableName("main", ("fixtures",), "killed")
    line = [sys.executable, "-m", "headgate", *command(server, *name)]
    child = subprocess.Popen(line, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL)
    look, deadline = Server(server.url), time.monotonic() + WAIT_SECONDS_MAX
    try:
        while snapshots(look, table) < 2:
            assert child.poll() is None, "it was too quick"
            assert time.monotonic() < deadline
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert snapshots(look, table) < 11

    again = made(capsys, command(server, *name))
    whole = made(capsys, command(server, *size, "--name", "intact"))

    assert (again["files"], again["rows"]) == (whole["files"], whole["rows"])
    assert counted(files_of(again)) == counted(files_of(whole))
    own = [path for path in files_of(again) if not path.endswith(".metadata.json")]
    assert sum(Path(path).stat().st_size for path in own) == again["size_bytes"]
    assert rows_of(server, "killed") == again["rows"]


def snapshots(server: Server, table: TableName) -> int:
    try:
        return len(server.load(table).document().get("snapshots", []))
    except TableNotFound:
        return 0


def test_files_lie_in_s3_too(s3_lake: HeadgateServer, capsys: pytest.CaptureFixture[str]) -> None:
    """With the keys that the server hands out."""
    summary = made(capsys, command(s3_lake, "--files", "20", "--format-version", "3"))

    assert summary["location"].startswith("s3://")
    catalog = RestCatalog(
        "c",
        uri=s3_lake.iceberg_url,
        warehouse="main",
        **{"header.X-Iceberg-Access-Delegation": "vended-credentials"},
    )
    with closing(catalog):
        table = catalog.load_table(("fixtures", "files_20"))
        assert len(table.inspect.all_files()) >= 20


def test_another_table_of_that_name_is_left_alone(
    server: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever it is."""
    made(capsys, command(server, "--files", "10", "--name", "taken"))

    assert run(command(server, "--files", "20", "--name", "taken")) == 2

    told = json.loads(capsys.readouterr().err)["error"]
    assert told["message"] == "main.fixtures.taken is another table: it was not made with 20 files"


def test_grants_are_refused_before_anything_is_made(
    server: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a server without authorization; it is said what to do."""
    before = list(Server(server.url).namespaces("main"))

    assert run(command(server, "--namespaces", "3", "--grants", "3")) == 2

    told = json.loads(capsys.readouterr().err)["error"]
    assert told["fix"] == "Start it with authorization.enabled=true, or leave --grants out"
    assert list(Server(server.url).namespaces("main")) == before


def test_something_has_to_be_wanted(
    server: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty fixture is a mistake."""
    assert run(command(server)) == 2
    assert "give --files, --namespaces or --grants" in capsys.readouterr().err
