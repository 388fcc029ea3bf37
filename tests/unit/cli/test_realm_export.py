"""`headgate realm export` and `import`: what they do, what they say, and how they say no."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.cli.main import run
from headgate.portage import parquet
from headgate.portage.manifest import NAME
from tests.unit.catalog.lakes import METALAKE
from tests.unit.cli.stores import opened_store

Output = pytest.CaptureFixture[str]


class Shop:
    """A store with a table, and commands on it."""

    def __init__(self, folder: Path, capsys: Output) -> None:
        self.folder = folder
        self._capsys = capsys

    def run(self, *arguments: str, code: int = 0, data: str = "data") -> str:
        """All that a command says; it must end with this code."""
        ended = run(["realm", *arguments, "--data", str(self.folder / data)])
        said = self._capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    def json(self, *arguments: str, code: int = 0, data: str = "data") -> Any:
        return json.loads(self.run(*arguments, "--json", code=code, data=data))


@pytest.fixture(name="shop")
def _shop(tmp_path: Path, capsys: Output) -> Shop:
    async def make() -> None:
        async with opened_store(tmp_path / "data") as node:
            await node.table()

    asyncio.run(make())
    return Shop(tmp_path, capsys)


def test_a_metalake_is_moved_to_another_store(shop: Shop) -> None:
    """Under another name, if one is given; both say what it has in it."""
    folder = str(shop.folder / "out")
    written = shop.json("export", METALAKE, folder)
    made = shop.json("import", folder, "--name", "shop", data="other")

    assert (written["metalake"], written["files"]) == (METALAKE, 1)
    assert (made["metalake"], made["state"]) == ("shop", "ACTIVE")
    assert (made["rows"], made["content"]) == (written["rows"], written["content"])
    again = shop.json("export", "shop", str(shop.folder / "2"), data="other")
    assert again["content"] == written["content"]


def test_people_see_how_far_it_is_and_what_came_of_it(shop: Shop) -> None:
    """Stages on standard error, facts on standard output."""
    said = shop.run("export", METALAKE, str(shop.folder / "out"))

    assert "rows/s" in said
    assert "content   " in said


def test_a_half_written_export_changes_nothing(shop: Shop) -> None:
    """One line says what is wrong with it; no store is made."""
    folder = shop.folder / "out"
    shop.run("export", METALAKE, str(folder))
    (folder / NAME).unlink()

    said = shop.run("import", str(folder), data="other", code=1)

    assert "the export is half-written or damaged: there is no manifest.json in" in said
    assert not (shop.folder / "other").exists()


def test_an_export_of_what_is_there_is_refused(shop: Shop) -> None:
    """Its catalogs have one owner; also under another name."""
    folder = str(shop.folder / "out")
    shop.run("export", METALAKE, folder)

    assert "there is one of this name" in shop.run("import", folder, code=1)
    assert "still there" in shop.run("import", folder, "--name", "copy", code=1)


def test_there_is_nothing_to_clear_away(shop: Shop) -> None:
    """A metalake that is in use is not an import."""
    folder = str(shop.folder / "out")
    shop.run("export", METALAKE, folder)

    assert "no unfinished import" in shop.run("import", folder, "--abort", code=1)


def test_what_to_install_is_said(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read or written."""

    def missing(name: str) -> None:
        raise ImportError(name=name.partition(".")[0])

    monkeypatch.setattr(parquet, "import_module", missing)

    said = shop.run("export", METALAKE, str(shop.folder / "out"), code=2)

    assert "pyarrow is not installed. Run pip install 'headgate[export]'" in said
    assert not (shop.folder / "out").exists()


def test_catalogs_among_the_server_s_own_files_are_not_imported(shop: Shop) -> None:
    """The store that is to have them lies in one of their locations; nothing is imported."""
    folder = str(shop.folder / "out")
    shop.run("export", METALAKE, folder)
    inside = "data/warehouse/inside"
    said = shop.run("import", folder, code=2, data=inside)

    assert f"{METALAKE!r} cannot be imported: tables cannot lie in" in said
    assert "keeps files of its own there" in said
    assert shop.json("list", data=inside) == []
