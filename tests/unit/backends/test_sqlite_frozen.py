"""A SQLite file that this process cannot write: read as it is, and nothing is made beside it."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.backends.sqlite.backend import PACKAGE, SqliteBackend
from headgate.clock import SystemClock
from headgate.errors import BackendUnavailable, DatabaseGone, NewerFormat
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.records import EMPTY, Outcome, Swap
from headgate.sql import load_migrations
from headgate.testing.kernels import entropy
from tests.unit.backends.conftest import HEAD, REALM, row


@pytest.fixture
async def written(path: Path) -> Path:
    """A file that a server has used and closed in order."""
    backend = SqliteBackend(path)
    await backend.open()
    await backend.create_pointers(REALM, [HEAD.name])
    assert await backend.commit([row(1)], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED
    await backend.close()
    return path


@pytest.fixture
async def reading(written: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteBackend]:
    """The same file, which may not be written now. Permissions would not stop a superuser."""
    freeze(monkeypatch)
    backend = SqliteBackend(written)
    await backend.open()
    yield backend
    await backend.close()


def freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)


def contents(path: Path) -> dict[str, tuple[bytes, int]]:
    files = path.parent.iterdir()
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


async def test_a_file_that_cannot_be_written_is_read(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made beside it, and not a byte or time of it changes."""
    before = contents(written)
    freeze(monkeypatch)
    backend = SqliteBackend(written)
    await backend.open()
    assert await backend.read_pointers([HEAD]) == [7]
    assert await backend.fetch(REALM, [1]) == [row(1)]
    assert contents(written) == before
    await backend.close()
    assert contents(written) == before
    assert list(before) == ["headgate.db"]


async def test_writes_say_that_it_may_only_be_read(reading: SqliteBackend) -> None:
    """And what to do."""
    with pytest.raises(BackendUnavailable, match=r"may only be read.*Start with --read-only"):
        await reading.commit([], Swap(HEAD, 7, 8))
    with pytest.raises(BackendUnavailable, match=r"may only be read.*Start with --read-only"):
        await reading.write([row(2)])
    assert await reading.read_pointers([HEAD]) == [7]


async def test_a_writer_that_comes_by_another_way_is_noticed(
    written: Path, reading: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages would change under the reader: the next read is refused instead."""
    assert await reading.read_pointers([HEAD]) == [7]
    monkeypatch.undo()
    writer = SqliteBackend(written)
    await writer.open()
    with pytest.raises(DatabaseGone):
        await reading.read_pointers([HEAD])
    await writer.close()


async def test_a_file_that_another_process_writes_is_read_with_its_log(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each read sees what was committed before it."""
    writer = SqliteBackend(written)
    await writer.open()
    freeze(monkeypatch)
    reader = SqliteBackend(written)
    await reader.open()
    for value in (8, 9):
        assert await writer.commit([], Swap(HEAD, value - 1, value)) is Outcome.APPLIED
        assert await reader.read_pointers([HEAD]) == [value]
    with pytest.raises(BackendUnavailable, match="may only be read"):
        await reader.commit([], Swap(HEAD, 9, 10))
    await reader.close()
    await writer.close()


async def test_a_copy_of_a_file_in_use_cannot_be_read_in_part(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed last is in the log; it is read too, or nothing is."""
    writer = SqliteBackend(written)
    await writer.open()
    assert await writer.commit([], Swap(HEAD, 7, 8)) is Outcome.APPLIED
    copy = tmp_path / "copy"
    shutil.copytree(written.parent, copy)
    await writer.close()
    freeze(monkeypatch)
    reader = SqliteBackend(copy / written.name)
    await reader.open()
    assert await reader.read_pointers([HEAD]) == [8]
    await reader.close()


async def test_a_schema_of_another_version_is_refused(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one would have to be upgraded, which takes writing."""
    freeze(monkeypatch)
    known = load_migrations(PACKAGE)
    more = [*known, known[-1]._replace(number=len(known) + 1)]
    with pytest.raises(BackendUnavailable, match="Open it once with this version where"):
        await SqliteBackend(written, migrations=more).open()
    with pytest.raises(NewerFormat):
        await SqliteBackend(written, migrations=known[:-1]).open()


async def test_a_node_that_writes_does_not_open_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that only reads does; a lease cannot be written."""
    async with Kernel(SqliteBackend(path), SystemClock(), entropy(1)):
        pass
    freeze(monkeypatch)
    with pytest.raises(BackendUnavailable, match="Start with --read-only"):
        await Kernel(SqliteBackend(path), SystemClock(), entropy(2)).open()
    options = KernelOptions(writable=False)
    async with Kernel(SqliteBackend(path), SystemClock(), entropy(3), options) as kernel:
        assert await kernel.realms.list() == []
