"""Processes commit to one pointer: nobody fails or waits in vain, and the log tells it all."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.testing.callers import check_counts, create_realm, log_both_ways
from headgate.testing.commit_worker import Report
from headgate.testing.nodes import make_node
from headgate.testing.postgresql import PostgresqlServer
from tests.acceptance.processes import Program
from tests.conftest import FULL

SECONDS_MAX = 1200.0


class Campaign(NamedTuple):
    """So many processes, each with so many commits of so many callers at a time."""

    processes: int
    commits: int
    callers: int

    def shown(self) -> str:
        return f"{self.processes}x{self.commits}by{self.callers}"


QUICK = [Campaign(1, 3000, 1), Campaign(3, 2000, 4)]
LONG = [Campaign(3, 2000, 1), Campaign(3, 20_000, 16), Campaign(6, 6000, 8)]


@pytest.fixture(name="store")
def _store(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if database == "sqlite":
        return str(tmp_path / "store.db")
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    return server.create_database()


@pytest.mark.timeout(SECONDS_MAX)
@pytest.mark.parametrize("campaign", [*QUICK, *LONG] if FULL else QUICK, ids=Campaign.shown)
def test_every_commit_of_every_process_is_in_the_log_once(store: str, campaign: Campaign) -> None:
    """No failure, no timeout, and the log has each caller's counts without a gap, both ways."""
    key = asyncio.run(_prepare(store))
    each = campaign.commits // campaign.callers
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                Program("commit_worker", store, *key, f"process-{n}", campaign.callers, each)
            )
            for n in range(campaign.processes)
        ]
        for worker in workers:
            worker.wait_for_lines(1)
        for worker in workers:
            worker.tell("go")
        for worker in workers:
            worker.wait_for_lines(2, SECONDS_MAX)
            worker.end()
        reports = [msgspec.json.decode(worker.lines[1], type=Report) for worker in workers]

    print(*reports, sep="\n")
    counts = {name: count for report in reports for name, count in report.counts.items()}
    assert sum(counts.values()) == campaign.processes * campaign.commits
    assert [report.timed_out for report in reports] == [0] * campaign.processes
    asyncio.run(_check(store, key, counts, reports))


async def _prepare(store: str) -> PointerKey:
    async with make_node(store) as kernel:
        realm = await create_realm(kernel, "correctness", "work")
        return PointerKey(realm.id, "work")


async def _check(
    store: str, key: PointerKey, counts: dict[str, int], reports: list[Report]
) -> None:
    kernel: Kernel
    async with make_node(store) as kernel:
        await check_counts(kernel, key, counts)
        commits = await log_both_ways(kernel, key)
        assert len(commits) <= sum(report.swaps - report.lost for report in reports)
        assert len({commit.node for commit in commits}) == len(reports)
