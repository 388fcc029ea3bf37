"""What a purger of a third party is, what it is told, and how it is called.

A plain method is called in a thread of its own, so it may wait for whatever it likes; a coroutine
runs on the event loop. Nobody limits its time: as long as it runs, the job is its own.
"""

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

from headgate.catalog.events import EventBus
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.ports import Files, Storage
from headgate.catalog.purging import LiveJob
from headgate.errors import Unavailable
from headgate.extensions import reason
from headgate.kernel.backend import Backend
from headgate.model.names import Identifier
from headgate.purge.table_files import TableFiles

T = TypeVar("T")
Answer = Awaitable[None] | None

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PurgeRequest:
    """A dropped table whose files are handed to a purger."""

    metalake: str
    catalog: str
    identifier: Identifier
    metadata_location: str
    """The last metadata file, which leads to all others."""
    metadata: Callable[[], Coroutine[None, None, bytes]]
    """Reads that file; to be awaited."""
    storage: Mapping[str, str]
    """How clients find the store of its files; no secrets."""
    roots: tuple[str, ...]
    """Where files of its catalog may lie."""
    locations: tuple[str, ...]
    """The table's own, which it holds or held: files can be written and deleted here only."""
    files: Files
    """Reads files below `roots`; writes and deletes them in `locations`."""
    principal: str
    """Who dropped it."""
    request: str
    """The id of the request that dropped it."""
    at_ms: int
    """When it was dropped."""
    job: int
    """The same at each attempt."""


@dataclass(frozen=True, kw_only=True)
class PurgerContext:
    """What a purger may use of the server that it is in."""

    backend: Backend
    """The database, below all that Headgate makes of it."""
    events: EventBus
    loop: asyncio.AbstractEventLoop

    @property
    def server(self) -> str:
        """This process: `host:pid`."""
        return self.events.server

    def files(self, request: PurgeRequest) -> Files:
        """The files of a table, and for reading those of the catalog that it was in; nothing else
        can be reached."""
        return request.files

    def wait(self, work: Coroutine[None, None, T]) -> T:
        """What comes of work that is to be awaited, for plain methods."""
        if _is_on_a_loop():
            work.close()
            raise RuntimeError("`wait` is for plain methods: a coroutine awaits")
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


class IcebergPurger(Protocol):
    """Decides what becomes of the files of dropped tables. Each server process has one.

    Every method may be a plain one or a coroutine.
    """

    name: str
    """By which it is chosen, and below which its properties lie."""

    def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> Answer:
        """Begin, before the first request. Whatever it raises keeps the server from starting."""
        ...

    def purge_table(self, request: PurgeRequest) -> Answer:
        """Deal with a table that was dropped. Whatever it raises lets it be called again, later.

        The same table may come more than once, also after a success that nobody could record.
        """
        ...

    def close(self) -> Answer:
        """The server stops. Calls of `purge_table` may still be under way."""
        ...


METHODS = ("initialize", "purge_table", "close")


class ThirdParty:
    """A purger of a third party in use."""

    def __init__(self, purger: IcebergPurger, context: PurgerContext, storage: Storage) -> None:
        self.name = purger.name
        self._purger = purger
        self._context = context
        self._storage = storage

    async def initialize(self, properties: Mapping[str, str]) -> None:
        """Let it begin; raises whatever it raises."""
        await _called(self._purger.initialize, dict(properties), self._context)

    async def purge(self, live: LiveJob) -> None:
        """Let it deal with a job; `Unavailable` if it fails, with what it says."""
        try:
            await _called(self._purger.purge_table, self._request(live))
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            raise self._failed(error) from error  # it has cancelled something of its own
        except (Exception, SystemExit) as error:
            logger.warning("purger %r failed", self.name, exc_info=True)
            raise self._failed(error) from error

    async def close(self) -> None:
        """Let it end; what it raises is only logged."""
        try:
            await _called(self._purger.close)
        except (Exception, SystemExit):
            logger.warning("purger %r could not be closed", self.name, exc_info=True)

    def _request(self, live: LiveJob) -> PurgeRequest:
        storage, job = self._storage, live.job
        location, files = job.metadata_location, storage.files(live.roots)
        return PurgeRequest(
            metalake=live.metalake,
            catalog=live.catalog_name,
            identifier=job.table,
            metadata_location=location,
            storage=storage.client_config(location),
            roots=live.roots,
            locations=job.reserved,
            files=TableFiles(files, live.roots, job.reserved),
            principal=job.created_by,
            request=job.request,
            at_ms=job.created_ms,
            job=live.id,
            metadata=lambda: read_metadata(files, location),
        )

    def _failed(self, error: BaseException) -> Unavailable:
        return Unavailable(f"purger {self.name!r} failed", why=reason(error))


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_cancelled() -> bool:
    """Whether somebody wants this task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _called(method: Callable[..., object], *arguments: object) -> None:
    """Call it where it belongs, and wait for its end."""
    if inspect.iscoroutinefunction(method):
        await method(*arguments)
        return
    outcome = await _in_thread(lambda: method(*arguments))
    if inspect.isawaitable(outcome):
        await outcome


async def _in_thread(work: Callable[[], object]) -> object:
    """What comes of work in a thread of its own: if it never ends, the process still can."""
    future: Future[tuple[object, BaseException | None]] = Future()

    def run() -> None:
        try:
            future.set_result((work(), None))
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            future.set_result((None, error))

    future.set_running_or_notify_cancel()  # who stops waiting does not stop it
    threading.Thread(target=run, name="purger", daemon=True).start()
    outcome, error = await asyncio.wrap_future(future)
    if error is not None:
        raise error
    return outcome
