"""Pages of the change log, for tests."""

from collections.abc import Sequence

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.change_cursors import Cursor, decode_cursor, encode_cursor
from headgate.catalog.change_records import Change
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CatalogEntity
from headgate.kernel.kernel import Kernel
from tests.unit.catalog.lakes import METALAKE

Told = tuple[str, str, tuple[str, ...]]


async def behind(log: ChangeLog, cursor: Cursor, limit: int = 1000) -> tuple[list[Change], Cursor]:
    """All that comes behind a cursor, which goes through text as with a client."""
    found: list[Change] = []
    while True:
        page = await log.page(decode_cursor(encode_cursor(cursor)), limit)
        assert len(page.changes) <= limit
        found += page.changes
        cursor = page.next
        if not page.more:
            return found, cursor


async def since(kernel: Kernel, cursor: Cursor) -> list[Change]:
    return (await behind(ChangeLog(kernel), cursor))[0]


def told(changes: Sequence[Change]) -> list[Told]:
    return [(change.do, change.kind, change.name) for change in changes]


async def new_catalog(kernel: Kernel, name: str, metalake: str = METALAKE) -> CatalogEntity:
    return await create_catalog(kernel, metalake, CatalogEntity(0, name, f"/{metalake}/{name}", {}))
