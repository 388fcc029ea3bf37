"""The change log, for programs that follow it."""

from typing import NamedTuple

import msgspec

from headgate.access.rules import READ_CHANGES
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.change_access import readable_changes
from headgate.catalog.change_cursors import encode_cursor
from headgate.catalog.change_records import Change
from headgate.catalog.change_words import KINDS, check_kind, check_word
from headgate.catalog.changes import BEGINNING, ChangeLog
from headgate.catalog.lake import Lake
from headgate.errors import BadRequest, LogCut, MetalakeNotFound
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Parameter, Route, Surface
from headgate.limits import CHANGES

PATH = "/management/v1/changes"


class ChangeServices(NamedTuple):
    """What the handlers work with."""

    lake: Lake
    log: ChangeLog


class ChangeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which changes are wanted."""

    since: str = BEGINNING
    """`next` of an earlier answer, `oldest`, or `now`."""
    limit: int = CHANGES
    metalake: str = ""
    """Only those of this one."""
    kind: str = ""
    """Only those of things of this kind."""


class ChangeList(msgspec.Struct, frozen=True):
    """Changes in the order of each pointer, and where to go on."""

    changes: list[Change]
    next: str
    """To be sent as `since` the next time."""
    more: bool
    """Whether there is more already."""


async def list_changes(services: ChangeServices, request: Request) -> Response:
    """The changes that the query asks for."""
    for name in request.query:
        check_word("parameter", name, ChangeQuery.__struct_fields__)
    named = {name: text for name in request.query if (text := request.first(name))}
    try:
        query = msgspec.convert(named, ChangeQuery, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest("Cannot read the changes", why=str(error), fix="Correct it") from None
    return await _answer(services, request, query)


async def search_changes(services: ChangeServices, request: Request) -> Response:
    """The same for a cursor that is too long for an address."""
    return await _answer(services, request, decode(request, ChangeQuery))


async def _answer(services: ChangeServices, request: Request, query: ChangeQuery) -> Response:
    if query.limit < 1:
        raise BadRequest("Cannot read the changes", why="limit is below 1", fix="Ask for some")
    if query.kind:
        check_kind(query.kind)
    call = Call(CatalogName(query.metalake, ""), request.caller, request=request.id)
    extent = await readable_changes(services.lake, call)
    cursor = await services.log.cursor(query.since, extent)
    page = await services.log.page(
        cursor, query.limit, lambda change: query.kind in {"", change.kind}, extent
    )
    return json_response(200, ChangeList(list(page.changes), encode_cursor(page.next), page.more))


_ABOUT = ("management",)
_FAILS = (BadRequest, MetalakeNotFound, LogCut)

ROUTES = (
    Route(
        "GET",
        PATH,
        list_changes,
        "listChanges",
        "What was done since a position, each operation once",
        _ABOUT,
        parameters=(
            Parameter("since", description="`next` of an earlier answer, `oldest`, or `now`"),
            Parameter("limit", int, description="How many at most"),
            Parameter("metalake", description="Only changes of this metalake"),
            Parameter(
                "kind", description=f"Only changes of this kind of thing: {', '.join(KINDS)}"
            ),
        ),
        response=ChangeList,
        errors=_FAILS,
        rule=READ_CHANGES,
    ),
    Route(
        "POST",
        PATH,
        search_changes,
        "searchChanges",
        "The same for a cursor that is too long for an address",
        _ABOUT,
        request=ChangeQuery,
        response=ChangeList,
        errors=_FAILS,
        rule=READ_CHANGES,
    ),
)


def change_surface(services: ChangeServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
