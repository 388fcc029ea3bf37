"""`headgate doctor` on real stores, with and without a server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.clock import NS_PER_MS, SystemClock
from headgate.settings.loading import load
from headgate.testing.headgate_server import HeadgateServer
from headgate.wiring import open_kernel
from tests.acceptance.conftest import Headgate

ANY_PORT = ("--set", "http.port=0")


class EarlyClock(SystemClock):
    """The clock of a machine that is an hour ahead."""

    def _machine(self) -> tuple[int, int]:
        wall_ns, stopwatch_ns = super()._machine()
        return wall_ns + 3_600_000 * NS_PER_MS, stopwatch_ns


def failed(said: dict[str, Any]) -> list[str]:
    return [one["subject"] for one in said["findings"] if not one["ok"]]


def test_a_store_is_healthy_before_and_after_its_first_catalog(headgate: Headgate) -> None:
    """On every kind of database."""
    for _ in range(2):  # it does not make one
        empty = headgate.json("doctor", *ANY_PORT)
        [found] = [one for one in empty["findings"] if one["subject"] == "database"]
        assert "`headgate serve` makes it" in found["text"]
    headgate.run("realm", "create", "default")
    headgate.run("catalog", "create", "main")
    filled = headgate.json("doctor", *ANY_PORT)

    assert (empty["healthy"], filled["healthy"]) == (True, True)
    subjects = [one["subject"] for one in filled["findings"]]
    assert subjects[-4:] == ["database", "clock", "purges", "storage"]


def test_a_running_server_is_healthy(tmp_path: Path) -> None:
    """Its port is its own, its key is private, and its warehouse is tried."""
    with HeadgateServer(tmp_path) as server:
        headgate = Headgate(["--data", str(tmp_path / "data")], tmp_path)
        port = server.url.rpartition(":")[2]
        said = headgate.json("doctor", "--set", f"http.port={port}")

    texts = {one["subject"]: one["text"] for one in said["findings"]}
    assert said["healthy"]
    assert texts["port"] == f"a Headgate serves on 127.0.0.1:{port}"
    assert texts["keys"].endswith("token.key is readable by its owner only")
    assert texts["storage"].startswith("catalog default.main: file:///")
    assert [path.name for path in server.warehouse.iterdir()] == []


def test_a_server_on_another_store_is_named(tmp_path: Path) -> None:
    """Its port is taken, and what it serves is not what was asked about."""
    with HeadgateServer(tmp_path) as server:
        headgate = Headgate(["--data", str(tmp_path / "other")], tmp_path)
        port = server.url.rpartition(":")[2]
        out, _ = headgate.run("doctor", "--set", f"http.port={port}", expect=1)
        store = f"sqlite://{tmp_path}/data/headgate.db"
        same = Headgate(["--data", str(tmp_path / "other"), "--backend", store], tmp_path)
        assert same.json("doctor", "--set", f"http.port={port}")["healthy"]

    [line] = [line for line in out.splitlines() if line.startswith("FAIL ")]
    assert line.split()[1] == "port"
    assert f"on another store: {store}, not sqlite://{tmp_path}/other/headgate.db;" in line


def test_a_store_is_known_by_any_of_its_names(tmp_path: Path) -> None:
    """Also if its server was told a relative one."""
    with HeadgateServer(tmp_path, "--data", "lake") as server:
        port = ("--set", f"http.port={server.url.rpartition(':')[2]}")
        url = f"sqlite:///{tmp_path}/lake/headgate.db"  # one slash too many
        assert Headgate(["--data", "lake"], tmp_path).json("doctor", *port)["healthy"]
        assert Headgate(["--backend", url], tmp_path).json("doctor", *port)["healthy"]
        out, _ = Headgate(["--data", "other"], tmp_path).run("doctor", *port, expect=1)

    assert "and on another store" in out


def test_an_empty_directory_stays_empty(tmp_path: Path) -> None:
    """Looking makes nothing."""
    out, err = Headgate(["--data", str(tmp_path)], tmp_path).run("doctor", *ANY_PORT)

    assert err == ""
    makes = f"`headgate serve --data {tmp_path}` makes it"
    assert f"{tmp_path / 'headgate.db'} is not there; {makes}" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        (["--backend", "postgresql://nobody@127.0.0.1:1/none"], "database"),
        (["--set", "schema.separator=/"], "settings"),
        (["--data", "/dev/null/x"], "database"),
    ],
)
def test_what_is_wrong_is_named_and_the_exit_code_is_1(
    tmp_path: Path, options: list[str], subject: str
) -> None:
    """For scripts as for people; the rest is looked at all the same."""
    headgate = Headgate(["--data", str(tmp_path), *options], tmp_path)
    out, err = headgate.run("doctor", *ANY_PORT, expect=1)
    wrong = [line.split()[1] for line in out.splitlines() if line.startswith("FAIL ")]

    assert (wrong, err) == ([subject], "")


def test_a_clock_that_is_behind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit from a machine an hour ahead makes this one late."""

    async def commit() -> None:
        async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
            await kernel.realms.create("default")

    monkeypatch.setattr("headgate.wiring.SystemClock", EarlyClock)
    asyncio.run(commit())
    out, _ = Headgate(["--data", str(tmp_path)], tmp_path).run("doctor", *ANY_PORT, expect=1)

    [line] = [line for line in out.splitlines() if line.startswith("FAIL ")]
    assert line.split()[1] == "clock"
    assert "Synchronise the clock" in line


@pytest.mark.parametrize("options", [["--set", "no.such=1"], ["--config", "no/such.toml"]])
def test_settings_that_cannot_be_read_are_bad_usage(tmp_path: Path, options: list[str]) -> None:
    """There is nothing to look at: exit code 2."""
    _, err = Headgate(["--data", str(tmp_path)], tmp_path).run("doctor", *options, expect=2)

    assert err.startswith("headgate: error: ")
