"""One page of the change log in the making.

Positions are kept for each pointer. Where the list of catalogs tells of a new one, its pointer
joins them, to be read from its first commit; where it tells that one is gone, its pointer leaves
when it is read to its end. One that was dropped is gone when the last of its files is. So whatever
comes and goes between two pages, no record is passed by.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

from headgate.catalog.change_cursors import ALL, OLDEST, Cursor, Extent, Position
from headgate.catalog.change_records import Change, key_of, records_of
from headgate.catalog.commit_ids import CommitIds
from headgate.catalog.dropped_catalogs import DROPPED
from headgate.catalog.merging import merged
from headgate.catalog.naming import id_bytes
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import CATALOG_POINTER, IDS
from headgate.errors import Corrupt, LogCut, NotFound, RealmNotFound
from headgate.ids import ID_MAX
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.realms import BY_ID, REALMS_KEY, RealmState
from headgate.kernel.records import EMPTY, PointerKey
from headgate.kernel.system import REALM_POINTERS
from headgate.limits import (
    CHANGES_COMMITS_MAX,
    CHANGES_MERGED_MAX,
    CHANGES_POINTERS_AT_ONCE,
    TAIL_COMMITS,
)

SILENT = {"immediate-tasks"}
"""Pointers of a realm that tell of no changes."""
GONE = {RealmState.PURGING, RealmState.PURGED}

Wanted = Callable[[Change], bool]


class Found(NamedTuple):
    """A change, and where it was found: its names are still to be filled in."""

    realm: str
    key: PointerKey
    change: Change


class Reading:
    """Reads behind a cursor, `limit` records at most."""

    def __init__(
        self,
        kernel: Kernel,
        ids: CommitIds,
        cursor: Cursor,
        extent: Extent,
        limit: int,
        wanted: Wanted,
    ) -> None:
        self.positions = dict(cursor.positions)
        self.found: list[Found] = []
        self._kernel = kernel
        self._ids = ids
        self._extent = extent
        self._limit = limit
        self._wanted = wanted
        self._commits = 0

    async def read(self) -> bool:
        """Find the records; whether there may be more behind them."""
        while moved := await self._moved():
            streams = [self._behind(key) for key in moved[:CHANGES_MERGED_MAX]]
            async for commit in merged(streams, 1):
                if not self._take(commit):
                    return True
                if self._commits % TAIL_COMMITS == 0:
                    await asyncio.sleep(0)  # all may have been at hand, and others wait
        return False

    async def _moved(self) -> list[PointerKey]:
        """The pointers with news, those that are furthest behind first."""
        moved = []
        for key, value in await values_of(self._kernel, list(self.positions)):
            position = self.positions.get(key)
            if position is None:
                continue  # its realm was forgotten a moment ago
            if value is None:
                await self._miss(key, position)
            elif value not in {EMPTY, position.after} or _has_vanished(position, value):
                moved.append(key)
            elif position.ends:
                del self.positions[key]
        return sorted(moved, key=lambda key: (self.positions[key].after, _rank(key)))

    async def _miss(self, key: PointerKey, position: Position) -> None:
        """A pointer is not there: not yet, or no more."""
        if await self._is_purged(key.realm):
            self._forget(key.realm)
        elif position.after == EMPTY:
            if _is_of_catalog(key) and not await self._is_listed(key):
                raise _cut(key, "it is no more")
        elif position.after != OLDEST:
            raise _cut(key, "it is no more")

    async def _is_listed(self, key: PointerKey) -> bool:
        """Whether the catalog of a missing pointer is listed: then it never held anything."""
        catalog, realm = key.name.split("/")[1], key.realm
        if not catalog.isdecimal() or int(catalog) > ID_MAX:
            return False  # clients may write anything into a cursor
        [listed] = await self._kernel.pointers.read([PointerKey(realm, CATALOG_POINTER)])
        head = await open_head(self._kernel.store, realm, listed)
        return await head.index(IDS).get(id_bytes(int(catalog))) is not None

    async def _behind(self, key: PointerKey) -> AsyncIterator[Commit]:
        """The commits of a pointer behind its position."""
        position, is_first = self.positions[key], True
        try:
            after = None if position.after in {EMPTY, OLDEST} else position.after
            ids = await self._ids.behind(key, after)
            async for commit in self._kernel.log.commits(key, ids):
                if is_first:
                    _check_first(key, position, commit)
                    is_first = False
                yield commit
        except (LogCut, NotFound, Corrupt) as error:
            self._ids.forget(key)  # whoever asks again is told what is the oldest by now
            if not await self._is_purged(key.realm):
                raise _again(error) if isinstance(error, LogCut) else error from None
            self._forget(key.realm)

    def _take(self, commit: Commit) -> bool:
        """Add the records of a commit, unless the page is full."""
        key = key_of(commit)
        position = self.positions.get(key)
        if position is None:
            return True  # its realm was forgotten a moment ago
        if self._commits == CHANGES_COMMITS_MAX:
            return False
        self._commits += 1
        records = records_of(commit)
        for place in range(position.given, len(records)):
            realm, change = records[place]
            if not self._extent.has(realm) or not self._wanted(change):
                continue
            if len(self.found) == self._limit:
                self.positions[key] = position._replace(within=commit.id, given=place)
                return False
            self.found.append(Found(realm, key, change))
        self.positions[key] = Position(commit.id, ends=position.ends)
        self._learn(commit)
        return True

    def _learn(self, commit: Commit) -> None:
        """Take notice of pointers that come and go."""
        if commit.pointer == CATALOG_POINTER:
            for kind, id in (*_entries(commit, IDS), *_entries(commit, DROPPED)):
                key = PointerKey(commit.realm, head_pointer(int.from_bytes(id, "big")))
                if kind == "added":
                    self.positions.setdefault(key, Position())
                if kind != "updated" and key in self.positions:
                    ends = kind == "removed"
                    self.positions[key] = self.positions[key]._replace(ends=ends)
        if key_of(commit) == REALMS_KEY:
            for kind, id in _entries(commit, BY_ID):
                if kind == "added" and self._extent == ALL:
                    for key in realm_keys(id.decode()):
                        self.positions.setdefault(key, Position())
                elif kind == "removed":
                    self._forget(id.decode())

    def _forget(self, realm: str) -> None:
        """A realm whose data was deleted has no log; that it was, is in the log of all realms."""
        for key in [key for key in self.positions if key.realm == realm]:
            del self.positions[key]

    async def _is_purged(self, realm: str) -> bool:
        if realm == REALMS_KEY.realm:
            return False
        try:
            return (await self._kernel.realms.get(realm)).state in GONE
        except RealmNotFound:
            return True


async def values_of(
    kernel: Kernel, keys: Sequence[PointerKey]
) -> list[tuple[PointerKey, int | None]]:
    """These pointers with their values. Many are read in pieces: they need no instant in common."""
    found: list[tuple[PointerKey, int | None]] = []
    for at in range(0, len(keys), CHANGES_POINTERS_AT_ONCE):
        piece = keys[at : at + CHANGES_POINTERS_AT_ONCE]
        found += zip(piece, await kernel.pointers.read(piece), strict=True)
        await asyncio.sleep(0)
    return found


def realm_keys(realm: str) -> list[PointerKey]:
    """The pointers that every realm has and that tell of changes."""
    return [PointerKey(realm, name) for name in REALM_POINTERS if name not in SILENT]


def _entries(commit: Commit, index: str) -> Sequence[tuple[str, bytes]]:
    return [
        (entry.kind, entry.key)
        for group in commit.groups
        for entry in group.entries
        if entry.index == index
    ]


def _has_vanished(position: Position, value: int) -> bool:
    """Whether a log has vanished that there was: to be told by whoever reads it."""
    return value == EMPTY and position.after not in {EMPTY, OLDEST}


def _is_of_catalog(key: PointerKey) -> bool:
    return "/" in key.name


def _rank(key: PointerKey) -> tuple[bool, bool, PointerKey]:
    """The list of realms first, then those of what they hold, then the catalogs."""
    return key.realm != REALMS_KEY.realm, _is_of_catalog(key), key


def _check_first(key: PointerKey, position: Position, commit: Commit) -> None:
    """Refuse to go on with another commit than the one that follows."""
    if position.within not in {EMPTY, commit.id} or (
        position.after == EMPTY and not position.within and commit.seq != 1
    ):
        raise _cut(key, f"the oldest that is kept is commit {commit.id}, number {commit.seq}")


def _cut(key: PointerKey, why: str) -> LogCut:
    return LogCut(f"the log of {key.name!r} in realm {key.realm!r} cannot be read on", why=why)


def _again(cut: LogCut) -> LogCut:
    """The same error, with what whoever reads changes can do."""
    return LogCut(
        cut.what,
        why=cut.why,
        fix="Read the present state, then go on with since=now; since=oldest is all that is kept",
    )
