"""Roles, rights and owners in Gravitino's protocol: shapes, words in any case, and errors."""

from typing import Any

import pytest

from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.control import ADMIN, Control

ILLEGAL = (400, 1001, "IllegalArgumentException")
NO_OBJECT = (404, 1003, "NoSuchMetadataObjectException")
USE = {"name": "use_catalog", "condition": "allow"}


async def done(control: Control, method: str, path: str, body: object = None) -> Any:
    """The answer to the service admin, who owns the metalake as long as nobody else does."""
    return await control.done(method, f"default/{path}", body, user=ADMIN)


async def error(
    control: Control, method: str, path: str, body: object = None, by: str = ADMIN
) -> tuple[int, int, str]:
    return (await control.send(method, f"default/{path}", body, user=by)).error


def on(type: str, full_name: str, *privileges: dict[str, str]) -> dict[str, Any]:
    """Rights on an object, as clients send them."""
    return {"fullName": full_name, "type": type, "privileges": list(privileges) or [USE]}


def right(name: str, condition: str = "allow") -> dict[str, str]:
    return {"name": name, "condition": condition}


async def make(control: Control, name: str, *objects: dict[str, Any]) -> Any:
    body = {"name": name, "properties": {"k": "v"}, "securableObjects": list(objects)}
    return (await done(control, "POST", "roles", body))["role"]


async def test_a_role_is_answered_whole(guarded: Control) -> None:
    """Kinds, rights and conditions come in any case and go out in lower case."""
    body = {
        "name": "r",
        "properties": {"k": "v"},
        "securableObjects": [
            on("CATALOG", "main", right("USE_CATALOG", "ALLOW"), right("Create_Schema", "Deny")),
            on("metalake", "default", right("create_model")),
        ],
    }
    made = (await done(guarded, "POST", "roles", body))["role"]
    audit = made.pop("audit")

    assert made == {
        "name": "r",
        "properties": {"k": "v"},
        "securableObjects": [
            on("metalake", "default", right("register_model")),
            on("catalog", "main", right("use_catalog"), right("create_schema", "deny")),
        ],
    }
    assert audit.keys() == {"creator", "createTime"}
    assert (await done(guarded, "GET", "roles/r"))["role"] == {**made, "audit": audit}


async def test_roles_are_listed_and_deleted(guarded: Control) -> None:
    """A deletion says so in two words, and a second one that there was nothing."""
    for name in ("s", "r"):
        await make(guarded, name)

    assert await done(guarded, "GET", "roles/") == {"code": 0, "names": ["r", "s"]}
    gone = {"code": 0, "dropped": True, "deleted": True}
    assert await done(guarded, "DELETE", "roles/r") == gone
    assert await done(guarded, "DELETE", "roles/r") == {**gone, "dropped": False, "deleted": False}


async def test_a_role_may_come_without_properties(guarded: Control) -> None:
    """They are empty then."""
    made = await done(guarded, "POST", "roles", {"name": "r", "securableObjects": []})

    assert made["role"]["properties"] == {}


async def test_errors_of_roles_are_those_that_clients_know(guarded: Control) -> None:
    """By their status, number and name."""
    await make(guarded, "r")
    await done(guarded, "POST", "users", {"name": "plain"})

    async def refused(*objects: object, name: str = "new") -> tuple[int, int, str]:
        body = {"name": name, "properties": None, "securableObjects": list(objects)}
        return await error(guarded, "POST", "roles", body)

    no_object = (400, 1001, "IllegalMetadataObjectException")
    no_right = (400, 1001, "IllegalPrivilegeException")
    assert await refused(name="r") == (409, 1004, "RoleAlreadyExistsException")
    assert await refused(on("catalog", "none")) == no_object
    assert await refused(on("role", "r")) == no_object
    assert await refused(on("table", "main.a.b.c", right("select_table"))) == no_object
    assert await refused(on("catalog", "main", right("create_catalog"))) == no_right
    assert await refused(on("catalog", "main", USE, right("use_catalog", "deny"))) == no_right
    assert await refused(on("catalog", "main", right("fly"))) == ILLEGAL
    assert await refused(on("catalog", "main", right("use_catalog", "perhaps"))) == ILLEGAL
    assert await refused(on("chair", "main")) == ILLEGAL
    assert await refused({**on("catalog", "main"), "privileges": []}) == ILLEGAL
    assert await refused(on("catalog", "main"), on("catalog", "main")) == ILLEGAL
    assert await refused(name="") == ILLEGAL
    assert await error(guarded, "GET", "roles/none") == (404, 1003, "NoSuchRoleException")
    forbidden = (403, 1008, "ForbiddenException")
    for method, path in (("GET", "roles/r"), ("DELETE", "roles/r"), ("GET", "roles/none")):
        assert await error(guarded, method, path, by="plain") == forbidden


@pytest.mark.parametrize(("many", "one"), [("users", "user"), ("groups", "group")])
async def test_roles_are_given_and_taken(guarded: Control, many: str, one: str) -> None:
    """The answer is the user or group as it is then, as loading it is."""
    await done(guarded, "POST", many, {"name": "anna"})
    await make(guarded, "r")
    await make(guarded, "s")
    path = f"permissions/{many}/anna"
    given = await done(guarded, "PUT", f"{path}/grant/", {"roleNames": ["s", "r"]})

    assert given[one]["roles"] == ["r", "s"]
    assert given[one] == (await done(guarded, "GET", f"{many}/anna"))[one]
    taken = await done(guarded, "PUT", f"{path}/revoke", {"roleNames": ["s"]})
    assert taken[one]["roles"] == ["r"]
    no_role = (400, 1001, "IllegalRoleException")
    absent = (404, 1003, f"NoSuch{one.capitalize()}Exception")
    for do in ("grant", "revoke"):
        assert await error(guarded, "PUT", f"{path}/{do}", {"roleNames": ["none"]}) == no_role
        assert await error(guarded, "PUT", f"{path}/{do}", {"roleNames": []}) == ILLEGAL
        nobody = f"permissions/{many}/nobody/{do}"
        assert await error(guarded, "PUT", nobody, {"roleNames": ["r"]}) == absent


async def test_rights_are_given_taken_and_replaced(guarded: Control) -> None:
    """The answer is the role as it is then."""
    await make(guarded, "r")
    path, body = "permissions/roles/r/Catalog/main", {"privileges": [right("USE_CATALOG")]}
    given = await done(guarded, "PUT", f"{path}/grant", body)

    assert given["role"]["securableObjects"] == [on("catalog", "main")]
    assert given["role"] == (await done(guarded, "GET", "roles/r"))["role"]
    assert (await done(guarded, "GET", "objects/catalog/main/roles"))["names"] == ["r"]
    taken = await done(guarded, "PUT", f"{path}/revoke/", body)
    assert taken["role"]["securableObjects"] == []
    assert (await done(guarded, "GET", "objects/CATALOG/main/roles/"))["names"] == []
    overrides = [on("metalake", "default", right("use_schema", "deny"))]
    after = await done(guarded, "PUT", "permissions/roles/r/", {"overrides": overrides})
    assert after["role"]["securableObjects"] == overrides


async def test_errors_of_rights_are_those_that_clients_know(guarded: Control) -> None:
    """By their status, number and name."""
    await make(guarded, "r")
    body = {"privileges": [USE]}
    role = "permissions/roles/r"
    no_role = (404, 1003, "NoSuchRoleException")
    no_right = (400, 1001, "IllegalPrivilegeException")
    for do in ("grant", "revoke"):
        unbound = {"privileges": [right("create_catalog")]}
        assert await error(guarded, "PUT", f"{role}/catalog/none/{do}", body) == NO_OBJECT
        assert await error(guarded, "PUT", f"{role}/catalog/main/{do}", unbound) == no_right
        assert await error(guarded, "PUT", f"{role}/chair/main/{do}", body) == ILLEGAL
        assert (
            await error(guarded, "PUT", f"{role}/catalog/main/{do}", {"privileges": []}) == ILLEGAL
        )
        missing = f"permissions/roles/none/catalog/main/{do}"
        assert await error(guarded, "PUT", missing, body) == no_role
    gone = {"overrides": [on("catalog", "none")]}
    assert await error(guarded, "PUT", role, gone) == NO_OBJECT
    assert await error(guarded, "PUT", "permissions/roles/none", {"overrides": []}) == no_role


async def test_an_owner_is_set_and_told(guarded: Control) -> None:
    """Kinds come in any case; what nobody owns has no owner in the answer."""
    await done(guarded, "POST", "users", {"name": "anna"})
    await done(guarded, "POST", "groups", {"name": "cooks"})
    path = "owners/CATALOG/main"

    assert await done(guarded, "GET", path) == {"code": 0}
    anna = {"name": "anna", "type": "USER"}
    assert await done(guarded, "PUT", path, anna) == {"code": 0, "set": True}
    owner = {"name": "anna", "type": "user"}
    assert await done(guarded, "GET", "owners/catalog/main") == {"code": 0, "owner": owner}
    await done(guarded, "PUT", path, {"name": "cooks", "type": "group"})
    assert (await done(guarded, "GET", path))["owner"] == {"name": "cooks", "type": "group"}


async def test_full_names_come_percent_encoded(world: World, guarded: Control) -> None:
    """Nested schemas, dots in names, and names of roles: each leads to one object only."""
    await done(guarded, "POST", "users", {"name": "anna"})
    await (await world.node()).namespace("A", "B.C")
    await make(guarded, "a.b")
    anna = {"name": "anna", "type": "USER"}
    for path in ("schema/main.A%3AB.C", "schema/main%1FA%1FB.C", "role/a.b"):
        await done(guarded, "PUT", f"owners/{path}", anna)
        assert (await done(guarded, "GET", f"owners/{path}"))["owner"]["name"] == "anna"

    assert await done(guarded, "GET", "owners/schema/main.A") == {"code": 0}


async def test_errors_of_owners_are_those_that_clients_know(guarded: Control) -> None:
    """By their status, number and name."""
    await done(guarded, "POST", "users", {"name": "anna"})
    anna, path = {"name": "anna", "type": "USER"}, "owners/catalog/main"
    for missing in ("owners/catalog/none", "owners/metalake/other", "owners/fileset/main.a.b"):
        assert await error(guarded, "GET", missing) == NO_OBJECT
        assert await error(guarded, "PUT", missing, anna) == NO_OBJECT
    nobody = {"name": "nobody", "type": "USER"}
    assert await error(guarded, "PUT", path, nobody) == (404, 1003, "NoSuchUserException")
    nothing = {"name": "anna", "type": "GROUP"}
    assert await error(guarded, "PUT", path, nothing) == (404, 1003, "NoSuchGroupException")
    assert await error(guarded, "PUT", path, {"name": "anna", "type": "CAT"}) == ILLEGAL
    assert await error(guarded, "PUT", path, {"name": "anna"}) == ILLEGAL
    forbidden = (403, 1008, "ForbiddenException")
    assert await error(guarded, "PUT", path, anna, by="anna") == forbidden
    assert await error(guarded, "GET", path, by="anna") == forbidden


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "roles"),
        ("POST", "roles"),
        ("GET", "roles/r"),
        ("DELETE", "roles/r"),
        ("GET", "objects/catalog/main/roles"),
        ("PUT", "permissions/users/u/grant"),
        ("PUT", "permissions/users/u/revoke"),
        ("PUT", "permissions/groups/g/grant"),
        ("PUT", "permissions/groups/g/revoke"),
        ("PUT", "permissions/roles/r"),
        ("PUT", "permissions/roles/r/catalog/main/grant"),
        ("PUT", "permissions/roles/r/catalog/main/revoke"),
        ("GET", "owners/catalog/main"),
        ("PUT", "owners/catalog/main"),
    ],
)
async def test_where_rights_are_not_checked_there_are_none(
    control: Control, method: str, path: str
) -> None:
    """Clients are told that it is unsupported, whatever they ask."""
    answer = await control.send(method, f"default/{path}", {})

    assert answer.error == (405, 1006, "UnsupportedOperationException")
