"""The page on several catalogs, followed."""

import re
import shlex
from pathlib import Path

import duckdb
import httpx
import pytest
from pyiceberg.catalog import Catalog

from headgate.testing.headgate_server import HeadgateServer
from tests.acceptance.test_how_to import DOCUMENTED_URL, HOW_TO, blocks, headgate, run
from tests.clients.test_duckdb import EXTENSIONS, extension

PAGE = HOW_TO / "use-several-catalogs.md"

# The programs leave the closing of connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def commands(block: str) -> list[list[str]]:
    """What is behind `headgate` on each line."""
    return [shlex.split(line)[1:] for line in block.splitlines()]


def test_several_catalogs_are_used_as_shown(tmp_path: Path) -> None:
    """Each client gets the catalog that it names, and whoever names none the default one."""
    make, choose, set_apart, switch, take_away, *_ = blocks(PAGE, "bash")
    with HeadgateServer(tmp_path) as server:
        for command in commands(make):
            headgate(server, *command)
        made = run(blocks(PAGE, "python")[0], server)
        legacy, same, team2 = (made[name] for name in ("legacy", "same", "team2"))
        assert isinstance(legacy, Catalog)
        assert isinstance(same, Catalog)
        assert isinstance(team2, Catalog)
        legacy.create_namespace("old")
        team2.create_namespace("new")
        assert same.list_namespaces() == [("old",)]
        assert team2.list_namespaces() == [("new",)]
        [attach] = blocks(PAGE, "sql")
        with duckdb.connect(config={"extension_directory": str(tmp_path / "duckdb")}) as duck:
            for name in EXTENSIONS:
                duck.execute(f"INSTALL '{extension(name)}'; LOAD {name}")
            duck.execute(attach.replace(DOCUMENTED_URL, server.url))
            assert ("new",) in duck.execute("SELECT schema_name FROM duckdb_schemas()").fetchall()
        for client in (legacy, same, team2):
            client.close()

    [[_, *options]], [[_, *more]] = commands(choose), commands(set_apart)
    with HeadgateServer(tmp_path, *options, *more) as server:
        listed = httpx.get(f"{server.iceberg_url}/v1/config").json()
        assert listed["overrides"]["prefix"] == "team2.legacy"
        for command, status in zip(commands(switch), (403, 200), strict=True):
            headgate(server, *command)
            assert httpx.get(f"{server.iceberg_url}/v1/config").status_code == status
        [command] = commands(take_away)
        assert "namespace new" in headgate(server, *command, expect=1)
        url = f"{server.iceberg_url}/v1/team2.legacy/namespaces"
        httpx.delete(f"{url}/new").raise_for_status()
        headgate(server, *command)
        assert httpx.get(url).status_code == 404


def test_a_metalake_is_forgotten_without_its_files_as_shown(tmp_path: Path) -> None:
    """Only if it is said that they are abandoned; then it is told where they are, and nobody else
    gets that place before it is freed."""
    make, *_, abandon, freeing = blocks(PAGE, "bash")
    switch_off, purge, delete = commands(abandon)
    listing, free = commands(freeing)
    with HeadgateServer(tmp_path) as server:
        for command in commands(make):
            headgate(server, *command)
        url = f"{server.iceberg_url}/v1/team2.legacy/namespaces"
        httpx.post(url, json={"namespace": ["new"]}).raise_for_status()
        table = {"name": "t", "schema": {"type": "struct", "fields": []}}
        made = httpx.post(f"{url}/new/tables", json=table).raise_for_status().json()
        headgate(server, *switch_off)
        refused = headgate(server, *(word for word in purge if word != "--abandon-files"), expect=1)
        left = headgate(server, *purge)
        headgate(server, *delete)

        assert "files of tables are still there, in legacy" in refused
        [place] = re.findall(r"left in (.*)\.$", left.strip())
        assert made["metadata-location"].startswith(place)
        assert Path(made["metadata-location"].removeprefix("file://")).exists()
        taking = ("catalog", "create", "taker", "--warehouse", place)
        headgate(server, *taking, expect=1)
        assert place.removeprefix("file://") in headgate(server, *listing)
        given = [place if word.startswith("s3:") else word for word in free]
        headgate(server, *given, expect=1)
        headgate(server, *given, "--abandon-files")
        headgate(server, *taking)
