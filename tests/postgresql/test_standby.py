"""A primary with a standby: reads from a standby, failover, and a primary that was deposed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import asyncpg
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.postgresql.connector import Connector
from headgate.errors import BackendUnavailable, OutcomeUnknown, StoreNotFound
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.sql import Migration, load_migrations
from headgate.testing.postgresql import PostgresqlServer, PostgresqlStandby
from tests.postgresql.swap_clients import POINTERS, Clients, check_chains

KEY = PointerKey("realm", "head")
ROW = Row("realm", 1, 0, 1, "thing", 0, b"value")
SHIPPED = load_migrations("headgate.backends.postgresql")


class Pair(NamedTuple):
    """A primary and its standby, and one database in both."""

    primary: PostgresqlServer
    standby: PostgresqlStandby
    primary_url: str
    standby_url: str

    @property
    def url(self) -> str:
        """Both hosts."""
        database = self.primary_url.rpartition("/")[2]
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        return f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"

    async def be_synchronous(self) -> None:
        """From now on the primary acknowledges only what the standby has."""
        await asyncio.to_thread(self.primary.configure, synchronous_standby_names=self.standby.NAME)
        primary = await asyncpg.connect(self.primary_url)
        while await primary.fetchval("select sync_state from pg_stat_replication") != "sync":
            await asyncio.sleep(0.01)
        await primary.close()

    async def caught_up(self) -> None:
        """Wait until the standby shows all that the primary has."""
        primary, standby = [await asyncpg.connect(u) for u in (self.primary_url, self.standby_url)]
        position = await primary.fetchval("select pg_current_wal_lsn()::text")
        while not await standby.fetchval(
            "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position
        ):
            await asyncio.sleep(0.01)
        await primary.close()
        await standby.close()


@pytest.fixture(name="pair")
def _pair() -> Iterator[Pair]:
    with PostgresqlServer() as primary:
        url = primary.create_database()
        with PostgresqlStandby(primary) as standby:
            yield Pair(primary, standby, url, url.replace(f":{primary.port}/", f":{standby.port}/"))


@pytest.fixture(name="stored")
async def _stored(pair: Pair) -> AsyncIterator[PostgresqlBackend]:
    """A backend on both hosts, with a pointer; one commit was made."""
    backend = PostgresqlBackend(pair.url, command_timeout_seconds=2.0)
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name])
    assert await backend.commit([ROW], Swap(KEY, EMPTY, 1)) is Outcome.APPLIED
    yield backend
    await backend.close()


async def test_a_standby_is_refused_unless_old_answers_are_asked_for(
    pair: Pair, stored: PostgresqlBackend
) -> None:
    """To write in any case; to read, it answers what has arrived, and changes nothing."""
    await pair.caught_up()
    refused = PostgresqlBackend(pair.standby_url)
    with pytest.raises(BackendUnavailable, match=r"takes no writes.*Connect to the primary"):
        await refused.open()
    await refused.close()

    reader = PostgresqlBackend(pair.standby_url, standby=True)
    await reader.open()
    assert await reader.read_pointers([KEY]) == [1]
    assert await reader.fetch("realm", [1]) == [ROW]
    assert [row.id async for batch in reader.scan_rows() for row in batch] == [1]
    with pytest.raises(BackendUnavailable, match="Connect to the primary"):
        await reader.commit([], Swap(KEY, 1, 2))
    assert await stored.commit([], Swap(KEY, 1, 2)) is Outcome.APPLIED
    await pair.caught_up()
    assert await reader.read_pointers([KEY]) == [2]
    await reader.close()


async def test_a_standby_without_a_store_or_with_an_older_one_is_explained(pair: Pair) -> None:
    """It cannot be set up there; the error says where."""
    empty = PostgresqlBackend(pair.standby_url, standby=True)
    with pytest.raises(StoreNotFound):
        await empty.open()
    await empty.close()
    backend = PostgresqlBackend(pair.primary_url)
    await backend.open()
    await backend.close()
    await pair.caught_up()
    more = [*SHIPPED, Migration(len(SHIPPED) + 1, "more", "create table more ()")]
    newer = PostgresqlBackend(pair.standby_url, standby=True, migrations=more)

    with pytest.raises(BackendUnavailable, match="on the primary first"):
        await newer.open()

    await newer.close()


async def test_a_url_of_several_hosts_leads_to_the_primary(pair: Pair) -> None:
    """In any order, and also if one of them does not answer."""
    database = pair.primary_url.rpartition("/")[2]
    primary, standby = (f"127.0.0.1:{server.port}" for server in (pair.primary, pair.standby))
    for hosts in (f"{standby},{primary}", f"127.0.0.1:1,{primary}", f"10.255.255.1,{primary}"):
        connector = Connector(f"postgresql://postgres@{hosts}/{database}", "headgate", 4.0)
        connection = await connector.connect()
        [found] = await connection.fetch("select pg_is_in_recovery() as standby")
        assert not found["standby"]
        connection.terminate()

    refused = Connector(f"postgresql://postgres@{standby},127.0.0.1:1/{database}", "headgate", 4.0)
    with pytest.raises(BackendUnavailable, match=r"takes no writes.*;.*Connect to the primary"):
        await refused.connect()


async def test_no_acknowledged_swap_is_lost_when_a_synchronous_standby_takes_over(
    pair: Pair,
) -> None:
    """The primary crashes under load, the standby is promoted, and clients go on there."""
    await pair.be_synchronous()
    backend = PostgresqlBackend(pair.url, command_timeout_seconds=2.0)
    await backend.open()
    keys = [PointerKey("realm", f"p{n}") for n in range(POINTERS)]
    await backend.create_pointers("realm", [key.name for key in keys])
    clients = Clients(backend, keys)
    running = asyncio.create_task(clients.run())
    await clients.applied_again()

    await asyncio.to_thread(pair.primary.stop, "immediate")
    await asyncio.to_thread(pair.standby.promote)
    await clients.applied_again()
    clients.stop()
    await running

    await check_chains(backend, keys, clients.attempts)
    await backend.close()


async def test_a_node_leaves_a_primary_that_was_deposed_and_still_runs(pair: Pair) -> None:
    """Its connections do not break; it finds the new primary by looking, and loses nothing."""
    await pair.be_synchronous()
    backend = PostgresqlBackend(pair.url, command_timeout_seconds=2.0)
    await backend.open()
    keys = [PointerKey("realm", f"p{n}") for n in range(POINTERS)]
    await backend.create_pointers("realm", [key.name for key in keys])
    clients = Clients(backend, keys)
    running = asyncio.create_task(clients.run())
    await clients.applied_again()

    await asyncio.to_thread(pair.standby.promote)
    await clients.applied_again()
    clients.stop()
    await running

    await check_chains(backend, keys, clients.attempts)
    backend._connector._urls = [pair.primary_url]
    with pytest.raises(BackendUnavailable, match=r"timeline 1.*timeline 2.*promoted"):
        await backend._connector.connect()
    await backend.close()


async def test_what_a_deposed_primary_answers_is_not_believed(
    pair: Pair, stored: PostgresqlBackend
) -> None:
    """A write under way there is unknown, a read fails; the next ones go to the new primary."""
    await pair.caught_up()
    blocker = await asyncpg.connect(pair.primary_url)
    transaction = blocker.transaction()
    await transaction.start()
    await blocker.execute("select from headgate.pointers for update")
    under_way = asyncio.create_task(stored.commit([], Swap(KEY, 1, 2)))
    await asyncio.to_thread(pair.standby.promote)
    await stored._connector.look_around()
    await transaction.rollback()
    await blocker.close()

    with pytest.raises(OutcomeUnknown, match="promoted"):
        await under_way

    assert await stored.read_pointers([KEY]) == [1], "the new primary never had it"
    assert await stored.commit([], Swap(KEY, 1, 3)) is Outcome.APPLIED


async def test_a_swap_that_its_standby_may_not_have_is_never_acknowledged(
    pair: Pair, stored: PostgresqlBackend
) -> None:
    """Its wait was broken off, so the primary shows it; asking again does not make it safe."""
    await pair.caught_up()
    await pair.be_synchronous()
    await asyncio.to_thread(pair.standby.stop)
    onlooker = await asyncpg.connect(pair.primary_url)
    await onlooker.execute("set synchronous_commit = local")
    swap = Swap(KEY, 1, 2)
    sent = asyncio.create_task(stored.commit([], swap))
    cancelled = None
    while not cancelled:
        cancelled = await onlooker.fetchval(
            "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
        )

    with pytest.raises(OutcomeUnknown, match="synchronous standby"):
        await sent
    assert await onlooker.fetchval("select value from headgate.pointers") == 2, "it is visible"
    with pytest.raises(OutcomeUnknown):
        await stored.commit([], swap)
    await onlooker.close()

    await asyncio.to_thread(pair.standby.start)
    assert await stored.commit([], swap) is Outcome.LOST, "and what is shown is safe by now"
    assert await stored.read_pointers([KEY]) == [2]
