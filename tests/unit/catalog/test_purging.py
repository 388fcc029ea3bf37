"""Files of dropped tables: recorded with the drop, deleted in the background, by any node."""

import logging
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import purging
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.providers import CATALOG_SCOPE
from headgate.catalog.purging import PURGE
from headgate.catalog.reservations import reserve
from headgate.errors import BackendUnavailable, StorageUnavailable
from headgate.kernel.commit import CommitOptions
from headgate.kernel.index import look
from headgate.testing.faults import Fault
from tests.unit.catalog.lakes import (
    METALAKE,
    Node,
    World,
    call,
    commit,
    new_table,
    set_properties,
)
from tests.unit.catalog.late_nodes import go_on, standing_still, take_over
from tests.unit.catalog.purges import TERMS
from tests.unit.catalog.walking import DAMAGED, MISSING, Reached

TABLE = "namespaces/a/tables/t"
DROP = f"{TABLE}?purgeRequested=true"
SHORT = CommitOptions(timeout_seconds=0.0)


async def jobs(node: Node) -> int:
    index = (await node.lake.open(call())).head.index(PURGE)
    return len(await look(index, lambda tree: list(tree.scan())))


async def try_again(world: World, node: Node) -> None:
    """Let the pause of what could not be finished end, and what can be done be done."""
    world.rig.clock.advance(TERMS.backoff_max_ms)
    node.purges.wake()
    await node.purges.idle()


def with_data(node: Node, made: Any, *names: str) -> list[Path]:
    """Data files of a table, which its manifests lead to."""
    files = [Path(made["metadata"]["location"]) / "data" / name for name in names]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("data")
    node.planner.reached.append(Reached("data", [file.as_posix() for file in files]))
    return files


async def test_a_purged_table_leaves_no_file(world: World, node: Node) -> None:
    """Data, old metadata and the last metadata file; the drop itself is one commit."""
    made = await node.table()
    kept = await node.table("kept")
    with_data(node, made, "one.parquet", "two.parquet")
    await node.made(TABLE, commit([set_properties(k="v")]))
    world.rig.backend.reset()
    answer = await node.delete(f"{TABLE}?purgeRequested=True")
    dropped = world.rig.backend.calls["commit"]
    await node.purges.idle()

    assert (answer.status, dropped) == (204, 1)
    assert world.files() == {kept["metadata-location"]}
    assert await jobs(node) == 0
    assert await node.head(TABLE) == 404


async def test_record_and_drop_are_one_commit(world: World, node: Node) -> None:
    """The database refuses: the table is there and nothing is recorded."""
    await node.table()
    hasty = await world.node(commit=SHORT)
    before = await world.state()
    for _ in range(50):
        world.rig.faults.schedule("commit", Fault.UNAVAILABLE)
    answer = await hasty.delete(DROP)
    world.rig.faults._scheduled.clear()

    assert answer.status == 503
    assert await world.state() == before
    assert await jobs(node) == 0


async def test_a_node_that_stops_leaves_the_rest_to_the_next(world: World, node: Node) -> None:
    """The record outlives the process; another one takes it up when it starts."""
    made = await node.table()
    [file] = with_data(node, made, "one.parquet")
    await node.delete(DROP)
    await node.purges.close()
    assert file.exists()
    assert await jobs(node) == 1

    other = await world.node()
    other.planner.reached = node.planner.reached
    other.purges.wake()
    await other.purges.idle()
    assert world.files() == set()
    assert await jobs(other) == 0


async def test_two_nodes_do_not_purge_the_same_table(world: World, node: Node) -> None:
    """The one that comes second leaves it alone."""
    made = await node.table()
    with_data(node, made, "one.parquet")
    node.planner.gate.clear()
    other = await world.node()
    await node.delete(DROP)
    await node.planner.arrived.wait()
    other.purges.wake()
    await other.purges.idle()
    assert not other.planner.arrived.is_set()

    node.planner.gate.set()
    await node.purges.idle()
    assert world.files() == set()
    assert await jobs(node) == 0


async def test_missing_files_are_gone(world: World, node: Node) -> None:
    """A missing data file, a missing manifest, a missing metadata file: nothing stops the purge."""
    made = await node.table()
    [file] = with_data(node, made, "one.parquet")
    file.unlink()
    node.planner.reached.append(Reached(MISSING, ["/gone/manifest.avro"]))
    await node.delete(DROP)
    await node.purges.idle()
    assert world.files() == set()

    made = await node.table()
    Path(made["metadata-location"]).unlink()
    assert (await node.delete(DROP)).status == 204
    await node.purges.idle()
    assert await jobs(node) == 0


async def test_files_of_others_are_not_touched(world: World, node: Node) -> None:
    """What lies outside of the catalog's locations, or is no location at all, is left alone."""
    made = await node.table()
    outside = world.folder / "outside.parquet"
    outside.write_text("of somebody else")
    beside = world.folder / "warehouse2" / "x.parquet"
    beside.parent.mkdir()
    beside.write_text("of somebody else")
    paths = [outside.as_posix(), f"file://{beside.as_posix()}", "s3://bucket/key", "nowhere", ""]
    node.planner.reached.append(Reached("data", paths))
    with_data(node, made, "one.parquet")
    await node.delete(DROP)
    await node.purges.idle()

    assert world.files() == {outside.as_posix(), beside.as_posix()}
    assert await jobs(node) == 0


@pytest.mark.parametrize("trouble", ["damaged", "undeletable", "unreadable", "unexpected"])
async def test_what_cannot_be_finished_is_tried_again(
    world: World, node: Node, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It stays recorded, the log says why, and after a pause it is done."""
    made = await node.table()
    [file] = with_data(node, made, "one.parquet")
    match trouble:
        case "damaged":
            node.planner.reached.insert(0, Reached(DAMAGED, ["/w/manifest.avro"]))
        case "undeletable":
            node.storage.counts["undeletable"] = 1
        case "unreadable":
            node.planner.failing.append(StorageUnavailable("the store is away"))
        case "unexpected":
            node.planner.failing.append(ValueError("a mistake"))
    caplog.set_level(logging.WARNING)
    await node.delete(DROP)
    await node.purges.idle()
    assert file.exists()
    assert await jobs(node) == 1
    assert len(caplog.records) == 1

    node.storage.counts["undeletable"] = 0
    node.planner.reached[:] = [one for one in node.planner.reached if one.kind != DAMAGED]
    await try_again(world, node)
    assert world.files() == set()
    assert await jobs(node) == 0


@pytest.mark.parametrize("error", [StorageUnavailable("the store is away"), ValueError("a bug")])
async def test_one_table_that_cannot_be_purged_does_not_hold_up_others(
    world: World, node: Node, error: Exception
) -> None:
    """All that are recorded are tried, in either order; one meets the error."""
    made = {(await node.table(name))["metadata-location"] for name in ("t", "second")}
    node.planner.failing.append(error)
    node.planner.gate.clear()
    await node.delete(DROP)
    await node.delete("namespaces/a/tables/second?purgeRequested=true")
    node.planner.gate.set()
    await node.purges.idle()

    assert await jobs(node) == 1
    assert len(world.files()) == 1
    assert world.files() < made
    await try_again(world, node)
    assert world.files() == set()


async def test_a_later_drop_does_not_wait_for_one_that_failed(world: World, node: Node) -> None:
    """It is purged at once; the other one is left alone until its pause ends."""
    first = await node.table()
    second = await node.table("second")
    node.planner.failing.append(StorageUnavailable("the store is away"))
    await node.delete(DROP)
    await node.purges.idle()
    await node.delete("namespaces/a/tables/second?purgeRequested=true")
    await node.purges.idle()
    assert second["metadata-location"] not in world.files()
    assert world.files() == {first["metadata-location"]}

    await try_again(world, node)
    assert world.files() == set()
    assert await jobs(node) == 0


async def test_a_purged_table_leaves_no_folder(world: World, node: Node) -> None:
    """Its own and those below; what lies beside them stays, and so does the warehouse."""
    place = Path(world.warehouse)
    made = await node.table(location=f"{place}/x/t")
    with_data(node, made, "one.parquet")
    (place / "x" / "t" / "data" / "day=1" / "hour=2").mkdir(parents=True)
    beside = place / "x" / "beside"
    beside.mkdir()
    await node.delete(DROP)
    await node.purges.idle()
    assert beside.is_dir()
    assert not (place / "x" / "t").exists()

    root = f"{world.folder.as_posix()}/root"
    whole = CatalogEntity(0, "whole", f"{root}less", {}, allowed_locations=(root,))
    await create_catalog(node.kernel, METALAKE, whole)
    await node.made("namespaces", {"namespace": ["a"]}, catalog="whole")
    new = new_table(location=root)
    await node.made("namespaces/a/tables", new, catalog="whole")
    await node.delete(DROP, catalog="whole")
    await node.purges.idle()
    assert list(Path(root).iterdir()) == []


async def test_folders_of_a_new_table_are_kept_by_a_node_that_is_late(
    world: World, node: Node
) -> None:
    """It lost its lease; when it goes on, the place of the table is another one's."""
    place = Path(world.warehouse) / "x"
    await node.table(location=place.as_posix())
    late = await standing_still(world)
    await late.delete(DROP)
    await late.planner.arrived.wait()
    await take_over(world, node)
    await node.table("new", location=place.as_posix())
    (place / "data").mkdir()
    await go_on(late)

    assert (place / "data").is_dir()


async def test_a_database_that_is_away_is_tried_again(
    world: World, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is forgotten when the records cannot be read."""
    await node.table()
    await node.delete(DROP)
    world.rig.faults.schedule("read_pointers", Fault.UNAVAILABLE)
    await node.purges.idle()
    assert "table a.t is not purged yet" in caplog.text
    assert len(world.files()) == 1

    await try_again(world, node)
    assert world.files() == set()


async def test_a_file_of_another_table_is_not_deleted(world: World, node: Node) -> None:
    """Metadata can be made to name it; what nobody holds, as files added from elsewhere, goes."""
    await node.purge_in(CATALOG_SCOPE)
    await node.table()
    other = await node.table("other")
    loose = Path(world.warehouse) / "added" / "x.parquet"
    loose.parent.mkdir()
    loose.write_text("data")
    named = [other["metadata-location"], loose.as_posix()]
    node.planner.reached.append(Reached("data", named))
    await node.delete(DROP)
    await node.purges.idle()

    assert world.files() == {other["metadata-location"]}


async def test_a_database_that_is_away_does_not_leave_files_behind(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose a file is cannot be told now: the table is purged later, and not given up."""
    await node.purge_in(CATALOG_SCOPE)
    await node.table()
    loose = Path(world.warehouse) / "x.parquet"
    loose.write_text("data")
    node.planner.reached.append(Reached("data", [loose.as_posix()]))
    failing = [BackendUnavailable("the database is away")]

    def reserve_later(*arguments: Any) -> None:
        if failing:
            raise failing.pop()
        reserve(*arguments)

    monkeypatch.setattr(purging, "reserve", reserve_later)
    await node.delete(DROP)
    await node.purges.idle()
    assert await jobs(node) == 1
    assert loose.exists()

    await try_again(world, node)
    assert world.files() == set()
