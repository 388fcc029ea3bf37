"""What the port says about nodes side by side: one winner, no torn read, no stale answer."""

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine, Iterator

import pytest

from headgate.errors import OutcomeUnknown
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Swap
from headgate.testing.histories import Recorder, race
from headgate.testing.linearizability import check
from headgate.testing.row_conformance import immutable, versioned

RACERS = 8
WINS = 10  # per racer
ROUNDS = 40
KEYS_BETWEEN = 300  # in one batch: more than a backend might put into one statement


class RaceConformance:
    """Conditional verbs under contention: racers are spread over two nodes."""

    async def test_swaps_that_won_are_the_growth_of_the_chain(
        self, backend: Backend, second: Backend, key: PointerKey
    ) -> None:
        """Each commit counts one up from the one it replaced: no win is lost, none invented."""
        ids = itertools.count(1)

        async def attempt(node: Backend) -> bool:
            [head] = await node.read_pointers([key])
            assert head is not None
            rows = await node.fetch(key.realm, [head])
            length = int(rows[0].value) if head else 0
            await asyncio.sleep(0)
            new = next(ids)
            row = immutable(key.realm, new, str(length + 1).encode())
            return await node.commit([row], Swap(key, head, new)) is Outcome.APPLIED

        await _race([backend, second], attempt)
        [head] = await second.read_pointers([key])
        [row] = await second.fetch(key.realm, [head or 0])
        assert int(row.value) == RACERS * WINS

    async def test_updates_that_won_are_the_growth_of_the_row(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Each update counts one up from the version it replaced."""
        versions = itertools.count(2)
        await backend.insert(versioned(realm, 1, 1, b"0"))

        async def attempt(node: Backend) -> bool:
            [row] = await node.fetch(realm, [1])
            await asyncio.sleep(0)
            value = str(int(row.value) + 1).encode()
            new = versioned(realm, 1, next(versions), value)
            return await node.update(new, row.version) is Outcome.APPLIED

        await _race([backend, second], attempt)
        [row] = await second.fetch(realm, [1])
        assert int(row.value) == RACERS * WINS

    async def test_an_insert_has_exactly_one_winner(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Of all racers one gets the row, and what is stored is the winner's."""
        for id in range(1, ROUNDS + 1):
            rows = [versioned(realm, id, racer + 1) for racer in range(RACERS)]
            outcomes = await asyncio.gather(
                *((backend, second)[row.version % 2].insert(row) for row in rows)
            )

            won = [
                row
                for row, outcome in zip(rows, outcomes, strict=True)
                if outcome is Outcome.APPLIED
            ]
            assert await backend.fetch(realm, [id]) == won

    async def test_a_remove_has_exactly_one_winner(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Of a remove and an update from the same version only one is APPLIED."""
        for id in range(1, ROUNDS + 1):
            await backend.insert(versioned(realm, id, 1))
            outcomes = await asyncio.gather(
                backend.remove(realm, id, 1),
                second.update(versioned(realm, id, 2), 1),
                second.remove(realm, id, 1),
                backend.update(versioned(realm, id, 3), 1),
            )

            assert sorted(outcome.name for outcome in outcomes) == ["APPLIED"] + 3 * ["LOST"]
            updated = outcomes[1] is Outcome.APPLIED or outcomes[3] is Outcome.APPLIED
            assert len(await second.fetch(realm, [id])) == updated

    async def test_creating_a_pointer_never_resets_it(
        self, backend: Backend, second: Backend, key: PointerKey
    ) -> None:
        """Nodes that make sure of a pointer do not disturb those that swap it."""
        for value in range(ROUNDS):
            _, outcome, _ = await asyncio.gather(
                second.create_pointers(key.realm, [key.name, f"other {value}"]),
                backend.commit([], Swap(key, value, value + 1)),
                second.create_pointers(key.realm, [f"other {value}", key.name]),
            )

            assert outcome is Outcome.APPLIED
        assert await second.read_pointers([key]) == [ROUNDS]

    async def test_the_same_rows_may_be_written_at_once(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Writers of the same rows in different order neither fail nor wait for each other."""
        rows = [immutable(realm, id) for id in range(1, 201)]
        for _ in range(5):
            await asyncio.gather(
                *(backend.write(rows) for _ in range(4)),
                *(second.write(rows[::-1]) for _ in range(4)),
            )
            assert len(await backend.fetch(realm, range(1, 65))) == 64
            await asyncio.gather(
                backend.delete(realm, range(1, 201)), second.delete(realm, range(200, 0, -1))
            )
            assert await backend.fetch(realm, range(1, 65)) == []

    @pytest.mark.parametrize("seed", range(3))
    async def test_every_history_is_linearizable(
        self, backend: Backend, second: Backend, key: PointerKey, seed: int
    ) -> None:
        """Random reads and swaps on two nodes are explained by one pointer."""
        recorder = await race([backend, second], key, seed=seed)

        assert check(recorder.history) is None

    async def test_cancelled_callers_do_no_harm(
        self, backend: Backend, second: Backend, key: PointerKey
    ) -> None:
        """What was asked may happen or not; everybody else goes on."""
        chance = random.Random(1)
        recorder = Recorder(key)
        values = itertools.count(1)
        for number in range(ROUNDS):
            head = await recorder.read(0, second)
            row = versioned(key.realm, number + 1, 1)
            calls: list[Coroutine[object, object, object]] = [
                recorder.swap(1, backend, head, next(values)),
                recorder.swap(2, backend, head, next(values)),
                recorder.read(3, backend),
                backend.insert(row),
                backend.fetch(key.realm, [number]),
                _first_batch(backend),
            ]
            tasks = [asyncio.create_task(call) for call in calls]
            await asyncio.wait(tasks, timeout=chance.choice([0, 0.0003, 0.002]))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(error) for error in map(_error, tasks)} <= {type(None), OutcomeUnknown}

            await _swap_somehow(recorder, backend, values)
        assert check(recorder.history) is None


class VisibilityConformance:
    """Reads see every write acknowledged before they began, on any node."""

    async def test_the_port_is_described(self, backend: Backend) -> None:
        """A backend has a name and says whether its batched reads are snapshots."""
        assert backend.name
        assert isinstance(backend.snapshot_reads, bool)

    async def test_an_acknowledged_swap_is_seen_by_the_next_read(
        self, backend: Backend, second: Backend, key: PointerKey
    ) -> None:
        """Also while other reads are under way: none is shared that began before the swap."""
        done = asyncio.Event()

        async def read_on(node: Backend) -> None:
            while not done.is_set():
                await node.read_pointers([key])
                await asyncio.sleep(0)

        noise = [asyncio.create_task(read_on(node)) for node in [backend, second] * 4]
        for value in range(2 * ROUNDS):
            writer, reader = (backend, second) if value % 2 else (second, backend)
            await writer.commit([], Swap(key, value, value + 1))
            nodes = [reader, writer, reader]
            seen = await asyncio.gather(*(node.read_pointers([key]) for node in nodes))
            assert seen == [[value + 1]] * 3
        done.set()
        await asyncio.gather(*noise)

    async def test_acknowledged_rows_are_seen_by_the_next_fetch(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Writes, inserts, updates and deletions on one node are seen on the other."""
        for id in range(1, ROUNDS, 2):
            writer, reader = (backend, second) if id % 4 == 1 else (second, backend)
            assert await reader.fetch(realm, [id, id + 1]) == []
            await writer.write([immutable(realm, id)])
            await writer.insert(versioned(realm, id + 1, 1))
            assert len(await reader.fetch(realm, [id, id + 1])) == 2
            await writer.update(versioned(realm, id + 1, 2), 1)
            assert await reader.fetch(realm, [id + 1]) == [versioned(realm, id + 1, 2)]
            await writer.remove(realm, id + 1, 2)
            await writer.delete(realm, [id])
            assert await reader.fetch(realm, [id, id + 1]) == []

    async def test_who_sees_the_pointer_sees_the_rows(
        self, backend: Backend, second: Backend, key: PointerKey
    ) -> None:
        """From the moment at which a commit can be seen, all its rows can be fetched."""
        last = 4 * ROUNDS

        async def write() -> None:
            for value in range(0, last, 4):
                rows = [immutable(key.realm, value + part) for part in range(1, 5)]
                assert await backend.commit(rows, Swap(key, value, value + 4)) is Outcome.APPLIED
                await asyncio.sleep(0)

        async def read() -> None:
            value = EMPTY
            while value < last:
                value = (await second.read_pointers([key]))[0] or EMPTY
                if value:
                    rows = await second.fetch(key.realm, range(value - 3, value + 1))
                    assert len(rows) == 4
                await asyncio.sleep(0)

        await asyncio.gather(write(), read(), read())

    async def test_a_snapshot_is_never_torn(
        self, backend: Backend, second: Backend, realm: str
    ) -> None:
        """Pointers that are swapped in turn, a then b, are never seen with b ahead of a."""
        a, b = PointerKey(realm, "a"), PointerKey(realm, "b")
        await backend.create_pointers(realm, ["a", "b"])
        vectors: list[tuple[int, int]] = []
        chance = random.Random(1)

        async def write() -> None:
            for value in range(2 * ROUNDS):
                for key in (a, b):
                    assert await backend.commit([], Swap(key, value, value + 1)) is Outcome.APPLIED
                    if chance.random() < 0.3:  # never in step with the readers
                        await asyncio.sleep(0)

        async def read(keys: list[PointerKey]) -> None:
            while not vectors or vectors[-1] != (2 * ROUNDS, 2 * ROUNDS):
                found = dict(zip(keys, await second.read_pointers(keys), strict=True))
                vectors.append((found[a] or 0, found[b] or 0))
                await asyncio.sleep(0)

        between = [PointerKey(realm, str(number)) for number in range(KEYS_BETWEEN)]
        await asyncio.gather(
            write(), read([a, b]), read([b, a]), read([a, *between, b]), read([b, *between, a])
        )
        torn = [(first, then) for first, then in vectors if not then <= first <= then + 1]
        assert torn == [] or not second.snapshot_reads


async def _race(
    nodes: list[Backend], attempt: Callable[[Backend], Coroutine[None, None, bool]]
) -> None:
    """Let racers attempt until each of them has won often enough."""

    async def racer(node: Backend) -> None:
        wins = 0
        while wins < WINS:
            wins += await attempt(node)

    await asyncio.gather(*(racer(nodes[number % len(nodes)]) for number in range(RACERS)))


async def _swap_somehow(recorder: Recorder, backend: Backend, values: Iterator[int]) -> None:
    """Swap against those cancelled swaps that may still land."""
    while True:
        head = await recorder.read(4, backend)
        if await recorder.swap(4, backend, head, next(values)) is Outcome.APPLIED:
            return


async def _first_batch(backend: Backend) -> None:
    async for _ in backend.scan_rows():
        pass


def _error(task: "asyncio.Task[object]") -> BaseException | None:
    return None if task.cancelled() else task.exception()
