"""One server process: a front behind Granian, from its first answer to its last."""

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import suppress
from typing import Any, Protocol, Self

import uvloop
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from headgate.errors import Unavailable
from headgate.limits import (
    BACKLOG_CONNECTIONS,
    CLOSE_SECONDS,
    CONNECTIONS_MAX,
    FINISH_SECONDS,
    GIVE_UP_SECONDS,
    HEADER_SECONDS,
    IDLE_SECONDS,
)
from headgate.server.connections import ConnectionWatch, Peer, can_watch
from headgate.server.listening import Place

COLLECTIONS_BEFORE_FULL = 100  # of the middle generation; Python's own number is 10

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Stop = Callable[[], None]

logger = logging.getLogger(__name__)


class Application(Protocol):
    """An ASGI application that is opened and closed."""

    @property
    def clients(self) -> Collection[Peer | None]:
        """Host and port of each that has a request under way."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ...

    def hurry(self) -> None:
        """End all requests under way."""
        ...


class GranianServer(Server):
    """Granian in this process and on our own socket."""

    def __init__(self, application: Application, listener: socket.socket) -> None:
        # Its timeout is for the rest between two requests too: see `ConnectionWatch`.
        seconds = IDLE_SECONDS if can_watch() else HEADER_SECONDS
        super().__init__(
            application,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG_CONNECTIONS,
            backpressure=CONNECTIONS_MAX,
            http1_settings=HTTP1Settings(header_read_timeout=seconds * 1000),
            log_enabled=False,
        )
        self._listener = listener

    def _init_shared_socket(self) -> None:
        """Granian would make one of its own, that others can share and whose port is fixed."""
        make: Any = SocketHolder  # its declaration lacks the arguments
        holder: Any = make(self._listener.detach(), False, BACKLOG_CONNECTIONS)  # closes it
        self._shd = holder


class Stopping:
    """Somebody says stop. That is obeyed in good order; while the application opens, at once."""

    def __init__(self) -> None:
        self._main = asyncio.current_task()
        self._said = asyncio.Event()

    def say(self) -> None:
        """The server shall stop."""
        if not self._said.is_set():
            _end_in_time()
        self._said.set()
        if self._main is not None:
            self._main.cancel()

    def opened(self) -> None:
        """From now on there is something to close in good order."""
        self._main = None

    async def wait(self) -> None:
        """Return when it shall stop."""
        await self._said.wait()


def _end_in_time() -> None:
    """End the process when its time is up, however it is held: by a database that cannot be
    written, by a thread that Python would wait for. A store survives that at any instant."""
    seconds = FINISH_SECONDS + GIVE_UP_SECONDS + CLOSE_SECONDS
    timer = threading.Timer(seconds, _end, [seconds])
    timer.daemon = True  # nobody waits for it
    timer.start()


def _end(seconds: float) -> None:
    try:
        logger.warning("the server could not be closed within %g s and is ended", seconds)
        logging.shutdown()
    finally:
        os._exit(0)


def stop_on_signals(stop: Stop) -> None:
    """SIGTERM and SIGINT say stop."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


def run_process(
    application: Application,
    listener: socket.socket,
    ready: Callable[[], None],
    until: Callable[[Stop], None] = stop_on_signals,
) -> None:
    """Serve in this thread until told to stop. `ready` is called at the first answer.

    `until` is called once, inside of the loop, with what tells the server to stop.
    """
    _allow_connections()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, suppress(_Stopped):
        runner.run(_serve(application, listener, ready, until))


def _allow_connections() -> None:
    """Each connection is an open file, and of these few are allowed unless one asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # then it stays as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def collect_seldom() -> None:
    """Full collections stop everybody: a millisecond for each thousand answers and tables that
    caches hold. Cycles are rare here and die young, in the collections before."""
    gc.collect()
    gc.freeze()  # what lives as long as the process is not looked at again and again
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, COLLECTIONS_BEFORE_FULL)


class _Stopped(Exception):
    """Stopped before it served."""


async def _serve(
    application: Application,
    listener: socket.socket,
    ready: Callable[[], None],
    until: Callable[[Stop], None],
) -> None:
    stopping = Stopping()
    until(stopping.say)
    try:
        await application.__aenter__()
    except asyncio.CancelledError:
        raise _Stopped from None
    stopping.opened()
    try:
        collect_seldom()
        place = listener.getsockname()
        server = GranianServer(application, listener)
        serving = asyncio.create_task(server.serve())
        announcing = asyncio.create_task(_announce(listener.family, place, ready))
        watching = asyncio.create_task(_watch(application, place[1]))
        told = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
        announcing.cancel()
        watching.cancel()
        told.cancel()
        if serving.done():
            raise Unavailable(
                "the server has stopped by itself",
                why=str(serving.exception() or "nobody knows"),
                fix="Start it again",
            )
        await _stop(application, server, serving)
    finally:
        await application.__aexit__()


async def _announce(family: int, place: Place, ready: Callable[[], None]) -> None:
    """Call `ready` when the server at this place has answered once."""
    loop = asyncio.get_running_loop()
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)
        await loop.sock_connect(caller, place)
        request = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        await loop.sock_sendall(caller, request)
        await loop.sock_recv(caller, 1)
    ready()


async def _watch(application: Application, port: int) -> None:
    """Close connections that do not send requests in time, until cancelled."""
    if not can_watch():
        return
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = open_files == resource.RLIM_INFINITY
    watch = ConnectionWatch(
        port,
        lambda: [peer for peer in application.clients if peer],
        connections_max=(CONNECTIONS_MAX if unlimited else min(open_files, CONNECTIONS_MAX)) // 2,
    )
    await watch.watch()


async def _stop(
    application: Application, server: GranianServer, serving: asyncio.Task[None]
) -> None:
    """Accept no more, finish what is under way; what takes too long is ended."""
    server.stop()  # type: ignore[no-untyped-call]
    _, late = await asyncio.wait({serving}, timeout=FINISH_SECONDS)
    if late:
        logger.warning("requests were still under way after %g s and are ended", FINISH_SECONDS)
        application.hurry()
        _, late = await asyncio.wait({serving}, timeout=GIVE_UP_SECONDS)
    for task in late:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
