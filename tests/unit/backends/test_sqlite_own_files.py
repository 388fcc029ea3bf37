"""Files of a store that are taken away or replaced while it is open."""

import asyncio
import shutil
from pathlib import Path

import pytest

from headgate.backends.sqlite.backend import SqliteBackend
from headgate.backends.sqlite.own_files import CHECKED_SECONDS
from headgate.errors import DatabaseGone
from headgate.kernel.records import EMPTY, Outcome, Swap
from tests.unit.backends.conftest import HEAD, REALM, row


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("replaced", [False, True])
async def test_a_store_whose_files_are_gone_answers_nobody(
    backend: SqliteBackend, path: Path, ending: str, replaced: bool
) -> None:
    """It would answer what others do not see, and lose what it is told."""
    file = Path(f"{path}{ending}")
    kept = file.rename(file.with_name("kept"))
    if replaced:
        shutil.copy(kept, file)
    await asyncio.sleep(2 * CHECKED_SECONDS)

    with pytest.raises(DatabaseGone, match=r"was removed or replaced.*Stop all nodes"):
        await backend.read_pointers([HEAD])
    with pytest.raises(DatabaseGone):
        await backend.commit([row(1)], Swap(HEAD, EMPTY, 7))

    kept.replace(file)
    assert await backend.read_pointers([HEAD]) == [EMPTY]
    assert await backend.commit([row(1)], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED


async def test_leaving_changes_no_file_that_was_put_there_by_others(path: Path) -> None:
    """The log is not copied into another database, and is left to those who use it."""
    backend = SqliteBackend(path)
    await backend.open()
    await backend.create_pointers(REALM, [HEAD.name])
    await backend.commit([row(1)], Swap(HEAD, EMPTY, 7))
    log = Path(f"{path}-wal").read_bytes()
    other = path.with_name("other")
    shutil.copy(path, other)
    other.replace(path)
    before = path.read_bytes()

    await backend.close()

    assert path.read_bytes() == before
    assert log
    assert Path(f"{path}-wal").read_bytes() == log
