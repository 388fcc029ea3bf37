"""A server that comes with another separator than the one before: do the names still fit?

Each nested catalog remembers the separator that its names were checked with, so that all names are
looked at only when it changed.
"""

from collections import deque
from collections.abc import AsyncIterator

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import SEPARATOR, alter_catalog, list_catalogs
from headgate.catalog.entities import CatalogEntity, decode_entry
from headgate.catalog.naming import NAMES, NAMESPACES, ROOT, key_of
from headgate.catalog.openings import head_pointer
from headgate.errors import Conflict
from headgate.kernel.index import Index
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.model.separators import check_names_for_nesting


async def settle_separator(kernel: Kernel, separator: str, *, writable: bool) -> None:
    """Refuse a separator that is part of a name in a nested catalog: it would mean two things."""
    for realm in await kernel.realms.list():
        if realm.state is not RealmState.ACTIVE:
            continue
        for catalog in await list_catalogs(kernel, realm.name):
            if catalog.nested and catalog.properties.get(SEPARATOR) != separator:
                name = CatalogName(realm.name, catalog.name)
                await _check(kernel, realm.id, catalog, name, separator)
                if writable:
                    settled = {**catalog.properties, SEPARATOR: separator}
                    await alter_catalog(kernel, name, {"properties": settled}, separator)


async def _check(
    kernel: Kernel, realm: str, catalog: CatalogEntity, name: CatalogName, separator: str
) -> None:
    [head] = await kernel.realm(realm).heads(head_pointer(catalog.id))
    names = [one async for one in _namespaces(head.index(NAMES)) if separator in one]
    try:
        check_names_for_nesting(names, separator)
    except Conflict as error:
        raise Conflict(
            f"The separator {separator!r} cannot be used with catalog {name}",
            why=error.why,
            fix=f"Choose another schema.separator, as the one before. {error.fix}",
        ) from error


async def _namespaces(index: Index) -> AsyncIterator[str]:
    """The names of all namespaces, at every level."""
    parents = deque([ROOT])
    while parents:
        prefix = key_of(parents.popleft(), NAMESPACES, "")
        async for key, value in index.prefix(prefix):
            yield key[len(prefix) :].decode()
            parents.append(decode_entry(value).id)
