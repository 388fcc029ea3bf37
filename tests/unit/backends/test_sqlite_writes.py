"""What is special about writing to SQLite: shared transactions, full disks, callers that leave."""

import asyncio
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from headgate.backends.sqlite import backend as backend_module
from headgate.backends.sqlite import checkpoints
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.errors import DatabaseFull, DatabaseGone, OutcomeUnknown, PointerNotFound
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Swap
from tests.unit.backends.conftest import HEAD, OTHER, REALM, on_writer, row, started, writer_held_up


async def test_a_full_disk_fails_the_commit_and_changes_nothing(backend: SqliteBackend) -> None:
    """The pointer that was swapped in the same transaction is swapped back."""
    await _allow_pages(backend, 0)
    with pytest.raises(DatabaseFull, match="the disk is full"):
        await backend.commit([row(1, bytes(100_000))], Swap(HEAD, EMPTY, 7))
    values = await backend.read_pointers([HEAD])
    rows = await backend.fetch(REALM, [1])
    await _allow_pages(backend, 1_000)

    assert values == [EMPTY]
    assert rows == []
    assert await backend.commit([row(1)], Swap(HEAD, EMPTY, 8)) is Outcome.APPLIED


async def test_a_job_that_fails_does_not_harm_those_in_its_transaction(
    backend: SqliteBackend,
) -> None:
    """They run again by themselves, with answers of their own."""
    await _allow_pages(backend, 5)
    async with writer_held_up(backend):
        tasks = await started(
            backend.commit([row(1)], Swap(HEAD, EMPTY, 7)),
            backend.write([row(2, bytes(100_000))]),
            backend.commit([row(3)], Swap(HEAD, EMPTY, 8)),
            backend.commit([row(4)], Swap(OTHER, EMPTY, 9)),
            backend.commit([row(5)], Swap(PointerKey(REALM, "none"), EMPTY, 9)),
        )
    first, full, lost, other, absent = await asyncio.gather(*tasks, return_exceptions=True)

    assert (first, lost, other) == (Outcome.APPLIED, Outcome.LOST, Outcome.APPLIED)
    assert isinstance(full, DatabaseFull)
    assert isinstance(absent, PointerNotFound)
    assert await backend.read_pointers([HEAD, OTHER]) == [7, 9]
    assert sorted(found.id for found in await backend.fetch(REALM, range(1, 6))) == [1, 4]


async def test_a_write_that_fails_half_way_does_not_claim_to_have_done_nothing(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long writes go in steps: when a later one fails, the outcome is unknown."""
    monkeypatch.setattr(backend_module, "STEP_ITEMS", 1)
    await _allow_pages(backend, 5)

    with pytest.raises(OutcomeUnknown, match="written in part"):
        await backend.write([row(1), row(2, bytes(100_000))])
    assert [found.id for found in await backend.fetch(REALM, [1, 2])] == [1]


@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_written_to_a_file_that_was_removed_or_replaced(
    backend: SqliteBackend, path: Path, replaced: bool
) -> None:
    """Nobody would find it again; once the file is back, it is written to."""
    async with writer_held_up(backend):
        kept = path.rename(path.with_name("kept"))
        if replaced:
            path.write_bytes(b"")
        tasks = await started(
            backend.commit([row(1)], Swap(HEAD, EMPTY, 7)),
            backend.commit([row(2)], Swap(OTHER, EMPTY, 8)),
        )
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    for answer in answers:
        assert isinstance(answer, DatabaseGone)
        assert "was removed or replaced" in answer.why
    kept.replace(path)
    assert await backend.commit([row(1)], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED


async def test_a_relative_path_is_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may change its directory while the store is open."""
    monkeypatch.chdir(tmp_path)
    backend = SqliteBackend(Path("headgate.db"))
    await backend.open()
    monkeypatch.chdir("/")

    await backend.write([row(1)])
    await backend.close()


async def test_a_disk_error_while_committing_leaves_the_outcome_unknown(
    backend: SqliteBackend, path: Path
) -> None:
    """The frames may have reached the log, so nobody can tell before reading."""
    await backend.write([row(1)])
    size = path.with_name(path.name + "-wal").stat().st_size
    with _files_limited_to(size), pytest.raises(OutcomeUnknown, match="while committing"):
        await backend.commit([row(2)], Swap(HEAD, EMPTY, 7))

    assert await backend.commit([row(2)], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED


async def test_a_failed_commit_fails_every_job_of_its_transaction(backend: SqliteBackend) -> None:
    """No caller is told APPLIED before COMMIT has returned."""
    with pytest.raises(OutcomeUnknown):  # the hook refuses this transaction already
        await on_writer(backend, lambda connection: connection.set_commit_hook(lambda: True))
    async with writer_held_up(backend):
        tasks = await started(
            backend.commit([], Swap(HEAD, EMPTY, 7)), backend.commit([], Swap(OTHER, EMPTY, 8))
        )
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(result) for result in results] == [OutcomeUnknown, OutcomeUnknown]
    assert results[0] is not results[1]
    assert await backend.read_pointers([HEAD, OTHER]) == [EMPTY, EMPTY]


async def test_waiting_commits_share_one_transaction(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen callers on sixteen pointers cost one sync."""
    transactions: list[int] = []

    def count(_: object, __: apsw.Connection, ___: str, pages: int) -> int:
        transactions.append(pages)
        return apsw.SQLITE_OK

    monkeypatch.setattr(checkpoints.Checkpointer, "wal_grew", count)
    backend = SqliteBackend(path)
    await backend.open()
    keys = [PointerKey(REALM, f"p{number}") for number in range(16)]
    await backend.create_pointers(REALM, [key.name for key in keys])
    transactions.clear()
    async with writer_held_up(backend):
        tasks = await started(*(backend.commit([], Swap(key, EMPTY, 9)) for key in keys))
    outcomes = await asyncio.gather(*tasks)
    await backend.close()

    assert outcomes == [Outcome.APPLIED] * 16
    assert len(transactions) == 1


async def test_a_cancelled_commit_still_happens(backend: SqliteBackend) -> None:
    """The thread goes on, and later callers are served."""
    async with writer_held_up(backend):
        [commit] = await started(backend.commit([row(1)], Swap(HEAD, EMPTY, 7)))
        commit.cancel()
        await asyncio.sleep(0)
    assert await backend.commit([], Swap(OTHER, EMPTY, 8)) is Outcome.APPLIED

    assert commit.cancelled()
    assert await backend.read_pointers([HEAD, OTHER]) == [7, 8]


def test_the_loop_may_be_closed_while_a_job_runs(path: Path) -> None:
    """The job finishes and the next loop can use the backend."""
    backend = SqliteBackend(path)
    release = threading.Event()

    async def leave_a_job() -> None:
        await backend.open()
        await backend.create_pointers(REALM, [HEAD.name])
        tasks = await started(
            on_writer(backend, lambda _: release.wait(10)),
            backend.commit([], Swap(HEAD, EMPTY, 7)),
        )
        for task in tasks:
            task.cancel()

    async def look() -> list[int | None]:
        await backend.create_pointers(REALM, ["behind the others in the queue"])
        values = await backend.read_pointers([HEAD])
        await backend.close()
        return values

    asyncio.run(leave_a_job())
    release.set()

    assert asyncio.run(look()) == [7]


async def test_an_error_of_the_caller_does_not_end_the_thread(backend: SqliteBackend) -> None:
    """What cannot be bound is raised as it is; others are served."""
    unbindable: Any = object()

    with pytest.raises(TypeError):
        await backend.write([row(1, unbindable)._replace(parts=unbindable)])
    assert await backend.commit([], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED


async def test_closing_finishes_what_was_asked_for(backend: SqliteBackend) -> None:
    """Jobs in the queue are done before the connection is closed."""
    [commit] = await started(backend.commit([row(1)], Swap(HEAD, EMPTY, 7)))
    await backend.close()

    assert await commit is Outcome.APPLIED


async def test_a_swap_to_the_same_value_is_a_mistake(backend: SqliteBackend) -> None:
    """It could not be told apart from a lost one."""
    with pytest.raises(AssertionError):
        await backend.commit([], Swap(HEAD, 7, 7))


async def test_a_realm_is_deleted_in_steps(backend: SqliteBackend) -> None:
    """Pointers first, then rows, so many at a time, and nothing of another realm."""
    await backend.write([row(id) for id in range(5)])
    await backend.write([row(1, realm="another")])
    first = await backend.delete_realm(REALM, 3)
    pointers = await backend.read_pointers([HEAD, OTHER])
    left = len(await backend.fetch(REALM, range(5)))
    later = [await backend.delete_realm(REALM, 3) for _ in range(3)]

    assert (first, pointers, left) == (3, [None, None], 4)
    assert later == [3, 1, 0]
    assert await backend.fetch("another", [1]) == [row(1, realm="another")]


async def _allow_pages(backend: SqliteBackend, more: int) -> None:
    """Let the file grow by so many pages only: to SQLite that is a full disk."""

    def limit(connection: apsw.Connection) -> None:
        connection.pragma("max_page_count", connection.pragma("page_count") + more)

    await on_writer(backend, limit)


@contextmanager
def _files_limited_to(size: int) -> Iterator[None]:
    """No file of this process may grow beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
