"""A dropped table comes back exactly as it was, as long as nothing of it is deleted."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.access.rules import LOAD_TABLE
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGE, PURGES, begin_job, end_job
from headgate.catalog.stored_names import IDS, LOCATIONS, NAMES
from headgate.catalog.undropping import undrop
from headgate.errors import (
    BadName,
    Conflict,
    Forbidden,
    JobNotFound,
    NamespaceNotFound,
    TableExists,
    ViewExists,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.kernel.records import PointerKey
from headgate.model.names import Identifier
from tests.unit.catalog.dropping import drop, loaded
from tests.unit.catalog.guarded import Guarded, rights
from tests.unit.catalog.lakes import CATALOG, Node, World, commit, new_table, set_properties

PATH = "namespaces/a/tables/t"
TABLE = Identifier(("a",), "t")
KEPT = (NAMES, IDS, LOCATIONS, PURGE)


async def kept(node: Node) -> dict[str, list[tuple[bytes, bytes]]]:
    """All that a catalog says of its tables."""
    head = (await node.opened()).head
    return {index: await look(head.index(index), lambda tree: list(tree.scan())) for index in KEPT}


async def change(node: Node, attempt: Callable[[Draft], object]) -> None:
    """Do to the catalog what a worker does."""
    opened = await node.opened()
    await opened.realm.commit(opened.pointer, attempt)


async def test_a_table_comes_back_byte_for_byte(node: Node, world: World) -> None:
    """All that is kept of it is as before, every node answers the same, and it goes on."""
    await node.table()
    await node.made(PATH, commit([set_properties(a="b")]))
    before, answer = await kept(node), await loaded(node)
    job = await drop(node)
    assert (await node.get(PATH)).status == 404
    assert await undrop(await node.opened(), job, TABLE) == TABLE

    assert await kept(node) == before
    assert await loaded(node) == answer
    assert await loaded(await world.node()) == answer
    assert (await node.opened()).head.head.marks[PURGES] == 0
    await node.made(PATH, commit([set_properties(a="c")]))
    assert (await node.load())["metadata"]["properties"]["a"] == "c"


async def test_it_can_come_back_under_another_name(node: Node) -> None:
    """Also in another namespace; it is the same table with the same files."""
    made = await node.table()
    await node.namespace("b")
    _, tag = await loaded(node)
    job = await drop(node)
    target = Identifier(("b",), "again")
    assert await undrop(await node.opened(), job, TABLE, target) == target

    assert (await node.load("again", "b"))["metadata"] == made["metadata"]
    assert (await loaded(node, "again", "b"))[1] == tag


async def test_it_is_told_by_the_change_log(node: Node) -> None:
    """What came back, as what, and by which job."""
    await node.table()
    await node.namespace("b")
    first = await drop(node)
    await undrop(await node.opened(), first, TABLE)
    second = await drop(node)
    await undrop(await node.opened(), second, TABLE, Identifier(("b",), "u"))
    opened = await node.opened()
    log = node.kernel.log.oldest_first(PointerKey(opened.realm.id, opened.pointer))
    told: list[Any] = [group.note async for commit in log for group in commit.groups]

    plain = {"do": "undrop", "kind": "table", "name": [["a"], "t"], "by": "anonymous"}
    assert [one for one in told if one["do"] == "undrop"] == [
        {**plain, "job": str(first)},
        {**plain, "job": str(second), "to": [["b"], "u"]},
    ]


async def test_a_table_that_took_its_name_is_in_the_way(node: Node) -> None:
    """Nothing changes, and the way out is named; with another name it works."""
    await node.table()
    job = await drop(node)
    await node.table()
    before = await kept(node)
    with pytest.raises(TableExists, match=rf"already exists: a\.t.*undrop {job} --as"):
        await undrop(await node.opened(), job, TABLE)

    assert await kept(node) == before
    await undrop(await node.opened(), job, TABLE, Identifier(("a",), "old"))
    assert (await node.load("old"))["metadata"]["table-uuid"] != (await node.load())["metadata"][
        "table-uuid"
    ]


async def test_so_is_a_view(node: Node) -> None:
    """Tables and views share their names."""
    await node.table()
    job = await drop(node)
    await node.view("t")

    with pytest.raises(ViewExists, match="--as"):
        await undrop(await node.opened(), job, TABLE)


async def test_its_namespace_has_to_be_there(node: Node) -> None:
    """It may have been dropped meanwhile: it can be made again, or another one chosen."""
    await node.table()
    job = await drop(node)
    assert (await node.delete("namespaces/a")).status == 204
    with pytest.raises(NamespaceNotFound, match=r"Namespace does not exist: a\. Create it"):
        await undrop(await node.opened(), job, TABLE)
    await node.namespace("a")
    await undrop(await node.opened(), job, TABLE)

    assert (await node.get(PATH)).status == 200


async def test_what_is_being_deleted_does_not_come_back(node: Node) -> None:
    """A worker says in the same catalog that it begins; that is the point of no return."""
    await node.table()
    job = await drop(node)
    await change(node, lambda draft: begin_job(draft, job))

    with pytest.raises(Conflict, match=f"are being deleted.*`headgate jobs cancel {job}`"):
        await undrop(await node.opened(), job, TABLE)


async def test_without_a_grace_period_nothing_comes_back(node: Node) -> None:
    """A worker begins at once, and does not say so first."""
    await node.table()
    job = await drop(node, grace_ms=0)

    with pytest.raises(Conflict, match="dropped without a grace period"):
        await undrop(await node.opened(), job, TABLE)


async def test_a_job_that_is_no_more_is_told(node: Node) -> None:
    """Because its table came back, or its files are gone."""
    await node.table()
    first = await drop(node)
    await undrop(await node.opened(), first, TABLE)
    with pytest.raises(JobNotFound, match="undropped or purged meanwhile"):
        await undrop(await node.opened(), first, TABLE)
    second = await drop(node)
    await change(node, lambda draft: end_job(draft, second))
    with pytest.raises(JobNotFound, match="undropped or purged meanwhile"):
        await undrop(await node.opened(), second, TABLE)


async def test_a_name_that_no_table_can_have_is_refused(node: Node) -> None:
    """As for new tables."""
    await node.table()
    job = await drop(node)

    with pytest.raises(BadName):
        await undrop(await node.opened(), job, TABLE, Identifier(("a",), ""))


async def test_its_owner_and_its_rights_are_as_before(guarded: Guarded, node: Node) -> None:
    """Rights are given on its id, which nobody else gets."""
    await guarded.users("ann", "bob", "eve")
    await node.table()
    await guarded.own("table", f"{CATALOG}.a.t", "ann")
    use = rights("catalog", CATALOG, "use_catalog", "use_schema")
    await guarded.role("reader", use, rights("table", f"{CATALOG}.a.t", "select_table"))
    await guarded.assign("bob", "reader")
    job = await drop(node)
    assert not await guarded.may("bob", LOAD_TABLE, ("a",), "t")
    await undrop(await node.opened(), job, TABLE)

    assert await guarded.owner("table", f"{CATALOG}.a.t") == ("user", "ann")
    assert await guarded.may("bob", LOAD_TABLE, ("a",), "t")
    assert not await guarded.may("eve", LOAD_TABLE, ("a",), "t")


async def test_elsewhere_only_who_may_create_tables_there_gets_it_back(
    guarded: Guarded, node: Node
) -> None:
    """Who owned the table may have it where it was, and not in the schema of another."""
    await guarded.users("ann")
    await guarded.role("user", rights("catalog", CATALOG, "use_catalog", "use_schema"))
    await guarded.assign("ann", "user")
    await node.table()
    await node.namespace("b")
    job = await drop(node)
    with pytest.raises(Forbidden, match="createTable"):
        await undrop(await guarded.catalog("ann"), job, TABLE, Identifier(("b",), "t"))
    await guarded.grant("user", rights("schema", f"{CATALOG}.b", "create_table"))
    await undrop(await guarded.catalog("ann"), job, TABLE, Identifier(("b",), "t"))

    assert (await node.get("namespaces/b/tables/t")).status == 200


async def test_of_an_undrop_and_a_beginning_purge_one_happens(node: Node, world: World) -> None:
    """Whichever commits first, the other one sees it."""
    await node.table()
    job = await drop(node)
    await undrop(await node.opened(), job, TABLE)
    opened = await (await world.node()).opened()
    begun = await opened.realm.commit(
        head_pointer(opened.catalog.id), lambda draft: begin_job(draft, job)
    )

    assert begun is None
    assert (await node.get(PATH)).status == 200


async def test_its_place_stays_taken_all_the_while(node: Node) -> None:
    """Nobody gets in between, neither while it is dropped nor after."""
    made = await node.table()
    location = made["metadata"]["location"]
    job = await drop(node)
    await undrop(await node.opened(), job, TABLE)
    answer = await node.post("namespaces/a/tables", new_table("u", location=location))

    assert answer.status == 409
    assert "a.t lies there" in answer.json["error"]["message"]
