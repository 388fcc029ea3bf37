"""Reading pointers: many callers share few reads, and nobody ever gets a stale or torn answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import BackendUnavailable
from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.pointers import Pointers, Vector
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Swap
from headgate.limits import CONFIRMING_READS_MAX
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import TornBackend

KEYS = [PointerKey("r", name) for name in ("a", "b", "c")]
A, B, C = KEYS
NOWHERE = PointerKey("r", "nowhere")

Read = Callable[[Sequence[PointerKey]], Awaitable[Vector]]


class GatedBackend(ForwardingBackend):
    """A read looks at the pointers at once, and answers or fails when it is let go."""

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.gate = asyncio.Event()
        self.failures: list[Exception] = []
        self.asked: list[list[PointerKey]] = []

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        self.asked.append(list(keys))
        values = await self.inner.read_pointers(keys)
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        return values


class SlowBackend(ForwardingBackend):
    """A read is on its way for some turns of the loop before and after it looks."""

    def __init__(self, inner: Backend, chance: Random) -> None:
        super().__init__(inner)
        self._chance = chance

    async def read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        await turns(self._chance.randrange(4))
        values = await self.inner.read_pointers(keys)
        await turns(self._chance.randrange(4))
        return values


class NaivePointers:
    """Coalesces as one would at first: whoever comes shares the read in flight."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._flight: asyncio.Task[Vector] | None = None

    async def read(self, keys: Sequence[PointerKey]) -> Vector:
        if self._flight is None or self._flight.done():
            self._flight = asyncio.create_task(self._backend.read_pointers(keys))
        return await asyncio.shield(self._flight)


@pytest.fixture
async def memory() -> MemoryBackend:
    memory = MemoryBackend()
    await memory.create_pointers("r", [key.name for key in KEYS])
    return memory


@pytest.fixture
def gated(memory: MemoryBackend) -> GatedBackend:
    return GatedBackend(memory)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def move(memory: Backend, key: PointerKey, value: int) -> None:
    [current] = await memory.read_pointers([key])
    assert await memory.commit([], Swap(key, current or EMPTY, value)) is Outcome.APPLIED


async def reading(pointers: Pointers, *wanted: Sequence[PointerKey]) -> list[asyncio.Task[Vector]]:
    tasks = [asyncio.create_task(pointers.read(keys)) for keys in wanted]
    await turns(2)
    return tasks


async def stale_answers(read: Read, memory: MemoryBackend, chance: Random) -> int:
    """How many of some thousand answers are older than what was acknowledged before the call."""
    acknowledged, stale, writing = 0, 0, True

    async def reader() -> None:
        nonlocal stale
        while writing:
            before = acknowledged
            [value] = await read([A])
            stale += value is None or value < before
            await turns(chance.randrange(3))

    readers = [asyncio.create_task(reader()) for _ in range(8)]
    for value in range(1, 1_001):
        await move(memory, A, value)
        acknowledged = value
        await turns(chance.randrange(6))
    writing = False
    await asyncio.gather(*readers)
    return stale


@pytest.mark.parametrize("seed", range(3))
async def test_no_answer_is_stale(memory: MemoryBackend, seed: int) -> None:
    """Sharing the read in flight gives old answers after acknowledged changes; `Pointers` none."""
    print(f"seed {seed}")
    slow = CountingBackend(SlowBackend(memory, Random(seed)))
    naive = await stale_answers(NaivePointers(slow).read, memory, Random(seed))
    fresh = MemoryBackend()
    await fresh.create_pointers("r", [A.name])
    slow = CountingBackend(SlowBackend(fresh, Random(seed)))
    ours = await stale_answers(Pointers(slow).read, fresh, Random(seed))

    assert naive > 20
    assert ours == 0


async def test_a_caller_does_not_join_the_read_in_flight(
    memory: MemoryBackend, gated: GatedBackend
) -> None:
    """It may have looked before a change that the caller knows of."""
    pointers = Pointers(gated)
    [first] = await reading(pointers, [A])
    await move(memory, A, 1)
    [second] = await reading(pointers, [A])
    gated.gate.set()

    assert await first == [EMPTY]
    assert await second == [1]
    assert await pointers.read([A]) == [1]


async def test_a_thousand_callers_are_two_reads(gated: GatedBackend) -> None:
    """The first one starts a read, all others share the next."""
    pointers = Pointers(gated)
    tasks = await reading(pointers, *[[A, B]] * 1_000)
    gated.gate.set()

    assert await asyncio.gather(*tasks) == [[EMPTY, EMPTY]] * 1_000
    assert gated.asked == [[A, B], [A, B]]


async def test_callers_at_any_time_share_reads(memory: MemoryBackend) -> None:
    """A thousand callers that come one after the other need far fewer reads."""
    backend = CountingBackend(SlowBackend(memory, Random(1)))
    pointers = Pointers(backend)
    tasks = []
    for _ in range(100):
        tasks += [asyncio.create_task(pointers.read([A])) for _ in range(10)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

    assert backend.calls["read_pointers"] < 60


async def test_one_caller_after_the_other_reads_at_once(memory: MemoryBackend) -> None:
    """Without company a call is one read, and nothing is left behind."""
    backend = CountingBackend(memory)
    pointers = Pointers(backend)
    for _ in range(5):
        await pointers.read([A])

    assert backend.calls["read_pointers"] == 5
    assert pointers._next is None


async def test_a_shared_read_asks_for_the_union(memory: MemoryBackend, gated: GatedBackend) -> None:
    """Each pointer is read once, and each caller gets its own in its own order."""
    for value, key in enumerate(KEYS, 1):
        await move(memory, key, value)
    pointers = Pointers(gated)
    tasks = await reading(pointers, [A], [B, A], [C, NOWHERE, B], [A, A], [])
    gated.gate.set()

    assert await asyncio.gather(*tasks) == [[1], [2, 1], [3, None, 2], [1, 1], []]
    assert gated.asked == [[A], [B, A, C, NOWHERE]]


@pytest.mark.parametrize("error", [BackendUnavailable("no answer", fix="Wait"), OSError("broken")])
async def test_a_failed_read_fails_its_waiters_and_no_others(
    gated: GatedBackend, error: Exception
) -> None:
    """The first read, then the shared one fails; whoever asks afterwards gets an answer."""
    pointers = Pointers(gated)
    tasks = await reading(pointers, [A], [A], [B])
    gated.failures = [OSError("first"), error]
    gated.gate.set()
    first, *shared = await asyncio.gather(*tasks, return_exceptions=True)

    assert str(first) == "first"
    assert [str(one) for one in shared] == [str(error)] * 2
    assert await pointers.read([A]) == [EMPTY]


async def test_waiters_do_not_share_an_error(gated: GatedBackend) -> None:
    """Each gets an object of its own, so that tracebacks do not grow together."""
    pointers = Pointers(gated)
    tasks = await reading(pointers, [A], [A], [A])
    gated.failures = [OSError("first"), BackendUnavailable("second")]
    gated.gate.set()
    _, second, third = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(second, BackendUnavailable)
    assert isinstance(third, BackendUnavailable)
    assert second is not third


async def test_a_failed_read_does_not_fail_those_who_wait_for_the_next(
    gated: GatedBackend,
) -> None:
    """They joined another read."""
    pointers = Pointers(gated)
    tasks = await reading(pointers, [A], [A])
    gated.failures = [BackendUnavailable("first")]
    gated.gate.set()
    first, second = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(first, BackendUnavailable)
    assert second == [EMPTY]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_caller_that_is_cancelled_hurts_nobody(
    gated: GatedBackend, cancelled: int, fails: bool
) -> None:
    """Neither the first, whose read is given up, nor one of those who wait."""
    pointers = Pointers(gated)
    tasks = await reading(pointers, [A], [A], [B])
    tasks.pop(cancelled).cancel()
    await turns(2)
    gated.failures = [OSError("all")] * 2 if fails else []
    gated.gate.set()
    left = await asyncio.gather(*tasks, return_exceptions=True)
    gated.failures.clear()

    assert [isinstance(one, OSError) for one in left] == [fails] * 2
    assert fails or left == [[EMPTY]] * 2
    assert await pointers.read([A]) == [EMPTY]


# Vectors


class Moving:
    """Moves pointers while others read them, and remembers every vector that ever was."""

    def __init__(self, memory: MemoryBackend, chance: Random) -> None:
        self._memory = memory
        self._chance = chance
        self._task: asyncio.Task[None] | None = None
        self.vectors: list[Vector] = [[EMPTY] * len(KEYS)]

    async def move(self, at: int) -> None:
        value = len(self.vectors)
        await move(self._memory, KEYS[at], value)
        self.vectors.append([*self.vectors[-1][:at], value, *self.vectors[-1][at + 1 :]])

    def start(self, among: int, pauses: Sequence[int] = (1,)) -> None:
        async def run() -> None:
            while True:
                for at in self._chance.sample(range(among), self._chance.randint(1, among)):
                    await self.move(at)
                await turns(self._chance.choice(pauses))

        self._task = asyncio.create_task(run())

    async def stop(self) -> None:
        assert self._task
        self._task.cancel()
        await asyncio.wait([self._task])

    def current_since(self, vector: Vector, start: int) -> bool:
        """Whether this vector was current at some instant since there were `start` of them."""
        return vector in self.vectors[start - 1 :]


async def torn_answers(read: Read, moving: Moving) -> tuple[int, int]:
    """Of some hundred answers, how many were never current during the call, and how many were."""
    torn = sound = 0
    moving.start(among=3, pauses=(1, 2, 3, 15))
    for _ in range(400):
        start = len(moving.vectors)
        vector = await read(KEYS)
        if moving.current_since(vector, start):
            sound += 1
        else:
            torn += 1
    await moving.stop()
    return torn, sound


@pytest.mark.parametrize("seed", range(3))
async def test_no_vector_is_torn(memory: MemoryBackend, seed: int) -> None:
    """Plain reads of a database without snapshots give vectors that never were; ours do not."""
    print(f"seed {seed}")
    moving = Moving(memory, Random(seed))
    pointers = Pointers(TornBackend(memory))
    known: Vector | None = None

    async def together(keys: Sequence[PointerKey]) -> Vector:
        nonlocal known
        known = await pointers.read_together(keys, known)
        return known

    naive, _ = await torn_answers(pointers.read, moving)
    torn, sound = await torn_answers(together, moving)

    assert naive > 20
    assert (torn, sound) == (0, 400)


async def test_a_snapshot_needs_no_confirmation(memory: MemoryBackend) -> None:
    """One read, whatever is known."""
    backend = CountingBackend(memory)
    await Pointers(backend).read_together(KEYS, None)

    assert backend.calls["read_pointers"] == 1


@pytest.mark.parametrize(("moved", "reads"), [(0, 1), (1, 2), (2, 2)])
async def test_a_vector_that_is_known_needs_no_confirmation(
    memory: MemoryBackend, moved: int, reads: int
) -> None:
    """Values never repeat, so nothing changed since; one that moved is read once more."""
    backend = CountingBackend(TornBackend(memory))
    moving = Moving(memory, Random(1))
    for at in range(moved):
        await moving.move(at)

    assert await Pointers(backend).read_together(KEYS, moving.vectors[0]) == moving.vectors[-1]
    assert backend.calls["read_pointers"] == reads


@pytest.mark.parametrize("is_known", [True, False])
async def test_commits_to_one_pointer_do_not_starve_readers(
    memory: MemoryBackend, is_known: bool
) -> None:
    """However often it moves: the others stand still, so a few reads are enough."""
    backend = CountingBackend(TornBackend(memory))
    moving = Moving(memory, Random(1))
    pointers = Pointers(backend)
    moving.start(among=1)
    for _ in range(50):
        start = len(moving.vectors)
        known = moving.vectors[-1] if is_known else None
        vector = await pointers.read_together(KEYS, known)
        assert moving.current_since(vector, start)
    await moving.stop()

    assert backend.calls["read_pointers"] <= 50 * (2 if is_known else 3)


async def test_reading_together_is_bounded(memory: MemoryBackend) -> None:
    """If all pointers move all the time, the caller is told after a fixed number of reads."""
    backend = CountingBackend(TornBackend(memory))
    moving = Moving(memory, Random(1))
    for _ in range(3):
        moving.start(among=3)
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    with pytest.raises(BackendUnavailable, match="moved during 16 reads"):
        await Pointers(backend).read_together(KEYS, None)
    assert backend.calls["read_pointers"] == CONFIRMING_READS_MAX + 1
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
