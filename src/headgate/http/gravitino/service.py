"""What the handlers of Gravitino's protocol work with, and how they read the names in a request."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.openings import Opened
from headgate.catalog.passwords import Passwords
from headgate.catalog.reports import Reports
from headgate.http.request import Request
from headgate.model.wire_names import unquote_segment


class Gravitino(msgspec.Struct, frozen=True):
    """What the handlers work with."""

    lake: Lake
    check: Callable[[], Awaitable[object]]
    """Does what every request needs; its error says why the server cannot serve."""
    places: CatalogPlaces = CatalogPlaces()
    """Where catalogs may lie that callers create."""
    configs: Mapping[str, object] = {}
    """What anybody may know of the settings."""
    has_authorization: bool = False
    public_url: str = ""
    """The address that clients are told to come back to; the one they named if empty."""
    passwords: Passwords | None = None
    """None if users come with none."""
    reports: Reports | None = None
    """Of metrics, which go with their tables; None if nobody keeps any."""


def call_of(request: Request) -> Call:
    """The call that a request makes, about the metalake and the catalog in its path."""
    named = request.params
    metalake = segment(request, "metalake") if "metalake" in named else ""
    catalog = segment(request, "catalog") if "catalog" in named else ""
    name = CatalogName(metalake, catalog)
    return Call(name, request.caller, request=request.id, is_fresh=request.is_fresh)


async def metalake_of(
    service: Gravitino, request: Request, *, inactive: bool = False
) -> OpenedMetalake:
    """The metalake in the path of a request, as it is now; `inactive` also if it is off."""
    call = call_of(request)
    opened = await service.lake.open_metalake(call, inactive=inactive)
    request.ground = opened.heads
    return opened


async def catalog_of(service: Gravitino, request: Request) -> Opened:
    """The catalog in the path of a request, as it is now; its names must be readable."""
    call = call_of(request)
    for name in request.params.values():
        unquote_segment(name)
    opened = await service.lake.open(call)
    request.ground = opened.heads
    return opened


def segment(request: Request, name: str) -> str:
    """A name in the path, decoded. Java's client writes a space as `+`, and a plus is `%2B`."""
    return unquote_segment(request.params[name])


def address_of(service: Gravitino, request: Request) -> str:
    """Where clients find this server: as the settings say, else as this one found it."""
    url = service.public_url or f"http://{request.headers.get('host', 'localhost')}"
    return url.rstrip("/")
