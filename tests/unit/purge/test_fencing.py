"""Two workers never delete for the same job at the same time, however they are paused."""

import asyncio
import random

import pytest

from headgate.purge.deleter import Progress
from headgate.testing.kernels import SteppedClock, turns
from tests.unit.catalog.lakes import World
from tests.unit.catalog.purges import TERMS
from tests.unit.purge.scripted import Purging

STEPS = 12
WHILES = [0.02, 0.05, 0.1, 0.2, 0.4]  # that pass at once, in leases


class PausableClock:
    """The time of all workers; who is paused does not wake up until he is let go."""

    step_ms = 0

    def __init__(self, time: SteppedClock) -> None:
        self.goes = asyncio.Event()
        self.goes.set()
        self._time = time

    def wall_ms(self) -> int:
        return self._time.wall_ms()

    def machine_ms(self) -> int:
        return self._time.machine_ms()

    def follow(self) -> None:
        self._time.follow()

    def hold(self) -> None:
        self._time.hold()

    def seconds(self) -> float:
        return self._time.seconds()

    def pause(self) -> None:
        self._time.pause()

    async def sleep(self, seconds: float) -> None:
        await self._time.sleep(seconds)
        await self.goes.wait()


class Paused:
    """Workers that begin, stop and go on when a test lets them."""

    def __init__(self, world: World) -> None:
        self.time = world.rig.clock
        self.log: list[int] = []
        """The stage of each deletion, by the order in which stages began."""
        self.clocks: list[PausableClock] = []
        self.workers: list[Purging] = []
        self._world = world

    async def add(self) -> None:
        """Another worker, which makes a step when it is told to."""
        clock = PausableClock(self.time)
        worker = Purging(await self._world.node(clock=clock))
        worker.deleter.log = self.log
        worker.deleter.scripts = [[Progress("data", step) for step in range(STEPS)]] * 100
        worker.deleter.one_by_one = True
        worker.deleter.gate.clear()
        self.clocks.append(clock)
        self.workers.append(worker)

    async def disturb(self, chance: random.Random) -> None:
        """One worker stops, goes on, looks for work or deletes something; or time passes."""
        at = chance.randrange(len(self.workers))
        match chance.choice([0, 1, 2, 2, 3, 3, 4, 4]):
            case 0:
                self.clocks[at].goes.clear()
            case 1:
                self.clocks[at].goes.set()
            case 2:
                self.time.advance(TERMS.lease_ms * chance.choice(WHILES))
            case 3:
                self.workers[at].workers.wake()
            case 4 if self.clocks[at].goes.is_set():
                self.workers[at].deleter.gate.set()
        await turns(chance.randrange(12))

    def let_go(self) -> None:
        """From now on nobody stops any more."""
        for clock, worker in zip(self.clocks, self.workers, strict=True):
            clock.goes.set()
            worker.deleter.one_by_one = False
            worker.deleter.gate.set()


@pytest.mark.parametrize("seed", range(10))
async def test_nobody_deletes_once_another_one_has_begun(world: World, seed: int) -> None:
    """Workers are paused at random, for short and for long; in the end all is done."""
    chance = random.Random(f"pauses/{seed}")
    paused = Paused(world)
    for _ in range(3):
        await paused.add()
    await paused.workers[0].node.namespace("a")
    await paused.workers[0].drop()
    for _ in range(600):
        await paused.disturb(chance)
    paused.let_go()
    while await paused.workers[0].live():
        await world.rig.pass_time(TERMS.lease_ms)
        for worker in paused.workers:
            await worker.look()

    assert paused.log == sorted(paused.log)
    assert len(set(paused.log)) >= 2
