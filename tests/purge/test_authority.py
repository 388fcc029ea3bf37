"""A purge deletes only in locations that the dropped table holds or held: what its metadata was
made to name elsewhere stays, and the job lists it."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.events import PurgeCompleted
from headgate.catalog.metalakes import drop_metalake
from headgate.catalog.providers import CATALOG_SCOPE, PURGE_SCOPE, TABLE_SCOPE
from headgate.limits import PURGE_LEFT_PATHS_MAX
from headgate.pipelines.fixtures.table import Made, make_table
from headgate.planning.files import LocalFiles
from headgate.planning.reachable import Walk
from headgate.purge.draining import Draining
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.removal import Kind
from tests.planning.tables import MetadataTable, data_file
from tests.purge.listing import files_below, local_path
from tests.purge.machine import Bridge, Machine, Site
from tests.unit.catalog.lakes import METALAKE, call

NAME = "attack"
SIZES = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}


def statistics(metadata: dict[str, Any], paths: list[str]) -> None:
    metadata["statistics"] = [
        {"snapshot-id": 1, "statistics-path": path, **SIZES} for path in paths
    ]


def partition_statistics(metadata: dict[str, Any], paths: list[str]) -> None:
    metadata["partition-statistics"] = [
        {"snapshot-id": 1, "statistics-path": path, "file-size-in-bytes": 1} for path in paths
    ]


def manifest_list(metadata: dict[str, Any], paths: list[str]) -> None:
    [snapshot] = metadata["snapshots"]
    [snapshot["manifest-list"]] = paths


def metadata_log(metadata: dict[str, Any], paths: list[str]) -> None:
    metadata["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": path} for path in paths]


def data_files(_metadata: dict[str, Any], _paths: list[str]) -> None:
    """They are named by a manifest, which is written before."""


Field = Callable[[dict[str, Any], list[str]], None]
FIELDS: list[Field] = [statistics, partition_statistics, manifest_list, metadata_log, data_files]
"""All that can carry the path of a file."""


async def attack(site: Site, field: Field, paths: list[str]) -> Path:
    """A table in the schema `a` whose metadata names these files; its folder."""
    folder = Path(site.world.warehouse, "a", NAME)
    folder.mkdir(parents=True)
    table = MetadataTable(folder)
    named = [data_file(path) for path in paths] if field is data_files else []
    table.snapshot(1, [table.manifest(named)])
    metadata = json.loads(table.metadata())
    field(metadata, paths)
    if field is manifest_list:
        for file in folder.glob("*.avro"):  # they would be files that nothing refers to
            file.unlink()
    root = folder / "00000.metadata.json"
    root.write_text(json.dumps(metadata))
    body = {"name": NAME, "metadata-location": root.as_posix()}
    await site.machines[0].node.made("namespaces/a/register", body)
    return folder


async def victim(machine: Machine) -> tuple[Made, bytes]:
    """A table in the schema `b` that was dropped without purge: all its files are there."""
    await machine.node.namespace("b")
    made = await asyncio.to_thread(make_table, Bridge(machine.node), ("b", "victim"), 6)
    metadata = (await machine.node.load("victim", "b"))["metadata"]
    answer = await machine.node.delete("namespaces/b/tables/victim")
    assert answer.status == 204, answer
    return made, json.dumps(metadata).encode()


def file_for(field: Field, metadata: bytes) -> str:
    """A file of a table that this field could name."""
    walk = Walk(metadata, LocalFiles())
    kinds: dict[Field, Kind] = {
        manifest_list: walk.lists,
        data_files: walk.data,
        metadata_log: partial(walk.older, ""),
    }
    return next(kinds.get(field, walk.statistics)()).paths[0]


def loose_file(site: Site, folder: Path | None = None) -> str:
    """A file in another schema's folder, or elsewhere, that no table has."""
    file = (folder or Path(site.world.warehouse, "b", "loose")) / "x"
    file.parent.mkdir(parents=True)
    file.write_text("something of somebody")
    return file.as_posix()


async def purged(machine: Machine) -> JobRow:
    """The row of the attacker's job when it is over."""
    job = await machine.drop(NAME)
    await machine.work()
    return await machine.row(job)


@pytest.mark.parametrize("field", FIELDS)
async def test_a_loose_file_in_another_schema_stays_and_is_listed(site: Site, field: Field) -> None:
    """Whatever field names it. The job succeeds, and says so in its row and in its event."""
    machine = await site.machine()
    await machine.node.namespace("a")
    path = loose_file(site)
    folder = await attack(site, field, [path])

    row = await purged(machine)

    assert (row.state, row.failed, row.kept, row.ledger) == (State.SUCCEEDED, 0, 0, ())
    assert (row.left_outside.count, row.left_outside.paths) == (1, (path,))
    assert (row.unreferenced.count, row.attempts) == (0, 1)
    assert files_below(Path(site.world.warehouse)) == {Path(path)}
    assert not folder.exists()
    [told] = [one for one in machine.told if isinstance(one, PurgeCompleted)]
    assert (told.outside, told.outside_paths, told.unreferenced) == (1, (path,), 0)


@pytest.mark.parametrize("field", FIELDS)
async def test_a_table_that_was_dropped_without_purge_keeps_its_files(
    site: Site, field: Field
) -> None:
    """Its manifest list is not even read: what that leads to is nothing to the owner of the job."""
    machine = await site.machine()
    await machine.node.namespace("a")
    made, metadata = await victim(machine)
    before, path = files_below(local_path(made.location)), file_for(field, metadata)
    folder = await attack(site, field, [path])

    row = await purged(machine)

    assert row.state == State.SUCCEEDED
    assert (row.left_outside.count, row.left_outside.paths) == (1, (path,))
    assert files_below(local_path(made.location)) == before
    assert not folder.exists()


@pytest.mark.parametrize("field", [field for field in FIELDS if field is not manifest_list])
async def test_an_owner_can_let_purges_delete_in_the_whole_catalog(
    site: Site, field: Field, tmp_path: Path
) -> None:
    """What no table holds goes then; nothing beyond the catalog's locations does, nor what a live
    table holds."""
    site.world.properties[PURGE_SCOPE] = CATALOG_SCOPE
    machine = await site.machine()
    await machine.node.namespace("a")
    live = await machine.node.table("live")
    other = tmp_path / "other"
    await create_catalog(
        machine.node.kernel, METALAKE, CatalogEntity(0, "other", other.as_posix(), {})
    )
    stay = [
        loose_file(site, other / "b"),
        loose_file(site, tmp_path / "nowhere"),
        loose_file(site, local_path(live["metadata"]["location"]) / "data"),
    ]
    goes = loose_file(site)
    folder = await attack(site, field, [*stay, goes])

    row = await purged(machine)

    assert row.state == State.SUCCEEDED
    assert (row.left_outside.count, set(row.left_outside.paths)) == (len(stay), set(stay))
    assert [path for path in stay if not Path(path).exists()] == []
    assert not Path(goes).exists()
    assert not folder.exists()
    assert (await machine.node.load("live"))["metadata"] == live["metadata"]


async def test_a_purge_reads_the_scope_when_it_runs(site: Site) -> None:
    """An owner who narrows it again saves the files of all purges that have not begun."""
    site.world.properties[PURGE_SCOPE] = CATALOG_SCOPE
    machine = await site.machine()
    await machine.node.namespace("a")
    path = loose_file(site)
    await attack(site, statistics, [path])
    job = await machine.drop(NAME)
    await machine.node.purge_in(TABLE_SCOPE)
    await machine.work()
    row = await machine.row(job)

    assert (row.state, row.left_outside.paths) == (State.SUCCEEDED, (path,))
    assert Path(path).exists()


async def test_former_locations_of_a_table_are_its_own(site: Site) -> None:
    """Its older files are there: they are deleted with it."""
    machine = await site.machine()
    made = await machine.make()
    moved = Path(site.world.warehouse, "a", "moved")
    updates = [{"action": "set-location", "location": moved.as_posix()}]
    await machine.node.made("namespaces/a/tables/t", {"requirements": [], "updates": updates})

    job = await machine.drop()
    await machine.work()
    row = await machine.row(job)

    assert (row.state, row.left_outside.count, row.unreferenced.count) == (State.SUCCEEDED, 0, 0)
    assert files_below(local_path(made.location)) == files_below(moved) == set()


async def test_many_files_elsewhere_are_counted_and_the_first_are_listed(site: Site) -> None:
    """Each once, however often the table names it."""
    machine = await site.machine()
    await machine.node.namespace("a")
    count = PURGE_LEFT_PATHS_MAX + 20
    paths = [f"/w/{number}" for number in range(count)]
    await attack(site, data_files, [*paths, *paths])

    row = await purged(machine)

    assert (row.state, row.left_outside.count) == (State.SUCCEEDED, count)
    assert list(row.left_outside.paths) == paths[: len(row.left_outside.paths)]
    assert len(row.left_outside.paths) == PURGE_LEFT_PATHS_MAX


@pytest.mark.parametrize("what", ["catalog", "metalake"])
@pytest.mark.parametrize("scope", [TABLE_SCOPE, CATALOG_SCOPE])
async def test_what_is_dropped_by_force_loses_only_what_its_tables_hold(
    site: Site, what: str, scope: str
) -> None:
    """These purges have no more authority than others: what the catalog said last counts."""
    site.world.properties[PURGE_SCOPE] = scope
    machine = await site.machine()
    await machine.node.namespace("a")
    path = loose_file(site)
    folder = await attack(site, statistics, [path])
    kernel = machine.node.kernel
    if what == "catalog":
        realm, opened = await kernel.realms.get(METALAKE), await machine.node.opened()
        await remove_catalog(kernel, realm, call(), opened.catalog, force=True)
    else:
        await drop_metalake(machine.node.lake, call(), force=True)
    await Draining(kernel).make_one()
    [found] = await machine.inspector.all_live()
    await machine.work()
    row = await machine.row(found.live.id)

    assert row.state == State.SUCCEEDED
    assert row.left_outside.paths == ((path,) if scope == TABLE_SCOPE else ())
    assert not folder.exists()
    assert Path(path).exists() is (scope == TABLE_SCOPE)


@pytest.mark.parametrize("scope", [TABLE_SCOPE, CATALOG_SCOPE])
async def test_a_manifest_list_beyond_the_catalog_holds_up_no_purge(
    site: Site, tmp_path: Path, scope: str
) -> None:
    """Nobody may read it there: what it leads to in the table's own location is listed."""
    site.world.properties[PURGE_SCOPE] = scope
    machine = await site.machine()
    await machine.node.namespace("a")
    path = loose_file(site, tmp_path / "nowhere")
    folder = await attack(site, manifest_list, [path])
    data = folder / "x.parquet"
    data.touch()

    row = await purged(machine)

    assert (row.state, row.left_outside.paths) == (State.SUCCEEDED, (path,))
    assert [local_path(one) for one in row.unreferenced.paths] == [data]
    assert files_below(folder) == {data}
