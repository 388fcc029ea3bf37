"""Running attempts: in order, on one draft, each undone alone if it fails."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from headgate.errors import (
    BackendUnavailable,
    CorruptRow,
    InvalidInput,
    NoNodeId,
    ObjectNotFound,
    TooLarge,
    WrongType,
)
from headgate.kernel import operations
from headgate.kernel.attempts import Answer, Attempt, Request, run_attempts
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import PageShelf
from headgate.kernel.records import Row
from headgate.limits import BATCH_BYTES_MAX
from headgate.testing.faults import Fault
from headgate.testing.kernels import INDEX, POINTER, Rig, Thing, putting, putting_all

MANY = {b"%05d" % number: b"v" * 60 for number in range(500)}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database with one node without a cache, and one realm."""
    async with Rig() as rig:
        await rig.open(cache_bytes=0)
        yield rig


@pytest.fixture
async def realm(rig: Rig) -> RealmHandle:
    """A realm with an index of several pages."""
    realm = await rig.realm()
    await realm.commit(POINTER, putting_all(MANY))
    return realm


class Bench:
    """A draft and all that is needed to run attempts on it."""

    def __init__(self, draft: Draft, shelf: PageShelf) -> None:
        self.draft = draft
        self.shelf = shelf

    async def run(self, *attempts: Attempt) -> list[Answer]:
        return await run_attempts(
            self.draft, self.shelf, [Request(attempt, b"", 15.0) for attempt in attempts]
        )


@pytest.fixture
async def bench(rig: Rig, realm: RealmHandle) -> Bench:
    """A draft on the current head."""
    kernel = rig.kernels[0]
    shelf = PageShelf(kernel.store, realm.id)
    [base] = await realm.heads(POINTER)
    draft = Draft(base, shelf, kernel.ids, kernel.store.types, kernel.clock.wall_ms())
    return Bench(draft, shelf)


def failing(draft: Draft) -> None:
    """Does all that an attempt can do, then fails."""
    draft.index(INDEX).put(b"failed", b"")
    draft.index("only-here").put(b"failed", b"")
    draft.stage(Thing(text="failed"))
    draft.discard(5)
    draft.mark("failed", 1)
    draft.note("failed")
    draft.seal()
    message = "as planned"
    raise ValueError(message)


async def test_answers_come_in_the_order_of_the_attempts(bench: Bench) -> None:
    """Each request gets the result of its own attempt."""
    answers = await bench.run(lambda _: 1, lambda _: 2, lambda _: 3)

    assert [answer.result for answer in answers] == [1, 2, 3]


async def test_a_later_attempt_sees_what_an_earlier_one_did(bench: Bench) -> None:
    """All attempts of a batch work on the same draft."""
    answers = await bench.run(
        putting(b"new", b"value"), lambda draft: draft.index(INDEX).get(b"new")
    )

    assert answers[1].result == b"value"


async def test_a_failing_attempt_leaves_no_trace(bench: Bench) -> None:
    """Whatever it did before it failed is undone; the others stay."""
    answers = await bench.run(putting(b"before"), failing, putting(b"after"))
    draft = bench.draft

    assert isinstance(answers[1].error, ValueError)
    assert [answer.error for answer in answers[::2]] == [None, None]
    assert [key for key, _ in draft.index(INDEX).scan(b"a")] == [b"after", b"before"]
    assert (draft.staged, draft.discarded, draft.marks, draft.sealed) == ([], [], {}, False)
    assert "only-here" not in draft.trees
    assert len(draft.groups) == 2


async def test_a_batch_of_failures_changes_nothing(bench: Bench) -> None:
    """There is nothing to commit then."""
    await bench.run(failing, failing)

    assert not bench.draft.changed


async def test_missing_pages_are_fetched_and_the_attempt_runs_again(bench: Bench, rig: Rig) -> None:
    """Without a cache an attempt is run once for each page on its way, and gets on."""
    runs = []

    def attempt(draft: Draft) -> bytes | None:
        runs.append(1)
        draft.stage(Thing(text="once"))
        draft.index(INDEX).put(b"00250", b"new")
        return draft.index(INDEX).get(b"00499")

    rig.backend.reset()
    [answer] = await bench.run(attempt)

    assert answer.result == MANY[b"00499"]
    assert len(runs) == 1 + rig.backend.calls["fetch"] > 1
    assert len(bench.draft.staged) == 1


async def test_an_object_that_does_not_exist_answers_only_its_caller(bench: Bench) -> None:
    """The others of the batch are not concerned."""
    answers = await bench.run(lambda draft: draft.fetch(12345, Thing), putting(b"a"))

    assert isinstance(answers[0].error, ObjectNotFound)
    assert answers[1].error is None


async def test_a_corrupt_object_answers_only_its_caller(
    bench: Bench, rig: Rig, realm: RealmHandle
) -> None:
    """One spoiled row does not stop a batch."""
    await rig.memory.write([Row(realm.id, 12345, 0, 1, "thing", 0, b"\1")])
    answers = await bench.run(lambda draft: draft.fetch(12345, Thing), putting(b"a"))

    assert isinstance(answers[0].error, CorruptRow)
    assert answers[1].error is None


async def test_an_object_of_another_type_answers_only_its_caller(
    bench: Bench, realm: RealmHandle
) -> None:
    """The mistake is named."""
    [head] = await realm.heads(POINTER)
    answers = await bench.run(lambda draft: draft.fetch(head.id, Thing), putting(b"a"))

    assert isinstance(answers[0].error, WrongType)
    assert answers[1].error is None


async def test_a_database_that_does_not_answer_is_nobodys_fault(bench: Bench, rig: Rig) -> None:
    """The whole batch is to be tried again, so nobody is answered."""
    rig.faults.schedule("fetch", Fault.UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        await bench.run(lambda draft: draft.index(INDEX).get(b"00001"))


async def test_a_coroutine_function_is_refused(bench: Bench) -> None:
    """An attempt never waits, and what it did before is undone."""

    async def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"a", b"")

    [answer] = await bench.run(attempt)

    assert isinstance(answer.error, InvalidInput)
    assert "coroutine function" in str(answer.error)
    assert not bench.draft.changed


@pytest.mark.parametrize("error", [StopIteration, asyncio.CancelledError, RecursionError])
async def test_even_odd_errors_reach_their_caller_only(
    bench: Bench, error: type[BaseException]
) -> None:
    """Errors that futures and tasks treat specially are errors of the attempt like any other."""

    def attempt(_: Draft) -> None:
        raise error

    answers = await bench.run(attempt, putting(b"a"))
    for answer in answers:
        answer.deliver()

    with pytest.raises((error, RuntimeError)):
        await answers[0].request.future
    assert await answers[1].request.future is None


async def test_a_batch_ends_when_its_objects_are_too_large(bench: Bench) -> None:
    """The attempt that goes over the limit is the last of its batch."""

    def attempt(draft: Draft) -> None:
        id = draft.stage(Thing(blob=b"x" * 10_000))
        draft.index(INDEX).put(b"%d" % id, b"")

    needed = BATCH_BYTES_MAX // 10_000 + 1
    answers = await bench.run(*[attempt] * (needed + 20))

    assert len(answers) <= needed
    assert bench.draft.staged_bytes > BATCH_BYTES_MAX


async def test_one_oversized_attempt_is_still_run(bench: Bench) -> None:
    """Every batch makes progress, however large its first attempt is."""
    blob = random.Random(1).randbytes(BATCH_BYTES_MAX + 1)

    def attempt(draft: Draft) -> None:
        draft.index(INDEX).put(b"%d" % draft.stage(Thing(blob=blob)), b"")

    answers = await bench.run(attempt, attempt)

    assert len(answers) == 1


async def test_an_oversized_value_answers_only_its_caller(bench: Bench) -> None:
    """The limit of one is not the problem of others."""
    answers = await bench.run(putting(b"k" * 5000), putting(b"a"))

    assert isinstance(answers[0].error, TooLarge)
    assert answers[1].error is None


async def test_operations_expire_only_with_a_change(bench: Bench) -> None:
    """A batch that changes nothing must not write."""
    await bench.run(lambda _: None)

    assert operations.INDEX not in bench.draft.trees


async def test_a_caller_that_has_gone_is_not_answered() -> None:
    """Neither a result nor an error disturbs a cancelled future."""
    request = Request(lambda _: None, b"", 15.0)
    request.future.cancel()
    request.resolve(1)
    request.refuse(ValueError())

    assert request.future.cancelled()


async def test_an_attempts_error_reaches_its_caller_as_it_is() -> None:
    """The same object, with its cause and whatever else it carries."""
    error = ObjectNotFound("gone", why="why", fix="fix")
    request = Request(lambda _: None, b"", 15.0)
    request.refuse(error)

    assert request.future.exception() is error


async def test_an_attempt_cannot_hide_what_it_missed(bench: Bench) -> None:
    """Whoever swallows `Missing` is run again with what it missed; its first run is undone."""
    runs: list[bytes | None] = []

    def attempt(draft: Draft) -> bytes | None:
        try:
            found = draft.index(INDEX).get(b"00250")
        except Exception:  # noqa: BLE001  what a careless caller does
            found = None
        draft.index("runs").put(b"%d" % len(runs), b"")
        runs.append(found)
        return found

    [answer] = await bench.run(attempt)

    assert answer.result == MANY[b"00250"]
    assert runs[0] is None
    assert [key for key, _ in bench.draft.index("runs").scan()] == [b"%d" % (len(runs) - 1)]


async def test_without_a_node_id_the_batch_is_tried_again(bench: Bench, rig: Rig) -> None:
    """It is no attempt's fault, so nobody is answered."""
    rig.kernels[0].ids.use(None)
    with pytest.raises(NoNodeId):
        await bench.run(lambda draft: draft.new_id())
