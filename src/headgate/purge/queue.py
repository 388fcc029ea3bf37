"""Finding the jobs that are to be done: one look at all pointers, and only heads that moved are
opened."""

import logging

from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import (
    PURGE,
    PURGES,
    LiveJob,
    PurgeJob,
    can_come_back,
    decode_job,
    find_job,
    is_job,
)
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.catalog.territories import HAVE_CATALOGS
from headgate.catalog.walks import unhurried
from headgate.errors import ObjectNotFound
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, Realm, RealmState, is_dropped
from headgate.kernel.records import PointerKey
from headgate.purge.neighbours import NO_HEADS, Heads, Neighbours

Jobs = tuple[tuple[int, PurgeJob], ...]

logger = logging.getLogger(__name__)


class Queue:
    """The live jobs of all catalogs, also of those that were dropped."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._jobs: dict[PointerKey, tuple[int, Jobs]] = {}
        self._neighbours = Neighbours(kernel)

    async def live_jobs(self, *, switched_off: bool = False) -> list[LiveJob]:
        """All jobs, the oldest first; whether they are due is another question.

        Those of metalakes that are switched off are left alone, and only shown if asked for.
        """
        heads = await self._heads()
        found: list[LiveJob] = []
        for realm in await self._kernel.realms.list():
            is_off = realm.state is RealmState.INACTIVE and not is_dropped(realm)
            if realm.state in HAVE_CATALOGS and (switched_off or not is_off):
                try:
                    found += await self._of(realm, heads.get(realm.id, NO_HEADS))
                except ObjectNotFound:  # its metalake is purged at this moment
                    logger.debug("the jobs of %s cannot be read now", realm.name, exc_info=True)
        return sorted(found, key=lambda live: live.id)

    async def find(self, live: LiveJob) -> LiveJob | None:
        """The job as it is recorded now; None if it has ended. The others are not read: workers ask
        again and again, and there may be very many."""
        [catalogs, value] = await self._kernel.pointers.read(
            [PointerKey(live.realm, CATALOG_POINTER), live.head]
        )
        head = await open_head(self._kernel.store, live.realm, value)
        job = await look(head.index(PURGE), lambda tree: find_job(tree, live.id))
        places = await self._neighbours.places(live.realm, catalogs or 0)
        place = places.get(live.catalog)
        if job is None or place is None:
            return None
        return live._replace(
            job=job,
            catalog_name=place.name,
            roots=place.roots,
            whole_catalog=place.whole_catalog,
        )

    async def doomed(self, live: LiveJob) -> frozenset[int]:
        """The other tables of a job's catalog that are dropped and cannot come back."""
        [value] = await self._kernel.pointers.read([live.head])
        jobs = await self._read_jobs(live.head, value or 0)
        others = [(id, job) for id, job in jobs if id != live.id]
        return frozenset(job.table_id or id for id, job in others if not can_come_back(job))

    async def _heads(self) -> dict[str, Heads]:
        """What the pointers of all metalakes say; what is known of others is forgotten."""
        found = await self._neighbours.heads()
        kept = {
            PointerKey(realm, head_pointer(catalog))
            for realm, heads in found.items()
            for catalog in heads.of_catalogs
        }
        self._jobs = {key: known for key, known in self._jobs.items() if key in kept}
        return found

    async def _of(self, realm: Realm, heads: Heads) -> list[LiveJob]:
        """The jobs of one metalake."""
        found: list[LiveJob] = []
        metalake = realm.properties.get(DROPPED, realm.name)
        for catalog, value in heads.of_catalogs.items():
            jobs = await self._read_jobs(PointerKey(realm.id, head_pointer(catalog)), value)
            if not jobs:
                continue
            place = (await self._neighbours.places(realm.id, heads.catalogs)).get(catalog)
            if place is not None:  # else it was made a moment ago, or its last job has ended
                found += [
                    LiveJob(realm.id, metalake, catalog, place.name, id, job, *place[1:])
                    for id, job in jobs
                ]
        return found

    async def _read_jobs(self, key: PointerKey, value: int) -> Jobs:
        known = self._jobs.get(key)
        if known is None or known[0] != value:
            head = await open_head(self._kernel.store, key.realm, value)
            jobs: Jobs = ()
            if head.head.marks.get(PURGES) != 0:
                jobs = await _jobs_in(head)
            known = self._jobs[key] = value, jobs
        return known[1]


async def _jobs_in(head: HeadView) -> Jobs:
    entries = unhurried(head.index(PURGE).scan())
    return tuple([decode_job(key, value) async for key, value in entries if is_job(key)])
