"""Whether the names of all namespaces of a catalog fit a separator."""

from collections import deque
from collections.abc import AsyncIterator

from headgate.catalog.entities import Kind, decode_entry
from headgate.catalog.naming import NAMESPACES, ROOT, key_of
from headgate.errors import Conflict
from headgate.kernel.index import Index
from headgate.model.separators import check_names_for_nesting

SEPARATOR = "schema.separator"
"""The property of a nested catalog that says which separator its names were checked with."""


async def check_nesting(names: Index, separator: str, before: Index | None = None) -> None:
    """Refuse a separator that is part of a name, at any level: it would mean two things.

    If the names were checked as they were before, only those that came since are looked at.
    """
    found = _namespaces(names) if before is None else _newer(before, names)
    clashes = [name async for name in found if separator in name]
    check_names_for_nesting(clashes, separator)


async def check_flat(names: Index, catalog: str) -> None:
    """Refuse to do without levels while a namespace lies in another: nobody could name it."""
    top = key_of(ROOT, NAMESPACES, "")
    async for key, value in names.prefix(top):
        inside = key_of(decode_entry(value).id, NAMESPACES, "")
        async for child, _ in names.prefix(inside):
            path = f"{key[len(top) :].decode()}.{child[len(inside) :].decode()}"
            raise Conflict(
                f"Catalog {catalog} cannot do without nested namespaces",
                why=f"it has {path}, and perhaps others",
                fix="Drop these first, or leave it nested",
            )


async def _namespaces(names: Index) -> AsyncIterator[str]:
    """The names of all namespaces, at every level."""
    parents = deque([ROOT])
    while parents:
        prefix = key_of(parents.popleft(), NAMESPACES, "")
        async for key, value in names.prefix(prefix):
            yield key[len(prefix) :].decode()
            parents.append(decode_entry(value).id)


async def _newer(before: Index, names: Index) -> AsyncIterator[str]:
    """The names of the namespaces that came or changed since."""
    start = len(key_of(ROOT, NAMESPACES, ""))
    for key, _, new in await before.difference(names):
        if new is not None and decode_entry(new).kind is Kind.NAMESPACE:
            yield key[start:].decode()
