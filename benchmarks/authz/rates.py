"""Requests per second with authorization on and off: loads of tables, and a long list."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.authz.nodes import Node
from benchmarks.authz.scale import Scale
from benchmarks.authz.store import LOADER, LONG
from benchmarks.rest.jobs import Job, Round
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.loads import CONNECTIONS, ratio
from benchmarks.stores import say

LISTING = 4  # connections; more would only wait for one another


class Rates(NamedTuple):
    """Asks a server with authorization and one without, in turn."""

    generator: LoadGenerator
    scale: Scale
    on: Node
    off: Node

    def of_loads(self, paths: Sequence[str]) -> dict[str, Any]:
        """One user loads tables: as clients ask, and with each answer worked out."""
        asked = [(path, LOADER) for path in paths]
        figures = self._compared("load_table", CONNECTIONS, Node.repeated, asked)
        return figures | self._compared("load_table_anew", CONNECTIONS, Node.worked_out, asked)

    def of_lists(self, base: str, mixes: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Users of all kinds, and those of each kind, list very many tables."""
        path = f"{base}/namespaces/{LONG}/tables"
        everybody = [(path, user) for some in zip(*mixes.values(), strict=True) for user in some]
        figures = self._compared("list", LISTING, Node.worked_out, everybody)
        for mix, users in mixes.items():
            asked = [(path, user) for user in users]
            figures |= self._compared(f"list_{mix}", LISTING, Node.worked_out, asked)
        return figures | self._compared("list_standing", LISTING, Node.repeated, everybody)

    def _compared(
        self,
        key: str,
        connections: int,
        make: Callable[[Node, str, str], Job],
        asked: Sequence[tuple[str, str]],
    ) -> dict[str, Any]:
        """Rounds alternate, so that a machine that is busy is so for both."""
        plans = [
            Plan(
                node.port,
                [make(node, path, user) for path, user in asked],
                connections,
                self.scale.seconds,
                pid=node.pid,
            )
            for node in (self.on, self.off)
        ]
        rounds: tuple[list[Round], list[Round]] = ([], [])
        for plan in plans:
            self.generator.run(plan)
        for _ in range(self.scale.rounds):
            for plan, seen in zip(plans, rounds, strict=True):
                seen.append(self.generator.run(plan))
        share = ratio(*rounds)
        figures: dict[str, Any] = {f"{key}_on_off": share}
        for name, seen in zip(("on", "off"), rounds, strict=True):
            figures |= {
                f"{key}_rps_{name}": statistics.median(one.per_second for one in seen),
                f"{key}_cpu_us_{name}": statistics.median(one.server_cpu_us for one in seen),
                f"{key}_failed_{name}": sum(one.failed for one in seen),
            }
            failures = sorted({failure for one in seen for failure in one.failures})
            if failures:
                figures[f"{key}_failures_{name}"] = failures[:3]
        rates = f"{figures[f'{key}_rps_on']:,.0f} of {figures[f'{key}_rps_off']:,.0f} /s"
        say(f"{key.replace('_', ' ')}, on of off: {rates}, {share:.2f}")
        return figures
