"""What the handlers about users, groups, roles, rights and owners have in common."""

from headgate import errors
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.objects import ObjectName, object_type
from headgate.errors import Unsupported
from headgate.http.gravitino.route_parts import IN_METALAKE, METALAKE
from headgate.http.gravitino.service import Gravitino, metalake_of, segment
from headgate.http.request import Request

USERS = f"{METALAKE}/users"
GROUPS = f"{METALAKE}/groups"
ROLES = f"{METALAKE}/roles"
PERMISSIONS = f"{METALAKE}/permissions"
OBJECT = "{type}/{fullName}"
"""The kind of an object, in any case, and its full name."""

WHERE_RIGHTS_ARE_CHECKED = (*IN_METALAKE, errors.Unsupported)
ABOUT_OBJECTS = (
    *WHERE_RIGHTS_ARE_CHECKED,
    errors.BadRequest,
    errors.CatalogNotInUse,
    errors.IllegalObject,
    errors.MetadataObjectNotFound,
)


async def guarded_metalake(service: Gravitino, request: Request) -> OpenedMetalake:
    """The metalake in the path of a request, if rights are checked at all."""
    if not service.has_authorization:
        raise Unsupported(
            "There are no users, groups, roles and owners here",
            why="authorization is off",
            fix="Start the server with authorization.enabled=true",
        )
    return await metalake_of(service, request)


def object_of(request: Request) -> ObjectName:
    """The object in the path of a request."""
    return ObjectName(object_type(segment(request, "type")), segment(request, "fullName"))
