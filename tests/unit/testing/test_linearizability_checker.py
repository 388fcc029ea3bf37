"""The history checker finds every kind of wrong answer, and finds nothing in correct histories."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from functools import cache

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.testing.faults import Crashed, Fault, Faults, FaultyBackend
from headgate.testing.histories import Recorder, race
from headgate.testing.linearizability import Kind, Operation, Violation, check
from tests.conftest import FULL

KEY = PointerKey("realm", "pointer")
APPLIED, LOST, UNKNOWN = Outcome.APPLIED, Outcome.LOST, None


def read(value: int, began: int, ended: int, process: int = 0) -> Operation:
    return Operation(process, Kind.READ, 0, 0, value, began, ended)


def swap(expected: int, new: int, result: Outcome | None, began: int, ended: int) -> Operation:
    return Operation(
        1, Kind.SWAP, expected, new, result, began, None if result is UNKNOWN else ended
    )


def found(*history: Operation) -> str:
    """The words in which the checker condemns a history that the reference condemns as well."""
    violation = check(history)
    assert violation is not None
    assert not explainable(history)
    return str(violation)


def explainable(history: Sequence[Operation], initial: int = EMPTY) -> bool:
    """The definition, by trying all orders: slow, and too simple to be wrong."""

    @cache
    def search(left: frozenset[int], value: int) -> bool:
        if all(history[index].ended is None for index in left):
            return True
        first_end = min(ended for index in left if (ended := history[index].ended) is not None)
        return any(
            follows is not None and search(left - {index}, follows)
            for index in left
            if history[index].began < first_end or history[index].ended == first_end
            for follows in after(history[index], value)
        )

    return search(frozenset(range(len(history))), initial)


def after(operation: Operation, value: int) -> list[int | None]:
    """The values that a pointer may have after this operation, None if it cannot have happened."""
    if operation.kind is Kind.READ:
        return [value if operation.result == value else None]
    fits = operation.expected == value
    if operation.result is UNKNOWN:
        return [operation.new, value] if fits else [value]
    if operation.result is APPLIED:
        return [operation.new if fits else None]
    return [None if fits else value]


def test_a_correct_history_passes() -> None:
    """Reads between swaps, lost swaps and concurrent ones are explained."""
    history = [
        read(EMPTY, 1, 2),
        swap(EMPTY, 10, APPLIED, 3, 8),
        swap(EMPTY, 11, LOST, 4, 7),
        read(EMPTY, 5, 9),
        read(10, 6, 10),
        swap(10, 12, APPLIED, 11, 12),
        read(12, 13, 14),
    ]

    assert check(history) is None
    assert check([]) is None


def test_a_stale_read_is_found() -> None:
    """A read that began after a swap was answered must see it."""
    words = found(swap(EMPTY, 1, APPLIED, 1, 2), read(EMPTY, 3, 4))

    assert "process 0 read 0 (ticks 3 to 4)" in words
    assert "must have got it by tick 2" in words


def test_a_read_of_the_future_is_found() -> None:
    """A value cannot be read before its swap was sent."""
    assert "read 1" in found(read(1, 1, 2), swap(EMPTY, 1, APPLIED, 3, 4))


def test_a_lost_update_is_found() -> None:
    """Two swaps from the same value cannot both win."""
    words = found(swap(EMPTY, 1, APPLIED, 1, 3), swap(EMPTY, 2, APPLIED, 2, 4))

    assert "one update is lost" in words


def test_a_double_application_is_found() -> None:
    """The same swap sent twice cannot win twice."""
    words = found(swap(EMPTY, 1, APPLIED, 1, 2), swap(EMPTY, 1, APPLIED, 3, 4))

    assert "took effect twice" in words


def test_a_value_that_comes_back_is_found() -> None:
    """An old value after a new one was read means that something was applied once more."""
    assert found(
        swap(EMPTY, 1, APPLIED, 1, 2),
        swap(1, 2, APPLIED, 3, 4),
        read(2, 5, 6),
        read(1, 7, 8),
    )


def test_a_swap_from_the_wrong_value_is_found() -> None:
    """A swap cannot win from a value that the pointer never had, or has no more."""
    assert "nobody ever swapped to 7" in found(swap(7, 8, APPLIED, 1, 2))
    assert found(
        swap(EMPTY, 1, APPLIED, 1, 2), swap(1, 2, APPLIED, 3, 4), swap(1, 3, APPLIED, 5, 6)
    )


def test_swaps_that_only_follow_from_each_other_are_found() -> None:
    """A circle of swaps has no beginning."""
    words = found(swap(2, 1, APPLIED, 1, 3), swap(1, 2, APPLIED, 2, 4))

    assert "follow from each other" in words


def test_a_swap_reported_lost_although_applied_is_found() -> None:
    """What was LOST cannot be read, nor swapped from."""
    assert "answered LOST" in found(swap(EMPTY, 1, LOST, 1, 2), read(1, 3, 4))
    assert "answered LOST" in found(swap(EMPTY, 1, LOST, 1, 2), swap(1, 2, APPLIED, 3, 4))


def test_a_swap_lost_without_a_rival_is_found() -> None:
    """LOST needs another value: not the initial one, nor one that nobody replaced in time."""
    assert "initial value" in found(swap(EMPTY, 1, LOST, 1, 2))
    assert found(swap(EMPTY, 1, APPLIED, 1, 2), swap(1, 2, LOST, 3, 4))
    assert found(swap(EMPTY, 1, APPLIED, 1, 2), swap(1, 2, LOST, 3, 4), swap(1, 3, APPLIED, 5, 6))


def test_an_inverted_order_is_found() -> None:
    """Swaps that happened one after the other form a chain in that order."""
    assert found(swap(1, 2, APPLIED, 1, 2), swap(EMPTY, 1, APPLIED, 3, 4))


def test_reads_in_an_inverted_order_are_found() -> None:
    """Once a new value was read nobody reads the old one, though the swap is still under way."""
    history = [swap(EMPTY, 1, APPLIED, 1, 10), read(1, 2, 3), read(EMPTY, 4, 5, process=2)]

    assert "process 2 read 0" in found(*history)


def test_a_value_from_nowhere_is_found() -> None:
    """Whatever is read was swapped in by somebody."""
    assert "nobody ever swapped to 5" in found(read(5, 1, 2))


def test_an_unknown_swap_may_have_landed_or_not() -> None:
    """Both are fine, at any later time."""
    unknown = swap(EMPTY, 1, UNKNOWN, 1, 0)

    assert check([unknown, read(EMPTY, 2, 3)]) is None
    assert check([unknown, read(1, 2, 3)]) is None
    assert check([unknown, read(EMPTY, 2, 3), read(1, 4, 5)]) is None
    assert check([unknown, read(EMPTY, 2, 3), swap(1, 2, APPLIED, 4, 5), read(2, 6, 7)]) is None
    assert check([unknown, swap(EMPTY, 2, APPLIED, 2, 3)]) is None


def test_an_unknown_swap_lands_once_and_not_before_it_was_sent() -> None:
    """It is no excuse for other wrong answers."""
    unknown = swap(EMPTY, 1, UNKNOWN, 3, 0)

    assert found(read(1, 1, 2), unknown)
    assert found(unknown, read(1, 4, 5), read(EMPTY, 6, 7))
    assert found(unknown, swap(EMPTY, 2, APPLIED, 4, 5), read(1, 6, 7))


def test_an_unknown_swap_that_nobody_saw_explains_a_lost_one() -> None:
    """It may have landed at the end, several in a row, and only from the right value."""
    first, second = swap(EMPTY, 1, UNKNOWN, 1, 0), swap(1, 2, UNKNOWN, 2, 0)

    assert check([first, swap(EMPTY, 3, LOST, 3, 4)]) is None
    assert check([first, second, swap(EMPTY, 3, LOST, 3, 4), swap(1, 4, LOST, 5, 6)]) is None
    assert found(second, swap(EMPTY, 3, LOST, 3, 4))
    assert found(swap(EMPTY, 3, LOST, 1, 2), swap(EMPTY, 1, UNKNOWN, 3, 0))


def test_a_swap_may_be_sent_again() -> None:
    """Whoever does not know sends the same swap once more: one of the two took effect."""
    unknown = swap(EMPTY, 1, UNKNOWN, 1, 0)

    assert check([unknown, swap(EMPTY, 1, LOST, 2, 3), read(1, 4, 5)]) is None
    assert check([unknown, swap(EMPTY, 1, APPLIED, 2, 3), read(1, 4, 5)]) is None
    assert check([unknown, swap(EMPTY, 1, UNKNOWN, 2, 0), read(1, 4, 5)]) is None
    assert found(unknown, swap(EMPTY, 1, LOST, 2, 3), read(EMPTY, 4, 5))


def test_values_must_not_repeat() -> None:
    """A history that uses a value twice cannot be judged."""
    with pytest.raises(ValueError, match="used twice"):
        check([swap(EMPTY, 1, APPLIED, 1, 2), swap(5, 1, LOST, 3, 4)])
    with pytest.raises(ValueError, match="used twice"):
        check([swap(1, EMPTY, LOST, 1, 2)])


def test_a_history_may_begin_with_another_value() -> None:
    """The initial value is given by the caller."""
    assert check([read(7, 1, 2), swap(7, 8, APPLIED, 3, 4)], initial=7) is None


def random_history(chance: random.Random) -> list[Operation]:
    """A few overlapping operations with answers that are plausible, and often wrong."""
    count = chance.randint(2, 7)
    ticks = list(range(2 * count))
    chance.shuffle(ticks)
    values = [EMPTY, *range(1, count + 1)]
    history = []
    for number in range(1, count + 1):
        began, ended = sorted((ticks.pop(), ticks.pop()))
        if chance.random() < 0.4:
            history.append(read(chance.choice(values[: number + 1]), began, ended))
        else:
            result = chance.choice([APPLIED, APPLIED, LOST, UNKNOWN])
            expected = chance.choice(values[:number])
            history.append(swap(expected, number, result, began, ended))
    if chance.random() < 0.3 and history[0].kind is Kind.SWAP:
        again = history[0]._replace(result=LOST, began=2 * count, ended=2 * count + 1)
        history.append(again)
    return history


@pytest.mark.parametrize("seed", range(10))
def test_the_checker_agrees_with_the_definition(seed: int) -> None:
    """On random histories, right and wrong ones, the verdict is that of trying all orders."""
    chance = random.Random(seed)
    verdicts = []
    for _ in range(20_000 if FULL else 1_000):
        history = random_history(chance)
        verdicts.append(explainable(history))
        assert (check(history) is None) is verdicts[-1], "\n".join(map(str, history))

    assert 0.02 < sum(verdicts) / len(verdicts) < 0.98


def simulated_history(chance: random.Random, operations: int) -> list[Operation]:
    """What eight processes see of a correct pointer: each call begins, takes effect and ends."""
    history: list[Operation] = []
    sent: dict[int, Operation] = {}
    done: dict[int, Operation] = {}
    value = EMPTY
    for tick in itertools.count(1):
        process = chance.randrange(8)
        if process in done:
            call = done.pop(process)
            unknown = call.kind is Kind.SWAP and chance.random() < 0.1
            history.append(call._replace(result=None) if unknown else call._replace(ended=tick))
        elif process in sent:
            call = sent.pop(process)
            fits = call.expected == value
            value = call.new if fits and call.kind is Kind.SWAP else value
            result = value if call.kind is Kind.READ else APPLIED if fits else LOST
            done[process] = call._replace(result=result)
        elif len(history) > operations:
            under_way = [*sent.values(), *done.values()]
            swaps = [call._replace(result=None) for call in under_way if call.kind is Kind.SWAP]
            return [*history, *swaps]
        elif chance.random() < 0.5:
            sent[process] = Operation(process, Kind.READ, 0, 0, None, tick, None)
        else:
            expected = value if chance.random() < 0.7 else chance.randint(0, value)
            sent[process] = Operation(process, Kind.SWAP, expected, tick, None, tick, None)
    raise AssertionError


def test_long_histories_are_judged_quickly() -> None:
    """Eight processes and thousands of operations take a moment, whether right or wrong."""
    history = simulated_history(random.Random(1), 5_000)
    assert check(history) is None

    reads = [one for one in history if one.kind is Kind.READ]
    wrong = reads[-1]._replace(result=reads[len(reads) // 2].result)
    assert isinstance(check([*history, wrong]), Violation)


class Stale(ForwardingBackend):
    """Answers reads from a cache for a while."""

    def __init__(self, inner: MemoryBackend) -> None:
        super().__init__(inner)
        self._reads = itertools.count()
        self._cached: list[int | None] = []

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        if not self._cached or next(self._reads) % 4 == 0:
            self._cached = await self.inner.read_pointers(keys)
        return self._cached


class CheckThenAct(ForwardingBackend):
    """Compares and swaps in two steps."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        [value] = await self.inner.read_pointers([swap.key])
        if value != swap.expected:
            return Outcome.LOST
        await asyncio.sleep(0)
        [value] = await self.inner.read_pointers([swap.key])
        return await self.inner.commit(rows, swap._replace(expected=value or EMPTY))


class Retrying(ForwardingBackend):
    """Repeats a conditional write by itself."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        try:
            return await self.inner.commit(rows, swap)
        except OutcomeUnknown:
            return await self.inner.commit(rows, swap)


class Optimistic(ForwardingBackend):
    """Says that nothing was written when it does not know."""

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        try:
            return await self.inner.commit(rows, swap)
        except OutcomeUnknown as error:
            raise BackendUnavailable("the commit failed") from error


@pytest.mark.parametrize("broken", [Stale, CheckThenAct, Retrying, Optimistic])
async def test_a_race_convicts_a_broken_backend(broken: type[ForwardingBackend]) -> None:
    """The usual mistakes of backends are found in a short race with faults."""
    memory = MemoryBackend()
    await memory.create_pointers(KEY.realm, [KEY.name])
    faulty = FaultyBackend(memory, Faults(1, lost_after=0.1, delay=0.1))
    recorder = await race([broken(faulty)], KEY, seed=1)

    assert check(recorder.history) is not None


async def test_a_race_repeats_exactly_from_its_seed() -> None:
    """On one event loop the same seeds give the same history."""
    histories = []
    for seed in (5, 5, 6):
        memory = MemoryBackend()
        await memory.create_pointers(KEY.realm, [KEY.name])
        faults = Faults(seed, late=0.1, delay=0.2, lost_after=0.1)
        recorder = await race([FaultyBackend(memory, faults)], KEY, seed=seed)
        histories.append(recorder.history)

    assert histories[0] == histories[1] != histories[2]


async def test_the_recorder_notes_what_callers_were_told() -> None:
    """Answers as they are, unknown and crashed swaps without an end, failed ones not at all."""
    memory = MemoryBackend()
    await memory.create_pointers(KEY.realm, [KEY.name])
    faults = Faults()
    backend = FaultyBackend(memory, faults)
    recorder = Recorder(KEY)
    assert await recorder.swap(1, backend, EMPTY, 1) is APPLIED
    assert await recorder.swap(1, backend, EMPTY, 2) is LOST
    faults.schedule("commit", Fault.LOST_AFTER)
    assert await recorder.swap(1, backend, 1, 3) is UNKNOWN
    faults.schedule("commit", Fault.UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        await recorder.swap(1, backend, 3, 4)
    faults.crash_at("before_commit")
    with pytest.raises(Crashed):
        await recorder.swap(1, backend, 3, 5)
    assert await recorder.read(2, backend) == 3

    assert recorder.history == [
        swap(EMPTY, 1, APPLIED, 1, 2),
        swap(EMPTY, 2, LOST, 3, 4),
        swap(1, 3, UNKNOWN, 5, 0),
        swap(3, 5, UNKNOWN, 7, 0),
        read(3, 8, 9, process=2),
    ]
    assert check(recorder.history) is None
