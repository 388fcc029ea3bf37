"""A file that a table of another catalog refers to is never deleted: that one may need it after
the table is gone that it belonged to. Catalogs have places of their own; manifests can name any."""

import json
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.manifest import ManifestFile

from headgate.catalog import territories
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import LocationTerms, alter_catalog, create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.live_holders import Holders
from headgate.catalog.metalakes import drop_metalake
from headgate.pipelines.fixtures.table import Made
from headgate.purge.draining import Draining
from headgate.purge.job_states import State
from headgate.testing.kernels import SteppedClock
from tests.planning.tables import MetadataTable, data_file
from tests.purge.faulty_files import Trouble
from tests.purge.listing import local_path, lying_below
from tests.purge.machine import Machine, Site, files_of
from tests.purge.pauses import Pause
from tests.unit.catalog.lakes import METALAKE

OTHER = "elsewhere"


async def other_catalog(site: Site, machine: Machine, metalake: str = METALAKE) -> Path:
    """Another catalog, with a namespace; where it lies."""
    kernel, folder = machine.node.kernel, site.world.folder / OTHER
    if metalake != METALAKE:
        await kernel.realms.create(metalake)
    await create_catalog(kernel, metalake, CatalogEntity(0, OTHER, folder.as_posix(), {}))
    body = {"namespace": ["a"]}
    await machine.node.made("namespaces", body, catalog=f"{metalake}.{OTHER}")
    return folder


async def register(
    machine: Machine, folder: Path, table: MetadataTable, metalake: str = METALAKE
) -> None:
    """Let the other catalog have a table with this metadata."""
    metadata = folder / "b" / "00000.metadata.json"
    metadata.write_bytes(table.metadata())
    body = {"name": "b", "metadata-location": metadata.as_posix()}
    await machine.node.made("namespaces/a/register", body, catalog=f"{metalake}.{OTHER}")


def taking_up(folder: Path, paths: Iterable[Path]) -> MetadataTable:
    """A table of the other catalog that took up these files."""
    (folder / "b").mkdir(parents=True)
    table = MetadataTable(folder / "b")
    manifest = table.manifest([data_file(f"file://{path}") for path in paths])
    table.snapshot(1, [manifest])
    return table


def data_of(made: Made) -> list[Path]:
    """Files that lead to no others, in an order."""
    return sorted(path for path in files_of(made) if "/metadata/" not in path.as_posix())


@pytest.mark.parametrize("metalake", [METALAKE, "other"])
async def test_files_that_a_table_of_another_catalog_took_up_stay(
    site: Site, metalake: str
) -> None:
    """All else of the dropped table goes, and the job says how many were kept."""
    machine = await site.machine()
    made = await machine.make()
    folder = await other_catalog(site, machine, metalake)
    kept = data_of(made)[:2]
    await register(machine, folder, taking_up(folder, kept), metalake)
    theirs = lying_below(folder)

    job = await machine.drop()
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.kept, row.failed) == (State.SUCCEEDED, 2, 0)
    assert files_of(made) == set(kept)
    assert lying_below(folder) == theirs


async def copied(machine: Machine, folder: Path, metalake: str = METALAKE) -> None:
    """Let the other catalog have a copy of a table's metadata, and nothing else."""
    loaded = await machine.node.load()
    copy = loaded["metadata"] | {"location": (folder / "b").as_posix(), "metadata-log": []}
    (folder / "b").mkdir(parents=True)
    metadata = folder / "b" / "00000.metadata.json"
    metadata.write_text(json.dumps(copy))
    body = {"name": "b", "metadata-location": metadata.as_posix()}
    await machine.node.made("namespaces/a/register", body, catalog=f"{metalake}.{OTHER}")


async def test_what_leads_to_such_files_may_lie_in_the_dropped_table(site: Site) -> None:
    """A copy of the metadata that another catalog registered: it shares lists and manifests too,
    and all that these lead to is needed."""
    machine = await site.machine()
    made = await machine.make()
    await copied(machine, await other_catalog(site, machine))
    there = files_of(made)

    job = await machine.drop()
    await machine.work()

    row, left = await machine.row(job), files_of(made)
    gone = there - left
    assert (row.state, row.kept) == (State.SUCCEEDED, len(left))
    assert set(data_of(made)) == {path for path in there if "/metadata/" not in path.as_posix()}
    assert gone
    assert all(path.name.endswith(".metadata.json") for path in gone)


@pytest.mark.parametrize("what", ["catalog", "metalake"])
async def test_a_container_that_is_dropped_leaves_what_others_need(site: Site, what: str) -> None:
    """Its places can be read as long as files are deleted there, so it is known what leads to
    what."""
    machine = await site.machine()
    made = await machine.make()
    await copied(machine, await other_catalog(site, machine, "other"), "other")
    data, kernel = data_of(made), machine.node.kernel
    call = Call(CatalogName(METALAKE, "main"))
    if what == "catalog":
        realm, opened = await kernel.realms.get(METALAKE), await machine.node.opened()
        await remove_catalog(kernel, realm, call, opened.catalog, force=True)
    else:
        await drop_metalake(machine.node.lake, call, force=True)
    await Draining(kernel).make_one()
    await machine.work()

    assert data_of(made) == data
    assert await machine.inspector.all_live() == []
    assert not [path for path in files_of(made) if path.name.endswith(".metadata.json")]


async def test_a_reference_from_elsewhere_that_is_made_during_a_purge_stops_it(
    site: Site,
) -> None:
    """What is left of the table by then, and the other one needs, stays."""
    pause, clock = Pause(20), SteppedClock(site.world.rig.clock.wall_ms())
    machine = await site.machine(clock=clock, trouble=Trouble(before_check=pause))
    made = await machine.make()
    folder = await other_catalog(site, machine)
    job = await machine.drop()
    machine.workers.wake()
    await pause.began()
    left = data_of(made)
    await register(machine, folder, taking_up(folder, left))

    clock.advance(10_000)
    await machine.pool.broken_off.wait()
    pause.end()
    await machine.workers.idle()

    row = await machine.row(job)
    assert (row.state, row.kept, row.failed) == (State.SUCCEEDED, len(left), 0)
    assert files_of(made) == set(left)


async def test_a_purge_touches_nothing_in_places_of_other_catalogs(site: Site) -> None:
    """Whoever took up files of another catalog leaves them there when it is purged itself."""
    machine = await site.machine()
    made = await machine.make()
    folder = await other_catalog(site, machine)
    await register(machine, folder, taking_up(folder, data_of(made)[:2]))
    there = files_of(made)

    path = "namespaces/a/tables/b?purgeRequested=true"
    answer = await machine.node.delete(path, catalog=f"{METALAKE}.{OTHER}")
    await machine.work()

    assert answer.status == 204
    assert lying_below(folder / "b") == set()
    assert files_of(made) == there


async def test_a_table_in_a_place_that_its_catalog_lost_still_counts(site: Site) -> None:
    """Nobody may put new tables there, but those that are there need their files."""
    machine = await site.machine()
    made = await machine.make()
    folder = await other_catalog(site, machine)
    besides, name = site.world.folder / "besides", CatalogName(METALAKE, OTHER)
    allow = partial(alter_catalog, machine.node.kernel, name)
    await allow({"allowed_locations": (besides.as_posix(),)}, ":")
    kept = data_of(made)[:2]
    await register(machine, besides, taking_up(besides, kept))
    await allow({"allowed_locations": ()}, ":", terms=LocationTerms(leave_tables=True))

    job = await machine.drop()
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.kept) == (State.SUCCEEDED, 2)
    assert files_of(made) == set(kept)
    assert not folder.exists()


async def none_found(*_arguments: Any, **_options: Any) -> list[Holders]:
    """As if no table or view held a location."""
    return []


async def test_a_place_that_another_catalog_got_keeps_the_files_of_the_first_one_s_tables(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same metadata is registered there and purged: what is left of the place is needed.

    A store may be from a time in which that could be allowed.
    """
    monkeypatch.setattr(territories, "holders_in", none_found)
    machine = await site.machine()
    await machine.make()
    await other_catalog(site, machine)
    besides = site.world.folder / "besides"
    for catalog, places in ((OTHER, (besides.as_posix(),)), (OTHER, ()), ("main", (str(besides),))):
        name = CatalogName(METALAKE, catalog)
        await alter_catalog(machine.node.kernel, name, {"allowed_locations": places}, ":")
        if places and catalog == OTHER:
            await register(machine, besides, taking_up(besides, [besides / "b" / "d.parquet"]))
    (besides / "b" / "d.parquet").touch()
    there = lying_below(besides)
    body = {"name": "x", "metadata-location": (besides / "b" / "00000.metadata.json").as_posix()}
    await machine.node.made("namespaces/a/register", body)

    await machine.drop("x")
    await machine.work()

    assert lying_below(besides) == there


async def test_what_was_away_at_an_earlier_look_counts_when_it_is_back(site: Site) -> None:
    """A manifest was missing when another table was purged, a moment ago."""
    machine = await site.machine()
    made, _ = await machine.make(), await machine.make("u", 5)
    folder = await other_catalog(site, machine)
    kept = data_of(made)[:2]
    await register(machine, folder, taking_up(folder, kept))
    [manifest] = (folder / "b").glob("manifest*.avro")
    manifest.rename(folder / "away")
    await machine.drop("u")
    await machine.work()
    (folder / "away").rename(manifest)

    await machine.drop()
    await machine.work()

    assert files_of(made) == set(kept)


async def test_a_manifest_of_the_same_name_is_not_taken_for_the_one_before(site: Site) -> None:
    """A table was dropped, and another one was registered in its place."""
    machine = await site.machine()
    made, _ = await machine.make(), await machine.make("u", 5)
    folder = await other_catalog(site, machine)
    await register(machine, folder, taking_up(folder, []))
    await machine.drop("u")
    await machine.work()
    await machine.node.delete("namespaces/a/tables/b", catalog=f"{METALAKE}.{OTHER}")
    shutil.rmtree(folder / "b")
    kept = data_of(made)[:2]
    await register(machine, folder, taking_up(folder, kept))

    await machine.drop()
    await machine.work()

    assert files_of(made) == set(kept)


async def test_a_large_table_of_another_catalog_that_keeps_to_itself_is_read_once(
    site: Site,
) -> None:
    """Purges after the first one read nothing of it."""
    machine = await site.machine()
    folder = await other_catalog(site, machine)
    (folder / "b").mkdir(parents=True)
    table = MetadataTable(folder / "b")
    manifests: list[ManifestFile] = [
        table.manifest([data_file(f"file://{folder}/b/{number}.parquet")], number=number)
        for number in range(20)
    ]
    table.snapshot(1, manifests)
    await register(machine, folder, table)
    read: list[int] = []
    for name in ("t", "u"):
        made = await machine.make(name, 10)
        machine.trouble.read.clear()
        await machine.drop(name)
        await machine.work()
        read.append(len([path for path in machine.trouble.read if OTHER in path]))
        assert lying_below(local_path(made.location)) == set()

    assert read[0] > len(manifests)
    assert read[1] == 0
