"""Conformance of the commit log: in order both ways, from anywhere, followed without a gap."""

import asyncio
from functools import partial
from itertools import islice

import pytest

from headgate.errors import LogCut, PointerNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.records import PointerKey
from headgate.limits import TAIL_COMMITS
from headgate.testing.callers import (
    Counter,
    commit,
    entries_of,
    log_both_ways,
    logged_counts,
    patiently,
    together,
)

LENGTHS = {0, 1, 3, 19, 20, 21, 39, 40, 41}  # around the ends of tails


class LogConformance:
    """The log tells on one node what was done on the other."""

    async def test_a_log_of_any_length_is_complete_both_ways(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """With no commit, one, and numbers around the length of a head's tail."""
        counter = Counter(node, key, "one")
        for length in range(max(LENGTHS) + 1):
            if length in LENGTHS:
                commits = await log_both_ways(other_node, key)
                assert logged_counts(commits).get("one", []) == list(range(1, length + 1))
                assert len(commits) == length
            await counter.count()

    async def test_a_log_can_be_read_from_any_known_commit(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Behind each commit forwards, from each commit backwards."""
        counter = Counter(node, key, "one")
        for _ in range(2 * TAIL_COMMITS + 2):
            await counter.count()
        ids = [entry.id for entry in await log_both_ways(node, key)]

        for at in (0, 1, 3, TAIL_COMMITS - 1, TAIL_COMMITS, TAIL_COMMITS + 1, len(ids) - 1):
            forwards = await patiently(partial(_behind, other_node, key, ids[at]))
            assert [entry.id for entry in forwards] == ids[at + 1 :]
            backwards = await patiently(partial(_before, other_node, key, ids[at]))
            assert [entry.id for entry in backwards] == ids[: at + 1][::-1]

    async def test_unknown_positions_are_refused(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """An id that is no commit of this pointer, and a pointer that is not there."""
        counter = Counter(node, key, "one")
        await counter.count()

        with pytest.raises(LogCut):
            await patiently(partial(_behind, other_node, key, node.ids.next()))
        with pytest.raises(LogCut):
            await patiently(partial(_before, other_node, key, node.ids.next()))
        with pytest.raises(PointerNotFound):
            await patiently(partial(_behind, other_node, PointerKey(key.realm, "missing"), None))

    async def test_a_log_ends_where_history_was_cut(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """After a cut the kept part reads both ways, and a position before it is refused."""
        counter = Counter(other_node, key, "one")
        for _ in range(2 * TAIL_COMMITS + 5):
            await counter.count()
        commits = await log_both_ways(node, key)
        cut = len(commits) - TAIL_COMMITS - 3
        old, kept = commits[:cut], [entry.id for entry in commits[cut:]]
        await patiently(lambda: node.store.delete(key.realm, [entry.id for entry in old]))

        forwards = await patiently(partial(_behind, node, key, None))
        assert [entry.id for entry in forwards] == kept
        backwards = await patiently(partial(_before, node, key, None))
        assert [entry.id for entry in backwards] == kept[::-1]
        last_cut = await patiently(partial(_behind, node, key, old[-1].id))
        assert [entry.id for entry in last_cut] == kept, "nothing behind it is missing"
        with pytest.raises(LogCut):
            await patiently(partial(_behind, node, key, old[-2].id))
        await counter.count()
        assert await entries_of(node, key, "counters") == {b"one": str(len(commits) + 1).encode()}

    async def test_a_follower_sees_every_commit_once(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """One node polls behind the last commit it has seen while the other writes."""
        counters = [Counter(node, key, f"caller-{number}") for number in range(3)]

        async def write() -> None:
            for _ in range(25):
                await asyncio.gather(*(counter.count() for counter in counters[:2]))
                await counters[2].count()

        async def follow(most: int, writing: "asyncio.Task[None]") -> list[Commit]:
            """Each poll takes some commits at most and goes on behind the last one."""
            seen: list[Commit] = []
            while True:
                last_round = writing.done()
                after = seen[-1].id if seen else None
                news = await patiently(partial(_behind, other_node, key, after))
                seen += islice(news, most)
                if last_round and len(news) <= most:
                    return seen
                await asyncio.sleep(0)

        writing = asyncio.create_task(write())
        followers = await together(follow(1, writing), follow(1000, writing))
        await writing
        commits = await log_both_ways(node, key)
        for seen in followers:
            assert [entry.seq for entry in seen] == list(range(1, len(commits) + 1))
            assert seen == commits

    async def test_a_commit_says_what_it_changed(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Entries that were added, updated and removed, the caller's words, time and node."""

        def add_many(draft: Draft) -> None:
            for number in range(1000):
                draft.index("names").put(f"{number:04} {'x' * 40}".encode(), b"")
            draft.note({"what": "many"})

        def change(draft: Draft) -> None:
            index = draft.index("names")
            names = [name for name, _ in index.scan()]
            index.put(b"new", b"")
            index.put(names[0], b"changed")
            index.remove(names[1])

        await commit(node, key, add_many)
        [many] = await log_both_ways(other_node, key)
        assert many.node == node.ids.node
        assert [group.note for group in many.groups] == [{"what": "many"}]
        assert {entry.kind for entry in many.groups[0].entries} == {"added"}
        assert len(many.groups[0].entries) == 1000

        await commit(other_node, key, change)
        [_, changed] = await log_both_ways(node, key)
        assert changed.node == other_node.ids.node
        assert [entry.kind for entry in changed.groups[0].entries] == [
            "added",
            "updated",
            "removed",
        ]


async def _behind(kernel: Kernel, key: PointerKey, after: int | None) -> list[Commit]:
    return [entry async for entry in kernel.log.oldest_first(key, after)]


async def _before(kernel: Kernel, key: PointerKey, start: int | None) -> list[Commit]:
    return [entry async for entry in kernel.log.newest_first(key, start)]
