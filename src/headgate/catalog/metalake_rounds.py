"""What is left of metalakes that were dropped, or never finished: any node clears it away."""

import logging
from contextlib import suppress

from headgate.catalog.catalogs import stored_catalogs
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.metalakes import HALF_MADE, clear_away, is_unfinished
from headgate.errors import IllegalRealmMove, NotFound
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, Realm, is_dropped
from headgate.limits import HALF_MADE_MS_MAX

logger = logging.getLogger(__name__)


async def clear_metalakes(kernel: Kernel) -> None:
    """Forget the realms of metalakes that are no more, or were never there."""
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
    return not is_dropped(realm) or await _is_drained(kernel, realm)


async def _is_drained(kernel: Kernel, realm: Realm) -> bool:
    """Whether it has no catalogs any more, also none that were dropped and have files still: else
    nobody would know them."""
    catalogs = await stored_catalogs(kernel, realm)
    return not catalogs and not await dropped_catalogs(kernel, realm.id)
