"""Commits to one table: on old knowledge, in conflict, repeated, and by two nodes at once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import relation_commits
from headgate.errors import StorageUnavailable
from headgate.http.kernel_measures import lake_samples
from headgate.limits import TABLE_COMMIT_TRIES_MAX
from headgate.testing.kernels import Held
from tests.unit.catalog.lakes import (
    Node,
    World,
    append,
    at_snapshot,
    commit,
    set_properties,
)

TABLE = "namespaces/a/tables/t"


def add_column(metadata: Any, name: str) -> list[dict[str, Any]]:
    fields = metadata["schemas"][0]["fields"]
    column = {"id": metadata["last-column-id"] + 1, "name": name, "required": False, "type": "int"}
    return [
        {"action": "add-schema", "schema": {"type": "struct", "fields": [*fields, column]}},
        {"action": "set-current-schema", "schema-id": -1},
    ]


def same_table(metadata: Any) -> dict[str, Any]:
    return {"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}


async def test_a_commit_makes_the_next_file(node: Node) -> None:
    """The answer is the new state, with the file before it in its log."""
    made = await node.table()
    after = await node.made(TABLE, commit([set_properties(k="v")], [same_table(made["metadata"])]))

    assert "/metadata/00001-" in after["metadata-location"]
    assert after["metadata"]["metadata-log"][0]["metadata-file"] == made["metadata-location"]
    assert after["metadata"]["properties"]["k"] == "v"
    assert await node.load() == {**after, "config": {}}
    assert Path(made["metadata-location"]).exists()


async def test_old_knowledge_does_no_harm_where_nothing_clashes(node: Node) -> None:
    """From one state three clients add a column, a property and a snapshot."""
    old = (await node.table())["metadata"]
    await node.made(TABLE, commit(add_column(old, "x"), [same_table(old)]))
    await node.made(TABLE, commit([set_properties(k="v")], [same_table(old)]))
    after = await node.made(TABLE, commit(append(old, 1), [same_table(old), at_snapshot(None)]))

    assert after["metadata"]["properties"]["k"] == "v"
    assert after["metadata"]["current-schema-id"] == 1
    assert after["metadata"]["current-snapshot-id"] == 1


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (at_snapshot(None), "Requirement failed: branch main was created concurrently"),
        (at_snapshot(5), "Requirement failed: branch main has changed"),
        ({"type": "assert-create"}, "Requirement failed: table already exists"),
        ({"type": "assert-table-uuid", "uuid": "x"}, "Requirement failed: UUID does not match"),
        (
            {"type": "assert-current-schema-id", "current-schema-id": 7},
            "Requirement failed: current schema changed",
        ),
    ],
)
async def test_a_true_conflict_is_told(
    world: World, node: Node, requirement: dict[str, Any], message: str
) -> None:
    """409, so that the client may delete its files and try again; nothing changes."""
    old = (await node.table())["metadata"]
    await node.made(TABLE, commit(append(old, 1)))
    before = await world.state()
    answer = await node.post(TABLE, commit(append(old, 2), [requirement]))

    assert answer.error[:2] == (409, "CommitFailedException")
    assert answer.error[2].startswith(message)
    assert await world.state() == before


async def test_a_stale_sequence_number_is_a_conflict(world: World, node: Node) -> None:
    """Without any requirement too: 400 would be fatal for the client."""
    old = (await node.table())["metadata"]
    after = (await node.made(TABLE, commit(append(old, 1))))["metadata"]
    stale = append(after, 2)
    stale[0]["snapshot"]["sequence-number"] = 1
    before = await world.state()

    assert (await node.post(TABLE, commit(stale))).error[:2] == (409, "CommitFailedException")
    assert await world.state() == before


async def test_a_commit_that_cannot_be_is_refused(world: World, node: Node) -> None:
    """400 for updates that break a rule, alone or after others that do not."""
    await node.table()
    before = await world.state()
    bad: list[dict[str, Any]] = [
        {"action": "set-current-schema", "schema-id": 9},
        {"action": "set-current-view-version", "view-version-id": 1},
        {"action": "dance"},
        {"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
        {
            "action": "set-properties",
            "updates": {"write.metadata.compression-codec": "lz4"},
        },
    ]
    for update in bad:
        answer = await node.post(TABLE, commit([set_properties(k="v"), update]))
        assert answer.status == 400, answer

    assert await world.state() == before


async def test_a_commit_of_nothing_writes_nothing(world: World, node: Node) -> None:
    """The answer is the table as it is."""
    await node.table(properties={"k": "v"})
    loaded = await node.load()
    before = await world.state()
    for updates in ([], [set_properties(k="v")]):
        answer = await node.made(TABLE, commit(updates))
        assert {**answer, "config": {}} == loaded

    assert await world.state() == before


async def test_a_repeated_snapshot_was_committed_before(world: World, node: Node) -> None:
    """The answer to the first was lost: the same is answered, also when others came after it."""
    old = (await node.table())["metadata"]
    body = commit(append(old, 1), [same_table(old), at_snapshot(None)])
    first = await node.made(TABLE, body)
    before = await world.state()
    assert await node.made(TABLE, body) == first
    assert await world.state() == before

    later = await node.made(TABLE, commit(append(first["metadata"], 2), [at_snapshot(1)]))
    assert await node.made(TABLE, body) == later
    other = commit(append(old, 1), [at_snapshot(None)])
    other["updates"][0]["snapshot"]["summary"] = {"operation": "delete"}
    assert (await node.post(TABLE, other)).status == 409


async def test_what_was_written_for_a_refused_commit_is_gone(world: World, node: Node) -> None:
    """The store refuses the file: nothing is committed, and nothing is left."""
    await node.table()
    before = await world.state()
    node.storage.counts["write"] = 1
    node.storage.failing.append(StorageUnavailable("The store is away", why="a fault"))
    answer = await node.post(TABLE, commit([set_properties(k="v")]))

    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"] == "1"
    assert await world.state() == before


async def test_a_dropped_namespace_takes_the_commit_with_it(world: World, node: Node) -> None:
    """Both vanish between preparation and commit: it is the table that is missing."""
    other = await world.node()
    made = await node.table()
    held = Held(world.rig)
    late = asyncio.create_task(node.post(TABLE, commit([set_properties(k="v")])))
    await held.reached.wait()
    await other.delete(TABLE)
    await other.delete("namespaces/a")
    held.let_go.set()

    assert (await late).error == (404, "NoSuchTableException", "Table does not exist: a.t")
    assert world.files() == {made["metadata-location"]}


async def test_two_nodes_change_one_table(world: World, node: Node) -> None:
    """Every change of each is there in the end, and files and log are without a gap."""
    nodes = [node, await world.node()]
    await node.table()
    answers = await asyncio.gather(
        *(
            nodes[number % 2].post(TABLE, commit([set_properties(**{f"k{number}": "v"})]))
            for number in range(16)
        )
    )
    metadata = (await node.load())["metadata"]

    assert {answer.status for answer in answers} == {200}
    assert {f"k{number}" for number in range(16)} <= metadata["properties"].keys()
    assert len(metadata["metadata-log"]) == 16
    logged = {entry["metadata-file"] for entry in metadata["metadata-log"]}
    assert world.files() == logged | {(await node.load())["metadata-location"]}
    assert await nodes[1].load() == await node.load()


async def test_two_nodes_append_and_only_one_can_be_next(world: World, node: Node) -> None:
    """Of all who append to the same state exactly one wins, and the others leave nothing behind."""
    nodes = [node, await world.node()]
    old = (await node.table())["metadata"]
    answers = await asyncio.gather(
        *(
            nodes[id % 2].post(TABLE, commit(append(old, id), [at_snapshot(None)]))
            for id in range(1, 9)
        )
    )

    assert sorted(answer.status for answer in answers) == [200, *[409] * 7]
    assert len(world.files()) == 2
    assert len((await node.load())["metadata"]["snapshots"]) == 1


async def test_a_table_that_never_stands_still(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After many tries the client is told to come back: certainly nothing was done."""
    await node.table()
    real = relation_commits._commit
    turns = 0

    async def overtaken(*arguments: Any) -> Any:
        nonlocal turns
        turns += 1
        other = commit([set_properties(turn=str(turns))])
        monkeypatch.setattr(relation_commits, "_commit", real)
        await second.made(TABLE, other)
        monkeypatch.setattr(relation_commits, "_commit", overtaken)
        return await real(*arguments)

    second = await world.node()
    monkeypatch.setattr(relation_commits, "_commit", overtaken)
    answer = await node.post(TABLE, commit([set_properties(k="v")]))

    assert answer.error[:2] == (503, "ServiceUnavailableException")
    assert "again and again" in answer.error[2]
    assert turns == TABLE_COMMIT_TRIES_MAX
    assert lake_samples(node.lake)["headgate_commit_retries_total"] == TABLE_COMMIT_TRIES_MAX
    assert "k" not in (await node.load())["metadata"]["properties"]
    assert len(world.files()) == TABLE_COMMIT_TRIES_MAX + 1


async def test_old_files_are_deleted_if_the_table_says_so(world: World, node: Node) -> None:
    """Those that fell out of the log, and only those."""
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "2",
    }
    await node.table(properties=properties)
    for number in range(5):
        after = await node.made(TABLE, commit([set_properties(k=str(number))]))
    log = {entry["metadata-file"] for entry in after["metadata"]["metadata-log"]}

    assert len(log) == 2
    assert world.files() == log | {after["metadata-location"]}


async def test_a_log_from_elsewhere_deletes_nothing_of_others(world: World, node: Node) -> None:
    """A registered table may name any file in its log; only files of its own are deleted."""
    victim = await node.table("victim")
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    made = await node.table(properties=properties)
    await node.delete(TABLE)
    file = Path(made["metadata-location"])
    log = [
        {"timestamp-ms": 1, "metadata-file": path}
        for path in (victim["metadata-location"], "no location", "s3://bucket/key")
    ]
    file.write_text(
        file.read_text().replace('"metadata-log":[]', f'"metadata-log":{log}'.replace("'", '"'))
    )
    body = {"name": "t", "metadata-location": made["metadata-location"]}
    registered = await node.made("namespaces/a/register", body)
    await node.made(TABLE, commit([set_properties(k="v")]))

    assert len(registered["metadata"]["metadata-log"]) == 3
    assert await node.head("namespaces/a/tables/victim") == 204
    assert Path(victim["metadata-location"]).exists()


async def test_writers_of_one_node_do_not_write_in_vain(world: World, node: Node) -> None:
    """They wait for each other, so each metadata file is written once and used."""
    await node.table()
    node.storage.counts.clear()
    await asyncio.gather(
        *(node.post(TABLE, commit([set_properties(**{f"k{n}": "v"})])) for n in range(8))
    )

    assert node.storage.counts["write"] == 8
    assert node.storage.counts["delete"] == 0
