"""An event loop in virtual time that draws from a seed which callback runs next.

Callbacks of one process run in the order in which they became ready, as asyncio promises, or in
any order if `is_shuffled`; between processes any order is possible. A callback that another one
makes ready belongs to the process of its own context, so a reply never runs in a process that is
stopped, and nothing at all runs in one that was killed.
"""

import asyncio
import heapq
import random
import sys
from asyncio.events import _set_running_loop
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, cast

from headgate.testing.simulation.machines import NEVER, Machine
from headgate.testing.simulation.processes import PROCESS, Handle, Process

STEP_SECONDS = 0.000_05
"""That one callback takes."""
_TINY_SECONDS = 0.000_001
_MASK = (1 << 64) - 1
_FACTOR = 1_099_511_628_211


class Stuck(Exception):
    """No callback is ready, and no timer will ever make one ready."""


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs one callback at a time. `world` owns what belongs to no node: database and network."""

    def __init__(self, seed: str, *, is_shuffled: bool = False) -> None:
        self.steps = 0
        self.now = 0.0
        self.trace = 14_695_981_039_346_656_037
        """A digest of all that happened so far."""
        self.failures: list[BaseException] = []
        """What callbacks raised and no task handles."""
        self.processes: list[Process] = []
        self.last: Process | None = None
        """The process that ran last."""
        self.is_shuffled = is_shuffled
        self._random = random.Random(f"loop/{seed}").random
        self._runnable: list[Process] = []
        self._next_due = NEVER
        self._timers = 0
        self._started = 0
        self.world = self.start_process("world", Machine())

    # Processes

    def start_process(self, name: str, machine: Machine) -> Process:
        """A new process, without a callback yet."""
        self._started += 1
        process = Process(self._started, name, machine)
        self.processes.append(process)
        return process

    def stop_process(self, process: Process) -> None:
        """Hold all callbacks of a process until it goes on. Its clocks go on."""
        process.is_stopped = True
        if process in self._runnable:
            self._runnable.remove(process)

    def resume_process(self, process: Process) -> None:
        """Let a stopped process go on."""
        process.is_stopped = False
        if process.ready and process not in self._runnable:
            self._runnable.append(process)
        self.look_at_timers()

    def kill_process(self, process: Process) -> None:
        """End a process: none of its callbacks ever runs, not even `finally` blocks."""
        self.stop_process(process)
        process.is_dead = True
        self.processes.remove(process)
        self.look_at_timers()

    def finish(self, processes: Iterable[Process], rounds: int, steps: int) -> None:
        """Cancel all tasks and let them end, also those of killed processes: what is destroyed
        while it is pending would be finalized at any time."""
        self.processes = [*processes, self.world]
        for process in self.processes:
            process.is_dead = False
            process.machine.resume(self.now)
            self.resume_process(process)
        for _ in range(rounds):
            pending = [one for process in self.processes for one in process.tasks if not one.done()]
            for task in pending:
                task.cancel()
            if not pending:
                return
            with suppress(Stuck):
                self.run_steps(steps)
        self.failures.append(RuntimeError(f"tasks do not end: {pending[:3]}"))

    def machine_time(self) -> tuple[Machine, float]:
        """The machine of the process that runs now, and the real time."""
        return (PROCESS.get() or self.world).machine, self.now

    def look_at_timers(self) -> None:
        """Find out anew which timer is next: the clocks of a process changed."""
        due = [one.machine.due(one.timers[0][0]) for one in self.processes if _waits(one)]
        self._next_due = min(due, default=NEVER)

    # Running

    def run_steps(self, most: int, until: float = NEVER) -> int:
        """Run at most this many callbacks before a time; how many it were. `Stuck` if there is
        none and will be none."""
        hooks = self._enter()
        first = self.steps
        last = first + most
        try:
            while self.steps < last:
                if not self._runnable and self._next_due > until:
                    self.now = until
                    break
                self._step()
        finally:
            self._leave(hooks)
        return self.steps - first

    def note(self, number: int) -> None:
        """Make a fact part of the trace."""
        self.trace = (self.trace ^ number & _MASK) * _FACTOR & _MASK

    def _step(self) -> None:
        runnable = self._runnable
        if self._next_due <= self.now or not runnable:
            self._fire()
        at = int(self._random() * len(runnable)) if len(runnable) > 1 else 0
        process = runnable[at]
        ready = process.ready
        if self.is_shuffled and len(ready) > 1:
            ready.rotate(-int(self._random() * len(ready)))
        handle = ready.popleft()
        if not ready:
            runnable[at] = runnable[-1]
            runnable.pop()
        if handle.callback is None:
            return
        self.last = process
        self.steps += 1
        self.now += STEP_SECONDS
        self.trace = (self.trace ^ process.number + 64 * len(ready)) * _FACTOR & _MASK
        try:
            handle.context.run(handle.callback, *handle.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  the run ends with it
            self.failures.append(error)

    def _fire(self) -> None:
        """Make ready what is due; if nothing else is ready, time leaps to the next timer."""
        while True:
            if not self._runnable:
                if self._next_due == NEVER:
                    raise Stuck
                self.now = max(self.now, self._next_due)
            for process in self.processes:
                if _waits(process):
                    shown = process.machine.seconds(self.now) + _TINY_SECONDS
                    while process.timers and process.timers[0][0] <= shown:
                        handle = heapq.heappop(process.timers)[2]
                        if handle.callback is not None:
                            self._make_ready(process, handle)
            self.look_at_timers()
            if self._runnable:
                return

    def _make_ready(self, process: Process, handle: Handle) -> None:
        if not process.ready and not process.is_stopped:
            self._runnable.append(process)
        process.ready.append(handle)

    def _enter(self) -> Any:  # noqa: ANN401  whatever hooks there were
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._finalize)
        _set_running_loop(self)
        return hooks

    def _leave(self, hooks: Any) -> None:  # noqa: ANN401
        _set_running_loop(None)
        sys.set_asyncgen_hooks(*hooks)

    def _finalize(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a generator that was left early, in the process that left it."""
        self.create_task(generator.aclose())

    # What asyncio calls

    def call_soon(  # type: ignore[override]  # a handle of our own
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> Handle:
        context = copy_context() if context is None else context
        handle = Handle(callback, args, context)
        process = context.get(PROCESS) or self.world
        if not process.ready and not process.is_stopped:
            self._runnable.append(process)
        process.ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # a handle of our own
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> Handle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> Handle:
        context = copy_context() if context is None else context
        handle = Handle(callback, args, context, when)
        process = context.get(PROCESS) or self.world
        self._timers += 1
        heapq.heappush(process.timers, (when, self._timers, handle))
        if not process.is_stopped:
            self._next_due = min(self._next_due, process.machine.due(when))
        return handle

    def time(self) -> float:
        """The stopwatch of the process that asks."""
        process = PROCESS.get()
        return self.now if process is None else process.machine.seconds(self.now)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # coroutines only
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> "asyncio.Task[Any]":
        task = asyncio.Task(coro, loop=self, name=cast("str | None", name), context=context)
        process = PROCESS.get() if context is None else context.get(PROCESS)
        (process or self.world).keep(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A task or a future ended with an exception that is never retrieved: not our concern."""


def _waits(process: Process) -> bool:
    return bool(process.timers) and not process.is_stopped
