"""Tables in the warehouse of a new store: found by a bounded look."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from headgate.catalog import used_warehouses
from headgate.catalog.used_warehouses import check_unused, find_table_file
from headgate.errors import BadSetting, StorageUnavailable
from headgate.limits import WAREHOUSE_LOOK_FILES_MAX
from headgate.testing.kernels import Rig

WAREHOUSE = "s3://b/wh"
FILE = f"{WAREHOUSE}/a/t-1/metadata/00000-x.metadata.json"


class Listed:
    """A storage that lists these files; counts how many were asked for."""

    def __init__(self, files: Iterable[str], error: Exception | None = None) -> None:
        self._files = files
        self._error = error
        self.given = 0

    async def list(self, prefix: str) -> AsyncIterator[str]:
        assert prefix == WAREHOUSE
        if self._error is not None:
            raise self._error
        for file in self._files:
            self.given += 1
            yield file


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


async def test_a_new_store_beside_tables_is_refused(rig: Rig) -> None:
    """The error says which file was found and what to do; nothing is written."""
    kernel = await rig.open()
    with pytest.raises(BadSetting) as refused:
        await check_unused(kernel, Listed([f"{WAREHOUSE}/x", FILE]), WAREHOUSE)
    assert FILE in refused.value.why
    assert "bootstrap.accept-tables=true" in refused.value.fix
    assert await kernel.realms.list() == []


async def test_a_store_that_has_metalakes_is_not_looked_at(rig: Rig) -> None:
    """It is not new, whatever lies in its warehouse."""
    await rig.realm("default")
    listed = Listed([FILE])
    await check_unused(rig.kernels[0], listed, WAREHOUSE)
    assert listed.given == 0


async def test_the_look_is_bounded() -> None:
    """It ends with the first metadata file, or after so many others: these are no accident."""
    many = Listed(f"{WAREHOUSE}/a/t/data/{number}.parquet" for number in range(10**9))
    assert await find_table_file(many, WAREHOUSE) is not None
    assert many.given == WAREHOUSE_LOOK_FILES_MAX
    first = Listed([FILE, FILE])
    assert await find_table_file(first, WAREHOUSE) == FILE
    assert first.given == 1


async def test_a_storage_that_does_not_answer_keeps_nobody_from_starting(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that fails, and one that is silent: the log says that nothing was looked at."""
    kernel = await rig.open()
    away = Listed([], StorageUnavailable("the store is away"))
    await check_unused(kernel, away, WAREHOUSE)
    monkeypatch.setattr(used_warehouses, "WAREHOUSE_LOOK_SECONDS", 0)

    class Silent(Listed):
        async def list(self, prefix: str) -> AsyncIterator[str]:
            await asyncio.Event().wait()
            yield prefix

    await check_unused(kernel, Silent([]), WAREHOUSE)
    assert caplog.text.count("is not looked at for tables of another store") == 2
