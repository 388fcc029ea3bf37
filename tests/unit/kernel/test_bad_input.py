"""Bad input: each mistake has its own named error, which helps, and changes nothing."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest

from headgate import errors
from headgate.errors import HeadgateError
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.objects import Stored
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import (
    INDEX_KEY_BYTES_MAX,
    INDEX_VALUE_BYTES_MAX,
    OPERATION_RESULT_BYTES_MAX,
    ROW_BYTES_MAX,
)
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    Thing,
    entropy,
    putting,
    putting_all,
    snapshot,
)

OVERSIZED = Thing(blob=random.Random(1).randbytes(ROW_BYTES_MAX))
LARGE_ID, MISSING_ID, SMALL_ID = 101, 102, 103


class Unregistered(Stored, frozen=True):
    """A stored type this program was not told about."""


class Place(NamedTuple):
    """Where the mistake is made."""

    rig: Rig
    kernel: Kernel
    realm: RealmHandle
    unready: str

    async def commit(self, attempt: Callable[[Draft], object], operation: bytes = b"") -> None:
        await self.realm.commit(POINTER, attempt, operation=operation)

    async def fresh(self) -> RealmHandle:
        """The realm on a node that has nothing in its cache."""
        return (await self.rig.open()).realm(self.realm.id)

    async def log(self, name: str, start: int | None = None) -> None:
        key = PointerKey(self.realm.id, name)
        async for _ in self.kernel.log.oldest_first(key, start):
            pass


class Mistake(NamedTuple):
    """What is done wrong, and the error that says so."""

    make: Callable[[Place], Awaitable[object]]
    error: type[HeadgateError]
    words: str


async def insert_oversized(place: Place) -> None:
    await place.kernel.store.insert(place.realm.id, 1, OVERSIZED, 1)


async def update_oversized(place: Place) -> None:
    await place.kernel.store.update(place.realm.id, 1, OVERSIZED, expected=1, version=2)


async def coroutine_attempt(place: Place) -> None:
    async def attempt(_: Draft) -> None: ...

    await place.commit(attempt)


def note_object(draft: Draft) -> None:
    draft.index(INDEX).put(b"noted", b"")
    draft.note(object())


async def read_wrong_type(place: Place) -> None:
    [head] = await place.realm.heads(POINTER)
    await place.realm.get(head.id, Thing)


async def commit_on_reader(place: Place) -> None:
    options = KernelOptions(writable=False)
    node = Kernel(place.rig.memory, place.rig.clock, entropy(9), options)
    await node.open()
    await node.realm(place.realm.id).commit(POINTER, putting(b"a"))


MISTAKES = {
    "oversized strong insert": Mistake(insert_oversized, errors.TooLarge, "a row holds"),
    "oversized strong update": Mistake(update_oversized, errors.TooLarge, "a row holds"),
    "unknown realm, read": Mistake(
        lambda place: place.kernel.realm("nobody").heads(), errors.RealmNotFound, "realm list"
    ),
    "unknown realm, commit": Mistake(
        lambda place: place.kernel.realm("nobody").commit(POINTER, putting(b"a")),
        errors.RealmNotFound,
        "realm list",
    ),
    "unknown realm, purge": Mistake(
        lambda place: place.kernel.realms.purge("nobody"), errors.RealmNotFound, "realm list"
    ),
    "reserved realm name": Mistake(
        lambda place: place.kernel.realms.create("::mine"), errors.BadName, "reserved"
    ),
    "taken realm name": Mistake(
        lambda place: place.kernel.realms.create("acme"), errors.RealmExists, "another name"
    ),
    "illegal realm move": Mistake(
        lambda place: place.kernel.realms.move(place.realm.id, RealmState.PURGED),
        errors.IllegalRealmMove,
        "it is ACTIVE",
    ),
    "deleting a living realm": Mistake(
        lambda place: place.kernel.realms.delete("acme"), errors.IllegalRealmMove, "purge"
    ),
    "realm that is not ready": Mistake(
        lambda place: place.kernel.realm(place.unready).heads(),
        errors.RealmNotActive,
        "headgate realm activate",
    ),
    "bad pointer name, read": Mistake(
        lambda place: place.realm.heads("No Pointer"), errors.BadName, "words of a-z"
    ),
    "bad pointer name, commit": Mistake(
        lambda place: place.realm.commit("no//pointer", putting(b"a")), errors.BadName, "words"
    ),
    "bad pointer name, create": Mistake(
        lambda place: place.realm.create_pointers(["fine", "not fine"]), errors.BadName, "words"
    ),
    "missing pointer, read": Mistake(
        lambda place: place.realm.heads("cat/1"), errors.PointerNotFound, "Create it first"
    ),
    "missing pointer, commit": Mistake(
        lambda place: place.realm.commit("cat/1", putting(b"a")), errors.PointerNotFound, "Create"
    ),
    "missing pointer, log": Mistake(
        lambda place: place.log("cat/1"), errors.PointerNotFound, "has no log"
    ),
    "unknown position in the log": Mistake(
        lambda place: place.log(POINTER, 17), errors.LogCut, "oldest kept commit"
    ),
    "sealed pointer": Mistake(
        lambda place: place.realm.commit("root", putting(b"a")), errors.PointerSealed, "another"
    ),
    "wrong type": Mistake(read_wrong_type, errors.WrongType, "belongs to a Head"),
    "wrong type in an attempt": Mistake(
        lambda place: place.commit(lambda draft: draft.fetch(draft.base.id, Thing)),
        errors.WrongType,
        "belongs to a Head",
    ),
    "missing object": Mistake(
        lambda place: place.realm.get(MISSING_ID, Thing), errors.ObjectNotFound, "deleted"
    ),
    "missing object in an attempt": Mistake(
        lambda place: place.commit(lambda draft: draft.fetch(MISSING_ID, Thing)),
        errors.ObjectNotFound,
        "not stored",
    ),
    "type that is not registered, commit": Mistake(
        lambda place: place.commit(lambda draft: draft.stage(Unregistered())),
        errors.BadName,
        "not registered",
    ),
    "type that is not registered, write": Mistake(
        lambda place: place.realm.write({MISSING_ID: Unregistered()}),
        errors.BadName,
        "not registered",
    ),
    "oversized key": Mistake(
        lambda place: place.commit(putting(b"k" * (INDEX_KEY_BYTES_MAX + 1))),
        errors.TooLarge,
        "index key",
    ),
    "oversized value": Mistake(
        lambda place: place.commit(putting(b"k", b"v" * (INDEX_VALUE_BYTES_MAX + 1))),
        errors.TooLarge,
        "index value",
    ),
    "key that is text": Mistake(
        lambda place: place.commit(putting("key")),  # type: ignore[arg-type]
        errors.InvalidInput,
        "are bytes",
    ),
    "bad index name": Mistake(
        lambda place: place.commit(putting(b"k", index="Bad Name")), errors.BadName, "a-z"
    ),
    "index of the kernel": Mistake(
        lambda place: place.commit(putting(b"k", index="operations")), errors.BadName, "kernel"
    ),
    "mark out of range": Mistake(
        lambda place: place.commit(lambda draft: draft.mark("n", 1 << 64)),
        errors.InvalidInput,
        "64 bits",
    ),
    "id out of range": Mistake(
        lambda place: place.commit(lambda draft: draft.discard(-1)), errors.InvalidInput, "no id"
    ),
    "oversized operation id": Mistake(
        lambda place: place.commit(lambda _: b"", b"x" * 129), errors.InvalidInput, "129 bytes"
    ),
    "oversized result": Mistake(
        lambda place: place.commit(lambda _: b"x" * (OPERATION_RESULT_BYTES_MAX + 1), b"op"),
        errors.TooLarge,
        "Return an id",
    ),
    "result that is text": Mistake(
        lambda place: place.commit(lambda _: "text", b"op"), errors.InvalidInput, "returns bytes"
    ),
    "coroutine function": Mistake(coroutine_attempt, errors.InvalidInput, "plain function"),
    "node that only reads": Mistake(commit_on_reader, errors.Closed, "only reads"),
    "bad realm id": Mistake(
        lambda place: place.kernel.realm("no id").heads(), errors.BadName, "letters"
    ),
    "note that is no JSON": Mistake(
        lambda place: place.commit(note_object),
        errors.InvalidInput,
        "JSON",
    ),
    "properties that are no text": Mistake(
        lambda place: place.kernel.realms.create("new", {"a": 1}),  # type: ignore[dict-item]
        errors.InvalidInput,
        "text only",
    ),
}


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """A realm with an index of several pages, a large and a small object, and a sealed pointer."""
    async with Rig() as rig:
        realm = await rig.realm()
        await realm.commit(POINTER, putting_all({b"%04d" % n: b"v" * 60 for n in range(500)}))
        await realm.commit("root", Draft.seal)
        blob = random.Random(2).randbytes(3 * ROW_BYTES_MAX)
        await realm.write({LARGE_ID: Thing(blob=blob), SMALL_ID: Thing(text="small")})
        unready = await rig.kernels[0].realms.reserve("unready")
        yield Place(rig, rig.kernels[0], realm, unready.id)


async def refusal(place: Place, mistake: Mistake) -> HeadgateError:
    """The error of a mistake, after which all is as it was."""
    before = await snapshot(place.rig.memory)
    with pytest.raises(mistake.error) as caught:
        await mistake.make(place)

    assert await snapshot(place.rig.memory) == before
    return caught.value


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_has_a_named_error_and_changes_nothing(
    place: Place, mistake: Mistake
) -> None:
    """The message says what happened, why, and what to do."""
    error = await refusal(place, mistake)

    assert type(error) is mistake.error
    assert mistake.words in str(error)
    assert all([error.what, error.why, error.fix])


async def test_the_lane_goes_on_after_every_mistake(place: Place) -> None:
    """All mistakes one after the other, then a commit that is none."""
    for mistake in MISTAKES.values():
        await refusal(place, mistake)
    await place.commit(putting(b"fine"))
    [head] = await place.realm.heads(POINTER)

    assert await head.index(INDEX).get(b"fine") == b""


async def spoil(place: Place, id: int, part: int = 0) -> None:
    """Change one byte of a stored row."""
    rows = await place.rig.memory.fetch(place.realm.id, [id])
    await place.rig.memory.delete(place.realm.id, [id])
    await place.rig.memory.write(
        [
            row._replace(value=row.value[:-1] + bytes([row.value[-1] ^ 1]))
            if row.part == part
            else row
            for row in rows
        ]
    )


@pytest.mark.parametrize(("id", "part"), [(SMALL_ID, 0), (LARGE_ID, 0), (LARGE_ID, 2)])
async def test_a_corrupt_object_is_named(place: Place, id: int, part: int) -> None:
    """Its checksum tells, whichever row was changed."""
    await spoil(place, id, part)
    fresh = await place.fresh()
    error = await refusal(
        place, Mistake(lambda _: fresh.get(id, Thing), errors.CorruptRow, "checksum")
    )

    assert "Restore the database from a backup" in str(error)
    assert str(id) in error.what


async def test_a_corrupt_page_is_named(place: Place) -> None:
    """A reader and an attempt that come across it are told; the commit is not made."""
    [head] = await place.realm.heads(POINTER)
    await spoil(place, head.root(INDEX).children[0])
    fresh = await place.fresh()
    [view] = await fresh.heads(POINTER)
    for use in (
        lambda _: view.index(INDEX).get(b"0000"),
        lambda _: fresh.commit(POINTER, putting(b"0000", b"new")),
    ):
        error = await refusal(place, Mistake(use, errors.CorruptRow, ""))

        assert "checksum" in str(error)


async def test_a_corrupt_head_is_named(place: Place) -> None:
    """Nobody reads past it or commits over it."""
    [head] = await place.realm.heads(POINTER)
    await spoil(place, head.id)
    fresh = await place.fresh()
    for use in (
        lambda _: fresh.heads(POINTER),
        lambda _: fresh.commit(POINTER, putting(b"0000", b"new")),
    ):
        await refusal(place, Mistake(use, errors.CorruptRow, ""))


async def test_a_lost_part_is_named(place: Place) -> None:
    """An object of several rows is read whole or not at all."""
    rows = await place.rig.memory.fetch(place.realm.id, [LARGE_ID])
    await place.rig.memory.delete(place.realm.id, [LARGE_ID])
    await place.rig.memory.write([row for row in rows if row.part != 1])
    fresh = await place.fresh()
    error = await refusal(
        place, Mistake(lambda _: fresh.get(LARGE_ID, Thing), errors.CorruptRow, "")
    )

    assert "do not fit together" in str(error)


async def test_a_closed_node_says_so(place: Place) -> None:
    """Commits are refused, certainly not made."""
    await place.kernel.committer.close()
    error = await refusal(
        place, Mistake(lambda place: place.commit(putting(b"a")), errors.Closed, "")
    )

    assert all([error.what, error.why, error.fix])
