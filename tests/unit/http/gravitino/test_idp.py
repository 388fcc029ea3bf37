"""Users and groups that Headgate keeps, through Gravitino's protocol: for service admins alone."""

from typing import Any

import msgspec
import pytest

from headgate.catalog.identity_users import get_user
from tests.unit.catalog.keeping import Keeper, with_password
from tests.unit.http.gravitino.control import ADMIN, Control

PASSWORD = "correct horse battery"


def keeping(control: Control) -> Control:
    """The same server, with passwords."""
    passwords = Keeper(control.node.kernel).passwords
    control.use(msgspec.structs.replace(control.service, passwords=passwords))
    return control


@pytest.fixture
def idp(guarded: Control) -> Control:
    return keeping(guarded)


async def done(idp: Control, method: str, path: str, body: object = None) -> Any:
    return await idp.done(method, f"/api/idp/{path}", body, user=ADMIN)


async def test_a_user_is_kept_changed_and_forgotten(idp: Control) -> None:
    """With the objects that Gravitino answers."""
    keeper = Keeper(idp.node.kernel)
    made = await done(idp, "POST", "users", {"user": "ann", "password": PASSWORD})
    assert made["user"].pop("audit")["creator"] == ADMIN
    assert made == {"code": 0, "user": {"name": "ann", "enabled": True, "groups": []}}
    assert await keeper.knows(with_password("ann", PASSWORD))

    await done(idp, "PUT", "users/ann", {"password": "another password"})
    assert not await keeper.knows(with_password("ann", PASSWORD))
    assert await keeper.knows(with_password("ann", "another password"))
    off = await done(idp, "PUT", "users/ann", {"enabled": False})
    assert off["user"]["enabled"] is False
    assert not await keeper.knows(with_password("ann", "another password"))

    assert (await done(idp, "GET", "users"))["names"] == ["ann"]
    assert (await done(idp, "GET", "users/ann"))["user"]["enabled"] is False
    assert await done(idp, "DELETE", "users/ann") == {"code": 0, "removed": True}
    assert await done(idp, "DELETE", "users/ann") == {"code": 0, "removed": False}


@pytest.mark.parametrize("path", ["users", "add", "remove"])
async def test_a_group_has_members(idp: Control, path: str) -> None:
    """By the path of the newest servers, and by those of older ones."""
    for name in ("ann", "bob"):
        await done(idp, "POST", "users", {"user": name, "password": PASSWORD})
    made = await done(idp, "POST", "groups", {"group": "ops", "comment": "on call"})
    assert made["group"] == {"name": "ops", "comment": "on call", "users": []}

    await done(idp, "PUT", f"groups/ops/{path}", {"usersToAdd": ["ann", "bob"]})
    changed = await done(idp, "PUT", f"groups/ops/{path}", {"usersToRemove": ["bob"]})
    assert changed["group"]["users"] == ["ann"]
    assert (await done(idp, "GET", "groups"))["names"] == ["ops"]
    assert (await done(idp, "GET", "users/ann"))["user"]["groups"] == ["ops"]

    full = await idp.delete("/api/idp/groups/ops", user=ADMIN)
    assert full.status == 409
    assert (await done(idp, "DELETE", "groups/ops?force=true"))["removed"]
    assert not (await done(idp, "DELETE", "groups/ops"))["removed"]


@pytest.mark.parametrize(
    ("method", "path", "body", "error"),
    [
        ("GET", "users/nobody", None, (404, 1003, "NoSuchUserException")),
        ("PUT", "users/nobody", {"enabled": True}, (404, 1003, "NoSuchUserException")),
        ("GET", "groups/none", None, (404, 1003, "NoSuchGroupException")),
        ("PUT", "groups/none/users", {"usersToAdd": []}, (404, 1003, "NoSuchGroupException")),
        ("POST", "users", {"user": "a", "password": ""}, (400, 1001, "IllegalArgumentException")),
        ("POST", "users", {"user": "a"}, (400, 1001, "IllegalArgumentException")),
        ("POST", "users", {"user": "", "password": PASSWORD}, (400, 1001, None)),
        ("POST", "users", {"user": "a", "password": "short"}, (400, 1001, None)),
        ("PUT", "users/ann", {}, (400, 1001, None)),
        ("PUT", "groups/ops/users", {}, (400, 1001, None)),
        ("PUT", "groups/ops/users", {"usersToAdd": ["nobody"]}, (404, 1003, None)),
        ("POST", "users", {"user": "ann", "password": PASSWORD}, (409, 1004, None)),
        ("POST", "groups", {"group": "ops"}, (409, 1004, "GroupAlreadyExistsException")),
    ],
)
async def test_what_cannot_be_done_is_said_in_gravitinos_words(
    idp: Control, method: str, path: str, body: object, error: tuple[int, int, str | None]
) -> None:
    """And without the password."""
    await done(idp, "POST", "users", {"user": "ann", "password": PASSWORD})
    await done(idp, "POST", "groups", {"group": "ops"})

    answer = await idp.send(method, f"/api/idp/{path}", body, user=ADMIN)

    status, code, type = error
    assert answer.error[:2] == (status, code)
    assert type in {None, answer.error[2]}
    assert PASSWORD not in str(answer.json)


ALL = [
    ("GET", "users"),
    ("GET", "users/ann"),
    ("POST", "users"),
    ("PUT", "users/ann"),
    ("DELETE", "users/ann"),
    ("GET", "groups"),
    ("GET", "groups/ops"),
    ("POST", "groups"),
    ("PUT", "groups/ops/users"),
    ("DELETE", "groups/ops"),
]


@pytest.mark.parametrize(("method", "path"), ALL)
async def test_nobody_else_may(idp: Control, control: Control, method: str, path: str) -> None:
    """Whoever changes a password can be that user: so also where rights are not checked."""
    await done(idp, "POST", "users", {"user": "ann", "password": PASSWORD})
    body = {"user": "ann", "password": "another password"}

    for server in (idp, keeping(control)):
        for user in ("ann", "", "eve"):
            answer = await server.send(method, f"/api/idp/{path}", body, user=user)
            assert answer.error[:2] == (403, 1008)
    assert (await get_user(idp.node.kernel, "ann")).enabled


async def test_a_server_without_passwords_keeps_no_users(guarded: Control) -> None:
    """It says so, to those who may know."""
    answer = await guarded.get("/api/idp/users", user=ADMIN)

    assert answer.error == (405, 1006, "UnsupportedOperationException")
    assert (await guarded.get("/api/idp/users", user="eve")).status == 403
