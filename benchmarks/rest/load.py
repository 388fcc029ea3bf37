"""The load generator: one process that asks as cheaply as Python can.

It shares the processor's cores with the server that it asks, so all it does for a request is to
send bytes that were ready, to read the answer, and to compare its status and length.
"""

import gc
import itertools
import multiprocessing
import select
import socket
import time
from collections import Counter, deque
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
import psutil

from benchmarks.rest.jobs import EMPTY, NUMBER_DIGITS, Job, Round, holds

ANSWER_BYTES = 1 << 16  # more is made room for when it comes
QUIET_SECONDS_MAX = 60.0
FAILURE_CHARACTERS_MAX = 300
HEAD_END = b"\r\n\r\n"


class Plan(NamedTuple):
    """What to ask, of whom, over how many connections, and for how long."""

    port: int
    jobs: list[Job]
    connections: int
    seconds: float | None = None
    """Ask round and round for so long; without it each job is done once."""
    rate: float | None = None
    """Begin so many a second whether or not answers come; without it a connection asks as soon as
    it was answered."""
    pid: int | None = None
    """The server, whose processor time is measured."""


class LoadGenerator:
    """A process that carries out plans, one after the other."""

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.join(10)
        self._process.kill()

    def run(self, plan: Plan) -> Round:
        """What came of this plan."""
        processes = _family(plan.pid)
        before = [_cpu_seconds_of(process) for process in processes]
        self._pipe.send(plan)
        seen: Round | BaseException = self._pipe.recv()
        if isinstance(seen, BaseException):
            raise seen
        seen.server_cpu_seconds = _cpu_seconds(processes, before)
        return seen


class Connection:
    """One connection, on which one request at a time is under way."""

    __slots__ = ("buffer", "filled", "job", "sent", "socket", "view", "wanted")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(QUIET_SECONDS_MAX)
        self.buffer = bytearray(ANSWER_BYTES)
        self.view = memoryview(self.buffer)
        self.filled = 0
        self.wanted = 0  # bytes of the answer with its head, 0 while they are not known
        self.sent = 0.0
        self.job = Job(b"")

    def ask(self, job: Job, number: int, now: float) -> None:
        """Send a request; its time runs from `now`."""
        self.job = job
        self.filled = self.wanted = 0
        self.sent = now
        if job.tail:
            self.socket.sendall(b"%b%0*d%b" % (job.request, NUMBER_DIGITS, number, job.tail))
        else:
            self.socket.sendall(job.request)

    def read(self) -> bool:
        """Take what has come; True if the answer is complete."""
        count = self.socket.recv_into(self.view[self.filled :])
        if not count:
            raise ConnectionError("the server closed a connection")
        self.filled += count
        if not self.wanted:
            end = self.buffer.find(HEAD_END, 0, self.filled)
            if end < 0:
                return False
            self._read_head(end)
        return self.filled >= self.wanted

    def problem(self) -> str | None:
        """What is wrong with the answer, None if it is as it has to be."""
        job = self.job
        start = self.buffer.find(HEAD_END) + 4
        if int(self.buffer[9:12]) != job.status:
            return self._shown(f"status other than {job.status}", start)
        if job.length and self.wanted - start != job.length:
            return f"{self.wanted - start} bytes instead of {job.length}"
        if job.want is not None:
            found = msgspec.json.decode(self.view[start : self.wanted])
            if not holds(found, job.want):
                return self._shown(f"content without {job.want}"[:FAILURE_CHARACTERS_MAX], start)
        return None

    def _read_head(self, end: int) -> None:
        head = end + 4
        self.wanted = head
        if self.job.is_head or int(self.buffer[9:12]) in EMPTY:
            return
        at = self.buffer.find(b"ontent-", 0, end)
        while at >= 0 and self.buffer[at + 7 : at + 14].lower() != b"length:":
            at = self.buffer.find(b"ontent-", at + 1, end)
        if at < 0:
            raise ConnectionError(f"no length in {bytes(self.buffer[:end])!r}")
        line_end = self.buffer.find(b"\r", at)
        self.wanted += int(self.buffer[at + 14 : line_end])
        if self.wanted > len(self.buffer):
            larger = bytearray(2 * self.wanted)
            larger[: self.filled] = self.view[: self.filled]
            self.buffer, self.view = larger, memoryview(larger)

    def _shown(self, problem: str, start: int) -> str:
        answer = bytes(self.buffer[9:12] + b" " + self.buffer[start : self.wanted])
        return f"{problem}: {answer.decode(errors='replace')[:FAILURE_CHARACTERS_MAX]}"


class Rush:
    """One plan while it is carried out."""

    def __init__(self, plan: Plan) -> None:
        opened = [Connection(plan.port) for _ in range(plan.connections)]
        self._connections = {one.socket.fileno(): one for one in opened}
        self._idle = deque(opened)
        self._waits: dict[str, list[float]] = {one.label: [] for one in plan.jobs}
        self._failures: Counter[str] = Counter()
        self._seconds = float("inf") if plan.seconds is None else plan.seconds
        self._jobs = iter(plan.jobs) if plan.seconds is None else itertools.cycle(plan.jobs)
        self._pause = 1 / plan.rate if plan.rate else 0.0
        self._due = 0.0  # when the next request begins
        self._more = True

    def run(self) -> Round:
        """Ask until there is no more to ask, and all is answered."""
        poll = select.poll()
        for number in self._connections:
            poll.register(number, select.POLLIN)
        cpu, began = time.process_time(), time.perf_counter()
        self._due = began
        while True:
            now = time.perf_counter()
            self._begin(now, began + self._seconds)
            if not self._more and len(self._idle) == len(self._connections):
                break
            waits_for_due = self._pause and self._more and self._idle
            limit = max(self._due - now, 0.0) if waits_for_due else QUIET_SECONDS_MAX
            ready = poll.poll(int(limit * 1e3))  # whole milliseconds: the rest is spent asking
            if not ready and not waits_for_due:
                raise TimeoutError(f"no answer for {QUIET_SECONDS_MAX:g} s")
            for number, _ in ready:
                self._take(self._connections[number])
        seconds = time.perf_counter() - began
        return Round(seconds, self._waits, dict(self._failures), time.process_time() - cpu)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()

    def _begin(self, now: float, end: float) -> None:
        """Ask what is due, on connections that are free."""
        while self._more and self._idle and self._due <= now:
            job = next(self._jobs, None) if now < end else None
            if job is None:
                self._more = False
                return
            began = self._due if self._pause else time.perf_counter()
            self._idle.popleft().ask(job, next(_NUMBERS), began)
            self._due += self._pause

    def _take(self, connection: Connection) -> None:
        """Take what has come on this connection."""
        if not connection.read():
            return
        took = time.perf_counter() - connection.sent
        problem = connection.problem()
        if problem is None:
            self._waits[connection.job.label].append(took)
        else:
            self._failures[problem] += 1
        self._idle.append(connection)


_NUMBERS = itertools.count(1)  # of this process: no two bodies are the same


def carry_out(plan: Plan) -> Round:
    """Ask as the plan says."""
    rush = Rush(plan)
    gc.collect()
    gc.disable()
    try:
        return rush.run()
    finally:
        gc.enable()
        rush.close()


def _work(pipe: Pipe) -> None:
    """The whole life of the process."""
    while True:
        try:
            plan = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(carry_out(plan))
        except (OSError, ValueError) as error:
            pipe.send(error)


def _family(pid: int | None) -> list[psutil.Process]:
    if pid is None:
        return []
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _cpu_seconds(processes: list[psutil.Process], before: list[float]) -> float:
    """Since then. A worker that has ended meanwhile was idle, or it would not have."""
    total = 0.0
    for process, earlier in zip(processes, before, strict=True):
        with suppress(psutil.NoSuchProcess):
            total += _cpu_seconds_of(process) - earlier
    return total


def _cpu_seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
