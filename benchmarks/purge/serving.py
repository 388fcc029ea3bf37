"""What readers notice of a purge: loads of tables per second before it and while it runs."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.purge.memory import files_below
from benchmarks.purge.scale import Scale
from benchmarks.purge.targets import Target, Watch, drop, make_target
from benchmarks.rest.jobs import Job, Round
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.loads import CONNECTIONS
from benchmarks.rest.servers import Server
from benchmarks.stores import say


def measure_serving(
    generator: LoadGenerator, scale: Scale, server: Server, readers: Sequence[Job]
) -> dict[str, Any]:
    """Rounds of loads, then a large table is dropped, and rounds go on until its files are gone."""
    plan = Plan(server.port, list(readers), CONNECTIONS, scale.seconds)
    before: list[Round] = []
    during: list[Round] = []
    shares = []
    left = 0
    for turn in range(scale.turns):
        target = make_target(server, f"serving_{turn}", scale.files)
        quiet = [generator.run(plan) for _ in range(scale.rounds)]
        drop(server, target)
        busy = _while_there(generator, plan, target)
        Watch(server.pid).wait_until_gone([target])
        left += files_below(target.folder)
        shares.append(_rate(busy) / _rate(quiet))
        say(f"loadTable: {_rate(quiet):,.0f} /s, during a purge {_rate(busy):,.0f} /s")
        before += quiet
        during += busy
    return {
        "serving_slowdown": statistics.median(shares),
        "serving_rps_before": _rate(before),
        "serving_rps_during": _rate(during),
        "serving_failed": sum(one.failed for one in (*before, *during)),
        "files_left_serving": left,
    }


def _while_there(generator: LoadGenerator, plan: Plan, target: Target) -> list[Round]:
    """Rounds that were over before the purge was; at least the first."""
    rounds = [generator.run(plan)]
    while target.is_there:
        rounds.append(generator.run(plan))
    return rounds[:-1] or rounds


def _rate(rounds: Sequence[Round]) -> float:
    return statistics.median(one.per_second for one in rounds)
