"""PostgreSQL stops and starts under load: callers are told the truth, readers are never behind."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from itertools import count

import pytest

from headgate.errors import CommitTimedOut, HeadgateError, OutcomeUnknown, Unavailable
from headgate.kernel.commit import CommitOptions
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.records import PointerKey
from headgate.testing.callers import create_realm, log_both_ways
from headgate.testing.cut_proxy import CutProxy
from headgate.testing.nodes import make_node
from headgate.testing.postgresql import PostgresqlServer, StopMode
from tests.conftest import FULL
from tests.seeds import draw_seed

CALLERS = 16  # of each kernel
READERS = 2  # of each kernel
PAUSE_SECONDS = 0.01
PATIENT, HASTY = CommitOptions(), CommitOptions(timeout_seconds=0.7)
OUTAGES_SECONDS = (0.1, 1.5) * (10 if FULL else 2)  # both sides of the hasty timeout
RECOVERY_SECONDS_MAX = 10.0
CUTS = 500 if FULL else 60
INDEX = "changes"
TOTAL = "total"


class Load:
    """Callers and readers of two kernels, and what they were told."""

    def __init__(self, kernels: list[Kernel], key: PointerKey) -> None:
        self.told: dict[str, type[HeadgateError] | None] = {}  # None: it was made
        self.made: Counter[int] = Counter()  # by kernel
        self.reads = self.failed_reads = 0
        self._kernels = kernels
        self._key = key
        self._stopping = False

    async def run(self) -> None:
        """Go on until `stop`."""
        async with asyncio.TaskGroup() as group:
            for number in range(len(self._kernels)):
                for caller in range(CALLERS):
                    group.create_task(self._call(number, caller))
                for _ in range(READERS):
                    group.create_task(self._read(self._kernels[number]))

    def stop(self) -> None:
        """Let everybody finish what they do."""
        self._stopping = True

    async def goes_on(self) -> None:
        """Wait until every kernel has made a good number of commits more."""
        before = self.made.copy()
        async with asyncio.timeout(RECOVERY_SECONDS_MAX):
            while any(self.made[n] < before[n] + 50 for n in range(len(self._kernels))):
                await asyncio.sleep(0.01)

    async def _call(self, number: int, caller: int) -> None:
        """Make one change after the other; each is tried once, whatever the answer."""
        handle = self._kernels[number].realm(self._key.realm)
        for turn in count(1):
            if self._stopping:
                return
            change = f"{number}/{caller}/{turn}"
            try:
                await handle.commit(self._key.name, partial(_apply, change))
            except (Unavailable, OutcomeUnknown) as error:
                self.told[change] = type(error)
            else:
                self.told[change] = None
                self.made[number] += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _read(self, kernel: Kernel) -> None:
        """Read all the time; no answer is older than what was told before the question."""
        while not self._stopping:
            told = self.made.total()
            try:
                [head] = await kernel.realm(self._key.realm).heads(self._key.name)
            except Unavailable:
                self.failed_reads += 1
            else:
                self.reads += 1
                assert head.head.marks.get(TOTAL, 0) >= told, "a stale answer"
            await asyncio.sleep(PAUSE_SECONDS)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.timeout(600)
async def test_callers_are_told_the_truth_when_the_server_restarts(mode: StopMode) -> None:
    """Made changes are there once, refused ones are not, and load goes on by itself."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(PostgresqlServer())
        url = server.create_database()
        kernels = [
            await stack.enter_async_context(make_node(url, options)) for options in (PATIENT, HASTY)
        ]
        realm = await create_realm(kernels[0], "restart", "work")
        key = PointerKey(realm.id, "work")
        load = Load(kernels, key)
        running = asyncio.create_task(load.run())

        for seconds in OUTAGES_SECONDS:
            await load.goes_on()
            await outage(server, mode, seconds, load)
        await load.goes_on()
        load.stop()
        await running

        await check(kernels, key, load)
        assert CommitTimedOut in load.told.values(), "the longer outages are too long for some"


@pytest.mark.timeout(600)
async def test_callers_are_told_the_truth_when_answers_are_lost(
    postgresql_server: PostgresqlServer,
) -> None:
    """The same when the server does what it is asked and connections break before it says so."""
    chance = random.Random(draw_seed("cuts"))
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(CutProxy(postgresql_server.port))
        url = postgresql_server.create_database()
        url = url.replace(str(postgresql_server.port), str(proxy.port))
        kernels = [
            await stack.enter_async_context(make_node(url, options)) for options in (PATIENT, HASTY)
        ]
        realm = await create_realm(kernels[0], "restart", "work")
        key = PointerKey(realm.id, "work")
        load = Load(kernels, key)
        running = asyncio.create_task(load.run())

        for _ in range(CUTS):
            await asyncio.sleep(chance.uniform(0, 0.1))
            proxy.spoiled.clear()
            proxy.mode = "cut"
            await proxy.spoiled.wait()
            proxy.mode = "pass"
        await load.goes_on()
        load.stop()
        await running

        await check(kernels, key, load)


async def outage(server: PostgresqlServer, mode: StopMode, seconds: float, load: Load) -> None:
    """Stop the server for some time, in which no question is answered."""
    await asyncio.to_thread(server.stop, mode)
    await asyncio.sleep(2 * PAUSE_SECONDS)
    reads, failed, made = load.reads, load.failed_reads, load.made.total()
    await asyncio.sleep(seconds)
    assert (load.reads, load.made.total()) == (reads, made), "there was nobody to answer"
    assert load.failed_reads > failed
    await asyncio.to_thread(server.start)


async def check(kernels: list[Kernel], key: PointerKey, load: Load) -> None:
    """What was told fits what is stored, on each node."""
    print(Counter(told.__name__ if told else "made" for told in load.told.values()))
    for kernel in kernels:
        [head] = await kernel.realm(key.realm).heads(key.name)
        stored = {name.decode(): int(n) async for name, n in head.index(INDEX).scan()}
        assert Counter(_logged(await log_both_ways(kernel, key))) == stored, "not once"
        assert set(stored.values()) == {1}
        assert head.head.marks == {TOTAL: len(stored)}
        for change, told in load.told.items():
            if told is None:
                assert change in stored, f"{change} was made and is lost"
            elif told is not OutcomeUnknown:
                assert change not in stored, f"{change} was refused and is there"
        assert stored.keys() <= load.told.keys()


def _apply(change: str, draft: Draft) -> None:
    """The attempt: it counts how often this change was made."""
    name = change.encode()
    times = int(draft.index(INDEX).get(name) or 0) + 1
    draft.index(INDEX).put(name, str(times).encode())
    draft.mark(TOTAL, draft.marks.get(TOTAL, 0) + 1)
    draft.note(change)


def _logged(commits: list[Commit]) -> Iterator[str]:
    """The notes of all groups, in order."""
    for commit in commits:
        for group in commit.groups:
            yield str(group.note)
