"""Handlers for users and groups that Headgate itself keeps, as Gravitino's own identity provider
has them. Only service admins may use them, also where rights are not checked: whoever changes a
password can be that user."""

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.catalog import outsiders
from headgate.catalog.identity_groups import (
    KeptGroup,
    change_members,
    create_group,
    drop_group,
    get_group,
    list_groups,
)
from headgate.catalog.identity_users import (
    KeptUser,
    create_user,
    drop_user,
    get_user,
    list_users,
    set_enabled,
    set_password,
)
from headgate.catalog.passwords import Passwords
from headgate.errors import BadRequest, Forbidden, Unsupported
from headgate.http.gravitino.route_parts import FORCE, write
from headgate.http.gravitino.service import Gravitino, call_of, segment
from headgate.http.gravitino.shapes import Answer, Audit, NameList, Payload, Shape, audit_of
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.http.router import Handler, Route
from headgate.kernel.kernel import Kernel

USERS, GROUPS = "/idp/users", "/idp/groups"
USER, GROUP = f"{USERS}/{{user}}", f"{GROUPS}/{{group}}"


class CreateUser(Payload, frozen=True):
    """A user that is to be kept."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"CreateUser({self.user!r}, ***)"


class UpdateUser(Payload, frozen=True):
    """What is to change of a user."""

    password: str | None = None
    enabled: bool | None = None

    def __repr__(self) -> str:
        return f"UpdateUser(***, {self.enabled})"


class CreateGroup(Payload, frozen=True):
    """A group that is to be kept."""

    group: str
    comment: str | None = None


class ChangeMembers(Payload, frozen=True):
    """Who is to be in a group, and who no more."""

    users_to_add: list[str] | None = None
    users_to_remove: list[str] | None = None


class UserShape(Shape, frozen=True, omit_defaults=False):
    """A kept user."""

    name: str
    enabled: bool
    groups: list[str]
    audit: Audit


class GroupShape(Shape, frozen=True, omit_defaults=False):
    """A kept group."""

    name: str
    comment: str
    users: list[str]


class UserAnswer(Answer, frozen=True):
    """One user."""

    user: UserShape


class GroupAnswer(Answer, frozen=True):
    """One group."""

    group: GroupShape


class Removed(Answer, frozen=True):
    """Whether something was there to be removed."""

    removed: bool


class _Admin(msgspec.Struct, frozen=True):
    """A service admin, and what it works on."""

    kernel: Kernel
    passwords: Passwords
    name: str


async def list_kept_users(service: Gravitino, request: Request) -> Response:
    """The names of all kept users."""
    admin = await _admin(service, request)
    return json_response(200, NameList(names=[one.name for one in await list_users(admin.kernel)]))


async def get_kept_user(service: Gravitino, request: Request) -> Response:
    """One kept user."""
    admin = await _admin(service, request)
    return await _user(admin, segment(request, "user"))


async def create_kept_user(service: Gravitino, request: Request) -> Response:
    """Keep a new user."""
    admin = await _admin(service, request)
    new = decode(request, CreateUser)
    if not new.password:
        raise BadRequest("The user cannot be kept", why="it has no password", fix="Send one")
    await create_user(admin.kernel, admin.passwords, new.user, new.password, by=admin.name)
    return await _user(admin, new.user)


async def update_kept_user(service: Gravitino, request: Request) -> Response:
    """Give a user another password, or switch it on or off."""
    admin = await _admin(service, request)
    name, wanted = segment(request, "user"), decode(request, UpdateUser)
    if wanted.password is None and wanted.enabled is None:
        raise BadRequest("Nothing is to change", fix="Send password or enabled")
    if wanted.password is not None:
        await set_password(admin.kernel, admin.passwords, name, wanted.password, by=admin.name)
    if wanted.enabled is not None:
        await set_enabled(admin.kernel, name, enabled=wanted.enabled, by=admin.name)
    return await _user(admin, name)


async def drop_kept_user(service: Gravitino, request: Request) -> Response:
    """Forget a user."""
    admin = await _admin(service, request)
    removed = await drop_user(admin.kernel, segment(request, "user"), by=admin.name)
    return json_response(200, Removed(removed=removed))


async def list_kept_groups(service: Gravitino, request: Request) -> Response:
    """The names of all kept groups."""
    admin = await _admin(service, request)
    return json_response(200, NameList(names=[one.name for one in await list_groups(admin.kernel)]))


async def get_kept_group(service: Gravitino, request: Request) -> Response:
    """One kept group and who is in it."""
    admin = await _admin(service, request)
    return await _group(admin, segment(request, "group"))


async def create_kept_group(service: Gravitino, request: Request) -> Response:
    """Keep a new group."""
    admin = await _admin(service, request)
    new = decode(request, CreateGroup)
    await create_group(admin.kernel, new.group, new.comment or "", by=admin.name)
    return await _group(admin, new.group)


async def change_kept_group(service: Gravitino, request: Request) -> Response:
    """Change who is in a group."""
    admin = await _admin(service, request)
    name, wanted = segment(request, "group"), decode(request, ChangeMembers)
    if wanted.users_to_add is None and wanted.users_to_remove is None:
        raise BadRequest("Nothing is to change", fix="Send usersToAdd or usersToRemove")
    await change_members(
        admin.kernel,
        name,
        add=wanted.users_to_add or (),
        remove=wanted.users_to_remove or (),
        by=admin.name,
    )
    return await _group(admin, name)


async def drop_kept_group(service: Gravitino, request: Request) -> Response:
    """Forget a group."""
    admin = await _admin(service, request)
    force = flag(request, "force")
    removed = await drop_group(admin.kernel, segment(request, "group"), force=force, by=admin.name)
    return json_response(200, Removed(removed=removed))


async def _admin(service: Gravitino, request: Request) -> _Admin:
    """The caller, who has to be a service admin."""
    call = call_of(request)
    await outsiders.require(service.lake, call, rules.ALTER_IDENTITIES)
    if service.passwords is None:
        raise Unsupported(
            "Users are not kept here",
            why="this server does not check passwords",
            fix="Start it with `basic` among authentication.methods",
        )
    if not service.lake.openings.guard.is_admin(call.caller):
        raise Forbidden(
            f"User '{call.caller.name}' is not authorized to perform operation "
            f"'{rules.ALTER_IDENTITIES.action}'",
            why="it is no service admin",
        )
    return _Admin(service.lake.kernel, service.passwords, call.caller.name)


async def _user(admin: _Admin, name: str) -> Response:
    found: KeptUser = await get_user(admin.kernel, name)
    shape = UserShape(
        name=found.name,
        enabled=found.enabled,
        groups=list(found.groups),
        audit=audit_of(found.created_by, found.created_ms),
    )
    return json_response(200, UserAnswer(user=shape))


async def _group(admin: _Admin, name: str) -> Response:
    found: KeptGroup = await get_group(admin.kernel, name)
    shape = GroupShape(name=found.name, comment=found.comment, users=list(found.members))
    return json_response(200, GroupAnswer(group=shape))


_ALWAYS = (errors.NotAuthenticated, errors.Forbidden, errors.Unsupported)
_RULE = rules.ALTER_IDENTITIES


def _get(
    template: str,
    handler: Handler,
    operation: str,
    summary: str,
    response: type,
    *problems: type[errors.HeadgateError],
) -> Route:
    return Route(
        "GET",
        template,
        handler,
        operation,
        summary,
        response=response,
        errors=(*_ALWAYS, *problems),
        rule=_RULE,
    )


ROUTES = (
    _get(USERS, list_kept_users, "listKeptUsers", "List the kept users", NameList),
    _get(USER, get_kept_user, "getKeptUser", "A kept user", UserAnswer, errors.UserNotFound),
    write(
        "POST",
        USERS,
        create_kept_user,
        "createKeptUser",
        "Keep a user and its password",
        request=CreateUser,
        response=UserAnswer,
        errors=(*_ALWAYS, errors.UserExists),
        rule=_RULE,
    ),
    write(
        "PUT",
        USER,
        update_kept_user,
        "updateKeptUser",
        "Give a kept user another password, or switch it on or off",
        request=UpdateUser,
        response=UserAnswer,
        errors=(*_ALWAYS, errors.UserNotFound),
        rule=_RULE,
    ),
    write(
        "DELETE",
        USER,
        drop_kept_user,
        "dropKeptUser",
        "Forget a kept user",
        response=Removed,
        errors=_ALWAYS,
        rule=_RULE,
    ),
    _get(GROUPS, list_kept_groups, "listKeptGroups", "List the kept groups", NameList),
    _get(GROUP, get_kept_group, "getKeptGroup", "A kept group", GroupAnswer, errors.GroupNotFound),
    write(
        "POST",
        GROUPS,
        create_kept_group,
        "createKeptGroup",
        "Keep a group",
        request=CreateGroup,
        response=GroupAnswer,
        errors=(*_ALWAYS, errors.GroupExists),
        rule=_RULE,
    ),
    *(
        write(
            "PUT",
            f"{GROUP}/{path}",
            change_kept_group,
            f"{path}KeptGroup",
            "Change who is in a kept group",
            request=ChangeMembers,
            response=GroupAnswer,
            errors=(*_ALWAYS, errors.GroupNotFound, errors.UserNotFound),
            rule=_RULE,
        )
        for path in ("users", "add", "remove")
    ),
    write(
        "DELETE",
        GROUP,
        drop_kept_group,
        "dropKeptGroup",
        "Forget a kept group",
        parameters=(FORCE,),
        response=Removed,
        errors=(*_ALWAYS, errors.Conflict),
        rule=_RULE,
    ),
)
