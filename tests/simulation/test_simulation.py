"""Nodes, a network and a database under one seed: no stall, no clock, no network and no sweep loses
an acknowledged commit.

A run that breaks a rule says its seed and step. `SEED=<number> ./test -k simulation` begins with
that seed, and the same seed takes the same steps.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest

from headgate.kernel.commit import Committer
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.kernel.store import Store
from headgate.maintenance.clocks import Surveyed
from headgate.testing.simulation.lake import SimulatedDeleter
from headgate.testing.simulation.network import Wire
from headgate.testing.simulation.oracle import Oracle, Rule
from headgate.testing.simulation.plans import (
    CLOCKS,
    EVERYTHING,
    NETWORK,
    STALLS,
    SUSPENSIONS,
    Plan,
)
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.simulation import Report, Simulation
from tests.conftest import FULL
from tests.seeds import draw_seed
from tests.simulation import mutants
from tests.simulation.mutants import MakeWire

PLANS = {
    "everything": EVERYTHING,
    "stalls": STALLS,
    "clocks": CLOCKS,
    "suspensions": SUSPENSIONS,
    "network": NETWORK,
}
SEEDS, STEPS = (20, 10_000) if FULL else (3, 3_000)
"""Of each plan: a million steps in all, or some ten thousand."""
LOSSES = NETWORK._replace(purges=False, catalogs=False, sweeps=False)
PURGES = NETWORK._replace(clients=0, sweeps=False, kills=0.0, seasons=0.0, stops=0.5)
MUTANT_SEEDS, MUTANT_STEPS = 500, 4_000
"""At most: a run ends with the first seed that finds the mistake."""
RARE_SEEDS, RARE_STEPS = 300, 6_000
"""Of a mistake that needs a stop at one moment, for longer than the grace."""

pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What nodes log in all their troubles is of no interest."""
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("name", PLANS)
def test_no_rule_is_broken_whatever_happens(name: str) -> None:
    """What was acknowledged is readable at every step, from every seed."""
    first = draw_seed(f"simulation of {name}")
    acknowledged = 0
    for seed in range(first, first + SEEDS):
        report = Simulation(seed, PLANS[name]).run(STEPS)
        acknowledged += report.counts["acknowledged"]
        assert report.broken is None, f"{report}: SEED={seed} repeats it"

    assert acknowledged > 0


def test_a_seed_takes_the_same_steps_again() -> None:
    """The digests of two runs are the same, also in another interpreter; another seed differs."""
    one, again, other = (Simulation(seed, EVERYTHING).run(3_000) for seed in (11, 11, 12))
    program = (
        "from headgate.testing.simulation.simulation import Simulation\n"
        "print(Simulation(11).run(3_000).trace)"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert (one.trace, one.steps, one.counts) == (again.trace, again.steps, again.counts)
    assert int(elsewhere.stdout) == one.trace
    assert other.trace != one.trace


def test_troubles_of_all_kinds_happen() -> None:
    """A simulation in which nothing happens would prove nothing."""
    wanted = {"acknowledged", "refused", "unknown", "deleted", "files deleted", "sweeps"}
    wanted |= {"stop", "suspend", "kill", "jump", "drift", "change_weather", "cut_off"}
    wanted |= {f"network {fate}" for fate in ("request-lost", "reply-lost", "late")}
    for seed in range(60):
        report = Simulation(seed, EVERYTHING).run(6_000)
        wanted -= {kind for kind, count in report.counts.items() if count}
        if not wanted:
            break

    assert wanted == set()


@pytest.mark.parametrize(
    ("plan", "make_wire", "rules"),
    [
        pytest.param(
            STALLS._replace(grace_seconds=5, sweep_grace_seconds=0),
            Wire,
            {Rule.LIVE, Rule.LOG, Rule.READABLE},
            id="a sweep without its grace",
        ),
        pytest.param(LOSSES, mutants.ResendingWire, {Rule.HONEST}, id="a swap sent again"),
        pytest.param(LOSSES, mutants.CertainWire, {Rule.HONEST}, id="an unknown swap denied"),
        pytest.param(STALLS, mutants.SwapFirstWire, {Rule.READABLE}, id="a swap before its rows"),
        pytest.param(STALLS, mutants.CachingWire, {Rule.FRESH}, id="pointers from a cache"),
    ],
)
def test_a_mistake_is_found(plan: Plan, make_wire: MakeWire, rules: set[Rule]) -> None:
    """Each mistake breaks the rule that it should, within a few seeds."""
    found = first_broken(plan, make_wire)

    assert found.broken is not None, found
    assert found.broken.rule in rules, found
    again = Simulation(found.seed, plan, make_wire).run(MUTANT_STEPS)
    assert str(again) == str(found)


def test_ids_without_leases_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes that make ids with one node id make some of them twice."""
    real = Oracle.watch_ids

    def watch(oracle: Oracle, process: Process, kernel: Kernel) -> None:
        mutants.share_one_node_id(kernel)
        real(oracle, process, kernel)

    monkeypatch.setattr(Oracle, "watch_ids", watch)
    found = first_broken(LOSSES._replace(clients=8))

    assert found.broken is not None, found
    assert found.broken.rule in {Rule.IDS, Rule.LOG, Rule.READABLE}, found


def test_a_purge_without_a_fence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was stopped and goes on deletes files of a job that another one has."""
    monkeypatch.setattr(SimulatedDeleter, "obeys", False)
    found = first_broken(PURGES)

    assert found.broken is not None, found
    assert found.broken.rule is Rule.PURGE, found


def test_a_sweep_that_trusts_its_first_look_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that was held up for longer than the grace loses what the sweep deletes, unless the
    sweep puts fences on pointers and looks at their heads again."""

    async def fence(_committer: Committer, _key: PointerKey, _since_ms: int) -> bool:
        return False

    async def check(_surveyed: Surveyed, _store: Store, _realms: Iterable[str]) -> None:
        return None

    monkeypatch.setattr(Committer, "fence", fence)
    monkeypatch.setattr(Surveyed, "check", check)
    found = first_broken(STALLS, steps=RARE_STEPS, seeds=RARE_SEEDS)

    assert found.broken is not None, found
    assert found.broken.rule in {Rule.LIVE, Rule.LOG, Rule.READABLE}, found


def first_broken(
    plan: Plan,
    make_wire: Callable[..., Wire] = Wire,
    *,
    steps: int = MUTANT_STEPS,
    seeds: int = MUTANT_SEEDS,
) -> Report:
    """The report of the first seed that breaks a rule, or of the last one."""
    for seed in range(seeds):
        report = Simulation(seed, plan, make_wire).run(steps)
        if report.broken is not None:
            break
    return report
