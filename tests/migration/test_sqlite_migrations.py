"""Upgrades of a SQLite store: what is stored is kept, whatever happens on the way."""

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from headgate.backends.sqlite.backend import PACKAGE, SqliteBackend
from headgate.errors import BackendUnavailable, NewerFormat
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.sql import Migration, load_migrations

KNOWN = load_migrations(PACKAGE)
ROWS = [Row("r", id, 0, 1, "type", 0, bytes([id]) * 5_000) for id in range(100)]
HEAD = PointerKey("r", "head")

FURTHER = Migration(
    len(KNOWN) + 1,
    "add_marks",
    """
    alter table objects add column mark integer not null default 5;
    create table marks (mark integer primary key) strict;
    insert into marks (mark) select count(*) from objects;
    """,
)
FAILING = Migration(
    len(KNOWN) + 2,
    "fail_late",
    "delete from objects; drop table pointers; insert into nowhere values (1);",
)

UPGRADE = """
import asyncio, sys
from pathlib import Path
from headgate.backends.sqlite.backend import SqliteBackend
from tests.migration.test_sqlite_migrations import FURTHER, KNOWN

async def main():
    backend = SqliteBackend(Path(sys.argv[1]), migrations=[*KNOWN, FURTHER])
    await backend.open()
    await backend.close()

asyncio.run(main())
"""


@pytest.fixture
async def populated(tmp_path: Path) -> Path:
    """A store of the present schema with rows and a pointer."""
    path = tmp_path / "headgate.db"
    backend = SqliteBackend(path)
    await backend.open()
    await backend.create_pointers("r", ["head"])
    await backend.commit(ROWS, Swap(HEAD, EMPTY, 7))
    await backend.close()
    return path


async def assert_all_kept(backend: SqliteBackend) -> None:
    """Everything is there, and the store can be written."""
    assert await backend.read_pointers([HEAD]) == [7]
    assert sorted(await backend.fetch("r", range(100))) == ROWS
    assert await backend.commit([], Swap(HEAD, 7, 8)) is Outcome.APPLIED


def ask(path: Path, question: str) -> object:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(question).get
    finally:
        connection.close()


async def test_a_fresh_store_has_all_migrations(tmp_path: Path) -> None:
    """The file records how many it has had."""
    backend = SqliteBackend(tmp_path / "headgate.db")
    await backend.open()
    await backend.close()

    assert ask(tmp_path / "headgate.db", "pragma user_version") == len(KNOWN)


async def test_a_populated_store_is_upgraded_and_keeps_its_data(populated: Path) -> None:
    """A further migration runs once, at the next opening."""
    for _ in range(2):
        backend = SqliteBackend(populated, migrations=[*KNOWN, FURTHER])
        await backend.open()
        await backend.close()
    await backend.open()
    await assert_all_kept(backend)
    await backend.close()

    assert ask(populated, "select mark from marks") == 100
    assert ask(populated, "pragma user_version") == FURTHER.number


async def test_a_failing_migration_is_undone_as_a_whole(populated: Path) -> None:
    """Those before it in the same upgrade are undone too, and the former version goes on."""
    upgraded = SqliteBackend(populated, migrations=[*KNOWN, FURTHER, FAILING])
    with pytest.raises(BackendUnavailable, match=r"migration 0003 \(fail_late\) failed: .*nowhere"):
        await upgraded.open()
    await upgraded.close()

    assert ask(populated, "pragma user_version") == len(KNOWN)
    assert ask(populated, "select count(*) from sqlite_schema where name = 'marks'") == 0
    former = SqliteBackend(populated)
    await former.open()
    await assert_all_kept(former)
    await former.close()


async def test_a_newer_store_is_refused_and_left_alone(populated: Path) -> None:
    """A program that does not know the schema must not write to it."""
    newer = SqliteBackend(populated, migrations=[*KNOWN, FURTHER])
    await newer.open()
    await newer.close()
    older = SqliteBackend(populated)
    with pytest.raises(NewerFormat, match="Upgrade this node"):
        await older.open()
    await older.close()

    await newer.open()
    await assert_all_kept(newer)
    await newer.close()


async def test_several_processes_may_upgrade_at_once(populated: Path) -> None:
    """One runs the migration, the others wait for it and go on."""
    upgrades = [subprocess.Popen([sys.executable, "-c", UPGRADE, str(populated)]) for _ in range(4)]
    codes = [await asyncio.to_thread(upgrade.wait) for upgrade in upgrades]
    backend = SqliteBackend(populated, migrations=[*KNOWN, FURTHER])
    await backend.open()
    await assert_all_kept(backend)
    await backend.close()

    assert codes == [0] * 4
    assert ask(populated, "select mark from marks") == 100


async def test_an_upgrade_waits_no_longer_than_it_may(populated: Path) -> None:
    """Another process in a long transaction makes the store unavailable, and nothing is changed."""
    holder = apsw.Connection(str(populated))
    holder.execute("begin immediate")
    upgraded = SqliteBackend(populated, busy_timeout_seconds=0.05, migrations=[*KNOWN, FURTHER])
    with pytest.raises(BackendUnavailable, match="locked"):
        await upgraded.open()
    holder.execute("rollback")
    holder.close()

    assert ask(populated, "pragma user_version") == len(KNOWN)
