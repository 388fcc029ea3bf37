"""What the port says about pointers and about commits, which swap them."""

from itertools import pairwise

import pytest

from headgate.errors import PointerNotFound
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.limits import POINTER_NAME_CHARS_MAX, REALM_ID_CHARS_MAX, ROW_BYTES_MAX
from headgate.testing.row_conformance import ID_EDGES, immutable, large, versioned

TRAPS = [
    "a",
    "A",
    "\u00e4",  # a umlaut, composed
    "a\u0308",  # the same, decomposed
    "\u00c4",
    "ae",
    "\u00df",
    "ss",
    "a ",
    " a",
    "a  ",
    "a b",
    "a\tb",
    "a\nb",
    "1",
    "01",
    "1.0",
    "%",
    "_",
    "a%",
    "a_",
    "'",
    "''",
    '"',
    "\\",
    "\\\\",
    "$1",
    "?",
    ";--",
    "/",
    "a/b",
    "\u0131",  # dotless i
    "i",
    "I",
    "\u0130",
    "\u200b",  # zero width space
    "\ufeff",
    "\uff41",  # full width a
    "\U0001f600",
    "\U0001f601",
    "NULL",
    "",
    "\U0010ffff" * POINTER_NAME_CHARS_MAX,
]


class PointerConformance:
    """`read_pointers`, `create_pointers`, `delete_pointers`."""

    async def test_a_new_pointer_is_empty(self, backend: Backend, realm: str) -> None:
        """A pointer that was created has no commit; one that was not does not exist."""
        await backend.create_pointers(realm, ["new"])

        keys = [PointerKey(realm, "new"), PointerKey(realm, "missing")]
        assert await backend.read_pointers(keys) == [EMPTY, None]

    @pytest.mark.parametrize("existing", [0, 1, 2])
    @pytest.mark.parametrize("wanted", [1, 2, 5, 10])
    async def test_creating_pointers_leaves_existing_ones_as_they_are(
        self, backend: Backend, realm: str, wanted: int, existing: int
    ) -> None:
        """Some of the pointers may exist; their values stay."""
        names = [f"name {number}" for number in range(max(wanted, existing))]
        await backend.create_pointers(realm, names[:existing])
        for name in names[:existing]:
            await backend.commit([], Swap(PointerKey(realm, name), EMPTY, 77))
        await backend.create_pointers(realm, list(reversed(names[:wanted])))

        values = await backend.read_pointers([PointerKey(realm, name) for name in names])
        assert values == [77] * existing + [EMPTY] * (len(names) - existing)

    async def test_a_pointer_may_be_named_twice(self, backend: Backend, realm: str) -> None:
        """Duplicates among new and existing names do no harm."""
        await backend.create_pointers(realm, ["a", "b", "a"])
        await backend.create_pointers(realm, ["a", "c", "c"])

        keys = [PointerKey(realm, name) for name in "abc"]
        assert await backend.read_pointers(keys) == [EMPTY] * 3
        await backend.delete_pointers([*keys, *keys])
        assert await backend.read_pointers(keys) == [None] * 3

    async def test_values_come_in_the_order_asked_for(self, backend: Backend, realm: str) -> None:
        """Also when a key is asked for twice, or is missing."""
        await _create(backend, realm, {"a": 1, "b": 2, "c": 3})

        keys = [PointerKey(realm, name) for name in "cxaabxc"]
        assert await backend.read_pointers(keys) == [3, None, 1, 1, 2, None, 3]
        assert await backend.read_pointers(tuple(keys)) == [3, None, 1, 1, 2, None, 3]

    async def test_one_read_may_span_realms(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """The same name in two realms is two pointers."""
        await _create(backend, realm, {"a": 1})
        await _create(backend, other_realm, {"a": 2})

        keys = [PointerKey(other_realm, "a"), PointerKey(realm, "a")]
        assert await backend.read_pointers(keys) == [2, 1]

    async def test_names_that_look_alike_stay_distinct(self, backend: Backend, realm: str) -> None:
        """Names are compared exactly: no collation, no trimming, no normal form, no patterns."""
        expected = {name: number for number, name in enumerate(TRAPS, start=1)}
        await _create(backend, realm, expected)

        keys = [PointerKey(realm, name) for name in TRAPS]
        assert await backend.read_pointers(keys) == list(expected.values())
        await backend.delete_pointers(keys[:1])
        assert await backend.read_pointers(keys) == [None, *list(expected.values())[1:]]

    async def test_realms_that_look_alike_stay_distinct(self, backend: Backend, realm: str) -> None:
        """What holds for names holds for realms, of pointers and of rows."""
        realms = [
            realm,
            realm.upper(),
            f"{realm} ",
            f"{realm}%",
            f"{realm}\u00e4",
            realm[:-1] + "_",
        ]
        realms.append(realm + "r" * (REALM_ID_CHARS_MAX - len(realm)))
        for number, each in enumerate(realms, start=1):
            await _create(backend, each, {"a": number})
            await backend.write([immutable(each, 1, str(number).encode())])

        keys = [PointerKey(each, "a") for each in realms]
        assert await backend.read_pointers(keys) == list(range(1, len(realms) + 1))
        for number, each in enumerate(realms, start=1):
            assert await backend.fetch(each, [1]) == [immutable(each, 1, str(number).encode())]

    async def test_many_pointers_are_read_at_once(self, backend: Backend, realm: str) -> None:
        """There is no small limit to the keys of one call."""
        names = {f"{number:04}" for number in range(2_500)}
        await backend.create_pointers(realm, names)

        keys = [PointerKey(realm, name) for name in names]
        assert await backend.read_pointers(keys) == [EMPTY] * len(names)
        await backend.delete_pointers(keys)
        assert await backend.read_pointers(keys) == [None] * len(names)

    async def test_deleted_pointers_are_gone(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Pointers of any realms are deleted, whatever their value; missing ones are ignored."""
        await _create(backend, realm, {"a": 1, "b": 2})
        await _create(backend, other_realm, {"a": EMPTY, "b": 4})
        doomed = {PointerKey(realm, "a"), PointerKey(other_realm, "a"), PointerKey(realm, "x")}
        await backend.delete_pointers(doomed)

        kept = [PointerKey(realm, "b"), PointerKey(other_realm, "b")]
        assert await backend.read_pointers([*doomed, *kept]) == [None, None, None, 2, 4]

    async def test_a_deleted_pointer_can_be_created_again(
        self, backend: Backend, realm: str
    ) -> None:
        """It is EMPTY again."""
        await _create(backend, realm, {"a": 1})
        await backend.delete_pointers([PointerKey(realm, "a")])
        await backend.create_pointers(realm, frozenset({"a"}))

        assert await backend.read_pointers([PointerKey(realm, "a")]) == [EMPTY]

    async def test_no_pointers_are_no_work(self, backend: Backend, realm: str) -> None:
        """Every bulk verb on pointers takes an empty collection."""
        await backend.create_pointers(realm, [])
        await backend.delete_pointers([])

        assert await backend.read_pointers([]) == []


class CommitConformance:
    """`commit`."""

    commits_are_transactions = True
    """False where rows of a commit that did not happen may remain."""

    async def test_a_commit_stores_its_rows_and_swaps(
        self, backend: Backend, key: PointerKey
    ) -> None:
        """The first commit swaps from EMPTY; all its rows are there."""
        rows = [immutable(key.realm, 5, b"head"), *large(key.realm, 6, 3 * ROW_BYTES_MAX)]

        assert await backend.commit(rows, Swap(key, EMPTY, 5)) is Outcome.APPLIED
        assert await backend.read_pointers([key]) == [5]
        assert sorted(await backend.fetch(key.realm, [5, 6])) == rows

    async def test_a_commit_needs_no_rows(self, backend: Backend, key: PointerKey) -> None:
        """A swap alone is a commit, too."""
        assert await backend.commit((), Swap(key, EMPTY, 1)) is Outcome.APPLIED
        assert await backend.commit([], Swap(key, 1, 2)) is Outcome.APPLIED
        assert await backend.read_pointers([key]) == [2]

    async def test_pointer_values_use_all_63_bits(self, backend: Backend, key: PointerKey) -> None:
        """Values are ids, and need not grow."""
        values = [EMPTY, *reversed(ID_EDGES)]
        for old, new in pairwise(values):
            assert await backend.commit([], Swap(key, old, new)) is Outcome.APPLIED
            assert await backend.read_pointers([key]) == [new]

    @pytest.mark.parametrize("expected", [EMPTY, 1, 3, 2**63 - 1])
    async def test_a_lost_commit_changes_no_pointer(
        self, backend: Backend, key: PointerKey, expected: int
    ) -> None:
        """A swap from another value than the present one is LOST; transactions leave no rows."""
        await _swap_through(backend, key, [EMPTY, 1, 2])

        outcome = await backend.commit([immutable(key.realm, 9)], Swap(key, expected, 9))
        assert outcome is Outcome.LOST
        assert await backend.read_pointers([key]) == [2]
        if self.commits_are_transactions:
            assert await backend.fetch(key.realm, [9]) == []

    async def test_an_empty_pointer_has_no_other_value(
        self, backend: Backend, key: PointerKey
    ) -> None:
        """A swap from an id is LOST on a pointer without a commit."""
        assert await backend.commit([], Swap(key, 1, 2)) is Outcome.LOST
        assert await backend.read_pointers([key]) == [EMPTY]

    async def test_a_commit_sent_again_is_lost_and_harmless(
        self, backend: Backend, key: PointerKey
    ) -> None:
        """Pointer and rows are as after the first delivery."""
        rows = [immutable(key.realm, 5), immutable(key.realm, 6)]
        await backend.commit(rows, Swap(key, EMPTY, 5))

        assert await backend.commit(rows, Swap(key, EMPTY, 5)) is Outcome.LOST
        assert await backend.read_pointers([key]) == [5]
        assert sorted(await backend.fetch(key.realm, [5, 6])) == rows

    async def test_a_lost_commit_can_be_rebased(self, backend: Backend, key: PointerKey) -> None:
        """The same rows may be sent with another swap."""
        await _swap_through(backend, key, [EMPTY, 1])
        rows = [immutable(key.realm, 5)]
        assert await backend.commit(rows, Swap(key, EMPTY, 5)) is Outcome.LOST

        assert await backend.commit(rows, Swap(key, 1, 5)) is Outcome.APPLIED
        assert await backend.fetch(key.realm, [5]) == rows

    async def test_a_commit_leaves_existing_rows_as_they_are(
        self, backend: Backend, key: PointerKey
    ) -> None:
        """Neither immutable nor versioned rows are overwritten; the new ones are stored."""
        old = [immutable(key.realm, 5, b"old"), versioned(key.realm, 6, 3, b"old")]
        await backend.write(old[:1])
        await backend.insert(old[1])
        new = [immutable(key.realm, id, b"new") for id in (5, 6, 7, 7)]

        assert await backend.commit(new, Swap(key, EMPTY, 7)) is Outcome.APPLIED
        assert sorted(await backend.fetch(key.realm, [5, 6, 7])) == [*old, new[2]]

    async def test_a_commit_to_a_missing_pointer_is_refused(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Nothing is stored, whether the pointer never was, was deleted or is of another realm."""
        await backend.create_pointers(other_realm, ["a"])
        await backend.create_pointers(realm, ["b"])
        await backend.delete_pointers([PointerKey(realm, "b")])
        for name in "ab":
            swap = Swap(PointerKey(realm, name), EMPTY, 5)
            with pytest.raises(PointerNotFound):
                await backend.commit([immutable(realm, 5)], swap)

        keys = [PointerKey(realm, "a"), PointerKey(realm, "b"), PointerKey(other_realm, "a")]
        assert await backend.read_pointers(keys) == [None, None, EMPTY]
        if self.commits_are_transactions:
            assert await backend.fetch(realm, [5]) == []

    async def test_a_commit_moves_one_pointer(
        self, backend: Backend, realm: str, other_realm: str
    ) -> None:
        """Pointers with the same value, or the same name in another realm, stay."""
        await _create(backend, realm, {"a": 1, "b": 1})
        await _create(backend, other_realm, {"a": 1})
        await backend.commit([], Swap(PointerKey(realm, "a"), 1, 2))

        keys = [PointerKey(realm, "a"), PointerKey(realm, "b"), PointerKey(other_realm, "a")]
        assert await backend.read_pointers(keys) == [2, 1, 1]

    async def test_the_rows_of_a_commit_belong_to_its_realm(
        self, backend: Backend, key: PointerKey, other_realm: str
    ) -> None:
        """The same ids in another realm are other rows."""
        rows: list[Row] = [immutable(key.realm, 5)]
        await backend.commit(rows, Swap(key, EMPTY, 5))

        assert await backend.fetch(other_realm, [5]) == []


async def _create(backend: Backend, realm: str, values: dict[str, int]) -> None:
    """Make pointers with these values."""
    await backend.create_pointers(realm, list(values))
    for name, value in values.items():
        if value != EMPTY:
            swap = Swap(PointerKey(realm, name), EMPTY, value)
            assert await backend.commit([], swap) is Outcome.APPLIED


async def _swap_through(backend: Backend, key: PointerKey, values: list[int]) -> None:
    for old, new in pairwise(values):
        assert await backend.commit([], Swap(key, old, new)) is Outcome.APPLIED
