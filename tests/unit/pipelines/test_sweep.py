"""What the driver of a sweep hands to executors, and what these do, without Spark."""

import asyncio
from array import array
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.catalog.entities import FunctionEntity
from headgate.catalog.references import REFERENCES
from headgate.errors import ClockRefused, StoreNotFound
from headgate.kernel.records import EMPTY, Pointer, ScannedRow
from headgate.kernel.system import REALMS, SYSTEM_REALM
from headgate.limits import SWEEP_PAGES_AT_ONCE
from headgate.maintenance.clocks import Surveyed
from headgate.maintenance.marks import Entrance
from headgate.pipelines.sweep import pieces, table_of
from headgate.pipelines.sweep_rows import LEFT, ROW, STRANGE, YOUNG, Terms, delete, scan
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.wiring import backend_at, open_kernel, place_of

FUTURE_MS = 4_000_000_000_000


def test_entrances_are_divided_and_what_is_shared_is_left_out() -> None:
    """Older contents are walked only where they differ from the current ones."""
    many = tuple(range(1, 2 * SWEEP_PAGES_AT_ONCE + 2))
    now = Entrance("r", "p", "i", many, is_current=True)
    before = now._replace(pages=(1, 2, 1_000), is_current=False)
    found = list(pieces([now, before]))

    assert [len(one.pages) for one in found] == [SWEEP_PAGES_AT_ONCE, SWEEP_PAGES_AT_ONCE, 1, 1]
    assert tuple(id for one in found[:3] for id in one.pages) == many
    assert found[3] == before._replace(pages=(1_000,))


def test_what_the_driver_found_itself_is_a_table_of_marks() -> None:
    """Realm by realm; a sweep of nothing has an empty one."""
    found = table_of({"a": array("q", [1, 2]), "b": array("q", [3])})

    assert found.to_pylist() == [
        {"realm": "a", "id": 1},
        {"realm": "a", "id": 2},
        {"realm": "b", "id": 3},
    ]
    assert table_of({}).schema == found.schema


@pytest.fixture(name="settings")
def _settings(tmp_path: Path) -> Settings:
    return load(flags={"data": str(tmp_path)})


def test_a_store_is_found_by_its_place(settings: Settings) -> None:
    """One that is not there is not made."""
    place = place_of(settings)

    assert all(isinstance(text, str) for text in place.values())
    with pytest.raises(StoreNotFound):
        asyncio.run(backend_at(place).open())


async def fill(settings: Settings) -> tuple[str, list[int]]:
    """A realm, and objects in it that nothing refers to."""
    async with open_kernel(settings) as kernel:
        realm = (await kernel.realms.create("acme")).id
        ids = [kernel.ids.next() for _ in range(3)]
        await kernel.store.write(realm, {id: FunctionEntity(b"") for id in ids})
        await kernel.store.write("strange", {kernel.ids.next(): FunctionEntity(b"")})
        return realm, ids


def terms(settings: Settings, swept: set[str], listed: set[str], cutoff_ms: int) -> Terms:
    """What executors are told."""
    named = frozenset(swept), frozenset(listed)
    surveyed = Surveyed(0)
    return Terms(place_of(settings), REFERENCES, *named, cutoff_ms, 1, False, surveyed)


def rows_of(told: Terms) -> list[dict[str, object]]:
    """What a scan of the only share finds."""
    shares = pa.RecordBatch.from_pydict({"id": pa.array([0], pa.int64())})
    return [row for batch in scan(told, iter([shares])) for row in batch.to_pylist()]


def test_a_scan_tells_what_may_be_dead_and_counts_the_rest(settings: Settings) -> None:
    """Rows of realms that are swept; others are of realms that are listed, or not."""
    realm, ids = asyncio.run(fill(settings))
    old = rows_of(terms(settings, {realm}, {realm, SYSTEM_REALM}, FUTURE_MS))
    young = rows_of(terms(settings, {realm}, {realm, SYSTEM_REALM}, 0))

    assert {row["id"] for row in old if row["kind"] == ROW} == set(ids)
    assert {row["realm"] for row in old if row["kind"] == LEFT} == {SYSTEM_REALM}
    assert [row["realm"] for row in old if row["kind"] == STRANGE] == ["strange"]
    assert [row["count"] for row in young if row["kind"] == YOUNG] == [len(ids)]


def test_executors_delete_as_one_process_does(settings: Settings) -> None:
    """And tell how many rows that were."""
    realm, ids = asyncio.run(fill(settings))
    told = terms(settings, {realm}, {realm, SYSTEM_REALM}, FUTURE_MS)
    dead = [ScannedRow(realm, id, 0, "function", 0)._asdict() for id in ids]
    [answer] = delete(told, iter([pa.RecordBatch.from_pylist(dead)]))

    assert answer.to_pylist() == [{"rows": 3}]
    assert not [row for row in rows_of(told) if row["kind"] == ROW]


def test_executors_delete_nothing_once_the_clock_proves_to_be_ahead(settings: Settings) -> None:
    """A head moved since the driver looked at it, and is older than the run."""
    realm, ids = asyncio.run(fill(settings))
    told = terms(settings, {realm}, {realm, SYSTEM_REALM}, FUTURE_MS)
    ahead = told._replace(surveyed=Surveyed(FUTURE_MS, [Pointer(SYSTEM_REALM, REALMS, EMPTY)]))
    dead = [ScannedRow(SYSTEM_REALM, id, 0, "function", 0)._asdict() for id in ids]
    with pytest.raises(ClockRefused, match="Synchronise the clocks"):
        list(delete(ahead, iter([pa.RecordBatch.from_pylist(dead)])))

    assert {row["id"] for row in rows_of(told) if row["kind"] == ROW} == set(ids)
