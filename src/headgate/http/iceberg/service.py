"""What the handlers of the Iceberg protocol work with, and how they read the names in a request."""

import hashlib
from functools import lru_cache
from urllib.parse import quote
from uuid import UUID

import msgspec

from headgate.access.rules import LOAD_CATALOG
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.catalog.paging import Paging, decode_token
from headgate.catalog.providers import ICEBERG
from headgate.catalog.reports import Reports
from headgate.errors import BadRequest, CatalogNotFound
from headgate.http.authentication.token_endpoint import TokenEndpoint
from headgate.http.request import Request
from headgate.kernel.cache import Cache
from headgate.limits import PAGE_ENTRIES, WIRE_NAMES_KNOWN_MAX
from headgate.model.names import Identifier, Levels
from headgate.model.wire_names import UNIT_SEPARATOR, levels_of, unquote_segment


class Service(msgspec.Struct, frozen=True):
    """What the handlers work with."""

    lake: Lake
    reports: Reports
    tokens: TokenEndpoint
    answers: Cache
    """Bodies of answers that depend on nothing but the state of a table."""
    metalake: str
    catalog: str
    """Those of requests that name none."""
    is_writable: bool = True


def catalog_name(service: Service, text: str) -> CatalogName:
    """`METALAKE.CATALOG`, or `CATALOG` of the default metalake. No catalog's name has a dot."""
    return _catalog_name(service.metalake, text)


@lru_cache(WIRE_NAMES_KNOWN_MAX)
def _catalog_name(default: str, text: str) -> CatalogName:
    metalake, dot, catalog = unquote_segment(text).rpartition(".")
    return CatalogName(metalake, catalog) if dot else CatalogName(default, catalog)


def prefix_of(name: CatalogName) -> str:
    """A catalog in paths. Clients put it there as it is, so it is encoded."""
    return quote(str(name), safe="")


def call_of(service: Service, request: Request) -> Call:
    """The call that a request makes."""
    name = catalog_name(service, request.params["prefix"])
    key = _key(request, request.principal)
    fingerprint = _fingerprint(request) if key else ""
    return Call(name, request.caller, key, fingerprint, request.id, request.is_fresh)


async def open_catalog(service: Service, request: Request) -> Opened:
    """The catalog in the path of a request, as it is now; its names must be readable."""
    call = call_of(service, request)
    for name in request.params.values():
        unquote_segment(name)
    opened = await service.lake.open(call)
    await check_iceberg(opened)
    request.ground = opened.heads
    return opened


async def check_iceberg(opened: Opened) -> None:
    """Refuse a catalog whose tables, if it has any, are not Iceberg's."""
    if opened.catalog.provider != ICEBERG:
        await opened.require(LOAD_CATALOG)
        raise CatalogNotFound(
            f"Catalog does not exist: {opened.call.catalog}",
            why=f"there is one of this name, and its provider is {opened.catalog.provider}",
            fix="Use it through Gravitino's protocol",
        )


def separator_of(service: Service, opened: Opened) -> str:
    """What joins the levels of a namespace in the paths of this catalog."""
    return service.lake.options.separator if opened.catalog.nested else UNIT_SEPARATOR


def namespace_of(service: Service, opened: Opened, request: Request) -> Levels:
    """The namespace in the path of a request."""
    return levels_of(request.params["namespace"], separator_of(service, opened))


def parent_of(service: Service, opened: Opened, request: Request) -> Levels:
    """The namespace whose children are asked for; empty for the first level."""
    parent = request.first_encoded("parent") or ""
    return levels_of(parent, separator_of(service, opened))


def identifier_of(service: Service, opened: Opened, request: Request, name: str) -> Identifier:
    """The table, view or function in the path of a request."""
    separator = separator_of(service, opened)
    return _identifier(request.params["namespace"], request.params[name], separator)


@lru_cache(WIRE_NAMES_KNOWN_MAX)
def _identifier(namespace: str, name: str, separator: str) -> Identifier:
    """Names as they come over the wire, read once."""
    return Identifier(levels_of(namespace, separator), unquote_segment(name))


def paging_of(request: Request) -> Paging:
    """Which page is asked for. Without a token the whole list is."""
    token, size = request.first("pageToken"), request.first("pageSize")
    if token is None and size is None:
        return Paging()
    return Paging(decode_token(token or ""), _size(size) if size else PAGE_ENTRIES)


def _fingerprint(request: Request) -> str:
    """Tells requests with the same key apart: a repetition is the same to the byte."""
    said = request.body + request.raw_query.encode()
    return hashlib.sha256(said).hexdigest()[:32]


def _key(request: Request, principal: str) -> bytes:
    """The id of the operation: the key that the request has, of this principal.

    The same key of another principal is another one, so no caller learns of keys that others used.
    """
    text = request.headers.get("idempotency-key")
    if text is None:
        return b""
    try:
        return hashlib.sha256(UUID(text).bytes + principal.encode()).digest()
    except ValueError:
        raise BadRequest(
            f"Invalid Idempotency-Key: {text[:80]}", why="it is no UUID", fix="Send a UUIDv7"
        ) from None


def _size(text: str) -> int:
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size < 1:
        raise BadRequest(
            f"Invalid pageSize: {text[:80]}", why="it is no number above 0", fix="Send 1 or more"
        )
    return size
