"""`headgate maintenance`: what it does, what it shows, and how it says no."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from headgate.cli.main import run
from headgate.cli.maintenance import described
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.system import SYSTEM_REALM
from headgate.maintenance.lease import LEASE_ROW, RunLease
from headgate.maintenance.runs import Counts, Run, begin_run
from headgate.maintenance.service import Terms
from headgate.maintenance.views import RunView, State
from tests.unit.catalog.lakes import commit, set_properties
from tests.unit.cli.stores import opened_store

Output = pytest.CaptureFixture[str]
T = TypeVar("T")


class Shop:
    """A store with a table, and commands on it."""

    def __init__(self, folder: Path, capsys: Output) -> None:
        self.folder = folder
        self._capsys = capsys

    def change_a_table(self, times: int) -> None:
        """Let its state be replaced so often."""

        async def make() -> None:
            async with opened_store(self.folder) as node:
                await node.table()
                for n in range(times):
                    body = commit([set_properties(n=str(n))])
                    await node.made("namespaces/a/tables/t", body)

        asyncio.run(make())

    def do(self, work: Callable[[Kernel], Awaitable[T]]) -> T:
        """Do something with the store."""

        async def done() -> T:
            async with opened_store(self.folder) as node:
                return await work(node.kernel)

        return asyncio.run(done())

    def run(self, *arguments: str, code: int = 0) -> str:
        """All that a command says; it must end with this code."""
        ended = run(["maintenance", *arguments, "--data", str(self.folder)])
        said = self._capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code))


@pytest.fixture
def shop(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """What is lost is old at once."""
    monkeypatch.setattr("headgate.cli.maintenance.maintenance_terms", lambda _: Terms(0, 0))
    return Shop(tmp_path / "data", capsys)


def test_a_store_is_swept_and_that_is_told(shop: Shop) -> None:
    """With all its numbers; afterwards nothing is left to be deleted."""
    shop.change_a_table(5)
    dry = shop.json("run", "--dry-run")
    planned = shop.run("run", "--dry-run").splitlines()
    wet = shop.json("run")
    said = shop.run("run").splitlines()

    assert dry["dry-run"]
    assert wet["counts"]["rows-deleted"] == dry["counts"]["rows-deleted"] == 5
    assert wet["state"] == "DONE"
    assert said[1] == "state       DONE"
    assert said[-1] == "deleted     0 rows, 0 pointers"
    assert planned[0].endswith(", dry run")
    assert planned[-1] == "to delete   5 rows, 0 pointers"


def test_rows_that_are_too_young_are_not_said_to_be_out_of_use() -> None:
    """Nobody has looked whether they are."""
    counts = Counts(marked=182, scanned=1_310, young=310, live=999, left=1)
    lines = described(RunView("7", State.DONE, "ann", "process", 5, 6, 0, False, "", counts, ()))

    assert lines[5:8] == [
        "objects     182 are referred to",
        "rows        1,310 scanned: 310 too young to be judged,",
        "            999 older ones in use, 1 of other realms or types",
    ]


def test_runs_are_listed_the_newest_first(shop: Shop) -> None:
    """For people and for scripts."""
    shop.change_a_table(1)
    assert shop.run("log") == "The store was never swept.\n"
    ids = [shop.json("run", *words)["id"] for words in ([], ["--dry-run"])]
    heading, newest, oldest = shop.run("log").splitlines()

    assert heading.split()[:4] == ["ID", "STARTED", "SECONDS", "STATE"]
    assert newest.split()[0] == ids[1]
    assert "(dry)" in newest
    assert oldest.split()[0] == ids[0]
    assert [one["id"] for one in shop.json("log")] == ids[::-1]


def test_what_goes_on_and_what_was_is_shown(shop: Shop) -> None:
    """One that was killed is shown as the last one."""
    shop.change_a_table(1)
    assert shop.run("status") == "No sweep is under way.\n"
    done = shop.json("run")["id"]

    async def begin(kernel: Kernel) -> int:
        id = kernel.ids.next()
        await begin_run(kernel, id, Run("ann", "spark", 5, 0))
        row = RunLease(id, "host:7", "scanning", Counts(scanned=1_234))
        await kernel.store.insert(SYSTEM_REALM, LEASE_ROW, row, 1)
        return id

    id = shop.do(begin)
    said = shop.run("status")
    assert said.startswith("A sweep is under way, by host:7:\n")
    assert f"run         {id}\nstate       RUNNING, scanning\n" in said
    assert "1,234 scanned" in said
    assert f"The last one:\nrun         {done}\n" in said
    assert shop.json("status")["running"]["counts"]["scanned"] == 1_234


def test_realms_can_be_named(shop: Shop) -> None:
    """What is not done ends with 1, and says why."""
    shop.change_a_table(1)

    async def purging(kernel: Kernel) -> str:
        realm = await kernel.realms.reserve("gone")
        await kernel.realms.move(realm.id, RealmState.PURGING)
        return realm.id

    shop.do(purging)
    assert shop.json("run", "--sweep", "default")["counts"]["realms"] == 1
    said = shop.run("run", "--purge", "gone", "--purge", "default", code=1)
    assert "left alone  realm 'default' is not purged: it is ACTIVE" in said
    assert "1 purged" in said
    assert "realm 'nowhere' does not exist" in shop.run("run", "--sweep", "nowhere", code=1)


def test_without_a_store_nothing_is_swept(tmp_path: Path, capsys: Output) -> None:
    """None is made."""
    shop = Shop(tmp_path / "nothing", capsys)

    for words in (["run"], ["status"], ["log"]):
        assert "there is no store" in shop.run(*words, code=1)


def test_a_group_without_a_command_shows_its_help(capsys: Output) -> None:
    """As all groups do."""
    assert run(["maintenance"]) == 0
    assert "status" in capsys.readouterr().out
