"""A store in a SQLite file, and ways to look at it and to hold it up."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.backends.sqlite.connections import connect
from headgate.kernel.records import PointerKey, Row

REALM = "r"
HEAD = PointerKey(REALM, "head")
OTHER = PointerKey(REALM, "other")


def row(id: int, value: bytes = b"value", *, realm: str = REALM) -> Row:
    return Row(realm, id, 0, 1, "type", 0, value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "headgate.db"


@pytest.fixture
async def backend(path: Path) -> AsyncIterator[SqliteBackend]:
    backend = SqliteBackend(path, busy_timeout_seconds=0.1)
    await backend.open()
    await backend.create_pointers(REALM, [HEAD.name, OTHER.name])
    yield backend
    await backend.close()


@pytest.fixture
def second(backend: SqliteBackend, path: Path) -> Iterator[apsw.Connection]:
    connection = connect(path, 0.0)
    yield connection
    connection.close()


async def on_writer(backend: SqliteBackend, work: Callable[[apsw.Connection], Any]) -> Any:
    return await backend._writing().run(work)


@asynccontextmanager
async def writer_held_up(backend: SqliteBackend) -> AsyncIterator[None]:
    """Jobs that are started inside queue up; afterwards they run together."""
    reached, release = threading.Event(), threading.Event()

    def wait(_: apsw.Connection) -> None:
        reached.set()
        release.wait(10)

    [blocker] = await started(on_writer(backend, wait))
    await asyncio.to_thread(reached.wait)
    try:
        yield
    finally:
        release.set()
        await asyncio.gather(blocker, return_exceptions=True)


async def started(*calls: Any) -> "list[asyncio.Task[Any]]":
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)
    return tasks
