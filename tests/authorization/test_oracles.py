"""What small callers were told of things that they may not know, one by one."""

from typing import Any
from uuid import uuid4

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode, GuardedWorld, Heard
from tests.unit.catalog.lakes import CATALOG, METALAKE, new_table, new_view

LAKE = f"/api/metalakes/{METALAKE}"
SCHEMAS = f"{LAKE}/catalogs/{CATALOG}/schemas"
MINE, THEIRS = (CATALOG, "mine"), (CATALOG, "theirs")
SELECT = [{"name": "select_table", "condition": "allow"}]


@pytest.fixture
async def clerk(node: GuardedNode) -> Clerk:
    """Two schemas, each with a table; Ann may use the catalog, and create tables in one schema."""
    clerk = Clerk(node)
    for schema in ("mine", "theirs"):
        await clerk.create_schema(schema)
        await clerk.create(T.TABLE, schema, "t")
    await clerk.create_schema("theirs", "below")
    await clerk.add(USER, "ann", "bob")
    await clerk.create_role("r")
    await clerk.assign(USER, "ann", "r")
    await clerk.grant("r", (CATALOG,), Right.USE_CATALOG)
    await clerk.grant("r", MINE, Right.USE_SCHEMA | Right.CREATE_TABLE | Right.CREATE_VIEW)
    return clerk


async def ask(clerk: Clerk, method: str, path: str, body: object = None, **more: Any) -> Heard:
    return await clerk.node.ask(method, path, body, user="ann", **more)


async def role(clerk: Clerk, method: str, kind: str, full_name: str) -> Heard:
    """The answer to Bob who wants a role, new or not, to have a right on an object."""
    on = [{"fullName": full_name, "type": kind, "privileges": SELECT}]
    path, body = f"{LAKE}/roles", {"name": "new", "securableObjects": on}
    if method == "PUT":
        path, body = f"{LAKE}/permissions/roles/r", {"overrides": on}
    return await clerk.node.ask(method, path, body, user="bob")


async def test_a_schema_is_listed_for_the_children_that_the_caller_may_see(clerk: Clerk) -> None:
    """Without them it is as absent; a page behind the last of them is empty."""
    paths = ("namespaces?parent=theirs", f"{SCHEMAS}?parentSchema=theirs")
    assert [(await ask(clerk, "GET", path)).status for path in paths] == [404, 404]
    await clerk.grant("r", (*THEIRS, "below"), Right.USE_SCHEMA)
    assert [(await ask(clerk, "GET", path)).status for path in paths] == [200, 200]
    rest = await ask(clerk, "GET", f"{paths[0]}&pageToken=emVicmE&pageSize=1")
    assert (rest.status, rest.json["namespaces"]) == (200, [])


async def test_a_schema_that_the_caller_may_see_is_listed_without_children(clerk: Clerk) -> None:
    """There is nothing to hide."""
    answer = await ask(clerk, "GET", "namespaces?parent=mine")
    assert (answer.status, answer.json["namespaces"]) == (200, [])


@pytest.mark.parametrize(
    ("method", "right"), [("POST", Right.CREATE_ROLE), ("PUT", Right.MANAGE_GRANTS)]
)
async def test_a_role_gets_rights_only_from_a_caller_that_may_grant_them(
    clerk: Clerk, method: str, right: Right
) -> None:
    """The same refusal whether the object is there or not; the owner of a catalog may."""
    await clerk.create_role("more")
    await clerk.assign(USER, "bob", "more")
    await clerk.grant("more", (), right)
    for kind, name in (("schema", "main.mine"), ("table", "main.mine.t"), ("view", "main.mine.v")):
        absent = name.replace("main", "none")
        there, missing = [await role(clerk, method, kind, one) for one in (name, absent)]
        assert there.status == missing.status == 403
        assert there.json["message"].replace(name, absent) == missing.json["message"]
    await clerk.own((CATALOG,), USER, "bob")
    assert (await role(clerk, method, "schema", "main.mine")).status == 200


@pytest.mark.parametrize("kind", ["tables", "views"])
async def test_a_caller_registers_files_of_its_schema_and_learns_of_no_others(
    world: GuardedWorld, clerk: Clerk, kind: str
) -> None:
    """Storage is not asked for them: what lies in other schemas, or in a table that is there."""
    new = new_table("gone") if kind == "tables" else new_view("gone")
    word = "register" if kind == "tables" else "register-view"
    files = []
    for schema in ("mine", "theirs"):
        made = await clerk.node.must("POST", f"namespaces/{schema}/{kind}", new)
        await clerk.node.must("DELETE", f"namespaces/{schema}/{kind}/gone")
        files.append(made["metadata-location"])
    loaded = await clerk.node.must("GET", "namespaces/mine/tables/t")
    mine, theirs, live = *files, loaded["metadata-location"]
    for file in (theirs, live):
        clerk.node.storage.counts.clear()
        there, missing = [
            await ask(
                clerk, "POST", f"namespaces/mine/{word}", {"name": "x", "metadata-location": one}
            )
            for one in (file, file.replace("00000-", "00009-"))
        ]
        assert there.status == missing.status
        assert there.status in {403, 409, 400}
        message = there.json["error"]["message"].replace("00000-", "00009-")
        assert message == missing.json["error"]["message"]
        assert clerk.node.storage.counts["read"] == 0
    body = {"name": "x", "metadata-location": mine}
    assert (await ask(clerk, "POST", f"namespaces/mine/{word}", body)).status == 200


async def test_a_table_is_registered_over_itself_wherever_it_lies(clerk: Clerk) -> None:
    """It came from another schema, and its files are still there."""
    await clerk.own(MINE, USER, "ann")
    await clerk.own((*THEIRS, "t"), USER, "ann")
    await clerk.grant("r", THEIRS, Right.USE_SCHEMA)
    moved = {
        "source": {"namespace": ["theirs"], "name": "t"},
        "destination": {"namespace": ["mine"], "name": "moved"},
    }
    assert (await ask(clerk, "POST", "tables/rename", moved)).status == 204
    file = (await ask(clerk, "GET", "namespaces/mine/tables/moved")).json["metadata-location"]
    body = {"name": "moved", "metadata-location": file, "overwrite": True}
    assert (await ask(clerk, "POST", "namespaces/mine/register", body)).status == 200


async def test_a_key_that_another_caller_used_is_a_new_one(clerk: Clerk) -> None:
    """Nothing is told of what it was used for; the same caller is told, as before."""
    key = uuid4()
    await clerk.node.must("POST", "namespaces/theirs/tables", new_table("secret"), key=key)
    path = "namespaces/mine/tables"
    assert (await ask(clerk, "POST", path, new_table("x"), key=key)).status == 200
    again = await ask(clerk, "POST", path, new_table("y"), key=key)
    assert again.status == 422
    assert "create table mine.x" in again.json["error"]["message"]
