"""Purges while clocks jump, leases run out and a database loses answers: they come to their end,
once."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from headgate.errors import BackendUnavailable, HeadgateError
from headgate.limits import LEASE_RENEW_MS
from headgate.purge.claims import row_of
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.testing.faults import Fault, Faults
from headgate.testing.kernels import SteppedClock, turns
from tests.conftest import FULL
from tests.purge.faulty_files import Trouble
from tests.purge.listing import local_path, lying_below
from tests.purge.machine import Machine, Site, files_of, opened_site
from tests.purge.pauses import Pause
from tests.seeds import draw_seed
from tests.unit.catalog.lakes import new_table

LEASE_MS = 60_000
DAY_MS = 86_400_000
TEN_YEARS_MS = 3_650 * DAY_MS
TERMS = JobTerms(lease_ms=LEASE_MS, backoff_max_ms=10 * LEASE_MS, max_attempts=1_000)
LOOKS_MAX = 200
PURGES = 200 if FULL else 20
SPOILED = (
    Fault.LOST_BEFORE,
    Fault.LOST_AFTER,
    Fault.LATE,
    Fault.DUPLICATE,
    Fault.UNAVAILABLE,
)


async def looks_to_the_end(machine: Machine, job: int) -> int:
    """Let a machine look for jobs now and then, until this one has succeeded."""
    for number in range(1, LOOKS_MAX + 1):
        await machine.work()
        with suppress(HeadgateError):  # a database may be in trouble
            row = (await machine.find(job)).row
            if row is not None and row.state == State.SUCCEEDED:
                return number
        clock = machine.node.kernel.clock
        assert isinstance(clock, SteppedClock)
        clock.advance(LEASE_MS)
        await turns(20)
    raise AssertionError(row)


@pytest.mark.parametrize("jump_ms", [60_000, DAY_MS, TEN_YEARS_MS])
async def test_a_clock_that_jumps_midway_loses_no_purge(site: Site, jump_ms: int) -> None:
    """Whatever the hands show: the table's files go, and no others."""
    clock = SteppedClock(site.world.rig.clock.wall_ms())
    trouble = Trouble()
    machine = await site.machine(TERMS, clock, trouble)
    made = await machine.make()
    files = files_of(made)
    job = await machine.drop()

    def jump(_location: str) -> None:
        if len(trouble.deleted) == 30:
            clock.jump(jump_ms)

    trouble.on_delete = jump
    await looks_to_the_end(machine, job)

    assert set(map(Path, trouble.deleted)) == files
    assert lying_below(local_path(made.location)) == set()


async def test_a_time_that_a_wrong_clock_named_is_not_waited_for(site: Site) -> None:
    """A machine whose clock is ten years ahead says when a job is tried again, and is gone."""
    start_ms, trouble = site.world.rig.clock.wall_ms(), Trouble(expires_after=0)
    clock = SteppedClock(start_ms)
    wrong = await site.machine(TERMS, clock, trouble)
    right = await site.machine(TERMS, SteppedClock(start_ms), Trouble())
    made = await right.make()
    job = await right.drop()
    clock.jump(TEN_YEARS_MS)
    clock.follow()
    clock.advance(LEASE_RENEW_MS)
    await turns(50)  # it renews the lease of its node
    await wrong.work()
    await wrong.close()
    assert (await right.row(job)).next_attempt_ms > start_ms + TEN_YEARS_MS

    looks = await looks_to_the_end(right, job)
    assert looks * LEASE_MS <= 2 * TERMS.backoff_max_ms
    assert lying_below(local_path(made.location)) == set()


async def out_of_reach(*_arguments: object, **_more: object) -> None:
    raise BackendUnavailable("The database does not answer")


async def test_a_worker_that_cannot_renew_its_lease_stops(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is out of reach for one machine: another one finishes its purge."""
    pause, start_ms = Pause(after=20), site.world.rig.clock.wall_ms()
    cut_off = await site.machine(TERMS, SteppedClock(start_ms), Trouble(before_check=pause))
    other = await site.machine(TERMS, SteppedClock(start_ms), Trouble())
    made = await cut_off.make()
    job = await cut_off.drop()
    cut_off.workers.wake()
    await pause.began()
    await other.work()
    monkeypatch.setattr(cut_off.node.kernel.store, "update", out_of_reach)
    clock = cut_off.node.kernel.clock
    assert isinstance(clock, SteppedClock)
    for _ in range(LEASE_MS // 1_000):
        clock.advance(1_000)
        await turns(20)
    pause.end()
    await cut_off.workers.idle()
    assert len(cut_off.trouble.deleted) == 20
    assert (await other.row(job)).owner == "machine-0"

    await looks_to_the_end(other, job)
    row = await other.row(job)
    assert (row.owner, row.attempts) == ("machine-1", 1)
    assert len(other.trouble.deleted) == made.files - 20
    assert lying_below(local_path(made.location)) == set()


async def test_a_database_that_loses_answers_loses_no_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests and answers are lost, doubled and late at every step: all files go, the
    place is free, and the job has ended."""
    faults = Faults(draw_seed("bad database"), **dict.fromkeys(SPOILED, 0.03))
    faults.active = False
    place = tmp_path / "warehouse" / "a" / "place"
    async with opened_site(tmp_path, monkeypatch, faults) as site:
        machine = await site.machine(TERMS)
        await machine.node.namespace("a")
        for _ in range(PURGES):
            new = new_table("t", location=str(place))
            while (await machine.node.post("namespaces/a/tables", new)).status == 503:
                site.world.rig.clock.advance(1_000)  # its lease of ids ended, and is renewed
                await asyncio.sleep(0)
            job = await machine.drop()
            faults.active = True
            await looks_to_the_end(machine, job)
            faults.active = False
            await faults.settle()
            await machine.work()
            live = (await machine.find(job)).live

            assert lying_below(place) == set()
            assert await machine.inspector.all_live() == []
            for left in (await machine.claims.rows([live])).values():
                assert row_of(left).state == State.SUCCEEDED  # it goes with the job's history
        assert {*faults.injected} >= {*SPOILED}
