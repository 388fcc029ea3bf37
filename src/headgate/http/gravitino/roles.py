"""Handlers for roles."""

from collections.abc import Iterable, Sequence

from headgate import errors
from headgate.access import rules
from headgate.access.privileges import names_of, privilege_of
from headgate.catalog import grants, roles
from headgate.catalog.objects import ObjectName, object_type
from headgate.catalog.privilege_checks import Terms, Wanted, terms_of
from headgate.catalog.roles import Role, SecuredObject
from headgate.errors import BadRequest
from headgate.http.gravitino.access import (
    ABOUT_OBJECTS,
    OBJECT,
    ROLES,
    WHERE_RIGHTS_ARE_CHECKED,
    guarded_metalake,
    object_of,
)
from headgate.http.gravitino.route_parts import METALAKE, read, write
from headgate.http.gravitino.service import Gravitino, segment
from headgate.http.gravitino.shapes import Answer, Audit, NameList, Payload, Shape, audit_of
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Route

ONE_ROLE = f"{ROLES}/{{role}}"
CONDITIONS = {"ALLOW": True, "DENY": False}


class Right(Payload, frozen=True):
    """A right that is allowed or denied."""

    name: str
    """In any case."""
    condition: str
    """Allow or deny, in any case."""


class RightsOn(Payload, frozen=True):
    """Rights on an object."""

    full_name: str
    type: str
    """The kind of the object, in any case."""
    privileges: list[Right]


class CreateRole(Payload, frozen=True):
    """A role that a client wants."""

    name: str
    securable_objects: list[RightsOn]
    properties: dict[str, str] | None = None


class Privilege(Shape, frozen=True):
    """A right that is allowed or denied."""

    name: str
    condition: str


class SecurableObject(Shape, frozen=True):
    """What a role may and may not do on an object."""

    full_name: str
    type: str
    privileges: list[Privilege]


class RoleShape(Shape, frozen=True):
    """A role."""

    name: str
    properties: dict[str, str]
    securable_objects: list[SecurableObject]
    audit: Audit


class RoleAnswer(Answer, frozen=True):
    """One role."""

    role: RoleShape


class RoleDropped(Answer, frozen=True):
    """Whether a role was there to be deleted, in the words of older and newer clients."""

    dropped: bool
    deleted: bool


async def list_roles(service: Gravitino, request: Request) -> Response:
    """The names of all roles that the caller may see."""
    metalake = await guarded_metalake(service, request)
    found = await roles.list_roles(metalake)
    return json_response(200, NameList(names=[name for name, _ in found]))


async def create_role(service: Gravitino, request: Request) -> Response:
    """A new role."""
    metalake = await guarded_metalake(service, request)
    new = decode(request, CreateRole)
    wanted = wanted_of(new.securable_objects)
    made = await roles.create_role(service.lake, metalake, new.name, new.properties or {}, wanted)
    return role_answer(made)


async def load_role(service: Gravitino, request: Request) -> Response:
    """One role, with what its objects are called now."""
    metalake = await guarded_metalake(service, request)
    role = await roles.load_role(service.lake, metalake, segment(request, "role"))
    request.ground = role.ground
    return role_answer(role)


async def delete_role(service: Gravitino, request: Request) -> Response:
    """Remove a role."""
    metalake = await guarded_metalake(service, request)
    deleted = await roles.delete_role(metalake, segment(request, "role"))
    return json_response(200, RoleDropped(dropped=deleted, deleted=deleted))


async def list_roles_on(service: Gravitino, request: Request) -> Response:
    """The names of all roles with rights on an object, as far as the caller may see them."""
    metalake = await guarded_metalake(service, request)
    names = await grants.roles_on(service.lake, metalake, object_of(request))
    return json_response(200, NameList(names=names))


def wanted_of(objects: Sequence[RightsOn]) -> list[Wanted]:
    """The rights that a client wants a role to have."""
    return [
        Wanted(ObjectName(object_type(one.type), one.full_name), terms(one.privileges))
        for one in objects
    ]


def terms(privileges: Iterable[Right]) -> Terms:
    """What a client wants to be allowed and denied."""
    return terms_of((privilege_of(one.name), _is_allowed(one.condition)) for one in privileges)


def role_answer(role: Role) -> Response:
    """A role as clients see it."""
    entity = role.entity
    shape = RoleShape(
        name=role.name,
        properties=entity.properties,
        securable_objects=list(map(_secured, role.objects)),
        audit=audit_of(entity.created_by, entity.created_ms, entity.changed_by, entity.changed_ms),
    )
    return json_response(200, RoleAnswer(role=shape))


def _secured(one: SecuredObject) -> SecurableObject:
    allowed = [Privilege(name=name, condition="allow") for name in names_of(one.allow)]
    denied = [Privilege(name=name, condition="deny") for name in names_of(one.deny)]
    kind = str(one.kind.name).lower()
    return SecurableObject(full_name=one.full_name, type=kind, privileges=[*allowed, *denied])


def _is_allowed(condition: str) -> bool:
    try:
        return CONDITIONS[condition.upper()]
    except KeyError:
        raise BadRequest(
            f"Invalid condition: {condition[:80]}", why="it is neither allow nor deny"
        ) from None


ROUTES = (
    read(
        "GET",
        ROLES,
        list_roles,
        "listRoles",
        "List the roles of a metalake that the caller may see",
        response=NameList,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.LOAD_ROLE,
    ),
    write(
        "POST",
        ROLES,
        create_role,
        "createRole",
        "Create a role with rights on objects",
        request=CreateRole,
        response=RoleAnswer,
        errors=(
            *WHERE_RIGHTS_ARE_CHECKED,
            errors.RoleExists,
            errors.IllegalObject,
            errors.IllegalPrivilege,
        ),
        rule=rules.CREATE_ROLE,
    ),
    read(
        "GET",
        ONE_ROLE,
        load_role,
        "getRole",
        "Load a role",
        response=RoleAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.RoleNotFound),
        rule=rules.LOAD_ROLE,
    ),
    write(
        "DELETE",
        ONE_ROLE,
        delete_role,
        "deleteRole",
        "Delete a role",
        response=RoleDropped,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.DROP_ROLE,
    ),
    Route(
        "GET",
        f"{METALAKE}/objects/{OBJECT}/roles",
        list_roles_on,
        "listRolesByObject",
        "List the roles with rights on an object, as far as the caller may see object and roles",
        response=NameList,
        errors=ABOUT_OBJECTS,
        rule=rules.LOAD_ROLE,
    ),
)
