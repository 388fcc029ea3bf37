"""A simulated process: its queue of callbacks and its timers, on a machine."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

from headgate.testing.simulation.machines import Machine

TASKS_KEPT_MIN = 256

PROCESS: "ContextVar[Process | None]" = ContextVar("simulated_process", default=None)
"""The process that a callback belongs to. Tasks inherit it from the task that creates them."""


class Handle:
    """A callback that waits for its turn."""

    __slots__ = ("args", "callback", "context", "deadline")

    def __init__(
        self,
        callback: Callable[..., object] | None,
        args: tuple[Any, ...],
        context: Context,
        deadline: float = 0.0,
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.deadline = deadline

    def cancel(self) -> None:
        """Never run it."""
        self.callback = None

    def cancelled(self) -> bool:
        """Whether it is never run."""
        return self.callback is None

    def when(self) -> float:
        """When it is due, by the stopwatch of its process; 0 if it has no timer."""
        return self.deadline


class Process:
    """One process on a machine. A new one replaces one that was killed."""

    def __init__(self, number: int, name: str, machine: Machine) -> None:
        self.number = number
        self.name = name
        self.machine = machine
        self.ready: deque[Handle] = deque()
        self.timers: list[tuple[float, int, Handle]] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.is_stopped = False
        self.is_dead = False
        self.is_sweeping = False
        self.has_staged = False
        """Whether an attempt ran whose commit was not sent yet."""
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        self._tasks_kept = TASKS_KEPT_MIN

    def __repr__(self) -> str:
        return f"{self.name}#{self.number}"

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task until it is done: what a killed process leaves is never finalized early."""
        self.tasks.append(task)
        if len(self.tasks) > self._tasks_kept:
            self.tasks = [task for task in self.tasks if not task.done()]
            self._tasks_kept = 2 * len(self.tasks) + TASKS_KEPT_MIN
