"""`headgate log` of one catalog, one namespace or one table."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import head_pointer
from headgate.cli.main import run
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Capture = pytest.CaptureFixture[str]
NOTES: list[dict[str, object]] = [
    {"do": "create", "kind": "namespace", "name": ["a"]},
    {"do": "create", "kind": "table", "name": [["a"], "t"]},
    {"do": "create", "kind": "table", "name": [["a", "b"], "t"]},
    {"do": "create", "kind": "table", "name": [["ab"], "t"]},
    {"do": "rename", "kind": "table", "name": [["ab"], "t"], "to": [["a"], "u"]},
    {
        "do": "transaction",
        "changes": [
            {"do": "alter", "kind": "table", "name": [["x"], "t"]},
            {"do": "alter", "kind": "table", "name": [["a"], "t"]},
        ],
    },
]


async def _fill(data: Path) -> None:
    async with open_kernel(load(flags={"data": str(data)})) as kernel:
        for metalake, catalog in (("default", "main"), ("team", "other")):
            await kernel.realms.create(metalake)
            new = CatalogEntity(0, catalog, (data / catalog).as_uri(), {})
            made = await create_catalog(kernel, metalake, new)
            for note in NOTES if catalog == "main" else NOTES[:1]:
                await _commit(kernel, metalake, made.id, note)


async def _commit(kernel: Kernel, metalake: str, catalog: int, note: object) -> None:
    realm = kernel.realm((await kernel.realms.get(metalake)).id)

    def attempt(draft: Draft) -> None:
        draft.index("things").put(str(draft.seq).encode(), b"")
        draft.note(note)

    await realm.commit(head_pointer(catalog), attempt)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> list[str]:
    asyncio.run(_fill(tmp_path))
    return ["--data", str(tmp_path)]


def notes(capsys: Capture, *arguments: str) -> list[Any]:
    assert run(["log", "--json", *arguments]) == 0
    commits = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [group["note"] for commit in commits for group in commit["groups"]]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a", [0, 1, 2, 4, 5]),
        ("a.t", [1, 5]),
        ("a.u", [4]),
        ("ab", [3, 4]),
        ("a.b", [2]),
        ("z", []),
    ],
)
def test_only_what_is_about_a_name_or_in_it(
    capsys: Capture, store: list[str], name: str, shown: list[int]
) -> None:
    """Whole levels are compared; both names of what was renamed count."""
    wanted = ("--catalog", "main", "--name", name, *store)

    assert notes(capsys, *wanted) == [NOTES[at] for at in shown]
    assert notes(capsys, *wanted, "--limit", "1") == [NOTES[at] for at in shown[-1:]]
    assert notes(capsys, *wanted, "--since", "0") == [NOTES[at] for at in shown]
    assert notes(capsys, *wanted, "--since", "0", "--limit", "1") == [NOTES[at] for at in shown[:1]]


@pytest.mark.parametrize(
    ("catalog", "count"), [("main", 6), ("default.main", 6), ("team.other", 1)]
)
def test_only_one_catalog(capsys: Capture, store: list[str], catalog: str, count: int) -> None:
    """Its name alone is one of the default metalake."""
    assert notes(capsys, "--catalog", catalog, *store) == NOTES[:count]


def test_a_catalog_that_does_not_exist_is_refused(capsys: Capture, store: list[str]) -> None:
    """An empty log would look as if nothing had happened."""
    assert run(["log", "--catalog", "other", *store]) == 1

    assert "Catalog does not exist: default.other" in capsys.readouterr().err


def test_a_name_that_no_commit_is_about_is_said(capsys: Capture, store: list[str]) -> None:
    """Aside, so that scripts read nothing; it was perhaps written otherwise than in a log."""
    assert run(["log", "--name", "a/t", *store]) == 0

    assert capsys.readouterr() == ("", "no commit is about 'a/t'; names look like a.b.t\n")


def test_people_read_the_name_of_the_catalog(capsys: Capture, store: list[str]) -> None:
    """Scripts read the pointer, which never changes its name."""
    assert run(["log", "--catalog", "main", "--limit", "1", *store]) == 0

    assert capsys.readouterr().out.splitlines()[0].split()[2] == "default.main"
