"""What the port says about rows: immutable ones, versioned ones, and their deletion."""

import random
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise

import pytest

from headgate.kernel.backend import Backend
from headgate.kernel.objects import Encoded, join, split
from headgate.kernel.records import Outcome, Row
from headgate.limits import ROW_BYTES_MAX, TYPE_NAME_CHARS_MAX

ID_EDGES = [1, 2, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 2, 2**63 - 1]
EVERY_BYTE = bytes(range(256))
COLLECTIONS: list[Callable[[Iterable[int]], Collection[int]]] = [
    list,
    tuple,
    set,
    frozenset,
    dict.fromkeys,
    lambda ids: dict.fromkeys(ids).keys(),
]
MIB = 1 << 20


def immutable(realm: str, id: int, value: bytes = b"value", part: int = 0, parts: int = 1) -> Row:
    return Row(realm, id, part, parts, "test", 0, value)


def versioned(realm: str, id: int, version: int, value: bytes = b"value") -> Row:
    return Row(realm, id, 0, 1, "test", version, value)


def large(realm: str, id: int, size: int) -> list[Row]:
    """The rows of an object of this size, each part different."""
    return split(realm, Encoded(id, "test", random.Random(id).randbytes(size)))


class ImmutableRowConformance:
    """`write`, `fetch` and `delete`."""

    async def test_a_written_row_is_fetched_as_it_was(self, backend: Backend, realm: str) -> None:
        """All fields of a row come back, the value as bytes."""
        row = Row(realm, 7, 0, 1, "t" * TYPE_NAME_CHARS_MAX, 0, b"value")
        await backend.write([row])

        [found] = await backend.fetch(realm, [7])
        assert found == row
        assert isinstance(found, Row)
        assert type(found.value) is bytes

    @pytest.mark.parametrize(
        "value",
        [b"", b"\x00", EVERY_BYTE, EVERY_BYTE[::-1], b"\xff" * 3, b"\\x41'\"%s", b"a" * 20_000],
        ids=["empty", "zero", "every byte", "backwards", "no text", "escapes", "compressible"],
    )
    async def test_values_are_stored_exactly(
        self, backend: Backend, realm: str, value: bytes
    ) -> None:
        """No byte of a value is changed, whichever verb stored it."""
        await backend.write([immutable(realm, 1, value)])
        await backend.insert(versioned(realm, 2, 1, value))
        await backend.insert(versioned(realm, 3, 1, b"other"))
        await backend.update(versioned(realm, 3, 2, value), 1)

        assert [row.value for row in await backend.fetch(realm, [1, 2, 3])] == [value] * 3

    async def test_a_row_may_be_as_large_as_the_limit(self, backend: Backend, realm: str) -> None:
        """Values of exactly ROW_BYTES_MAX bytes are stored by every verb."""
        value = random.Random(1).randbytes(ROW_BYTES_MAX)
        await backend.write([immutable(realm, 1, value)])
        await backend.insert(versioned(realm, 2, 1, value))
        await backend.insert(versioned(realm, 3, 1))
        await backend.update(versioned(realm, 3, 2, value), 1)

        assert [row.value for row in await backend.fetch(realm, [1, 2, 3])] == [value] * 3

    async def test_ids_use_all_63_bits(self, backend: Backend, realm: str) -> None:
        """Ids from 1 to 2**63 - 1 stay what they are."""
        rows = [immutable(realm, id, str(id).encode()) for id in ID_EDGES]
        await backend.write(rows)

        assert sorted(await backend.fetch(realm, ID_EDGES)) == rows

    @pytest.mark.parametrize("size", [50, ROW_BYTES_MAX, ROW_BYTES_MAX + 1, MIB, 13 * MIB])
    async def test_objects_of_many_rows_come_back_whole(
        self, backend: Backend, realm: str, size: int
    ) -> None:
        """All parts of two objects are fetched in one batch, together with ids that are absent."""
        first, other = large(realm, 1, size), large(realm, 2, 2 * ROW_BYTES_MAX)
        await backend.write([*reversed(first), *other])

        found = await backend.fetch(realm, [99, 2, 1, 98])
        assert join([row for row in found if row.id == 1]) == join(first)
        assert join([row for row in found if row.id == 2]) == join(other)
        assert len(found) == len(first) + len(other)

    async def test_absent_ids_are_not_in_the_answer(self, backend: Backend, realm: str) -> None:
        """Fetching what is not there is no error."""
        await backend.write([immutable(realm, 5)])

        assert await backend.fetch(realm, [4, 5, 6]) == [immutable(realm, 5)]
        assert await backend.fetch(realm, [4, 6]) == []

    async def test_an_id_asked_for_twice_is_answered_once(
        self, backend: Backend, realm: str
    ) -> None:
        """Duplicates among the ids do not duplicate rows, nor do they hurt a deletion."""
        rows = large(realm, 1, 3 * ROW_BYTES_MAX)
        await backend.write(rows)

        assert sorted(await backend.fetch(realm, [1, 2, 1, 2, 1])) == rows
        await backend.delete(realm, [1, 2, 1])
        assert await backend.fetch(realm, [1]) == []

    @pytest.mark.parametrize("collection", COLLECTIONS)
    async def test_ids_come_in_any_collection(
        self,
        backend: Backend,
        realm: str,
        collection: Callable[[Iterable[int]], Collection[int]],
    ) -> None:
        """`fetch` and `delete` take every kind of collection."""
        await backend.write((immutable(realm, 1), immutable(realm, 2), immutable(realm, 3)))

        found = await backend.fetch(realm, collection([1, 3]))
        assert sorted(row.id for row in found) == [1, 3]
        await backend.delete(realm, collection([1, 3]))
        assert [row.id for row in await backend.fetch(realm, [1, 2, 3])] == [2]

    async def test_writing_again_changes_nothing(self, backend: Backend, realm: str) -> None:
        """Rows that exist are left as they are, also when they are new in the same call."""
        first, other = immutable(realm, 1, b"first"), immutable(realm, 1, b"other")
        await backend.write([first])
        await backend.write([first])
        await backend.write([other, immutable(realm, 2), immutable(realm, 2, b"twice")])

        assert sorted(await backend.fetch(realm, [1, 2])) == [first, immutable(realm, 2)]

    async def test_writing_again_adds_the_missing_parts(self, backend: Backend, realm: str) -> None:
        """A write that was cut off is completed by repeating it."""
        rows = large(realm, 1, 4 * ROW_BYTES_MAX)
        await backend.write(rows[1:3])
        await backend.write(rows)

        assert sorted(await backend.fetch(realm, [1])) == rows

    async def test_writing_leaves_versioned_rows_alone(self, backend: Backend, realm: str) -> None:
        """An immutable row does not replace a versioned one of the same id."""
        await backend.insert(versioned(realm, 1, 5))
        await backend.write([immutable(realm, 1, b"other")])

        assert await backend.fetch(realm, [1]) == [versioned(realm, 1, 5)]

    async def test_one_write_may_span_realms(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Rows of any realms are written together, and the realms stay apart."""
        rows = [immutable(realm, 1, b"one"), immutable(other_realm, 1, b"two")]
        await backend.write(rows)

        assert await backend.fetch(realm, [1]) == rows[:1]
        assert await backend.fetch(other_realm, [1]) == rows[1:]

    async def test_many_small_rows_are_written_and_deleted_together(
        self, backend: Backend, realm: str
    ) -> None:
        """A thousand rows go in one call, both ways."""
        ids = range(1, 1_001)
        await backend.write([immutable(realm, id, str(id).encode()) for id in ids])
        assert len(await backend.fetch(realm, ids[-64:])) == 64

        await backend.delete(realm, ids[1:])
        assert await backend.fetch(realm, ids[:64]) == [immutable(realm, 1, b"1")]

    async def test_delete_removes_all_parts(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Nothing remains of a deleted object, and everything of the same id in other realms."""
        await backend.write(large(realm, 1, 5 * ROW_BYTES_MAX))
        await backend.write([immutable(other_realm, 1)])
        await backend.delete(realm, [1, 2])

        assert await backend.fetch(realm, [1]) == []
        assert await backend.fetch(other_realm, [1]) == [immutable(other_realm, 1)]

    async def test_delete_takes_rows_of_every_version(self, backend: Backend, realm: str) -> None:
        """Versioned rows are deleted like immutable ones."""
        await backend.insert(versioned(realm, 1, 2**63 - 1))
        await backend.write([immutable(realm, 2)])
        await backend.delete(realm, [1, 2])

        assert await backend.fetch(realm, [1, 2]) == []

    async def test_what_was_deleted_can_be_written_again(
        self, backend: Backend, realm: str
    ) -> None:
        """A deletion leaves no trace."""
        await backend.write([immutable(realm, 1, b"old")])
        await backend.delete(realm, [1])
        await backend.write([immutable(realm, 1, b"new")])

        assert await backend.fetch(realm, [1]) == [immutable(realm, 1, b"new")]

    async def test_no_rows_are_no_work(self, backend: Backend, realm: str) -> None:
        """Every bulk verb on rows takes an empty collection."""
        await backend.write([])
        await backend.delete(realm, [])

        assert await backend.fetch(realm, []) == []


class VersionedRowConformance:
    """`insert`, `update` and `remove`."""

    async def test_insert_stores_a_row_once(self, backend: Backend, realm: str) -> None:
        """The second insert of an id is LOST and changes nothing."""
        first = versioned(realm, 1, 5, b"first")

        assert await backend.insert(first) is Outcome.APPLIED
        assert await backend.insert(first) is Outcome.LOST
        assert await backend.insert(versioned(realm, 1, 6, b"other")) is Outcome.LOST
        assert await backend.fetch(realm, [1]) == [first]

    async def test_insert_loses_to_an_immutable_row(self, backend: Backend, realm: str) -> None:
        """Any row of the id counts, whatever its version."""
        await backend.write([immutable(realm, 1)])

        assert await backend.insert(versioned(realm, 1, 5)) is Outcome.LOST
        assert await backend.fetch(realm, [1]) == [immutable(realm, 1)]

    async def test_insert_knows_its_realm(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """The same id in two realms is two rows."""
        assert await backend.insert(versioned(realm, 1, 5)) is Outcome.APPLIED
        assert await backend.insert(versioned(other_realm, 1, 5)) is Outcome.APPLIED

    async def test_update_replaces_the_whole_row(self, backend: Backend, realm: str) -> None:
        """Version, type and value are those of the new row."""
        await backend.insert(versioned(realm, 1, 5, b"first"))
        new = Row(realm, 1, 0, 1, "other", 6, b"")

        assert await backend.update(new, 5) is Outcome.APPLIED
        assert await backend.fetch(realm, [1]) == [new]

    async def test_update_needs_the_version_it_expects(self, backend: Backend, realm: str) -> None:
        """A wrong version, and one that was right before the last update, are LOST."""
        await backend.insert(versioned(realm, 1, 5, b"first"))
        assert await backend.update(versioned(realm, 1, 7, b"wrong"), 4) is Outcome.LOST
        second = versioned(realm, 1, 6, b"second")
        assert await backend.update(second, 5) is Outcome.APPLIED

        assert await backend.update(second, 5) is Outcome.LOST
        assert await backend.update(versioned(realm, 1, 8, b"stale"), 5) is Outcome.LOST
        assert await backend.fetch(realm, [1]) == [second]

    async def test_update_of_a_missing_row_is_lost(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Nothing is stored for a row that is not there, or only in another realm."""
        await backend.insert(versioned(other_realm, 1, 5))

        assert await backend.update(versioned(realm, 1, 6), 5) is Outcome.LOST
        assert await backend.fetch(realm, [1]) == []
        assert await backend.fetch(other_realm, [1]) == [versioned(other_realm, 1, 5)]

    async def test_update_touches_one_row_only(self, backend: Backend, realm: str) -> None:
        """Another row with the same version stays as it is."""
        await backend.insert(versioned(realm, 1, 5))
        await backend.insert(versioned(realm, 2, 5))
        await backend.update(versioned(realm, 1, 6), 5)

        assert await backend.fetch(realm, [2]) == [versioned(realm, 2, 5)]

    async def test_versions_use_all_63_bits(self, backend: Backend, realm: str) -> None:
        """A version is a token of up to 2**63 - 1; it need not grow."""
        versions = [*ID_EDGES, *reversed(ID_EDGES[:-1])]
        await backend.insert(versioned(realm, 1, versions[0]))
        for old, new in pairwise(versions):
            assert await backend.update(versioned(realm, 1, new), old) is Outcome.APPLIED
            assert await backend.fetch(realm, [1]) == [versioned(realm, 1, new)]

    async def test_remove_needs_the_version_it_expects(self, backend: Backend, realm: str) -> None:
        """Only the present version can be removed."""
        await backend.insert(versioned(realm, 1, 5))
        await backend.update(versioned(realm, 1, 6), 5)

        assert await backend.remove(realm, 1, 5) is Outcome.LOST
        assert await backend.fetch(realm, [1]) == [versioned(realm, 1, 6)]
        assert await backend.remove(realm, 1, 6) is Outcome.APPLIED
        assert await backend.fetch(realm, [1]) == []

    async def test_remove_of_a_missing_row_is_lost(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """A row that was never there, is there no more or lies in another realm is not removed."""
        await backend.insert(versioned(other_realm, 1, 5))
        assert await backend.remove(realm, 1, 5) is Outcome.LOST

        assert await backend.remove(other_realm, 1, 5) is Outcome.APPLIED
        assert await backend.remove(other_realm, 1, 5) is Outcome.LOST

    async def test_a_removed_row_can_be_inserted_again(self, backend: Backend, realm: str) -> None:
        """A removal leaves no trace."""
        await backend.insert(versioned(realm, 1, 5, b"old"))
        await backend.remove(realm, 1, 5)

        assert await backend.insert(versioned(realm, 1, 6, b"new")) is Outcome.APPLIED
        assert await backend.fetch(realm, [1]) == [versioned(realm, 1, 6, b"new")]
