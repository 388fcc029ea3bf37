"""Operation ids: whoever sends an operation again gets the answer of the first."""

import asyncio

import pytest

from headgate.errors import InvalidInput, ObjectNotFound, OutcomeUnknown, TooLarge
from headgate.kernel import operations
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.limits import (
    CLOCK_BEHIND_MS_MAX,
    OPERATION_BUCKET_MS,
    OPERATION_BYTES_MAX,
    OPERATION_LIFETIME_MS,
    OPERATION_RESULT_BYTES_MAX,
    OPERATIONS_EXPIRED_PER_COMMIT,
)
from headgate.testing.faults import Fault
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    SteppedClock,
    entries,
    history,
    putting,
)

LAST_BUCKET_MS = OPERATION_LIFETIME_MS + OPERATION_BUCKET_MS


def counting(draft: Draft) -> bytes:
    """An attempt that adds one to a counter, and its new value."""
    value = b"%d" % (int(draft.index(INDEX).get(b"counter") or 0) + 1)
    draft.index(INDEX).put(b"counter", value)
    return value


async def recorded(realm: RealmHandle) -> int:
    """How many operation ids are stored."""
    return len(await entries(realm, index=operations.INDEX))


async def test_a_duplicate_gets_the_first_result_and_changes_nothing(
    rig: Rig, realm: RealmHandle
) -> None:
    """The second call writes nothing at all."""
    first = await realm.commit(POINTER, counting, operation=b"once")
    rig.backend.reset()
    second = await realm.commit(POINTER, counting, operation=b"once")

    assert first == second == b"1"
    assert rig.backend.calls == {"read_pointers": 1}


async def test_other_operations_are_made(realm: RealmHandle) -> None:
    """Only the same id is a duplicate: neither its beginning nor its continuation."""
    results = [
        await realm.commit(POINTER, counting, operation=operation)
        for operation in (b"once", b"onc", b"once ", b"\0once")
    ]

    assert results == [b"1", b"2", b"3", b"4"]


async def test_a_duplicate_on_another_node_gets_the_first_result(
    rig: Rig, realm: RealmHandle
) -> None:
    """The record is part of the commit, so every node sees it."""
    other = (await rig.open()).realm(realm.id)
    first = await realm.commit(POINTER, counting, operation=b"once")

    assert await other.commit(POINTER, counting, operation=b"once") == first


async def test_a_duplicate_in_the_same_batch_gets_the_first_result(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """A client that sent twice at once has one commit with one group."""
    results = await asyncio.gather(
        *(realm.commit(POINTER, counting, operation=b"once") for _ in range(5))
    )
    [commit] = await history(kernel, realm)

    assert results == [b"1"] * 5
    assert [group.operation for group in commit.groups] == [b"once"]


async def test_a_duplicate_after_a_restart_gets_the_first_result(
    rig: Rig, realm: RealmHandle
) -> None:
    """Nothing of it is kept in memory only."""
    first = await realm.commit(POINTER, counting, operation=b"once")
    await rig.kernels.pop(0).close()
    restarted = (await rig.open()).realm(realm.id)

    assert await restarted.commit(POINTER, counting, operation=b"once") == first


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.LATE])
async def test_a_repetition_after_an_unknown_outcome_is_safe(
    rig: Rig, realm: RealmHandle, fault: Fault
) -> None:
    """Applied or not: in the end it was made exactly once."""
    for _ in range(100):
        rig.faults.schedule("commit", fault)
    with pytest.raises(OutcomeUnknown):
        await realm.commit(POINTER, counting, operation=b"once")
    while rig.faults.draw("commit"):
        pass
    answer = await realm.commit(POINTER, counting, operation=b"once")
    await rig.faults.settle()

    assert answer == b"1"
    assert await entries(realm) == {b"counter": b"1"}


async def test_a_failure_is_not_recorded(realm: RealmHandle) -> None:
    """It had no effect, so a repetition is a first delivery."""

    def failing(draft: Draft) -> bytes:
        counting(draft)
        message = "not yet"
        raise ValueError(message)

    with pytest.raises(ValueError, match="not yet"):
        await realm.commit(POINTER, failing, operation=b"once")

    assert await realm.commit(POINTER, counting, operation=b"once") == b"1"


async def test_an_operation_without_an_effect_is_recorded(realm: RealmHandle) -> None:
    """Its answer must be the same later, when it would have an effect."""
    first = await realm.commit(POINTER, lambda _: b"nothing to do", operation=b"once")
    second = await realm.commit(POINTER, counting, operation=b"once")

    assert first == second == b"nothing to do"


async def test_a_duplicate_is_answered_after_the_seal(realm: RealmHandle) -> None:
    """What was answered once stays answered."""

    def sealing(draft: Draft) -> bytes:
        draft.seal()
        return b"sealed"

    first = await realm.commit(POINTER, sealing, operation=b"last")

    assert await realm.commit(POINTER, sealing, operation=b"last") == first


@pytest.mark.parametrize(
    ("passed_ms", "answer"),
    [
        (0, b"1"),
        (OPERATION_LIFETIME_MS, b"1"),
        (LAST_BUCKET_MS - 1, b"1"),
        (LAST_BUCKET_MS + OPERATION_BUCKET_MS, b"2"),
    ],
)
async def test_a_record_lives_half_an_hour_at_least(
    rig: Rig, realm: RealmHandle, passed_ms: int, answer: bytes
) -> None:
    """Recorded at the beginning of a five-minute bucket; some minutes after its end it goes."""
    assert rig.clock.wall_ms() % OPERATION_BUCKET_MS < 1000
    await realm.commit(POINTER, counting, operation=b"once")
    await rig.pass_time(passed_ms)

    assert await realm.commit(POINTER, counting, operation=b"once") == answer


@pytest.mark.parametrize("ahead_ms", [1, 30_000, CLOCK_BEHIND_MS_MAX])
async def test_a_record_of_a_clock_that_is_ahead_is_found(
    rig: Rig, realm: RealmHandle, ahead_ms: int
) -> None:
    """Two nodes on both sides of a bucket's border still see each other's records."""
    border_ms = (rig.clock.wall_ms() // OPERATION_BUCKET_MS + 1) * OPERATION_BUCKET_MS
    slow, fast = SteppedClock(border_ms - 1), SteppedClock(border_ms - 1 + ahead_ms)
    behind = (await rig.open(clock=slow)).realm(realm.id)
    ahead = (await rig.open(clock=fast)).realm(realm.id)
    first = await ahead.commit(POINTER, counting, operation=b"once")

    assert await behind.commit(POINTER, counting, operation=b"once") == first


async def test_expired_records_are_dropped_a_few_at_a_time(rig: Rig, realm: RealmHandle) -> None:
    """No commit pays for more than 64 of them."""
    count = 2 * OPERATIONS_EXPIRED_PER_COMMIT + 10
    await asyncio.gather(
        *(realm.commit(POINTER, counting, operation=b"%d" % n) for n in range(count))
    )
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    left = []
    for number in range(4):
        await realm.commit(POINTER, putting(b"%d" % number))
        left.append(await recorded(realm))

    assert left == [count - 64, count - 128, 0, 0]


async def test_records_expire_without_a_cache(rig: Rig, realm: RealmHandle) -> None:
    """Pages of old records are fetched when they are cleaned up."""
    node = (await rig.open(cache_bytes=0)).realm(realm.id)
    for number in range(400):
        await realm.commit(POINTER, counting, operation=b"%0100d" % number)
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    await node.commit(POINTER, putting(b"a"))

    assert await recorded(realm) == 400 - OPERATIONS_EXPIRED_PER_COMMIT


async def test_reading_alone_drops_no_records(rig: Rig, realm: RealmHandle) -> None:
    """An attempt without a change writes nothing, not even to clean up."""
    await realm.commit(POINTER, counting, operation=b"once")
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    rig.backend.reset()
    await realm.commit(POINTER, lambda _: None)

    assert rig.backend.calls["commit"] == 0
    assert await recorded(realm) == 1


async def test_the_expiry_is_no_change_of_anybody(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """The log shows what callers did; the kernel's own index is not part of it."""
    await realm.commit(POINTER, counting, operation=b"once")
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    await realm.commit(POINTER, putting(b"a"))
    commits = await history(kernel, realm)
    touched = {entry.index for commit in commits for g in commit.groups for entry in g.entries}

    assert touched == {INDEX}


@pytest.mark.parametrize("result", [None, "text", 1, bytearray(b"x")])
async def test_the_result_of_an_operation_is_bytes(realm: RealmHandle, result: object) -> None:
    """Anything else could not be given back as it was, and nothing is committed."""

    def attempt(draft: Draft) -> object:
        counting(draft)
        return result

    with pytest.raises(InvalidInput, match="returns bytes"):
        await realm.commit(POINTER, attempt, operation=b"once")
    assert await entries(realm) == {}


async def test_the_largest_result_is_recorded_and_a_larger_one_refused(
    realm: RealmHandle,
) -> None:
    """The limit itself is allowed."""
    largest = b"x" * OPERATION_RESULT_BYTES_MAX
    first = await realm.commit(POINTER, lambda _: largest, operation=b"once")
    with pytest.raises(TooLarge, match="Return an id"):
        await realm.commit(POINTER, lambda _: largest + b"x", operation=b"twice")

    assert first == await realm.commit(POINTER, lambda _: b"", operation=b"once") == largest


@pytest.mark.parametrize("operation", [b"x" * (OPERATION_BYTES_MAX + 1), "text", 17])
async def test_an_unusable_operation_id_is_refused(
    rig: Rig, realm: RealmHandle, operation: bytes
) -> None:
    """Before it waits for anything."""
    with pytest.raises(InvalidInput, match="operation id"):
        await realm.commit(POINTER, counting, operation=operation)
    assert rig.backend.calls == {}


def test_an_empty_operation_id_is_none() -> None:
    """`check` itself refuses it; the committer takes it as no operation."""
    with pytest.raises(InvalidInput, match="0 bytes"):
        operations.check(b"")


@pytest.mark.parametrize("length", [1, OPERATION_BYTES_MAX])
async def test_operation_ids_up_to_the_limit_work(realm: RealmHandle, length: int) -> None:
    """One byte to 128."""
    operation = b"x" * length
    results = [await realm.commit(POINTER, counting, operation=operation) for _ in range(2)]

    assert results == [b"1", b"1"]


async def records_nobody_can_read(rig: Rig, realm: RealmHandle) -> RealmHandle:
    """The realm on a cold node; the pages of its old records are gone."""
    for number in range(400):
        await realm.commit(POINTER, counting, operation=b"%0100d" % number)
    [head] = await realm.heads(POINTER)
    await rig.memory.delete(realm.id, head.root(operations.INDEX).children)
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    return (await rig.open()).realm(realm.id)


async def test_records_that_cannot_be_read_stop_nobody_else(rig: Rig, realm: RealmHandle) -> None:
    """Cleaning up is no caller's concern; who brings an operation id has to know, and is told."""
    cold = await records_nobody_can_read(rig, realm)
    await cold.commit(POINTER, putting(b"a"))

    assert b"a" in await entries(cold)
    with pytest.raises(ObjectNotFound):
        await cold.commit(POINTER, counting, operation=b"new")


async def test_an_outage_while_cleaning_up_is_waited_for(rig: Rig, realm: RealmHandle) -> None:
    """The batch is tried again as a whole."""
    node = (await rig.open(cache_bytes=0)).realm(realm.id)
    for number in range(400):
        await realm.commit(POINTER, counting, operation=b"%0100d" % number)
    await rig.pass_time(LAST_BUCKET_MS + OPERATION_BUCKET_MS)
    rig.faults.crash_at(
        "before_fetch", lambda: rig.faults.schedule("fetch", Fault.UNAVAILABLE), skip=2
    )
    await node.commit(POINTER, putting(b"a"))

    assert rig.faults.injected[Fault.UNAVAILABLE] == 1
    assert await recorded(realm) == 400 - OPERATIONS_EXPIRED_PER_COMMIT


async def test_an_operation_that_a_clock_ahead_has_recorded_is_known(
    rig: Rig, realm: RealmHandle
) -> None:
    """After a repair of the store, its record lies in the future; it is not done again."""
    ahead = await rig.open(clock=SteppedClock(rig.clock.wall_ms() + 86_400_000))
    for operation in (b"first", b"second"):
        await ahead.realm(realm.id).commit(POINTER, counting, operation=operation)
        assert isinstance(ahead.clock, SteppedClock)
        ahead.clock.advance(OPERATION_BUCKET_MS)
    repair = rig.kernels[0].clock_repair
    await repair.apply(await repair.find())

    assert await realm.commit(POINTER, counting, operation=b"first") == b"1"
    assert await realm.commit(POINTER, counting, operation=b"second") == b"2"
    assert await realm.commit(POINTER, counting, operation=b"third") == b"3"
