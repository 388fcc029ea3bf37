"""Handlers that give and take roles and rights."""

from collections.abc import Awaitable, Callable, Sequence

from headgate import errors
from headgate.access import rules
from headgate.catalog import grants
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.principals import GROUP, USER, Principal, Sort
from headgate.catalog.privilege_checks import Wanted
from headgate.catalog.roles import Role
from headgate.http.gravitino.access import (
    ABOUT_OBJECTS,
    OBJECT,
    PERMISSIONS,
    WHERE_RIGHTS_ARE_CHECKED,
    guarded_metalake,
    object_of,
)
from headgate.http.gravitino.principals import (
    MetalakeGroupAnswer,
    MetalakeUserAnswer,
    group_of,
    user_of,
)
from headgate.http.gravitino.roles import (
    Right,
    RightsOn,
    RoleAnswer,
    role_answer,
    terms,
    wanted_of,
)
from headgate.http.gravitino.route_parts import write
from headgate.http.gravitino.service import Gravitino, segment
from headgate.http.gravitino.shapes import Payload
from headgate.http.request import Request, Response, decode, json_response

USER_ROLES = f"{PERMISSIONS}/users/{{user}}"
GROUP_ROLES = f"{PERMISSIONS}/groups/{{group}}"
ROLE_RIGHTS = f"{PERMISSIONS}/roles/{{role}}"

ChangeRoles = Callable[[OpenedMetalake, Sort, str, Sequence[str]], Awaitable[Principal]]
ChangeRights = Callable[[Lake, OpenedMetalake, str, Wanted], Awaitable[Role]]


class RoleNames(Payload, frozen=True):
    """Roles that are to be given or taken."""

    role_names: list[str]


class Rights(Payload, frozen=True):
    """Rights that are to be given or taken."""

    privileges: list[Right]


class OverrideRights(Payload, frozen=True):
    """All rights that a role is to have."""

    overrides: list[RightsOn]


async def grant_to_user(service: Gravitino, request: Request) -> Response:
    """Give roles to a user."""
    return await _change_user(service, request, grants.assign_roles)


async def revoke_from_user(service: Gravitino, request: Request) -> Response:
    """Take roles from a user."""
    return await _change_user(service, request, grants.unassign_roles)


async def grant_to_group(service: Gravitino, request: Request) -> Response:
    """Give roles to a group."""
    return await _change_group(service, request, grants.assign_roles)


async def revoke_from_group(service: Gravitino, request: Request) -> Response:
    """Take roles from a group."""
    return await _change_group(service, request, grants.unassign_roles)


async def grant_to_role(service: Gravitino, request: Request) -> Response:
    """Give rights on an object to a role."""
    return await _change_rights(service, request, grants.grant_privileges)


async def revoke_from_role(service: Gravitino, request: Request) -> Response:
    """Take rights on an object from a role."""
    return await _change_rights(service, request, grants.revoke_privileges)


async def override_role(service: Gravitino, request: Request) -> Response:
    """Replace all rights of a role."""
    metalake = await guarded_metalake(service, request)
    wanted = wanted_of(decode(request, OverrideRights).overrides)
    role = segment(request, "role")
    return role_answer(await grants.override_privileges(service.lake, metalake, role, wanted))


async def _change_user(service: Gravitino, request: Request, change: ChangeRoles) -> Response:
    metalake = await guarded_metalake(service, request)
    roles = decode(request, RoleNames).role_names
    user = await change(metalake, USER, segment(request, "user"), roles)
    return json_response(200, MetalakeUserAnswer(user=user_of(user)))


async def _change_group(service: Gravitino, request: Request, change: ChangeRoles) -> Response:
    metalake = await guarded_metalake(service, request)
    roles = decode(request, RoleNames).role_names
    group = await change(metalake, GROUP, segment(request, "group"), roles)
    return json_response(200, MetalakeGroupAnswer(group=group_of(group)))


async def _change_rights(service: Gravitino, request: Request, change: ChangeRights) -> Response:
    metalake = await guarded_metalake(service, request)
    wanted = Wanted(object_of(request), terms(decode(request, Rights).privileges))
    return role_answer(await change(service.lake, metalake, segment(request, "role"), wanted))


_ROLES_ERRORS = (*WHERE_RIGHTS_ARE_CHECKED, errors.IllegalRole)
_RIGHTS_ERRORS = (*ABOUT_OBJECTS, errors.IllegalPrivilege, errors.RoleNotFound)

ROUTES = (
    write(
        "PUT",
        f"{USER_ROLES}/grant",
        grant_to_user,
        "grantRolesToUser",
        "Give roles to a user",
        request=RoleNames,
        response=MetalakeUserAnswer,
        errors=(*_ROLES_ERRORS, errors.UserNotFound),
        rule=rules.ASSIGN_ROLES,
    ),
    write(
        "PUT",
        f"{USER_ROLES}/revoke",
        revoke_from_user,
        "revokeRolesFromUser",
        "Take roles from a user",
        request=RoleNames,
        response=MetalakeUserAnswer,
        errors=(*_ROLES_ERRORS, errors.UserNotFound),
        rule=rules.ASSIGN_ROLES,
    ),
    write(
        "PUT",
        f"{GROUP_ROLES}/grant",
        grant_to_group,
        "grantRolesToGroup",
        "Give roles to a group",
        request=RoleNames,
        response=MetalakeGroupAnswer,
        errors=(*_ROLES_ERRORS, errors.GroupNotFound),
        rule=rules.ASSIGN_ROLES,
    ),
    write(
        "PUT",
        f"{GROUP_ROLES}/revoke",
        revoke_from_group,
        "revokeRolesFromGroup",
        "Take roles from a group",
        request=RoleNames,
        response=MetalakeGroupAnswer,
        errors=(*_ROLES_ERRORS, errors.GroupNotFound),
        rule=rules.ASSIGN_ROLES,
    ),
    write(
        "PUT",
        f"{ROLE_RIGHTS}/{OBJECT}/grant",
        grant_to_role,
        "grantPrivilegesToRole",
        "Give rights on an object to a role; in a schema the rule is this one, above it is wider",
        request=Rights,
        response=RoleAnswer,
        errors=_RIGHTS_ERRORS,
        rule=rules.GRANT_IN_SCHEMA,
    ),
    write(
        "PUT",
        f"{ROLE_RIGHTS}/{OBJECT}/revoke",
        revoke_from_role,
        "revokePrivilegesFromRole",
        "Take rights on an object from a role; as with giving them",
        request=Rights,
        response=RoleAnswer,
        errors=_RIGHTS_ERRORS,
        rule=rules.GRANT_IN_SCHEMA,
    ),
    write(
        "PUT",
        ROLE_RIGHTS,
        override_role,
        "overrideRolePrivileges",
        "Replace all rights of a role",
        request=OverrideRights,
        response=RoleAnswer,
        errors=_RIGHTS_ERRORS,
        rule=rules.ASSIGN_ROLES,
    ),
)
