"""What `headgate realm` shows while it works."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity, Entry, Kind
from headgate.catalog.naming import RELATIONS, ROOT, NamesDraft
from headgate.catalog.openings import head_pointer
from headgate.cli.main import run
from headgate.cli.realm import _named, counter
from headgate.settings.loading import load
from headgate.wiring import open_kernel


def test_progress_is_shown_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number grows in place, on standard error."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = counter("purging")
    assert show is not None
    show(1)
    show(2500)

    assert capsys.readouterr() == ("", "\rpurging: 1 deleted\rpurging: 2,500 deleted")


@pytest.fixture
def switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options of a store whose realm `old` is INACTIVE and has a catalog."""
    store = ["--data", str(tmp_path)]
    place = ("--warehouse", "s3://b/w", "--allow", "s3://c")
    assert run(["realm", "create", "old", *store]) == 0
    assert run(["catalog", "create", "a", "--metalake", "old", *place, *store]) == 0
    assert run(["realm", "deactivate", "old", *store]) == 0
    capsys.readouterr()
    return store


def test_the_change_log_names_the_operator(
    switched_off: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever works with the command line is nobody else."""
    assert run(["realm", "activate", "old", *switched_off]) == 0
    capsys.readouterr()
    assert run(["log", "--changes", "--kind", "metalake", "--json", *switched_off]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [(one["do"], one["by"]) for one in records] == [
        ("create", "operator"),
        ("disable", "operator"),
        ("enable", "operator"),
    ]


def test_an_operator_gives_a_metalake_an_owner(
    switched_off: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Who becomes a user of it if it is none; while it is off it has to be switched on first."""
    own = ["realm", "own", "old", "ann", "--json", *switched_off]
    assert run(own) == 1
    assert "headgate realm activate old" in capsys.readouterr().err
    assert run(["realm", "activate", "old", *switched_off]) == 0
    assert run(own) == run(own) == 0
    assert '"owner":"ann"' in capsys.readouterr().out
    assert run(["realm", "own", "none", "ann", *switched_off]) == 1
    capsys.readouterr()
    assert run(["log", "--changes", "--json", *switched_off]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    done = [(one["do"], one["kind"], one["name"]) for one in records]
    assert done.count(("create", "user", ["ann"])) == 1
    assert done.count(("set-owner", "metalake", ["old"])) == 1


async def add_table(store: list[str], *, dropped: bool = False) -> str:
    """Let the catalog have a table, and drop the metalake if that is wanted; the realm's id."""
    async with open_kernel(load(flags={"data": store[1]})) as kernel:
        realm = await kernel.realms.activate("old")
        [catalog] = await list_catalogs(kernel, "old")
        entry = Entry(Kind.TABLE, kernel.ids.next(), kernel.ids.next())
        await kernel.realm(realm.id).commit(
            head_pointer(catalog.id),
            lambda draft: NamesDraft(draft).add(ROOT, RELATIONS, "t", entry),
        )
        move = kernel.realms.drop if dropped else kernel.realms.deactivate
        await move(realm.id)
        return realm.id


def test_a_realm_without_tables_leaves_no_files(
    switched_off: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but rows is deleted."""
    assert run(["realm", "purge", "old", "--yes", *switched_off]) == 0

    assert capsys.readouterr().out == "Realm 'old' is purged; it is PURGED.\n"


def test_files_of_tables_are_only_left_if_that_is_said(
    switched_off: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody else knows afterwards where they are."""
    asyncio.run(add_table(switched_off))
    assert run(["realm", "purge", "old", *switched_off]) == 1
    refused = capsys.readouterr().err
    assert run(["realm", "purge", "old", "--abandon-files", "--yes", *switched_off]) == 0
    said = capsys.readouterr().out
    assert run(["realm", "purge", "old", "--json", "--yes", *switched_off]) == 0
    again = json.loads(capsys.readouterr().out)

    assert "files of tables are still there, in a. Drop the metalake by force" in refused
    assert said.endswith("Files of its tables are left in s3://b/w, s3://c.\n")
    assert (again["state"], again["files-left-in"]) == ("PURGED", [])


def test_a_dropped_realm_is_not_purged_before_its_files_are_deleted(
    switched_off: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Servers are at it."""
    id = asyncio.run(add_table(switched_off, dropped=True))

    assert run(["realm", "purge", id, *switched_off]) == 1
    assert "Wait until a server has deleted them" in capsys.readouterr().err
    assert run(["realm", "purge", id, "--abandon-files", "--yes", *switched_off]) == 0


def test_many_catalogs_with_files_are_not_all_named() -> None:
    """A few tell what it is about."""
    catalogs = [CatalogEntity(0, f"c{number}", "", {}) for number in range(7)]

    assert _named(catalogs) == "c0, c1, c2, c3, c4 and 2 more"
    assert _named(catalogs[:2]) == "c0, c1"


@pytest.mark.parametrize(
    ("options", "answer", "code", "state"),
    [([], "n", 1, "INACTIVE"), ([], "y", 0, "PURGED"), (["--yes"], "", 0, "PURGED")],
)
def test_a_person_is_asked_before_a_purge(
    options: list[str],
    answer: str,
    code: int,
    state: str,
    switched_off: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the person said so before."""
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)

    assert run(["realm", "purge", "old", *options, *switched_off]) == code
    capsys.readouterr()
    assert run(["realm", "list", "--json", *switched_off]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)] == [state]


def test_an_active_realm_is_not_purged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that comes first is named."""
    store = ["--data", str(tmp_path)]
    assert run(["realm", "create", "live", *store]) == 0
    assert run(["realm", "purge", "live", *store]) == 1

    assert (
        f"it is ACTIVE. Run `headgate realm deactivate live --data {tmp_path}` first"
        in capsys.readouterr().err
    )


def test_no_progress_is_shown_to_a_script() -> None:
    """Where nobody watches there is nothing to show."""
    assert counter("purging") is None
