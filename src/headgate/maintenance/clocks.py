"""Whether what was committed since the survey is as young as the sweep takes it for.

A sweep leaves young rows alone, by the time in their ids. That is right only if nothing old is
committed after the survey: by a node that was stopped for long, or because this machine's clock is
ahead of those of the writers. So before rows are deleted, every commit that was made since the
survey is looked at, on every pointer, also on those that were created meanwhile. A later commit
does not hide an earlier one.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headgate.errors import ClockRefused, ObjectNotFound
from headgate.ids import time_ms
from headgate.kernel.records import EMPTY, Pointer, PointerKey
from headgate.kernel.store import Store
from headgate.limits import CLOCK_BEHIND_MS_MAX
from headgate.maintenance.heads import read_head


class Times(NamedTuple):
    """When a run began, by its own clock, and what is young to it."""

    started_ms: int
    cutoff_ms: int


class Surveyed:
    """The heads that a run goes by: those of the survey, and later ones that were checked."""

    def __init__(self, started_ms: int, pointers: Iterable[Pointer] = ()) -> None:
        self.started_ms = started_ms
        self._heads: dict[str, dict[str, int]] = {}
        self.take(pointers)

    def take(self, pointers: Iterable[Pointer]) -> None:
        """Add pointers of a survey, as they were when it looked at them."""
        for one in pointers:
            self._heads.setdefault(one.realm, {})[one.name] = one.value

    async def check(self, store: Store, realms: Iterable[str]) -> None:
        """Look at all that was committed to these realms since the last look; `ClockRefused` if one
        of the commits is older than this run."""
        for realm in realms:
            known = self._heads.setdefault(realm, {})
            async for batch in store.backend.scan_pointers(realm):
                for one in batch:
                    before = known.get(one.name, EMPTY)
                    if one.value not in {EMPTY, before}:
                        await self._check_since(store, one, before)
                        known[one.name] = one.value

    async def _check_since(self, store: Store, pointer: Pointer, before: int) -> None:
        """Walk from a pointer's head back to an earlier one, or to the first commit."""
        ids: tuple[int, ...] = (pointer.value,)
        while ids:
            for id in ids:
                if id == before:
                    return
                self._check_age(pointer, id)
            head = await read_head(store, pointer.realm, ids[-1])
            if head is None:
                await _check_gone(store, pointer)
            ids = head.tail if head is not None else ()

    def _check_age(self, pointer: Pointer, commit: int) -> None:
        behind_ms = self.started_ms - time_ms(commit)
        if behind_ms > CLOCK_BEHIND_MS_MAX:
            raise ClockRefused(
                "nothing more is deleted",
                why=f"a commit to realm {pointer.realm} was made meanwhile, and its time is "
                f"{behind_ms // 1000:,} s before this sweep began: this machine's clock is ahead "
                "of those of the writers, or a node was stopped while it committed",
                fix="Synchronise the clocks (NTP) and sweep again",
            )


async def _check_gone(store: Store, pointer: Pointer) -> None:
    """Refuse a log that was cut, unless the pointer is gone too: then its realm is being purged."""
    [now] = await store.backend.read_pointers([PointerKey(pointer.realm, pointer.name)])
    if now is not None:
        raise ObjectNotFound(
            f"what was committed to {pointer.name!r} of realm {pointer.realm!r} cannot be checked",
            why="commits that were made since this sweep began are not kept any more",
            fix="Sweep again",
        )
