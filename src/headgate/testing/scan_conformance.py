"""What the port says about scans, the deletion of realms, and opening and closing."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import pytest

from headgate.errors import PointerNotFound
from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import closing
from headgate.kernel.records import (
    EMPTY,
    Outcome,
    Partition,
    Pointer,
    PointerKey,
    ScannedRow,
    Swap,
)
from headgate.limits import ROW_BYTES_MAX
from headgate.testing.row_conformance import ID_EDGES, immutable, large, versioned

MANY = 2_500  # more than fits in one batch of a scan, as far as we know
CHANGES = 20

T = TypeVar("T")


class ScanConformance:
    """`scan_pointers` and `scan_rows`. The database may hold other realms than the test's own."""

    async def test_a_scan_shows_all_pointers_of_a_realm(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Each pointer once, with its value, and none of other realms."""
        await backend.create_pointers(realm, ["a", "b"])
        await backend.create_pointers(other_realm, ["a", "c"])
        await backend.commit([], Swap(PointerKey(realm, "b"), EMPTY, 2**63 - 1))

        found = await _all(backend.scan_pointers(realm))
        assert sorted(found) == [Pointer(realm, "a", EMPTY), Pointer(realm, "b", 2**63 - 1)]
        assert all(isinstance(pointer, Pointer) for pointer in found)

    async def test_a_scan_shows_the_pointers_of_all_realms(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Without a realm every pointer is seen once."""
        await backend.create_pointers(realm, ["a", "b"])
        await backend.create_pointers(other_realm, ["a"])

        found = [one for one in await _all(backend.scan_pointers()) if one.realm[:-1] == realm[:-1]]
        expected = [(realm, "a", EMPTY), (realm, "b", EMPTY), (other_realm, "a", EMPTY)]
        assert sorted(found) == sorted(expected)

    async def test_a_scan_of_an_unknown_realm_is_empty(self, backend: Backend, realm: str) -> None:
        """Absence is no error."""
        assert await _all(backend.scan_pointers(realm)) == []

    async def test_a_scan_shows_all_rows_without_values(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Every part of every row of all realms, immutable or versioned, once."""
        await backend.write(large(realm, 1, 2 * ROW_BYTES_MAX))
        await backend.insert(versioned(realm, 2, 2**63 - 1))
        await backend.write([immutable(other_realm, 1)])

        found = [row for row in await _all(backend.scan_rows()) if row.realm[:-1] == realm[:-1]]
        expected = [
            ScannedRow(realm, 1, 0, "test", 0),
            ScannedRow(realm, 1, 1, "test", 0),
            ScannedRow(realm, 2, 0, "test", 2**63 - 1),
            ScannedRow(other_realm, 1, 0, "test", 0),
        ]
        assert sorted(found) == sorted(expected)
        assert all(isinstance(row, ScannedRow) for row in found)

    @pytest.mark.parametrize("shares", [1, 2, 3, 7])
    async def test_partitions_are_disjoint_and_complete(
        self, backend: Backend, second: Backend, realm: str, shares: int
    ) -> None:
        """Each row is in exactly one of the partitions, whichever node scans them."""
        rows = [immutable(realm, id) for id in [*ID_EDGES, *range(1_000, 1_100)]]
        await backend.write([*rows, *large(realm, 5_000, 3 * ROW_BYTES_MAX)])

        seen: Counter[tuple[int, int]] = Counter()
        for share in range(shares):
            node = (backend, second)[share % 2]
            for row in await _all(node.scan_rows(Partition(share, shares))):
                seen[row.id, row.part] += row.realm == realm
        parts = [(5_000, part) for part in range(3)]
        assert +seen == Counter([*((row.id, row.part) for row in rows), *parts])

    async def test_long_scans_see_what_stays(self, backend: Backend, realm: str) -> None:
        """While rows and pointers come and go, a scan of many batches sees all others once."""
        names = {str(number) for number in range(MANY)}
        await backend.create_pointers(realm, names | {f"doomed {one}" for one in range(CHANGES)})
        await backend.write([immutable(realm, id, b"") for id in range(1, MANY + CHANGES)])
        changes = iter(range(CHANGES))  # a scan need not end while something comes all the time

        seen: Counter[int | str] = Counter()
        async for pointers in backend.scan_pointers(realm):
            seen.update(pointer.name for pointer in pointers)
            for change in itertools.islice(changes, 2):
                await backend.create_pointers(realm, [f"new {change}"])
                await backend.delete_pointers([PointerKey(realm, f"doomed {change}")])
        changes = iter(range(CHANGES))
        async for rows in backend.scan_rows():
            seen.update(row.id for row in rows if row.realm == realm)
            for change in itertools.islice(changes, 2):
                await backend.write([immutable(realm, 2 * MANY + change)])
                await backend.delete(realm, [MANY + change])
        stayed: list[int | str] = [*names, *range(1, MANY)]
        assert {one: seen[one] for one in stayed} == dict.fromkeys(stayed, 1)

    async def test_a_scan_can_be_left_early(self, backend: Backend, realm: str) -> None:
        """Scans that are not read to their end, many at a time, do not block the backend."""
        await backend.create_pointers(realm, [str(number) for number in range(MANY)])
        await backend.write([immutable(realm, id, b"") for id in range(1, MANY + 1)])
        for _ in range(20):
            async with closing(backend.scan_pointers(realm)) as pointers:
                assert await anext(pointers)
            async with closing(backend.scan_rows()) as rows:
                assert await anext(rows)

        await backend.write([immutable(realm, MANY + 1)])
        assert await backend.fetch(realm, [MANY + 1]) == [immutable(realm, MANY + 1)]

    async def test_scans_run_side_by_side(self, backend: Backend, realm: str) -> None:
        """Several scans and other calls at once do not disturb each other."""
        await backend.create_pointers(realm, [str(number) for number in range(MANY)])
        scans = [_all(backend.scan_pointers(realm)) for _ in range(10)]

        *found, _ = await asyncio.gather(*scans, backend.write([immutable(realm, 1)]))
        assert [len(set(pointers or ())) for pointers in found] == [MANY] * 10

    async def test_scans_are_never_cached(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """What is acknowledged on one node is seen by the next scan on the other."""
        for id in range(1, 6):
            await backend.create_pointers(realm, [str(id)])
            await backend.write([immutable(realm, id)])

            assert len(await _all(second.scan_pointers(realm))) == id
            rows = await _all(second.scan_rows())
            assert sum(row.realm == realm for row in rows) == id


class RealmConformance:
    """`delete_realm`."""

    @pytest.mark.parametrize("limit", [400, 100_000])
    async def test_deleting_a_realm_leaves_nothing_of_it(
        self, backend: Backend, realm: str, other_realm: str, limit: int
    ) -> None:
        """Its pointers and rows of any kind are gone and counted; other realms are untouched."""
        for each in (realm, other_realm):
            await backend.create_pointers(each, [str(number) for number in range(MANY)])
            await backend.write([immutable(each, id, b"") for id in range(1, MANY + 1)])
            await backend.write(large(each, MANY + 1, 3 * ROW_BYTES_MAX))
            await backend.insert(versioned(each, MANY + 2, 1))
        counts = await _delete_realm(backend, realm, limit)

        assert sum(counts) == 2 * MANY + 4
        assert await _all(backend.scan_pointers(realm)) == []
        assert len(await _all(backend.scan_pointers(other_realm))) == MANY
        rows = Counter(row.realm for row in await _all(backend.scan_rows()))
        assert rows[realm] == 0
        assert rows[other_realm] == MANY + 4

    @pytest.mark.parametrize("limit", [1, 10, 25])
    async def test_a_realm_is_deleted_little_by_little(
        self, backend: Backend, realm: str, limit: int
    ) -> None:
        """One call deletes about as much as it may, and no row before the last pointer."""
        await backend.create_pointers(realm, [str(number) for number in range(30)])
        await backend.write([immutable(realm, id) for id in range(1, 31)])
        remaining = 60
        while deleted := await backend.delete_realm(realm, limit):
            remaining -= deleted
            pointers = len(await _all(backend.scan_pointers(realm)))
            rows = len(await backend.fetch(realm, range(1, 31)))

            assert deleted <= 2 * limit
            assert remaining == pointers + rows
            assert rows == 30 or pointers == 0
        assert remaining == 0

    async def test_a_realm_may_be_deleted_twice_or_unknown(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Of a realm without anything nothing is deleted."""
        await backend.create_pointers(other_realm, ["a"])
        assert await backend.delete_realm(realm, 10) == 0
        await backend.create_pointers(realm, ["a"])
        assert await _delete_realm(backend, realm, 10) == [1]
        assert await backend.delete_realm(realm, 10) == 0

        assert len(await _all(backend.scan_pointers(other_realm))) == 1

    async def test_a_deleted_realm_takes_no_commits(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Its pointers are gone for every node, and may be created anew."""
        key = PointerKey(realm, "a")
        await backend.create_pointers(realm, ["a"])
        await backend.commit([], Swap(key, EMPTY, 1))
        await _delete_realm(second, realm, 10)

        assert await backend.read_pointers([key]) == [None]
        with pytest.raises(PointerNotFound):
            await backend.commit([], Swap(key, 1, 2))
        await backend.create_pointers(realm, ["a"])
        assert await backend.commit([], Swap(key, EMPTY, 2)) is Outcome.APPLIED


class OpeningConformance:
    """`open` and `close`. The fixture `another` makes one more node on the same database."""

    async def test_opening_keeps_what_is_stored(
        self, backend: Backend, realm: str, another: Callable[[], Backend]
    ) -> None:
        """A node that comes later finds pointers and rows."""
        await backend.create_pointers(realm, ["a"])
        await backend.write([immutable(realm, 1)])
        later = another()
        await later.open()

        assert await later.read_pointers([PointerKey(realm, "a")]) == [EMPTY]
        assert await later.fetch(realm, [1]) == [immutable(realm, 1)]
        await later.close()

    async def test_nodes_may_open_at_once(self, realm: str, another: Callable[[], Backend]) -> None:
        """Several nodes open the same database side by side, and all of them work."""
        nodes = [another() for _ in range(4)]
        await asyncio.gather(*(node.open() for node in nodes))

        for number, node in enumerate(nodes):
            assert await node.insert(versioned(realm, 1 + number, 1)) is Outcome.APPLIED
        await asyncio.gather(*(node.close() for node in nodes))

    async def test_close_may_be_called_twice(self, another: Callable[[], Backend]) -> None:
        """Also on a node that was never opened."""
        node, unopened = another(), another()
        await node.open()

        await node.close()
        await node.close()
        await unopened.close()

    async def test_closing_one_node_leaves_the_others(
        self, backend: Backend, key: PointerKey, another: Callable[[], Backend]
    ) -> None:
        """A node that goes takes nothing from the others."""
        node = another()
        await node.open()
        await node.commit([immutable(key.realm, 1)], Swap(key, EMPTY, 1))
        await node.close()

        assert await backend.read_pointers([key]) == [1]
        assert await backend.commit([], Swap(key, 1, 2)) is Outcome.APPLIED


async def _delete_realm(backend: Backend, realm: str, limit: int) -> list[int]:
    """Delete a realm to the end; how much each call deleted."""
    counts = []
    while count := await backend.delete_realm(realm, limit):
        counts.append(count)
    return counts


async def _all(scan: AsyncIterator[list[T]]) -> list[T]:
    return [one async for batch in scan for one in batch]
