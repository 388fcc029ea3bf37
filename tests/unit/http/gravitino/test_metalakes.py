"""Metalakes in Gravitino's protocol: their shapes, their errors, and who may do what."""

from urllib.parse import quote

import pytest

from headgate.catalog.calls import OPERATOR, Call, Caller, CatalogName
from headgate.catalog.metalakes import found_metalake
from headgate.catalog.principals import insert_creator
from tests.unit.http.gravitino.control import ADMIN, Control

NEW = {"name": "shop", "comment": "things", "properties": {"a": "1"}}


async def make(control: Control, name: str = "shop", **more: str) -> None:
    await control.done("POST", "/api/metalakes", {"name": name}, **more)


async def alter(control: Control, *updates: dict[str, object], **more: str) -> object:
    return await control.done("PUT", "shop", {"updates": list(updates)}, **more)


async def test_a_new_metalake_is_answered_as_it_was_sent(control: Control) -> None:
    """Loaded, it also tells that it is in use: clients rely on the difference."""
    made = await control.done("POST", "/api/metalakes", NEW, user="ann")
    loaded = await control.done("GET", "shop")

    audit = made["metalake"].pop("audit")
    assert made == {"code": 0, "metalake": NEW}
    assert audit["creator"] == "ann"
    assert audit["createTime"].endswith("Z")
    assert set(audit) == {"creator", "createTime"}
    assert loaded["metalake"] == {
        **NEW,
        "properties": {"a": "1", "in-use": "true"},
        "audit": audit,
    }


async def test_what_is_null_is_left_out(control: Control) -> None:
    """A metalake without a comment has none, and its properties are there even if empty."""
    body = {"name": "shop", "comment": None, "properties": None}
    made = await control.done("POST", "/api/metalakes/", body)

    assert set(made["metalake"]) == {"name", "properties", "audit"}
    assert made["metalake"]["properties"] == {}


async def test_the_metalake_that_a_store_begins_with_can_be_loaded(control: Control) -> None:
    """Nobody described it, but it has an audit as clients want it."""
    loaded = (await control.done("GET", "default"))["metalake"]

    assert loaded["properties"] == {"in-use": "true"}
    assert loaded["audit"]["creator"]
    assert loaded["audit"]["createTime"] > "2000"


async def test_a_metalake_of_an_operator_says_so(control: Control) -> None:
    """The audit names who made it, not nobody."""
    await found_metalake(control.lake.kernel, "team2", OPERATOR)
    loaded = (await control.done("GET", "team2"))["metalake"]

    assert loaded["audit"]["creator"] == "operator"
    assert set(loaded["audit"]) == {"creator", "createTime"}


async def test_an_operator_s_metalake_belongs_to_service_admins(guarded: Control) -> None:
    """It has no owner until they give it one, and nobody else may even see it."""
    await found_metalake(guarded.lake.kernel, "team2", OPERATOR)

    assert (await guarded.get("team2", user="ann")).status == 403
    await guarded.done("POST", "team2/users", {"name": "ann"}, user=ADMIN)
    await guarded.done("GET", "team2", user="ann")


async def test_metalakes_are_listed_whether_or_not_they_are_in_use(control: Control) -> None:
    """Each whole, by name."""
    await make(control)
    await control.done("PATCH", "shop", {"inUse": False})
    listed = (await control.done("GET", "/api/metalakes"))["metalakes"]

    assert [(one["name"], one["properties"]["in-use"]) for one in listed] == [
        ("default", "true"),
        ("shop", "false"),
    ]


async def test_updates_are_applied_in_their_order(control: Control) -> None:
    """The last word counts; the audit tells who had it."""
    await control.done("POST", "/api/metalakes", NEW)
    changed = await control.done(
        "PUT",
        "shop",
        {
            "updates": [
                {"@type": "rename", "newName": "store"},
                {"@type": "updateComment", "newComment": None},
                {"@type": "setProperty", "property": "b", "value": "2"},
                {"@type": "removeProperty", "property": "a"},
                {"@type": "setProperty", "property": "b", "value": "3"},
            ]
        },
        user="bob",
    )

    metalake = changed["metalake"]
    assert (metalake["name"], "comment" in metalake) == ("store", False)
    assert metalake["properties"] == {"b": "3", "in-use": "true"}
    assert metalake["audit"]["lastModifier"] == "bob"
    assert metalake["audit"]["lastModifiedTime"]
    assert (await control.get("shop")).error == (404, 1003, "NoSuchMetalakeException")
    assert (await control.done("GET", "store"))["metalake"] == metalake


async def test_a_name_that_is_taken_is_refused(control: Control) -> None:
    """To a new metalake as to one that is to be renamed; then nothing is changed."""
    await make(control)
    rename = {"@type": "rename", "newName": "default"}
    comment = {"@type": "updateComment", "newComment": "x"}
    taken = (409, 1004, "MetalakeAlreadyExistsException")

    assert (await control.post("/api/metalakes", {"name": "shop"})).error == taken
    assert (await control.put("shop", {"updates": [comment, rename]})).error == taken
    assert "comment" not in (await control.done("GET", "shop"))["metalake"]


async def test_a_change_that_is_refused_does_not_rename_a_metalake(control: Control) -> None:
    """All or nothing, though the name and the rest are kept in two places."""
    await make(control)
    rename = {"@type": "rename", "newName": "store"}
    wrong = {"@type": "setProperty", "property": "in-use", "value": "false"}
    illegal = (400, 1001, "IllegalArgumentException")

    assert (await control.put("shop", {"updates": [rename, wrong]})).error == illegal
    assert (await control.get("shop")).status == 200
    assert (await control.get("store")).status == 404


@pytest.mark.parametrize("name", ["system", "", "a.b", "a-b", "a b", "é", "x" * 65, "a/b"])
async def test_a_name_that_breaks_the_rule_is_refused(control: Control, name: str) -> None:
    """Letters, digits and underscores, 64 at most."""
    illegal = (400, 1001, "IllegalArgumentException")
    await make(control)

    assert (await control.post("/api/metalakes", {"name": name})).error == illegal
    rename = {"@type": "rename", "newName": name}
    assert (await control.put("shop", {"updates": [rename]})).error == illegal


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        {"name": "x", "owner": "me"},
        {"comment": "no name"},
        {"name": "x", "properties": {"in-use": "false"}},
        {"name": "x", "properties": {"a": 1}},
    ],
)
async def test_a_body_that_is_not_understood_is_refused(control: Control, body: object) -> None:
    """Also if it only has a field that nobody knows."""
    answer = await control.post("/api/metalakes", body)

    assert answer.error == (400, 1001, "IllegalArgumentException")


@pytest.mark.parametrize(
    "updates",
    [
        [],
        [{"@type": "explode"}],
        [{"@type": "setProperty", "property": "in-use", "value": "false"}],
        [{"@type": "removeProperty", "property": "in-use"}],
    ],
)
async def test_updates_that_nobody_knows_are_refused(control: Control, updates: object) -> None:
    """So is an empty list of them, and what the server keeps itself."""
    answer = await control.put("default", {"updates": updates})

    assert answer.error == (400, 1001, "IllegalArgumentException")


async def test_what_is_in_a_disabled_metalake_is_not_served(control: Control) -> None:
    """Nor is it altered; it can be loaded and enabled."""
    await control.done("PATCH", "default", {"inUse": False})
    off = (409, 1009, "MetalakeNotInUseException")
    comment = {"@type": "updateComment", "newComment": "x"}

    assert (await control.put("default", {"updates": [comment]})).error == off
    assert (await control.done("GET", "default"))["metalake"]["properties"]["in-use"] == "false"
    assert await control.done("PATCH", "default", {"inUse": True}) == {"code": 0}
    await control.done("PUT", "default", {"updates": [comment]})


async def test_a_metalake_is_dropped_when_it_is_disabled_and_empty(control: Control) -> None:
    """Python's client writes the flag with a capital."""
    await make(control)

    assert (await control.delete("shop")).error == (409, 1010, "MetalakeInUseException")
    await control.done("PATCH", "shop", {"inUse": False})
    assert await control.done("DELETE", "shop?force=False") == {"code": 0, "dropped": True}
    assert await control.done("DELETE", "shop") == {"code": 0, "dropped": False}
    await make(control)
    await control.done("PATCH", "default", {"inUse": False})
    assert (await control.delete("default")).error == (409, 1005, "NonEmptyMetalakeException")


async def test_a_metalake_is_dropped_by_force_with_all_that_it_holds(control: Control) -> None:
    """At once: nobody can use it any more, and its name is free."""
    assert await control.done("DELETE", "default?force=True") == {"code": 0, "dropped": True}
    assert (await control.get("default")).error == (404, 1003, "NoSuchMetalakeException")
    assert (await control.done("GET", "/api/metalakes"))["metalakes"] == []
    await make(control, "default")


async def test_only_service_admins_make_metalakes(guarded: Control) -> None:
    """Where rights are checked; whoever made one is its user and its owner."""
    forbidden = (403, 1008, "ForbiddenException")
    refused = await guarded.post("/api/metalakes", NEW, user="ann")
    assert refused.error == forbidden
    assert "on the server: it needs to be a service admin" in refused.json["message"]
    await guarded.done("POST", "/api/metalakes", NEW, user=ADMIN)

    listed = await guarded.done("GET", "/api/metalakes", user="ann")
    assert listed["metalakes"] == []
    names = [
        one["name"]
        for one in (await guarded.done("GET", "/api/metalakes", user=ADMIN))["metalakes"]
    ]
    assert names == ["default", "shop"]
    await alter(guarded, {"@type": "updateComment", "newComment": "x"}, user=ADMIN)


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("GET", None),
        ("PUT", {"updates": [{"@type": "updateComment", "newComment": "x"}]}),
        ("PATCH", {"inUse": False}),
        ("DELETE", None),
    ],
)
@pytest.mark.parametrize("name", ["shop", "nowhere"])
async def test_who_is_no_user_of_a_metalake_is_not_told_whether_it_is_there(
    guarded: Control, method: str, body: object, name: str
) -> None:
    """403 for a metalake of others, and 403 for none, in the same words."""
    await guarded.done("POST", "/api/metalakes", NEW, user=ADMIN)
    for path in (name, f"{name}/catalogs/main/schemas") if method == "GET" else (name,):
        answer = await guarded.send(method, path, body, user="ann")

        assert answer.error == (403, 1008, "ForbiddenException")
        assert answer.json["message"] == (
            f"User 'ann' is not authorized to use the metalake '{name}': it is no user of it, or "
            "there is none. Ask its owner, or a service admin, to add you"
        )


async def test_a_service_admin_is_told_that_there_is_no_metalake(guarded: Control) -> None:
    """It may make one of that name, so it may know."""
    missing = (404, 1003, "NoSuchMetalakeException")

    for path in ("nowhere", "nowhere/catalogs", "nowhere/catalogs/main/schemas"):
        assert (await guarded.get(path, user=ADMIN)).error == missing
    assert (await guarded.done("DELETE", "nowhere", user=ADMIN))["dropped"] is False


async def test_users_see_their_metalake_and_only_its_owner_changes_it(guarded: Control) -> None:
    """The owner also when it is switched off."""
    await guarded.done("POST", "/api/metalakes", NEW, user=ADMIN)
    call = Call(CatalogName("shop", ""), Caller(ADMIN))
    opened = await guarded.lake.open_metalake(call)
    await opened.commit("principals", lambda draft: insert_creator(draft, "ann"))
    forbidden = (403, 1008, "ForbiddenException")

    await guarded.done("GET", "shop", user="ann")
    assert (await guarded.patch("shop", {"inUse": False}, user="ann")).error == forbidden
    assert (await guarded.delete("shop?force=true", user="ann")).error == forbidden
    await guarded.done("PATCH", "shop", {"inUse": False}, user=ADMIN)
    await guarded.done("PATCH", "shop", {"inUse": True}, user=ADMIN)


async def test_no_name_leads_into_another_metalake(control: Control) -> None:
    """Neither an id, nor an encoded slash, nor what a dropped one is called until it is gone."""
    await make(control)
    shop = await control.lake.kernel.realms.get("shop")
    await control.done("DELETE", "shop?force=true")
    dropped = (await control.lake.kernel.realms.get(shop.id)).name
    default = (await control.lake.kernel.realms.get("default")).id
    crafted = [default, shop.id, quote(dropped), "default%2Fcatalogs%2Fmain", "%2E%2E", "%00"]

    for name in crafted:
        for below in ("", "/catalogs", "/catalogs/main", "/catalogs/main/schemas"):
            answer = await control.get(f"{name}{below}")
            assert answer.error[:2] in {(404, 1003), (409, 1009)}, name
        assert (await control.patch(name, {"inUse": True})).status == 404
        assert await control.done("DELETE", f"{name}?force=true") == {"code": 0, "dropped": False}
