"""Purges that nobody works on: a server that died leaves some, and any other goes on with them."""

import logging
from collections.abc import Callable
from contextlib import suppress

from headgate.catalog.calls import ITSELF, Call, CatalogName
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_rounds import clear_metalakes
from headgate.catalog.purging import has_purges
from headgate.errors import HeadgateError
from headgate.kernel.realms import RealmState
from headgate.limits import PURGE_ROUND_SECONDS

_PARTS = 1_000

logger = logging.getLogger(__name__)


async def make_rounds(lake: Lake, entropy: Callable[[], int]) -> None:
    """Look for purges now and then, for ever; servers that start together do not look together."""
    while True:
        try:
            await wake_purges(lake)
            await clear_metalakes(lake.kernel)
        except Exception as error:  # whatever it is, it is tried again
            unexpected = not isinstance(error, HeadgateError)
            logger.warning("looking for purges failed: %s", error, exc_info=unexpected)
        share = 0.5 + entropy() % _PARTS / _PARTS
        await lake.kernel.clock.sleep(PURGE_ROUND_SECONDS * share)


async def wake_purges(lake: Lake) -> None:
    """Go on with what is recorded in any catalog."""
    for realm in await lake.kernel.realms.list():
        if realm.state is RealmState.ACTIVE:
            with suppress(HeadgateError):  # it was switched off, or the next round does it
                for catalog in await list_catalogs(lake.kernel, realm.name):
                    name = CatalogName(realm.name, catalog.name)
                    if await has_purges(await lake.open(Call(name, ITSELF))):
                        lake.purges.wake(name)
