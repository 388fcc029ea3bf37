"""Users and groups in Gravitino's protocol: the shapes of answers, and how it says no."""

from typing import Any

import pytest

from tests.unit.http.gravitino.control import ADMIN, Control

SORTS = pytest.mark.parametrize(("many", "one"), [("users", "user"), ("groups", "group")])


async def done(control: Control, method: str, path: str, body: object = None) -> Any:
    """The answer to the service admin, who owns the metalake as long as nobody else does."""
    return await control.done(method, f"default/{path}", body, user=ADMIN)


@SORTS
async def test_an_added_one_is_answered_whole(guarded: Control, many: str, one: str) -> None:
    """With its id, its roles and its audit; and the same again when it is loaded."""
    added = await done(guarded, "POST", many, {"name": "anna"})
    shape = added[one]
    audit = shape.pop("audit")

    assert added["code"] == 0
    assert isinstance(shape.pop("id"), int)
    assert shape == {"name": "anna", "roles": [], **({"enabled": True} if one == "user" else {})}
    assert audit.keys() == {"creator", "createTime"}
    assert audit["creator"] == ADMIN
    assert audit["createTime"].endswith("Z")
    loaded = (await done(guarded, "GET", f"{many}/anna"))[one]
    assert loaded["audit"] == audit


@SORTS
async def test_what_newer_clients_send_is_kept(guarded: Control, many: str, one: str) -> None:
    """The id that it has elsewhere, and whether a user is switched on."""
    sent = {"name": "anna", "externalId": "e-1"} | ({"enabled": False} if one == "user" else {})
    shape = (await done(guarded, "POST", many, sent))[one]

    assert {key: shape[key] for key in sent} == sent


@SORTS
async def test_a_list_has_names_or_everything(guarded: Control, many: str, one: str) -> None:
    """As the parameter says, in any case, with or without a slash at the end."""
    for name in ("ben", "anna"):
        await done(guarded, "POST", f"{many}/", {"name": name})

    assert (await done(guarded, "GET", many)) == {"code": 0, "names": ["anna", "ben"]}
    assert (await done(guarded, "GET", f"{many}/?details=False"))["names"] == ["anna", "ben"]
    whole = await done(guarded, "GET", f"{many}/?details=True")
    assert whole.keys() == {"code", many}
    assert [item["name"] for item in whole[many]] == ["anna", "ben"]
    assert whole[many][0] == (await done(guarded, "GET", f"{many}/anna"))[one]


@SORTS
async def test_removing_tells_whether_somebody_was_there(
    guarded: Control, many: str, one: str
) -> None:
    """Nobody is no error."""
    await done(guarded, "POST", many, {"name": "anna"})

    assert await done(guarded, "DELETE", f"{many}/anna") == {"code": 0, "removed": True}
    assert await done(guarded, "DELETE", f"{many}/anna") == {"code": 0, "removed": False}


@SORTS
async def test_names_come_percent_encoded(guarded: Control, many: str, one: str) -> None:
    """Slashes, blanks and signs in a name are part of it."""
    name = "a/b c+d@example.com"
    await done(guarded, "POST", many, {"name": name})

    for path in ("a%2Fb%20c%2Bd%40example.com", "a%2Fb+c%2Bd%40example.com"):
        assert (await done(guarded, "GET", f"{many}/{path}"))[one]["name"] == name


@SORTS
async def test_errors_are_those_that_clients_know(guarded: Control, many: str, one: str) -> None:
    """By their status, number and name."""
    await done(guarded, "POST", many, {"name": "anna"})
    await done(guarded, "POST", "users", {"name": "plain"})
    path, kind = f"default/{many}", one.capitalize()

    async def error(method: str, path: str, body: object = None, by: str = ADMIN) -> Any:
        return (await guarded.send(method, path, body, user=by)).error

    illegal = (400, 1001, "IllegalArgumentException")
    exists = (409, 1004, f"{kind}AlreadyExistsException")
    forbidden = (403, 1008, "ForbiddenException")
    assert await error("POST", path, {"name": "anna"}) == exists
    assert await error("GET", f"{path}/none") == (404, 1003, f"NoSuch{kind}Exception")
    for body in ({}, {"name": ""}, {"name": "x", "more": 1}, {"name": "x", "externalId": " "}):
        assert await error("POST", path, body) == illegal
    assert await error("POST", path, {"name": "x"}, by="plain") == forbidden
    assert await error("GET", f"{path}/anna", by="plain") == forbidden
    assert await error("GET", path, by="stranger") == forbidden
    assert await error("GET", f"nowhere/{many}", by="stranger") == forbidden


@SORTS
async def test_where_rights_are_not_checked_there_are_none(
    control: Control, many: str, one: str
) -> None:
    """Clients are told that it is unsupported, whatever they ask."""
    unsupported = (405, 1006, "UnsupportedOperationException")
    for method, path in (("GET", ""), ("POST", ""), ("GET", "/anna"), ("DELETE", "/anna")):
        answer = await control.send(method, f"default/{many}{path}", {"name": "anna"})
        assert answer.error == unsupported


async def test_the_owner_of_the_metalake_cannot_be_removed(guarded: Control) -> None:
    """It is an illegal request."""
    await done(guarded, "POST", "users", {"name": "anna"})
    await done(guarded, "PUT", "owners/metalake/default", {"name": "anna", "type": "USER"})
    answer = await guarded.delete("default/users/anna", user="anna")

    assert answer.error == (400, 1001, "IllegalArgumentException")
    assert "owns the metalake" in answer.json["message"]


async def test_a_user_sees_itself_and_its_groups(guarded: Control) -> None:
    """In lists and one by one."""
    for many, name in (("users", "anna"), ("users", "ben"), ("groups", "cooks"), ("groups", "d")):
        await done(guarded, "POST", many, {"name": name})
    caller = "anna/cooks"

    assert (await guarded.get("default/users", user=caller)).json["names"] == ["anna"]
    assert (await guarded.get("default/groups", user=caller)).json["names"] == ["cooks"]
    assert (await guarded.get("default/groups/cooks", user=caller)).status == 200
    assert (await guarded.get("default/groups/d", user=caller)).status == 403
    assert (await guarded.get("default/users/ben", user=caller)).status == 403


async def test_a_metalake_that_is_off_has_no_users_to_be_told(guarded: Control) -> None:
    """Clients are told that it is not in use."""
    await guarded.done("PATCH", "default", {"inUse": False}, user=ADMIN)
    for path in ("users", "groups", "roles", "owners/catalog/main"):
        answer = await guarded.get(f"default/{path}", user=ADMIN)
        assert answer.error == (409, 1009, "MetalakeNotInUseException")


BULK = "/api/bulk/metalakes/default/users"


async def test_many_users_are_added_and_removed_at_once(guarded: Control) -> None:
    """What worked is listed, what did not has its place in the request and its error."""
    added = await guarded.done(
        "POST",
        f"{BULK}/add",
        {"users": [{"name": "anna"}, {"name": "anna"}, {"name": "ben", "enabled": False}]},
        user=ADMIN,
    )
    [error] = added["errors"]

    assert [(user["name"], user["enabled"]) for user in added["users"]] == [
        ("anna", True),
        ("ben", False),
    ]
    assert added["summary"] == {"total": 3, "succeeded": 2, "failed": 1}
    assert error.pop("message")
    known = {"code": 1004, "type": "UserAlreadyExistsException"}
    assert error == {"index": 1, "name": "anna", **known}

    names = {"names": ["nobody", "ben", "anna"]}
    removed = await guarded.done("POST", f"{BULK}/remove/", names, user=ADMIN)
    assert removed["names"] == ["ben", "anna"]
    assert [(one["index"], one["code"]) for one in removed["errors"]] == [(0, 1003)]
    assert removed["summary"] == {"total": 3, "succeeded": 2, "failed": 1}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("add", {"users": []}),
        ("add", {"users": [{"name": f"u{at}"} for at in range(101)]}),
        ("add", {"users": [{"name": "x", "externalId": ""}]}),
        ("remove", {"names": []}),
        ("remove", {"names": ["a", "a"]}),
        ("remove", {"names": [f"u{at}" for at in range(101)]}),
    ],
)
async def test_a_bulk_request_has_limits(guarded: Control, path: str, body: object) -> None:
    """None, too many, or the same twice: nothing is done."""
    answer = await guarded.post(f"{BULK}/{path}", body, user=ADMIN)

    assert answer.error == (400, 1001, "IllegalArgumentException")
    assert (await done(guarded, "GET", "users"))["names"] == []


async def test_a_bulk_request_is_refused_as_a_whole(guarded: Control, control: Control) -> None:
    """Without the right, and where rights are not checked."""
    await done(guarded, "POST", "users", {"name": "plain"})
    body = {"users": [{"name": "x"}]}

    assert (await guarded.post(f"{BULK}/add", body, user="plain")).status == 403
    assert (await control.post(f"{BULK}/add", body)).status == 405


async def test_a_user_is_switched_off_and_on(guarded: Control) -> None:
    """The answer is the user; nothing but a yes or no is understood."""
    await done(guarded, "POST", "users", {"name": "anna"})
    for on in (False, True):
        user = (await done(guarded, "PATCH", "users/anna", {"enabled": on}))["user"]
        assert user == (await done(guarded, "GET", "users/anna"))["user"]
        assert user["enabled"] is on

    for body in ({}, {"enabled": None}, {"enabled": "no"}):
        refused = await guarded.send("PATCH", "default/users/anna", body, user=ADMIN)
        assert refused.error == (400, 1001, "IllegalArgumentException")
