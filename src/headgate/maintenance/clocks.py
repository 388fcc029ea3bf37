"""Whether the clock of a sweep may be trusted.

What is young is told by the clock of whoever sweeps. If that is ahead of those of the writers by
more than the grace, rows of a commit that was made after the heads were looked at are not young.
Nobody can tell a clock that is ahead before somebody writes; so heads are read once more before
anything is deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headgate.errors import ClockRefused
from headgate.ids import time_ms
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, Pointer, PointerKey
from headgate.limits import CHANGES_POINTERS_AT_ONCE, CLOCK_BEHIND_MS_MAX


class Times(NamedTuple):
    """When a run began, by its own clock, and what is young to it."""

    started_ms: int
    cutoff_ms: int


class Surveyed(NamedTuple):
    """What a run goes by."""

    started_ms: int
    heads: Mapping[str, Sequence[Pointer]]
    """The pointers of realms, as they were when it looked at them."""

    async def check(self, backend: Backend, realms: Iterable[str]) -> None:
        """`ClockRefused` if a head of these realms moved meanwhile and is older than this run."""
        before = {
            PointerKey(one.realm, one.name): one.value
            for realm in realms
            for one in self.heads.get(realm, ())
        }
        keys = list(before)
        for at in range(0, len(keys), CHANGES_POINTERS_AT_ONCE):
            some = keys[at : at + CHANGES_POINTERS_AT_ONCE]
            for key, value in zip(some, await backend.read_pointers(some), strict=True):
                if value is not None and value not in {EMPTY, before[key]}:
                    self._check_new(key, value)

    def _check_new(self, key: PointerKey, head: int) -> None:
        behind_ms = self.started_ms - time_ms(head)
        if behind_ms > CLOCK_BEHIND_MS_MAX:
            raise ClockRefused(
                "nothing more is deleted",
                why=f"a commit to realm {key.realm} was made meanwhile, {behind_ms // 1000:,} s "
                "before this sweep began: this machine's clock is ahead of those of the writers",
                fix="Synchronise the clocks (NTP) and sweep again",
            )
