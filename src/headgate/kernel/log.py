"""The commit log of a pointer: in order, both ways, from any known commit, also after a cut.

Each head names the commits before it, so the log is a chain that is read twenty at a time. A commit
that is no longer stored ends it: older history was cut. A reader that asks for a position before
the cut is told so; it never skips silently.
"""

import asyncio
from array import array
from collections.abc import AsyncIterator, Sequence

import msgspec

from headgate.errors import CorruptRow, LogCut, ObjectNotFound, PointerNotFound
from headgate.ids import node, time_ms
from headgate.kernel.head import (
    ADDED,
    REMOVED,
    UPDATED,
    Changes,
    Head,
    decode_groups,
    decode_replaced,
)
from headgate.kernel.objects import expect
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import EMPTY, PointerKey
from headgate.kernel.store import Store
from headgate.limits import TAIL_COMMITS

KINDS = {ADDED: "added", UPDATED: "updated", REMOVED: "removed"}


class Entry(msgspec.Struct, frozen=True):
    """What happened to one index entry: "added", "updated" or "removed"."""

    index: str
    key: bytes
    kind: str


class Group(msgspec.Struct, frozen=True):
    """What one caller changed: its own words about it, its operation id, the entries."""

    note: object
    operation: bytes
    entries: list[Entry]


class Commit(msgspec.Struct, frozen=True):
    """One commit of the log."""

    id: int
    seq: int
    realm: str
    pointer: str
    time_ms: int
    node: int
    groups: list[Group]
    replaced: list[int]


class CommitLog:
    """Reads the logs of all pointers."""

    def __init__(self, store: Store, pointers: Pointers) -> None:
        self._store = store
        self._pointers = pointers

    async def pointers(self, realm: str | None = None) -> list[PointerKey]:
        """The pointers that have a log, of one realm or of all, in order."""
        found = [
            PointerKey(pointer.realm, pointer.name)
            async for batch in self._store.backend.scan_pointers(realm)
            for pointer in batch
            if pointer.value != EMPTY
        ]
        return sorted(found)

    async def newest_first(
        self, key: PointerKey, start: int | None = None
    ) -> AsyncIterator[Commit]:
        """The commits from `start` (or the current one) backwards to the oldest that is kept."""
        newest = await self._current(key)
        if start is not None:
            await self._check_known(key, newest, start)
        async for id, head in self._walk(key.realm, start or newest):
            yield await self._commit(key, id, head)

    async def oldest_first(
        self, key: PointerKey, after: int | None = None
    ) -> AsyncIterator[Commit]:
        """The commits behind `after` (or from the oldest that is kept) forwards to the current one.

        `LogCut` if commits behind `after` are no longer kept.
        """
        async for commit in self.commits(key, await self.ids_behind(key, after)):
            yield commit

    async def ids_behind(self, key: PointerKey, after: int | None = None) -> "array[int]":
        """The ids of the same commits in the same order."""
        newest = await self._current(key)
        if after is not None and newest == EMPTY:
            raise _cut(key, after, None)
        ids, oldest = array("Q"), None
        async for id, head in self._walk(key.realm, newest):
            if id == after:
                oldest = None
                break
            ids.append(id)
            oldest = head
        if after is not None and oldest is not None and oldest.tail[:1] != (after,):
            raise _cut(key, after, ids[-1])
        ids.reverse()
        return ids

    async def commits(self, key: PointerKey, ids: Sequence[int]) -> AsyncIterator[Commit]:
        """These commits of a pointer, which follow each other."""
        for at in range(0, len(ids), TAIL_COMMITS):
            page = ids[at : at + TAIL_COMMITS]
            found = await self._store.fetch(key.realm, page)
            for id in page:
                if id not in found:
                    raise _cut(key, id, None)  # history was cut while it was read
                yield await self._commit(key, id, expect(found[id], Head, id))

    async def _current(self, key: PointerKey) -> int:
        [current] = await self._pointers.read([key])
        if current is None:
            raise PointerNotFound(
                f"pointer {key.name!r} of realm {key.realm!r} has no log",
                why="it does not exist",
                fix="`headgate log` without --pointer shows what there is",
            )
        return current

    async def _walk(self, realm: str, newest: int) -> AsyncIterator[tuple[int, Head]]:
        """The heads from this one backwards, until the first or a cut."""
        ids: tuple[int, ...] = (newest,) if newest != EMPTY else ()
        while ids:
            found = await self._store.fetch(realm, ids)
            head = None
            for id in ids:
                if id == newest and id not in found:
                    raise _headless(realm, id)
                if id not in found:
                    return
                head = expect(found[id], Head, id)
                yield id, head
            ids = head.tail if head else ()
            await asyncio.sleep(0)  # all may have been at hand, and others wait

    async def _check_known(self, key: PointerKey, newest: int, start: int) -> None:
        head = (await self._store.fetch(key.realm, [start])).get(start)
        if newest == EMPTY or not isinstance(head, Head):
            raise _cut(key, start, None)
        try:
            known = await commit_at(self._store, key.realm, newest, head.seq)
        except ObjectNotFound as cut:
            raise _cut(key, start, None) from cut
        if known != start:
            raise _cut(key, start, None)

    async def _commit(self, key: PointerKey, id: int, head: Head) -> Commit:
        groups, replaced = head.groups, head.replaced
        if head.spilled:
            try:
                changes = await self._store.get(key.realm, head.spilled, Changes)
            except ObjectNotFound as cut:
                raise _cut(key, id, None) from cut  # along with the commit, after it was read
            groups, replaced = changes.groups, changes.replaced
        return Commit(
            id,
            head.seq,
            key.realm,
            key.name,
            time_ms(id),
            node(id),
            [
                Group(
                    msgspec.msgpack.decode(group.note),
                    group.operation,
                    [
                        Entry(one.index, one.key, KINDS.get(one.kind, "changed"))
                        for one in group.changes
                    ],
                )
                for group in decode_groups(groups)
            ],
            decode_replaced(replaced),
        )


async def commit_at(store: Store, realm: str, newest: int, seq: int) -> int | None:
    """The id of the commit with this sequence number, seen from a newer one; None if there is none.

    `ObjectNotFound` if history was cut before the answer was found.
    """
    id = newest
    while True:
        head = await store.get(realm, id, Head)
        back = head.seq - seq
        if back <= 0:
            return id if back == 0 else None
        if back <= len(head.tail):
            return head.tail[back - 1]
        id = head.tail[-1]


def _headless(realm: str, id: int) -> CorruptRow:
    return CorruptRow(
        f"the log of a pointer in realm {realm!r} cannot be read",
        why=f"its current commit {id} is not stored",
        fix="Restore the database from a backup",
    )


def _cut(key: PointerKey, position: int, oldest: int | None) -> LogCut:
    where = f"the oldest kept commit is {oldest}" if oldest else "it is not in the kept history"
    return LogCut(
        f"the log of {key.name!r} in realm {key.realm!r} cannot be read from {position}",
        why=where,
        fix="Read the present state, then follow the log from its newest commit",
    )
