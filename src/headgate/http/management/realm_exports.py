"""Whole metalakes, for operators who move them: read in pieces, filled in batches.

Only service admins may: there is everything in it.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from headgate.access.rules import EXPORT_METALAKE, IMPORT_METALAKE, Rule
from headgate.catalog.references import REFERENCES
from headgate.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    LocationTaken,
    MetalakeNotFound,
    ObjectNotFound,
    RealmExists,
    RealmNotActive,
    RealmNotFound,
    Unsupported,
)
from headgate.http.management.realm_messages import (
    EXPORT,
    IMPORTS,
    ExportOutline,
    ExportRows,
    FinishRequest,
    ImportRequest,
    ImportView,
    RowsRequest,
)
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Parameter, Route, Surface
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.limits import BODY_BYTES_MAX
from headgate.model.wire_names import unquote_segment
from headgate.portage.filling import abort, begin, fill, finish
from headgate.portage.locations import LocationChecks
from headgate.portage.pieces import piece_of, token_of
from headgate.portage.reading import outline, read_page


class ExportServices(NamedTuple):
    """What the handlers work with."""

    kernel: Kernel
    admit: Callable[[Request, Rule], Awaitable[None]]
    """Refuses who may not."""
    checks: LocationChecks
    """Where catalogs of an import may lie."""


async def outline_export(services: ExportServices, request: Request) -> Response:
    """Tell which pieces a metalake has now."""
    await services.admit(request, EXPORT_METALAKE)
    name = _metalake(request)
    with _known(name):
        found = await outline(services.kernel, REFERENCES, name)
    pieces = [token_of(piece) for piece in found.pieces]
    return json_response(200, ExportOutline(found.realm.id, found.facts, pieces))


async def read_export(services: ExportServices, request: Request) -> Response:
    """The first rows of a piece."""
    piece = piece_of(request.first("piece") or "")
    await services.admit(request, EXPORT_METALAKE)
    name = _metalake(request)
    with _known(name):
        realm = await services.kernel.realms.get(name)
    try:
        rows, rest = await read_page(services.kernel, REFERENCES, realm.id, piece)
    except ObjectNotFound as error:
        raise Conflict(
            "The piece cannot be read any more",
            why=f"{error.what}: what is no longer current is swept after a while",
            fix="Ask for the outline again, and begin anew",
        ) from error
    return json_response(200, ExportRows(rows, token_of(rest) if rest else None))


async def begin_import(services: ExportServices, request: Request) -> Response:
    """Make a metalake that is to be filled, or go on with it."""
    wanted = decode(request, ImportRequest)
    await services.admit(request, IMPORT_METALAKE)
    by = request.principal
    realm = await begin(services.kernel, wanted.realm, wanted.facts, services.checks, by=by)
    return json_response(200, _view(realm))


async def import_rows(services: ExportServices, request: Request) -> Response:
    """Fill in some rows."""
    wanted = decode(request, RowsRequest)
    await services.admit(request, IMPORT_METALAKE)
    await fill(services.kernel, request.params["id"], wanted.rows)
    return json_response(200, {})


async def finish_import(services: ExportServices, request: Request) -> Response:
    """Let a metalake serve that has all rows."""
    wanted = decode(request, FinishRequest)
    await services.admit(request, IMPORT_METALAKE)
    id, by = request.params["id"], request.principal
    content, state = wanted.content, wanted.state
    realm = await finish(services.kernel, id, content, state, services.checks, by=by)
    return json_response(200, _view(realm))


async def abort_import(services: ExportServices, request: Request) -> Response:
    """Clear away what an unfinished import left."""
    await services.admit(request, IMPORT_METALAKE)
    name = unquote_segment(request.params["id"])
    with _known(name):
        realm = await abort(services.kernel, name)
    return json_response(200, ImportView(realm.id, realm.name, "DELETED"))


@contextmanager
def _known(name: str) -> Iterator[None]:
    """Let a realm that is not there be called what people call it."""
    try:
        yield
    except RealmNotFound as error:
        raise MetalakeNotFound(
            f"Metalake does not exist: {name}", fix="`headgate realm list` shows those that do"
        ) from error


def _metalake(request: Request) -> str:
    return unquote_segment(request.params["metalake"])


def _view(realm: Realm) -> ImportView:
    return ImportView(realm.id, realm.name, realm.state.value)


_ABOUT = ("management",)
_READS = (BadRequest, Forbidden, MetalakeNotFound, RealmNotActive)
_FILLS = (BadRequest, Forbidden, RealmNotFound, Conflict, Unsupported)

ROUTES = (
    Route(
        "GET",
        EXPORT,
        outline_export,
        "outlineExport",
        "The pieces of a metalake at one instant, to be read one by one",
        _ABOUT,
        response=ExportOutline,
        errors=_READS,
        rule=EXPORT_METALAKE,
    ),
    Route(
        "GET",
        f"{EXPORT}/rows",
        read_export,
        "readExport",
        "The first rows of a piece, with all that they refer to",
        _ABOUT,
        parameters=(Parameter("piece", required=True, description="Which piece"),),
        response=ExportRows,
        errors=(*_READS, Conflict),
        rule=EXPORT_METALAKE,
    ),
    Route(
        "POST",
        IMPORTS,
        begin_import,
        "beginImport",
        "A new metalake that is filled from an export, or that of an import to go on with",
        _ABOUT,
        request=ImportRequest,
        response=ImportView,
        body_bytes_max=BODY_BYTES_MAX,
        errors=(BadRequest, Forbidden, Conflict, RealmExists, LocationTaken, Unsupported),
        rule=IMPORT_METALAKE,
        writes=True,
    ),
    Route(
        "POST",
        f"{IMPORTS}/{{id}}/rows",
        import_rows,
        "importRows",
        "Fill in rows of an export; those that are there do no harm",
        _ABOUT,
        request=RowsRequest,
        response=dict[str, str],
        body_bytes_max=BODY_BYTES_MAX,
        errors=_FILLS,
        rule=IMPORT_METALAKE,
        writes=True,
    ),
    Route(
        "POST",
        f"{IMPORTS}/{{id}}/finish",
        finish_import,
        "finishImport",
        "Let a metalake serve that has all rows of its export",
        _ABOUT,
        request=FinishRequest,
        response=ImportView,
        errors=(*_FILLS, LocationTaken),
        rule=IMPORT_METALAKE,
        writes=True,
    ),
    Route(
        "DELETE",
        f"{IMPORTS}/{{id}}",
        abort_import,
        "abortImport",
        "Clear away what an unfinished import left, by the name or the id of its metalake",
        _ABOUT,
        response=ImportView,
        errors=(BadRequest, Forbidden, MetalakeNotFound, Conflict, Unsupported),
        rule=IMPORT_METALAKE,
        writes=True,
    ),
)


def export_surface(services: ExportServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
