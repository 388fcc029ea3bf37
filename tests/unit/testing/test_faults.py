"""Each fault does to a call what its name says, on schedule or by chance."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import BackendUnavailable, OutcomeUnknown, PointerNotFound
from headgate.kernel.records import EMPTY, Outcome, Pointer, PointerKey, Swap
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import (
    BETWEEN_WRITE_AND_SWAP,
    LATE_CALLS_MAX,
    Crashed,
    Fault,
    Faults,
    FaultyBackend,
    TornBackend,
    TwoStepBackend,
)
from headgate.testing.row_conformance import immutable

KEY = PointerKey("realm", "pointer")
COMMIT = Swap(KEY, EMPTY, 1)


@pytest.fixture
async def inner() -> CountingBackend:
    """What the faults are injected into: it knows how often it was really called."""
    memory = MemoryBackend()
    await memory.create_pointers("realm", ["pointer", "other"])
    return CountingBackend(memory)


@pytest.fixture
def faults() -> Faults:
    """A plan without random faults."""
    return Faults()


@pytest.fixture
def backend(inner: CountingBackend, faults: Faults) -> FaultyBackend:
    """The backend with faults."""
    return FaultyBackend(inner, faults)


async def value(inner: CountingBackend) -> int | None:
    [found] = await inner.inner.read_pointers([KEY])
    return found


async def test_a_request_lost_before_is_not_applied(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """The caller does not know, and nothing ever happens."""
    faults.schedule("commit", Fault.LOST_BEFORE)
    with pytest.raises(OutcomeUnknown):
        await backend.commit([], COMMIT)
    await faults.settle()

    assert inner.calls["commit"] == 0
    assert faults.injected == {"lost_before": 1}


async def test_a_request_lost_after_is_applied(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """The caller does not know, and it has happened."""
    faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown):
        await backend.commit([], COMMIT)

    assert await value(inner) == 1


async def test_a_lost_answer_may_have_been_an_error(backend: FaultyBackend, faults: Faults) -> None:
    """The caller learns nothing of it."""
    faults.schedule("commit", Fault.LOST_AFTER)
    with pytest.raises(OutcomeUnknown):
        await backend.commit([], Swap(PointerKey("realm", "missing"), EMPTY, 1))


async def test_a_duplicate_is_delivered_twice_and_answered_once(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """The caller gets the first answer, also when the second delivery fails."""
    faults.schedule("commit", Fault.DUPLICATE)

    assert await backend.commit([], COMMIT) is Outcome.APPLIED
    assert inner.calls["commit"] == 2
    assert await value(inner) == 1


async def test_a_duplicate_that_fails_fails_as_ever(backend: FaultyBackend, faults: Faults) -> None:
    """An error of the first delivery is the answer."""
    faults.schedule("commit", Fault.DUPLICATE)
    with pytest.raises(PointerNotFound):
        await backend.commit([], Swap(PointerKey("realm", "missing"), EMPTY, 1))


@pytest.mark.parametrize("verb", ["read_pointers", "commit"])
async def test_a_delay_lets_others_run_before_and_after(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults, verb: str
) -> None:
    """The call goes through, in its own time."""
    faults.schedule(verb, Fault.DELAY)
    call = backend.read_pointers([KEY]) if verb == "read_pointers" else backend.commit([], COMMIT)
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    assert inner.calls[verb] == 0
    while not inner.calls[verb]:
        await asyncio.sleep(0)
    assert not task.done()

    assert await task in ([EMPTY], Outcome.APPLIED)


async def test_a_late_write_lands_after_some_more_calls(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """The caller does not know, reads the old value, and later the new one."""
    faults.schedule("commit", Fault.LATE)
    with pytest.raises(OutcomeUnknown):
        await backend.commit([], COMMIT)
    assert await value(inner) == EMPTY
    values = [await backend.read_pointers([KEY]) for _ in range(LATE_CALLS_MAX)]

    assert values[-1] == [1]


async def test_a_late_write_may_lose_or_fail(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """Who swaps meanwhile has fenced it off; nobody hears of its end."""
    faults.schedule("commit", Fault.LATE)
    faults.schedule("commit", Fault.LATE)
    for key in (KEY, PointerKey("realm", "missing")):
        with pytest.raises(OutcomeUnknown):
            await backend.commit([], Swap(key, EMPTY, 1))
    await inner.commit([], Swap(KEY, EMPTY, 2))
    await faults.settle()

    assert await value(inner) == 2
    assert inner.calls["commit"] == 3


async def test_late_writes_land_between_the_calls_of_any_node(
    inner: CountingBackend, faults: Faults
) -> None:
    """Nodes that share a plan share its writes under way."""
    one, other = FaultyBackend(inner, faults), FaultyBackend(inner, faults)
    faults.schedule("commit", Fault.LATE)
    with pytest.raises(OutcomeUnknown):
        await one.commit([], COMMIT)
    for _ in range(LATE_CALLS_MAX):
        await other.fetch("realm", [])

    assert await value(inner) == 1


@pytest.mark.parametrize("verb", ["read_pointers", "commit"])
async def test_unavailable_means_not_applied(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults, verb: str
) -> None:
    """The caller is told, and nothing was sent."""
    faults.schedule(verb, Fault.UNAVAILABLE)
    call = backend.read_pointers([KEY]) if verb == "read_pointers" else backend.commit([], COMMIT)
    with pytest.raises(BackendUnavailable):
        await call

    assert inner.calls[verb] == 0


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
async def test_a_lost_read_is_unavailable(
    backend: FaultyBackend, faults: Faults, fault: Fault
) -> None:
    """Reads have no outcome that could be unknown."""
    faults.schedule("fetch", fault)
    with pytest.raises(BackendUnavailable):
        await backend.fetch("realm", [1])

    assert await backend.fetch("realm", [1]) == []


async def test_a_scan_may_break_off(backend: FaultyBackend, faults: Faults) -> None:
    """Before its first batch, or behind it; a delayed one is complete."""

    async def scan() -> AsyncIterator[list[Pointer]]:
        async for batch in backend.scan_pointers():
            yield batch

    for fault in (Fault.UNAVAILABLE, Fault.LOST_AFTER, Fault.DELAY):
        faults.schedule("scan_pointers", fault)
    with pytest.raises(BackendUnavailable):
        await anext(scan())
    half = scan()
    assert len(await anext(half)) == 2
    with pytest.raises(BackendUnavailable):
        await anext(half)

    assert [len(batch) async for batch in scan()] == [2]


async def test_scheduled_faults_meet_one_call_each(backend: FaultyBackend, faults: Faults) -> None:
    """In the order of scheduling, and only calls of their verb."""
    faults.schedule("commit", Fault.UNAVAILABLE)
    faults.schedule("commit", Fault.LOST_AFTER)
    await backend.write([immutable("realm", 1)])
    with pytest.raises(BackendUnavailable):
        await backend.commit([], COMMIT)
    with pytest.raises(OutcomeUnknown):
        await backend.commit([], COMMIT)

    assert await backend.commit([], COMMIT) is Outcome.LOST


@pytest.mark.parametrize("fault", [Fault.DUPLICATE, Fault.LATE])
def test_only_writes_can_be_late_or_doubled(faults: Faults, fault: Fault) -> None:
    """Scheduling it for a read is a mistake of the test, and so is an unknown verb."""
    with pytest.raises(AssertionError):
        faults.schedule("fetch", fault)
    with pytest.raises(AssertionError):
        faults.schedule("fetsch", Fault.DELAY)


def draws(faults: Faults, verb: str, count: int = 200) -> list[Fault | None]:
    return [faults.draw(verb) for _ in range(count)]


def test_a_seed_decides_all_faults() -> None:
    """The same seed gives the same fates to the calls of a verb, whatever other verbs do."""
    rates = dict.fromkeys(Fault, 0.1)
    quiet, busy, other = Faults(1, **rates), Faults(1, **rates), Faults(2, **rates)
    draws(busy, "fetch")

    assert draws(quiet, "commit") == draws(busy, "commit") != draws(other, "commit")


def test_rates_are_kept() -> None:
    """Faults come about as often as asked for, and reads are spared those of writes."""
    faults = Faults(3, late=0.3, unavailable=0.2)
    commits, fetches = draws(faults, "commit", 2_000), draws(faults, "fetch", 2_000)

    assert 500 < commits.count(Fault.LATE) < 700
    assert 300 < commits.count(Fault.UNAVAILABLE) < 500
    assert fetches.count(Fault.LATE) == 0
    assert 300 < fetches.count(Fault.UNAVAILABLE) < 500
    assert faults.injected.total() == 4_000 - commits.count(None) - fetches.count(None)


def test_random_faults_can_be_switched_off() -> None:
    """While a test prepares or looks at the result."""
    faults = Faults(1, unavailable=1.0)
    faults.active = False
    assert faults.draw("commit") is None
    faults.active = True

    assert faults.draw("commit") is Fault.UNAVAILABLE


def test_rates_make_sense() -> None:
    """Unknown faults and more than one fault per call are refused."""
    with pytest.raises(ValueError, match="late_"):
        Faults(1, late_=0.1)
    with pytest.raises(AssertionError):
        Faults(1, late=0.6, delay=0.6)


async def test_a_crash_before_a_commit_leaves_no_trace(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """The process dies, once, with an error that nobody handles by accident."""
    faults.crash_at("before_commit")
    with pytest.raises(Crashed, match="before_commit"):
        await backend.commit([], COMMIT)
    assert await value(inner) == EMPTY

    assert await backend.commit([], COMMIT) is Outcome.APPLIED
    assert faults.injected == {"before_commit": 1}
    assert not issubclass(Crashed, Exception)


async def test_a_crash_after_a_commit_leaves_it_applied(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """Only the process does not know."""
    faults.crash_at("after_commit", skip=1)
    await backend.commit([], COMMIT)
    with pytest.raises(Crashed):
        await backend.commit([], Swap(KEY, 1, 2))

    assert await value(inner) == 2


async def test_at_a_crash_point_something_else_may_happen(
    backend: FaultyBackend, inner: CountingBackend, faults: Faults
) -> None:
    """A callback, plain or async, runs instead, for example another node's commit."""
    seen: list[str] = []
    faults.crash_at("before_commit", lambda: inner.commit([], Swap(KEY, EMPTY, 9)))
    faults.crash_at("after_commit", lambda: seen.append("after"))

    assert await backend.commit([], COMMIT) is Outcome.LOST
    assert await value(inner) == 9
    assert seen == ["after"]


def test_crash_points_are_known(faults: Faults) -> None:
    """A misspelt point is a mistake of the test, not a crash that never comes."""
    for point in ("before_comit", "during_commit", "commit"):
        with pytest.raises(AssertionError):
            faults.crash_at(point)


async def test_two_steps_can_be_parted_by_a_crash(inner: CountingBackend, faults: Faults) -> None:
    """The rows are there, the swap never was, and the commit can be sent again."""
    backend = TwoStepBackend(inner, faults)
    faults.crash_at(BETWEEN_WRITE_AND_SWAP)
    with pytest.raises(Crashed):
        await backend.commit([immutable("realm", 1)], COMMIT)
    assert await value(inner) == EMPTY
    assert await inner.fetch("realm", [1]) == [immutable("realm", 1)]

    assert await backend.commit([immutable("realm", 1)], COMMIT) is Outcome.APPLIED


async def test_a_torn_backend_tears(inner: CountingBackend) -> None:
    """A pointer that moves while a batch is read shows in one half of it, and it says so."""
    backend = TornBackend(inner)
    other = PointerKey("realm", "other")
    task = asyncio.create_task(backend.read_pointers([KEY, other]))
    await asyncio.sleep(0)
    for key in (KEY, other):
        await inner.commit([], Swap(key, EMPTY, 1))

    assert await task == [EMPTY, 1]
    assert not backend.snapshot_reads
