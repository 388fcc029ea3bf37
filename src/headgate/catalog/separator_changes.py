"""A server that comes with another separator than the one before: do the names still fit?

Each nested catalog remembers the separator that its names were checked with, so that all names are
looked at only when it changed.
"""

import logging
from collections.abc import AsyncIterator

import msgspec

from headgate.catalog.calls import ITSELF, Call, CatalogName
from headgate.catalog.catalogs import change_catalog, list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.nesting import SEPARATOR, check_nesting
from headgate.catalog.openings import content_of
from headgate.catalog.stored_names import NAMES
from headgate.errors import Conflict
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState

OTHER_SEPARATOR = (
    "catalog %s.%s was last served with the separator %r, and now with %r; all nodes need the same"
)

logger = logging.getLogger(__name__)


async def check_separator_fits(kernel: Kernel, separator: str) -> None:
    """Refuse a separator that is part of a name in a nested catalog: it would mean two things."""
    async for realm, catalog in _checked_with_another(kernel, separator):
        await _check(kernel, realm, catalog, separator)


async def settle_separator(kernel: Kernel, separator: str, *, writable: bool) -> None:
    """The same, and remember for each catalog that its names were checked with it."""
    async for realm, catalog in _checked_with_another(kernel, separator):
        last = catalog.properties.get(SEPARATOR)
        if last is not None:
            logger.warning(OTHER_SEPARATOR, realm.name, catalog.name, last, separator)
        await _check(kernel, realm, catalog, separator)
        if writable:
            await _record(kernel, realm, catalog, separator)


async def _checked_with_another(
    kernel: Kernel, separator: str
) -> AsyncIterator[tuple[Realm, CatalogEntity]]:
    """The nested catalogs whose names were not checked with this separator last."""
    for realm in await kernel.realms.list():
        if realm.state is not RealmState.ACTIVE:
            continue
        for catalog in await list_catalogs(kernel, realm.name):
            if catalog.nested and catalog.properties.get(SEPARATOR) != separator:
                yield realm, catalog


async def _record(kernel: Kernel, realm: Realm, catalog: CatalogEntity, separator: str) -> None:
    """Remember what was checked; names that came meanwhile are checked after it."""
    call = Call(CatalogName(realm.name, catalog.name), ITSELF)
    before = catalog.properties.get(SEPARATOR)
    await change_catalog(kernel, call, lambda now: _with(now, catalog.id, before, separator))
    try:
        await _check(kernel, realm, catalog, separator)
    except Conflict:
        await change_catalog(kernel, call, lambda now: _with(now, catalog.id, separator, before))
        raise


def _with(now: CatalogEntity, id: int, old: str | None, new: str | None) -> CatalogEntity:
    """The catalog with another separator, unless it is not the one that was looked at any more."""
    if now.id != id or not now.nested or now.properties.get(SEPARATOR) != old:
        return now
    others = {key: text for key, text in now.properties.items() if key != SEPARATOR}
    recorded = {} if new is None else {SEPARATOR: new}
    return msgspec.structs.replace(now, properties=others | recorded)


async def _check(kernel: Kernel, realm: Realm, catalog: CatalogEntity, separator: str) -> None:
    head = await content_of(kernel, realm.id, catalog.id)
    try:
        await check_nesting(head.index(NAMES), separator)
    except Conflict as error:
        raise Conflict(
            f"The separator {separator!r} cannot be used with catalog {realm.name}.{catalog.name}",
            why=error.why,
            fix=f"Choose another schema.separator, as the one before. {error.fix}",
        ) from error
