"""`headgate catalog`: list, create and change catalogs of a store on disk."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.main import run
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Capture = pytest.CaptureFixture[str]


@pytest.fixture
async def store(tmp_path: Path) -> list[str]:
    """The options of a store with the default metalake."""
    async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
        await kernel.realms.create("default")
    return ["--data", str(tmp_path)]


def done(capsys: Capture, *arguments: str) -> str:
    assert run(["catalog", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def as_json(capsys: Capture, *arguments: str) -> Any:
    return json.loads(done(capsys, *arguments, "--json"))


def refused(capsys: Capture, code: int, *arguments: str) -> dict[str, str]:
    assert run(["catalog", *arguments, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    problem: dict[str, str] = json.loads(captured.err)["error"]
    return problem


def test_alone_it_says_what_it_can_do(capsys: Capture) -> None:
    """As `headgate` itself does."""
    assert "create" in done(capsys)


def test_a_catalog_is_created_and_listed(capsys: Capture, store: list[str], tmp_path: Path) -> None:
    """Its tables lie in a folder of its own unless it is told where."""
    own = as_json(capsys, "create", "own", "--comment", "c", *store)
    flat = as_json(
        capsys, "create", "flat", "--flat", "--warehouse", "s3://b/w/", "--allow", "s3://c", *store
    )
    listed = as_json(capsys, "list", *store)

    assert own["warehouse"] == f"file://{tmp_path}/warehouses/default=2Eown"
    assert (own["nested"], own["comment"], own["allowed-locations"]) == (True, "c", [])
    assert (flat["nested"], flat["warehouse"], flat["allowed-locations"]) == (
        False,
        "s3://b/w",
        ["s3://c"],
    )
    assert listed == [flat, own]
    assert set(own) == {
        *("id", "name", "provider", "in-use", "warehouse", "nested", "allowed-locations"),
        *("comment", "created"),
    }


def test_people_read_sentences_and_tables(capsys: Capture, store: list[str]) -> None:
    """Without --json the answers are for people."""
    empty = done(capsys, "list", *store)
    created = done(capsys, "create", "a", "--warehouse", "s3://b/w", *store)
    listed = done(capsys, "list", *store)
    changed = done(capsys, "set", "a", "nested=false", *store)

    assert empty == "There are no catalogs; `headgate catalog create NAME` makes one.\n"
    assert created == "Catalog 'a' is created; its tables lie in s3://b/w.\n"
    first, second, *rest = listed.splitlines()
    assert (first.split()[:2], second.split()[:2]) == (["NAME", "NESTED"], ["a", "yes"])
    assert rest == ["", "`headgate catalog show NAME` tells all of one."]
    assert changed == "Catalog 'a' is changed; its tables lie in s3://b/w.\n"


def test_a_catalog_can_be_changed(capsys: Capture, store: list[str]) -> None:
    """Several fields at once; the others stay."""
    made = as_json(capsys, "create", "a", "--warehouse", "s3://b/w", *store)
    changes = ("nested=FALSE", "comment=x=y", "allowed-locations=s3://c, s3://d/e")
    changed = as_json(capsys, "set", "a", *changes, *store)

    assert changed == made | {
        "nested": False,
        "comment": "x=y",
        "allowed-locations": ["s3://c", "s3://d/e"],
    }
    assert as_json(capsys, "list", *store) == [changed]
    assert as_json(capsys, "set", "a", "allowed-locations=", *store)["allowed-locations"] == []


def test_a_place_of_another_catalog_is_not_allowed(capsys: Capture, store: list[str]) -> None:
    """The error names the catalog that has it."""
    as_json(capsys, "create", "a", "--warehouse", "s3://b/a", "--allow", "s3://c", *store)
    as_json(capsys, "create", "b", "--warehouse", "s3://b/b", *store)
    problem = refused(capsys, 1, "set", "b", "allowed-locations=s3://d,s3://c/x", *store)

    assert problem["type"] == "LocationTaken"
    assert "catalog default.a" in problem["message"]


def test_without_a_directory_tables_lie_beside_the_sqlite_file(
    capsys: Capture, store: list[str], tmp_path: Path
) -> None:
    """And not in the store that is used when nobody names one."""
    url = f"sqlite://{store[1]}/headgate.db"
    made = as_json(capsys, "create", "a", "--backend", url)

    assert made["warehouse"] == f"file://{tmp_path}/warehouses/default=2Ea"


def test_another_metalake_has_catalogs_of_its_own(capsys: Capture, store: list[str]) -> None:
    """`--metalake` names it."""
    assert run(["realm", "create", "other", *store]) == 0
    capsys.readouterr()
    as_json(capsys, "create", "a", "--metalake", "other", *store)

    assert [one["name"] for one in as_json(capsys, "list", "--metalake", "other", *store)] == ["a"]
    assert as_json(capsys, "list", *store) == []


@pytest.mark.parametrize(
    ("arguments", "code", "type"),
    [
        (["create", "a"], 1, "CatalogExists"),
        (["create", "a.b"], 2, "BadRequest"),
        (["create", ""], 2, "BadName"),
        (["create", "b", "--warehouse", "nonsense"], 2, None),
        (["create", "b", "--warehouse", "file:///dev/null/w"], 2, "BadSetting"),
        (["create", "b", "--metalake", "nobody"], 1, "RealmNotFound"),
        (["create", "b", "--warehouse", "s3://b/w/inside"], 1, "LocationTaken"),
        (["create", "b", "--allow", "s3://b/w/inside"], 1, "LocationTaken"),
        (["list", "--metalake", "nobody"], 1, "RealmNotFound"),
        (["set", "nobody", "nested=true"], 1, "CatalogNotFound"),
        (["set", "nobody", "comment=x"], 1, "CatalogNotFound"),
        (["set", "a", "nested=perhaps"], 2, "BadRequest"),
        (["set", "a", "warehouse=s3://c"], 2, "BadRequest"),
        (["set", "a", "nested"], 2, "BadRequest"),
        (["set", "a"], 2, "InvalidInput"),
        (["set", "a", "allowed-locations=nonsense"], 2, "BadRequest"),
        (["show", "nobody"], 1, "CatalogNotFound"),
        (["show", "a", "--metalake", "nobody"], 1, "RealmNotFound"),
        (["delete", "nobody", "--yes"], 1, "CatalogNotFound"),
        (["set", "a", "nested=true", "--set", "schema.separator=/"], 2, "BadSetting"),
    ],
)
def test_what_cannot_be_done_has_a_name_and_a_code(
    arguments: list[str], code: int, type: str | None, capsys: Capture, store: list[str]
) -> None:
    """And changes nothing."""
    as_json(capsys, "create", "a", "--warehouse", "s3://b/w", *store)
    before = as_json(capsys, "list", *store)

    problem = refused(capsys, code, *arguments, *store)
    assert problem["message"]
    assert type in {None, problem["type"]}
    assert as_json(capsys, "list", *store) == before


def test_a_catalog_is_shown_with_all_that_it_has(capsys: Capture, store: list[str]) -> None:
    """Also how clients name it."""
    options = ("--warehouse", "s3://b/w", "--allow", "s3://c", "--comment", "mine")
    made = as_json(capsys, "create", "a", *options, *store)

    names = {"metalake": "default", "client-name": "default.a"}
    assert as_json(capsys, "show", "a", *store) == made | names
    shown = dict(line.split(maxsplit=1) for line in done(capsys, "show", "a", *store).splitlines())
    assert shown["clients"] == 'warehouse="default.a"'
    assert (shown["tables"], shown["and"]) == ("in   s3://b/w", "in      s3://c")
    assert shown["comment"] == "mine"


def test_an_empty_catalog_is_deleted(capsys: Capture, store: list[str]) -> None:
    """Its name and its place are free then, and the log tells it."""
    place = ("--warehouse", "s3://b/w")
    made = as_json(capsys, "create", "a", *place, *store)

    assert as_json(capsys, "delete", "a", "--yes", *store) == made
    assert as_json(capsys, "list", *store) == []
    again = as_json(capsys, "create", "a", *place, *store)
    assert again["id"] != made["id"]
    said = done(capsys, "delete", "a", "--yes", *store)
    assert said == "Catalog 'a' is deleted; its name is free.\n"
    assert run(["log", *store]) == 0
    assert "catalog a was dropped by operator" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["", "/keys", "/headgate.db"])
def test_no_location_holds_files_of_the_server(
    capsys: Capture, store: list[str], tmp_path: Path, place: str
) -> None:
    """Neither a warehouse nor an allowed location, of a new catalog or of one that is there."""
    location = f"file://{tmp_path}{place}"
    as_json(capsys, "create", "there", *store)
    for arguments in (
        ["create", "new", "--warehouse", location],
        ["create", "new", "--allow", location],
        ["set", "there", f"allowed-locations={location}"],
    ):
        problem = refused(capsys, 2, *arguments, *store)
        assert problem["message"].startswith(f"tables cannot lie in {location}: the server keeps")
    assert [one["name"] for one in as_json(capsys, "list", *store)] == ["there"]
