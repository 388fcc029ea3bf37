"""Writers are killed at random moments: what they were told is there, and nothing by half."""

import asyncio
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.objects import Foreign
from headgate.kernel.records import PointerKey
from headgate.testing.callers import log_both_ways, logged_counts
from headgate.testing.crash_writer import POINTER, State, content, read_state
from headgate.testing.nodes import make_node
from headgate.testing.postgresql import PostgresqlServer
from tests.acceptance.processes import Program
from tests.conftest import FULL
from tests.seeds import draw_seed

KILLS = 50 if FULL else 8
CALLERS = 6
STARTING_EACH = 3  # kills: such a one comes before the first commit, or about then
STARTING_SECONDS = 0.5
WORKING_SECONDS = 0.4
PAIR_SHARE = 0.3  # of rounds: two writers at once
WHOLE_LOG_EACH = 10  # rounds; in between, what is new in it


class Ledger:
    """What all writers were told so far, and how far the store was checked against it."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.told: dict[str, int] = {}
        self.killed_nodes: list[int] = []
        self.commits = 0
        self._stored: dict[str, int] = {}
        self._seen: Commit | None = None

    def note(self, lines: list[str]) -> None:
        """Take down what a writer said before it was killed."""
        for line in lines:
            who, _, number = line.partition(" ")
            if who == "node":
                self.killed_nodes.append(int(number))
            else:
                assert int(number) == self.told.get(who, self._stored.get(who, 0)) + 1, line
                self.told[who] = int(number)

    async def check(self, *, whole: bool) -> None:
        """Open the store anew and compare it with what was told."""
        async with make_node(self.store) as kernel:
            assert kernel.ids.node not in self.killed_nodes, "it is leased for some minutes more"
            assert len(set(self.killed_nodes)) == len(self.killed_nodes)
            state = await read_state(kernel)
            if state is None:
                assert self.told == {}
                return
            stored = self._check_counts(state)
            await self._check_contents(kernel, state, stored)
            await self._check_news(kernel, state, stored)
            if whole:
                await self._check_everything(kernel, state)
            self._stored = stored
            self.told = dict(stored)  # a writer goes on from what is stored

    def _check_counts(self, state: State) -> dict[str, int]:
        """Each caller's last count is there, or the next, whose answer it did not live to see."""
        stored = state.latest[0]
        assert state.latest == [stored] * len(state.latest), "half a commit"
        for caller in self.told | stored:
            told = self.told.get(caller, 0)
            assert told <= stored.get(caller, 0) <= told + 1, caller
        return stored

    async def _check_contents(self, kernel: Kernel, state: State, stored: dict[str, int]) -> None:
        """Every count has its object, and the new ones are read."""
        everything = {(who, n) for who, last in stored.items() for n in range(1, last + 1)}
        assert state.history.keys() == everything
        for (who, number), id in state.history.items():
            if number > self._stored.get(who, 0):
                found = await kernel.store.get(state.head.realm, id, Foreign)
                assert found == content(who, number)

    async def _check_news(self, kernel: Kernel, state: State, stored: dict[str, int]) -> None:
        """The log goes on from where it was, without a gap, and shows each count once."""
        key = PointerKey(state.head.realm, POINTER)
        after = self._seen.id if self._seen else None
        news = [commit async for commit in kernel.log.oldest_first(key, after)]
        first = self._seen.seq + 1 if self._seen else 1
        assert [commit.seq for commit in news] == list(range(first, first + len(news)))
        assert logged_counts(news) == {
            who: list(range(self._stored.get(who, 0) + 1, last + 1))
            for who, last in stored.items()
            if last > self._stored.get(who, 0)
        }
        self._seen = news[-1] if news else self._seen
        self.commits = self._seen.seq if self._seen else 0

    async def _check_everything(self, kernel: Kernel, state: State) -> None:
        """The whole log both ways; all rows are readable, and no head is there that it lacks."""
        realm = state.head.realm
        commits = await log_both_ways(kernel, PointerKey(realm, POINTER))
        types = {
            row.id: row.type
            async for batch in kernel.backend.scan_rows()
            for row in batch
            if row.realm == realm
        }
        assert (await kernel.store.fetch(realm, types)).keys() == types.keys()
        heads = {id for id, type in types.items() if type == "head"}
        assert heads == {commit.id for commit in commits}


@pytest.fixture(name="store")
def _store(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if database == "sqlite":
        return str(tmp_path / "store.db")
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    return server.create_database()


@pytest.mark.timeout(900)
def test_no_kill_loses_or_halves_a_commit(store: str) -> None:
    """After each kill the store opens, holds all that was acknowledged, and only whole commits."""
    chance = random.Random(draw_seed("kills"))
    ledger = Ledger(store)
    kills = early = 0
    while kills < KILLS:
        writers = 2 if kills < KILLS - 1 and chance.random() < PAIR_SHARE else 1
        said = kill_writers(store, writers, chance, starting=kills % STARTING_EACH == 0)
        for lines in said:
            ledger.note(lines)
        kills += writers
        early += sum(len(lines) < 2 for lines in said)
        asyncio.run(ledger.check(whole=kills % WHOLE_LOG_EACH == 0 or kills == KILLS))

    print(f"{kills} kills, {early} before a commit; {ledger.commits} commits", ledger.told)
    assert ledger.commits > KILLS


def test_a_killed_peer_does_not_stop_the_others(store: str) -> None:
    """While others are killed a writer goes on, on the same file or server, without an error."""
    chance = random.Random(draw_seed("kills"))
    ledger = Ledger(store)
    with Program("crash_writer", store, "survivor", CALLERS) as survivor:
        survivor.wait_for_lines(2)
        for round_ in range(KILLS // 3):
            with Program("crash_writer", store, f"victim-{round_}", CALLERS) as victim:
                victim.wait_for_lines(2)
                time.sleep(chance.uniform(0, WORKING_SECONDS))
                victim.kill()
                ledger.note(victim.lines)
            survivor.wait_for_lines(len(survivor.lines) + 5 * CALLERS)
        survivor.end()
        ledger.note(survivor.lines)

    asyncio.run(ledger.check(whole=True))


def kill_writers(
    store: str, count: int, chance: random.Random, *, starting: bool
) -> list[list[str]]:
    """Start writers, kill each at an instant of its own; what they said."""
    with ExitStack() as stack:
        writers = [
            stack.enter_context(Program("crash_writer", store, f"writer-{number}", CALLERS))
            for number in range(count)
        ]
        for writer in writers:
            if starting:
                time.sleep(chance.uniform(0, STARTING_SECONDS))
            else:
                writer.wait_for_lines(2)
                time.sleep(chance.uniform(0, WORKING_SECONDS))
            writer.kill()
    return [writer.lines for writer in writers]
