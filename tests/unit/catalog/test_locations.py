"""Where tables may lie: in their catalog, and never in one another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import (
    METALAKE,
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
    staged_commit,
)


def folders(world: World) -> set[str]:
    return {path.as_posix() for path in world.folder.rglob("*")}


REFUSED = [
    ("{w}/x/t", 409),
    ("{w}/x/t/", 409),
    ("file:{w}/x/t", 409),
    ("file://{w}/x/t", 409),
    ("{w}/x/t/below/it", 409),
    ("{w}/x", 409),
    ("{w}", 409),
    ("{w}2/t", 403),
    ("{w}/../t", 400),
    ("{w}/x/%2e%2e/t", 400),
    ("{w}//t", 400),
    ("s3://bucket/t", 403),
    ("http://host/t", 400),
    ("relative", 400),
]
WAYS = ["table", "staged", "committed", "view", "data", "metadata"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_location_is_checked_before_anything_is_written(
    world: World, node: Node, way: str
) -> None:
    """Taken, above one, below one, outside, or no location: no file and no folder is made."""
    await node.table("first", location=f"{world.warehouse}/x/t")
    staged = await node.made("namespaces/a/tables", new_table("second", stage_create=True))
    before, folders_before = await world.state(), folders(world)
    for location, status in REFUSED:
        wanted = location.replace("{w}", world.warehouse)
        answer = await created(node, way, wanted, staged["metadata"])

        assert answer.status == status, answer
        if status == 409:
            assert answer.error[1] == "AlreadyExistsException"
            assert answer.error[2].startswith("Location is taken: file://")
    assert await world.state() == before
    assert folders(world) == folders_before


@pytest.mark.parametrize("way", WAYS)
async def test_a_neighbour_is_not_in_the_way(world: World, node: Node, way: str) -> None:
    """Names that begin alike, or differ in case, are other places."""
    await node.table("first", location=f"{world.warehouse}/x/t")
    staged = await node.made("namespaces/a/tables", new_table("second", stage_create=True))
    location = f"{world.warehouse}/x/{'T' if way == 'view' else 't2'}"

    assert (await created(node, way, location, staged["metadata"])).status == 200


async def created(node: Node, way: str, location: str, staged: Any) -> Any:
    if way == "view":
        return await node.post("namespaces/a/views", new_view("second", location=location))
    if way == "committed":
        return await node.post("namespaces/a/tables/second", staged_commit(staged, location))
    if way in {"data", "metadata"}:
        new = new_table("second", properties={f"write.{way}.path": location})
        return await node.post("namespaces/a/tables", new)
    new = new_table("second", location=location, stage_create=way == "staged")
    return await node.post("namespaces/a/tables", new)


@pytest.mark.parametrize("kind", ["table", "view"])
async def test_what_is_there_cannot_move_onto_another(world: World, node: Node, kind: str) -> None:
    """400: no repetition can help, and clients repeat a 409. Nothing changes."""
    await node.table("first", location=f"{world.warehouse}/x/t")
    await (node.table("second") if kind == "table" else node.view("second"))
    before, folders_before = await world.state(), folders(world)
    path = f"namespaces/a/{kind}s/second"
    for update in [
        {"action": "set-location", "location": f"{world.warehouse}/x"},
        set_properties(write_metadata_path=f"{world.warehouse}/x/t/m"),
    ]:
        answer = await node.post(path, commit([update]))
        assert answer.error[:2] == (400, "BadRequestException")
    for update in [
        {"action": "set-location", "location": f"{world.warehouse}2/x"},
        set_properties(write_data_path="/elsewhere"),
    ]:
        answer = await node.post(path, commit([update]))
        assert answer.error[:2] == (403, "ForbiddenException")

    assert await world.state() == before
    assert folders(world) == folders_before


@pytest.mark.parametrize("kind", ["table", "view"])
async def test_what_is_there_may_move_above_or_below_itself(
    world: World, node: Node, kind: str
) -> None:
    """It is not in its own way."""
    make = node.table if kind == "table" else node.view
    await make("t", location=f"{world.warehouse}/x/y")
    for place in ("x", "x/y/z", "x/y"):
        moving = [{"action": "set-location", "location": f"{world.warehouse}/{place}"}]
        moved = await node.made(f"namespaces/a/{kind}s/t", commit(moving))
        assert moved["metadata"]["location"] == f"{world.warehouse}/{place}"


async def test_a_table_may_write_in_several_places(world: World, node: Node) -> None:
    """Paths in its properties are its own too, inside of its location or not; a drop frees all."""
    w = world.warehouse
    paths = {
        "write.data.path": f"{w}/data",
        "write.metadata.path": f"{w}/data/meta",
        "write.object-storage.path": f"{w}/t/objects",
    }
    made = await node.table(location=f"{w}/t", properties=paths)
    assert made["metadata-location"].startswith(f"{w}/data/meta/00000-")
    for place in ("data", "data/meta", "t/objects/x"):
        new = new_table("u", location=f"{w}/{place}")
        assert (await node.post("namespaces/a/tables", new)).status == 409

    changed = {"action": "remove-properties", "removals": ["write.data.path"]}
    await node.made("namespaces/a/tables/t", commit([changed]))
    beside = await node.post("namespaces/a/tables", new_table("u", location=f"{w}/data/u"))
    assert beside.status == 409
    await node.delete("namespaces/a/tables/t")
    await node.table("u", location=f"{w}/data/u")
    await node.delete("namespaces/a/tables/u")
    await node.table("v", location=f"{w}/data/meta")


async def test_a_catalog_may_have_more_places(world: World, node: Node) -> None:
    """Those it was given besides its warehouse, with a boundary at whole segments."""
    more = f"{world.folder.as_posix()}/more"
    wide = f"{world.folder.as_posix()}/wide"
    entity = CatalogEntity(0, "wide", wide, {}, allowed_locations=(more,))
    await create_catalog(node.kernel, METALAKE, entity)
    await node.made("namespaces", {"namespace": ["a"]}, catalog="wide")
    for location, status in [(f"{more}/t", 200), (f"{more}2/t", 403), (world.warehouse, 403)]:
        new = new_table(f"t{status}", location=location)
        answer = await node.post("namespaces/a/tables", new, catalog="wide")
        assert answer.status == status


async def test_a_location_that_is_taken_meanwhile(world: World, node: Node) -> None:
    """Only the commit decides; the file that was written for the loser is gone again."""
    other = await world.node()
    place = f"{world.warehouse}/x"
    held = Held(world.rig)
    late = asyncio.create_task(node.post("namespaces/a/tables", new_table("late", location=place)))
    await held.reached.wait()
    early = await other.table("early", location=f"{place}/y")
    held.let_go.set()
    answer = await late

    assert answer.error[:2] == (409, "AlreadyExistsException")
    assert world.files() == {early["metadata-location"]}


async def test_a_file_in_the_way_of_a_folder_refuses_the_table(world: World, node: Node) -> None:
    """What the store refuses changes nothing."""
    (Path(world.folder) / "warehouse").mkdir()
    (Path(world.folder) / "warehouse" / "x").write_text("a file")
    before = await world.state()
    new = new_table("t", location=f"{world.warehouse}/x")
    answer = await node.post("namespaces/a/tables", new)

    assert answer.error[:2] == (400, "BadRequestException")
    assert await world.state() == before
