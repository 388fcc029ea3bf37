"""Views: created, registered, replaced, by one node and by two."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import relation_commits
from headgate.limits import TABLE_COMMIT_TRIES_MAX
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import (
    SCHEMA,
    VIEW_VERSION,
    Node,
    World,
    commit,
    new_view,
    set_properties,
)

VIEW = "namespaces/a/views/v"


def version(sql: str, dialect: str = "spark", id: int = 2) -> list[dict[str, Any]]:
    representation = {"type": "sql", "sql": sql, "dialect": dialect}
    changed = VIEW_VERSION | {"version-id": id, "representations": [representation]}
    return [
        {"action": "add-view-version", "view-version": changed},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]


async def test_a_view_is_what_its_file_says(world: World, node: Node) -> None:
    """Answer, file and a later load agree; ids and the place are ours."""
    made = await node.view(properties={"k": "v"})

    assert json.loads(Path(made["metadata-location"]).read_bytes()) == made["metadata"]
    assert (await node.get(VIEW)).json == made
    assert made["metadata"]["current-version-id"] == 1
    assert made["metadata"]["schemas"] == [SCHEMA | {"schema-id": 0}]
    assert made["metadata"]["location"].startswith(f"{world.warehouse}/a/v-")


async def test_a_view_is_replaced(world: World, node: Node) -> None:
    """The next file has the next number, and versions of old clients get a number of their own."""
    made = await node.view()
    first = await node.made(VIEW, commit(version("select 2")))
    second = await node.made(VIEW, commit(version("select 3")))

    assert second["metadata"]["current-version-id"] == 3
    assert second["metadata"]["view-uuid"] == made["metadata"]["view-uuid"]
    assert "/metadata/00001-" in first["metadata-location"]
    assert "/metadata/00002-" in second["metadata-location"]
    assert (await (await world.node()).get(VIEW)).json == second


async def test_a_replacement_that_changes_nothing(world: World, node: Node) -> None:
    """No file is written, and the answer is the view as it is."""
    made = await node.view(properties={"k": "v"})
    before = await world.state()

    assert await node.made(VIEW, commit([set_properties(k="v")])) == made
    assert await world.state() == before


@pytest.mark.parametrize(
    ("body", "status", "type", "message"),
    [
        (
            commit([], [{"type": "assert-view-uuid", "uuid": "x"}]),
            409,
            "CommitFailedException",
            "Requirement failed: view UUID does not match",
        ),
        (
            commit(
                [
                    {
                        "action": "add-view-version",
                        "view-version": VIEW_VERSION
                        | {"representations": VIEW_VERSION["representations"] * 2},
                    }
                ]
            ),
            400,
            "IllegalArgumentException",
            "Invalid view version: Cannot add multiple queries for dialect spark",
        ),
        (commit(version("x", "trino")), 400, "ValidationException", "Cannot replace view due to"),
        (commit([{"action": "add-spec"}]), 400, "ValidationException", ""),
        (commit([], [{"type": "assert-create"}]), 400, "ValidationException", "Cannot validate"),
        ({"requirements": []}, 400, "BadRequestException", "Cannot read the request"),
    ],
)
async def test_a_replacement_that_cannot_be(
    world: World, node: Node, body: object, status: int, type: str, message: str
) -> None:
    """Nothing changes, and no file is left."""
    await node.view()
    before = await world.state()
    answer = await node.post(VIEW, body)

    assert answer.error[:2] == (status, type)
    assert answer.error[2].startswith(message)
    assert await world.state() == before


async def test_a_registered_view_is_the_file_as_it_is(world: World, node: Node) -> None:
    """And it must not exist yet."""
    made = await node.view()
    await node.delete(VIEW)
    files = world.files()
    body = {"name": "r", "metadata-location": made["metadata-location"]}
    registered = await node.made("namespaces/a/register-view", body)

    assert registered == made
    assert world.files() == files
    before = await world.state()
    again = await node.post("namespaces/a/register-view", body)
    assert again.error == (409, "AlreadyExistsException", "View already exists: a.r")
    elsewhere = await node.post("namespaces/a/register-view", {**body, "name": "s"})
    assert elsewhere.error[:2] == (409, "AlreadyExistsException")
    outside = {"name": "s", "metadata-location": "/elsewhere/v1.json"}
    assert (await node.post("namespaces/a/register-view", outside)).status == 403
    nowhere = {"name": "s", "metadata-location": f"{world.warehouse}/none"}
    assert (await node.post("namespaces/a/register-view", nowhere)).status == 404
    assert await world.state() == before


async def test_two_nodes_replace_one_view(world: World, node: Node) -> None:
    """Nothing is asserted, so all are made, one after the other."""
    nodes = [node, await world.node()]
    await node.view()
    answers = await asyncio.gather(
        *(
            nodes[number % 2].post(VIEW, commit([set_properties(**{f"k{number}": "v"})]))
            for number in range(10)
        )
    )
    found = (await node.get(VIEW)).json

    assert {answer.status for answer in answers} == {200}
    assert {f"k{number}" for number in range(10)} <= found["metadata"]["properties"].keys()
    assert len(world.files()) == 11


async def test_a_view_that_is_made_twice(world: World, node: Node) -> None:
    """Both were free to make it when they looked; one is told, and its file is gone."""
    other = await world.node()
    held = Held(world.rig)
    late = asyncio.create_task(node.post("namespaces/a/views", new_view()))
    await held.reached.wait()
    made = await other.view()
    held.let_go.set()

    assert (await late).error == (409, "AlreadyExistsException", "View already exists: a.v")
    assert world.files() == {made["metadata-location"]}


async def test_a_view_that_never_stands_still(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After many tries the client is told to come back."""
    await node.view()
    second = await world.node()
    real = relation_commits._commit
    turns = 0

    async def overtaken(*arguments: Any, **more: Any) -> Any:
        nonlocal turns
        turns += 1
        monkeypatch.setattr(relation_commits, "_commit", real)
        await second.made(VIEW, commit([set_properties(turn=str(turns))]))
        monkeypatch.setattr(relation_commits, "_commit", overtaken)
        return await real(*arguments, **more)

    monkeypatch.setattr(relation_commits, "_commit", overtaken)
    answer = await node.post(VIEW, commit([set_properties(k="v")]))

    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert turns == TABLE_COMMIT_TRIES_MAX
    assert len(world.files()) == TABLE_COMMIT_TRIES_MAX + 1


async def test_a_view_that_vanishes_during_its_replacement(world: World, node: Node) -> None:
    """Together with its namespace: it is the view that is missing."""
    other = await world.node()
    await node.view()
    held = Held(world.rig)
    late = asyncio.create_task(node.post(VIEW, commit([set_properties(k="v")])))
    await held.reached.wait()
    await other.delete(VIEW)
    await other.delete("namespaces/a")
    held.let_go.set()

    assert (await late).error == (404, "NoSuchViewException", "View does not exist: a.v")
