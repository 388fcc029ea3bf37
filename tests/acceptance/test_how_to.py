"""The programs of the README and of the how-to pages, run against a real server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import ForbiddenError

from headgate.testing.headgate_server import HeadgateServer, environment
from tests.acceptance.conftest import EXECUTABLE

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
DOCUMENTED_URL = "http://127.0.0.1:8181"

# The programs leave the closing of connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def blocks(page: Path, language: str) -> list[str]:
    found: list[str] = re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return found


def run(program: str, server: HeadgateServer, **names: object) -> dict[str, object]:
    """Run a program of a page on this server; the names it leaves."""
    known = {"pa": pa, **names}
    exec(program.replace(DOCUMENTED_URL, server.url), known)
    return known


def headgate(server: HeadgateServer, *arguments: str, expect: int = 0, entered: str = "") -> str:
    command = [str(EXECUTABLE), *arguments, "--data", str(server.folder / "data")]
    done = subprocess.run(
        command, env=environment(), input=entered, capture_output=True, text=True, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[HeadgateServer]:
    with HeadgateServer(tmp_path / "server") as server:
        yield server


@pytest.fixture(name="catalog")
def _catalog(server: HeadgateServer) -> Iterator[Catalog]:
    catalog = load_catalog("how-to", type="rest", uri=server.iceberg_url)
    yield catalog
    catalog.close()


def test_the_readme_can_be_followed(
    server: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its program makes a table and prints the rows that it asks for."""
    [program] = blocks(ROOT / "README.md", "python")
    run(program, server)

    assert "id: [[1,3]]" in capsys.readouterr().out


def test_namespaces_nest_as_shown(server: HeadgateServer, catalog: Catalog) -> None:
    """Parents come along, levels may have dots and slashes, and children are direct ones."""
    [program] = blocks(HOW_TO / "nest-namespaces.md", "python")
    run(program, server, catalog=catalog)

    assert catalog.list_namespaces("a") == [("a", "b")]
    assert catalog.list_namespaces(("two words", "v1.0")) == [("two words", "v1.0", "in/out")]


def test_a_flat_catalog_becomes_nested_as_shown(tmp_path: Path) -> None:
    """It is refused as long as a name is in the way."""
    free = ("--set", "schema.separator-governance=unrestricted")
    with HeadgateServer(tmp_path, *free) as server:
        headgate(server, "catalog", "create", "legacy", "--flat")
        flat = load_catalog("flat", type="rest", uri=server.iceberg_url, warehouse="legacy")
        flat.create_namespace(("a:b",))
        assert "'a:b'" in headgate(server, "catalog", "set", "legacy", "nested=true", expect=1)
        flat.drop_namespace(("a:b",))
        headgate(server, "catalog", "set", "legacy", "nested=true")
        flat.close()


def test_a_catalog_is_moved_as_shown(
    server: HeadgateServer, catalog: Catalog, tmp_path: Path
) -> None:
    """All tables of another server are registered where they lie, and can be given back."""
    rows = pa.table({"id": [1, 2, 3]})
    _, whole = blocks(HOW_TO / "bring-existing-tables.md", "python")
    with HeadgateServer(tmp_path / "old") as other:
        old = load_catalog("old", type="rest", uri=other.iceberg_url)
        old.create_namespace("sales")
        old.create_table("sales.orders", rows.schema).append(rows)
        old.close()
        place = other.warehouse.as_uri()
        headgate(server, "catalog", "set", "main", f"allowed-locations={place}")
        configured = f'load_catalog("old", type="rest", uri="{other.iceberg_url}")'
        run(whole.replace('load_catalog("old")', configured), server)

    assert catalog.load_table("sales.orders").scan().count() == 3
    [command] = [
        line for line in blocks(HOW_TO / "bring-existing-tables.md", "bash") if "curl" in line
    ]
    answer = subprocess.run(
        ["bash", "-c", command.replace(DOCUMENTED_URL, server.url)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'{{"metadata-location":"{place}/sales/orders-' in answer.stdout
    assert not catalog.table_exists("sales.orders")


def test_tests_of_others_run_as_shown(tmp_path: Path) -> None:
    """The test on the page passes in a project of its own."""
    [program] = blocks(HOW_TO / "test-with-headgate.md", "python")
    (tmp_path / "test_page.py").write_text(program, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )

    assert "1 passed" in done.stdout, done.stdout


def test_a_store_is_copied_and_restored_as_shown(server: HeadgateServer, catalog: Catalog) -> None:
    """While the server runs; what was made after the copy is not in it."""
    rows = pa.table({"id": [1, 2, 3]})
    catalog.create_namespace("before")
    catalog.create_table("before.t", rows.schema).append(rows)
    save, _, restore, _ = blocks(HOW_TO / "back-up.md", "bash")
    folder = server.folder
    path = {"PATH": f"{EXECUTABLE.parent}{os.pathsep}{os.environ['PATH']}"}
    (folder / "lake").symlink_to("data")
    subprocess.run(["bash", "-ec", save], cwd=folder, env=environment() | path, check=True)
    catalog.create_namespace("after")
    server.stop()
    subprocess.run(["bash", "-ec", restore], cwd=folder, env=environment() | path, check=True)
    server.start()

    restored = load_catalog("restored", type="rest", uri=server.iceberg_url)
    assert restored.list_namespaces() == [("before",)]
    assert restored.load_table("before.t").scan().count() == 3
    restored.close()


def test_changes_can_be_followed(server: HeadgateServer, catalog: Catalog) -> None:
    """The program of the page reads all that was done, and then only what comes."""
    [program] = blocks(HOW_TO / "follow-changes.md", "python")
    catalog.create_namespace("a")
    known = run(program, server)
    catalog.create_namespace("b")
    news: Any = known["news"]
    records, _ = news(known["since"])

    first: Any = known["records"]
    assert (first[-1]["kind"], first[-1]["name"]) == ("namespace", ["a"])
    assert [(one["kind"], one["name"]) for one in records] == [("namespace", ["b"])]


def test_access_is_controlled_as_shown(tmp_path: Path) -> None:
    """A user may read what its role says, but for what is denied, until the role is taken away."""
    page = HOW_TO / "control-access.md"
    commands = [line.split()[1:] for line in blocks(page, "bash")]
    users = {words[2]: words for words in commands if words[:2] == ["user", "create"]}
    options = next(words[1:] for words in commands if words[0] == "serve")
    let_in, give, take = blocks(page, "python")
    with HeadgateServer(tmp_path, *options) as server:
        for words in users.values():
            headgate(server, *words, entered="correct horse\n")
        secret = json.loads(headgate(server, "token", "secret", "create", "admin", "--json"))
        tokens = f"{server.iceberg_url}/v1/oauth/tokens"
        admin = load_catalog(
            "admin",
            type="rest",
            uri=server.iceberg_url,
            credential=f"admin:{secret['client-secret']}",
            **{"oauth2-server-uri": tokens},
        )
        admin.create_namespace("shop")
        for name in ("orders", "salaries"):
            admin.create_table(f"shop.{name}", pa.schema([("id", pa.int64())]))
        token = json.loads(headgate(server, "token", "create", "ann", "--json"))["token"]
        program = run(let_in, server)
        with pytest.raises(ForbiddenError):
            load_catalog("ann", type="rest", uri=server.iceberg_url, token=token)
        run(give, server, **program)
        ann = load_catalog("ann", type="rest", uri=server.iceberg_url, token=token)
        assert ann.list_tables("shop") == [("shop", "orders")]
        with pytest.raises(ForbiddenError):
            ann.load_table("shop.salaries")
        run(take, server, **program)
        with pytest.raises(ForbiddenError):
            ann.load_table("shop.orders")
        admin.close()
        ann.close()
