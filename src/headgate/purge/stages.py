"""One attempt at deleting a table's files: a child deletes in the table's own places, stage by
stage. What lies elsewhere is left, unless the catalog's owner widened purges to the whole catalog:
then it is taken by a commit and deleted here."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import NamedTuple

from headgate.catalog.entities import TableEntity
from headgate.catalog.metadata_files import write_metadata
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots, Storage
from headgate.catalog.purging import LiveJob, take_places
from headgate.catalog.territories import foreign_places
from headgate.errors import FileMissing, InvalidInput, LeaseLost, StorageUnavailable
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.limits import INDEX_KEY_BYTES_MAX, PATHS_PER_TURN, PURGE_OUTSIDE_AT_ONCE
from headgate.model.locations import index_key, is_within
from headgate.purge.claims import Lease
from headgate.purge.commits import commit
from headgate.purge.deleter import STILL_THERE, Deleting, Task
from headgate.purge.jobs import JobRow, JobTerms, Tally, alive, beaten, stage_ended
from headgate.purge.ledger import NONE_LEFT, Failed
from headgate.purge.queue import Queue
from headgate.purge.referrers import NOBODY, Lookups, Referrers, Referring, Surveying
from headgate.purge.steps import LEAVES, ROOTS
from headgate.purge.table_reading import Reading

GROUND_SECONDS = 5.0
"""Between looks whether places belong to others by now, or others refer to files there."""
REFERENCES = "references"
"""The phase in which other tables are looked at."""
STALE_MAX = 20
"""That a stage is begun anew in a row because other tables changed before anything was done."""


class JobGoneError(Exception):
    """The job is not recorded any more: its table came back, or somebody else ended it."""


class _GroundMovedError(Exception):
    """Places belong to others than when the stage began, or others refer to more files there."""


class _StaleError(Exception):
    """Other tables changed before anything was done."""


class Children(NamedTuple):
    """What works in other processes."""

    deleter: Deleting
    surveyor: Surveying
    background: Reading | None = None
    """Reads tables that purges do not wait for; the surveyor does if there is none."""
    lookups: Lookups | None = None
    """Look files up; the surveyor does if there are none."""


class Ground(NamedTuple):
    """What says which files may be deleted."""

    roots: Roots
    foreign: tuple[bytes, ...]
    whole_catalog: bool = False
    """Whether files outside of the table's own places may be deleted."""
    referring: Referring = NOBODY

    def has_places_of(self, before: "Ground") -> bool:
        """Whether nobody else came to places of before, and no less may be deleted."""
        return self[:3] == before[:3]

    def has_references_of(self, before: "Ground") -> bool:
        """Whether others refer to the same files as before. They may have other metadata by now, as
        long as the same leads to these."""
        digests = [{one.digest for one in ground.referring.tables} for ground in (self, before)]
        return digests[0] == digests[1]


class Counters:
    """What this process deleted."""

    files = 0
    bytes = 0


class Attempt:
    """How far an attempt is."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.has_news = False
        """Something was done that the row does not tell yet."""
        self.doomed: frozenset[int] | None = None
        """Tables that cannot come back, when it was first asked for."""
        self.patience = 0.0
        """Seconds that a stage goes on whoever refers to more files by now: more each time that it
        begins anew, or tables that change all the time would not let a large one come to its end.
        """
        self._start = lease.row
        self._tally: Tally | None = None  # between stages

    @property
    def tally(self) -> Tally:
        """What the stage did so far."""
        return self._tally or Tally()

    @property
    def has_no_leaves(self) -> bool:
        """Whether all is gone that leads to no other file."""
        return self._start.stages_done == LEAVES

    def row(self, now_ms: int) -> JobRow:
        """The row as it is to be written now."""
        if self._tally is None:
            return alive(self._start, now_ms)
        return beaten(self._start, self._tally, now_ms)

    def begin(self, now_ms: int) -> None:
        """A stage begins, perhaps once more."""
        self._start, self._tally = self.row(now_ms), Tally()

    def tell(self, tally: Tally, counters: Counters) -> None:
        """Something was done."""
        counters.files += _files(tally) - _files(self.tally)
        counters.bytes += tally.bytes - self.tally.bytes
        self._tally = tally
        self.has_news = True

    def resume(self) -> None:
        """What the row said before the stage counts: nothing can be counted anew."""
        self._tally = None

    def end(self, stage: str, now_ms: int) -> JobRow:
        """The stage has ended; the row that says so."""
        self._start = stage_ended(self.row(now_ms), stage, self.tally)
        self._tally = None
        self.has_news = True
        return self._start


class Stages:
    """Deletes the files of tables."""

    def __init__(
        self, kernel: Kernel, queue: Queue, storage: Storage, children: Children, terms: JobTerms
    ) -> None:
        self.counters = Counters()
        self.kernel = kernel
        self.queue = queue
        self._storage = storage
        self.deleter = children.deleter
        self.referrers = Referrers(
            kernel,
            children.surveyor,
            children.background,
            children.lookups,
            across_catalogs=terms.across_catalogs,
        )
        self.terms = terms

    def with_deleter(self, deleter: Deleting) -> "Stages":
        """The same with somebody else who deletes: what is known of other tables is shared."""
        other = copy(self)
        other.deleter = deleter
        return other

    async def run(self, live: LiveJob, attempt: Attempt, fence: Path) -> None:
        """Delete all files of a table; `StorageUnavailable` if some are left."""
        try:
            await self._all(live, attempt, fence)
        except FileMissing as error:
            if await self._restored(live, attempt):
                await self._all(live, attempt, fence)
                return
            if live.job.object and not attempt.has_no_leaves:
                raise _lost_metadata(live) from error
            # It goes last, so all the others went before it; perhaps but for folders.
            attempt.resume()
            ground = await self._ground(live)
            for place in live.job.reserved:
                if _is_inside(place, ground):
                    await self._storage.files(ground.roots).remove_folders(place)

    async def _all(self, live: LiveJob, attempt: Attempt, fence: Path) -> None:
        for stage in (ROOTS,) if attempt.has_no_leaves else (LEAVES, ROOTS):
            await self._whole(live, stage, attempt, fence)

    async def _restored(self, live: LiveJob, attempt: Attempt) -> bool:
        """Write the metadata file that is gone once more, if files may be left that it leads to
        and the database has its content."""
        if attempt.has_no_leaves or not live.job.object:
            return False
        entity = await self.kernel.store.get(live.realm, live.job.object, TableEntity)
        if not entity.metadata or not attempt.lease.holds():
            return False
        files, location = self._storage.files(live.roots), live.job.metadata_location
        await write_metadata(files, location, entity.metadata)
        return True

    async def _whole(self, live: LiveJob, stage: str, attempt: Attempt, fence: Path) -> None:
        """A stage, begun anew as often as places come to belong to others."""
        clock, stale = self.kernel.clock, 0
        while True:
            attempt.begin(clock.wall_ms())
            attempt.tell(Tally(phase=REFERENCES), self.counters)
            is_lenient = stale == STALE_MAX - 1  # nobody stops others by changing without end
            ground = await self._ground(live, anew=True, is_lenient=is_lenient)
            try:
                await self._stage(live, stage, ground, attempt, fence)
                break
            except _GroundMovedError:
                stale = 0
                attempt.patience += attempt.patience or GROUND_SECONDS
            except _StaleError as error:
                stale += 1
                if stale == STALE_MAX:
                    raise _restless(live) from error
        row = attempt.end(stage, clock.wall_ms())
        if row.failed:
            first, files = row.ledger[0], "file" if row.failed == 1 else "files"
            raise StorageUnavailable(
                f"{row.failed:,} {files} cannot be deleted",
                why=f"the first is {first.path}: {first.why}",
                fix="The job's ledger shows them",
            )
        if stage == LEAVES:  # who finds no metadata file has to know that its leaves went before it
            await attempt.lease.beat(row)

    async def _stage(
        self, live: LiveJob, stage: str, ground: Ground, attempt: Attempt, fence: Path
    ) -> None:
        clock = self.kernel.clock
        looked = began = clock.seconds()
        task = Task(
            metadata_location=live.job.metadata_location,
            roots=ground.roots,
            own=live.job.reserved,
            foreign=ground.foreign,
            referrers=ground.referring.tables,
            others=ground.referring.roots,
            stage=stage,
            threads=self.terms.delete_threads,
            whole_catalog=ground.whole_catalog,
        )
        left = NONE_LEFT, NONE_LEFT
        async with aclosing(self.deleter.run(task, fence)) as steps:
            async for progress in steps:
                self.referrers.report(progress.passed_over)
                if progress.away:
                    raise self.referrers.awaited(progress.away)
                if progress.is_stale:
                    self.referrers.doubt(ground.referring.tables)
                    raise _StaleError
                attempt.tell(attempt.tally.told(progress), self.counters)
                if progress.outside and ground.whole_catalog:
                    await self._delete_outside(live, ground, progress.outside, attempt)
                elif progress.outside:  # told by a program of another version
                    attempt.tell(attempt.tally.leaving(progress.outside), self.counters)
                if stage == ROOTS and left != (progress.left_outside, progress.unreferenced):
                    # Recorded before the last file goes: after that nobody can count it again.
                    left = progress.left_outside, progress.unreferenced
                    await attempt.lease.beat(attempt.row(clock.wall_ms()))
                if stage == ROOTS and attempt.tally.failed:
                    return  # what leads to it stays
                if clock.seconds() - looked >= GROUND_SECONDS:  # a stage may take hours
                    looked = clock.seconds()
                    now = await self._ground(live)
                    is_patient = looked - began < attempt.patience
                    if not (
                        now.has_places_of(ground) and (is_patient or now.has_references_of(ground))
                    ):
                        raise _GroundMovedError

    async def _ground(
        self, live: LiveJob, *, anew: bool = False, is_lenient: bool = False
    ) -> Ground:
        """What says now which files may be deleted."""
        now = await self.queue.find(live)
        if now is None:
            raise JobGoneError
        places = (*now.roots, *now.job.reserved)
        foreign = await foreign_places(self.kernel, live.catalog, places)
        referring = await self.referrers.to_places(now, anew=anew, is_lenient=is_lenient)
        return Ground(now.roots, tuple(sorted(set(foreign))), now.whole_catalog, referring)

    async def _delete_outside(
        self, live: LiveJob, ground: Ground, paths: Sequence[str], attempt: Attempt
    ) -> None:
        """Delete what is not in the table's own places, as far as nobody else has it or needs
        it."""
        wanted: list[str] = []
        for some in _parts(paths, PATHS_PER_TURN):
            inside = [path for path in some if _is_inside(path, ground)]
            self._leave(some, inside, attempt)
            wanted += inside
            await asyncio.sleep(0)  # others have their turn
        is_lenient = ground.referring.is_lenient
        shared = await self.referrers.shared(live, wanted, is_lenient=is_lenient)
        if shared.is_stale:
            raise _StaleError
        needed = set(shared.paths)
        attempt.tell(attempt.tally.kept_outside(len(needed)), self.counters)
        rest = [path for path in wanted if path not in needed]
        for some in _parts(rest, PATHS_PER_TURN):
            ours = await self._take(live, some, ground.roots, attempt)
            self._leave(some, ours, attempt)
            for few in _parts(ours, PURGE_OUTSIDE_AT_ONCE):
                if not attempt.lease.holds():
                    raise LeaseLost(
                        f"job {live.id} is not worked on here any more", why="time is over"
                    )
                failed = await self._delete_few(ground, few)
                attempt.tell(attempt.tally.done_outside(len(few), failed), self.counters)
            await asyncio.sleep(0)  # others have their turn

    def _leave(self, paths: Sequence[str], ours: Sequence[str], attempt: Attempt) -> None:
        """Count those of these files that are not ours."""
        if len(ours) < len(paths):
            known = set(ours)
            left = [path for path in paths if path not in known]
            attempt.tell(attempt.tally.leaving(left), self.counters)

    async def _delete_few(self, ground: Ground, paths: Sequence[str]) -> list[Failed]:
        """Delete files, and look whether they are gone: no listing shows these."""
        files = self._storage.files(ground.roots)
        failed = [Failed(path, why) for path, why in await files.delete(paths)]
        stuck = {one.path for one in failed}
        gone = [path for path in paths if path not in stuck]
        missing = await asyncio.gather(*map(files.missing, gone))
        left = [path for path, is_missing in zip(gone, missing, strict=True) if not is_missing]
        return failed + [Failed(path, STILL_THERE) for path in left]

    async def _take(
        self, live: LiveJob, paths: Sequence[str], roots: Roots, attempt: Attempt
    ) -> list[str]:
        """Those of these files that nobody else has: nobody can take them while they are deleted.

        Metadata can be made to name any file, also those of another table. Tables that are purged
        too may have some: they leave them if this table was there when they began.
        """
        taking = partial(take_places, id=live.id, paths=paths, roots=roots)
        ours = await self._commit(live, taking)
        if len(ours) < len(paths):
            if attempt.doomed is None:
                attempt.doomed = await self.queue.doomed(live)
            if attempt.doomed:
                ours = await self._commit(live, partial(taking, doomed=attempt.doomed))
        return ours

    async def _commit(self, live: LiveJob, taking: Callable[[Draft], list[str]]) -> list[str]:
        return await commit(self.kernel, live.realm, head_pointer(live.catalog), taking)


def _is_inside(path: str, ground: Ground) -> bool:
    """Whether a file is where the catalog's files may be, and no other catalog's are."""
    with suppress(InvalidInput):  # no location at all: nothing of ours
        place = index_key(path)
        return (
            len(place) <= INDEX_KEY_BYTES_MAX  # no disk has names that long
            and not place.startswith(ground.foreign)
            and any(is_within(path, root) for root in ground.roots)
        )
    return False


def _parts(paths: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), size):
        yield paths[start : start + size]


def _restless(live: LiveJob) -> StorageUnavailable:
    """What to say if other tables do not stand still for long enough to be read."""
    return StorageUnavailable(
        f"it is not known which files of table {live.job.table} others need",
        why=f"they changed {STALE_MAX} times while they were read",
        fix="It is tried again",
    )


def _lost_metadata(live: LiveJob) -> StorageUnavailable:
    """What to say of a table whose metadata file somebody else took away before its time."""
    location = live.job.metadata_location
    return StorageUnavailable(
        f"the files of table {live.job.table} are not known",
        why=f"{location} led to them, and is gone",
        fix=f"Restore it and run `headgate jobs retry {live.id}`; or delete what is left below "
        f"{', '.join(live.job.reserved)} and run `headgate jobs cancel {live.id}`",
    )


def _files(tally: Tally) -> int:
    return tally.deleted + tally.outside_deleted
