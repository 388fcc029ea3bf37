"""What happens to nodes, machines and the network of a simulation, drawn from its seed."""

import random
from collections.abc import Callable
from typing import Protocol

from headgate.testing.simulation.loop import SimulatedLoop
from headgate.testing.simulation.machines import Machine
from headgate.testing.simulation.network import Network
from headgate.testing.simulation.plans import Habits, Plan
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.weather import CALM, SEASONS, log_uniform

SHORT_SECONDS = (0.01, 5.0)
MIDDLE_SECONDS = (5.0, 120.0)
LONG_GRACES = (1.05, 3.0)
LURKING_GRACES = (1.05, 8.0)
AWAKE_MIN = 2
"""Processes that are left alone, mostly."""
DRIFT_MAX = 0.02
SURPRISE_REQUESTS = (5, 120)
"""Of a sweep, before a process goes on that lurked for it."""
CHANGING = frozenset({"commit", "create_pointers", "delete", "delete_pointers"})
AMBUSHED = CHANGING | {"fetch", "update", "insert", "remove"}
"""Requests before which a process may be stopped; some are rarely worth it."""
LURKING = frozenset({"commit", "fetch"})
SURVEYING = frozenset({"scan_pointers"})
"""Requests of sweeps, at which others may wake up."""


class Fleet(Protocol):
    """The processes that troubles strike."""

    running: dict[int, Process]
    """By the number of their machine."""
    machines: list[Machine]
    habits: Habits

    def start(self, number: int) -> None:
        """Start a process on this machine."""
        ...


class Surprise:
    """A process that goes on after so many requests of a sweep."""

    def __init__(self, requests: int, process: Process) -> None:
        self.requests = requests
        self.process = process


class Troubles:
    """Strikes now and then."""

    def __init__(
        self, loop: SimulatedLoop, network: Network, fleet: Fleet, plan: Plan, seed: str
    ) -> None:
        self.struck: dict[str, int] = {}
        self._loop = loop
        self._network = network
        self._fleet = fleet
        self._plan = plan
        self._chance = random.Random(f"troubles/{seed}")
        self._kinds: tuple[tuple[float, Callable[[int], None]], ...] = (
            (plan.stops, self._stop),
            (plan.suspensions, self._suspend),
            (plan.kills, self._kill),
            (plan.jumps, self._jump),
            (plan.drifts, self._drift),
            (plan.seasons, self._change_weather),
            (plan.cuts, self._cut_off),
        )
        self._is_over = False
        self._lurking: dict[Process, float] = {}
        """When each of these may go on, if a sweep begins."""
        self._surprises: dict[Process, list[Surprise]] = {}
        """By the process that sweeps."""
        network.ambush = self._ambush

    def strike(self) -> None:
        """Let something happen, or not."""
        spot = self._chance.random()
        for rate, happen in self._kinds:
            if spot < rate:
                self._count(happen.__name__[1:])
                happen(self._chance.randrange(len(self._fleet.machines)))
                return
            spot -= rate

    def end(self) -> None:
        """Heal everything, and strike no more."""
        self._is_over = True
        self._network.weather = CALM
        self._network.cut_off.clear()
        now = self._loop.now
        for number, machine in enumerate(self._fleet.machines):
            machine.resume(now)
            machine.set_rate(now, 1.0)
            machine.step_wall(now, -machine.ahead_seconds(now))
            process = self._fleet.running.get(number)
            if process is not None:
                self._loop.resume_process(process)
        self._loop.look_at_timers()

    def _count(self, kind: str) -> None:
        self.struck[kind] = self.struck.get(kind, 0) + 1
        self._loop.note(len(self.struck) + sum(self.struck.values()))

    def _duration(self) -> float:
        spot = self._chance.random()
        if spot < 0.4:
            return log_uniform(self._chance, *SHORT_SECONDS)
        if spot < 0.6:
            return log_uniform(self._chance, *MIDDLE_SECONDS)
        return self._plan.grace_seconds * self._chance.uniform(*LONG_GRACES)

    def _later(self, seconds: float, happen: Callable[..., None], *args: object) -> None:
        when = self._loop.now + seconds
        context = self._loop.world.context
        self._loop.call_at(when, self._unless_over, happen, *args, context=context)

    def _unless_over(self, happen: Callable[..., None], *args: object) -> None:
        if not self._is_over:
            happen(*args)

    def _ambush(self, process: Process, verb: str) -> None:
        """Stop a process right before a request leaves it, or let others go on at that moment."""
        if self._is_over or not self._plan.ambushes:
            return
        if process in self._surprises:
            self._count_down(process)
        chance, habits = self._chance, self._fleet.habits
        favoured = verb in CHANGING
        if habits.ambushed_reads:  # those between two attempts of a batch
            favoured = verb == "fetch" and process.has_staged
        if verb == "commit":
            process.has_staged = False
        if verb in AMBUSHED:
            if chance.random() < (habits.ambushes if favoured else habits.ambushes / 10):
                self._count("ambush")
                self._stop_process(process, lurks=verb in LURKING and chance.random() < 0.8)
        elif verb in SURVEYING and process.is_sweeping:
            self._surprise(process)

    def _stop(self, _number: int) -> None:
        """Stop the process that ran last: it is in the middle of something."""
        process = self._loop.last
        if process in self._fleet.running.values() and process is not None:
            self._stop_process(process)

    def _stop_process(self, process: Process, *, lurks: bool = False) -> None:
        """Stop a process for a while. One that lurks goes on when a sweep begins to look around,
        after more than the grace."""
        if process.is_stopped:
            return
        self._loop.stop_process(process)
        if self._is_needed(process):
            seconds = log_uniform(self._chance, *SHORT_SECONDS)
        elif lurks:
            grace = self._plan.grace_seconds
            self._lurking[process] = self._loop.now + grace * LURKING_GRACES[0]
            seconds = grace * LURKING_GRACES[1]
        else:
            seconds = self._duration()
        self._later(seconds, self._go_on, process)

    def _is_needed(self, process: Process) -> bool:
        """Whether nothing more would happen without this process, mostly: it sweeps, or hardly
        another one is awake."""
        awake = sum(not one.is_stopped for one in self._fleet.running.values())
        return (awake < AWAKE_MIN or process.is_sweeping) and self._chance.random() < 0.8

    def _surprise(self, sweeping: Process) -> None:
        for process, ready in list(self._lurking.items()):
            if process is not sweeping and ready <= self._loop.now and self._chance.random() < 0.5:
                self._count("surprise")
                del self._lurking[process]
                requests = self._chance.randrange(*SURPRISE_REQUESTS)
                self._surprises.setdefault(sweeping, []).append(Surprise(requests, process))

    def _count_down(self, sweeping: Process) -> None:
        """Let those go on that wait for this request of a sweep."""
        waiting = self._surprises.get(sweeping, [])
        for one in list(waiting):
            one.requests -= 1
            if one.requests <= 0:
                waiting.remove(one)
                self._go_on(one.process)

    def _go_on(self, process: Process) -> None:
        self._lurking.pop(process, None)
        if not process.is_dead and not process.machine.is_suspended:
            self._loop.resume_process(process)

    def _suspend(self, number: int) -> None:
        busy = [key for key, one in self._fleet.running.items() if one is self._loop.last]
        number = busy[0] if busy and self._chance.random() < 0.5 else number
        machine, process = self._fleet.machines[number], self._fleet.running.get(number)
        if process is None or process.is_stopped:
            return
        self._loop.stop_process(process)
        machine.suspend(self._loop.now)
        self._loop.look_at_timers()
        self._later(self._duration(), self._wake, number)

    def _wake(self, number: int) -> None:
        self._fleet.machines[number].resume(self._loop.now)
        process = self._fleet.running.get(number)
        if process is not None:
            self._loop.resume_process(process)

    def _kill(self, number: int) -> None:
        process = self._fleet.running.pop(number, None)
        if process is not None:
            self._network.cut_off.discard(process)
            self._loop.kill_process(process)
            self._later(self._duration() / 4, self._fleet.start, number)

    def _jump(self, number: int) -> None:
        """Set a clock forward or back; most are set right later."""
        machine, chance = self._fleet.machines[number], self._chance
        seconds = log_uniform(chance, 1.0, self._plan.jump_seconds_max)
        forward = chance.random() < 0.6
        machine.step_wall(self._loop.now, seconds if forward else -min(seconds, 86_400.0))
        if chance.random() < 0.8:
            self._later(self._duration(), self._set_right, number)

    def _set_right(self, number: int) -> None:
        machine = self._fleet.machines[number]
        machine.step_wall(self._loop.now, -machine.ahead_seconds(self._loop.now))

    def _drift(self, number: int) -> None:
        rate = 1.0 + self._chance.uniform(-DRIFT_MAX, DRIFT_MAX)
        self._fleet.machines[number].set_rate(self._loop.now, rate)
        self._loop.look_at_timers()

    def _change_weather(self, _number: int) -> None:
        self._network.weather = self._chance.choice(SEASONS)

    def _cut_off(self, number: int) -> None:
        process = self._fleet.running.get(number)
        if process is not None:
            self._network.cut_off.add(process)
            self._later(self._duration() / 4, self._network.cut_off.discard, process)
