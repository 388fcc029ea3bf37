"""What is special about reading from SQLite: snapshots, scans, and a log that stays short."""

import asyncio
from pathlib import Path
from typing import Any, SupportsIndex, overload

import apsw
import pytest

from headgate.backends.sqlite import checkpoints
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.backends.sqlite.connections import connect
from headgate.kernel.records import EMPTY, Outcome, Partition, PointerKey, Swap
from tests.unit.backends.conftest import HEAD, REALM, row, started


async def test_a_read_of_pointers_does_not_suspend(backend: SqliteBackend) -> None:
    """It is answered within the first step of its coroutine."""
    reading = backend.read_pointers([HEAD])

    with pytest.raises(StopIteration) as answer:
        reading.send(None)
    assert answer.value.value == [EMPTY]


async def test_many_pointers_are_read_as_of_one_instant(
    backend: SqliteBackend, second: apsw.Connection
) -> None:
    """A commit between the statements of one large read is not seen by it."""
    keys = [PointerKey(REALM, f"p{number:03}") for number in range(600)]
    await backend.create_pointers(REALM, [key.name for key in keys])

    class Meddling(list[PointerKey]):
        """Moves all pointers whenever the next piece of the keys is taken."""

        @overload
        def __getitem__(self, place: SupportsIndex) -> PointerKey: ...
        @overload
        def __getitem__(self, place: slice) -> list[PointerKey]: ...
        def __getitem__(self, place: Any) -> Any:
            if place.start:
                second.execute("update pointers set value = value + 1")
            return super().__getitem__(place)

    seen = await backend.read_pointers(Meddling(keys))

    assert seen == [EMPTY] * 600
    assert await backend.read_pointers([*keys, PointerKey(REALM, "none")]) == [2] * 600 + [None]


async def test_no_pointers_are_no_question(backend: SqliteBackend) -> None:
    """An empty read has an empty answer."""
    assert await backend.read_pointers([]) == []
    assert await backend.fetch(REALM, []) == []


async def test_no_read_keeps_the_log_from_being_emptied(
    backend: SqliteBackend, second: apsw.Connection, path: Path
) -> None:
    """After any read, even a scan that was left half-way, no snapshot stays open."""
    await backend.write([row(id) for id in range(2_500)])
    await backend.read_pointers([HEAD] * 7)
    await backend.read_pointers([HEAD] * 700)
    await backend.fetch(REALM, range(700))
    rows: Any = backend.scan_rows()
    pointers: Any = backend.scan_pointers()
    await anext(rows)
    await anext(pointers)
    await backend.write([row(9_999)])

    second.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    assert path.with_name(path.name + "-wal").stat().st_size == 0
    await rows.aclose()
    await pointers.aclose()


async def test_partitions_scanned_while_the_store_grows_still_fit(backend: SqliteBackend) -> None:
    """Rows that were there from the start are seen once, whenever each partition is scanned."""
    early, late = range(9_000), range(10_000, 19_000)
    await backend.write([row(id) for id in early])
    await backend.delete(REALM, range(2_000, 3_000))
    seen = await _scanned(backend, Partition(0, 3))
    await backend.write([row(id) for id in late])
    seen += await _scanned(backend, Partition(1, 3))
    seen += await _scanned(backend, Partition(2, 3))

    assert len(seen) == len(set(seen))
    assert set(seen) >= {*early} - {*range(2_000, 3_000)}


async def test_a_scan_lets_other_tasks_run(backend: SqliteBackend) -> None:
    """Between two batches the loop goes round."""
    await backend.write([row(id) for id in range(3_000)])
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    [counting] = await started(count())
    batches = [len(batch) async for batch in backend.scan_rows()]
    counting.cancel()

    assert batches == [1_000, 1_000, 1_000]
    assert rounds >= 3


async def test_all_pointers_are_scanned_across_batches(backend: SqliteBackend) -> None:
    """Pages follow each other without gap or overlap, in names with odd characters too."""
    names = [f"n{number}" for number in range(1_200)] + ["é", "n1 ", "N1", "n1\x01"]
    await backend.create_pointers("s", names)
    of_one = [pointer.name async for batch in backend.scan_pointers("s") for pointer in batch]
    of_all = [pointer async for batch in backend.scan_pointers() for pointer in batch]

    assert sorted(of_one) == sorted(names)
    assert len(of_all) == len(set(of_all)) == len(names) + 2


async def test_the_log_stays_short_under_load(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers and readers without a pause do not keep the checkpointer from emptying it."""
    monkeypatch.setattr(checkpoints, "WAL_PAGES_WANTED", 64)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAUSE_SECONDS", 0.0)
    backend = SqliteBackend(path)
    await backend.open()
    keys = [PointerKey(REALM, f"p{number}") for number in range(8)]
    await backend.create_pointers(REALM, [key.name for key in keys])
    longest = 0

    async def commit_often(key: PointerKey, ids: range) -> None:
        nonlocal longest
        current = EMPTY
        for id in ids:
            swap = Swap(key, current, id)
            assert await backend.commit([row(id, bytes(8_000))], swap) is Outcome.APPLIED
            assert (await backend.read_pointers([key])) == [id]
            current = id
            longest = max(longest, path.with_name(path.name + "-wal").stat().st_size)

    await asyncio.gather(
        *(commit_often(key, range(n * 1_000 + 1, n * 1_000 + 401)) for n, key in enumerate(keys))
    )
    await backend.close()

    written = 8 * 400 * 8_000
    assert longest < written / 2


async def test_a_reader_that_pins_the_log_does_not_stop_writers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints that cannot finish are given up; commits go on."""
    monkeypatch.setattr(checkpoints, "WAL_PAGES_WANTED", 1)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAUSE_SECONDS", 0.0)
    backend = SqliteBackend(path)
    await backend.open()
    await backend.create_pointers(REALM, [HEAD.name])
    reader = connect(path, 0.0)
    reader.execute("begin")
    before = reader.execute("select value from pointers").fetchall()
    outcomes = [await backend.commit([row(id)], Swap(HEAD, id - 1, id)) for id in range(1, 20)]
    after = reader.execute("select value from pointers").fetchall()
    reader.close()
    await backend.close()

    assert outcomes == [Outcome.APPLIED] * 19
    assert before == after == [(EMPTY,)]


async def _scanned(backend: SqliteBackend, partition: Partition) -> list[int]:
    return [found.id async for batch in backend.scan_rows(partition) for found in batch]
