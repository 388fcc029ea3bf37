"""The pool: what stays warm, what goes, and what no caller can break."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.postgresql.connector import Connector
from headgate.backends.postgresql.failures import unavailable, write_failed
from headgate.backends.postgresql.pool import WARM_CONNECTIONS, Pool
from headgate.errors import BackendUnavailable
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap

KEY = PointerKey("realm", "head")


def row(id: int, *, version: int = 0, value: bytes = b"value") -> Row:
    return Row(KEY.realm, id, 0, 1, "thing", version, value)


@asynccontextmanager
async def locked_pointer(onlooker: Any) -> AsyncIterator[None]:
    """Another client holds the lock of the pointer."""
    async with onlooker.transaction():
        await onlooker.execute("select from headgate.pointers for update")
        yield


async def pids(onlooker: Any) -> set[int]:
    """The server's processes for connections of Headgate."""
    found = await onlooker.fetch(
        "select pid from pg_stat_activity"
        " where datname = current_database() and application_name = 'headgate'"
    )
    return {record["pid"] for record in found}


async def has_connections(onlooker: Any, count: int) -> bool:
    return len(await pids(onlooker)) == count


async def settled(condition: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)


async def test_the_pool_keeps_five_connections_warm_and_lets_the_others_go(
    database_url: str, onlooker: Any
) -> None:
    """After a burst the pool shrinks to the connections used last, and stays there."""
    connector = Connector(database_url, "headgate", 10.0)
    pool = Pool(connector, 10, idle_seconds_max=0.3, upkeep_seconds=0.05)
    await pool.open()
    assert len(await pids(onlooker)) == WARM_CONNECTIONS
    await asyncio.gather(*[pool.run(unavailable, "select pg_sleep(0.2)") for _ in range(20)])
    assert len(await pids(onlooker)) == 10

    await settled(lambda: has_connections(onlooker, WARM_CONNECTIONS))

    warm = await pids(onlooker)
    await asyncio.sleep(1.0)
    assert await pids(onlooker) == warm
    await pool.close()


async def test_warm_connections_that_died_are_replaced(database_url: str, onlooker: Any) -> None:
    """The pool fills up again by itself, before anybody needs it."""
    pool = Pool(Connector(database_url, "headgate", 10.0), 10, upkeep_seconds=0.05)
    await pool.open()
    dead = await pids(onlooker)
    await onlooker.execute(
        "select pg_terminate_backend(pid) from unnest($1::int[]) as p (pid)", dead
    )

    async def refilled() -> bool:
        return len(await pids(onlooker) - dead) == WARM_CONNECTIONS

    await settled(refilled)
    await asyncio.sleep(0.1)
    assert [list(answer) for answer in await pool.run(unavailable, "select 1")] == [[1]]
    await pool.close()


async def test_a_full_pool_is_unavailable_instead_of_making_callers_wait_for_ever(
    database_url: str,
) -> None:
    """A write that got no connection was certainly not sent."""
    pool = Pool(Connector(database_url, "headgate", 0.5), 1)
    await pool.open()
    slow = asyncio.create_task(pool.run(unavailable, "select pg_sleep(5)"))
    await asyncio.sleep(0)
    pool._connector.command_timeout_seconds = 0.1

    with pytest.raises(BackendUnavailable, match="all 1 connections were busy"):
        await pool.run(write_failed, "select 1")

    with pytest.raises(BackendUnavailable, match="statement timeout"):
        await slow
    await pool.close()


async def test_cancelled_callers_leave_the_pool_healthy(database_url: str, onlooker: Any) -> None:
    """Connections of cancelled statements are given up, and their places are free again."""
    backend = PostgresqlBackend(database_url, connections_max=2)
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name])
    async with locked_pointer(onlooker):
        for attempt in range(10):
            commit = asyncio.create_task(backend.commit([], Swap(KEY, EMPTY, 100 + attempt)))
            await asyncio.sleep(0.02)
            commit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await commit
            read = asyncio.create_task(backend.read_pointers([KEY]))
            await asyncio.sleep(0)
            read.cancel()
            await asyncio.wait([read])
        assert await backend.insert(row(7, version=1)) is Outcome.APPLIED

    [value] = await backend.read_pointers([KEY])
    assert value is not None

    async def moved() -> bool:  # an abandoned swap may have landed meanwhile
        [now] = await backend.read_pointers([KEY])
        assert now is not None
        return await backend.commit([], Swap(KEY, now, 200)) is Outcome.APPLIED

    await settled(moved)
    await backend.close()


async def test_closing_a_large_pool_takes_no_longer(database_url: str) -> None:
    """What counts is who is at work, not how many could be; those get a moment to end."""
    pool = Pool(Connector(database_url, "headgate", 10.0), 1_000_000_000)
    await pool.open()
    slow = asyncio.create_task(pool.run(unavailable, "select pg_sleep(0.2)"))
    await asyncio.sleep(0)
    before = asyncio.get_running_loop().time()

    await pool.close()

    assert asyncio.get_running_loop().time() - before < 1.5
    assert len(await slow) == 1


async def test_a_write_that_the_server_gave_up_is_certainly_not_applied(
    database_url: str, onlooker: Any
) -> None:
    """The server's own time limit ends first, so the answer is clear."""
    backend = PostgresqlBackend(database_url, command_timeout_seconds=1.0)
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name])

    async with locked_pointer(onlooker):
        with pytest.raises(BackendUnavailable, match="statement timeout"):
            await backend.commit([row(2)], Swap(KEY, EMPTY, 2))

    assert await backend.read_pointers([KEY]) == [EMPTY]
    assert await backend.fetch(KEY.realm, [2]) == []
    assert await backend.commit([row(3)], Swap(KEY, EMPTY, 3)) is Outcome.APPLIED
    await backend.close()
