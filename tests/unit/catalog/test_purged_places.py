"""Where a dropped table lay: taken until its files are gone, and free from then on."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from headgate.catalog.providers import CATALOG_SCOPE
from headgate.limits import PURGE_POLL_SECONDS, PURGE_WAIT_SECONDS
from tests.unit.catalog.lakes import Node, World, new_table
from tests.unit.catalog.late_nodes import go_on, standing_still, take_over
from tests.unit.catalog.outside import CountingFiles
from tests.unit.catalog.purges import TERMS
from tests.unit.catalog.walking import Reached

DROP = "namespaces/a/tables/t?purgeRequested=true"


async def test_a_place_is_free_when_its_files_are_gone(world: World, node: Node) -> None:
    """Whoever wants it meanwhile waits, and need not try again."""
    clock, place = world.rig.clock, f"{world.warehouse}/x"
    clock.short_seconds = PURGE_POLL_SECONDS  # whoever waits for the place waits for us
    await node.table(location=place)
    node.planner.gate.clear()
    await node.delete(DROP)
    creating = asyncio.create_task(node.table("new", location=place))
    async with asyncio.timeout(10):
        for _ in range(3):
            await clock.until_asleep(PURGE_POLL_SECONDS)
            clock.advance(PURGE_POLL_SECONDS * 1_000)
        await clock.until_asleep(PURGE_POLL_SECONDS)
        assert not creating.done()
        node.planner.gate.set()
        await node.purges.idle()
        assert world.files() == set()
        clock.advance(PURGE_POLL_SECONDS * 1_000)
        new = await creating

    assert world.files() == {new["metadata-location"]}
    assert (await node.load("new"))["metadata"] == new["metadata"]


async def test_a_place_whose_files_cannot_be_deleted_is_not_free(world: World, node: Node) -> None:
    """Nobody waits for ever, and who gives up is told why."""
    place = f"{world.warehouse}/x"
    await node.table(location=place)
    node.planner.gate.clear()
    await node.delete(DROP)
    began = world.rig.clock.seconds()
    answer = await node.post("namespaces/a/tables", new_table("new", location=place))
    waited = world.rig.clock.seconds() - began

    assert answer.error[:2] == (409, "AlreadyExistsException")
    assert "its files are still being deleted" in answer.error[2]
    assert PURGE_WAIT_SECONDS <= waited < PURGE_WAIT_SECONDS + 2 * PURGE_POLL_SECONDS
    assert await node.head("namespaces/a/tables/new") == 404


async def test_a_table_that_is_being_purged_cannot_come_back(world: World, node: Node) -> None:
    """Its metadata file is registered while it is deleted: it is gone, and so is the table."""
    made = await node.table()
    await node.delete(DROP)
    body = {"name": "back", "metadata-location": made["metadata-location"]}
    answer = await node.post("namespaces/a/register", body)
    await node.purges.idle()

    assert answer.status in {404, 409}
    assert await node.head("namespaces/a/tables/back") == 404


async def test_a_dropped_name_is_free_at_once(node: Node) -> None:
    """A new table of the name, elsewhere, is not touched by the purge of the old one."""
    await node.table()
    await node.delete(DROP)
    new = await node.table()
    await node.purges.idle()

    assert (await node.load())["metadata"] == new["metadata"]


async def test_a_place_that_was_taken_during_a_purge_is_left_alone(
    world: World, node: Node
) -> None:
    """Metadata of the dropped table names a file there, which nobody held when the purge began."""
    await node.purge_in(CATALOG_SCOPE)
    await node.table()
    place = Path(world.warehouse) / "taken"
    file, loose = place / "x.parquet", Path(world.warehouse) / "loose" / "x.parquet"
    for one in (file, loose):
        one.parent.mkdir()
        one.write_text("data")
    node.planner.reached.append(Reached("data", [file.as_posix(), loose.as_posix()]))
    node.planner.gate.clear()
    await node.delete(DROP)
    await node.planner.arrived.wait()
    new = await node.table("new", location=place.as_posix())
    node.planner.gate.set()
    await node.purges.idle()

    assert world.files() == {file.as_posix(), new["metadata-location"]}


async def test_a_node_that_is_late_deletes_nothing_of_a_new_table(world: World, node: Node) -> None:
    """Another node purged the old one; the new one is at its place, and has a file of that name."""
    place = Path(world.warehouse) / "x"
    await node.table(location=place.as_posix())
    late = await standing_still(world)
    late.planner.reached.append(Reached("data", [(place / "x.parquet").as_posix()]))
    await late.delete(DROP)
    await late.planner.arrived.wait()
    await take_over(world, node)
    new = await node.table("new", location=place.as_posix())
    (place / "x.parquet").write_text("data")
    await go_on(late)

    assert world.files() == {new["metadata-location"], (place / "x.parquet").as_posix()}


@pytest.mark.parametrize("folder", ["loose", "loose/below", "."])
async def test_a_place_cannot_be_taken_while_files_in_it_are_deleted(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Nobody held them a moment ago: whoever comes now is refused, and later gets the place."""
    await node.purge_in(CATALOG_SCOPE)
    await node.table()
    place = Path(world.warehouse) / "loose"
    file = Path(world.warehouse) / folder / "x.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("data")
    node.planner.reached.append(Reached("data", [file.as_posix()]))
    other = await world.node()
    other.planner.gate.clear()
    wanted = new_table("new", location=(place if folder != "." else file).as_posix())
    statuses: list[int] = []
    delete = CountingFiles.delete

    async def delete_later(self: CountingFiles, paths: Sequence[str]) -> list[tuple[str, str]]:
        if file.as_posix() in paths:
            statuses.append((await other.post("namespaces/a/tables", wanted)).status)
        return await delete(self, paths)

    monkeypatch.setattr(CountingFiles, "delete", delete_later)
    await node.delete(DROP)
    await node.purges.idle()
    assert statuses == [409]
    assert world.files() == set()

    assert (await other.post("namespaces/a/tables", wanted)).status == 200


async def test_a_purge_that_stops_keeps_all_that_it_took(world: World, node: Node) -> None:
    """Also places outside of its table: they are free when another node has finished it."""
    await node.purge_in(CATALOG_SCOPE)
    await node.table()
    place = Path(world.warehouse) / "loose"
    place.mkdir()
    (place / "x.parquet").write_text("data")
    node.planner.reached.append(Reached("data", [(place / "x.parquet").as_posix()]))
    node.storage.counts["undeletable"] = 1
    await node.delete(DROP)
    await node.purges.idle()
    await node.purges.close()
    other = await world.node()
    other.planner.reached = node.planner.reached
    other.planner.gate.clear()
    wanted = new_table("new", location=place.as_posix())
    assert (await other.post("namespaces/a/tables", wanted)).status == 409

    other.planner.gate.set()
    world.rig.clock.advance(TERMS.backoff_max_ms)
    other.purges.wake()
    await other.purges.idle()
    assert world.files() == set()
    assert (await other.post("namespaces/a/tables", wanted)).status == 200
