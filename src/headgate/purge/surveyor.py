"""What tables refer to outside of their own places, found in a child process, seen from the parent:
what is asked and answered."""

import pickle
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing

import msgspec

from headgate.catalog.ports import Roots
from headgate.errors import StorageUnavailable, WorkerEnded
from headgate.limits import REFERENCE_TABLE_SECONDS_MAX, REFERENCE_WAITING_SECONDS_MAX
from headgate.purge.folders import parent_of
from headgate.workers.pool import WorkerPool
from headgate.workers.turns import NO_TENANT, Tenant


class Surveyed(msgspec.Struct, frozen=True, array_like=True):
    """A table that may refer to files of others."""

    metadata_location: str
    own: tuple[str, ...]
    """The places that are taken for it."""
    is_doubted: bool = False
    """What is remembered of its manifests does not count: some may be gone by now."""
    metadata: bytes = b""
    """What the database has of its metadata file, if that is gone or damaged."""
    lost: tuple[str, ...] = ()
    """Places that are taken for it too, and that its catalog has no more: another one may have
    them, so files there are not its own; but they are read."""


class Outside(msgspec.Struct, frozen=True, array_like=True):
    """What a table refers to outside of its own places."""

    folders: tuple[bytes, ...] = ()
    """In which these files lie, as keys (`model.locations.index_key`), in order."""
    trees: tuple[bytes, ...] = ()
    """Or anywhere in or below these, where there are too many folders to tell; in order, too."""
    digest: bytes = b""
    """Of what leads to these files: as long as it is the same, so are they."""
    unread: tuple[str, ...] = ()
    """The first of the files that lead to others and are gone or damaged."""
    unclear: str = ""
    """Why there may be more: something cannot be read here that others can read."""
    is_away: bool = False
    """It is storage that did not answer."""
    is_late: bool = False
    """The time was over in which it was to be read: with more of it there may be more."""
    seconds: float = 0.0
    """That reading it took."""

    @property
    def is_nothing(self) -> bool:
        """Whether there are no such files."""
        return not self.folders and not self.trees

    def touches(self, places: tuple[bytes, ...]) -> bool:
        """Whether some of these files may lie in these places, given by their keys, or be one."""
        return any(
            place.startswith(self.trees)
            or parent_of(place) in self.folders
            or _is_one_below(place, self.folders)
            or _is_one_below(place, self.trees)
            for place in places
        )

    def lies_in(self, folders: AbstractSet[bytes]) -> bool:
        """Whether some of these files may lie in these very folders."""
        return not folders.isdisjoint(self.folders) or any(
            folder.startswith(self.trees) for folder in folders
        )


class Referrer(msgspec.Struct, frozen=True, array_like=True):
    """A table that refers to files outside, which must not be deleted."""

    table: Surveyed
    digest: bytes
    """What leads to them is not as it was if this one is not found again."""
    holds_up: bool = True
    """It is of the same schema: nothing is deleted while not all of it can be read."""
    is_checked: bool = True
    """Nothing is deleted either if it is not as it was."""
    seconds: float = REFERENCE_TABLE_SECONDS_MAX
    """That it may take to be read once more."""
    is_awaited: bool = False
    """Nothing is deleted either while its storage does not answer."""
    schema: str = ""
    """Names its schema among those of all tables that are asked about together."""


class PassedOver(msgspec.Struct, frozen=True, array_like=True):
    """A table of which not all could be read; only for the log of the operator."""

    table: str
    why: str


class Shared(msgspec.Struct, frozen=True, array_like=True):
    """Which of some files others refer to."""

    paths: list[str] = []
    is_stale: bool = False
    """A referrer is not any more what it was."""
    is_held_up: bool = False
    """A table of the same schema cannot be read, so it is not known."""
    away: str = ""
    """A table that is awaited and whose storage does not answer, so it is not known."""
    passed_over: list[PassedOver] = []


def not_known() -> StorageUnavailable:
    """The error of a purge while it is not known what a table of its schema refers to. The table is
    named in the log of the operator only: a caller that sees the job may not know of the table."""
    return StorageUnavailable(
        "a table of the same schema cannot be read",
        why="it may need files of this one, so nothing is deleted",
        fix="Load the tables of the schema to find it, or look into the server's log, which names"
        " it; then make its files readable, or drop it",
    )


class Surveyor:
    """Lets a child read what tables refer to. It has a pool of its own: who asks may have a child
    of the other one, and would wait for ever if all had."""

    def __init__(self, pool: WorkerPool, files_below: Callable[[Roots], object]) -> None:
        self._pool = pool
        self._files_below = files_below

    async def survey(
        self, tables: Sequence[Surveyed], roots: Roots, seconds: float = REFERENCE_TABLE_SECONDS_MAX
    ) -> list[Outside]:
        """What each of these tables refers to outside, read in so many seconds each. All that leads
        there is read below the roots. What is gone or damaged leads to nothing; what cannot be read
        is unclear. A table over which the child ends is unclear too, and no other is."""
        asked = msgspec.msgpack.encode(tables), msgspec.msgpack.encode(seconds)
        try:
            answers = self._asked("survey", roots, *asked)
            return [msgspec.msgpack.decode(answer, type=Outside) async for answer in answers]
        except WorkerEnded as error:
            if len(tables) == 1:
                unread, took = (tables[0].metadata_location,), REFERENCE_WAITING_SECONDS_MAX
                return [Outside(unread=unread, unclear=error.why, seconds=took)]
        middle = len(tables) // 2
        parts = tables[:middle], tables[middle:]
        return [found for part in parts for found in await self.survey(part, roots, seconds)]

    async def shared(
        self,
        referrers: Sequence[Referrer],
        roots: Roots,
        paths: Sequence[str],
        tenant: Tenant = NO_TENANT,
    ) -> Shared:
        """Those of these files that these tables refer to. It may take minutes: where the pool is
        shared, tenants take turns."""
        asked = msgspec.msgpack.encode(referrers), msgspec.msgpack.encode(paths)
        answers = self._asked("shared", roots, *asked, tenant=tenant)
        [answer] = [answer async for answer in answers]
        return msgspec.msgpack.decode(answer, type=Shared)

    async def _asked(
        self, job: str, roots: Roots, *asked: bytes, tenant: Tenant = NO_TENANT
    ) -> AsyncGenerator[bytes]:
        """The answers without the signs of life between them."""
        files = pickle.dumps(self._files_below(roots))
        async with aclosing(self._pool.stream(job, files, *asked, tenant=tenant)) as answers:
            async for answer in answers:
                if answer:
                    yield answer


def _is_one_below(place: bytes, keys: tuple[bytes, ...]) -> bool:
    """Whether one of these keys, which are in order, is that of a place or of what lies in it."""
    first = bisect_left(keys, place)  # many tables are asked at once
    return first < len(keys) and keys[first].startswith(place)
