"""Who works on a job: claimed by compare-and-swap on its row, kept by heartbeats.

No two clocks are compared. Whoever wants a job that another worker has takes it when it has seen
the same version of the row for the whole lease, by its own stopwatch; and the other one stops
earlier than that after the last heartbeat it sent, by its own.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from headgate.catalog.purging import LiveJob
from headgate.clock import NEVER, deadline_from
from headgate.errors import BackendUnavailable, LeaseLost, OutcomeUnknown, Unavailable
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import expect
from headgate.kernel.records import Outcome
from headgate.kernel.store import Versioned
from headgate.limits import FETCH_IDS_MAX, RESOLVE_TRIES_MAX
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, JobTerms, claimed, new_row

NO_ROW = 0
"""Stands for the version of a row that is not there."""
MARGIN = 6
"""A holder stops a part of the lease before others may take it: one of this many."""
RESOLVING_PAUSE_SECONDS = 0.05
REST_SECONDS_MAX = 60.0
"""That a job is not looked at, since an operator may change it on another server."""
REST_SECONDS_PER_JOB = 0.001
"""The same for each job there is: few are looked at all the time."""
_MS = 1_000

Key = tuple[str, int]


class Sighting(NamedTuple):
    """Which version of a row was seen, and when it was seen for the first time."""

    version: int
    at: float


class Claims:
    """The claims of one process."""

    def __init__(self, kernel: Kernel, terms: JobTerms, owner: str) -> None:
        self.owner = owner
        self._kernel = kernel
        self._terms = terms
        self._seen: dict[Key, Sighting] = {}
        self._asleep: dict[Key, float] = {}

    async def rows(self, jobs: Sequence[LiveJob]) -> dict[Key, Versioned]:
        """The rows of these jobs that there are."""
        found: dict[Key, Versioned] = {}
        for realm in dict.fromkeys(live.realm for live in jobs):
            ids = [live.id for live in jobs if live.realm == realm]
            for start in range(0, len(ids), FETCH_IDS_MAX):
                part = ids[start : start + FETCH_IDS_MAX]
                rows = await self._kernel.store.read_versioned(realm, part)
                found |= {(realm, id): row for id, row in rows.items()}
        return found

    async def due(self, jobs: Sequence[LiveJob]) -> list[LiveJob]:
        """Those of these jobs that can be claimed now, or finished.

        What cannot be due for a while is not read meanwhile: there may be very many.
        """
        now = self._kernel.clock.seconds()
        awake = [live for live in jobs if self._asleep.get(key_of(live), 0.0) <= now]
        rows = await self.rows(awake)
        due: list[LiveJob] = []
        for live in awake:
            found = rows.get(key_of(live))
            if self._is_due(live, found):
                due.append(live)
            else:
                row = row_of(found) if found else None
                self._asleep[key_of(live)] = now + self._rest_seconds(live, row)
        return due

    async def claim(self, live: LiveJob) -> "Lease | None":
        """Take a job that is due; None if it is not, or another worker was faster.

        Of a job that has ended, the lease only tells what its row says: finishing is left.
        """
        found = (await self.rows([live])).get(key_of(live))
        if not self._is_due(live, found):
            return None
        if found is not None and row_of(found).state in _ENDED:
            return Lease(self._kernel, self._terms, live, found)
        clock = self._kernel.clock
        before = row_of(found) if found else None
        row = claimed(before, self.owner, clock.wall_ms(), self._terms.lease_ms)
        lease = Lease(self._kernel, self._terms, live, found or Versioned(row, NO_ROW))
        try:
            await lease.beat(row)
        except LeaseLost:
            return None
        return lease

    async def explain(self, live: LiveJob, why: str) -> None:
        """Say of a job that nobody has tried why it is left alone here."""
        row = msgspec.structs.replace(new_row(), error=why, updated_ms=self._kernel.clock.wall_ms())
        with suppress(OutcomeUnknown):  # it is only a word to operators
            await self._kernel.store.insert(live.realm, live.id, row, self._kernel.ids.next())

    def forget_others(self, jobs: Iterable[LiveJob]) -> None:
        """Forget what was seen of all jobs but these."""
        kept = {key_of(live) for live in jobs}
        self._seen = {key: sighting for key, sighting in self._seen.items() if key in kept}
        self._asleep = {key: until for key, until in self._asleep.items() if key in kept}

    def _is_due(self, live: LiveJob, found: Versioned | None) -> bool:
        seen_ms = self._seen_ms(live, found.version if found else NO_ROW)
        row = row_of(found) if found else None
        now_ms = self._kernel.clock.wall_ms()
        if row is None or row.state == State.PENDING:
            if live.job.is_in_grace(now_ms):
                # A clock that was set back must not make it wait for years.
                return seen_ms >= live.job.not_before_ms - live.job.created_ms
            is_next = row is None or now_ms >= row.next_attempt_ms
            return is_next or seen_ms >= self._terms.backoff_max_ms
        if row.state == State.RUNNING or (row.state == State.CANCELLED and row.owner):
            return seen_ms >= max(self._terms.lease_ms, row.lease_ms)
        return row.state in _ENDED

    def _rest_seconds(self, live: LiveJob, row: JobRow | None) -> float:
        """For how long a job that is not due need not be looked at."""
        longest = min(REST_SECONDS_PER_JOB * len(self._seen), REST_SECONDS_MAX)
        row = row or new_row()
        if row.state == State.DEAD_LETTER:
            return longest
        if row.state == State.PENDING:
            grace_ms = 0 if live.job.begun else live.job.not_before_ms
            left_ms = max(row.next_attempt_ms, grace_ms) - self._kernel.clock.wall_ms()
            return min(max(left_ms, 0) / _MS, longest)
        return 0.0  # else nobody sees for how long its worker is silent

    def _seen_ms(self, live: LiveJob, version: int) -> float:
        """For how long the row was seen in this version, by our own stopwatch."""
        now, key = self._kernel.clock.seconds(), key_of(live)
        sighting = self._seen.get(key)
        if sighting is None or sighting.version != version:
            sighting = self._seen[key] = Sighting(version, now)
        return (now - sighting.at) * _MS


_ENDED = (State.SUCCEEDED, State.CANCELLED)


class Lease:
    """A job that this process works on, and its row as it was written last."""

    def __init__(self, kernel: Kernel, terms: JobTerms, live: LiveJob, found: Versioned) -> None:
        self.live = live
        self.row = row_of(found)
        self.deadline = NEVER
        """Until when the job is ours."""
        self._kernel = kernel
        self._usable_ms = terms.lease_ms - terms.lease_ms // MARGIN
        self._version = found.version
        self._sent = 0.0
        self._doubtful: set[int] = set()  # versions of writes whose outcome nobody knows
        self._writing = asyncio.Lock()

    def holds(self) -> bool:
        """Whether no other worker can have the job."""
        return not self.deadline.has_passed(self._kernel.clock)

    def age(self) -> float:
        """Seconds since the last heartbeat was sent."""
        return self._kernel.clock.seconds() - self._sent

    async def beat(self, row: JobRow) -> None:
        """Write the row and keep the job; `LeaseLost` if it is not ours any more."""
        async with self._writing:
            await self._write(row)

    async def end(self, row: JobRow) -> None:
        """Write the row as it stays; tried until it is certain, or the lease is over."""
        async with self._writing:
            while True:
                try:
                    await self._write(row)
                    return
                except Unavailable as error:
                    if isinstance(error, LeaseLost) or not self.holds():
                        raise
                    await self._kernel.clock.sleep(RESOLVING_PAUSE_SECONDS)

    async def current(self) -> JobRow | None:
        """The row as it is now, whoever wrote it."""
        found = await self._read()
        return row_of(found) if found else None

    async def _write(self, row: JobRow) -> None:
        clock = self._kernel.clock
        for _ in range(RESOLVE_TRIES_MAX):
            sent = deadline_from(clock)
            if await self._swap(row):
                self.row = row
                self._sent = sent.seconds
                self.deadline = sent.after(self._usable_ms / _MS)
                return
            await clock.sleep(RESOLVING_PAUSE_SECONDS)
        raise BackendUnavailable(
            f"job {self.live.id} cannot be written", why="the database's answers are lost"
        )

    async def _swap(self, row: JobRow) -> bool:
        """Whether the row was written; False if it may be tried again, as it is still ours."""
        version = self._kernel.ids.next()
        self._doubtful.add(version)  # whoever is cancelled here never hears what came of it
        try:
            outcome = await self._send(row, version)
        except OutcomeUnknown:
            outcome = Outcome.LOST  # it may even still happen
        if outcome is Outcome.LOST:
            found = await self._read()
            now = found.version if found else NO_ROW
            if now != self._version and now not in self._doubtful:
                raise self._lost()
            self._version = now
            if now != version:
                return False
        self._version = version
        self._doubtful.clear()  # whatever was sent before expects a version that is gone
        return True

    async def _send(self, row: JobRow, version: int) -> Outcome:
        store, live = self._kernel.store, self.live
        if self._version == NO_ROW:
            return await store.insert(live.realm, live.id, row, version)
        return await store.update(live.realm, live.id, row, expected=self._version, version=version)

    async def _read(self) -> Versioned | None:
        live = self.live
        return (await self._kernel.store.read_versioned(live.realm, [live.id])).get(live.id)

    def _lost(self) -> LeaseLost:
        return LeaseLost(
            f"job {self.live.id} is not worked on here any more",
            why="its row was changed by somebody else, or was not renewed in time",
        )


def key_of(live: LiveJob) -> Key:
    """Names a job among those of all realms."""
    return live.realm, live.id


def row_of(found: Versioned) -> JobRow:
    """The row of a job."""
    return expect(found.value, JobRow, 0)
