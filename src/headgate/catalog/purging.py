"""Deleting the files of dropped tables: recorded with the drop, done in the background.

The record is part of the commit that drops the table, so neither can be without the other. It
leaves the catalog when every file is gone; until then any server goes on with it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.calls import ITSELF, Call, CatalogName
from headgate.catalog.entities import Entry, TableEntity
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.naming import Readable
from headgate.catalog.openings import Opened, Openings
from headgate.catalog.ports import DAMAGED, MISSING, Planner, Storage
from headgate.catalog.reservations import LOCATIONS, held_by, is_vacant, release, reserve
from headgate.catalog.territories import foreign_places
from headgate.errors import (
    CatalogNotFound,
    FileMissing,
    HeadgateError,
    InvalidInput,
    MetalakeNotFound,
    StorageUnavailable,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.kernel.kernel import Kernel
from headgate.limits import INDEX_KEY_BYTES_MAX, PURGE_PATHS_PER_TURN, PURGE_PAUSE_SECONDS
from headgate.model.locations import ancestors, index_key, is_within
from headgate.model.names import Identifier

PURGE = "purge"
"""The index of a catalog's live jobs."""
PURGES = "purges"
"""The mark that counts them; heads of older programs have none."""
_ID_BYTES = 8

logger = logging.getLogger(__name__)


class PurgeJob(msgspec.Struct, frozen=True, array_like=True):
    """A dropped table whose files are still to be deleted."""

    table: Identifier
    metadata_location: str
    reserved: tuple[str, ...] = ()
    """Stays taken until all is deleted."""
    table_id: int = 0
    """The id that the table had; 0 if it is the job's own."""
    object: int = 0
    """The last state of the table, kept until the end; 0 if it is not."""
    owner: int = 0
    purger: str = "async"
    """Who does it."""
    not_before_ms: int = 0
    """Until then the table can come back."""
    created_ms: int = 0
    created_by: str = ""
    request: str = ""
    begun: bool = False
    """From now on the table cannot come back. Only told of jobs with a grace period."""


class PurgeTerms(NamedTuple):
    """How tables are purged that are dropped now."""

    purger: str = "async"
    grace_ms: int = 0
    """That a dropped table can come back."""


class LiveJob(NamedTuple):
    """A job that is to be done, and where it is recorded."""

    realm: str
    """The id of its metalake."""
    metalake: str
    catalog: int
    catalog_name: str
    id: int
    job: PurgeJob
    roots: tuple[str, ...]
    """Where files of its catalog may lie."""


_decoder = msgspec.msgpack.Decoder(PurgeJob)


class Purging(Protocol):
    """Who deletes the files of dropped tables."""

    @property
    def terms(self) -> PurgeTerms:
        """Of tables that are dropped now."""
        ...

    async def hand_over(self, live: LiveJob) -> None:
        """A table was dropped: told once, before the request is answered."""
        ...

    def wake(self) -> None:
        """Somebody waits for a job that is due."""
        ...


class Recorded:
    """Deletes nothing: what is recorded is left to others."""

    terms = PurgeTerms()

    async def hand_over(self, live: LiveJob) -> None:
        pass

    def wake(self) -> None:
        pass


def record_purge(
    draft: Draft, call: Call, identifier: Identifier, entry: Entry, terms: PurgeTerms
) -> int:
    """Remember in the commit that drops a table that its files are to be deleted; the job's id.

    Its locations stay taken, and its last state is kept, until the job ends.
    """
    entity = draft.fetch(entry.object, TableEntity)
    id, now_ms = draft.new_id(), draft.now_ms
    job = PurgeJob(
        identifier,
        entity.metadata_location,
        entity.reserved,
        table_id=entry.id,
        object=entry.object,
        owner=entry.owner,
        purger=terms.purger,
        not_before_ms=now_ms + terms.grace_ms if terms.grace_ms else 0,
        created_ms=now_ms,
        created_by=call.principal,
        request=call.request,
    )
    _count(draft, 1)
    _put(draft, id, job)
    return id


def find_job(index: Readable, id: int) -> PurgeJob | None:
    """The job of this id, None if it has ended."""
    value = index.get(job_key(id))
    return None if value is None else _decoder.decode(value)


def live_jobs(index: Readable) -> Iterator[tuple[int, PurgeJob]]:
    """All jobs of a catalog, the oldest first. The places taken for them are between them."""
    for key, value in index.scan(b"", None):
        if len(key) == _ID_BYTES:
            yield int.from_bytes(key, "big"), _decoder.decode(value)


def begin_job(draft: Draft, id: int) -> PurgeJob | None:
    """From now on the table cannot come back; None if it has, or the job has ended."""
    job = find_job(draft.index(PURGE), id)
    if job is None or job.begun:
        return job
    begun = msgspec.structs.replace(job, begun=True)
    _put(draft, id, begun)
    return begun


def recall_job(draft: Draft, id: int) -> PurgeJob | None:
    """Forget a job whose table comes back: its locations and its last state are the table's."""
    job = find_job(draft.index(PURGE), id)
    if job is not None:
        _count(draft, -1)
        draft.index(PURGE).remove(job_key(id))
    return job


def end_job(draft: Draft, id: int) -> PurgeJob | None:
    """Forget a job: its places are free, and its table's last state is not needed any more."""
    index, key = draft.index(PURGE), job_key(id)
    job = find_job(index, id)
    if job is None:
        return None
    _count(draft, -1)
    for record, place in list(index.prefix(key)):
        index.remove(record)
        release(draft, job.reserved if record == key else [place.decode()])
    if job.object:
        draft.discard(job.object)
    return job


def take_places(draft: Draft, id: int, paths: Sequence[str], roots: Sequence[str]) -> list[str]:
    """Take places for a job in which these files lie; the files of which nobody else has them.

    Each place has a record of its own that follows the job's: there may be many.
    """
    records, index = draft.index(PURGE), draft.index(LOCATIONS)
    job = find_job(records, id)
    ours: list[str] = []
    if job is None:
        return ours  # another node was faster
    own = job.table_id or id
    for path in paths:
        if not held_by(draft, (*ancestors(path), path), own):
            places = _places_for(path, roots)
            place = next((one for one in places if is_vacant(index, one, own)), None)
            if place is None:
                continue
            reserve(draft, [place], own)
            records.put(job_key(id) + job_key(draft.new_id()), place.encode())
        ours.append(path)
    return ours


async def job_at(opened: Opened, table: int) -> PurgeJob | None:
    """The job for a dropped table that still holds its locations."""

    def find(tree: Readable) -> PurgeJob | None:
        jobs = live_jobs(tree)
        return next((job for id, job in jobs if (job.table_id or id) == table), None)

    return await look(opened.head.index(PURGE), find)


async def is_being_purged(opened: Opened, id: int) -> bool:
    """Whether the files of this job are still to be deleted."""
    return await look(opened.head.index(PURGE), lambda tree: find_job(tree, id)) is not None


async def has_purges(opened: Opened) -> bool:
    """Whether files of any dropped table of a catalog are still to be deleted."""
    return await look(opened.head.index(PURGE), lambda tree: next(tree.scan(), None) is not None)


def job_key(id: int) -> bytes:
    """The key of a job in its index."""
    return id.to_bytes(_ID_BYTES, "big")


def _put(draft: Draft, id: int, job: PurgeJob) -> None:
    draft.index(PURGE).put(job_key(id), msgspec.msgpack.encode(job))


def _count(draft: Draft, change: int) -> None:
    """Keep the number of live jobs where readers of the head see it; called before the change."""
    known = draft.marks.get(PURGES)
    if known is None:  # a head of before there was such a mark
        known = sum(1 for _ in live_jobs(draft.index(PURGE)))
    draft.mark(PURGES, known + change)


class Purges:
    """Works off the records of the catalogs it is told of, one after the other in each.

    What cannot be finished is tried again after a pause, in which others are not held up.
    """

    def __init__(
        self, kernel: Kernel, openings: Openings, storage: Storage, planner: Planner
    ) -> None:
        self._kernel = kernel
        self._openings = openings
        self._storage = storage
        self._planner = planner
        self._tasks: dict[CatalogName, asyncio.Task[None]] = {}
        self._again: set[CatalogName] = set()
        self._pauses: dict[CatalogName, asyncio.Task[None]] = {}
        self._postponed: dict[CatalogName, set[bytes]] = {}  # until the pause of their catalog ends

    def wake(self, name: CatalogName) -> None:
        """Work off what is recorded in this catalog."""
        self._again.add(name)
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(self._work(name))

    async def idle(self) -> None:
        """Wait until everything that can be done now is done."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        """Stop; what is not done stays recorded."""
        tasks = [*self._tasks.values(), *self._pauses.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, name: CatalogName) -> None:
        try:
            while name in self._again:
                self._again.discard(name)
                await self._work_off(name)
        finally:
            del self._tasks[name]  # at once, so that nobody who wakes us is overheard

    async def _work_off(self, name: CatalogName) -> None:
        """Do all jobs of a catalog once."""
        call = Call(name, ITSELF)
        try:
            opened = await self._openings.open(call)
            records = await look(opened.head.index(PURGE), lambda tree: list(tree.scan()))
        except (CatalogNotFound, MetalakeNotFound):
            return  # its jobs went with it
        except Exception as error:  # noqa: BLE001  whatever it is, it is tried again
            _warn(error, "purging in %s failed: %s", name)
            self._pause(name)
            return
        jobs = [(key, value) for key, value in records if len(key) == _ID_BYTES]
        for key, value in jobs:
            if key in self._postponed.get(name, ()):
                continue
            job = _decoder.decode(value)
            try:
                await self._purge(call, key, job)
                await self._forget(call, key, job)
            except Exception as error:  # noqa: BLE001  whatever it is, others are done
                _warn(error, "table %s is not purged yet: %s", job.table)
                self._postponed.setdefault(name, set()).add(key)
                self._pause(name)

    def _pause(self, name: CatalogName) -> None:
        """What failed in this catalog is tried again later."""
        if name not in self._pauses:
            self._pauses[name] = asyncio.create_task(self._wake_later(name))

    async def _wake_later(self, name: CatalogName) -> None:
        await self._kernel.clock.sleep(PURGE_PAUSE_SECONDS)
        del self._pauses[name]
        self._postponed.pop(name, None)
        self.wake(name)

    async def _purge(self, call: Call, key: bytes, job: PurgeJob) -> None:
        """Delete all files of a table; Unavailable if some are left."""
        roots = (await self._openings.open(call)).allowed_locations
        files = self._storage.files(roots)
        try:
            metadata = await read_metadata(files, job.metadata_location)
        except FileMissing:
            return  # it goes last, so all the others went before it
        walk = self._planner.reachable(metadata, job.metadata_location, roots)
        async with contextlib.aclosing(walk) as batches:
            async for batch in batches:
                if batch.kind == MISSING:
                    continue
                if batch.kind == DAMAGED:
                    raise StorageUnavailable(
                        f"{batch.paths[0]} cannot be read", why="what it leads to is not known"
                    )
                opened = await self._openings.open(call)  # the walk may have taken hours
                if not await is_being_purged(opened, int.from_bytes(key, "big")):
                    return  # another node was faster, and a new table may be there
                failed = await files.delete(await self._ours(opened, key, job, batch.paths))
                if failed:
                    [path, why] = failed[0]
                    raise StorageUnavailable(f"{path} cannot be deleted", why=why)

    async def _ours(
        self, opened: Opened, key: bytes, job: PurgeJob, paths: Sequence[str]
    ) -> list[str]:
        """Those of these files that may be deleted: the table's own, and what nobody else holds.

        Metadata can be made to name any file, also those of another table or another catalog. What
        nobody holds is taken first: nobody can have it while it is deleted.
        """
        roots = opened.allowed_locations
        places = (*roots, *job.reserved)
        foreign = tuple(await foreign_places(self._kernel, opened.catalog.id, places))
        ours: list[str] = []
        for start in range(0, len(paths), PURGE_PATHS_PER_TURN):
            outside: list[str] = []
            for path in paths[start : start + PURGE_PATHS_PER_TURN]:
                with contextlib.suppress(InvalidInput):  # no location at all: nothing of ours
                    place = index_key(path)
                    if place.startswith(foreign) or len(place) > INDEX_KEY_BYTES_MAX:
                        continue  # no disk has names that long
                    if _is_in(path, job.reserved):
                        ours.append(path)
                    elif _is_in(path, roots):
                        outside.append(path)
            if outside:
                taking = partial(
                    take_places, id=int.from_bytes(key, "big"), paths=outside, roots=roots
                )
                ours += await opened.realm.commit(opened.pointer, taking)
            await asyncio.sleep(0)  # others have their turn
        return ours

    async def _forget(self, call: Call, key: bytes, job: PurgeJob) -> None:
        """All files are gone: the folders follow, then the locations are free.

        Another node may have been faster, and a new table may be there: it keeps its folders.
        """
        opened = await self._openings.open(call)
        if not await is_being_purged(opened, int.from_bytes(key, "big")):
            return
        files = self._storage.files(opened.allowed_locations)
        for location in job.reserved:
            await files.remove_folders(location)

        def attempt(draft: Draft) -> None:
            end_job(draft, int.from_bytes(key, "big"))

        await opened.realm.commit(opened.pointer, attempt)


def _places_for(path: str, roots: Sequence[str]) -> list[str]:
    """Its folder, or the file alone where others lie or come: most tables are below a root."""
    folder = ancestors(path)[-1]
    return [path] if any(is_within(root, folder) for root in roots) else [folder, path]


def _warn(error: Exception, text: str, what: object) -> None:
    unexpected = not isinstance(error, HeadgateError)
    logger.warning(text, what, error, exc_info=unexpected)


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(is_within(path, place) for place in places)
