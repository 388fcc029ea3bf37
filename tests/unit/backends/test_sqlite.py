"""What is special about a SQLite file: durability, locks, and what cannot be opened."""

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.backends.sqlite.connections import connect
from headgate.errors import BackendUnavailable, Closed, CorruptRow
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Swap
from tests.unit.backends.conftest import HEAD, OTHER, REALM, on_writer, row, started

HOLD_THE_LOCK = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
"""

OPEN_AND_COMMIT = """
import asyncio, sys
from pathlib import Path
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.kernel.records import PointerKey, Row, Swap

async def main(path, number):
    backend = SqliteBackend(Path(path))
    await backend.open()
    name = f"p{number}"
    await backend.create_pointers("r", [name])
    swap = Swap(PointerKey("r", name), 0, number)
    print(await backend.commit([Row("r", number, 0, 1, "t", 0, b"v")], swap))
    await backend.close()

sys.stdin.readline()
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("page_size", 4096), ("wal_autocheckpoint", 0)],
)
async def test_the_writer_is_fully_durable(
    backend: SqliteBackend, pragma: str, value: object
) -> None:
    """A commit is synced to disk, and no commit runs a checkpoint."""
    assert await on_writer(backend, lambda connection: connection.pragma(pragma)) == value


async def test_the_layout_is_the_one_that_was_measured(
    backend: SqliteBackend, second: apsw.Connection
) -> None:
    """Objects lie in a rowid table, pointers in one without, both strict."""
    found = second.execute("select name, wr, strict from pragma_table_list where schema = 'main'")
    tables = {name: (without_rowid, strict) for name, without_rowid, strict in found}

    assert tables["objects"] == (0, 1)
    assert tables["pointers"] == (1, 1)


async def test_what_was_committed_is_there_after_reopening(
    backend: SqliteBackend, path: Path
) -> None:
    """Closing empties the log into the file, and opening finds everything again."""
    await backend.commit([row(1, b"\x00\xff" * 99)], Swap(HEAD, EMPTY, 7))
    await backend.close()
    log_remains = path.with_name(path.name + "-wal").exists()
    await backend.open()

    assert not log_remains
    assert await backend.read_pointers([HEAD]) == [7]
    assert await backend.fetch(REALM, [1]) == [row(1, b"\x00\xff" * 99)]


async def test_a_lock_held_by_another_process_makes_the_store_unavailable(
    backend: SqliteBackend, path: Path
) -> None:
    """After a bounded wait the commit fails, certainly not applied; reads go on all the time."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BackendUnavailable, match="another process kept it locked"):
            await backend.commit([row(1)], Swap(HEAD, EMPTY, 7))
        assert await backend.read_pointers([HEAD]) == [EMPTY]
        holder.communicate()

    assert await backend.fetch(REALM, [1]) == []
    assert await backend.commit([row(1)], Swap(HEAD, EMPTY, 8)) is Outcome.APPLIED


async def test_a_lock_that_is_let_go_in_time_is_waited_for(path: Path) -> None:
    """A writer that meets a lock waits for it."""
    backend = SqliteBackend(path, busy_timeout_seconds=10)
    await backend.open()
    await backend.create_pointers(REALM, [HEAD.name])
    other = connect(path, 0.0)
    other.execute("begin immediate")
    [commit] = await started(backend.commit([], Swap(HEAD, EMPTY, 7)))
    await asyncio.sleep(0.05)
    waited = not commit.done()
    other.execute("rollback")
    outcome = await commit
    other.close()
    await backend.close()

    assert waited
    assert outcome is Outcome.APPLIED


async def test_all_commits_that_wait_for_a_lock_fail(
    backend: SqliteBackend, second: apsw.Connection
) -> None:
    """Each gets an error of its own, and none is applied."""
    second.execute("begin immediate")
    results = await asyncio.gather(
        *(backend.commit([], Swap(key, EMPTY, 7)) for key in (HEAD, OTHER, HEAD)),
        return_exceptions=True,
    )
    second.execute("rollback")

    assert [type(result) for result in results] == [BackendUnavailable] * 3
    assert len(set(map(id, results))) == 3
    assert await backend.read_pointers([HEAD, OTHER]) == [EMPTY, EMPTY]


async def test_a_fresh_file_that_another_process_has_locked_is_waited_for(path: Path) -> None:
    """Before a file is in WAL mode its locks are others; they are waited for, and not for ever."""
    path.parent.mkdir()
    holder = apsw.Connection(str(path))
    holder.execute("begin immediate")
    impatient = SqliteBackend(path, busy_timeout_seconds=0.05)
    with pytest.raises(BackendUnavailable, match="locked"):
        await impatient.open()
    patient = SqliteBackend(path)
    [opening] = await started(patient.open())
    await asyncio.sleep(0.05)
    waited = not opening.done()
    holder.execute("rollback")
    await opening
    holder.close()
    await patient.close()

    assert waited


async def test_several_processes_may_open_a_fresh_file_at_once(path: Path) -> None:
    """The schema is made once, and each process can commit."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_COMMIT, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, 7)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [(await asyncio.to_thread(worker.communicate))[0].strip() for worker in workers]
    backend = SqliteBackend(path)
    await backend.open()
    values = await backend.read_pointers([PointerKey(REALM, f"p{n}") for n in range(1, 7)])
    await backend.close()

    assert said == ["Outcome.APPLIED"] * 6
    assert values == [1, 2, 3, 4, 5, 6]


async def test_the_directory_is_made(path: Path, backend: SqliteBackend) -> None:
    """A path whose directory does not exist yet is fine."""
    assert path.exists()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """The message says so in one line, and the file is left alone."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 99)
    backend = SqliteBackend(path)

    with pytest.raises(CorruptRow, match="no SQLite database") as caught:
        await backend.open()
    await backend.close()
    assert "\n" not in str(caught.value)
    assert path.read_text() == "not a database " * 99


async def test_a_damaged_page_is_found_out(path: Path, backend: SqliteBackend) -> None:
    """Reading what was overwritten by somebody else is an error, never a wrong answer."""
    await backend.write([row(id, bytes(3_000)) for id in range(50)])
    await backend.close()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\x5a" * (len(content) - 4096))
    await backend.open()

    with pytest.raises(CorruptRow, match="damaged"):
        await backend.fetch(REALM, [1])
    with pytest.raises(CorruptRow, match="damaged"):
        await backend.commit([], Swap(HEAD, EMPTY, 1))


@pytest.mark.parametrize("place", [".", "file/headgate.db"])
async def test_a_path_that_cannot_be_opened_is_unavailable(tmp_path: Path, place: str) -> None:
    """A directory in place of the file, or a file in place of the directory."""
    (tmp_path / "file").write_text("")
    backend = SqliteBackend(tmp_path / place)

    with pytest.raises(BackendUnavailable, match="cannot be opened"):
        await backend.open()
    await backend.close()


async def test_a_closed_backend_says_so(path: Path) -> None:
    """Verbs before opening and after closing are refused; closing twice is fine."""
    backend = SqliteBackend(path)
    with pytest.raises(Closed):
        await backend.read_pointers([HEAD])
    await backend.open()
    await backend.close()
    await backend.close()

    with pytest.raises(Closed):
        await backend.commit([], Swap(HEAD, EMPTY, 1))
