"""Purgers of third parties in a real server: the example, those of the pages, and broken ones."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.events import PurgeFailed
from headgate.model.names import Identifier
from headgate.testing.headgate_server import HeadgateServer, environment
from tests.purge.lake import Lake
from tests.purge.listing import files_below
from tests.unit.third_parties import install

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "audit-purger"
HOW_TO = ROOT / "docs" / "how-to"
PARTNERS = "tests.unit.purge.partners"
LOGGED = ("--set", "log.level=info", "--set", "log.format=json")


def blocks(page: Path, language: str) -> list[str]:
    found: list[str] = re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return found


def put_on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let servers that are started from now on import what lies there."""
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, folders)))


def events(server: HeadgateServer) -> list[dict[str, Any]]:
    """What the log of a server tells of events."""
    lines = [line for line in server.said().splitlines() if '"logger":"headgate.events"' in line]
    return [json.loads(line) for line in lines]


def refusal(folder: Path, *options: str) -> str:
    """What `headgate serve` says that does not start."""
    command = [sys.executable, "-m", "headgate", "serve", "--port", "0", "--data", str(folder)]
    done = subprocess.run(
        [*command, *options],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.fixture(name="audit")
def _audit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The example, with the entry point that its package has."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    install(monkeypatch, tmp_path / "site", project["name"], project["entry-points"])
    put_on_path(monkeypatch, tmp_path / "site", EXAMPLE)


@pytest.fixture(name="failing")
def _failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Lake]:
    """A lake whose purger fails whenever it is called, also when it is closed."""
    put_on_path(monkeypatch, ROOT)
    with HeadgateServer(tmp_path / "server", "--set", f"purger={PARTNERS}:Failing") as server:
        lake = Lake(server)
        yield lake
        lake.close()


@pytest.mark.usefixtures("audit")
def test_the_example_writes_a_line_and_deletes_nothing(tmp_path: Path) -> None:
    """The table is gone, its files are not; the line says all about it."""
    file = tmp_path / "audit.jsonl"
    options = ("--set", "purger=audit", "--set", f"purger.audit.file={file}", *LOGGED)
    with HeadgateServer(tmp_path / "server", *options) as server:
        lake = Lake(server)
        lake.create("orders")
        lake.ask("DELETE", f"{lake.tables_path}/orders?purgeRequested=true")
        assert lake.answer.status_code == 204
        assert lake.ask("HEAD", f"{lake.tables_path}/orders").status_code == 404
        lake.close()

        known, [line] = lake.known["orders"], map(json.loads, file.read_text().splitlines())
        assert files_below(known.folder) == known.files
        assert (line["metalake"], line["catalog"]) == ("default", lake.catalog)
        assert (line["namespace"], line["table"]) == (["shop"], "orders")
        assert line["metadata_location"] == known.metadata_location
        assert line["uuid"] == known.answer["metadata"]["table-uuid"]
        assert (line["principal"], line["server"].split(":")[1]) == ("anonymous", str(server.pid))

    assert [event["event"] for event in events(server)] == [
        "table dropped",
        "purge started",
        "purge completed",
    ]
    assert {event["job"] for event in events(server)} == {line["job"]}
    assert {event["request"] for event in events(server)} == {line["request"]}


@pytest.mark.usefixtures("audit")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_server_does_not_start_if_its_purger_does_not(tmp_path: Path, processes: str) -> None:
    """It says why in one line, and what to do, also if others would have served."""
    said = refusal(tmp_path / "data", "--set", "purger=audit", "--processes", processes)

    assert said == (
        "headgate: error: purger 'audit' cannot be used: it could not be initialized (ValueError: "
        "purger.audit.file is missing). Correct its properties purger.audit.*, or choose another "
        "purger\n"
    )


def test_an_unknown_purger_leaves_nothing_behind(tmp_path: Path) -> None:
    """The server has not begun with anything."""
    said = refusal(tmp_path / "data", "--set", "purger=asynch")

    assert said.startswith("headgate: error: purger 'asynch' is unknown: the nearest known name is")
    assert said.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_drop_stands_though_its_purger_fails(failing: Lake) -> None:
    """Its client is told the job that goes on, and the server lives."""
    failing.create("orders")
    failing.ask("DELETE", f"{failing.tables_path}/orders?purgeRequested=true")

    message = failing.answer.json()["error"]["message"]
    assert failing.answer.status_code == 500
    assert re.search(r"purger 'failing' failed: RuntimeError: no way.* job \d{10,}", message)
    assert failing.ask("HEAD", f"{failing.tables_path}/orders").status_code == 404
    assert files_below(failing.known["orders"].folder) == failing.known["orders"].files
    failing.create("orders")


def test_a_server_stops_though_its_purger_cannot_be_closed(failing: Lake) -> None:
    """The log says what went wrong."""
    failing.server.stop()

    assert "purger 'failing' could not be closed" in failing.server.said()
    assert "RuntimeError" in failing.server.said()


def test_the_purger_of_the_page_works_as_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the command of the page; it is closed when the server stops."""
    [program] = blocks(HOW_TO / "write-a-purger.md", "python")
    [command] = blocks(HOW_TO / "write-a-purger.md", "bash")
    (tmp_path / "announcer.py").write_text(program, "utf-8")
    put_on_path(monkeypatch, tmp_path)
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    with HeadgateServer(tmp_path / "server", *shlex.split(command)[2:]) as server:
        lake = Lake(server)
        lake.create("orders")
        lake.drop("orders")
        lake.close()

    said, known = server.said().splitlines(), lake.known["orders"]
    assert f"Bye {lake.catalog} shop.orders {known.metadata_location}" in said
    assert said[-1] == "closed"


def test_the_listener_of_the_page_works_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """It tells of purges that were given up."""
    [program] = blocks(HOW_TO / "choose-a-purger.md", "python")
    names: dict[str, Any] = {}
    exec(program, names)
    table = Identifier(("shop",), "orders")
    failed = PurgeFailed(
        at_ms=1, metalake="default", catalog="main", table=table, reason="denied", attempts=5
    )
    names["warn"](failed)

    assert capsys.readouterr().out == "shop.orders is not purged after 5 attempts: denied\n"
