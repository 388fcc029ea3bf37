"""One run of a simulation: nodes that live, die and stall, and a database that must survive it."""

import gc
import itertools
import random
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple
from unittest import mock

from headgate import clock as clock_module
from headgate.ids import time_ms
from headgate.kernel.kernel import KERNEL_TYPES
from headgate.kernel.objects import ObjectTypes
from headgate.kernel.records import Swap
from headgate.testing.manual_clock import START_MS
from headgate.testing.simulation.audit import audit
from headgate.testing.simulation.changes import KNOWN
from headgate.testing.simulation.database import Database
from headgate.testing.simulation.loop import SimulatedLoop, Stuck
from headgate.testing.simulation.machines import Machine, MachineTime
from headgate.testing.simulation.network import Network, Wire
from headgate.testing.simulation.node import TYPES, Node, Surroundings
from headgate.testing.simulation.oracle import Broken, Oracle, Rule
from headgate.testing.simulation.plans import EVERYTHING, Plan, habits
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.reachability import Reachability
from headgate.testing.simulation.storage import SimulatedStorage
from headgate.testing.simulation.troubles import Troubles
from headgate.testing.simulation.weather import log_uniform

STEPS_AT_ONCE = 100
"""Between two moments at which something may happen to a node."""
STEPS_BETWEEN_CHECKPOINTS = 2_000
STEPS_BETWEEN_COLLECTIONS = 20_000
FOLLOWING_SECONDS = (0.000_5, 5.0)
"""Until a node changes what was just changed."""
LATE_FOLLOWERS = 2
"""Nodes that change it if it was changed late: that is what hides a commit."""
SETTLING_SECONDS = 7_200.0
"""For writes that are late: then none is under way any more."""
ENDING_ROUNDS, ENDING_STEPS = 20, 20_000


class Report(NamedTuple):
    """What came of a run."""

    seed: int
    steps: int
    trace: int
    seconds: float
    """That passed in the simulation."""
    counts: dict[str, int]
    broken: Broken | None

    def __str__(self) -> str:
        end = f"BROKEN: {self.broken}" if self.broken else "sound"
        return f"seed {self.seed}: {self.steps} steps, trace {self.trace:016x}, {end}"


class Simulation:
    """All of it, from one seed."""

    def __init__(
        self,
        seed: int,
        plan: Plan = EVERYTHING,
        make_wire: Callable[[Network, Process], Wire] = Wire,
    ) -> None:
        chance = random.Random(f"simulation/{seed}")
        self.seed = seed
        self.plan = plan
        is_shuffled = chance.random() < 0.5
        self.loop = SimulatedLoop(  # type: ignore[abstract]  # it has no sockets
            str(seed), is_shuffled=is_shuffled
        )
        self.database = Database()
        self.storage = SimulatedStorage()
        types = ObjectTypes((*KERNEL_TYPES, *TYPES))
        reachability = Reachability(self.database, types, KNOWN)
        self.oracle = Oracle(self.loop, self.database, reachability)
        self.database.auditor = self.oracle
        self.network = Network(self.loop, self.database, str(seed))
        self.network.is_two_step = chance.random() < 0.3
        self.network.is_torn = chance.random() < 0.2
        self.habits = habits(chance)
        self.machines = [Machine() for _ in range(plan.nodes)]
        self.running: dict[int, Process] = {}
        self.nodes: list[Node] = []
        self.troubles = Troubles(self.loop, self.network, self, plan, str(seed))
        self._make_wire = make_wire
        self._numbers = itertools.count(1)
        self._all: list[Process] = []
        self._chance = chance
        self.oracle.on_change = self._follow

    def start(self, number: int) -> None:
        """Start a process on this machine."""
        process = self.loop.start_process(f"node-{number}", self.machines[number])
        self.running[number] = process
        self._all.append(process)
        around = Surroundings(
            self._make_wire(self.network, process),
            self.oracle,
            self.storage,
            self.plan,
            self.habits,
            self._numbers.__next__,
        )
        node = Node(process, around, f"{self.seed}/{process.number}")
        self.nodes.append(node)
        self.loop.create_task(node.live(), context=process.context.copy())

    def _follow(self, swap: Swap) -> None:
        """Let some node change the same pointer soon, now and then; mostly if this one is late."""
        chance = self._chance
        late = self.loop.now - (time_ms(swap.new) - START_MS) / 1_000 > self.plan.grace_seconds / 3
        if not late and chance.random() >= self.habits.following / 2:
            return
        awake = [one for one in self.nodes if one.is_awake]
        for node in chance.sample(awake, min(len(awake), LATE_FOLLOWERS if late else 1)):
            seconds = log_uniform(chance, *FOLLOWING_SECONDS)
            when = node.process.machine.seconds(self.loop.now) + seconds
            self.loop.call_at(when, node.follow, swap.key, context=node.process.context)

    def run(self, steps: int) -> Report:
        """Let this many steps happen, or as many as it takes to break a rule."""
        was_collecting = gc.isenabled()
        gc.disable()  # finalizers run when the seed says so
        try:
            with mock.patch.object(clock_module, "time", MachineTime(self.loop.machine_time)):
                try:
                    self._run(steps)
                except Broken:
                    assert self.oracle.broken is not None
                finally:
                    self._end()
        finally:
            if was_collecting:
                gc.enable()
        return self._report()

    def _run(self, steps: int) -> None:
        for number in range(self.plan.nodes):
            self.start(number)
        while self.loop.steps < steps and self.oracle.broken is None:
            self._advance(STEPS_AT_ONCE)
            self.troubles.strike()
        if self.oracle.broken is None:
            self.oracle.check_contents()
            self._audit()

    def _audit(self) -> None:
        """Heal everything and stop all nodes; then one that is new reads everything."""
        self.troubles.end()
        for process in self.running.values():
            self.loop.kill_process(process)
        settled = self.loop.now + SETTLING_SECONDS
        with suppress(Stuck):  # nothing is under way any more
            self.loop.run_steps(ENDING_STEPS, until=settled)
        self.loop.now = max(self.loop.now, settled)
        process = self.loop.start_process("audit", Machine(self.loop.now))
        self._all.append(process)
        wire = self._make_wire(self.network, process)
        task = self.loop.create_task(
            audit(wire, self.oracle, is_writable=self.plan.must_open),
            context=process.context.copy(),
        )
        with suppress(Stuck):  # when all is done
            while not task.done():
                self.loop.run_steps(STEPS_AT_ONCE)
        if task.exception() is not None and self.oracle.broken is None:
            raise self.oracle.fail(Rule.SOUND, f"{task.exception()!r}")

    def _advance(self, steps: int) -> None:
        before = self.loop.steps
        self.loop.run_steps(steps)
        for every, happen in (
            (STEPS_BETWEEN_CHECKPOINTS, self.oracle.check_contents),
            (STEPS_BETWEEN_COLLECTIONS, gc.collect),
        ):
            if self.loop.steps // every != before // every:
                happen()

    def _end(self) -> None:
        self._steps, self._trace, self._seconds = self.loop.steps, self.loop.trace, self.loop.now
        self.oracle.is_over = self.network.is_over = True
        self.loop.finish(self._all, ENDING_ROUNDS, ENDING_STEPS)

    def _report(self) -> Report:
        oracle = self.oracle
        counts = {
            "landed": oracle.landed,
            "acknowledged": oracle.acknowledged,
            "refused": oracle.refused,
            "unknown": oracle.unknown,
            "deleted": oracle.deleted,
            "files deleted": oracle.files_deleted,
            "sweeps": sum(node.sweeps for node in self.nodes),
            "processes": len(self.nodes),
            **self.troubles.struck,
            **{f"network {fate.value}": count for fate, count in self.network.fates.items()},
        }
        return Report(self.seed, self._steps, self._trace, self._seconds, counts, oracle.broken)
