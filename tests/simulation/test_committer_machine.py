"""The committer against a plain model: two nodes, any faults, a tiny cache, answers that get lost.

Every change carries its own number as its note. So the log tells which changes were made and in
which order; a dictionary that follows it must give the same contents and the same answers.
"""

import asyncio
from typing import NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from headgate.errors import CommitTimedOut, Conflict, OutcomeUnknown
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.log import Commit
from headgate.kernel.records import PointerKey
from headgate.testing.faults import Fault, Faults
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    entries,
    reachable_pages,
    snapshot,
    turns,
)

RATES = {
    "lost_before": 0.05,
    "lost_after": 0.05,
    "late": 0.05,
    "duplicate": 0.05,
    "delay": 0.2,
    "unavailable": 0.05,
}
CACHE_BYTES = 4_000
VALUE_BYTES = 250  # so that thirty entries need pages of their own
SILENCE = 80  # lost answers in a row: more than the timeout can bear


class Change(NamedTuple):
    """What one caller wants; its answer is the value before."""

    number: int
    key: bytes
    adds: bool
    fails: bool
    operation: bytes

    @property
    def value(self) -> bytes:
        return b"%d" % self.number + b"." * VALUE_BYTES

    def attempt(self, draft: Draft) -> bytes:
        before = draft.index(INDEX).get(self.key) or b""
        draft.note(self.number)
        draft.mark("last", self.number)
        if self.adds:
            draft.index(INDEX).put(self.key, self.value)
        else:
            draft.index(INDEX).remove(self.key)
        if self.fails:
            raise Conflict(f"change {self.number}", why="a test", fix="none")
        return before[:20]

    def apply(self, model: dict[bytes, bytes]) -> bytes:
        before = model.pop(self.key, b"")
        if self.adds:
            model[self.key] = self.value
        return before[:20]


class Wish(NamedTuple):
    """A change as it is drawn."""

    node: int
    key: int
    adds: bool
    fails: bool
    repeatable: bool


wishes = st.builds(
    Wish,
    node=st.integers(0, 1),
    key=st.integers(0, 40),
    adds=st.sampled_from([True, True, False]),
    fails=st.sampled_from([False, False, False, True]),
    repeatable=st.booleans(),
)


class CommitterMachine(RuleBasedStateMachine):
    """Two nodes on one pointer."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.changes: list[Change] = []
        self.answers: dict[int, bytes | Exception] = {}
        self.rig: Rig
        self.key: PointerKey

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        print(f"faults: seed {seed}")
        self.rig = Rig(Faults(seed, **RATES))
        self.rig.faults.active = False
        self.runner.run(self._open())
        self.rig.faults.active = True

    async def _open(self) -> None:
        for _ in range(2):
            await self.rig.open(cache_bytes=CACHE_BYTES, commit=CommitOptions(batch_attempts=4))
        realm = await self.rig.kernels[0].realms.create("acme")
        self.key = PointerKey(realm.id, POINTER)

    @rule(wanted=st.lists(wishes, min_size=1, max_size=10))
    def commit(self, wanted: list[Wish]) -> None:
        """Several callers on both nodes at once."""
        brought = [(wish.node, self._change(wish)) for wish in wanted]
        self.runner.run(self._bring(brought))

    @precondition(lambda self: any(change.operation for change in self.changes))
    @rule(data=st.data(), node=st.integers(0, 1), times=st.integers(1, 3))
    def repeat(self, data: st.DataObject, node: int, times: int) -> None:
        """A caller sends an operation again, because it did not hear or did not listen."""
        known = [change for change in self.changes if change.operation and not change.fails]
        if known:
            change = data.draw(st.sampled_from(known))
            self.runner.run(self._bring([(node, change)] * times))

    @rule(wanted=st.lists(wishes, min_size=1, max_size=4), fault=st.sampled_from(list(Fault)[:2]))
    def lose_all_answers(self, wanted: list[Wish], fault: Fault) -> None:
        """The database is silent until the timeout."""
        for _ in range(SILENCE):
            self.rig.faults.schedule("commit", fault)
        self.commit(wanted)
        while self.rig.faults._scheduled["commit"]:
            self.rig.faults.draw("commit")

    @rule(node=st.integers(0, 1))
    def restart(self, node: int) -> None:
        """A node goes and comes back with an empty cache."""
        self.rig.faults.active = False
        self.runner.run(self._restart(node))
        self.rig.faults.active = True

    @rule()
    def settle(self) -> None:
        """Late writes land, and all is compared."""
        self.runner.run(self._compare())

    def teardown(self) -> None:
        if hasattr(self, "key"):
            self.runner.run(self._compare())
            self.runner.run(self._close())
        self.runner.close()

    def _change(self, wish: Wish) -> Change:
        number = len(self.changes) + 1
        operation = b"op-%d" % number if wish.repeatable else b""
        change = Change(number, b"%02d" % wish.key, wish.adds, wish.fails, operation)
        self.changes.append(change)
        return change

    async def _bring(self, brought: list[tuple[int, Change]]) -> None:
        answers = await asyncio.gather(
            *(self._answer(node, change) for node, change in brought), return_exceptions=True
        )
        for (_, change), answer in zip(brought, answers, strict=True):
            self._remember(change, answer)

    async def _answer(self, node: int, change: Change) -> bytes:
        realm = self.rig.kernels[node].realm(self.key.realm)
        return await realm.commit(POINTER, change.attempt, operation=change.operation)

    def _remember(self, change: Change, answer: bytes | BaseException) -> None:
        """The first certain answer counts; every later one must be the same."""
        if isinstance(answer, BaseException):
            assert isinstance(answer, (Conflict, CommitTimedOut, OutcomeUnknown)), answer
            assert isinstance(answer, Conflict) <= change.fails
            if not isinstance(self.answers.get(change.number), (bytes, OutcomeUnknown)):
                self.answers[change.number] = answer
            return
        first = self.answers.get(change.number, answer)
        assert isinstance(first, Exception) or first == answer
        self.answers[change.number] = answer

    async def _restart(self, node: int) -> None:
        await self.rig.kernels[node].close()
        replacement = await self.rig.open(
            cache_bytes=CACHE_BYTES, commit=CommitOptions(batch_attempts=4)
        )
        self.rig.kernels.remove(replacement)
        self.rig.kernels[node] = replacement

    async def _compare(self) -> None:
        self.rig.faults.active = False
        await turns(20)
        await self.rig.faults.settle()
        commits = await self._both_ways()
        self._check_answers(commits)
        await self._check_contents(commits)
        await self._check_pages(commits)
        self.rig.faults.active = True

    async def _both_ways(self) -> list[Commit]:
        first, second = (kernel.log for kernel in self.rig.kernels)
        commits = [commit async for commit in first.oldest_first(self.key)]
        backwards = [commit async for commit in second.newest_first(self.key)]

        assert commits == backwards[::-1]
        assert [commit.seq for commit in commits] == list(range(1, len(commits) + 1))
        return commits

    def _check_answers(self, commits: list[Commit]) -> None:
        """Who was told so is in the log once, with the answer of its place; who failed is not."""
        made = _numbers(commits)
        model: dict[bytes, bytes] = {}
        assert len(made) == len(set(made))
        for number in made:
            expected = self.changes[number - 1].apply(model)
            answer = self.answers[number]
            assert isinstance(answer, OutcomeUnknown) or answer == expected
        for number, answer in self.answers.items():
            if isinstance(answer, (Conflict, CommitTimedOut)):
                assert number not in made
            if isinstance(answer, bytes):
                assert number in made

    async def _check_contents(self, commits: list[Commit]) -> None:
        model: dict[bytes, bytes] = {}
        made = _numbers(commits)
        for number in made:
            self.changes[number - 1].apply(model)
        for kernel in self.rig.kernels:
            realm = kernel.realm(self.key.realm)
            [head] = await realm.heads(POINTER)
            assert await entries(realm) == model
            assert head.head.marks.get("last", 0) == (made[-1] if made else 0)

    async def _check_pages(self, commits: list[Commit]) -> None:
        """Every stored page is in use or was replaced, one of both; losers left nothing."""
        stored = await snapshot(self.rig.memory)
        replaced = [id for commit in commits for id in commit.replaced]
        used = []
        if commits:
            used = await reachable_pages(self.rig.kernels[0], self.key.realm, commits[-1].id)
        together = replaced + used

        assert len(together) == len(set(together))
        assert set(together) == stored.ids(self.key.realm, "page")
        assert stored.ids(self.key.realm, "head") == {commit.id for commit in commits}

    async def _close(self) -> None:
        self.rig.faults.active = False
        for kernel in self.rig.kernels:
            await kernel.close()


def _numbers(commits: list[Commit]) -> list[int]:
    """The numbers of the changes in the log, in order."""
    numbers = []
    for commit in commits:
        for group in commit.groups:
            assert isinstance(group.note, int)
            numbers.append(group.note)
    return numbers


TestCommitterMachine = pytest.mark.timeout(1_800)(CommitterMachine.TestCase)  # for shrinking
TestCommitterMachine.__doc__ = "Commits do what one dictionary does, each exactly once."
