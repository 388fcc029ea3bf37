"""Handlers for the groups of a metalake."""

from headgate import errors
from headgate.access import rules
from headgate.catalog import principals
from headgate.catalog.principals import GROUP
from headgate.http.gravitino.access import GROUPS, WHERE_RIGHTS_ARE_CHECKED, guarded_metalake
from headgate.http.gravitino.principals import (
    AddGroup,
    MetalakeGroup,
    MetalakeGroupAnswer,
    Removed,
    group_of,
    new_of,
)
from headgate.http.gravitino.route_parts import DETAILS, read, write
from headgate.http.gravitino.service import Gravitino, segment
from headgate.http.gravitino.shapes import Answer, NameList
from headgate.http.request import Request, Response, decode, flag, json_response

ONE_GROUP = f"{GROUPS}/{{group}}"


class GroupList(Answer, frozen=True):
    """Groups with all that is known of them."""

    groups: list[MetalakeGroup]


async def list_groups(service: Gravitino, request: Request) -> Response:
    """All groups that the caller may see, by their names or whole."""
    metalake = await guarded_metalake(service, request)
    found = await principals.list_principals(metalake, GROUP)
    if not flag(request, "details"):
        return json_response(200, NameList(names=[name for name, _ in found]))
    groups = await principals.describe_all(metalake, GROUP, found)
    return json_response(200, GroupList(groups=list(map(group_of, groups))))


async def add_group(service: Gravitino, request: Request) -> Response:
    """Make a group known."""
    metalake = await guarded_metalake(service, request)
    new = new_of(decode(request, AddGroup))
    added = await principals.add_principal(metalake, GROUP, new)
    return json_response(200, MetalakeGroupAnswer(group=group_of(added)))


async def load_group(service: Gravitino, request: Request) -> Response:
    """One group."""
    metalake = await guarded_metalake(service, request)
    group = await principals.load_principal(metalake, GROUP, segment(request, "group"))
    return json_response(200, MetalakeGroupAnswer(group=group_of(group)))


async def remove_group(service: Gravitino, request: Request) -> Response:
    """Take a group out of a metalake."""
    metalake = await guarded_metalake(service, request)
    removed = await principals.remove_principal(metalake, GROUP, segment(request, "group"))
    return json_response(200, Removed(removed=removed))


ROUTES = (
    read(
        "GET",
        GROUPS,
        list_groups,
        "listGroups",
        "List the groups of a metalake that the caller may see",
        parameters=(DETAILS,),
        response=NameList | GroupList,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.LOAD_GROUP,
    ),
    write(
        "POST",
        GROUPS,
        add_group,
        "addGroup",
        "Add a group to a metalake",
        request=AddGroup,
        response=MetalakeGroupAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.GroupExists),
        rule=rules.CHANGE_GROUPS,
    ),
    read(
        "GET",
        ONE_GROUP,
        load_group,
        "getGroup",
        "Load a group of a metalake",
        response=MetalakeGroupAnswer,
        errors=(*WHERE_RIGHTS_ARE_CHECKED, errors.GroupNotFound),
        rule=rules.LOAD_GROUP,
    ),
    write(
        "DELETE",
        ONE_GROUP,
        remove_group,
        "removeGroup",
        "Remove a group from a metalake; its owner stays",
        response=Removed,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.CHANGE_GROUPS,
    ),
)
