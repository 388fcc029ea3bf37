"""Handlers for metalakes."""

from functools import partial
from typing import Annotated

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.catalog import metalakes
from headgate.catalog.calls import CatalogName
from headgate.catalog.entities import MetalakeEntity
from headgate.catalog.metalakes import IN_USE, Metalake
from headgate.http.gravitino.property_changes import changed_properties, check_properties
from headgate.http.gravitino.route_parts import (
    FORCE,
    IN_METALAKE,
    METALAKE,
    METALAKES,
    read,
    write,
)
from headgate.http.gravitino.service import Gravitino, call_of, metalake_of
from headgate.http.gravitino.shapes import (
    Answer,
    Audit,
    Dropped,
    Payload,
    SetInUse,
    Shape,
    audit_of,
)
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.http.router import Route
from headgate.model.gravitino.changes import RemoveProperty, Rename, SetProperty, UpdateComment

RESERVED = frozenset({IN_USE})

Update = Rename | UpdateComment | SetProperty | RemoveProperty
Updates = Annotated[list[Update], msgspec.Meta(min_length=1)]


class CreateMetalake(Payload, frozen=True):
    """A metalake that a client wants."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterMetalake(Payload, frozen=True):
    """Changes of a metalake, in this order."""

    updates: Updates


class MetalakeShape(Shape, frozen=True):
    """A metalake."""

    name: str
    properties: dict[str, str]
    audit: Audit
    comment: str | None = None


class MetalakeAnswer(Answer, frozen=True):
    """One metalake."""

    metalake: MetalakeShape


class MetalakeList(Answer, frozen=True):
    """Those that the caller is a user of."""

    metalakes: list[MetalakeShape]


async def list_metalakes(service: Gravitino, request: Request) -> Response:
    """All metalakes that the caller is a user of."""
    found = await metalakes.list_metalakes(service.lake, request.caller)
    return json_response(200, MetalakeList(metalakes=list(map(_shape, found))))


async def create_metalake(service: Gravitino, request: Request) -> Response:
    """A new metalake. Clients expect to see what they sent, and nothing else."""
    call = call_of(request)
    new = decode(request, CreateMetalake)
    properties = new.properties or {}
    check_properties(properties, RESERVED)
    made = await metalakes.create_metalake(
        service.lake,
        call._replace(catalog=CatalogName(new.name, "")),
        new.comment or "",
        properties,
    )
    shape = msgspec.structs.replace(_shape(made), properties=properties)
    return json_response(200, MetalakeAnswer(metalake=shape))


async def load_metalake(service: Gravitino, request: Request) -> Response:
    """One metalake."""
    opened = await metalake_of(service, request, inactive=True)
    return _answer(metalakes.load_metalake(opened))


async def alter_metalake(service: Gravitino, request: Request) -> Response:
    """Change a metalake."""
    opened = await metalake_of(service, request, inactive=True)
    updates = decode(request, AlterMetalake).updates
    names = [one.new_name for one in updates if isinstance(one, Rename)]
    changed = await metalakes.alter_metalake(
        service.lake, opened, partial(_changed, updates), names[-1] if names else None
    )
    return _answer(changed)


async def switch_metalake(service: Gravitino, request: Request) -> Response:
    """Switch a metalake on or off."""
    opened = await metalake_of(service, request, inactive=True)
    await metalakes.switch_metalake(service.lake, opened, on=decode(request, SetInUse).in_use)
    return json_response(200, Answer())


async def drop_metalake(service: Gravitino, request: Request) -> Response:
    """Take a metalake away."""
    call = call_of(request)
    force = flag(request, "force")
    dropped = await metalakes.drop_metalake(service.lake, call, force=force)
    return json_response(200, Dropped(dropped=dropped))


def _changed(updates: list[Update], old: MetalakeEntity) -> MetalakeEntity:
    comments = [one.new_comment or "" for one in updates if isinstance(one, UpdateComment)]
    return msgspec.structs.replace(
        old,
        comment=comments[-1] if comments else old.comment,
        properties=changed_properties(old.properties, updates, RESERVED),
    )


def _answer(metalake: Metalake) -> Response:
    return json_response(200, MetalakeAnswer(metalake=_shape(metalake)))


def _shape(metalake: Metalake) -> MetalakeShape:
    realm, entity = metalake
    return MetalakeShape(
        name=realm.name,
        comment=entity.comment or None,
        properties={**entity.properties, IN_USE: "true" if metalake.in_use else "false"},
        audit=audit_of(
            entity.created_by,
            entity.created_ms or realm.created_ms,
            entity.changed_by,
            entity.changed_ms,
        ),
    )


ROUTES = (
    Route(
        "GET",
        METALAKES,
        list_metalakes,
        "listMetalakes",
        "List the metalakes that the caller is a user of",
        response=MetalakeList,
        errors=(errors.NotAuthenticated,),
        rule=rules.LOAD_METALAKE,
    ),
    write(
        "POST",
        METALAKES,
        create_metalake,
        "createMetalake",
        "Create a metalake",
        request=CreateMetalake,
        response=MetalakeAnswer,
        errors=(errors.NotAuthenticated, errors.Forbidden, errors.MetalakeExists),
        rule=rules.CREATE_METALAKE,
    ),
    read(
        "GET",
        METALAKE,
        load_metalake,
        "loadMetalake",
        "Load a metalake",
        response=MetalakeAnswer,
        errors=IN_METALAKE,
        rule=rules.LOAD_METALAKE,
    ),
    write(
        "PUT",
        METALAKE,
        alter_metalake,
        "alterMetalake",
        "Change a metalake",
        request=AlterMetalake,
        response=MetalakeAnswer,
        errors=(*IN_METALAKE, errors.MetalakeExists),
        rule=rules.ALTER_METALAKE,
    ),
    write(
        "PATCH",
        METALAKE,
        switch_metalake,
        "switchMetalake",
        "Switch a metalake on or off",
        request=SetInUse,
        response=Answer,
        errors=IN_METALAKE,
        rule=rules.ALTER_METALAKE,
    ),
    write(
        "DELETE",
        METALAKE,
        drop_metalake,
        "dropMetalake",
        "Drop a metalake; by force with its tables, whose files are deleted in the background",
        parameters=(FORCE,),
        response=Dropped,
        errors=(*IN_METALAKE, errors.MetalakeInUse, errors.MetalakeNotEmpty),
        rule=rules.DROP_METALAKE,
    ),
)
