"""A machine dies at each call of its database, from the drop to the end of the purge: another one
finds all that is left to do."""

import asyncio
import random
from pathlib import Path

from headgate.purge.jobs import JobTerms
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import Crashed, Faults, FaultyBackend
from headgate.testing.kernels import SteppedClock
from tests.conftest import FULL
from tests.purge.listing import files_below, lying_below
from tests.purge.machine import Machine, Site, files_of
from tests.seeds import draw_seed

TERMS = JobTerms(lease_ms=60_000)
STEP = 1 if FULL else 8
FILES = 5
POINTS_MAX = 1_000


class Mortality(Faults):
    """Counts what a process asks its database, and lets it die before or after a call."""

    def __init__(self) -> None:
        super().__init__()
        self.points = 0
        self._last = POINTS_MAX

    def begin(self, last: int) -> None:
        """From now on so many points are survived."""
        self.points, self._last = 0, last

    @property
    def is_dead(self) -> bool:
        return self.points > self._last

    async def reach(self, point: str) -> None:
        self.points += 1
        if self.is_dead:
            raise Crashed(point)


async def mortal_machine(site: Site, mortality: Mortality) -> Machine:
    """A machine that dies when it is told to; all others have the same database, and live."""
    rig, good = site.world.rig, site.world.rig.backend
    rig.backend = CountingBackend(FaultyBackend(rig.memory, mortality))
    machine = await site.machine(TERMS)
    rig.backend = good
    return machine


async def drop_and_purge(machine: Machine) -> None:
    """As far as it lives to do it."""
    drop = machine.node.delete("namespaces/a/tables/t?purgeRequested=true")
    for work in (drop, machine.work()):
        await asyncio.gather(asyncio.ensure_future(work), return_exceptions=True)


async def purge_what_is_left(machine: Machine) -> None:
    """Look for jobs for two leases, as often as it takes."""
    clock = machine.node.kernel.clock
    assert isinstance(clock, SteppedClock)
    for _ in range(3):
        await machine.work()
        clock.advance(TERMS.lease_ms)


async def test_a_machine_that_dies_at_any_call_leaves_nothing_behind(site: Site) -> None:
    """The table is there with all its files, or it is dropped and nothing is left of it: its name
    and its place are free."""
    chance = random.Random(draw_seed("crash points"))
    living = await site.machine(TERMS)
    bystander = await living.make("bystander", FILES)
    untouched = files_of(bystander)
    place = Path(site.world.warehouse, "a", "place")
    last, fates = chance.randrange(STEP), set[bool]()
    while True:
        await living.make("t", FILES, str(place))
        files = files_below(place)
        mortality = Mortality()
        dying = await mortal_machine(site, mortality)
        mortality.begin(last)
        await drop_and_purge(dying)
        survived = not mortality.is_dead
        await purge_what_is_left(living)

        assert await living.inspector.all_live() == [], last
        is_there = await living.node.head("namespaces/a/tables/t") == 204
        fates.add(is_there)
        assert files_below(place) == (files if is_there else set()), last
        assert is_there or lying_below(place) == set(), last
        if is_there:
            await living.drop()
            await purge_what_is_left(living)
        mortality.begin(POINTS_MAX)  # for a decent end
        if survived:
            break
        last += STEP

    print(f"dead at {last // STEP} points")
    assert fates == {True, False}
    assert last > 30
    assert files_of(bystander) == untouched
