"""`headgate log --changes`: one line for each operation."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.change_cursors import ALL, Cursor, Extent
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import head_pointer
from headgate.cli.log_changes import ChangeViewer, WantedChanges
from headgate.cli.main import run
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Capture = pytest.CaptureFixture[str]
Told = tuple[str, str, str]
NOTES: list[dict[str, object]] = [
    {"do": "create", "kind": "namespace", "name": ["a"], "by": "eve"},
    {"do": "create", "kind": "table", "name": [["a"], "t"], "by": "eve"},
    {"do": "rename", "kind": "table", "name": [["a"], "t"], "to": [["b"], "u"], "by": "eve"},
]
MADE: list[Told] = [
    ("create", "metalake", "default"),
    ("create", "catalog", "main"),
    ("create", "namespace", "a"),
    ("create", "table", "a.t"),
    ("rename", "table", "a.t"),
]


async def new_catalog(kernel: Kernel, name: str) -> None:
    """A catalog in which a little was done."""
    made = await create_catalog(kernel, "default", CatalogEntity(0, name, f"/{name}", {}))
    realm = kernel.realm((await kernel.realms.get("default")).id)
    for note in NOTES:

        def attempt(draft: Draft, note: object = note) -> None:
            draft.index("things").put(str(draft.seq).encode(), b"")
            draft.note(note)

        await realm.commit(head_pointer(made.id), attempt)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> list[str]:
    async def fill() -> None:
        async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
            await kernel.realms.create("default")
            await new_catalog(kernel, "main")

    asyncio.run(fill())
    return ["--data", str(tmp_path)]


def lines(capsys: Capture, *arguments: str) -> list[Any]:
    assert run(["log", "--changes", "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def told(lines: list[Any]) -> list[Told]:
    return [(one["do"], one["kind"], ".".join(one["name"])) for one in lines]


def test_people_read_sentences(capsys: Capture, store: list[str]) -> None:
    """When, where, and what was done by whom."""
    assert run(["log", "--changes", *store]) == 0
    said = [line.split("  ", 1)[1] for line in capsys.readouterr().out.splitlines()]

    assert said == [
        "default  metalake default was created",
        "default  catalog main was created",
        "default.main  namespace a was created by eve",
        "default.main  table a.t was created by eve",
        "default.main  table a.t was renamed to b.u by eve",
    ]


def test_scripts_go_on_where_they_were(capsys: Capture, store: list[str]) -> None:
    """The last line of a batch has the cursor behind it."""
    first = lines(capsys, "--since", "oldest", "--limit", "2", *store)
    rest = lines(capsys, "--since", first[-1]["next"], *store)

    assert told(first) + told(rest) == MADE


def test_a_cursor_is_given_also_where_there_is_nothing_to_show(
    capsys: Capture, store: list[str], tmp_path: Path
) -> None:
    """To begin with, behind the last record, and where a filter lets nothing pass."""

    async def go_on() -> None:
        async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
            await new_catalog(kernel, "more")

    [*_, last] = lines(capsys, *store)
    nothing = [
        lines(capsys, "--since", since, *wanted, *store)
        for since in ("now", last["next"])
        for wanted in ([], ["--kind", "view"])
    ]
    nothing.append(lines(capsys, "--kind", "view", *store))
    asyncio.run(go_on())

    for [only] in nothing:
        assert list(only) == ["next"]
        assert len(lines(capsys, "--since", only["next"], *store)) == len(MADE) - 1


def test_people_are_shown_no_cursor(capsys: Capture, store: list[str]) -> None:
    """Nothing is nothing."""
    assert run(["log", "--changes", "--since", "now", *store]) == 0

    assert not capsys.readouterr().out


def test_the_last_ones_are_shown_unless_asked_otherwise(capsys: Capture, store: list[str]) -> None:
    """As with commits."""
    assert told(lines(capsys, "--limit", "2", *store)) == MADE[-2:]


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (["--kind", "table"], MADE[3:]),
        (["--catalog", "main"], MADE[2:]),
        (["--realm", "default"], MADE),
        (["--name", "b"], MADE[4:]),
        (["--name", "a.t"], MADE[3:]),
        (["--name", "a", "--kind", "namespace"], MADE[2:3]),
    ],
)
def test_some_can_be_chosen(
    capsys: Capture, store: list[str], wanted: list[str], shown: list[Told]
) -> None:
    """By kind, catalog, realm and name; both names of what was renamed count."""
    assert told(lines(capsys, *wanted, *store)) == shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--changes", "--pointer", "catalogs"], "--pointer can only be used without --changes"),
        (["--kind", "table"], "--kind can only be used with --changes"),
        (["--changes", "--kind", "rolle"], "the nearest known one is 'role'"),
        (["--changes", "--since", "17"], "no cursor that was given out here"),
        (["--since", "now"], "'now' is no id of a commit"),
    ],
)
def test_what_does_not_fit_is_refused(
    capsys: Capture, store: list[str], options: list[str], said: str
) -> None:
    """With what is wrong."""
    assert run(["log", *options, *store]) == 2

    assert said in capsys.readouterr().err


def test_a_cursor_of_another_realm_is_refused(capsys: Capture, store: list[str]) -> None:
    """It would skip what it knows nothing of."""
    [*_, last] = lines(capsys, "--realm", "default", *store)

    assert run(["log", "--changes", "--since", last["next"], *store]) == 2
    assert "of another metalake" in capsys.readouterr().err


async def followed(
    kernel: Kernel, capsys: Capture, wanted: WantedChanges, begun: asyncio.Event | None = None
) -> list[Told]:
    """What is shown of a metalake, and of a catalog that is made when the viewer has begun."""
    await kernel.realms.create("default")
    following = asyncio.create_task(ChangeViewer(wanted, json=True).follow(kernel))
    shown: list[Any] = []

    async def read(last: Told) -> None:
        while told(shown)[-1:] != [last]:
            await asyncio.sleep(0.01)
            shown.extend(map(json.loads, capsys.readouterr().out.splitlines()))

    await (begun.wait() if begun else read(MADE[0]))
    await new_catalog(kernel, "main")
    await read(MADE[-1])
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    return told(shown)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers look often."""
    monkeypatch.setattr("headgate.cli.log_changes.POLL_SECONDS", 0.01)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("wanted", [WantedChanges(since="oldest"), WantedChanges(limit=1)])
async def test_what_comes_is_shown_once(capsys: Capture, wanted: WantedChanges) -> None:
    """Behind what was there, and also of a catalog that was not there when it began."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        assert await followed(kernel, capsys, wanted) == MADE


@pytest.mark.usefixtures("quick")
async def test_only_what_comes_is_shown_if_nothing_else_is_said(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wants the history asks for it."""
    begun, now = asyncio.Event(), ChangeLog.now

    async def begin(log: ChangeLog, extent: Extent = ALL) -> Cursor:
        cursor = await now(log, extent)
        begun.set()
        return cursor

    monkeypatch.setattr(ChangeLog, "now", begin)
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        assert await followed(kernel, capsys, WantedChanges(), begun) == MADE[1:]
