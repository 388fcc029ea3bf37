"""Checks that a store which is about to be made does not take the place of a lost one."""

from functools import partial

from headgate.catalog.used_warehouses import check_new, check_unused
from headgate.clock import SystemClock
from headgate.kernel.kernel import Kernel
from headgate.server_settings import bootstrap_catalog, catalog_places, storage_options
from headgate.settings.catalogs import BOOTSTRAP, BOOTSTRAP_ACCEPT_TABLES
from headgate.settings.server import READ_ONLY
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND
from headgate.storage.files import StorageFiles
from headgate.wiring import database_file, is_there


async def check_first_start(settings: Settings, kernel: Kernel | None = None) -> None:
    """Refuse to fill a new store beside a warehouse with tables.

    Without a kernel only a database file that is not there makes a store new: so a refusal leaves
    no new file behind, which would look like a database.
    """
    is_passing = settings[BACKEND] == "memory:"  # each of its stores is new
    fills = settings[BOOTSTRAP] and not settings[READ_ONLY]
    if is_passing or not fills or settings[BOOTSTRAP_ACCEPT_TABLES]:
        return
    check = (
        partial(check_unused, kernel) if kernel else partial(check_new, partial(_absent, settings))
    )
    for place in {bootstrap_catalog(settings).warehouse, catalog_places(settings).root}:
        clock = kernel.clock if kernel else SystemClock()
        await check(StorageFiles(storage_options(settings), (place,), clock=clock), place)


async def _absent(settings: Settings) -> bool:
    file = database_file(settings)
    return file is not None and not is_there(file)
