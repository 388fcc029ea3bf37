"""PostgreSQL behind PgBouncer: sessions of one's own work, shared ones are refused at the start."""

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.postgresql.connector import Connector
from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.testing.pgbouncer import PgBouncer, PoolMode
from headgate.testing.postgresql import PostgresqlServer
from tests.postgresql.swap_clients import POINTERS, Clients, check_chains

KEY = PointerKey("realm", "head")
ROW = Row("realm", 1, 0, 1, "thing", 0, b"value")
IGNORED = "search_path,synchronous_commit,statement_timeout,plan_cache_mode,enable_seqscan,jit"


@pytest.fixture(name="bouncer")
def _bouncer(postgresql_server: PostgresqlServer) -> Iterator[PgBouncer]:
    with PgBouncer(postgresql_server.port) as bouncer:
        yield bouncer


async def schema_of(onlooker: Any) -> str | None:
    """What is there of Headgate."""
    found: str | None = await onlooker.fetchval("select to_regnamespace('headgate')::text")
    return found


@pytest.mark.parametrize("ignored", ["", IGNORED])
async def test_a_session_behind_a_pooler_has_the_settings_it_needs(
    postgresql_server: PostgresqlServer, database_url: str, ignored: str
) -> None:
    """Also if the pooler is told to drop settings that clients bring."""
    with PgBouncer(postgresql_server.port, ignore_startup_parameters=ignored) as bouncer:
        connector = Connector(bouncer.through(database_url), "headgate", 10.0)
        connection = await connector.connect()

        assert connection.is_pooled
        wanted = connector._settings(10.0)
        [told] = await connection.fetch(
            "select array_agg(current_setting(n)) as s from unnest($1::text[]) as n", [*wanted]
        )
        by_name = dict(zip(wanted, told["s"], strict=True))
        assert by_name == wanted | {"statement_timeout": "8s"}
        connection.terminate()


async def test_a_direct_connection_is_not_taken_for_a_pooler(database_url: str) -> None:
    """The server tells the same process id when connecting and when asked."""
    connection = await Connector(database_url, "headgate", 10.0).connect()

    assert not connection.is_pooled
    connection.terminate()


async def test_a_store_behind_session_pooling_works(bouncer: PgBouncer, database_url: str) -> None:
    """Two nodes that share a pooler set up, commit and read."""
    nodes = [PostgresqlBackend(bouncer.through(database_url)) for _ in range(2)]
    await asyncio.gather(*[node.open() for node in nodes])
    await nodes[0].create_pointers(KEY.realm, [KEY.name])

    assert await nodes[0].commit([ROW], Swap(KEY, EMPTY, 1)) is Outcome.APPLIED
    assert await nodes[1].read_pointers([KEY]) == [1]
    assert await nodes[1].fetch("realm", [1]) == [ROW]
    assert await nodes[1].commit([], Swap(KEY, EMPTY, 2)) is Outcome.LOST

    await asyncio.gather(*[node.close() for node in nodes])


@pytest.mark.parametrize("settings", [{}, {"server_round_robin": 1}, {"min_pool_size": 8}])
@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_shared_sessions_are_refused_at_the_start(
    postgresql_server: PostgresqlServer,
    database_url: str,
    onlooker: Any,
    mode: PoolMode,
    settings: dict[str, object],
) -> None:
    """The error names the setting to change, and nothing was made in the database."""
    with PgBouncer(postgresql_server.port, mode, **settings) as bouncer:
        backend = PostgresqlBackend(bouncer.through(database_url))

        with pytest.raises(BackendUnavailable, match="pool_mode = session"):
            await backend.open()

        await backend.close()
        assert await schema_of(onlooker) is None


@pytest.mark.parametrize("in_turn", [0, 1])
async def test_other_clients_of_a_shared_pool_do_not_hide_that_sessions_are_shared(
    postgresql_server: PostgresqlServer, database_url: str, onlooker: Any, in_turn: int
) -> None:
    """Connections are refused also if the pool has many servers, and if it takes them in turn."""
    with PgBouncer(postgresql_server.port, "transaction", server_round_robin=in_turn) as bouncer:
        others = [await asyncpg.connect(bouncer.through(database_url)) for _ in range(5)]
        for other in others:
            await other.execute("begin")
            await other.execute("select 1")
        for other in others:
            await other.execute("rollback")  # five servers are idle now
        backend = PostgresqlBackend(bouncer.through(database_url))

        with pytest.raises(BackendUnavailable, match="pool_mode = session"):
            await backend.open()

        await backend.close()
        assert await schema_of(onlooker) is None
        for other in others:
            other.terminate()


async def test_no_two_connections_use_the_same_name_for_a_statement(database_url: str) -> None:
    """A pooler that mixes sessions up can then make a statement fail, and never run another's."""
    connector = Connector(database_url, "headgate", 10.0)
    names: list[str] = []
    connections = [await connector.connect() for _ in range(3)]
    for connection in connections:
        await connection.fetch("select 1 as one")
        found = await connection.fetch("table pg_prepared_statements")
        names += [row["name"] for row in found]
        connection.terminate()

    assert len(names) == len(set(names)) > len(connections)


async def test_sessions_that_keep_statements_of_earlier_clients_work(
    postgresql_server: PostgresqlServer, database_url: str
) -> None:
    """A pooler that is told not to clear sessions leaves what others have prepared there."""
    with PgBouncer(postgresql_server.port, server_reset_query="") as bouncer:
        for turn in range(3):
            backend = PostgresqlBackend(bouncer.through(database_url))
            await backend.open()
            await backend.create_pointers(KEY.realm, [KEY.name])
            assert await backend.commit([], Swap(KEY, turn, turn + 1)) is Outcome.APPLIED
            await backend.close()


async def test_a_pool_that_starts_sharing_sessions_makes_statements_fail_clearly(
    postgresql_server: PostgresqlServer, database_url: str
) -> None:
    """A statement whose session is gone was not run, and the error says what to change."""
    direct = PostgresqlBackend(database_url)
    await direct.open()
    await direct.create_pointers(KEY.realm, [KEY.name])
    backend = PostgresqlBackend(database_url, connections_max=1)
    await backend.open()
    assert await backend.commit([ROW], Swap(KEY, EMPTY, 1)) is Outcome.APPLIED
    assert backend._pool is not None
    await backend._pool.run(lambda _, error: OutcomeUnknown(str(error)), "deallocate all")

    with pytest.raises(BackendUnavailable, match="pool_mode = session"):
        await backend.commit([], Swap(KEY, 1, 2))

    assert await direct.read_pointers([KEY]) == [1]
    assert await backend.commit([], Swap(KEY, 1, 2)) is Outcome.APPLIED, "on a new connection"
    await backend.close()
    await direct.close()


async def test_a_write_that_the_pooler_gave_up_is_unknown(
    postgresql_server: PostgresqlServer, database_url: str, onlooker: Any
) -> None:
    """PgBouncer's `query_timeout` cuts the connection; the server may still commit."""
    with PgBouncer(postgresql_server.port, query_timeout=1) as bouncer:
        backend = PostgresqlBackend(bouncer.through(database_url))
        await backend.open()
        await backend.create_pointers(KEY.realm, [KEY.name])
        async with onlooker.transaction():
            await onlooker.execute("select from headgate.pointers for update")
            with pytest.raises(OutcomeUnknown, match="query timeout"):
                await backend.commit([ROW], Swap(KEY, EMPTY, 1))
        await backend.close()


async def test_a_write_whose_server_died_behind_the_pooler_is_unknown(
    bouncer: PgBouncer, database_url: str, onlooker: Any
) -> None:
    """The pooler has lost its server and cannot say what became of the statement."""
    backend = PostgresqlBackend(bouncer.through(database_url))
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name])
    async with onlooker.transaction():
        await onlooker.execute("select from headgate.pointers for update")
        commit = asyncio.create_task(backend.commit([ROW], Swap(KEY, EMPTY, 1)))
        killed = None
        while not killed:
            killed = await onlooker.fetchval(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where wait_event_type = 'Lock' and datname = current_database()"
            )
        with pytest.raises(OutcomeUnknown):
            await commit
    assert await backend.commit([ROW], Swap(KEY, EMPTY, 2)) is Outcome.APPLIED
    await backend.close()


async def test_a_pool_without_a_free_server_is_unavailable(
    postgresql_server: PostgresqlServer, database_url: str
) -> None:
    """PgBouncer's `query_wait_timeout`: nothing was sent, and its words are passed on."""
    server = postgresql_server.port
    with PgBouncer(server, default_pool_size=1, query_wait_timeout=1) as bouncer:
        holder = await asyncpg.connect(bouncer.through(database_url))
        await holder.execute("select 1")
        backend = PostgresqlBackend(bouncer.through(database_url))

        with pytest.raises(BackendUnavailable, match="query_wait_timeout"):
            await backend.open()

        await backend.close()
        holder.terminate()


async def test_no_acknowledged_swap_is_lost_when_the_pooler_restarts(
    bouncer: PgBouncer, database_url: str
) -> None:
    """It is killed under load and started again; what clients were told fits what is stored."""
    backend = PostgresqlBackend(bouncer.through(database_url), command_timeout_seconds=3.0)
    await backend.open()
    keys = [PointerKey("realm", f"p{n}") for n in range(POINTERS)]
    await backend.create_pointers("realm", [key.name for key in keys])
    clients = Clients(backend, keys)
    running = asyncio.create_task(clients.run())
    for _ in range(3):
        await clients.applied_again()
        await asyncio.to_thread(bouncer.kill)
        await asyncio.to_thread(bouncer.start)
        await clients.applied_again()
    clients.stop()
    await running

    assert OutcomeUnknown in {attempt.told for attempt in clients.attempts}
    await check_chains(backend, keys, clients.attempts)
    await backend.close()
