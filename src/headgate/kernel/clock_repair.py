"""Mends a store with ids from the future: some clock was ahead, and every later start is refused.

A pointer whose head lies in the future gets an empty commit with a present id on top: its content
stays, and so does its history. A lease that ends in the future keeps its node id taken until then,
so that no id is ever made twice, but no longer counts as a node that runs. Each step leaves less to
do, so a repair that is broken off is just run again.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import msgspec

from headgate.clock import Clock
from headgate.errors import CommitTimedOut, Conflict
from headgate.ids import Ids, earliest_id, lease_row, time_ms
from headgate.kernel.assemble import assemble
from headgate.kernel.draft import Draft
from headgate.kernel.index import PageShelf, open_head
from headgate.kernel.leases import NodeLease, NodeLeases, lease_of, read_leases
from headgate.kernel.records import Outcome, Pointer, PointerKey
from headgate.kernel.store import Store
from headgate.kernel.swap import swap_head
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import CLOCK_BEHIND_MS_MAX, COMMIT_TIMEOUT_SECONDS, LEASE_MS, RESOLVE_TRIES_MAX

NEWEST_ID = "newest-id"
"""The mark of a head: ids below this one may have been made before the present time."""


class AheadPointer(NamedTuple):
    """A pointer whose head lies in the future."""

    key: PointerKey
    head: int
    before_ms: int
    """The newest of its latest commits that does not; 0 if there is none."""

    @property
    def newest_ms(self) -> int:
        """The time of its head."""
        return time_ms(self.head)


class Findings(NamedTuple):
    """What a repair would do."""

    now_ms: int
    pointers: list[AheadPointer]
    leases: list[NodeLease]
    """Those that end in the future, and still count as nodes that run."""
    newest: int
    """An id that is greater than all that were made; 0 if none lies in the future."""
    unmarked: list[PointerKey]
    """Pointers that have to know that id, and do not."""

    @property
    def has_work(self) -> bool:
        """Whether there is anything to mend."""
        return bool(self.pointers or self.leases or self.unmarked)


class ClockRepair:
    """Looks for ids from the future, and mends what they hinder."""

    def __init__(
        self, store: Store, leases: NodeLeases, clock: Clock, ids: Ids, entropy: Callable[[], int]
    ) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._ids = ids
        self._entropy = entropy

    async def find(self, marked: Collection[PointerKey] = ()) -> Findings:
        """What there is to mend. `marked` are pointers whose content depends on the order of ids
        that were made elsewhere: they are told the newest one."""
        now_ms = self._clock.wall_ms()
        scanned = self._store.backend.scan_pointers()
        pointers = [one async for batch in scanned for one in batch]
        rows = (await read_leases(self._store)).values()
        leases = [one for row in rows if _is_ahead(one := lease_of(row), now_ms)]
        ahead = [one for one in pointers if _is_later(time_ms(one.value), now_ms)]
        ends = [earliest_id(one.ends_ms) for one in leases]
        newest = max([0, *ends, *(one.value + 1 for one in ahead)])
        there = {PointerKey(one.realm, one.name): one.value for one in pointers}
        return Findings(
            now_ms,
            [await self._described(one, now_ms) for one in ahead],
            [one for one in leases if not one.is_retired],
            newest,
            [key for key in marked if key in there and not await self._knows(key, there, newest)],
        )

    async def check_alone(self) -> None:
        """`Conflict` if a node runs, as far as leases tell: it goes on from what it has read."""
        now_ms = self._clock.wall_ms()
        others = [one for one in await self._leases.live() if not self._leases.is_own(one)]
        running = sorted(one.holder for one in others if not _is_ahead(one, now_ms))
        if running:
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            raise Conflict(
                "the store is not repaired",
                why=f"{running[0]}{more} uses it",
                fix="Stop all nodes and try again; one that was killed counts for "
                f"{LEASE_MS // 60_000} min",
            )

    async def apply(self, findings: Findings) -> None:
        """Mend what was found."""
        await self.check_alone()
        for key in findings.unmarked:  # first: what depends on it comes after a repair
            await self._commit_on(key, findings.newest)
        for pointer in findings.pointers:
            if pointer.key not in findings.unmarked:
                await self._commit_on(pointer.key)
        for lease in findings.leases:
            await self._retire(lease)

    async def _described(self, pointer: Pointer, now_ms: int) -> AheadPointer:
        view = await open_head(self._store, pointer.realm, pointer.value)
        times = (time_ms(id) for id in view.head.tail)
        before_ms = next((one for one in times if not _is_later(one, now_ms)), 0)
        return AheadPointer(PointerKey(pointer.realm, pointer.name), pointer.value, before_ms)

    async def _knows(self, key: PointerKey, there: dict[PointerKey, int], newest: int) -> bool:
        view = await open_head(self._store, key.realm, there[key])
        return view.head.marks.get(NEWEST_ID, 0) >= newest

    async def _commit_on(self, key: PointerKey, newest: int = 0) -> None:
        """Put an empty commit on the head of a pointer, with a mark if there is one to set."""
        store, clock = self._store, self._clock
        for _ in range(RESOLVE_TRIES_MAX):
            [current] = await store.backend.read_pointers([key])
            base = await open_head(store, key.realm, current)
            shelf = PageShelf(store, key.realm)
            draft = Draft(base, shelf, self._ids, store.types, clock.wall_ms())
            if newest:
                draft.mark(NEWEST_ID, newest)
            assembled = assemble(draft, store.types, self._ids)
            deadline = clock.seconds() + COMMIT_TIMEOUT_SECONDS
            if await swap_head(store, clock, key, assembled, deadline) is Outcome.APPLIED:
                return
        raise CommitTimedOut(
            f"pointer {key.name!r} of realm {key.realm!r} was not mended",
            why="other nodes changed it first, again and again",
            fix="Stop all nodes and try again",
        )

    async def _retire(self, lease: NodeLease) -> None:
        """Let a lease count as ended; its node id stays taken. A lost race is fine: its holder
        lives, or another repair did it."""
        id = lease_row(lease.node)
        row = (await self._store.read_versioned(SYSTEM_REALM, [id]))[id]
        if lease_of(row) == lease:
            retired = msgspec.structs.replace(lease, token=0, renewed_ms=0, is_retired=True)
            await self._store.update(
                SYSTEM_REALM, id, retired, expected=row.version, version=self._entropy()
            )


def _is_ahead(lease: NodeLease, now_ms: int) -> bool:
    """Whether no right clock can have written it."""
    return _is_later(lease.ends_ms, now_ms + LEASE_MS)


def _is_later(time_ms: int, now_ms: int) -> bool:
    return time_ms > now_ms + CLOCK_BEHIND_MS_MAX
