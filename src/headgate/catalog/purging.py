"""Dropped tables whose files are to be deleted: recorded with the drop, until the last one is gone.

The record is part of the commit that drops the table, so neither can be without the other. Who
deletes the files, and how, is not known here.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from headgate.catalog.calls import Call
from headgate.catalog.entities import Entry, TableEntity
from headgate.catalog.naming import Names, Readable
from headgate.catalog.openings import Opened, head_pointer
from headgate.catalog.reservations import (
    held_by,
    is_vacant,
    leave,
    release,
    reserve,
    reserve_among,
)
from headgate.catalog.stored_names import LOCATIONS, NAMES
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.kernel.records import PointerKey
from headgate.model.locations import ancestors, is_within
from headgate.model.names import Identifier

PURGE = "purge"
"""The index of a catalog's live jobs."""
PURGES = "purges"
"""The mark that counts them; heads of older programs have none."""
TASKS = "immediate-tasks"
"""The pointer of a metalake's history of jobs."""
PURGED = "purged"
"""Its index: the id of a job, and what became of it."""
_ID_BYTES = 8


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

    def is_in_grace(self, now_ms: int) -> bool:
        """Whether its table can come back, and nobody may begin with it yet."""
        return now_ms < self.not_before_ms and not self.begun


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
    whole_catalog: bool = False
    """Whether the catalog's owner lets purges delete in all of `roots`, and not in the table's own
    locations only."""

    @property
    def head(self) -> PointerKey:
        """The pointer of its catalog."""
        return PointerKey(self.realm, head_pointer(self.catalog))


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


def live_job(draft: Draft, opened: Opened, id: int) -> LiveJob:
    """A job that this commit records."""
    job = find_job(draft.index(PURGE), id)
    assert job is not None, id
    catalog = opened.catalog
    metalake = opened.call.catalog.metalake
    return LiveJob(
        opened.realm.id, metalake, catalog.id, catalog.name, id, job, opened.allowed_locations
    )


def live_jobs(index: Readable) -> Iterator[tuple[int, PurgeJob]]:
    """All jobs of a catalog, the oldest first."""
    for key, value in index.scan(b"", None):
        if is_job(key):
            yield decode_job(key, value)


def is_job(key: bytes) -> bool:
    """Whether this is the key of a job: the places taken for jobs are between them."""
    return len(key) == _ID_BYTES


def decode_job(key: bytes, value: bytes) -> tuple[int, PurgeJob]:
    """A job of the index, and its id."""
    return int.from_bytes(key, "big"), _decoder.decode(value)


def can_come_back(job: PurgeJob) -> bool:
    """Whether the table of a job can still be brought back."""
    return bool(job.object and job.not_before_ms and not job.begun)


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


def end_job(draft: Draft, id: int, *, files_left: bool = False) -> PurgeJob | None:
    """Forget a job: its places are free, and its table's last state is not needed any more.

    If files are left, the table's own places are free for its schema only, as after any drop.
    """
    index, key = draft.index(PURGE), job_key(id)
    job = find_job(index, id)
    if job is None:
        return None
    _count(draft, -1)
    if files_left:
        own = job.table_id or id
        schema = Names(draft.index(NAMES)).namespace(job.table.namespace)
        leave(draft, job.reserved, own, schema.id if schema else own)
        index.remove(key)
    for record, place in list(index.prefix(key)):
        index.remove(record)
        release(draft, job.reserved if record == key else [place.decode()])
    if job.object:
        draft.discard(job.object)
    return job


def take_places(
    draft: Draft,
    id: int,
    paths: Sequence[str],
    roots: Sequence[str],
    doomed: Collection[int] = (),
) -> list[str]:
    """Take places for a job in which these files lie; the files of which nobody else has them.

    Who is `doomed` does not need them any more: these tables are dropped and cannot come back.
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
            if place is not None:
                reserve(draft, [place], own)
            else:
                among = (one for one in places if reserve_among(draft, one, own, doomed))
                place = next(among, None)
            if place is None:
                continue
            records.put(job_key(id) + job_key(draft.new_id()), place.encode())
        ours.append(path)
    return ours


async def job_at(opened: Opened, table: int, likely: int = 0) -> tuple[int, PurgeJob] | None:
    """The job for a dropped table that still holds its locations; all are looked at unless it is
    the likely one."""

    def find(tree: Readable) -> tuple[int, PurgeJob] | None:
        job = find_job(tree, likely)
        if job is not None and (job.table_id or likely) == table:
            return likely, job
        jobs = live_jobs(tree)
        return next(((id, job) for id, job in jobs if (job.table_id or id) == table), None)

    return await look(opened.head.index(PURGE), find)


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


def _places_for(path: str, roots: Sequence[str]) -> list[str]:
    """Its folder, or the file alone where others lie or come: most tables are below a root."""
    folder = ancestors(path)[-1]
    return [path] if any(is_within(root, folder) for root in roots) else [folder, path]
