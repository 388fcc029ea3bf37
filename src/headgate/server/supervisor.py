"""Several server processes: started, watched, started again when they die, and stopped together."""

import asyncio
import logging
import multiprocessing
import signal
import socket
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from headgate.clock import Clock
from headgate.errors import HeadgateError, Unavailable
from headgate.limits import STOP_SECONDS
from headgate.server.listening import Listener
from headgate.server.process import Application, Stop, run_process

SHORT_LIFE_SECONDS = 5.0
RESTART_PAUSE_SECONDS = 1.0  # after a short life: whatever killed it may still be there

Load = Callable[[Path | None], Application]
"""Makes the application of one process, in that process: it can be pickled. Its argument is where
the processes of this server keep what they share; None if there is only one."""

logger = logging.getLogger(__name__)
_context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads hold


class Worker:
    """One process, its place, and the pipe it reports on."""

    def __init__(self, load: Load, listener: socket.socket, shared: Path, clock: Clock) -> None:
        self._load = load
        self.listener = listener
        self._shared = shared
        self._clock = clock
        self.restart_at: float | None = None
        self.start()

    def start(self) -> None:
        """Start the process; it ends with us, because then its pipe does."""
        self.pipe, theirs = _context.Pipe()
        arguments = (self._load, self.listener, self._shared, theirs)
        self.process: BaseProcess = _context.Process(target=_work, args=arguments)
        self.process.start()
        theirs.close()
        self.started = self._clock.seconds()
        self.restart_at = None

    def report(self) -> HeadgateError | None:
        """Wait until it serves; what it says instead if it cannot."""
        try:
            error: HeadgateError | None = self.pipe.recv()
        except EOFError:
            self.process.join()
            return Unavailable(
                "a server process ended before it served",
                why=_how(self.process),
                fix="The lines above this one say more",
            )
        return error

    def bury(self) -> None:
        """The process has ended: say so, and plan its successor."""
        now = self._clock.seconds()
        why = _last_words(self.pipe)
        logger.error("server process %s %s%s", self.process.pid, _how(self.process), why)
        pause = RESTART_PAUSE_SECONDS if now - self.started < SHORT_LIFE_SECONDS else 0.0
        self.restart_at = now + pause
        self.pipe.close()

    def stop(self) -> None:
        """Tell it to finish what it does and end. When it has closed its socket nobody accepts."""
        self.listener.close()
        if self.process.is_alive():
            self.process.terminate()

    def end(self, deadline: float) -> None:
        """Wait until it has ended, and make it end when time is up."""
        self.process.join(max(0.0, deadline - self._clock.seconds()))
        if self.process.is_alive():
            logger.error("server process %s did not stop and is killed", self.process.pid)
            self.process.kill()
            self.process.join()
        self.pipe.close()


class Supervisor:
    """Runs processes until a signal says to stop."""

    def __init__(self, load: Load, listener: Listener, shared: Path, clock: Clock) -> None:
        self._load = load
        self._listener = listener
        self._shared = shared
        self._clock = clock
        self._workers: list[Worker] = []
        self._stopping = False
        self._wake, self._bell = socket.socketpair()
        self._wake.setblocking(False)
        self._bell.setblocking(False)

    def run(self, processes: int, ready: Callable[[], None]) -> None:
        """Serve. The first process is waited for: it may have a new store to set up."""
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        try:
            self._start(self._listener.socket)
            self._wait_for(self._workers[0])
            if not self._stopping:
                ready()
                for _ in range(1, processes):
                    self._start(self._listener.another())
            while not self._stopping:
                self._watch()
        finally:
            signal.set_wakeup_fd(-1)
            self._end()

    def _start(self, listener: socket.socket) -> None:
        self._workers.append(Worker(self._load, listener, self._shared, self._clock))

    def _wait_for(self, worker: Worker) -> None:
        """Until it serves, or we are told to stop. Its error is ours."""
        wait([worker.pipe, self._wake])
        error = None if self._stopping else worker.report()
        if error is not None:
            raise error

    def _watch(self) -> None:
        """Wait until something happens: a signal, a process ends, a restart is due."""
        running = [worker for worker in self._workers if worker.restart_at is None]
        due = [worker.restart_at for worker in self._workers if worker.restart_at is not None]
        timeout = max(0.0, min(due) - self._clock.seconds()) if due else None
        wait([self._wake, *(worker.process.sentinel for worker in running)], timeout)
        if self._stopping:
            return
        for worker in running:
            if not worker.process.is_alive():
                worker.bury()
        for worker in self._workers:
            if worker.restart_at is not None and worker.restart_at <= self._clock.seconds():
                worker.start()
                logger.info("server process %s takes over", worker.process.pid)

    def _end(self) -> None:
        deadline = self._clock.seconds() + STOP_SECONDS
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end(deadline)
        self._wake.close()
        self._bell.close()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True


def _work(load: Load, listener: socket.socket, shared: Path, pipe: Connection) -> None:
    """The whole life of one process. Ctrl-C reaches all processes: our parent decides for us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_process(load(shared), listener, lambda: pipe.send(None), partial(_stop_as_told, pipe))
    except HeadgateError as error:
        pipe.send(error)
        raise SystemExit(1) from None


def _stop_as_told(pipe: Connection, stop: Stop) -> None:
    """By SIGTERM, or because our parent is gone and its end of the pipe with it."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_reader(pipe.fileno(), stop)


def _last_words(pipe: Connection) -> str:
    """The error that it reported before it ended, if it did."""
    error: HeadgateError | None = None
    try:
        while pipe.poll():
            error = pipe.recv()
    except (EOFError, OSError):
        pass
    return f": {error}" if error else ""


def _how(process: BaseProcess) -> str:
    code = process.exitcode or 0
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
