"""Pointers that are known to be as they were, without asking SQLite."""

import subprocess
import sys
from pathlib import Path

import apsw

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.backends.sqlite.connections import connect
from headgate.backends.sqlite.wal_index import WalIndex
from headgate.kernel.records import EMPTY, Outcome, Swap
from tests.unit.backends.conftest import HEAD, OTHER, REALM

LOCK_BYTE = 128  # of the index: held, shared, by every process that is connected
TRY_TO_LOCK = f"""
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, {LOCK_BYTE})
"""
MOVE = """
import apsw, sys
apsw.Connection(sys.argv[1]).execute("update pointers set value = value + 1")
"""


async def test_a_second_read_asks_nothing_of_the_database(
    backend: SqliteBackend, path: Path
) -> None:
    """Between commits the values of pointers are taken from memory."""
    statements: list[str] = []
    await backend.read_pointers([HEAD, OTHER])
    trace(backend, statements)

    assert await backend.read_pointers([HEAD, OTHER]) == [EMPTY, EMPTY]
    assert statements == []
    assert await backend.read_pointers([OTHER]) == [EMPTY]
    assert len(statements) == 1


async def test_a_commit_of_this_process_is_seen_at_once(backend: SqliteBackend) -> None:
    """Each read after a commit has its value."""
    for value in range(EMPTY + 1, 200):
        swap = Swap(HEAD, value - 1, value)
        assert await backend.commit([], swap) is Outcome.APPLIED
        assert await backend.read_pointers([HEAD]) == [value]
        assert await backend.read_pointers([HEAD]) == [value]


async def test_a_commit_of_another_process_is_seen_at_once(
    backend: SqliteBackend, path: Path
) -> None:
    """The header lies in memory that all processes share."""
    for value in range(EMPTY, EMPTY + 3):
        assert await backend.read_pointers([HEAD]) == [value]
        run(MOVE, path)
    assert await backend.read_pointers([HEAD]) == [EMPTY + 3]


async def test_a_commit_after_the_log_was_emptied_is_seen(
    backend: SqliteBackend, second: apsw.Connection
) -> None:
    """A log that starts anew has another header, even if it is as long as the old one was."""
    for value in range(EMPTY, EMPTY + 20):
        assert await backend.read_pointers([HEAD]) == [value]
        second.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert await backend.read_pointers([HEAD]) == [value]
        second.execute("update pointers set value = value + 1")
    assert await backend.read_pointers([HEAD]) == [EMPTY + 20]


async def test_an_answer_belongs_to_its_caller(backend: SqliteBackend) -> None:
    """Changing the list that was returned changes no later answer."""
    (await backend.read_pointers([HEAD])).append(17)

    assert await backend.read_pointers([HEAD]) == [EMPTY]


async def test_closing_one_of_two_stores_leaves_the_locks_of_the_other(path: Path) -> None:
    """SQLite relies on locks that a process loses when it closes the file anywhere."""
    first, other = SqliteBackend(path), SqliteBackend(path)
    await first.open()
    await other.open()
    await other.create_pointers(REALM, [HEAD.name])
    index = Path(f"{path}-shm")

    await first.close()
    assert await other.read_pointers([HEAD]) == [EMPTY]
    assert run(TRY_TO_LOCK, index) != 0, "somebody else can take what SQLite must hold"

    await other.close()
    assert not index.exists(), "the last one to leave cleans up"


async def test_leaving_while_another_store_is_being_opened_leaves_its_locks(path: Path) -> None:
    """Who is about to connect counts already."""
    first = SqliteBackend(path)
    await first.open()
    coming = WalIndex(path)
    connection = connect(path, 1.0)
    connection.execute("select count(*) from pointers").fetchall()

    await first.close()
    assert run(TRY_TO_LOCK, Path(f"{path}-shm")) != 0, "somebody else can take its locks"

    coming.open()
    assert coming.header()
    connection.close()
    coming.close()


def trace(backend: SqliteBackend, statements: list[str]) -> None:
    reader = backend._reader
    assert reader is not None

    def note(_: object, statement: str, _bindings: object) -> bool:
        statements.append(statement)
        return True

    reader._connection.exec_trace = note


def run(program: str, path: Path) -> int:
    return subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode
