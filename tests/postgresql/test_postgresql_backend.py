"""What is particular to PostgreSQL: its statements, its tables, its settings."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.backends.postgresql import backend as backend_module
from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.postgresql.connector import Connector
from headgate.backends.postgresql.failures import unavailable
from headgate.clock import SystemClock
from headgate.errors import BackendUnavailable, BadSetting, Closed, OutcomeUnknown
from headgate.kernel.records import EMPTY, Partition, PointerKey, Row, Swap
from headgate.testing.postgresql import PostgresqlServer

KEY = PointerKey("realm", "head")


def row(id: int, *, version: int = 0, value: bytes = b"value") -> Row:
    return Row(KEY.realm, id, 0, 1, "thing", version, value)


VERBS: dict[str, Callable[[PostgresqlBackend], Awaitable[object]]] = {
    "read_pointers": lambda b: b.read_pointers([KEY, PointerKey("other", "x"), KEY]),
    "create_pointers": lambda b: b.create_pointers(KEY.realm, ["a", "b"]),
    "commit": lambda b: b.commit([row(2), row(3)], Swap(KEY, EMPTY, 2)),
    "fetch": lambda b: b.fetch(KEY.realm, [1, 2, 3]),
    "write": lambda b: b.write([row(4), row(5)]),
    "insert": lambda b: b.insert(row(6, version=1)),
    "update": lambda b: b.update(row(6, version=2), 1),
    "remove": lambda b: b.remove(KEY.realm, 6, 2),
    "delete": lambda b: b.delete(KEY.realm, [4, 5]),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_is_one_statement_without_a_transaction_around_it(
    verb: str, postgresql_server: PostgresqlServer, database_url: str, onlooker: Any
) -> None:
    """The server's own log shows exactly one statement, so there was one round trip."""
    backend = PostgresqlBackend(database_url, connections_max=1)
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name])
    await backend.close()
    name = await onlooker.fetchval("select current_database()")
    await onlooker.execute(f"alter database {name} set log_statement = 'all'")
    await backend.open()
    await VERBS[verb](backend)  # the second time the statement is prepared already
    logged_before = postgresql_server.log.stat().st_size

    await VERBS[verb](backend)

    with postgresql_server.log.open() as log:
        log.seek(logged_before)
        statements = [line for line in log if "LOG:" in line]
    await backend.close()
    assert len(statements) == 1, statements


async def test_every_statement_finds_its_rows_by_index(backend: PostgresqlBackend) -> None:
    """Plans do not depend on statistics, which are missing or wrong when a store is young."""
    await backend.create_pointers(KEY.realm, [KEY.name])
    await backend.write([row(1)])
    pool = backend._pool
    assert pool
    arguments: dict[str, list[object]] = {
        "read_pointers": [["realm"], ["head"]],
        "fetch": ["realm", [1]],
        "delete": ["realm", [1]],
        "scan_pointers": ["", "", 10],
        "scan_pointers_of_realm": ["realm", "", 10],
        "scan_rows": ["", 0, 0, 2, 1, 10],
        "delete_pointers": [["realm"], ["head"]],
        "delete_rows_of_realm": ["realm", 10],
    }
    for name, values in arguments.items():
        plan = await pool.run(unavailable, f"explain {backend._sql[name]}", *values)

        assert "Seq Scan" not in "\n".join(line[0] for line in plan), name


async def test_values_are_stored_plain_and_keys_compare_by_bytes(
    backend: PostgresqlBackend, onlooker: Any
) -> None:
    """No second compression, no locale in the order of keys, room for swaps in place."""
    storage = await onlooker.fetchval(
        "select attstorage from pg_attribute"
        " where attrelid = 'headgate.objects'::regclass and attname = 'value'"
    )
    collations = await onlooker.fetch(
        "select distinct collation_name from information_schema.columns"
        " where table_name in ('pointers', 'objects') and data_type = 'text'"
    )
    options = await onlooker.fetchval(
        "select reloptions from pg_class where oid = 'headgate.pointers'::regclass"
    )

    assert storage == b"e"
    assert [record[0] for record in collations] == ["C"]
    assert options == ["fillfactor=50"]


async def test_acknowledged_commits_are_durable_whatever_the_server_defaults_to(
    database_url: str, onlooker: Any
) -> None:
    """Settings of the database that would weaken our promises are overruled."""
    name = await onlooker.fetchval("select current_database()")
    await onlooker.execute(f"alter database {name} set synchronous_commit = off")
    await onlooker.execute(
        f"alter database {name} set default_transaction_isolation = serializable"
    )
    connection = await Connector(database_url, "headgate", 10.0).connect()

    [durable] = await connection.fetch("show synchronous_commit")
    [isolation] = await connection.fetch("show default_transaction_isolation")

    connection.terminate()
    assert (durable[0], isolation[0]) == ("on", "read committed")


async def test_pointer_reads_at_the_same_time_each_get_their_own_answer(
    backend: PostgresqlBackend,
) -> None:
    """They share a connection and take turns."""
    keys = [PointerKey("realm", f"p{n}") for n in range(20)]
    await backend.create_pointers("realm", [key.name for key in keys])
    for n, key in enumerate(keys):
        await backend.commit([], Swap(key, EMPTY, 100 + n))

    answers = await asyncio.gather(
        *[backend.read_pointers([key, PointerKey("realm", "none"), key]) for key in keys]
    )

    assert answers == [[100 + n, None, 100 + n] for n in range(20)]


async def test_a_large_write_goes_out_in_pieces(backend: PostgresqlBackend) -> None:
    """Rows of more bytes than one statement may carry are all stored."""
    rows = [Row("realm", 1, part, 40, "big", 0, bytes([part]) * 350_000) for part in range(40)]

    await backend.write(rows)

    assert sorted(await backend.fetch("realm", [1])) == rows


async def test_scans_of_more_than_one_batch_are_complete(backend: PostgresqlBackend) -> None:
    """Each pointer and each part of an object is seen once, in the shares of a scan too."""
    for realm in ("realm", "other"):
        await backend.create_pointers(realm, [f"p{n}" for n in range(1500)])
        await backend.write([Row(realm, n // 7 + 1, n % 7, 7, "t", 0, b"") for n in range(2500)])

    pointers = [pointer async for batch in backend.scan_pointers() for pointer in batch]
    mine = [pointer async for batch in backend.scan_pointers("realm") for pointer in batch]
    rows = [row async for batch in backend.scan_rows() for row in batch]
    shares = [
        [row async for batch in backend.scan_rows(Partition(share, 3)) for row in batch]
        for share in range(3)
    ]

    assert (len(pointers), len(set(pointers))) == (3000, 3000)
    assert mine == [pointer for pointer in pointers if pointer.realm == "realm"]
    assert (len(rows), len(set(rows))) == (5000, 5000)
    assert sorted(row for share in shares for row in share) == rows


async def test_shares_of_a_scan_are_about_equal(backend: PostgresqlBackend) -> None:
    """Also if each id is the first one of its millisecond: then they end with the same bits."""
    ids = [(9_000_000 + n) << 22 for n in range(1_600)]
    await backend.write([Row("realm", id, 0, 1, "t", 0, b"") for id in ids])
    sizes = [
        sum([len(batch) async for batch in backend.scan_rows(Partition(share, 16))])
        for share in range(16)
    ]

    assert sum(sizes) == len(ids)
    assert min(sizes) > 50
    assert max(sizes) < 150


async def test_nodes_that_write_the_same_rows_in_other_orders_do_not_deadlock(
    backend: PostgresqlBackend,
) -> None:
    """Rows are inserted in the order of their keys, whatever the order they came in."""
    for first in range(1, 20_000, 1_000):
        rows = [row(id) for id in range(first, first + 1_000)]

        await asyncio.gather(*[backend.write(rows[::step]) for step in (1, -1, 1, -1)])


async def test_nodes_that_delete_a_realm_together_stop_when_nothing_is_left(
    backend: PostgresqlBackend,
) -> None:
    """Whoever is told 0 finds the realm empty, though others deleted what it meant to delete."""

    async def delete() -> int:
        total = 0
        while deleted := await backend.delete_realm("realm", 100):
            total += deleted
        assert [batch async for batch in backend.scan_pointers("realm")] == []
        assert [batch async for batch in backend.scan_rows()] == []
        return total

    await backend.create_pointers("realm", [f"p{n}" for n in range(1_000)])
    await backend.write([row(id) for id in range(1, 2_001)])

    assert sum(await asyncio.gather(*[delete() for _ in range(4)])) == 3_000


async def test_a_closed_backend_says_so_at_once(backend: PostgresqlBackend) -> None:
    """Reads and writes after `close`, and before `open`, fail without waiting."""
    await backend.close()
    await backend.close()
    fresh = PostgresqlBackend("postgresql://127.0.0.1/none")
    await fresh.close()
    for unusable in (backend, fresh):
        async with asyncio.timeout(1):
            with pytest.raises(Closed):
                await unusable.read_pointers([KEY])
            with pytest.raises(Closed):
                await unusable.fetch(KEY.realm, [1])
            with pytest.raises(Closed):
                await unusable.commit([], Swap(KEY, EMPTY, 1))


def test_a_schema_name_that_would_need_quoting_is_refused() -> None:
    """The name is part of statements, so only plain words are taken."""
    with pytest.raises(BadSetting):
        PostgresqlBackend("postgresql://127.0.0.1/db", schema='x"; drop table')


async def test_a_write_that_is_refused_half_way_does_not_claim_to_have_done_nothing(
    backend: PostgresqlBackend, onlooker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large writes are several statements: when a later one fails, the outcome is unknown."""
    monkeypatch.setattr(backend_module, "WRITE_BYTES_MAX", 10)
    await onlooker.execute("alter table headgate.objects add check (id <> 2)")

    with pytest.raises(BackendUnavailable):
        await backend.write([row(2), row(3)])
    with pytest.raises(OutcomeUnknown, match="written in part"):
        await backend.write([row(1, value=bytes(10)), row(2)])

    assert [found.id for found in await backend.fetch(KEY.realm, [1, 2, 3])] == [1]


async def test_the_clock_of_the_server_is_told(backend: PostgresqlBackend) -> None:
    """It runs on this machine here, so it says what this machine's says, also on one connection."""
    before = SystemClock().machine_ms()
    told = [await backend.clock_ms() for _ in range(3)]
    after = SystemClock().machine_ms()

    assert before - 1 <= told[0] <= told[1] <= told[2] <= after + 1
