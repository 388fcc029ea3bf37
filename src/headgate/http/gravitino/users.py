"""Handlers for the users of a metalake."""

from headgate import errors
from headgate.access import rules
from headgate.catalog import principals
from headgate.catalog.principals import USER
from headgate.http.gravitino.access import USERS, WHERE_RIGHTS_ARE_CHECKED, guarded_metalake
from headgate.http.gravitino.principals import (
    AddUser,
    MetalakeUser,
    MetalakeUserAnswer,
    Removed,
    SwitchUser,
    new_of,
    user_of,
)
from headgate.http.gravitino.route_parts import DETAILS, read, write
from headgate.http.gravitino.service import Gravitino, segment
from headgate.http.gravitino.shapes import Answer, NameList
from headgate.http.request import Request, Response, decode, flag, json_response

ONE_USER = f"{USERS}/{{user}}"


class UserList(Answer, frozen=True):
    """Users with all that is known of them."""

    users: list[MetalakeUser]


async def list_users(service: Gravitino, request: Request) -> Response:
    """All users that the caller may see, by their names or whole."""
    metalake = await guarded_metalake(service, request)
    found = await principals.list_principals(metalake, USER)
    if not flag(request, "details"):
        return json_response(200, NameList(names=[name for name, _ in found]))
    users = await principals.describe_all(metalake, USER, found)
    return json_response(200, UserList(users=list(map(user_of, users))))


async def add_user(service: Gravitino, request: Request) -> Response:
    """Let somebody use a metalake."""
    metalake = await guarded_metalake(service, request)
    new = new_of(decode(request, AddUser))
    added = await principals.add_principal(metalake, USER, new)
    return json_response(200, MetalakeUserAnswer(user=user_of(added)))


async def load_user(service: Gravitino, request: Request) -> Response:
    """One user."""
    metalake = await guarded_metalake(service, request)
    user = await principals.load_principal(metalake, USER, segment(request, "user"))
    return json_response(200, MetalakeUserAnswer(user=user_of(user)))


async def switch_user(service: Gravitino, request: Request) -> Response:
    """Switch a user off or on: Headgate's addition, Gravitino tells it only of new ones."""
    enabled = decode(request, SwitchUser).enabled
    metalake = await guarded_metalake(service, request)
    user = await principals.set_enabled(metalake, segment(request, "user"), enabled=enabled)
    return json_response(200, MetalakeUserAnswer(user=user_of(user)))


async def remove_user(service: Gravitino, request: Request) -> Response:
    """Take somebody out of a metalake."""
    metalake = await guarded_metalake(service, request)
    removed = await principals.remove_principal(metalake, USER, segment(request, "user"))
    return json_response(200, Removed(removed=removed))


ROUTES = (
    read(
        "GET",
        USERS,
        list_users,
        "listUsers",
        "List the users of a metalake that the caller may see",
        parameters=(DETAILS,),
        response=NameList | UserList,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.LOAD_USER,
    ),
    write(
        "POST",
        USERS,
        add_user,
        "addUser",
        "Add a user to a metalake",
        request=AddUser,
        response=MetalakeUserAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.UserExists),
        rule=rules.CHANGE_USERS,
    ),
    read(
        "GET",
        ONE_USER,
        load_user,
        "getUser",
        "Load a user of a metalake",
        response=MetalakeUserAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.UserNotFound),
        rule=rules.LOAD_USER,
    ),
    write(
        "PATCH",
        ONE_USER,
        switch_user,
        "switchUser",
        "Switch a user of a metalake off or on (not in Gravitino); its owner stays on",
        request=SwitchUser,
        response=MetalakeUserAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.BadRequest, errors.UserNotFound),
        rule=rules.CHANGE_USERS,
    ),
    write(
        "DELETE",
        ONE_USER,
        remove_user,
        "removeUser",
        "Remove a user from a metalake; its owner stays",
        response=Removed,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.CHANGE_USERS,
    ),
)
