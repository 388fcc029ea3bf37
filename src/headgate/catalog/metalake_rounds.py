"""What is left of metalakes that were dropped, or never finished: any node clears it away."""

import logging
from contextlib import suppress

from headgate.catalog.catalogs import stored_catalogs
from headgate.catalog.lake import Lake
from headgate.catalog.metalakes import HALF_MADE, clear_away, is_unfinished
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGE
from headgate.errors import IllegalRealmMove, NotFound
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import HALF_MADE_MS_MAX

logger = logging.getLogger(__name__)


async def clear_metalakes(lake: Lake) -> None:
    """Forget the realms of metalakes that are no more, or were never there."""
    kernel = lake.kernel
    for realm in await kernel.realms.list():
        with suppress(NotFound, IllegalRealmMove):  # another node does it too, or an operator did
            if await _is_left_over(kernel, realm):
                await clear_away(kernel, realm)
                logger.info("what was left of metalake %s is deleted", realm.name)


async def _is_left_over(kernel: Kernel, realm: Realm) -> bool:
    if is_unfinished(realm):
        age_ms = kernel.clock.wall_ms() - realm.changed_ms
        return HALF_MADE in realm.properties and age_ms > HALF_MADE_MS_MAX
    if DROPPED not in realm.properties:
        return False
    return realm.state is not RealmState.INACTIVE or await _is_drained(kernel, realm)


async def _is_drained(kernel: Kernel, realm: Realm) -> bool:
    """Whether no files of dropped tables are still to be deleted: else nobody would know them."""
    for catalog in await stored_catalogs(kernel, realm):
        [value] = await kernel.pointers.read([PointerKey(realm.id, head_pointer(catalog.id))])
        head = await open_head(kernel.store, realm.id, value)
        if await look(head.index(PURGE), lambda tree: next(tree.scan(), None)) is not None:
            logger.warning(
                "metalake %s is kept: files of tables that were dropped in its catalog %s are "
                "still there; `headgate realm purge` forgets them",
                realm.name,
                catalog.name,
            )
            return False
    return True
