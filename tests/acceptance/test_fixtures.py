"""Fixtures are real tables: whoever lists their folder, and whoever reads them, finds the same."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from obstore.store import MemoryStore
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.typedef import TableVersion

from benchmarks.__main__ import main
from benchmarks.rest.servers import reference
from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.kinds import CONTENT, Kind, counted
from headgate.pipelines.fixtures.places import LocalPlace, ObjectPlace, local_path
from headgate.pipelines.fixtures.table import Made, make_table
from headgate.pipelines.fixtures.totals import NAMES
from headgate.testing.headgate_server import HeadgateServer
from tests.clients.test_duckdb import EXTENSIONS, extension

FILES = 500
VERSIONS: tuple[TableVersion, ...] = (1, 2, 3)


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    with HeadgateServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(name="made", scope="module", params=VERSIONS)
def _made(server: HeadgateServer, request: pytest.FixtureRequest) -> Made:
    """A fixture of each format version."""
    version: TableVersion = request.param
    catalog = Catalog(server.iceberg_url)
    return make_table(catalog, ("fixtures", f"version_{version}"), FILES, version=version)


@pytest.fixture(name="duck", scope="module")
def _duck(
    server: HeadgateServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the server attached as `lake`."""
    folder = tmp_path_factory.mktemp("extensions")
    with duckdb.connect(config={"extension_directory": str(folder)}) as duck:
        for name in EXTENSIONS:
            duck.execute(f"INSTALL '{extension(name)}'")
            duck.execute(f"LOAD {name}")
        duck.execute(
            f"ATTACH 'main' AS lake (TYPE iceberg, ENDPOINT '{server.iceberg_url}', "
            "AUTHORIZATION_TYPE 'none')"
        )
        yield duck


def listed(location: str) -> list[str]:
    """All files below a local location, without the check sums that Java writes."""
    root = local_path(location)
    found = [f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names]
    return [path for path in found if not path.endswith(".crc")]


def reachable(server: HeadgateServer, made: Made) -> set[str]:
    """All files that pyiceberg finds from the table's metadata."""
    with RestCatalog("headgate", uri=server.iceberg_url) as catalog:
        table = catalog.load_table(("fixtures", made.path.rpartition("/")[2]))
        metadata = table.metadata
        found = {
            table.metadata_location,
            *(entry.metadata_file for entry in metadata.metadata_log),
            *(snapshot.manifest_list for snapshot in metadata.snapshots),
            *(file.statistics_path for file in metadata.statistics),
            *(file.statistics_path for file in metadata.partition_statistics),
            *table.inspect.all_manifests()["path"].to_pylist(),
            *table.inspect.all_files()["file_path"].to_pylist(),
        }
    return {local_path(location) for location in found}


def test_a_reader_finds_the_rows_that_deletes_left(
    duck: duckdb.DuckDBPyConnection, made: Made
) -> None:
    """DuckDB applies equality deletes, to the first row of each file, and position deletes and
    deletion vectors, to the last row of some."""
    name = made.path.rpartition("/")[2]
    query = f"SELECT id, count(*) FROM lake.fixtures.{name} GROUP BY id"

    counts = dict(duck.execute(query).fetchall())

    files = counts[1]
    assert sum(counts.values()) == made.rows
    assert 0 < files < made.counts[Kind.DATA], "an overwrite has removed some"
    if made.version == 1:
        assert counts == dict.fromkeys(range(3), files)
    else:
        vectors = 2 * made.counts.get(Kind.DELETION_VECTORS, 0)
        by_position = made.counts.get(Kind.POSITION_DELETES, vectors)
        assert counts == {1: files, 2: files - by_position}


def test_what_lies_in_the_folder_is_what_was_reported(made: Made) -> None:
    """There are as many files of each kind as the names in the folder tell, and no others."""
    assert counted(listed(made.location)) == made.counts
    assert sum(made.counts.get(kind, 0) for kind in CONTENT) == FILES
    assert min(made.counts[kind] for kind in (Kind.MANIFEST, Kind.MANIFEST_LIST)) > 4
    assert min(made.counts[kind] for kind in (Kind.STATISTICS, Kind.PARTITION_STATISTICS)) == 2
    assert made.counts[Kind.METADATA] > 4


def test_every_file_can_be_reached(server: HeadgateServer, made: Made) -> None:
    """Metadata leads to all that lies in the folder, and to nothing else."""
    assert reachable(server, made) == set(listed(made.location))


def test_snapshots_sum_up_what_they_have(server: HeadgateServer, made: Made) -> None:
    """As those of engines do: files, records, bytes, and what is deleted, of the current state."""
    with RestCatalog("headgate", uri=server.iceberg_url) as catalog:
        table = catalog.load_table(("fixtures", made.path.rpartition("/")[2]))
        snapshot, files = table.current_snapshot(), table.inspect.files().to_pylist()
    assert snapshot
    assert snapshot.summary

    told = {name: int(snapshot.summary[name] or 0) for name in NAMES}
    rows = Counter[int]()
    for one in files:
        rows[one["content"]] += one["record_count"]
    data = [one for one in files if one["content"] == 0]
    assert (told["total-data-files"], told["total-records"]) == (len(data), rows[0])
    assert told["total-delete-files"] == len(files) - len(data)
    assert (told["total-position-deletes"], told["total-equality-deletes"]) == (rows[1], rows[2])
    if made.version < 3:  # each deletion vector is only a part of its file
        assert told["total-files-size"] == sum(one["file_size_in_bytes"] for one in files)


def test_java_reads_all_that_leads_to_files(tmp_path: Path) -> None:
    """Iceberg's own purge finds every file of each version and leaves none."""
    with reference(tmp_path) as server:
        made = [
            make_table(server, ("fixtures", f"version_{version}"), 50, version=version)
            for version in VERSIONS
        ]
        before = [counted(listed(one.location)) for one in made]
        for one in made:
            server.ask("DELETE", f"{one.path}?purgeRequested=true")
        left = [listed(one.location) for one in made]

    assert before == [one.counts for one in made]
    assert left == [[], [], []]


def test_equal_files_may_be_names_of_one(server: HeadgateServer) -> None:
    """With links there are as many names, and hardly any files behind them."""
    catalog = Catalog(server.iceberg_url)

    made = make_table(catalog, ("fixtures", "linked"), FILES, place=LocalPlace(link=True))

    paths = listed(made.location)
    data = [path for path in paths if counted([path])[Kind.DATA]]
    assert counted(paths) == made.counts
    assert len({Path(path).stat().st_ino for path in data}) == 4, "one for each partition"


def test_a_bucket_gets_the_same_files() -> None:
    """Objects lie below the root that their locations begin with."""
    store = MemoryStore()

    ObjectPlace("s3://bucket/below", store).write([("s3://bucket/below/data/a%20b", b"content")])

    assert bytes(store.get("data/a%20b").bytes()) == b"content"


def test_the_command_tells_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a catalog it starts its own; a second table of the same name is refused."""
    location = f"file://{tmp_path}/elsewhere"
    options = ["fixture", "--files", "20", "--data", str(tmp_path / "own"), "--location", location]

    assert main([*options, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert main([*options, "--name", "other"]) == 0
    told = capsys.readouterr().out
    assert main(options) == 2

    found = counted(listed(figures["location"]))
    assert figures["location"].startswith(location)
    assert figures["files"] == {kind.name.lower(): count for kind, count in found.items()}
    assert {line.split()[0] for line in told.splitlines()[1:3]} == {"data", "manifest"}
    assert "Table already exists" in capsys.readouterr().err


def test_too_few_files_are_refused(
    server: HeadgateServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table without room for all its kinds of files would be no fixture."""
    assert main(["fixture", "--files", "4", "--catalog-uri", server.iceberg_url]) == 2
    assert "4 files are too few" in capsys.readouterr().err
