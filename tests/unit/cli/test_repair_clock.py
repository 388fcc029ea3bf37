"""`headgate maintenance repair-clock`: what it shows, what it does, and how it says no."""

import asyncio
import json
from pathlib import Path

import pytest

from headgate.catalog.identities import IDENTITIES_KEY, create_identities
from headgate.catalog.identity_users import vouch_for
from headgate.cli import repair_clock
from headgate.cli.main import run
from headgate.clock import NS_PER_MS, SystemClock
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Output = pytest.CaptureFixture[str]
YEAR_MS = 365 * 86_400_000


class EarlyClock(SystemClock):
    """The clock of a machine that is a year ahead."""

    def _machine(self) -> tuple[int, int]:
        wall_ns, stopwatch_ns = super()._machine()
        return wall_ns + YEAR_MS * NS_PER_MS, stopwatch_ns


class Shop:
    """A store, and commands on it."""

    def __init__(self, folder: Path, output: Output) -> None:
        self.folder = folder
        self._output = output

    def run(self, *arguments: str, code: int = 0) -> str:
        """All that a command says; it must end with this code."""
        ended = run([*arguments, "--data", str(self.folder)])
        said = self._output.readouterr()
        assert ended == code, said
        return said.out + said.err

    def use(self, *realms: str, users: bool = False) -> None:
        """Make these realms, and a user."""

        async def used() -> None:
            async with open_kernel(load(sets=[f"data={self.folder}"])) as kernel:
                await create_identities(kernel)
                for realm in realms:
                    await kernel.realms.create(realm)
                if users:
                    await vouch_for(kernel, "ann")

        asyncio.run(used())


@pytest.fixture
def shop(tmp_path: Path, capsys: Output) -> Shop:
    shop = Shop(tmp_path / "data", capsys)
    shop.use("past")
    return shop


@pytest.fixture
def spoilt(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A node a year ahead wrote to the store; its lease ends in a year too."""
    with monkeypatch.context() as patch:
        patch.setattr("headgate.wiring.SystemClock", EarlyClock)
        shop.use("future", users=True)
    return shop


def test_a_store_with_commits_of_the_future_is_refused_shown_and_mended(spoilt: Shop) -> None:
    """The refusal names the command, which does nothing before it is told to."""
    refused = spoilt.run("maintenance", "run", code=1)
    assert "behind the newest commit" in refused
    assert "headgate maintenance repair-clock" in refused
    shown = spoilt.run("maintenance", "repair-clock")
    assert "pointers would get an empty commit" in shown
    assert "would no longer count as a node that runs" in shown
    assert "headgate token rotate-keys --drop-old" in shown
    assert shown.rstrip().endswith("If this clock is right, and no node runs, repeat with --apply.")
    assert "behind the newest commit" in spoilt.run("maintenance", "run", code=1)
    done = spoilt.run("maintenance", "repair-clock", "--apply")

    assert "pointers got an empty commit" in done
    assert "repeat with --apply" not in done
    spoilt.use("present")
    assert {"past", "future", "present"} <= set(spoilt.run("realm", "list").split())
    again = spoilt.run("maintenance", "repair-clock", "--apply")
    assert "nothing to repair" in again


def test_a_store_without_them_is_left_alone(shop: Shop) -> None:
    """It says so."""
    assert "nothing to repair" in shop.run("maintenance", "repair-clock")


def test_the_findings_come_as_json_too(spoilt: Shop) -> None:
    """With all pointers, their newest commit, and the last one before it."""
    shown = json.loads(spoilt.run("maintenance", "repair-clock", "--json"))

    assert shown["repaired"] is False
    found = {(one["realm"], one["pointer"]): one for one in shown["pointers"]}
    realms = found["::system::", "realms"]
    assert realms["newest"][:4] > realms["before"][:4]
    assert found[IDENTITIES_KEY]["before"] is None
    assert [one["ends"] > shown["now"] for one in shown["nodes"]] == [True]


def test_few_pointers_are_listed_the_others_counted(
    spoilt: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be thousands."""
    monkeypatch.setattr(repair_clock, "SHOWN_MAX", 1)

    assert "more; --json lists all" in spoilt.run("maintenance", "repair-clock")


def test_the_doctor_tells_of_it(spoilt: Shop) -> None:
    """That nothing can be written, and what to do."""
    told = spoilt.run("doctor", code=1)

    assert "headgate maintenance repair-clock" in told
    assert "pointers and 1 leases of nodes lie in the future" in told


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, capsys: Output) -> None:
    """There is nothing to repair in it."""
    assert "there is no store" in Shop(tmp_path, capsys).run("maintenance", "repair-clock", code=1)
