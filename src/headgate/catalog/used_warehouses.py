"""Whether tables lie in a warehouse that a new store is to have: then a database was lost, most
likely, and a new one in its place would hide that from all clients.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from headgate.errors import BadSetting, HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.limits import WAREHOUSE_LOOK_FILES_MAX, WAREHOUSE_LOOK_SECONDS

METADATA_ENDINGS = (".metadata.json", ".metadata.json.gz")

logger = logging.getLogger(__name__)


class Listing(Protocol):
    """What lists the files of a storage."""

    def list(self, prefix: str, /) -> AsyncIterator[str]:
        """The locations of all files below a prefix."""
        ...


async def check_unused(kernel: Kernel, files: Listing, warehouse: str) -> None:
    """Refuse a warehouse with tables if the store is new; a store that has metalakes is not."""

    async def is_new() -> bool:
        return not await kernel.realms.list()

    await check_new(is_new, files, warehouse)


async def check_new(is_new: Callable[[], Awaitable[bool]], files: Listing, warehouse: str) -> None:
    """The same for a store that need not be opened.

    The look is bounded: it finds the first metadata file, not all of them. A storage that cannot be
    listed is taken for empty, as without a look.
    """
    if not await is_new():
        return
    try:
        async with asyncio.timeout(WAREHOUSE_LOOK_SECONDS):
            found = await find_table_file(files, warehouse)
    except (HeadgateError, TimeoutError) as error:
        logger.warning("%s is not looked at for tables of another store: %s", warehouse, error)
        return
    if found is None or not await is_new():  # of another node that was faster
        return
    raise BadSetting(
        "the store cannot begin anew",
        why=f"its database is new, but there are files in its warehouse {warehouse}, as {found}: "
        "the database may be lost, or be another one",
        fix="Restore the database from its backup, or name the right one with --data or --backend; "
        "for a new store choose another bootstrap.warehouse, or say that the tables are known with "
        "--set bootstrap.accept-tables=true",
    )


async def find_table_file(files: Listing, warehouse: str) -> str | None:
    """A metadata file of a table in a warehouse; any file of one that has very many."""
    seen = 0
    async for location in files.list(warehouse):
        seen += 1
        is_metadata = location.endswith(METADATA_ENDINGS) and "/metadata/" in location
        if is_metadata or seen >= WAREHOUSE_LOOK_FILES_MAX:
            return location
    return None
