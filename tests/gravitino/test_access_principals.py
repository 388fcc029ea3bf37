"""Users and groups through Gravitino's official client."""

from typing import Any

import pytest
from gravitino.exceptions.base import (
    ForbiddenException,
    GroupAlreadyExistsException,
    IllegalArgumentException,
    NoSuchGroupException,
    NoSuchUserException,
    UserAlreadyExistsException,
)

from tests.gravitino.conftest import ADMIN, Clients


@pytest.fixture(name="admin", scope="module")
def _admin(client: Clients) -> Any:
    return client(ADMIN)


def test_users_come_and_go(admin: Any) -> None:
    """Added, loaded, listed in both ways, removed once."""
    added = admin.add_user("anna")

    assert (added.name(), added.roles()) == ("anna", [])
    assert added.audit_info().creator() == ADMIN
    assert admin.get_user("anna") == added
    assert admin.list_user_names() == ["anna", ADMIN]
    assert [user.name() for user in admin.list_users()] == ["anna", ADMIN]
    assert admin.remove_user("anna") is True
    assert admin.remove_user("anna") is False
    assert admin.list_user_names() == [ADMIN]


def test_groups_come_and_go(admin: Any) -> None:
    """Added, loaded, listed in both ways, removed once."""
    added = admin.add_group("cooks")

    assert (added.name(), added.roles()) == ("cooks", [])
    assert admin.get_group("cooks") == added
    assert admin.list_group_names() == ["cooks"]
    assert [group.name() for group in admin.list_groups()] == ["cooks"]
    assert admin.remove_group("cooks") is True
    assert admin.remove_group("cooks") is False


def test_names_may_have_any_sign(admin: Any) -> None:
    """What the client encodes is decoded."""
    name = "a/b c+d%41@example.com"
    admin.add_user(name)

    assert admin.get_user(name).name() == name
    assert admin.remove_user(name)


def test_the_client_knows_what_went_wrong(admin: Any) -> None:
    """Each refusal is an exception of its own."""
    admin.add_user("ben")
    admin.add_group("ben")
    with pytest.raises(UserAlreadyExistsException):
        admin.add_user("ben")
    with pytest.raises(GroupAlreadyExistsException):
        admin.add_group("ben")
    with pytest.raises(NoSuchUserException):
        admin.get_user("nobody")
    with pytest.raises(NoSuchGroupException):
        admin.get_group("nothing")
    with pytest.raises(IllegalArgumentException, match="owns the metalake"):
        admin.remove_user(ADMIN)


def test_who_is_no_user_any_more_is_refused_at_once(admin: Any, client: Clients) -> None:
    """A client that was let in before is not, from its next request on."""
    admin.add_user("carl")
    carl = client("carl")
    assert carl.list_user_names() == ["carl"]
    admin.remove_user("carl")

    with pytest.raises(Exception, match="not authorized") as refused:
        carl.list_user_names()
    assert "it is no user of it" in str(refused.value)
    with pytest.raises(ForbiddenException):
        client("carl")
