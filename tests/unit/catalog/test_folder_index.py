"""Folders that namespaces chose before there was an index of them."""

import asyncio

import pytest

from headgate.catalog import folder_index
from headgate.catalog.schema_places import COMPLETE, is_complete
from headgate.catalog.stored_names import FOLDERS, FOLDERS_UNTIL
from headgate.kernel.draft import Draft
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import Node, World, new_table, new_view

TABLES = "namespaces/a/tables"


async def age(node: Node) -> None:
    """Leave the catalog as a program leaves it that knows no such index."""

    def attempt(draft: Draft) -> None:
        index = draft.index(FOLDERS)
        for key, _ in list(index.scan()):
            index.remove(key)
        draft.marks = {name: mark for name, mark in draft.marks.items() if name != FOLDERS_UNTIL}

    opened = await node.opened()
    await opened.realm.commit(opened.pointer, attempt)


async def marked(node: Node) -> int:
    """How far the index of the catalog is."""
    return (await node.opened()).head.head.marks.get(FOLDERS_UNTIL, 0)


async def commits(node: Node) -> int:
    """How many commits the catalog has had."""
    return (await node.opened()).head.head.seq


@pytest.mark.parametrize("way", ["table", "staged", "view"])
async def test_a_folder_chosen_before_there_was_an_index_is_protected(
    world: World, node: Node, way: str
) -> None:
    """Also if its namespace never changes again."""
    folder = f"{world.warehouse}/z/chosen"
    await node.namespace("old", location=folder)
    await age(node)
    for location in (folder, f"{world.warehouse}/z"):
        if way == "view":
            answer = await node.post("namespaces/a/views", new_view("x", location=location))
        else:
            new = new_table("x", location=location, stage_create=way == "staged")
            answer = await node.post(TABLES, new)

        assert answer.status == 409, (location, answer)
    assert await marked(node) == COMPLETE


async def test_a_new_catalog_has_a_complete_index(node: Node) -> None:
    """Nothing is read and committed for it later."""
    assert is_complete((await node.opened()).head.head.marks)
    before = await commits(node)
    await node.table()

    assert await commits(node) == before + 1


async def test_the_index_is_completed_in_small_commits_and_once(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many requests wait for it."""
    monkeypatch.setattr(folder_index, "FOLDERS_ADDED_PER_COMMIT", 2)
    folders = [f"{world.warehouse}/z/{number}" for number in range(6)]
    for number, folder in enumerate(folders):
        await node.namespace(f"old{number}", location=folder)
    await age(node)
    before = await commits(node)
    wanted = [new_table(f"t{number}", location=folder) for number, folder in enumerate(folders)]
    answers = await asyncio.gather(*(node.post(TABLES, new) for new in wanted))

    assert [answer.status for answer in answers] == [409] * len(folders)
    assert await commits(node) == before + 4  # for seven namespaces


async def test_a_node_continues_where_another_one_ended(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was added before is not looked at again."""
    monkeypatch.setattr(folder_index, "FOLDERS_ADDED_PER_COMMIT", 1)
    for number in range(3):
        await node.namespace(f"old{number}", location=f"{world.warehouse}/z/{number}")
    await age(node)
    held = Held(world.rig)
    late = asyncio.create_task(node.post(TABLES, new_table("x", location=f"{world.warehouse}/z")))
    await held.reached.wait()
    other = await world.node()
    early = await other.post(TABLES, new_table("x", location=f"{world.warehouse}/z/2"))
    before = await commits(other)
    held.let_go.set()

    assert (early.status, (await late).status) == (409, 409)
    assert await commits(other) == before


async def test_a_namespace_that_changes_meanwhile_has_the_folder_that_it_chose_last(
    world: World, node: Node
) -> None:
    """The one that was read before the commit is free again, and that of a dropped one too."""
    w = world.warehouse
    for name in ("moved", "gone", "same"):
        await node.namespace(name, location=f"{w}/z/{name}")
    await age(node)
    other = await world.node()
    held = Held(world.rig)
    late = asyncio.create_task(node.post(TABLES, new_table("x", location=f"{w}/z/same")))
    await held.reached.wait()
    body = {"updates": {"location": f"{w}/z/new"}, "removals": []}
    await other.made("namespaces/moved/properties", body)
    await other.delete("namespaces/gone")
    held.let_go.set()

    assert (await late).status == 409
    for name, status in [("moved", 200), ("gone", 200), ("new", 409), ("same", 409)]:
        new = new_table(name, location=f"{w}/z/{name}")
        assert (await other.post(TABLES, new)).status == status, name


async def test_what_an_older_program_took_for_a_location_is_left_out(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table can lie there, and tables elsewhere are created."""
    monkeypatch.setattr("headgate.catalog.namespaces._settle", lambda *_: None)
    monkeypatch.setattr("headgate.catalog.namespaces.check_allowed", lambda *_: None)
    await node.namespace("odd", location="neither a path nor a URI")
    await age(node)
    await node.table()

    assert await marked(node) == COMPLETE


async def test_a_commit_to_a_table_that_stays_where_it_is_needs_no_index(node: Node) -> None:
    """Only a new location is compared with folders."""
    await node.table()
    await age(node)
    body = {
        "requirements": [],
        "updates": [{"action": "set-properties", "updates": {"a": "b"}}],
    }
    await node.made(f"{TABLES}/t", body)

    assert await marked(node) == 0
