"""Upgrades keep what is stored, run whole or not at all, and never meet each other."""

import asyncio
import subprocess
import sys

import asyncpg
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.errors import BackendUnavailable, NewerFormat
from headgate.kernel.records import EMPTY, Outcome, Pointer, PointerKey, Row, Swap
from headgate.sql import Migration, load_migrations

SHIPPED = load_migrations("headgate.backends.postgresql")
NEXT = len(SHIPPED) + 1
ADD_COLUMN = Migration(
    NEXT, "note", "alter table objects add column note text; update objects set note = type"
)
BROKEN = Migration(NEXT, "broken", "delete from pointers; drop table objects; select 1 / 0")
WIDER = Migration(
    NEXT, "wider", "alter table objects alter column parts type bigint, alter version type numeric"
)
KEY = PointerKey("realm", "head")
ROW = Row("realm", 1, 0, 1, "thing", 0, bytes(range(256)) * 20)

OPEN = """
import asyncio, sys
from headgate.backends.postgresql.backend import PostgresqlBackend
backend = PostgresqlBackend(sys.argv[1])
async def main():
    await backend.open()
    await backend.create_pointers("realm", ["head"])
    await backend.close()
asyncio.run(main())
"""


async def populate(url: str) -> None:
    backend = PostgresqlBackend(url)
    await backend.open()
    await backend.create_pointers(KEY.realm, [KEY.name, "empty"])
    assert await backend.commit([ROW], Swap(KEY, EMPTY, 1)) is Outcome.APPLIED
    await backend.close()


async def check_populated(backend: PostgresqlBackend) -> None:
    pointers = [pointer async for batch in backend.scan_pointers() for pointer in batch]
    assert pointers == [Pointer("realm", "empty", EMPTY), Pointer("realm", "head", 1)]
    assert await backend.fetch("realm", [1]) == [ROW]


async def steps(url: str) -> list[int]:
    connection = await asyncpg.connect(url)
    found = await connection.fetch("select number from headgate.schema_steps order by number")
    await connection.close()
    return [record["number"] for record in found]


async def test_an_upgrade_keeps_what_is_stored(database_url: str) -> None:
    """A store of today is opened by a program with one more migration, and opened again."""
    await populate(database_url)

    for _ in range(2):
        upgraded = PostgresqlBackend(database_url, migrations=[*SHIPPED, ADD_COLUMN])
        await upgraded.open()
        await check_populated(upgraded)
        await upgraded.close()

    assert await steps(database_url) == list(range(1, NEXT + 1))


async def test_a_program_already_running_survives_the_upgrade(database_url: str) -> None:
    """Its prepared statements meet changed tables and go on working."""
    await populate(database_url)
    running = PostgresqlBackend(database_url)
    await running.open()
    await check_populated(running)
    assert await running.commit([], Swap(KEY, 1, 2)) is Outcome.APPLIED
    upgraded = PostgresqlBackend(database_url, migrations=[*SHIPPED, ADD_COLUMN])
    await upgraded.open()

    assert await running.commit([ROW._replace(id=3)], Swap(KEY, 2, 3)) is Outcome.APPLIED
    assert await running.fetch("realm", [1, 3]) == [ROW, ROW._replace(id=3)]

    await upgraded.close()
    await running.close()


async def test_an_upgrade_that_changes_the_type_of_an_answer_disturbs_no_running_program(
    database_url: str,
) -> None:
    """The server refuses plans that it has cached; reads and writes go on, each done once."""
    await populate(database_url)
    running = PostgresqlBackend(database_url, connections_max=1)
    await running.open()
    await check_populated(running)
    assert await running.commit([], Swap(KEY, 1, 2)) is Outcome.APPLIED
    versioned = ROW._replace(id=7, version=1)
    assert await running.insert(versioned) is Outcome.APPLIED
    upgraded = PostgresqlBackend(database_url, migrations=[*SHIPPED, WIDER])
    await upgraded.open()

    assert await running.fetch("realm", [1]) == [ROW]
    assert await running.read_pointers([KEY]) == [2]
    assert await running.commit([ROW._replace(id=3)], Swap(KEY, 2, 3)) is Outcome.APPLIED
    assert await running.commit([ROW._replace(id=4)], Swap(KEY, 2, 4)) is Outcome.LOST
    assert await running.update(versioned._replace(version=2), 1) is Outcome.APPLIED
    assert await running.remove("realm", 7, 2) is Outcome.APPLIED
    assert await upgraded.fetch("realm", [1, 3, 4, 7]) == [ROW, ROW._replace(id=3)]

    await upgraded.close()
    await running.close()


async def test_a_failing_migration_leaves_everything_as_it_was(database_url: str) -> None:
    """All that it did before it failed is undone, so the program before it still works."""
    await populate(database_url)
    broken = PostgresqlBackend(database_url, migrations=[*SHIPPED, BROKEN])

    with pytest.raises(BackendUnavailable, match="division by zero"):
        await broken.open()

    await broken.close()
    backend = PostgresqlBackend(database_url)
    await backend.open()
    await check_populated(backend)
    await backend.close()
    assert await steps(database_url) == list(range(1, NEXT))


async def test_a_failing_first_set_up_leaves_nothing_behind(database_url: str) -> None:
    """Not even the schema; the next program starts afresh."""
    broken = PostgresqlBackend(database_url, migrations=[*SHIPPED, BROKEN])

    with pytest.raises(BackendUnavailable):
        await broken.open()

    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("select to_regnamespace('headgate')") is None
    await connection.close()
    await populate(database_url)


async def test_a_store_of_a_newer_program_is_refused(database_url: str) -> None:
    """An older program does not touch tables it does not know."""
    upgraded = PostgresqlBackend(database_url, migrations=[*SHIPPED, ADD_COLUMN])
    await upgraded.open()
    await upgraded.close()
    older = PostgresqlBackend(database_url)

    with pytest.raises(NewerFormat):
        await older.open()

    await older.close()


async def test_many_backends_may_open_a_fresh_database_at_once(database_url: str) -> None:
    """One sets up, the others wait for it; each migration runs once."""
    backends = [PostgresqlBackend(database_url, connections_max=2) for _ in range(8)]

    await asyncio.gather(*[backend.open() for backend in backends])

    assert await steps(database_url) == list(range(1, NEXT))
    await asyncio.gather(*[backend.close() for backend in backends])


def test_processes_may_open_a_fresh_database_at_once(database_url: str) -> None:
    """The lock is the database's, so it holds between processes too."""
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", OPEN, database_url])
        for _ in range(3)
    ]

    assert [process.wait(30) for process in processes] == [0, 0, 0]


async def test_two_schemas_of_one_database_are_two_stores(database_url: str) -> None:
    """Each has its own tables and its own migrations."""
    await populate(database_url)
    other = PostgresqlBackend(database_url, schema="other_1")
    await other.open()

    assert await other.read_pointers([KEY]) == [None]
    assert [batch async for batch in other.scan_rows()] == []

    await other.close()


async def test_a_user_who_may_not_create_can_open_what_was_set_up(database_url: str) -> None:
    """Set-up asks for rights only when there is something to set up."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("drop role if exists reader; create role reader login")
    as_reader = database_url.replace("postgres@", "reader@")
    refused = PostgresqlBackend(as_reader)
    with pytest.raises(BackendUnavailable, match="Grant"):
        await refused.open()
    await refused.close()
    await populate(database_url)
    await connection.execute(
        "grant usage on schema headgate to reader;"
        "grant select, insert, update, delete on all tables in schema headgate to reader"
    )

    allowed = PostgresqlBackend(as_reader)
    await allowed.open()

    await check_populated(allowed)
    await allowed.close()
    await connection.execute("drop owned by reader; drop role reader")
    await connection.close()
