"""Handlers for owners."""

from headgate import errors
from headgate.access import rules
from headgate.catalog import owners
from headgate.catalog.principals import GROUP, USER, Sort
from headgate.errors import BadRequest
from headgate.http.gravitino.access import ABOUT_OBJECTS, OBJECT, guarded_metalake, object_of
from headgate.http.gravitino.route_parts import METALAKE, read, write
from headgate.http.gravitino.service import Gravitino
from headgate.http.gravitino.shapes import Answer, Payload, Shape
from headgate.http.request import Request, Response, decode, json_response

OWNER = f"{METALAKE}/owners/{OBJECT}"
SORTS = {"USER": USER, "GROUP": GROUP}


class SetOwner(Payload, frozen=True):
    """Who is to own something."""

    name: str
    type: str
    """User or group, in any case."""


class OwnerShape(Shape, frozen=True):
    """A user or group that owns something."""

    name: str
    type: str


class OwnerAnswer(Answer, frozen=True):
    """Who owns something; nothing if nobody does."""

    owner: OwnerShape | None = None


class OwnerSet(Answer, frozen=True):
    """That it was done."""

    set: bool


async def load_owner(service: Gravitino, request: Request) -> Response:
    """Who owns an object."""
    metalake = await guarded_metalake(service, request)
    owner, ground = await owners.load_owner(service.lake, metalake, object_of(request))
    request.ground = ground
    shape = OwnerShape(name=owner.name, type=owner.sort.word) if owner else None
    return json_response(200, OwnerAnswer(owner=shape))


async def set_owner(service: Gravitino, request: Request) -> Response:
    """Hand an object over."""
    metalake = await guarded_metalake(service, request)
    name, body = object_of(request), decode(request, SetOwner)
    await owners.set_owner(service.lake, metalake, name, _sort(body.type), body.name)
    return json_response(200, OwnerSet(set=True))


def _sort(text: str) -> Sort:
    try:
        return SORTS[text.upper()]
    except KeyError:
        raise BadRequest(
            f"Invalid type of an owner: {text[:80]}", why="it is neither user nor group"
        ) from None


ROUTES = (
    read(
        "GET",
        OWNER,
        load_owner,
        "getOwner",
        "Tell who owns an object; who may load it may know, as of a table by this rule",
        response=OwnerAnswer,
        errors=ABOUT_OBJECTS,
        rule=rules.LOAD_TABLE,
    ),
    write(
        "PUT",
        OWNER,
        set_owner,
        "setOwner",
        "Give an object to a user or group; a metalake by its own rule",
        request=SetOwner,
        response=OwnerSet,
        errors=(*ABOUT_OBJECTS, errors.UserNotFound, errors.GroupNotFound),
        rule=rules.SET_OWNER,
    ),
)
