"""Tables and views share one space of names: renaming, dropping, unregistering, missing files."""

from pathlib import Path

import pytest

from headgate.catalog.lake import LakeOptions
from tests.unit.catalog.lakes import (
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
)

TAKEN = (409, "AlreadyExistsException")


def renaming(source: str, target: str, namespace: str = "a", to: str = "a") -> dict[str, object]:
    return {
        "source": {"namespace": [namespace], "name": source},
        "destination": {"namespace": [to], "name": target},
    }


async def test_a_name_is_a_table_or_a_view(world: World, node: Node) -> None:
    """Creating, staging and registering one where the other is, is refused both ways."""
    table = await node.table("t")
    view = await node.view("v")
    before = await world.state()
    as_view = {"name": "t", "metadata-location": view["metadata-location"]}
    as_table = {"name": "v", "metadata-location": table["metadata-location"]}
    refused = [
        await node.post("namespaces/a/views", new_view("t")),
        await node.post("namespaces/a/register-view", as_view),
        await node.post("namespaces/a/tables", new_table("v")),
        await node.post("namespaces/a/tables", new_table("v", stage_create=True)),
        await node.post("namespaces/a/register", as_table),
    ]

    assert [answer.error for answer in refused] == [
        *[(409, "AlreadyExistsException", "Table with same name already exists: a.t")] * 2,
        *[(409, "AlreadyExistsException", "View with same name already exists: a.v")] * 3,
    ]
    assert await world.state() == before


async def test_each_list_shows_its_own(node: Node) -> None:
    """Tables are no views, and neither is in the lists of parents or children."""
    await node.namespace("a", "b")
    for name in ("x", "z"):
        await node.table(name)
        await node.view(f"{name}v")
    await node.table("inner", "a%1Fb")
    tables = (await node.get("namespaces/a/tables")).json
    views = (await node.get("namespaces/a/views")).json

    assert tables["identifiers"] == [{"namespace": ["a"], "name": name} for name in ("x", "z")]
    assert views["identifiers"] == [{"namespace": ["a"], "name": name} for name in ("xv", "zv")]


async def test_one_is_not_found_as_the_other(node: Node) -> None:
    """Loading, dropping and changing ask for the kind too."""
    await node.table("t")
    await node.view("v")
    for method, path in [("GET", "v"), ("DELETE", "v"), ("HEAD", "v")]:
        answer = await node.send(method, f"namespaces/a/tables/{path}")
        assert answer.error == (404, "NoSuchTableException", "Table does not exist: a.v")
    for method, path in [("GET", "t"), ("DELETE", "t"), ("HEAD", "t")]:
        answer = await node.send(method, f"namespaces/a/views/{path}")
        assert answer.error == (404, "NoSuchViewException", "View does not exist: a.t")
    answer = await node.post("namespaces/a/tables/v", commit([set_properties(k="v")]))
    assert answer.error[1] == "NoSuchTableException"
    answer = await node.post("namespaces/a/views/t", {"updates": []})
    assert answer.error[1] == "NoSuchViewException"


@pytest.mark.parametrize("kind", ["table", "view"])
async def test_a_rename_keeps_everything_but_the_name(node: Node, kind: str) -> None:
    """Also into another namespace; the old name is free at once."""
    await node.namespace("b", "c")
    made = await (node.table("one") if kind == "table" else node.view("one"))
    body = renaming("one", "two")
    body["destination"] = {"namespace": ["b", "c"], "name": "two"}
    answer = await node.post(f"{kind}s/rename", body)
    moved = await node.get(f"namespaces/b%1Fc/{kind}s/two")

    assert (answer.status, answer.json) == (204, None)
    assert moved.json == made
    assert await node.head(f"namespaces/a/{kind}s/one") == 404
    await (node.view("one") if kind == "table" else node.table("one"))


@pytest.mark.parametrize(
    ("kind", "source", "target", "error"),
    [
        ("table", "t", "u", (*TAKEN, "Cannot rename a.t to a.u. Table already exists")),
        ("table", "t", "t", (*TAKEN, "Cannot rename a.t to a.t. Table already exists")),
        ("table", "t", "v", (*TAKEN, "Cannot rename a.t to a.v. View already exists")),
        ("view", "v", "w", (*TAKEN, "Cannot rename a.v to a.w. View already exists")),
        ("view", "v", "t", (*TAKEN, "Cannot rename a.v to a.t. Table already exists")),
        ("table", "none", "x", (404, "NoSuchTableException", "Table does not exist: a.none")),
        ("table", "v", "x", (404, "NoSuchTableException", "Table does not exist: a.v")),
        ("view", "none", "x", (404, "NoSuchViewException", "View does not exist: a.none")),
        ("view", "t", "x", (404, "NoSuchViewException", "View does not exist: a.t")),
        ("table", "t", "", (400, "BadRequestException", "Invalid name: ''")),
    ],
)  # fmt: skip
async def test_a_rename_that_cannot_be(
    world: World, node: Node, kind: str, source: str, target: str, error: tuple[int, str, str]
) -> None:
    """The name is taken, or there is nothing to rename: nothing changes."""
    for name in ("t", "u"):
        await node.table(name)
    for name in ("v", "w"):
        await node.view(name)
    before = await world.state()
    answer = await node.post(f"{kind}s/rename", renaming(source, target))

    assert answer.error[:2] == error[:2]
    assert answer.error[2].startswith(error[2])
    assert await world.state() == before


@pytest.mark.parametrize("namespace", [["none"], ["a", "none"], []])
async def test_a_rename_into_a_namespace_that_is_not_there(
    world: World, node: Node, namespace: list[str]
) -> None:
    """The target's namespace is what is missing, even if it is the catalog itself."""
    await node.table()
    before = await world.state()
    body = renaming("t", "u") | {"destination": {"namespace": namespace, "name": "u"}}
    answer = await node.post("tables/rename", body)

    assert answer.error[:2] == (404, "NoSuchNamespaceException")
    assert await world.state() == before


async def test_a_dropped_table_leaves_its_files(world: World, node: Node) -> None:
    """Without a purge only the name goes, and its location is free."""
    made = await node.table()
    files = world.files()
    answer = await node.delete("namespaces/a/tables/t")

    assert (answer.status, answer.json) == (204, None)
    assert world.files() == files
    again = await node.table(location=made["metadata"]["location"])
    assert again["metadata"]["table-uuid"] != made["metadata"]["table-uuid"]


async def test_a_dropped_view_leaves_its_files(world: World, node: Node) -> None:
    """Another catalog may know them."""
    made = await node.view()
    assert (await node.delete("namespaces/a/views/v")).status == 204
    assert Path(made["metadata-location"]).exists()
    body = {"name": "w", "metadata-location": made["metadata-location"]}

    assert (await node.made("namespaces/a/register-view", body))["metadata"] == made["metadata"]


async def test_a_missing_metadata_file_is_told_at_once(world: World, node: Node) -> None:
    """Also to a client that has the table already; but it can be seen and dropped."""
    made = await node.table()
    tag = (await node.get("namespaces/a/tables/t")).etag
    Path(made["metadata-location"]).unlink()
    missing = f"Failed to open input stream for file: {made['metadata-location']}"
    cached = {"if-none-match": tag}

    assert (await node.get("namespaces/a/tables/t")).error == (404, "NotFoundException", missing)
    assert (await node.get("namespaces/a/tables/t", headers=cached)).error[2] == missing
    before = await world.state()
    assert (await node.post("namespaces/a/tables/t/unregister")).error[2] == missing
    assert await world.state() == before
    assert await node.head("namespaces/a/tables/t") == 204
    assert (await node.delete("namespaces/a/tables/t")).status == 204


async def test_a_view_without_its_file_can_be_seen_and_dropped(node: Node) -> None:
    """The same as a table."""
    made = await node.view()
    Path(made["metadata-location"]).unlink()

    assert (await node.get("namespaces/a/views/v")).status == 404
    assert await node.head("namespaces/a/views/v") == 204
    assert (await node.delete("namespaces/a/views/v")).status == 204


@pytest.mark.parametrize("verify", [False, True])
async def test_far_files_are_looked_for_only_if_wanted(world: World, verify: bool) -> None:
    """Where looking takes a round trip, a missing file is found at the next read of it."""
    node = await world.node(LakeOptions(verify_metadata_files=verify))
    await node.namespace("a")
    made = await node.table()
    node.storage.counts["far"] = 1
    Path(made["metadata-location"]).unlink()
    answer = await node.get("namespaces/a/tables/t")

    assert answer.status == (404 if verify else 200)
    assert node.storage.counts["missing"] == verify


async def test_an_unregistered_table_is_handed_back(world: World, node: Node) -> None:
    """The answer is its last metadata; all files stay."""
    await node.table()
    made = await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))
    files = world.files()
    answer = await node.post("namespaces/a/tables/t/unregister")

    assert (answer.status, answer.json) == (200, made)
    assert world.files() == files
    assert await node.head("namespaces/a/tables/t") == 404
    again = await node.post("namespaces/a/tables/t/unregister")
    assert again.error == (404, "NoSuchTableException", "Table does not exist: a.t")
