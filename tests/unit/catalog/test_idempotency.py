"""A call that is delivered again, with the same key: done once, answered alike, on every node."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from headgate.limits import OPERATION_LIFETIME_MS
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import (
    VIEW_VERSION,
    Answer,
    Node,
    World,
    append,
    commit,
    new_table,
    new_view,
    set_properties,
    staged_commit,
)

Body = Callable[[dict[str, Any]], object]


class Mutation(NamedTuple):
    """A request that changes something; its body may need what was made before."""

    name: str
    method: str
    path: str
    body: Body = lambda _: None


def renamed(name: str) -> Body:
    return lambda _: {
        "source": {"namespace": ["a"], "name": name},
        "destination": {"namespace": ["a"], "name": f"{name}2"},
    }


def registering(of: str) -> Body:
    return lambda made: {"name": "r", "metadata-location": made[of]["metadata-location"]}


def transaction(made: dict[str, Any]) -> object:
    staged = staged_commit(made["staged"]["metadata"])
    return {
        "table-changes": [
            commit([set_properties(k="1")], table="t"),
            staged | {"identifier": {"namespace": ["a"], "name": "n"}},
        ]
    }


MUTATIONS = [
    Mutation("createNamespace", "POST", "namespaces", lambda _: {"namespace": ["x", "y"]}),
    Mutation("dropNamespace", "DELETE", "namespaces/empty"),
    Mutation(
        "updateProperties",
        "POST",
        "namespaces/a/properties",
        lambda _: {"updates": {"k": "v"}, "removals": ["old", "none"]},
    ),
    Mutation("createTable", "POST", "namespaces/a/tables", lambda _: new_table("n")),
    Mutation("registerTable", "POST", "namespaces/a/register", registering("loose")),
    Mutation(
        "updateTable",
        "POST",
        "namespaces/a/tables/t",
        lambda made: commit(append(made["t"]["metadata"], 1)),
    ),
    Mutation("updateTable twice", "POST", "namespaces/a/tables/t", lambda _: commit([])),
    Mutation(
        "updateTable new",
        "POST",
        "namespaces/a/tables/n",
        lambda made: staged_commit(made["staged"]["metadata"]),
    ),
    Mutation("dropTable", "DELETE", "namespaces/a/tables/t"),
    Mutation("unregisterTable", "POST", "namespaces/a/tables/t/unregister"),
    Mutation("renameTable", "POST", "tables/rename", renamed("t")),
    Mutation("commitTransaction", "POST", "transactions/commit", transaction),
    Mutation("createView", "POST", "namespaces/a/views", lambda _: new_view("n")),
    Mutation("registerView", "POST", "namespaces/a/register-view", registering("loose view")),
    Mutation(
        "replaceView",
        "POST",
        "namespaces/a/views/v",
        lambda _: commit([{**set_properties(k="1")}]),
    ),
    Mutation("replaceView nothing", "POST", "namespaces/a/views/v", lambda _: {"updates": []}),
    Mutation(
        "replaceView version",
        "POST",
        "namespaces/a/views/v",
        lambda _: commit(
            [
                {"action": "add-view-version", "view-version": VIEW_VERSION | {"version-id": 2}},
                {"action": "set-current-view-version", "view-version-id": -1},
            ]
        ),
    ),
    Mutation("dropView", "DELETE", "namespaces/a/views/v"),
    Mutation("renameView", "POST", "views/rename", renamed("v")),
]
every_mutation = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)


async def prepare(node: Node) -> dict[str, Any]:
    """What the mutations need."""
    await node.namespace("empty")
    await node.made("namespaces/a/properties", {"updates": {"old": "1"}})
    made = {"t": await node.table("t"), "v": await node.view("v")}
    made["staged"] = await node.made("namespaces/a/tables", new_table("n", stage_create=True))
    made["loose"] = await node.table("loose")
    await node.delete("namespaces/a/tables/loose")
    made["loose view"] = await node.view("loose")
    await node.delete("namespaces/a/views/loose")
    return made


async def send(node: Node, mutation: Mutation, made: dict[str, Any], key: UUID) -> Answer:
    return await node.send(mutation.method, mutation.path, mutation.body(made), key=key)


@every_mutation
async def test_a_repetition_is_answered_as_the_first(
    world: World, node: Node, mutation: Mutation
) -> None:
    """On the same node and on another, and nothing is done again: neither rows nor files."""
    made, key = await prepare(node), uuid4()
    first = await send(node, mutation, made, key)
    await node.purges.idle()
    before = await world.state()
    same = await send(node, mutation, made, key)
    other = await send(await world.node(), mutation, made, key)
    after = await world.state()

    assert first.status in {200, 204}, first
    assert same == first
    assert other == first
    assert after[1] == before[1]
    assert changed_pointers(before, after) == []


def changed_pointers(before: Any, after: Any) -> list[str]:
    """The catalog pointers that moved."""
    return [
        key.name
        for key, value in after[0].pointers.items()
        if key.name.startswith("cat/") and before[0].pointers.get(key) != value
    ]


@every_mutation
async def test_deliveries_at_once_do_one_thing(
    world: World, node: Node, mutation: Mutation
) -> None:
    """Two on one node, and one on another that has not heard of them when it begins."""
    made, key = await prepare(node), uuid4()
    other = await world.node()
    await other.get("namespaces")
    answers = await asyncio.gather(
        send(node, mutation, made, key),
        send(other, mutation, made, key),
        send(node, mutation, made, key),
    )

    assert answers[0].status in {200, 204}, answers[0]
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]


@every_mutation
async def test_a_delivery_that_comes_between(world: World, node: Node, mutation: Mutation) -> None:
    """The first is about to swap when the second, on another node, is made: both say the same."""
    made, key = await prepare(node), uuid4()
    other = await world.node()
    held = Held(world.rig)
    late = asyncio.create_task(send(node, mutation, made, key))
    await held.reached.wait()
    early = await send(other, mutation, made, key)
    files = world.files()
    held.let_go.set()
    answer = await late

    assert early.status in {200, 204}, early
    assert answer == early
    assert world.files() <= files


@every_mutation
async def test_a_key_belongs_to_one_request(world: World, node: Node, mutation: Mutation) -> None:
    """Used for another one it is refused, and nothing is done."""
    made, key = await prepare(node), uuid4()
    assert (await node.post("namespaces", {"namespace": ["other"]}, key=key)).status == 200
    before = await world.state()
    answer = await send(node, mutation, made, key)

    assert answer.error[:2] == (422, "UnprocessableEntityException")
    assert "it was used for another request: create namespace other" in answer.error[2]
    assert await world.state() == before


async def test_a_key_expires(world: World, node: Node) -> None:
    """After its life time it is as good as new; a little before it is not."""
    key = uuid4()
    body = {"namespace": ["x"]}
    await node.made("namespaces", body, key=key)
    await world.rig.pass_time(OPERATION_LIFETIME_MS - 1)
    assert (await node.post("namespaces", body, key=key)).status == 200
    await world.rig.pass_time(OPERATION_LIFETIME_MS)

    answer = await node.post("namespaces", body, key=key)
    assert answer.error[:2] == (409, "AlreadyExistsException")


async def test_what_failed_may_be_tried_again_with_its_key(node: Node) -> None:
    """It had no effect, so the next delivery is the first."""
    key = uuid4()
    body = commit([set_properties(k="v")])
    assert (await node.post("namespaces/a/tables/t", body, key=key)).status == 404
    await node.table()

    assert (await node.post("namespaces/a/tables/t", body, key=key)).status == 200


@pytest.mark.parametrize("kind", ["tables", "views"])
async def test_a_repetition_shows_what_the_first_made(world: World, node: Node, kind: str) -> None:
    """Even if the table went on since, or was dropped; the change is not made again."""
    path = f"namespaces/a/{kind}/{kind[0]}"
    await node.table()
    await node.view()
    key = uuid4()
    first = await node.made(path, commit([set_properties(k="1")]), key=key)
    later = await node.made(path, commit([set_properties(k="2")]))
    again = await node.made(path, commit([set_properties(k="1")]), key=key)
    now = (await (await world.node()).get(path)).json

    assert again == first
    assert now["metadata"] == later["metadata"]
    await node.delete(path)
    assert await node.made(path, commit([set_properties(k="1")]), key=key) == first


@pytest.mark.parametrize("kind", ["tables/t", "views/v"])
async def test_a_change_of_nothing_is_remembered_too(node: Node, kind: str) -> None:
    """Delivered again after others changed the same, it still changes nothing."""
    await node.table(properties={"k": "1"})
    await node.view(properties={"k": "1"})
    key = uuid4()
    await node.made(f"namespaces/a/{kind}", commit([set_properties(k="1")]), key=key)
    await node.made(f"namespaces/a/{kind}", commit([set_properties(k="2")]))
    again = await node.made(f"namespaces/a/{kind}", commit([set_properties(k="1")]), key=key)
    now = (await node.get(f"namespaces/a/{kind}")).json

    assert again["metadata"]["properties"]["k"] == "1"
    assert now["metadata"]["properties"]["k"] == "2"


async def test_a_long_list_of_removals_is_remembered(node: Node) -> None:
    """The answer says again which were there, however long their names are."""
    names = [f"{'n' * 200}{number}" for number in range(60)]
    await node.made("namespaces/a/properties", {"updates": dict.fromkeys(names[::2], "v")})
    key, body = uuid4(), {"removals": names}
    first, second = [await node.made("namespaces/a/properties", body, key=key) for _ in range(2)]

    assert first == second
    assert (first["removed"], first["missing"]) == (names[::2], names[1::2])
    shorter = await node.post("namespaces/a/properties", {"removals": names[:2]}, key=key)
    assert shorter.status == 422


async def test_a_key_is_bound_to_what_was_asked_for(node: Node) -> None:
    """Another body under the same key is refused: 200 would say that it was done."""
    await node.table()
    key = uuid4()
    await node.made("namespaces/a/tables/t", commit([set_properties(x="1")]), key=key)

    other = await node.post("namespaces/a/tables/t", commit([set_properties(x="2")]), key=key)

    assert other.status == 422
    table = await node.get("namespaces/a/tables/t")
    assert table.json["metadata"]["properties"]["x"] == "1"


async def test_names_of_any_length_have_keys(node: Node) -> None:
    """Names that differ only at their end are told apart."""
    levels = ["x" * 500 for _ in range(8)]
    key = uuid4()
    await node.made("namespaces", {"namespace": [*levels, "a"]}, key=key)
    assert (await node.post("namespaces", {"namespace": [*levels, "a"]}, key=key)).status == 200

    answer = await node.post("namespaces", {"namespace": [*levels, "b"]}, key=key)
    assert answer.status == 422


@pytest.mark.parametrize("key", ["", "x", "1234", "zc12d441-03fe-4693-9a96-a0705ddf69c1"])
async def test_a_key_is_a_uuid(world: World, node: Node, key: str) -> None:
    """Anything else is refused before it does anything."""
    before = await world.state()
    headers = {"idempotency-key": key}
    answer = await node.post("namespaces", {"namespace": ["x"]}, headers=headers)

    assert answer.error[:2] == (400, "BadRequestException")
    assert await world.state() == before
