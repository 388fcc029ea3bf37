"""Errors stay whole: each caller is told its own, and nobody pays for another's."""

import asyncio
from collections.abc import Callable

import pytest

from headgate.error_copies import for_another_caller
from headgate.errors import BadName, InvalidInput, TooLarge
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Foreign
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    Thing,
    entries,
    history,
    putting,
    putting_all,
)


class Picky(Exception):
    """An error with a constructor of its own: it cannot be copied."""

    def __init__(self, first: str, second: int) -> None:
        super().__init__(first)
        self.second = second


class Ending(BaseException):
    """What ends a program, if nobody catches it."""


def raising(error: BaseException) -> Callable[[Draft], None]:
    """An attempt that fails with this error."""

    def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"failed", b"")
        raise error

    return attempt


@pytest.mark.parametrize("error", [Picky("a", 1), Ending("b"), TooLarge("c", why="d")])
async def test_an_attempts_own_error_is_told_to_its_caller_only(
    realm: RealmHandle, error: BaseException
) -> None:
    """The very object, while the others of the batch and the lane go on."""
    answers = await asyncio.gather(
        realm.commit(POINTER, putting(b"before")),
        realm.commit(POINTER, raising(error)),
        realm.commit(POINTER, putting(b"behind")),
        return_exceptions=True,
    )
    await realm.commit(POINTER, putting(b"later"))

    assert answers[0] is answers[2] is None
    assert answers[1] is error
    assert set(await entries(realm)) == {b"before", b"behind", b"later"}


async def test_a_shared_error_is_copied_for_each_caller(rig: Rig, realm: RealmHandle) -> None:
    """Its fields and its cause stay, its traceback is nobody else's."""
    error, cause = TooLarge("what", why="why", fix="fix"), ValueError("cause")

    def fail() -> None:
        raise error from cause

    rig.faults.crash_at("before_read_pointers", fail)
    answers = await asyncio.gather(
        *(realm.commit(POINTER, putting(b"a")) for _ in range(3)), return_exceptions=True
    )

    assert len({id(answer) for answer in answers}) == 3
    for answer in answers:
        assert isinstance(answer, TooLarge)
        assert str(answer) == "what: why. fix"
        assert answer.__cause__ is cause


async def test_a_shared_error_that_cannot_be_copied_is_shared(rig: Rig, realm: RealmHandle) -> None:
    """Everybody is told all the same, and the lane goes on."""
    error = Picky("a", 1)

    def fail() -> None:
        raise error

    rig.faults.crash_at("before_read_pointers", fail)
    answers = await asyncio.gather(
        *(realm.commit(POINTER, putting(b"a")) for _ in range(3)), return_exceptions=True
    )
    await realm.commit(POINTER, putting(b"later"))

    assert all(answer is error for answer in answers)
    assert set(await entries(realm)) == {b"later"}


def test_a_copied_error_keeps_what_it_carries() -> None:
    """Also fields that its constructor does not know."""
    error = InvalidInput("what", why="why")
    error.add_note("seen")
    same = for_another_caller(error)

    assert same is not error
    assert (type(same), str(same), same.__notes__) == (InvalidInput, "what: why", ["seen"])


@pytest.mark.parametrize("swallowed", [Exception, BaseException])
async def test_a_commit_cannot_hide_what_it_missed(
    rig: Rig, realm: RealmHandle, swallowed: type[BaseException]
) -> None:
    """On a cold node an attempt that swallows everything is run again with what it missed."""
    await realm.commit(POINTER, putting_all({b"%05d" % n: b"v" * 60 for n in range(500)}))
    cold = (await rig.open(cache_bytes=0)).realm(realm.id)

    def attempt(draft: Draft) -> bytes | None:
        try:
            found = draft.index(INDEX).get(b"00250")
        except swallowed:
            found = None
        draft.index("found").put(found or b"nothing", b"")
        return found

    assert await cold.commit(POINTER, attempt) == b"v" * 60
    assert await entries(realm, index="found") == {b"v" * 60: b""}


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        (lambda draft: draft.fetch(-1, Thing), InvalidInput),
        (lambda draft: draft.fetch("1", Thing), InvalidInput),
        (lambda draft: draft.fetch(True, Thing), InvalidInput),
        (lambda draft: draft.stage(Foreign("No Type", b"\x80")), BadName),
        (lambda draft: (draft.seal(), draft.note(object())), InvalidInput),
    ],
)
async def test_a_mistake_in_a_batch_hurts_its_caller_only(
    kernel: Kernel,
    realm: RealmHandle,
    mistake: Callable[[Draft], object],
    error: type[InvalidInput],
) -> None:
    """The others are committed as if it had not been there."""
    answers = await asyncio.gather(
        realm.commit(POINTER, putting(b"before")),
        realm.commit(POINTER, mistake),
        realm.commit(POINTER, putting(b"behind")),
        return_exceptions=True,
    )
    [commit] = await history(kernel, realm)

    assert [type(answer) for answer in answers] == [type(None), error, type(None)]
    assert len(commit.groups) == 2
