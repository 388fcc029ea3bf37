"""Catalogs and metalakes that were dropped: nothing in them is forgotten before its files are gone.

The tables of a dropped catalog become purge jobs, some at a time. When its last job has ended the
catalog is forgotten and its places are free. A dropped metalake loses all its catalogs this way,
and is cleared away when it has none. Each step is one commit that may be repeated: a server that
stops leaves the rest to any other, and several at once do no harm.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.catalog_commits import (
    closed_by,
    closing,
    end_dropped,
    forgetting,
    has_files,
)
from headgate.catalog.change_names import catalog_of
from headgate.catalog.dropped_catalogs import DroppedCatalog, dropped_catalogs
from headgate.catalog.left_places import keep_places_of
from headgate.catalog.metalake_rounds import clear_metalakes
from headgate.catalog.naming import CATALOGS, ROOT, Names, Readable, place_at
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGE, PURGES
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.errors import (
    Corrupt,
    HeadgateError,
    InvalidInput,
    NotFound,
    ObjectNotFound,
    PointerNotFound,
    RealmNotActive,
    Unavailable,
)
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, DROPPED_BY, Realm, RealmState, is_dropped
from headgate.kernel.records import EMPTY, PointerKey
from headgate.limits import DRAIN_JOBS_MAX, DRAIN_NAMES_PER_COMMIT
from headgate.purge.commits import commit
from headgate.purge.emptying import (
    Named,
    beginning,
    is_namespace,
    moving,
    names_behind,
    waiting_jobs,
)

logger = logging.getLogger(__name__)


class Draining:
    """Drains what was dropped, on any server."""

    def __init__(self, kernel: Kernel, purger: str = "async") -> None:
        self._kernel = kernel
        self._purger = purger
        self._named: dict[str, tuple[int, dict[int, str]]] = {}
        """The catalogs of each metalake, and the head that lists them."""
        self._in_use: dict[str, dict[int, int]] = {}
        """Of each metalake the catalogs that are in use, by the heads with which they were."""
        self._quiet: dict[str, int] = {}
        """The metalakes that have no dropped catalogs, by the heads that say so."""
        self._begun: set[int] = set()
        """Dropped catalogs none of whose jobs waits any more."""
        self._stuck: set[bytes] = set()
        """Names that cannot be taken away, of which was told."""

    async def make_one(self) -> bool:
        """Drain all that was dropped as far as it can be now; whether something is left."""
        left = False
        pointers = await self._pointers()
        for realm in await self._kernel.realms.list():
            if realm.state is RealmState.ACTIVE or is_dropped(realm):
                try:
                    left |= await self._drain(realm, pointers.get(realm.id, {}))
                except Unavailable:
                    raise  # so are the others
                except (NotFound, RealmNotActive):
                    left = True  # it was cleared away, or switched off, a moment ago
                except HeadgateError as error:
                    left = True
                    logger.warning("metalake %s is not drained: %s", realm.name, error)
        await clear_metalakes(self._kernel)
        return left

    async def _pointers(self) -> dict[str, dict[str, int]]:
        """All pointers of each realm that matter here, by one look."""
        found: dict[str, dict[str, int]] = {}
        async for batch in self._kernel.backend.scan_pointers():
            for realm, name, value in batch:
                if name == CATALOG_POINTER or catalog_of(name) is not None:
                    found.setdefault(realm, {})[name] = value
        for known in (self._named, self._in_use, self._quiet):
            for realm in known.keys() - found.keys():
                del known[realm]
        return found

    async def _drain(self, realm: Realm, pointers: Mapping[str, int]) -> bool:
        """Drain the catalogs of one metalake; whether something is left."""
        listed = pointers.get(CATALOG_POINTER, EMPTY)
        named = await self._names_of(realm, listed)
        if is_dropped(realm):
            for id, name in named.items():
                await self._close(realm, id, name)
            closed = list(named)
        else:
            closed = await self._closed(realm, named, pointers)
        for id in closed:
            await self._forget(realm, id, named[id])
        if not closed and self._quiet.get(realm.id) == listed:
            return False
        left = False
        for gone in await dropped_catalogs(self._kernel, realm.id):
            left |= not await self._empty(realm, gone)
        if not left and not closed:
            self._quiet[realm.id] = listed
        return left

    async def _names_of(self, realm: Realm, listed: int) -> Mapping[int, str]:
        """The names of a metalake's catalogs, by their ids."""
        known = self._named.get(realm.id)
        if known is None or known[0] != listed:
            head = await open_head(self._kernel.store, realm.id, listed)
            names = await look(head.index(NAMES), _catalogs)
            known = self._named[realm.id] = listed, names
        return known[1]

    async def _close(self, realm: Realm, id: int, name: str) -> None:
        """Let nobody use a catalog of a dropped metalake any more, should it come back."""
        attempt = closing(_call(realm, name, realm.properties.get(DROPPED_BY, "")), force=True)
        with suppress(PointerNotFound):  # it holds nothing, and a dropped metalake has no new ones
            await commit(self._kernel, realm.id, head_pointer(id), attempt)

    async def _closed(
        self, realm: Realm, ids: Iterable[int], pointers: Mapping[str, int]
    ) -> list[int]:
        """The catalogs that somebody began to drop and did not forget."""
        known, in_use = self._in_use.get(realm.id, {}), dict[int, int]()
        for id in ids:
            value = pointers.get(head_pointer(id), EMPTY)
            if known.get(id) == value or not await self._is_sealed(realm, value):
                in_use[id] = value
        self._in_use[realm.id] = in_use
        return [id for id in ids if id not in in_use]

    async def _is_sealed(self, realm: Realm, value: int) -> bool:
        return (await open_head(self._kernel.store, realm.id, value)).head.sealed

    async def _forget(self, realm: Realm, id: int, name: str) -> None:
        """Free the name of a closed catalog."""
        by, request = await closed_by(await self._head(realm.id, head_pointer(id)))
        left = await has_files(self._kernel, realm.id, id)
        await keep_places_of(self._kernel, realm, id, by)
        call = _call(realm, name, by or realm.properties.get(DROPPED_BY, ""), request)
        attempt = forgetting(call, id, left=left, noted=not is_dropped(realm))
        await commit(self._kernel, realm.id, CATALOG_POINTER, attempt)

    async def _empty(self, realm: Realm, gone: DroppedCatalog) -> bool:
        """Turn what is left in a dropped catalog into jobs; True if nothing is left any more."""
        if gone.id not in self._begun:
            await self._begin_jobs(realm, gone)
        await self._move(realm, gone)
        head = await self._head(realm.id, head_pointer(gone.id))
        for index in (NAMES, PURGE):
            if await look(head.index(index), lambda tree: next(tree.scan(), None)) is not None:
                return False
        if await commit(self._kernel, realm.id, CATALOG_POINTER, partial(end_dropped, id=gone.id)):
            logger.info("the last file of catalog %s.%s is gone", realm.name, gone.record.name)
        self._begun.discard(gone.id)
        return True

    async def _begin_jobs(self, realm: Realm, gone: DroppedCatalog) -> None:
        """Nobody can have a table back whose catalog is gone: its job need not wait for that."""
        pointer = head_pointer(gone.id)
        head = await self._head(realm.id, pointer)
        ids = await look(head.index(PURGE), waiting_jobs)
        for at in range(0, len(ids), DRAIN_NAMES_PER_COMMIT):
            attempt = beginning(ids[at : at + DRAIN_NAMES_PER_COMMIT])
            await commit(self._kernel, realm.id, pointer, attempt)
        self._begun.add(gone.id)

    async def _move(self, realm: Realm, gone: DroppedCatalog) -> None:
        """Take the names away, those of namespaces last; tables become jobs, but not too many."""
        pointer = head_pointer(gone.id)
        for namespaces in (False, True):
            whole, after = True, b""
            while True:
                head = await self._head(realm.id, pointer)
                some = await look(head.index(NAMES), partial(names_behind, after=after))
                if not some:
                    break
                if head.head.marks.get(PURGES, 0) >= DRAIN_JOBS_MAX:
                    return
                after = some[-1][0] + b"\0"
                wanted = [one for one in some if namespaces or not is_namespace(one[0])]
                whole &= await self._move_some(realm, gone, wanted)
            if not whole:
                return  # what is left has to keep its namespaces

    async def _move_some(self, realm: Realm, gone: DroppedCatalog, some: Named) -> bool:
        """Take these names away; False if one of them cannot be."""
        if not some:
            return True
        record = gone.record
        call = _call(realm, record.name, record.by, record.request)
        attempt = moving(call, [key for key, _ in some], self._purger)
        try:
            await self._kernel.store.fetch(realm.id, [entry.object for _, entry in some])
            await commit(self._kernel, realm.id, head_pointer(gone.id), attempt)
        except (InvalidInput, ObjectNotFound, Corrupt) as error:
            if len(some) > 1:  # the others are not held up by the one that it is
                return all([await self._move_some(realm, gone, [one]) for one in some])
            self._tell(gone, some[0][0], error)
            return False
        return True

    def _tell(self, gone: DroppedCatalog, key: bytes, error: HeadgateError) -> None:
        """Say once that something stays in a dropped catalog."""
        if key not in self._stuck:
            self._stuck.add(key)
            name = place_at(key).name
            logger.warning("%s in dropped catalog %s stays: %s", name, gone.record.name, error)

    async def _head(self, realm: str, pointer: str) -> HeadView:
        """What a pointer holds now, also in a metalake that serves nobody."""
        [value] = await self._kernel.pointers.read([PointerKey(realm, pointer)])
        return await open_head(self._kernel.store, realm, value)


def _catalogs(names: Readable) -> dict[int, str]:
    return {entry.id: name for name, entry in Names(names).below(ROOT, CATALOGS)}


def _call(realm: Realm, catalog: str, by: str, request: str = "") -> Call:
    """What somebody did who dropped a catalog or its metalake."""
    metalake = realm.properties.get(DROPPED, realm.name)
    return Call(CatalogName(metalake, catalog), Caller(by), request=request)
