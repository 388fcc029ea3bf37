"""`headgate catalog` and places that symbolic links lead to one another."""

import asyncio
from pathlib import Path

import pytest

from headgate.application import load_application
from headgate.cli.main import run
from headgate.errors import LocationTaken
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Capture = pytest.CaptureFixture[str]


@pytest.fixture
async def store(tmp_path: Path) -> list[str]:
    """The options of a store with two metalakes; one has a catalog, and there is a link to it."""
    async with open_kernel(load(flags={"data": str(tmp_path)})) as kernel:
        await kernel.realms.create("default")
        await kernel.realms.create("other")
    (tmp_path / "wh").mkdir()
    (tmp_path / "link").symlink_to("wh")
    return ["--data", str(tmp_path)]


def created(store: list[str], name: str, warehouse: Path, *more: str) -> int:
    return run(["catalog", "create", name, "--warehouse", f"file://{warehouse}", *more, *store])


@pytest.mark.parametrize("place", ["link", "link/below", "link/not/there"])
@pytest.mark.parametrize("metalake", ["default", "other"])
def test_a_link_to_another_catalog_is_refused(
    capsys: Capture, store: list[str], tmp_path: Path, place: str, metalake: str
) -> None:
    """Whoever has the real folder is named, and so is that."""
    (tmp_path / "wh" / "below").mkdir()
    assert created(store, "one", tmp_path / "wh") == 0
    assert created(store, "two", tmp_path / place, "--metalake", metalake) != 0

    said = capsys.readouterr().err
    assert f"{tmp_path}/{place.replace('link', 'wh')}" in said
    assert "catalog default.one has" in said


def test_what_lies_behind_the_link_of_another_is_refused(store: list[str], tmp_path: Path) -> None:
    """The first one has the link, the second one wants the folder."""
    assert created(store, "one", tmp_path / "link") == 0
    assert created(store, "two", tmp_path / "wh") != 0


def test_places_are_added_only_if_no_link_leads_elsewhere(
    capsys: Capture, store: list[str], tmp_path: Path
) -> None:
    """Neither to another catalog nor to the catalog's own warehouse."""
    assert created(store, "one", tmp_path / "wh") == 0
    assert created(store, "two", tmp_path / "own") == 0
    link = f"allowed-locations=file://{tmp_path}/link"
    for name in ("one", "two"):
        assert run(["catalog", "set", name, link, *store]) != 0
        assert "catalog default.one" in capsys.readouterr().err
    free = f"allowed-locations=file://{tmp_path}/free,s3://b/w"
    assert run(["catalog", "set", "two", free, *store]) == 0


def test_a_link_that_leads_to_nobody_is_kept(
    capsys: Capture, store: list[str], tmp_path: Path
) -> None:
    """Under the name that the operator gave."""
    assert created(store, "one", tmp_path / "link") == 0
    assert f"file://{tmp_path}/link" in capsys.readouterr().out


async def test_the_first_catalog_of_a_metalake_is_checked_too(
    store: list[str], tmp_path: Path
) -> None:
    """A server makes it at its start; a link of its warehouse leads to another metalake's."""
    await asyncio.to_thread(created, store, "one", tmp_path / "wh", "--metalake", "other")
    settings = load(flags={"data": str(tmp_path), "bootstrap.warehouse": f"file://{tmp_path}/link"})
    front = load_application(settings, None)
    with pytest.raises(LocationTaken, match=r"catalog other\.one"):
        async with front._opening():
            pass
