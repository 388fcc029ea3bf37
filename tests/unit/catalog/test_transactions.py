"""Commits to several tables: all of them or none."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from headgate.catalog import relation_commits, table_commits
from headgate.catalog.entities import Kind
from headgate.catalog.relations import find_relation
from headgate.catalog.versions import changed_table
from headgate.errors import StorageUnavailable
from headgate.model.names import Identifier
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import (
    Answer,
    Node,
    World,
    append,
    at_snapshot,
    commit,
    new_table,
    set_properties,
    staged_commit,
)

PATH = "transactions/commit"
UNKNOWN_SPEC = {"action": "set-default-spec", "spec-id": 9}


def changes(*bodies: object) -> dict[str, object]:
    return {"table-changes": bodies}


def setting(table: str, **properties: str) -> dict[str, object]:
    return commit([set_properties(**properties)], table=table)


async def properties(node: Node, *tables: str) -> list[str | None]:
    return [(await node.load(name))["metadata"]["properties"].get("k") for name in tables]


async def test_all_tables_are_changed_in_one_commit(world: World, node: Node) -> None:
    """Also those of other namespaces; the answer has no body."""
    await node.namespace("b", "c")
    await node.table("t")
    await node.table("u", "b%1Fc")
    world.rig.backend.reset()
    other = {**setting("u", k="2"), "identifier": {"namespace": ["b", "c"], "name": "u"}}
    answer = await node.post(PATH, changes(setting("t", k="1"), other))

    assert (answer.status, answer.json) == (204, None)
    assert world.rig.backend.calls["commit"] == 1
    assert await properties(node, "t") == ["1"]
    assert (await node.load("u", "b%1Fc"))["metadata"]["properties"]["k"] == "2"


async def test_a_transaction_creates_tables_too(node: Node) -> None:
    """A staged table is made together with the change of another."""
    await node.table("t")
    staged = (await node.made("namespaces/a/tables", new_table("n", stage_create=True)))["metadata"]
    new = staged_commit(staged) | {"identifier": {"namespace": ["a"], "name": "n"}}
    await node.made(PATH, changes(setting("t", k="1"), new))

    assert await properties(node, "t", "n") == ["1", None]
    assert (await node.load("n"))["metadata"]["table-uuid"] == staged["table-uuid"]


@pytest.mark.parametrize(
    ("last", "status", "type"),
    [
        (setting("none", k="1"), 404, "NoSuchTableException"),
        (commit([set_properties(k="1")], [at_snapshot(7)], "u"), 409, "CommitFailedException"),
        (
            commit([set_properties(k="1")], [{"type": "assert-create"}], "u"),
            409,
            "CommitFailedException",
        ),
        (commit([UNKNOWN_SPEC], (), "u"), 400, "ValidationException"),
        (commit([set_properties(k="1")], [{"type": "dance"}], "u"), 400, "BadRequestException"),
        (commit([set_properties(write_data_path="/x")], (), "u"), 403, "ForbiddenException"),
        (setting("t", k="2"), 400, "BadRequestException"),
        (commit([set_properties(k="1")]), 400, "BadRequestException"),
    ],
)  # fmt: skip
async def test_if_one_cannot_be_changed_none_is(
    world: World, node: Node, last: dict[str, object], status: int, type: str
) -> None:
    """Whatever is wrong with the last one; no file is left."""
    for name in ("t", "u"):
        await node.table(name)
    before = await world.state()
    answer = await node.post(PATH, changes(setting("t", k="1"), last))

    assert answer.error[:2] == (status, type)
    assert await world.state() == before


async def test_a_transaction_of_nothing_is_refused(world: World, node: Node) -> None:
    """It would say that it did what it did not."""
    answer = await node.post(PATH, {"table-changes": []})

    assert answer.error[:2] == (400, "BadRequestException")


async def test_a_location_can_be_taken_by_one_table_only(world: World, node: Node) -> None:
    """Two staged tables of one transaction want the same place: none is made."""
    place = f"{world.warehouse}/same"
    bodies = []
    for name in ("t", "u"):
        staged = await node.made("namespaces/a/tables", new_table(name, stage_create=True))
        body = staged_commit(staged["metadata"], place)
        bodies.append(body | {"identifier": {"namespace": ["a"], "name": name}})
    before = await world.state()
    answer = await node.post(PATH, changes(*bodies))

    assert answer.error[:2] == (409, "AlreadyExistsException")
    assert await world.state() == before


async def test_the_second_file_cannot_be_written(world: World, node: Node) -> None:
    """The first one, which was written already, is gone again."""
    for name in ("t", "u"):
        await node.table(name)
    before = await world.state()
    node.storage.counts.clear()
    node.storage.failing.append(StorageUnavailable("The store is away", why="a fault"))
    answer = await node.post(PATH, changes(setting("t", k="1"), setting("u", k="1")))

    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert node.storage.counts["write"] == 2
    assert await world.state() == before


async def lost_race(world: World, node: Node, body: object, meanwhile: object) -> Answer:
    """The answer to a transaction that another node overtakes between its files and its swap."""
    other = await world.node()
    held = Held(world.rig)
    late = asyncio.create_task(node.post(PATH, body))
    await held.reached.wait()
    await other.made(PATH, meanwhile)
    held.let_go.set()
    return await late


async def test_a_lost_race_is_run_again_on_what_is_there(world: World, node: Node) -> None:
    """Another node changes one of the tables meanwhile, without a conflict: both are there."""
    for name in ("t", "u"):
        await node.table(name)
    body = changes(setting("t", k="1"), setting("u", k="1"))
    answer = await lost_race(world, node, body, changes(setting("u", other="x")))

    assert answer.status == 204
    assert await properties(node, "t", "u") == ["1", "1"]
    assert (await node.load("u"))["metadata"]["properties"]["other"] == "x"
    assert len(world.files()) == 5


async def test_a_lost_race_that_is_a_conflict_undoes_all(world: World, node: Node) -> None:
    """The other node appends to one of the tables first: neither is changed by us."""
    old = {name: (await node.table(name))["metadata"] for name in ("t", "u")}

    def appending(id: int, *tables: str) -> dict[str, object]:
        return changes(
            *(commit(append(old[name], id), [at_snapshot(None)], name) for name in tables)
        )

    answer = await lost_race(world, node, appending(1, "t", "u"), appending(2, "u"))
    loaded = {name: await node.load(name) for name in ("t", "u")}

    assert answer.error[:2] == (409, "CommitFailedException")
    assert loaded["t"]["metadata"]["snapshots"] == []
    assert loaded["u"]["metadata"]["current-snapshot-id"] == 2
    assert len(world.files()) == 3


async def test_transactions_in_opposite_order_do_not_wait_in_a_circle(
    world: World, node: Node
) -> None:
    """On one node and on two, all of them are made."""
    nodes = [node, await world.node()]
    for name in ("t", "u"):
        await node.table(name)
    answers = await asyncio.gather(
        *(
            nodes[number % 2].post(
                PATH,
                changes(*(setting(name, **{f"k{number}": "v"}) for name in order)),
            )
            for number, order in enumerate([("t", "u"), ("u", "t")] * 6)
        )
    )

    assert {answer.status for answer in answers} == {204}
    for name in ("t", "u"):
        found = (await node.load(name))["metadata"]["properties"]
        assert {f"k{number}" for number in range(12)} <= found.keys()


async def test_many_tables_and_a_key_fit_into_one_commit(world: World, node: Node) -> None:
    """The record of a repetition has little room; long names and many tables need none of it."""
    names = [f"{'long name ' * 20}{number}" for number in range(40)]
    for name in names:
        await node.table(name)
    body = changes(*(setting(name, k="1") for name in names))
    key = uuid4()
    first, second = [await node.post(PATH, body, key=key) for _ in range(2)]
    fewer = await node.post(PATH, changes(*(setting(name, k="1") for name in names[1:])), key=key)

    assert (first.status, second.status) == (204, 204)
    assert await properties(node, names[0].replace(" ", "+"), names[-1].replace(" ", "%20")) == [
        "1",
        "1",
    ]
    assert fewer.error[:2] == (422, "UnprocessableEntityException")


async def test_a_very_large_transaction_is_repeated_too(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it made is not remembered, only that it was made."""
    monkeypatch.setattr(relation_commits, "RECORDED_RELATIONS_MAX", 1)
    for name in ("t", "u"):
        await node.table(name)
    key, body = uuid4(), changes(setting("t", k="1"), setting("u", k="1"))
    await node.made(PATH, body, key=key)
    await node.made("namespaces/a/tables/t", commit([set_properties(k="2")]))

    assert (await node.post(PATH, body, key=key)).status == 204
    assert await properties(node, "t", "u") == ["2", "1"]


async def test_a_repeated_transaction_is_done_even_if_its_tables_are_gone(node: Node) -> None:
    """It was made; what happened to the tables later is another matter."""
    await node.table("t")
    key = uuid4()
    await node.made(PATH, changes(setting("t", k="1")), key=key)
    await node.delete("namespaces/a/tables/t")

    assert (await node.post(PATH, changes(setting("t", k="1")), key=key)).status == 204


async def test_a_large_transaction_keeps_less_in_the_database(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is compressed in one step; the rest is read from its files."""
    monkeypatch.setattr(table_commits, "TRANSACTION_MEMOS_BYTES_MAX", 1_500)
    for name in ("t", "u"):
        await node.table(name)
    await node.made(PATH, changes(setting("t", k="1"), setting("u", k="2")))
    other = await world.node()
    opened = await other.opened()
    found = [
        await find_relation(opened, Identifier(("a",), name), Kind.TABLE) for name in ("t", "u")
    ]

    assert [bool(one.entity.metadata) for one in found] == [True, False]
    assert await properties(other, "t", "u") == ["1", "2"]


async def test_others_have_their_turn_while_a_transaction_is_prepared(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of large tables take their time, and a transaction has many."""
    for name in ("t", "u"):
        await node.table(name)
    monkeypatch.setattr(table_commits, "TURN_SECONDS", 0)
    log: list[str] = []

    def noted(*arguments: Any) -> Any:
        log.append("change")
        asyncio.get_running_loop().call_soon(log.append, "others")
        return changed_table(*arguments)

    monkeypatch.setattr(table_commits, "changed_table", noted)
    await node.made(PATH, changes(setting("t", k="1"), setting("u", k="2")))

    assert log == ["change", "others"] * 2
