"""The store: immutable objects are cached, versioned ones never, and refusals write nothing."""

from random import Random

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import CorruptRow, NewerFormat, ObjectNotFound, TooLarge, WrongType
from headgate.kernel.cache import Cache
from headgate.kernel.objects import Foreign, ObjectType, ObjectTypes, Stored
from headgate.kernel.pages import PAGE_TYPE, Page
from headgate.kernel.records import Outcome, Row
from headgate.kernel.store import Store, Versioned
from headgate.limits import CACHE_CHARGE_FACTOR, FETCH_IDS_MAX, ROW_BYTES_MAX
from headgate.testing.counting import CountingBackend

MIB = 1 << 20


class Note(Stored, frozen=True):
    text: str = ""
    data: bytes = b""


class Other(Stored, frozen=True):
    number: int = 0


TYPES = ObjectTypes([ObjectType("n", Note), ObjectType("other", Other), PAGE_TYPE])
OLDER_TYPES = ObjectTypes([ObjectType("other", Other)])


@pytest.fixture
def backend() -> CountingBackend:
    return CountingBackend(MemoryBackend())


@pytest.fixture
def store(backend: CountingBackend) -> Store:
    return Store(backend, TYPES, Cache(64 * MIB))


@pytest.fixture
def cold(backend: CountingBackend) -> Store:
    """Another node: the same rows, nothing in its cache."""
    return Store(backend, TYPES, Cache(64 * MIB))


def noise(size: int, seed: int = 1) -> Note:
    """A note that does not get smaller when it is compressed."""
    return Note(data=Random(seed).randbytes(size))


async def rows_of(backend: CountingBackend, id: int) -> list[Row]:
    return sorted(await backend.inner.fetch("r", [id]), key=lambda row: row.part)


async def test_what_was_written_is_at_hand(store: Store, backend: CountingBackend) -> None:
    """A writer reads its own objects without asking the database."""
    await store.write("r", {1: Note("one"), 2: Other(2)})

    assert await store.get("r", 1, Note) == Note("one")
    assert store.find("r", 2) == Other(2)
    assert backend.calls["fetch"] == 0


@pytest.mark.parametrize("size", [0, 50, ROW_BYTES_MAX, 13 * MIB])
async def test_objects_of_any_size_are_read_back_whole(
    store: Store, cold: Store, backend: CountingBackend, size: int
) -> None:
    """Large ones take several rows, each within the limit, and still one round trip."""
    await store.write("r", {1: noise(size)})
    rows = await rows_of(backend, 1)

    assert len(rows) == size // ROW_BYTES_MAX + 1
    assert max(len(row.value) for row in rows) <= ROW_BYTES_MAX
    assert await cold.get("r", 1, Note) == noise(size)
    assert backend.calls["fetch"] == 1


async def test_large_and_small_objects_come_in_one_batch(store: Store, cold: Store) -> None:
    """Several objects of several rows are not mixed up; absent ids are left out."""
    objects = {id: noise(size, id) for id, size in enumerate([10, MIB, 20, 2 * MIB], 1)}
    await store.write("r", objects)

    assert await cold.fetch("r", [*objects, 99]) == objects


async def test_many_ids_are_fetched_in_several_calls(
    store: Store, cold: Store, backend: CountingBackend
) -> None:
    """One call never asks for more than its bound, so it holds nobody up for long."""
    notes = {id: Note(str(id)) for id in range(1, 2 * FETCH_IDS_MAX + 2)}
    await store.write("r", notes)

    assert await cold.fetch("r", notes) == notes
    assert backend.calls["fetch"] == 3


async def test_a_second_read_asks_nobody(
    store: Store, cold: Store, backend: CountingBackend
) -> None:
    """An immutable object is fetched once, whatever is read of it later."""
    await store.write("r", {1: Note("one")})
    await cold.get("r", 1, Note)
    await cold.get("r", 1, Note)
    await cold.fetch("r", [1])

    assert backend.calls["fetch"] == 1


async def test_what_is_kept_is_charged_for(store: Store, backend: CountingBackend) -> None:
    """Writer and reader charge the same multiple of the stored size."""
    await store.write("r", {1: noise(1_000)})
    [row] = await rows_of(backend, 1)
    reader = Store(backend, TYPES, Cache(MIB))
    await reader.get("r", 1, Note)

    assert store.cache.statistics().bytes == CACHE_CHARGE_FACTOR * len(row.value)
    assert reader.cache.statistics().bytes == CACHE_CHARGE_FACTOR * len(row.value)


async def test_realms_do_not_see_each_others_objects(store: Store, cold: Store) -> None:
    """The same id in another realm is another object, in the database and in the cache."""
    await store.write("r", {1: Note("r")})
    await store.write("s", {1: Note("s")})

    assert await store.get("s", 1, Note) == Note("s")
    assert await cold.get("r", 1, Note) == Note("r")
    with pytest.raises(ObjectNotFound):
        await cold.get("t", 1, Note)


async def test_an_absent_object_is_named(store: Store) -> None:
    """The error says which, and absence is not remembered."""
    with pytest.raises(ObjectNotFound, match="object 1 of realm 'r' does not exist"):
        await store.get("r", 1, Note)
    await store.write("r", {1: Note("later")})

    assert await store.get("r", 1, Note) == Note("later")


async def test_the_wrong_type_is_refused(store: Store, cold: Store) -> None:
    """Cached or not, an id of another type is an error and not a surprise later."""
    await store.write("r", {1: Note("one")})

    for reader in (store, cold):
        with pytest.raises(WrongType, match="object 1 is not a Other"):
            await reader.get("r", 1, Other)


async def test_a_repeated_write_changes_nothing(store: Store, cold: Store) -> None:
    """Rows that exist stay as they are, so an unknown write may be sent again."""
    await store.write("r", {1: Note("one")})
    await store.write("r", {1: Note("one")})

    assert await cold.get("r", 1, Note) == Note("one")


async def test_deleted_objects_are_gone(store: Store, cold: Store) -> None:
    """From the database and from the cache of who deleted them; absent ids do not matter."""
    await store.write("r", {1: noise(MIB), 2: Note("two")})
    await store.delete("r", [1, 3])

    assert store.find("r", 1) is None
    for reader in (store, cold):
        assert await reader.fetch("r", [1, 2]) == {2: Note("two")}


async def test_types_of_a_newer_program_pass_through(
    store: Store, cold: Store, backend: CountingBackend
) -> None:
    """An older program copies objects it does not know, and the newer one reads them again."""
    older = Store(backend, OLDER_TYPES, Cache(MIB))
    await store.write("r", {1: Note("one")})
    foreign = await older.get("r", 1, Foreign)
    await older.delete("r", [1])
    await older.write("r", {1: foreign})

    assert foreign.type == "n"
    assert await cold.get("r", 1, Note) == Note("one")


async def test_a_corrupt_row_is_named_and_not_kept(store: Store, backend: CountingBackend) -> None:
    """The reader is told; once the row is restored, it is read."""
    await store.write("r", {1: noise(2 * ROW_BYTES_MAX)})
    rows = await rows_of(backend, 1)
    reader = Store(backend, TYPES, Cache(64 * MIB))
    for broken in (
        rows[:-1],
        [rows[0]._replace(value=bytes(ROW_BYTES_MAX)), *rows[1:]],
        [rows[0], rows[2]._replace(part=1), rows[1]._replace(part=2)],
    ):
        await backend.delete("r", [1])
        await backend.write(broken)
        with pytest.raises((CorruptRow, NewerFormat), match=r"object 1 .*of realm 'r'"):
            await reader.get("r", 1, Note)
    await backend.delete("r", [1])
    await backend.write(rows)

    assert await reader.get("r", 1, Note) == noise(2 * ROW_BYTES_MAX)


async def test_swapped_rows_are_found_out(
    store: Store, cold: Store, backend: CountingBackend
) -> None:
    """A row that stands in the place of another, of the same type and size, is corrupt."""
    await store.write("r", {1: Note("one"), 2: Note("two")})
    [one], [two] = await rows_of(backend, 1), await rows_of(backend, 2)
    await backend.delete("r", [1, 2])
    await backend.write([one._replace(id=2), two._replace(id=1), one._replace(realm="s")])

    for realm, id in (("r", 1), ("r", 2), ("s", 1)):
        with pytest.raises(CorruptRow, match="checksum"):
            await cold.get(realm, id, Note)


async def test_roots_are_kept_by_head_and_index(store: Store) -> None:
    """A decoded root is found again for its own head and index only, and charged for."""
    root = Page(0, (b"k",), (b"v",))
    store.keep_root("r", 1, "names", root)

    assert store.find_root("r", 1, "names") is root
    assert store.find_root("r", 1, "ids") is None
    assert store.find_root("r", 2, "names") is None
    assert store.cache.statistics().bytes > 0


async def test_an_empty_root_is_charged_for(store: Store) -> None:
    """Otherwise heads without entries would fill the memory unseen."""
    store.keep_root("r", 1, "names", Page(0, ()))

    assert store.cache.statistics().bytes > 0


async def test_versioned_objects_are_read_as_they_are_now(
    store: Store, cold: Store, backend: CountingBackend
) -> None:
    """They change in place, and every reader sees it at once."""
    assert await store.insert("r", 1, Note("a"), 7) is Outcome.APPLIED
    before = await cold.read_versioned("r", [1, 2])
    assert await store.update("r", 1, Note("b"), expected=7, version=8) is Outcome.APPLIED

    assert before == {1: Versioned(Note("a"), 7)}
    assert await cold.read_versioned("r", [1]) == {1: Versioned(Note("b"), 8)}
    assert store.cache.statistics().entries == cold.cache.statistics().entries == 0


async def test_lost_conditions_change_nothing(store: Store) -> None:
    """A second insert, a stale version, and absent rows are LOST."""
    await store.insert("r", 1, Note("a"), 7)
    await store.update("r", 1, Note("b"), expected=7, version=8)
    outcomes = [
        await store.insert("r", 1, Note("c"), 9),
        await store.update("r", 1, Note("c"), expected=7, version=9),
        await store.update("r", 2, Note("c"), expected=7, version=9),
        await store.remove("r", 1, 7),
        await store.remove("r", 2, 7),
    ]

    assert outcomes == [Outcome.LOST] * 5
    assert await store.read_versioned("r", [1, 2]) == {1: Versioned(Note("b"), 8)}
    assert await store.remove("r", 1, 8) is Outcome.APPLIED


async def test_versioned_objects_are_no_immutable_ones(store: Store, cold: Store) -> None:
    """Read by mistake as immutable, a versioned row is absent: it would be cached and go stale."""
    await store.insert("r", 1, Note("a"), 7)

    with pytest.raises(ObjectNotFound):
        await cold.get("r", 1, Note)
    assert await cold.fetch("r", [1]) == {}
    assert cold.cache.statistics().entries == 0


async def test_an_immutable_object_of_several_rows_is_no_versioned_one(store: Store) -> None:
    """It is refused, and not read in part."""
    await store.write("r", {1: noise(2 * ROW_BYTES_MAX)})

    with pytest.raises(CorruptRow, match="do not fit together"):
        await store.read_versioned("r", [1])


async def test_an_oversized_conditional_write_writes_nothing(
    store: Store, backend: CountingBackend
) -> None:
    """It is refused before the database is asked, also as an update, and what is there stays."""
    await store.insert("r", 1, Note("a"), 7)
    backend.reset()

    with pytest.raises(TooLarge):
        await store.insert("r", 2, noise(ROW_BYTES_MAX), 8)
    with pytest.raises(TooLarge):
        await store.update("r", 1, noise(ROW_BYTES_MAX), expected=7, version=8)
    assert not backend.calls
    assert await store.read_versioned("r", [1, 2]) == {1: Versioned(Note("a"), 7)}


async def test_versions_are_never_zero_and_never_repeated(
    store: Store, backend: CountingBackend
) -> None:
    """0 marks immutable rows, and the same version twice would hide a change."""
    with pytest.raises(AssertionError):
        await store.insert("r", 1, Note("a"), 0)
    with pytest.raises(AssertionError):
        await store.update("r", 1, Note("a"), expected=7, version=7)
    assert not backend.calls
