"""Finding the jobs that are to be done: one look at all pointers, and only heads that moved are
opened."""

import logging
import re
from typing import NamedTuple

from headgate.catalog.dropped_catalogs import dropped_under
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.naming import CATALOGS, ROOT, Names
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
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.catalog.territories import HAVE_CATALOGS
from headgate.catalog.walks import unhurried
from headgate.errors import ObjectNotFound
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, Realm, RealmState, is_dropped
from headgate.kernel.records import PointerKey

_HEAD = re.compile(r"cat/(\d+)/heads/main")

Jobs = tuple[tuple[int, PurgeJob], ...]

logger = logging.getLogger(__name__)


class Place(NamedTuple):
    """A catalog that has jobs."""

    name: str
    roots: tuple[str, ...]


class Queue:
    """The live jobs of all catalogs, also of those that were dropped."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._jobs: dict[PointerKey, tuple[int, Jobs]] = {}
        self._places: dict[str, tuple[int, dict[int, Place]]] = {}

    async def live_jobs(self, *, switched_off: bool = False) -> list[LiveJob]:
        """All jobs, the oldest first; whether they are due is another question.

        Those of metalakes that are switched off are left alone, and only shown if asked for.
        """
        pointers = await self._pointers()
        found: list[LiveJob] = []
        for realm in await self._kernel.realms.list():
            is_off = realm.state is RealmState.INACTIVE and not is_dropped(realm)
            if realm.state in HAVE_CATALOGS and (switched_off or not is_off):
                try:
                    found += await self._of(realm, pointers.get(realm.id, {}))
                except ObjectNotFound:  # its metalake is purged at this moment
                    logger.debug("the jobs of %s cannot be read now", realm.name, exc_info=True)
        return sorted(found, key=lambda live: live.id)

    async def find(self, live: LiveJob) -> LiveJob | None:
        """The job as it is recorded now; None if it has ended. The others are not read: workers ask
        again and again, and there may be very many."""
        [catalogs, value] = await self._kernel.pointers.read(
            [PointerKey(live.realm, CATALOG_POINTER), _head_of(live)]
        )
        head = await open_head(self._kernel.store, live.realm, value)
        job = await look(head.index(PURGE), lambda tree: find_job(tree, live.id))
        places = await self._read_places(live.realm, catalogs or 0)
        place = places.get(live.catalog)
        if job is None or place is None:
            return None
        return live._replace(job=job, catalog_name=place.name, roots=place.roots)

    async def doomed(self, live: LiveJob) -> frozenset[int]:
        """The other tables of a job's catalog that are dropped and cannot come back."""
        [value] = await self._kernel.pointers.read([_head_of(live)])
        jobs = await self._read_jobs(_head_of(live), value or 0)
        others = [(id, job) for id, job in jobs if id != live.id]
        return frozenset(job.table_id or id for id, job in others if not can_come_back(job))

    async def _pointers(self) -> dict[str, dict[str, int]]:
        """The pointers of each realm that matter here."""
        found: dict[str, dict[str, int]] = {}
        async for batch in self._kernel.backend.scan_pointers():
            for realm, name, value in batch:
                if value and (name == CATALOG_POINTER or _HEAD.fullmatch(name)):
                    found.setdefault(realm, {})[name] = value
        kept = {PointerKey(realm, name) for realm, names in found.items() for name in names}
        self._jobs = {key: known for key, known in self._jobs.items() if key in kept}
        self._places = {realm: known for realm, known in self._places.items() if realm in found}
        return found

    async def _of(self, realm: Realm, pointers: dict[str, int]) -> list[LiveJob]:
        """The jobs of one metalake."""
        found: list[LiveJob] = []
        metalake = realm.properties.get(DROPPED, realm.name)
        for name, value in pointers.items():
            match = _HEAD.fullmatch(name)
            jobs = await self._read_jobs(PointerKey(realm.id, name), value) if match else ()
            if not match or not jobs:
                continue
            catalog = int(match[1])
            place = (await self._read_places(realm.id, pointers.get(CATALOG_POINTER, 0))).get(
                catalog
            )
            if place is not None:  # else it was made a moment ago, or its last job has ended
                found += [
                    LiveJob(realm.id, metalake, catalog, place.name, id, job, place.roots)
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

    async def _read_places(self, realm: str, value: int) -> dict[int, Place]:
        """Where the catalogs of a metalake are, dropped or not."""
        known = self._places.get(realm)
        if known is None or known[0] != value:
            head = await open_head(self._kernel.store, realm, value)
            entries = await look(
                head.index(NAMES), lambda tree: list(Names(tree).below(ROOT, CATALOGS))
            )
            entities = await head.get_all([entry.object for _, entry in entries], CatalogEntity)
            places = {one.id: Place(one.name, one.locations) for one in entities}
            for dropped in await dropped_under(head):
                places[dropped.id] = Place(dropped.record.name, dropped.entity.locations)
            known = self._places[realm] = value, places
        return known[1]


async def _jobs_in(head: HeadView) -> Jobs:
    entries = unhurried(head.index(PURGE).scan())
    return tuple([decode_job(key, value) async for key, value in entries if is_job(key)])


def _head_of(live: LiveJob) -> PointerKey:
    return PointerKey(live.realm, head_pointer(live.catalog))
