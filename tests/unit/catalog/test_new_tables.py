"""Tables that come into a catalog: created, staged and committed, registered, registered over."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.catalog.lakes import (
    SCHEMA,
    Node,
    World,
    append,
    at_snapshot,
    commit,
    new_table,
    set_properties,
    staged_commit,
)


def content(location: str) -> Any:
    return json.loads(Path(location).read_bytes())


async def test_a_new_table_is_what_its_file_says(world: World, node: Node) -> None:
    """The answer, the file and a later load agree, in a place that no other table has."""
    made = await node.table(properties={"owner": "me"})
    again = await node.table("u")

    assert made["metadata"] == content(made["metadata-location"])
    assert (await node.load())["metadata"] == made["metadata"]
    assert made["metadata"]["properties"]["owner"] == "me"
    assert made["metadata-location"].startswith(f"{world.warehouse}/a/t-")
    assert "/metadata/00000-" in made["metadata-location"]
    assert made["metadata"]["location"] != again["metadata"]["location"]


async def test_a_table_lies_where_its_namespace_says(world: World, node: Node) -> None:
    """A namespace with a location keeps its tables there, with or without a slash at its end."""
    for name, folder in [("n", "/place"), ("m", "/other/")]:
        await node.namespace(name, location=world.warehouse + folder)
        made = await node.table(namespace=name)
        start = f"{world.warehouse}{folder.rstrip('/')}/t-"

        assert made["metadata"]["location"].startswith(start)


async def test_a_table_lies_where_its_creator_says(world: World, node: Node) -> None:
    """Slashes at the end are no part of it."""
    made = await node.table(location=f"file://{world.warehouse}/here//")

    assert made["metadata"]["location"] == f"file://{world.warehouse}/here"


async def test_a_staged_table_is_nowhere(world: World, node: Node) -> None:
    """It has no name and no file: its place is taken, and its folder is made for its creator."""
    before = world.files()
    answer = await node.post("namespaces/a/tables", new_table(stage_create=True))

    assert answer.status == 200
    assert answer.json.get("metadata-location") is None
    assert "etag" not in answer.headers
    assert world.files() == before
    assert Path(answer.json["metadata"]["location"], "metadata").is_dir()
    assert await node.head("namespaces/a/tables/t") == 404


async def test_a_staged_table_is_made_by_its_commit(node: Node) -> None:
    """Its first file has the number 0, and its log is empty."""
    staged = (await node.made("namespaces/a/tables", new_table(stage_create=True)))["metadata"]
    body = staged_commit(staged)
    body["updates"] += append(staged, 7)
    made = await node.made("namespaces/a/tables/t", body)

    assert "/metadata/00000-" in made["metadata-location"]
    assert made["metadata"].get("metadata-log", []) == []
    assert made["metadata"]["current-snapshot-id"] == 7
    assert made["metadata"]["table-uuid"] == staged["table-uuid"]
    assert (await node.load())["metadata"] == made["metadata"]


async def test_a_table_without_a_uuid_gets_one(world: World, node: Node) -> None:
    """Clients may leave the identity of a new table to the catalog."""
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": SCHEMA},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-location", "location": f"{world.warehouse}/plain"},
    ]
    made = await node.made("namespaces/a/tables/t", commit(updates, [{"type": "assert-create"}]))

    assert len(made["metadata"]["table-uuid"]) == 36


async def test_a_staged_table_comes_too_late(world: World, node: Node) -> None:
    """Another table, or a view, has taken the name meanwhile: 409, and no file is left."""
    staged = (await node.made("namespaces/a/tables", new_table(stage_create=True)))["metadata"]
    await node.table()
    await node.view("v")
    before = await world.state()
    as_table = await node.post("namespaces/a/tables/t", staged_commit(staged))
    as_view = await node.post("namespaces/a/tables/v", staged_commit(staged))

    assert as_table.error == (
        409,
        "CommitFailedException",
        "Requirement failed: table already exists",
    )
    assert as_view.error == (
        409,
        "AlreadyExistsException",
        "View with same name already exists: a.v",
    )
    assert await world.state() == before


async def test_a_staged_table_that_was_committed_is_committed_again(node: Node) -> None:
    """Its snapshot is there, so the answer to the first commit was lost: the same answer again."""
    staged = (await node.made("namespaces/a/tables", new_table(stage_create=True)))["metadata"]
    body = staged_commit(staged)
    body["updates"] += append(staged, 7)
    first = await node.made("namespaces/a/tables/t", body)
    second = await node.made("namespaces/a/tables/t", body)

    assert second == first


async def test_a_registered_table_is_the_file_as_it_is(world: World, node: Node) -> None:
    """Uuid, location, log and file stay, and no file is written."""
    made = await node.table()
    made = await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))
    unregistered = await node.made("namespaces/a/tables/t/unregister")
    files = world.files()
    body = {"name": "r", "metadata-location": made["metadata-location"]}
    answer = await node.post("namespaces/a/register", body)

    assert unregistered == made
    assert answer.json["metadata"] == made["metadata"]
    assert answer.json["metadata-location"] == made["metadata-location"]
    assert (await node.load("r"))["metadata"] == made["metadata"]
    assert world.files() == files
    later = await node.made("namespaces/a/tables/r", commit([set_properties(k="w")]))
    assert "/metadata/00002-" in later["metadata-location"]


async def test_a_table_is_registered_over_another(world: World, node: Node) -> None:
    """Only if that is said, and never over a view. The locations of both are its own then."""
    old = await node.table("old")
    new = await node.table("new")
    await node.view("v")
    await node.made("namespaces/a/tables/new/unregister")
    body = {"name": "old", "metadata-location": new["metadata-location"]}
    refused = await node.post("namespaces/a/register", body)
    over_view = await node.post("namespaces/a/register", {**body, "name": "v", "overwrite": True})
    done = await node.post("namespaces/a/register", {**body, "overwrite": True})

    assert refused.error == (409, "AlreadyExistsException", "Table already exists: a.old")
    assert over_view.error[2] == "View with same name already exists: a.v"
    assert done.json["metadata"]["table-uuid"] == new["metadata"]["table-uuid"]
    assert (await node.load("old"))["metadata"] == new["metadata"]
    assert Path(old["metadata-location"]).exists()
    for one in (old, new):
        wanted = new_table("x", location=one["metadata"]["location"])
        taken = await node.post("namespaces/a/tables", wanted)
        assert taken.error[:2] == (409, "AlreadyExistsException")


async def test_a_table_is_registered_over_another_at_the_same_place(
    world: World, node: Node
) -> None:
    """The place belongs to the new one from then on: it may move below itself, and free it."""
    place = f"{world.warehouse}/x"
    first = await node.table("t", location=place)
    await node.delete("namespaces/a/tables/t")
    await node.table("t", location=place)
    body = {"name": "t", "metadata-location": first["metadata-location"], "overwrite": True}
    await node.made("namespaces/a/register", body)
    moving = commit([{"action": "set-location", "location": f"{place}/below"}])
    moved = await node.made("namespaces/a/tables/t", moving)

    assert moved["metadata"]["table-uuid"] == first["metadata"]["table-uuid"]
    assert moved["metadata"]["location"] == f"{place}/below"
    await node.delete("namespaces/a/tables/t")
    await node.table("u", location=f"{place}/u")


async def test_a_table_is_registered_over_itself(node: Node) -> None:
    """An older file of the same table: the pointer goes back."""
    made = await node.table()
    await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))
    body = {"name": "t", "metadata-location": made["metadata-location"], "overwrite": True}
    await node.made("namespaces/a/register", body)

    assert (await node.load())["metadata"] == made["metadata"]


async def test_overwrite_of_nothing_is_a_registration(node: Node) -> None:
    """There need not be a table of that name."""
    made = await node.table()
    await node.delete("namespaces/a/tables/t")
    body = {"name": "n", "metadata-location": made["metadata-location"], "overwrite": True}
    await node.made("namespaces/a/register", body)

    assert (await node.load("n"))["metadata"] == made["metadata"]


async def test_compressed_metadata_is_registered_whatever_its_name(
    world: World, node: Node
) -> None:
    """The content tells, not the name."""
    made = await node.table()
    await node.delete("namespaces/a/tables/t")
    raw = Path(made["metadata-location"]).read_bytes()
    for number, name in enumerate(("v1.gz.metadata.json", "v1.metadata.json.gz", "v1.json")):
        file = Path(made["metadata"]["location"]) / name
        file.write_bytes(gzip.compress(raw))
        body = {"name": f"t{number}", "metadata-location": file.as_posix()}
        found = await node.made("namespaces/a/register", body)

        assert found["metadata"] == made["metadata"]
        await node.delete(f"namespaces/a/tables/t{number}")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", ""),
        (b"{}", ""),
        (b"[]", ""),
        (b"\x1f\x8b\x08nonsense", "it cannot be decompressed"),
        (gzip.compress(b"{}" * 1000)[:-20], "it cannot be decompressed"),
    ],
)
async def test_rubbish_is_not_registered(world: World, node: Node, data: bytes, why: str) -> None:
    """A file that is no metadata is refused, and nothing changes."""
    file = Path(world.warehouse) / "rubbish.metadata.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    before = await world.state()
    body = {"name": "r", "metadata-location": file.as_posix()}
    answer = await node.post("namespaces/a/register", body)

    assert answer.error[:2] == (400, "ValidationException")
    assert why in answer.error[2]
    assert await world.state() == before


async def test_long_metadata_from_elsewhere_is_looked_through(world: World, node: Node) -> None:
    """A contradiction that shows only in the snapshots is found in files of any length."""
    made = await node.table()
    await node.delete("namespaces/a/tables/t")
    metadata = content(made["metadata-location"])
    metadata["properties"] |= {f"p{number}": "x" * 1000 for number in range(500)}
    metadata["snapshots"] = [
        {"snapshot-id": 1, "timestamp-ms": 1, "sequence-number": 99, "summary": {"operation": "append"}, "manifest-list": "/x"}  # noqa: E501
    ]  # fmt: skip
    file = Path(made["metadata"]["location"]) / "long.metadata.json"
    file.write_text(json.dumps(metadata))
    body = {"name": "r", "metadata-location": file.as_posix()}
    answer = await node.post("namespaces/a/register", body)

    assert answer.error[:2] == (400, "ValidationException")
    assert "sequence number 99" in answer.error[2]


async def test_a_missing_file_is_not_registered(world: World, node: Node) -> None:
    """The message is what clients look for."""
    path = f"{world.warehouse}/none.metadata.json"
    answer = await node.post("namespaces/a/register", {"name": "r", "metadata-location": path})

    status, kind, message = answer.error
    assert (status, kind) == (404, "NotFoundException")
    assert message.startswith(f"Failed to open input stream for file: {path}: there is no such")
    assert "Name the newest metadata file" in message


async def test_a_snapshot_is_required_to_be_absent_in_many_words(node: Node) -> None:
    """-1, null and nothing at all mean the same."""
    await node.table()
    for absent in (-1, None):
        body = commit([set_properties(k=str(absent))], [at_snapshot(absent)])
        assert (await node.post("namespaces/a/tables/t", body)).status == 200
