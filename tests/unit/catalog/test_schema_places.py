"""The folders of namespaces: no table takes one, and none keeps a namespace from being used."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.guards import GuardOptions
from headgate.model.physical import default_folder, path_segment
from headgate.testing.kernels import Held
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import (
    CATALOG,
    Answer,
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
    staged_commit,
)

ON = GuardOptions(is_on=True, admins=frozenset({ADMIN}))
LONG = "n" * 200
DEEP = tuple(f"{number}{'d' * 120}" for number in range(4))
TABLES = "namespaces/a/tables"
WAYS = ["table", "staged", "committed", "view", "data", "moved", "registered"]


async def placed(node: Node, way: str, location: str) -> Answer:
    """What whoever owns everything is told about a table at a location."""
    if way == "view":
        return await node.post("namespaces/a/views", new_view("x", location=location))
    if way == "committed":
        staged = await node.made(TABLES, new_table("x", stage_create=True))
        return await node.post(f"{TABLES}/x", staged_commit(staged["metadata"], location))
    if way == "data":
        properties = {"write.data.path": location}
        return await node.post(TABLES, new_table("x", properties=properties))
    if way == "moved":
        moving = [{"action": "set-location", "location": location}]
        return await node.post(f"{TABLES}/there", commit(moving))
    if way == "registered":
        return await registered(node, location)
    return await node.post(TABLES, new_table("x", location=location, stage_create=way == "staged"))


async def registered(node: Node, location: str) -> Answer:
    """The same for a metadata file that somebody else wrote."""
    made = await node.made(TABLES, new_table("y", properties={"mark": "old"}))
    file, own = made["metadata-location"], made["metadata"]["location"]
    await node.delete(f"{TABLES}/y")
    crafted = file.replace("00000-", "00001-")
    Path(crafted).write_text(Path(file).read_text().replace(f'"{own}"', f'"{location}"'))
    return await node.post("namespaces/a/register", {"name": "x", "metadata-location": crafted})


@pytest.mark.parametrize("way", WAYS)
async def test_no_table_lies_where_a_namespace_has_its_folder_or_above_it(
    world: World, node: Node, way: str
) -> None:
    """Not even for who owns the catalog: nobody could create anything there any more."""
    w = world.warehouse
    await node.namespace("b", "c d", LONG)
    await node.namespace(*DEEP)
    await node.namespace("chosen", location=f"{w}/z/chosen")
    await node.table("there")
    folders = [
        w,
        f"{w}/a",
        f"{w}/b",
        f"{w}/b/c=20d",
        f"{w}/b/c=20d/{path_segment(LONG)}",
        default_folder(w, DEEP),
        default_folder(w, DEEP[:2]),
        f"{w}/z/chosen",
        f"{w}/z",
    ]
    for folder in folders:
        answer = await placed(node, way, folder)

        assert answer.status == (400 if way == "moved" else 409), (folder, answer)
        assert answer.error[2].startswith("Location is taken")
        assert "without purge" not in answer.error[2]  # to drop what lies there would not help
    free = await placed(node, way, f"{w}/b/c=20e")
    assert free.status == 200, free


@pytest.mark.parametrize("levels", [("a", "t"), ("a", "t", "deep"), (*DEEP,)])
async def test_a_namespace_whose_folder_a_table_has_keeps_its_tables_elsewhere(
    world: World, node: Node, levels: tuple[str, ...]
) -> None:
    """The table came first; everybody can create in the namespace, who owns nothing as well."""
    await node.table("t", location=default_folder(world.warehouse, levels[:2]))
    await node.namespace(*levels)
    server = await guarded(world)
    path = "%1F".join(levels)
    made = await server.made(f"namespaces/{path}/tables", new_table("x"), user="ann")
    again = await server.made(
        f"namespaces/{path}/tables", new_table("y", stage_create=True), user="ann"
    )
    folders = {one["metadata"]["location"].rpartition("/")[0] for one in (made, again)}

    assert len(folders) == 1
    [folder] = folders
    assert folder.startswith(f"{world.warehouse}/=n")
    taking = await server.post(TABLES, new_table("z", location=folder), user=OWNER)
    assert taking.status == 409


async def test_a_namespace_does_not_choose_a_folder_in_which_nothing_can_be_created(
    world: World, node: Node
) -> None:
    """400: it lies in a table. Above and beside one there is room."""
    w = world.warehouse
    await node.table("t", location=f"{w}/x/t")
    for name, location, status in [
        ("at", f"{w}/x/t", 400),
        ("in", f"{w}/x/t/in", 400),
        ("above", f"{w}/x", 200),
        ("beside", f"{w}/x/u", 200),
    ]:
        properties = {"location": location}
        answer = await node.post("namespaces", {"namespace": [name], "properties": properties})
        assert answer.status == status, (location, answer)
    await node.namespace("m")
    body = {"updates": {"location": f"{w}/x/t/in"}, "removals": []}
    assert (await node.post("namespaces/m/properties", body)).status == 400


async def test_a_folder_is_free_when_its_namespace_lets_go_of_it(world: World, node: Node) -> None:
    """Because it chose another one, or because it is gone."""
    w = world.warehouse
    await node.namespace("m", location=f"{w}/one")
    body = {"updates": {"location": f"{w}/two"}, "removals": []}
    await node.made("namespaces/m/properties", body)
    await node.table("t", location=f"{w}/one")
    assert (await node.post(TABLES, new_table("u", location=f"{w}/two"))).status == 409
    await node.delete("namespaces/m")

    await node.table("u", location=f"{w}/two")
    await node.table("v", location=f"{w}/m")


async def test_a_namespace_that_comes_meanwhile_keeps_its_folder(world: World, node: Node) -> None:
    """Only the commit decides."""
    other = await world.node()
    held = Held(world.rig)
    new = new_table("t", location=f"{world.warehouse}/n")
    late = asyncio.create_task(node.post(TABLES, new))
    await held.reached.wait()
    await other.namespace("n")
    held.let_go.set()

    assert (await late).status == 409


async def test_no_keys_for_the_folder_of_a_schema_are_had_by_staging(world: World) -> None:
    """Neither for one's own schema, nor for one below it that is denied, nor for a part of that."""
    node = await world.node()
    await node.namespace("a", "secret")
    server = await guarded(world, deny=("a:secret",))
    w = world.warehouse
    for location, status in [(f"{w}/a", 409), (f"{w}/a/secret", 403), (f"{w}/a/secret/x", 403)]:
        new = new_table("x", location=location, stage_create=True)
        answer = await server.post(TABLES, new, user="ann")
        assert answer.status == status, answer
    fine: Any = await server.post(TABLES, new_table("x", stage_create=True), user="ann")
    assert fine.status == 200


async def test_what_a_dropped_table_left_is_for_its_schema(world: World) -> None:
    """Not for who may create in the schema above: neither to read, nor to write there."""
    node = await world.node()
    await node.namespace("a", "b")
    made = await node.made("namespaces/a%1Fb/tables", new_table("t"))
    await node.delete("namespaces/a%1Fb/tables/t")
    server = await guarded(world)
    file = made["metadata-location"]
    body = {"name": "stolen", "metadata-location": file}
    inside = new_table("x", location=f"{made['metadata']['location']}/data")

    own = "namespaces/a%1Fb"
    staged = {**inside, "stage-create": True}
    for _ in range(2):  # while there is the other schema, and when it is gone
        status = (await server.post("namespaces/a/register", body, user="ann")).status
        assert status == (403 if await node.head(own) == 204 else 409)
        assert (await server.post(TABLES, inside, user="ann")).status == status
        assert (await server.post(TABLES, staged, user="ann")).status == status
        await node.delete(own)
    assert world.files() == {file}


async def test_a_dropped_table_comes_back_to_its_schema(world: World) -> None:
    """Who may create tables there registers it; in another schema, also of the same name, only who
    owns the catalog does."""
    node = await world.node()
    await node.namespace("a", "b")
    own = "namespaces/a%1Fb"
    made = await node.made(f"{own}/tables", new_table("t"))
    await node.delete(f"{own}/tables/t")
    server = await guarded(world)
    body = {"name": "t", "metadata-location": made["metadata-location"]}

    assert (await server.post(f"{own}/register", body, user="ann")).status == 200
    await node.delete(f"{own}/tables/t")
    await node.delete(own)
    await server.made("namespaces", {"namespace": ["a", "b"]}, user="ann")
    assert (await server.post(f"{own}/register", body, user="ann")).status == 409
    assert (await server.post(f"{own}/register", body, user=OWNER)).status == 200


async def guarded(world: World, deny: tuple[str, ...] = ()) -> Node:
    """A server that checks rights; ann may create schemas and tables, and owns nothing."""
    if not world.nodes:
        await world.node()
    server = await world.node(guard=ON)
    lake = Guarded(server.lake)
    await give_owner(lake)
    await lake.users("ann")
    allowed = ("use_catalog", "use_schema", "create_table", "create_schema")
    wanted = [rights("catalog", CATALOG, *allowed)]
    wanted += [rights("schema", f"{CATALOG}.{one}", deny=("use_schema",)) for one in deny]
    await lake.role("maker", *wanted)
    await lake.assign("ann", "maker")
    await server.post("namespaces", {"namespace": ["a"]}, user=OWNER)
    return server


async def test_a_table_writes_where_its_properties_say_only_if_that_is_its_own(
    world: World, node: Node
) -> None:
    """A path of its own is reserved with it, and no folder of a namespace becomes one later."""
    await node.namespace("n")
    await node.table()
    writing = [set_properties(write_data_path=f"{world.warehouse}/n")]
    answer = await node.post(f"{TABLES}/t", commit(writing))

    assert answer.error[:2] == (400, "BadRequestException")
