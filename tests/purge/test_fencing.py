"""Two workers never delete for the same job at the same time, however late one of them wakes up."""

import asyncio
import itertools
import os
import signal
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from headgate.catalog.purging import LiveJob
from headgate.clock import SystemClock
from headgate.purge.claims import Lease
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.kernels import SteppedClock
from tests.purge.cluster import hasty, slow_children
from tests.purge.customers import Customer
from tests.purge.faulty_files import Trouble
from tests.purge.lake import in_the_end
from tests.purge.listing import local_path, lying_below
from tests.purge.machine import Machine, Site, files_of
from tests.purge.pauses import Pause

LEASE_MS = 60_000
STOPPED_LEASE_MS = 4_500
SHORT_LEASE_MS = 1_200
MANY_FILES = 6_000


class Unlinked(NamedTuple):
    """A line of the log of a slow child."""

    at: float
    pid: int
    name: str


async def paused_machine(site: Site, terms: JobTerms, pause: Pause) -> Machine:
    """A machine with a clock of its own whose child is held up."""
    clock = SteppedClock(site.world.rig.clock.wall_ms())
    return await site.machine(terms, clock, Trouble(before_check=pause))


def clock_of(machine: Machine) -> SteppedClock:
    clock = machine.node.kernel.clock
    assert isinstance(clock, SteppedClock)
    return clock


async def test_a_worker_that_was_paused_deletes_nothing_when_another_has_its_job(
    site: Site,
) -> None:
    """It slept through its lease in the middle of a purge, and finds the fence closed."""
    pause, terms = Pause(after=20), JobTerms(lease_ms=LEASE_MS)
    sleeper = await paused_machine(site, terms, pause)
    other = await site.machine(terms, SteppedClock(site.world.rig.clock.wall_ms()), Trouble())
    made = await sleeper.make()
    job = await sleeper.drop()
    sleeper.workers.wake()
    await pause.began()
    await other.work()
    assert (await other.row(job)).owner == "machine-0"

    clock_of(other).advance(LEASE_MS)
    await other.work()
    clock_of(sleeper).advance(LEASE_MS)
    pause.end()
    await sleeper.workers.idle()
    row = await other.row(job)

    assert (row.state, row.owner, row.attempts) == (State.SUCCEEDED, "machine-1", 1)
    assert len(sleeper.trouble.deleted) == 20
    assert len(other.trouble.deleted) == made.files - 20
    assert lying_below(local_path(made.location)) == set()


async def test_a_worker_whose_heart_beats_keeps_its_job(site: Site) -> None:
    """However long a storage takes for one file: the heartbeat is a task of its own."""
    pause, terms = Pause(after=20), JobTerms(lease_ms=LEASE_MS)
    slow = await paused_machine(site, terms, pause)
    other = await site.machine(terms, SteppedClock(site.world.rig.clock.wall_ms()), Trouble())
    made = await slow.make()
    job = await slow.drop()
    slow.workers.wake()
    await pause.began()
    for _ in range(12):
        before = (await other.find(job)).version
        for machine in (slow, other):
            clock_of(machine).advance(LEASE_MS / 3)
        while (await other.find(job)).version == before:
            await asyncio.sleep(0)
        await other.work()
    pause.end()
    await slow.workers.idle()
    row = await other.row(job)

    assert (row.state, row.owner) == (State.SUCCEEDED, "machine-0")
    assert other.trouble.deleted == []
    assert len(slow.trouble.deleted) == made.files


class Drowsy(SystemClock):
    """Each fourth heartbeat comes much too late."""

    def __init__(self) -> None:
        super().__init__()
        self._naps = itertools.count(1)

    async def sleep(self, seconds: float) -> None:
        if round(3_000 * seconds) == SHORT_LEASE_MS and next(self._naps) % 4 == 0:
            seconds = 2 * SHORT_LEASE_MS / 1_000
        await super().sleep(seconds)


class Deletions:
    """Who deleted, in which order: each claim of a machine is somebody else."""

    def __init__(self) -> None:
        self.by_table: dict[str, list[tuple[int, int]]] = {}
        self._claims: Counter[int] = Counter()

    def watch(self, machine: Machine, number: int) -> None:
        claim = machine.claims.claim

        async def counted(live: LiveJob) -> Lease | None:
            lease = await claim(live)
            self._claims[number] += lease is not None
            return lease

        machine.claims.claim = counted  # type: ignore[method-assign]
        machine.trouble.on_delete = lambda location: self._note(location, number)

    def _note(self, location: str, number: int) -> None:
        table = location.rpartition("/a/")[2][:2]
        self.by_table.setdefault(table, []).append((number, self._claims[number]))


async def test_machines_that_doze_off_never_delete_together(site: Site) -> None:
    """Three of them on two tables, with real clocks: each claim deletes in one go, or stops."""
    terms = JobTerms(lease_ms=SHORT_LEASE_MS, worker_threads=1, delete_threads=1)
    deletions = Deletions()
    for number in range(3):
        trouble = Trouble(pause_seconds=0.02)
        deletions.watch(await site.machine(terms, Drowsy(), trouble), number)
    first = site.machines[0]
    tables = [await first.make(f"t{number}", 120) for number in range(2)]
    jobs = [await first.drop(f"t{number}") for number in range(2)]
    while {(await first.find(job)).view.state for job in jobs} != {State.SUCCEEDED}:
        for machine in site.machines:
            machine.workers.wake()
        await asyncio.sleep(0.05)
    for machine in site.machines:
        await machine.workers.idle()

    assert not any(map(files_of, tables))
    for order in deletions.by_table.values():
        turns = [who for who, _ in itertools.groupby(order)]
        assert len(turns) == len(set(turns)), turns
    assert sum(len(set(order)) for order in deletions.by_table.values()) > len(jobs)
    assert sorted(deletions.by_table) == ["t0", "t1"]


def test_the_child_of_a_stopped_server_stops_before_another_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server gets SIGSTOP, its child goes on to the end of the lease, and no further."""
    log = tmp_path / "unlinked"
    for name, value in slow_children(log, seconds=0.001).items():
        monkeypatch.setenv(name, value)
    terms = hasty(lease_timeout_ms=STOPPED_LEASE_MS, delete_threads_per_job=1)
    options = ("--data", str(tmp_path / "data"), *terms)
    with (
        HeadgateServer(tmp_path / "stopped", *options) as stopped,
        HeadgateServer(tmp_path / "other", *options) as other,
        closing(Customer(stopped, "main")) as customer,
        closing(Customer(other, "main")) as witness,
    ):
        folder = customer.make("t", MANY_FILES)
        customer.drop("t", folder)
        assert in_the_end(lambda: len(unlinked(log)) > 100)
        os.kill(stopped.pid, signal.SIGSTOP)
        stopped_at = time.monotonic()
        try:
            assert in_the_end(lambda: len({one.pid for one in unlinked(log)}) == 2)
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        assert in_the_end(lambda: witness.jobs() == [("t", "SUCCEEDED")])
        assert lying_below(folder) == set()

    done = unlinked(log)
    [one, two] = dict.fromkeys(line.pid for line in done)
    last = max(line.at for line in done if line.pid == one)
    first = min(line.at for line in done if line.pid == two)
    assert stopped_at < last < first


def unlinked(log: Path) -> list[Unlinked]:
    """What slow children deleted so far."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [
        Unlinked(float(at), int(pid), name)
        for at, pid, name in (line.split(" ", 2) for line in lines)
    ]
