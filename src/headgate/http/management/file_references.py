"""Which files of a catalog are needed by tables of others, for programs that look for orphans."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from headgate.access.rules import LOAD_CATALOG, READ_REFERENCES
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.errors import (
    BadRequest,
    CatalogNotFound,
    Forbidden,
    MetalakeNotFound,
    Overloaded,
    StorageUnavailable,
)
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Route, Surface
from headgate.kernel.records import PointerKey
from headgate.limits import (
    BODY_BYTES_MAX,
    PATHS_PER_TURN,
    REFERENCES_ASKED_BYTES_MAX,
    REFERENCES_ASKED_MAX,
)
from headgate.model.locations import Place, place_of
from headgate.model.wire_names import unquote_segment
from headgate.purge.enquiries import Enquiries
from headgate.purge.reserved_files import reserved_files

PATH = "/management/v1/metalakes/{metalake}/catalogs/{catalog}/references"


class ReferenceServices(NamedTuple):
    """What the handler works with."""

    lake: Lake
    enquiries: Enquiries


class ReferenceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files are asked about."""

    paths: tuple[str, ...]


class ReferenceAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Which of them are needed."""

    referred: list[str]
    """Also what lies in places of other catalogs, or in none of this one's: that is not this one's
    to delete. And what lies in a location that is held by no table or view that is there, as that
    of a purge that is not over."""
    is_known: bool
    """False: it takes longer to find out. Ask the same again."""


async def find_references(services: ReferenceServices, request: Request) -> Response:
    """Those of some files of a catalog that tables of other catalogs refer to."""
    wanted = decode(request, ReferenceRequest)
    _check_size(wanted.paths)
    metalake, catalog = (unquote_segment(request.params[name]) for name in ("metalake", "catalog"))
    call = Call(CatalogName(metalake, catalog), request.caller, request=request.id)
    opened = await services.lake.open(call)
    await opened.require(LOAD_CATALOG)  # who may not know it hears what it would if there were none
    await opened.require(READ_REFERENCES)
    key = PointerKey(opened.realm.id, opened.pointer)
    own, others = await _own_first(opened, wanted.paths)
    found = await services.enquiries.elsewhere(key, own, request.caller.name)
    if found is None:
        return json_response(200, ReferenceAnswer([], is_known=False))
    now = await services.lake.open(call)  # to look at all catalogs may have taken long
    now_ms = services.lake.kernel.clock.wall_ms()
    kept = {*others, *found, *await reserved_files(now, own, now_ms)}
    referred = [path for path in wanted.paths if path in kept]
    return json_response(200, ReferenceAnswer(referred, is_known=True))


async def _own_first(opened: Opened, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Paths in the locations of the catalog, and all others.

    Where rights are checked, the others are not looked for: the caller may not know what lies
    there. They count as needed, as no file outside of a catalog is its orphan.
    """
    if not opened.access.is_checked:
        return list(paths), []
    places = [place_of(location) for location in opened.allowed_locations]
    own: list[str] = []
    others: list[str] = []
    for number, path in enumerate(paths, 1):
        (own if _is_in(path, places) else others).append(path)
        if not number % PATHS_PER_TURN:
            await asyncio.sleep(0)  # others have their turn
    return own, others


def _is_in(path: str, places: Sequence[Place]) -> bool:
    try:
        place = place_of(path)
    except BadRequest:
        return False
    return any(one.holds(place) for one in places)


def _check_size(paths: tuple[str, ...]) -> None:
    length = sum(len(path.encode()) for path in paths)
    if len(paths) > REFERENCES_ASKED_MAX or length > REFERENCES_ASKED_BYTES_MAX:
        raise BadRequest(
            "Too many files are asked about",
            why=f"{len(paths):,} paths of {length:,} bytes were sent, and {REFERENCES_ASKED_MAX:,} "
            f"of {REFERENCES_ASKED_BYTES_MAX:,} are looked at",
            fix="Ask about some at a time",
        )


ROUTES = (
    Route(
        "POST",
        PATH,
        find_references,
        "findReferences",
        "Which of some files of a catalog tables of other catalogs refer to",
        ("management",),
        request=ReferenceRequest,
        response=ReferenceAnswer,
        body_bytes_max=BODY_BYTES_MAX,
        errors=(
            BadRequest,
            Forbidden,
            MetalakeNotFound,
            CatalogNotFound,
            Overloaded,
            StorageUnavailable,
        ),
        rule=READ_REFERENCES,
    ),
)


def reference_surface(services: ReferenceServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
