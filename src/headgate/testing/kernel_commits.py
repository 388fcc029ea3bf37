"""Conformance of the committer: from any node, each change once, whole, and in order."""

import asyncio
import random
from collections import Counter as Tally
from functools import partial

import pytest

from headgate.errors import BadName, InvalidInput, PointerNotFound, PointerSealed, TooLarge
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.limits import INDEX_KEY_BYTES_MAX, INDEX_VALUE_BYTES_MAX
from headgate.testing.callers import (
    Counter,
    check_counts,
    commit,
    entries_of,
    head_of,
    log_both_ways,
    patiently,
    together,
)

CALLERS = 8
COUNTS = 30
WIDTH = 30  # entries that change together
TURNS = 25


class CommitConformance:
    """Every change that was acknowledged is there exactly once, and no other."""

    async def test_concurrent_counts_from_both_nodes_are_all_there_once(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Callers on two nodes count under one pointer; index and log agree, seen from each."""
        counters = [
            Counter((node, other_node)[number % 2], key, f"caller-{number}")
            for number in range(CALLERS)
        ]

        async def run(counter: Counter) -> None:
            for _ in range(COUNTS):
                await counter.count()

        await asyncio.gather(*map(run, counters))

        counts = {counter.name: COUNTS for counter in counters}
        await check_counts(node, key, counts)
        await check_counts(other_node, key, counts)

    async def test_a_change_is_seen_by_the_next_operation_on_the_other_node(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Two nodes take turns; each sees at once what the other was told is done."""
        for turn in range(1, TURNS):
            writer, reader = (node, other_node) if turn % 2 else (other_node, node)

            def attempt(draft: Draft, turn: int = turn) -> bytes | None:
                before = draft.index("turns").get(b"turn")
                draft.index("turns").put(b"turn", str(turn).encode())
                return before

            before = await commit(writer, key, attempt)
            seen = await entries_of(reader, key, "turns")

            assert seen == {b"turn": str(turn).encode()}
            assert before in {str(turn - 1).encode() if turn > 1 else None, seen[b"turn"]}

    async def test_no_answer_is_older_than_what_was_acknowledged(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Many readers share reads; none joins one that began before a change was acknowledged."""
        counters = [Counter(node, key, f"caller-{number}") for number in range(2)]

        async def write(counter: Counter) -> None:
            for _ in range(TURNS):
                await counter.count()

        async def read(kernel: Kernel, writing: "asyncio.Future[list[None]]") -> None:
            while not writing.done():
                told = {one.name.encode(): one.acknowledged for one in counters}
                seen = await entries_of(kernel, key, "counters")
                for name, count in told.items():
                    assert int(seen.get(name, 0)) >= count, "a stale answer"
                await asyncio.sleep(0)

        writing = asyncio.gather(*map(write, counters))
        await together(*(read(kernel, writing) for kernel in [node, other_node] * 4))
        await writing

    async def test_a_cancelled_caller_does_not_hurt_the_others(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """What a cancelled caller asked for happens whole or not at all; the others count on."""
        chance = random.Random(1)
        steady = Counter(node, key, "steady")
        restless = [Counter((node, other_node)[n % 2], key, f"restless-{n}") for n in range(4)]
        for _ in range(TURNS):
            tasks = [asyncio.create_task(counter.count()) for counter in restless]
            counting = asyncio.create_task(steady.count())
            await asyncio.sleep(chance.choice([0, 0.001, 0.005]))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await counting

        for counter in restless:
            await counter.count()  # finds out where it stands, or fails on a wrong state
        counts = {counter.name: counter.acknowledged for counter in [steady, *restless]}
        await check_counts(other_node, key, counts)
        assert counts["steady"] == TURNS

    async def test_an_attempt_that_fails_leaves_nothing(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Failing attempts share batches with good ones; only the good ones are stored."""

        class Refused(Exception):
            pass

        async def fail(number: int) -> None:
            def attempt(draft: Draft) -> None:
                draft.index("spoiled").put(str(number).encode(), b"")
                draft.mark("spoiled", number)
                raise Refused(number)

            with pytest.raises(Refused, match=str(number)):
                await commit(node, key, attempt)

        counter = Counter(node, key, "good")
        for round_ in range(TURNS):
            await asyncio.gather(fail(2 * round_), counter.count(), fail(2 * round_ + 1))

        await check_counts(other_node, key, {"good": TURNS})
        assert await entries_of(other_node, key, "spoiled") == {}
        assert (await head_of(other_node, key)).head.marks == {}

    async def test_an_attempt_that_changes_nothing_is_no_commit(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Reading, and writing what is there, leaves the pointer where it is."""
        await Counter(node, key, "one").count()
        before = (await head_of(node, key)).id

        def attempt(draft: Draft) -> bytes | None:
            draft.index("counters").put(b"one", b"1")
            draft.index("counters").remove(b"absent")
            return draft.index("counters").get(b"one")

        found = await commit(other_node, key, attempt)
        assert found == b"1"
        assert (await head_of(other_node, key)).id == before

    async def test_an_operation_is_done_once_from_any_node(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """An operation id brought again and again, on two nodes at once, has one effect."""
        operations = [f"operation {number}".encode() for number in range(8)]

        async def bring(kernel: Kernel, operation: bytes, answer: bytes) -> bytes:
            def attempt(draft: Draft) -> bytes:
                done = int(draft.index("done").get(operation) or 0)
                draft.index("done").put(operation, str(done + 1).encode())
                return answer

            handle = kernel.realm(key.realm)
            return await patiently(lambda: handle.commit(key.name, attempt, operation=operation))

        for operation in operations:
            answers = await asyncio.gather(
                bring(node, operation, b"here"),
                bring(other_node, operation, b"there"),
                bring(node, operation, b"here again"),
            )
            assert len(set(answers)) == 1
            assert await bring(other_node, operation, b"much later") == answers[0]

        assert await entries_of(node, key, "done") == dict.fromkeys(operations, b"1")
        commits = await log_both_ways(other_node, key)
        logged = Tally(group.operation for entry in commits for group in entry.groups)
        assert logged == Tally(operations)

    async def test_a_sealed_pointer_takes_no_more_commits(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Once a commit seals a pointer, every node refuses the next one, and it stays readable."""
        counter = Counter(node, key, "last")
        await counter.count()
        await commit(node, key, Draft.seal)

        for kernel in (other_node, node):
            with pytest.raises(PointerSealed):
                await Counter(kernel, key, "late").count()
        await check_counts(other_node, key, {"last": 1})

    async def test_bad_input_is_refused_and_changes_nothing(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Names that break the rules, keys and values over the limits, missing pointers."""
        handle = node.realm(key.realm)

        async def put(name: str, entry: bytes, value: bytes) -> None:
            def attempt(draft: Draft) -> None:
                draft.index("spoiled").put(b"before", b"")
                draft.index(name).put(entry, value)

            await commit(node, key, attempt)

        with pytest.raises(TooLarge):
            await put("spoiled", bytes(INDEX_KEY_BYTES_MAX + 1), b"")
        with pytest.raises(TooLarge):
            await put("spoiled", b"key", bytes(INDEX_VALUE_BYTES_MAX + 1))
        with pytest.raises(BadName):
            await put("operations", b"key", b"")
        with pytest.raises(BadName):
            await handle.heads("No Pointer Name")
        with pytest.raises(PointerNotFound):
            await commit(node, PointerKey(key.realm, "missing"), Draft.seal)
        with pytest.raises(PointerNotFound):
            await patiently(lambda: handle.heads("missing"))
        with pytest.raises(InvalidInput):
            await commit(node, key, lambda _: None, operation=bytes(129))
        assert (await head_of(other_node, key)).head.seq == 0


class AtomicityConformance:
    """A commit is seen whole or not at all, and several pointers as they were at one instant."""

    async def test_many_entries_of_one_commit_are_all_seen_or_none(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """While one node rewrites two indexes and a mark, the other never sees a mix."""

        async def write() -> None:
            for turn in range(1, TURNS + 1):
                await commit(node, key, partial(_rewrite, turn))

        async def read(writing: "asyncio.Task[None]") -> list[int]:
            seen: list[int] = []
            while not writing.done() or not seen:
                seen.append(await _one_turn(other_node, key))
                await asyncio.sleep(0)
            return seen

        writing = asyncio.create_task(write())
        readers = await together(read(writing), read(writing))
        await writing
        for seen in readers:
            assert seen == sorted(seen), "a reader went back"
        assert await _one_turn(other_node, key) == TURNS

    async def test_several_heads_are_of_one_instant(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Of pointers that are written in turn, no reader ever sees a later one ahead."""
        names = ["first", "second", "third"]
        await patiently(lambda: node.realm(key.realm).create_pointers(names))

        async def write() -> None:
            for turn in range(1, TURNS + 1):
                for name in names:
                    await commit(node, PointerKey(key.realm, name), partial(_mark, turn))

        async def read(order: list[str], writing: "asyncio.Task[None]") -> list[list[int]]:
            vectors: list[list[int]] = []
            while not writing.done() or not vectors:
                heads = await patiently(lambda: other_node.realm(key.realm).heads(*order))
                seen = dict(zip(order, heads, strict=True))
                vectors.append([seen[name].head.marks.get("turn", 0) for name in names])
                await asyncio.sleep(0)
            return vectors

        writing = asyncio.create_task(write())
        readers = await together(read(names, writing), read(names[::-1], writing))
        await writing
        for vector in [vector for vectors in readers for vector in vectors]:
            first, second, third = vector
            assert first >= second >= third >= first - 1, f"torn: {vector}"


async def _one_turn(kernel: Kernel, key: PointerKey) -> int:
    """The turn that everything in the current head is of."""
    head = await head_of(kernel, key)

    async def scan(index: str) -> list[bytes]:
        return [value async for _, value in head.index(index).scan()]

    turn = head.head.marks.get("turn", 0)
    for index in ("left", "right"):
        values = await patiently(partial(scan, index))
        assert values == ([] if turn == 0 else [_value(turn)] * WIDTH), f"a mix: {values}"
    return turn


def _rewrite(turn: int, draft: Draft) -> None:
    """Give all entries of two indexes, and a mark, the same new value."""
    for index in ("left", "right"):
        for number in range(WIDTH):
            draft.index(index).put(f"entry {number}".encode() * 8, _value(turn))
    draft.mark("turn", turn)


def _value(turn: int) -> bytes:
    return str(turn).encode() * 20


def _mark(turn: int, draft: Draft) -> None:
    draft.mark("turn", turn)
