"""`headgate location`: places that catalogs left, shown and freed by operators."""

import asyncio
import json
from pathlib import Path

import pytest

from headgate.cli.main import run
from tests.unit.cli.stores import opened_store


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options of a store with a metalake `theirs`, and a catalog that left files."""

    async def fill() -> None:
        async with opened_store(tmp_path) as node:
            await node.table()
            await node.delete("namespaces/a/tables/t")
            await node.delete("namespaces/a")

    options = ["--data", str(tmp_path)]
    asyncio.run(fill())
    assert run(["catalog", "delete", "main", "--yes", *options]) == 0
    assert run(["realm", "create", "theirs", *options]) == 0
    capsys.readouterr()
    return options


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"file://{tmp_path.as_posix()}/warehouse"


def create(store: list[str], place: str) -> int:
    return run(["catalog", "create", "c", "--metalake", "theirs", "--warehouse", place, *store])


def test_places_that_were_left_are_shown(
    store: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people and for programs."""
    assert run(["location", "list", *store]) == 0
    shown = capsys.readouterr().out
    assert run(["location", "list", "--json", *store]) == 0
    [left] = json.loads(capsys.readouterr().out)

    assert place in shown
    assert "default.main" in shown
    assert (left["location"], left["metalake"], left["catalog"]) == (place, "default", "main")
    assert left["by"] == "operator"


def test_another_metalake_is_refused_until_the_place_is_freed(
    store: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """While files are there that has to be meant; then it is free with them."""
    assert create(store, place) == 1
    assert "headgate location list" in capsys.readouterr().err
    assert run(["location", "free", place, "--yes", *store]) == 1
    assert "--abandon-files" in capsys.readouterr().err
    assert run(["location", "free", place, "--abandon-files", "--yes", "--json", *store]) == 0
    [freed] = json.loads(capsys.readouterr().out)

    assert freed["location"] == place
    assert run(["location", "list", *store]) == 0
    assert capsys.readouterr().out == "There are no places that catalogs left.\n"
    assert create(store, place) == 0


def test_a_place_whose_files_are_gone_is_freed(
    store: list[str], place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, or by whoever creates a catalog there."""
    for file in (tmp_path / "warehouse").rglob("*.json"):
        file.unlink()
    assert run(["location", "free", place, "--yes", *store]) == 0
    assert capsys.readouterr().out == f"{place} is free.\n"

    assert create(store, place) == 0


def test_a_place_without_files_needs_no_operator(
    store: list[str], place: str, tmp_path: Path
) -> None:
    """The command that creates a catalog looks for itself."""
    for file in (tmp_path / "warehouse").rglob("*.json"):
        file.unlink()

    assert create(store, place) == 0


def test_a_place_that_nobody_left_is_not_freed(
    store: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said how to find those that are."""
    assert run(["location", "free", "/nowhere", "--yes", *store]) == 2
    assert "headgate location list" in capsys.readouterr().err
    assert run(["location", "free", "/nowhere", *store]) == 2


def test_without_a_command_it_is_said_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """As of all groups of commands."""
    assert run(["location"]) == 0
    assert "free" in capsys.readouterr().out


def test_a_realm_that_is_purged_leaves_its_places(
    store: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of its catalogs that had tables."""

    async def fill() -> None:
        async with opened_store(tmp_path / "more") as node:
            await node.table()

    options = ["--data", str(tmp_path / "more")]
    asyncio.run(fill())
    assert run(["realm", "deactivate", "default", *options]) == 0
    assert run(["realm", "purge", "default", "--abandon-files", "--yes", *options]) == 0
    capsys.readouterr()
    assert run(["location", "list", "--json", *options]) == 0
    [left] = json.loads(capsys.readouterr().out)

    assert left["location"].endswith("/more/warehouse")
