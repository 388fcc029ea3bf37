"""Handlers for catalogs."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

import msgspec

from headgate import errors
from headgate.access import rules
from headgate.catalog import metalake_catalogs as catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.metalake_catalogs import NewCatalog, kind_of
from headgate.catalog.metalakes import IN_USE
from headgate.catalog.nesting import SEPARATOR
from headgate.catalog.providers import (
    BACKEND,
    LOCATION,
    METADATA_ONLY,
    REST,
    URI,
    WAREHOUSE,
    check_purge_scope,
    check_settable,
)
from headgate.errors import Forbidden, HeadgateError, InvalidInput, NotFound
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.property_changes import changed_properties, properties_in
from headgate.http.gravitino.route_parts import (
    CATALOG,
    CATALOGS,
    DETAILS,
    FORCE,
    IN_CATALOG,
    IN_METALAKE,
    read,
    write,
)
from headgate.http.gravitino.service import Gravitino, address_of, metalake_of
from headgate.http.gravitino.shapes import (
    Answer,
    Audit,
    Dropped,
    IdentifierList,
    NameIdentifier,
    Payload,
    SetInUse,
    Shape,
    audit_of,
)
from headgate.http.request import Request, Response, decode, flag, json_response
from headgate.model.gravitino.changes import RemoveProperty, Rename, SetProperty, UpdateComment

Update = Rename | UpdateComment | SetProperty | RemoveProperty
Updates = Annotated[list[Update], msgspec.Meta(min_length=1)]


class CreateCatalog(Payload, frozen=True):
    """A catalog that a client wants."""

    name: str
    type: str
    provider: str | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None


class AlterCatalog(Payload, frozen=True):
    """Changes of a catalog, in this order."""

    updates: Updates


class CatalogShape(Shape, frozen=True):
    """A catalog."""

    name: str
    type: str
    provider: str
    comment: str
    """Empty if it has none: Python's client warns of one that is left out."""
    properties: dict[str, str]
    audit: Audit


class CatalogAnswer(Answer, frozen=True):
    """One catalog."""

    catalog: CatalogShape


class CatalogList(Answer, frozen=True):
    """Those that the caller may use, each whole."""

    catalogs: list[CatalogShape]


async def list_catalogs(service: Gravitino, request: Request) -> Response:
    """The catalogs that the caller may use."""
    metalake = await metalake_of(service, request)
    metalake.require(rules.LOAD_METALAKE)
    found = await catalogs.list_catalogs(metalake)
    if flag(request, "details"):
        shapes = [_shape(service, request, metalake.name, one) for one in found]
        return json_response(200, CatalogList(catalogs=shapes))
    named = [NameIdentifier(namespace=[metalake.name], name=one.name) for one in found]
    return json_response(200, IdentifierList(identifiers=named))


async def create_catalog(service: Gravitino, request: Request) -> Response:
    """A new catalog."""
    metalake = await metalake_of(service, request)
    new = _wanted(decode(request, CreateCatalog))
    made = await catalogs.create_catalog(service.lake, metalake, service.places, new)
    return _answer(service, request, metalake.name, made)


async def try_new_connection(service: Gravitino, request: Request) -> Response:
    """Whether a catalog could be created so. Nothing is opened that creating it would not open."""
    metalake = await metalake_of(service, request)
    metalake.require(rules.CREATE_CATALOG)
    return await _tested(
        lambda: catalogs.try_new_catalog(
            service.lake, metalake, service.places, _wanted(decode(request, CreateCatalog))
        )
    )


async def try_connection(service: Gravitino, request: Request) -> Response:
    """Whether a catalog can be used, perhaps with some changes that are not made."""
    metalake = await metalake_of(service, request)
    catalog = await catalogs.load_catalog(metalake, rules.ALTER_CATALOG)

    async def test() -> None:
        updates = decode(request, AlterCatalog).updates if request.body else []
        catalogs.try_catalog(service.places, _changed(updates, catalog))

    return await _tested(test)


async def load_catalog(service: Gravitino, request: Request) -> Response:
    """One catalog."""
    metalake = await metalake_of(service, request)
    found = await catalogs.load_catalog(metalake)
    return _answer(service, request, metalake.name, found)


async def alter_catalog(service: Gravitino, request: Request) -> Response:
    """Change a catalog."""
    metalake = await metalake_of(service, request)
    updates = decode(request, AlterCatalog).updates
    changed = await catalogs.alter_catalog(service.lake, metalake, partial(_changed, updates))
    return _answer(service, request, metalake.name, changed)


async def switch_catalog(service: Gravitino, request: Request) -> Response:
    """Switch a catalog on or off."""
    metalake = await metalake_of(service, request)
    await catalogs.switch_catalog(service.lake, metalake, on=decode(request, SetInUse).in_use)
    return json_response(200, Answer())


async def drop_catalog(service: Gravitino, request: Request) -> Response:
    """Take a catalog away."""
    metalake = await metalake_of(service, request)
    force = flag(request, "force")
    dropped = await catalogs.drop_catalog(service.lake, metalake, force=force)
    return json_response(200, Dropped(dropped=dropped))


def _wanted(new: CreateCatalog) -> NewCatalog:
    return NewCatalog(new.name, new.type, new.provider, new.comment or "", new.properties or {})


async def _tested(test: Callable[[], Awaitable[None]]) -> Response:
    """What the test found, as clients want it: with the status of a success in any case."""
    try:
        await test()
    except Forbidden:
        raise
    except (InvalidInput, NotFound, errors.AlreadyExists, errors.Conflict) as error:
        return json_response(200, _body(error))
    return json_response(200, Answer())


def _body(error: HeadgateError) -> msgspec.Struct:
    return GRAVITINO.body(GRAVITINO.problem_of(type(error)), str(error))


def _changed(updates: list[Update], old: CatalogEntity) -> CatalogEntity:
    check_settable(kind_of(old), properties_in(updates))
    comments = [one.new_comment or "" for one in updates if isinstance(one, UpdateComment)]
    names = [one.new_name for one in updates if isinstance(one, Rename)]
    properties = changed_properties(old.properties, updates, {SEPARATOR})
    check_purge_scope(properties)
    return msgspec.structs.replace(
        old,
        name=names[-1] if names else old.name,
        comment=comments[-1] if comments else old.comment,
        properties=properties,
    )


def _answer(
    service: Gravitino, request: Request, metalake: str, catalog: CatalogEntity
) -> Response:
    shape = _shape(service, request, metalake, catalog)
    return json_response(200, CatalogAnswer(catalog=shape))


def _shape(
    service: Gravitino, request: Request, metalake: str, catalog: CatalogEntity
) -> CatalogShape:
    return CatalogShape(
        name=catalog.name,
        type=catalog.type,
        provider=catalog.provider,
        comment=catalog.comment,
        properties=_properties(service, request, metalake, catalog),
        audit=audit_of(
            catalog.created_by, catalog.created_ms, catalog.changed_by, catalog.changed_ms
        ),
    )


def _properties(
    service: Gravitino, request: Request, metalake: str, catalog: CatalogEntity
) -> dict[str, str]:
    """What is kept, and what Spark needs to find the tables of an Iceberg catalog."""
    shown = {name: text for name, text in catalog.properties.items() if name != SEPARATOR}
    sort = kind_of(catalog)
    if sort.is_iceberg:
        shown |= {
            BACKEND: REST,
            URI: f"{address_of(service, request)}/iceberg",
            WAREHOUSE: f"{metalake}.{catalog.name}",
            LOCATION: catalog.warehouse,
        }
    if sort.is_metadata_only:
        shown[METADATA_ONLY] = "true"
    return {**shown, IN_USE: "true" if catalog.in_use else "false"}


ROUTES = (
    read(
        "GET",
        CATALOGS,
        list_catalogs,
        "listCatalogs",
        "List the catalogs of a metalake that the caller may use",
        parameters=(DETAILS,),
        response=IdentifierList | CatalogList,
        errors=IN_METALAKE,
        rule=rules.LOAD_CATALOG,
    ),
    write(
        "POST",
        CATALOGS,
        create_catalog,
        "createCatalog",
        "Create a catalog",
        request=CreateCatalog,
        response=CatalogAnswer,
        errors=(*IN_METALAKE, errors.CatalogExists, errors.LocationTaken),
        rule=rules.CREATE_CATALOG,
    ),
    write(
        "POST",
        f"{CATALOGS}/testConnection",
        try_new_connection,
        "testNewConnection",
        "Tell whether a catalog could be created so",
        request=CreateCatalog,
        response=Answer,
        errors=IN_METALAKE,
        rule=rules.CREATE_CATALOG,
    ),
    write(
        "POST",
        f"{CATALOG}/testConnection",
        try_connection,
        "testConnection",
        "Tell whether a catalog can be used",
        response=Answer,
        errors=IN_CATALOG,
        rule=rules.ALTER_CATALOG,
    ),
    read(
        "GET",
        CATALOG,
        load_catalog,
        "loadCatalog",
        "Load a catalog",
        response=CatalogAnswer,
        errors=IN_CATALOG,
        rule=rules.LOAD_CATALOG,
    ),
    write(
        "PUT",
        CATALOG,
        alter_catalog,
        "alterCatalog",
        "Change a catalog",
        request=AlterCatalog,
        response=CatalogAnswer,
        errors=(*IN_CATALOG, errors.CatalogExists),
        rule=rules.ALTER_CATALOG,
    ),
    write(
        "PATCH",
        CATALOG,
        switch_catalog,
        "switchCatalog",
        "Switch a catalog on or off",
        request=SetInUse,
        response=Answer,
        errors=IN_CATALOG,
        rule=rules.ALTER_CATALOG,
    ),
    write(
        "DELETE",
        CATALOG,
        drop_catalog,
        "dropCatalog",
        "Drop a catalog; by force with its tables, whose files are deleted in the background",
        parameters=(FORCE,),
        response=Dropped,
        errors=(*IN_CATALOG, errors.CatalogInUse, errors.CatalogNotEmpty),
        rule=rules.DROP_CATALOG,
    ),
)
