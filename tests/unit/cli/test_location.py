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


@pytest.fixture
def tenants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options of a store with a metalake `theirs`, and a table in an allowed location."""
    more, options = f"{tmp_path}/more", ["--data", str(tmp_path)]

    async def fill(*, table: bool) -> None:
        async with opened_store(tmp_path) as node:
            if table:
                await node.table(location=f"{more}/t")

    asyncio.run(fill(table=False))
    assert run(["catalog", "set", "main", f"allowed-locations={more}", *options]) == 0
    asyncio.run(fill(table=True))
    assert run(["realm", "create", "theirs", *options]) == 0
    capsys.readouterr()
    return options


def test_an_allowed_location_with_a_table_is_removed_only_if_it_is_confirmed(
    tenants: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is named, and the location stays with its metalake."""
    assert run(["catalog", "set", "main", "allowed-locations=", *tenants]) == 1
    refused = capsys.readouterr().err
    assert run(["location", "list", "--json", *tenants]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["catalog", "set", "main", "allowed-locations=", "--yes", *tenants]) == 0
    capsys.readouterr()
    assert run(["location", "list", "--json", *tenants]) == 0
    [left] = json.loads(capsys.readouterr().out)

    assert "1 table or view of catalog default.main, such as a.t" in refused
    assert "--yes" in refused
    assert left["location"].endswith("/more")


@pytest.mark.parametrize("flag", [[], ["--abandon-files"]])
def test_a_location_that_a_table_holds_is_not_freed(
    tenants: list[str], tmp_path: Path, flag: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is said about its files; once the table is dropped it can be."""
    more = f"{tmp_path}/more"
    assert run(["catalog", "set", "main", "allowed-locations=", "--yes", *tenants]) == 0
    assert run(["location", "free", more, "--yes", *flag, *tenants]) == 1
    refused = capsys.readouterr().err

    async def drop() -> int:
        async with opened_store(tmp_path) as node:
            return (await node.delete("namespaces/a/tables/t")).status

    assert "a.t" in refused
    assert "--abandon-files" not in refused
    assert create(tenants, more) == 1
    assert asyncio.run(drop()) == 204
    assert run(["location", "free", more, "--yes", "--abandon-files", *tenants]) == 0
    assert create(tenants, more) == 0


def test_a_location_that_never_had_a_table_is_not_kept(
    tenants: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder need not be there."""
    places = [f"{tmp_path}/more", f"{tmp_path}/unused"]
    allowed = f"allowed-locations={','.join(places)}"
    assert run(["catalog", "set", "main", allowed, *tenants]) == 0
    assert run(["catalog", "set", "main", f"allowed-locations={places[0]}", *tenants]) == 0
    capsys.readouterr()
    assert run(["location", "list", "--json", *tenants]) == 0

    assert json.loads(capsys.readouterr().out) == []
    assert create(tenants, places[1]) == 0


def test_commands_that_are_suggested_are_about_the_same_store(
    store: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the list, and where there is no terminal to confirm at."""
    options = " ".join(store)
    assert run(["location", "list", *store]) == 0
    shown = capsys.readouterr().out
    assert run(["location", "free", place, *store]) == 2
    refused = capsys.readouterr().err

    assert f"`headgate location free LOCATION {options}`" in shown
    assert f"`headgate location free {place} --yes {options}`" in refused
