"""loadTable: how many a second, how late, and at whose cost; ours, the reference, and the bound."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.rest.jobs import Job, Round, job
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.metadata import register
from benchmarks.rest.scale import Scale
from benchmarks.rest.servers import Constant, Server, ask
from benchmarks.stores import say
from benchmarks.storm import percentile

NAMESPACE = "loads"
CONNECTIONS = 32
SNAPSHOTS = 23  # 20 kB of metadata
ROUTE = "/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}"
SUFFIXES = {"headgate": "", "reference": "_reference", "bound": "_bound"}
"""What the keys of a server's figures end with."""

Loaded = tuple[Server | Constant, list[Job]]
"""A server and what it is asked."""


def prepare(server: Server, count: int) -> list[Job]:
    """Tables with 20 kB of metadata, and a request for each of them."""
    return [
        job("GET", server.base + path, length=len(server.ask("GET", path)), label="load")
        for path in make_tables(server, count)
    ]


def make_tables(server: Server, count: int) -> list[str]:
    """The paths of new tables, below the server's base."""
    say(f"{server.name}: {count} tables to load")
    server.make_namespace(NAMESPACE)
    return [
        register(server, NAMESPACE, f"table_{number:04}", number, SNAPSHOTS)
        for number in range(count)
    ]


def measure_loads(
    generator: LoadGenerator, scale: Scale, servers: Sequence[Loaded]
) -> dict[str, Any]:
    """Rounds of all servers alternate, so that a machine that is busy is so for all."""
    plans = [
        Plan(server.port, jobs, CONNECTIONS, scale.seconds, pid=server.pid)
        for server, jobs in servers
    ]
    for plan in plans:
        generator.run(plan._replace(seconds=scale.warm_up_seconds))
    rounds: list[list[Round]] = [[] for _ in plans]
    for turn in range(scale.rounds):
        for (server, _), plan, seen in zip(servers, plans, rounds, strict=True):
            seen.append(generator.run(plan))
            say(f"loadTable round {turn + 1}, {server.name}: {seen[-1].per_second:,.0f} /s")
    figures: dict[str, Any] = {}
    for (server, _), seen in zip(servers, rounds, strict=True):
        figures |= summary("load_table", SUFFIXES[server.name], seen)
    figures["load_table_bytes"] = servers[0][1][0].length
    ours, theirs = figures["load_table_p99_ms"], figures["load_table_p99_ms_reference"]
    figures["load_table_p99_ratio"] = ours / theirs
    figures["load_table_ratio"] = ratio(rounds[0], rounds[1])
    figures["load_table_bound_share"] = ratio(rounds[0], rounds[2])
    return figures


def measure_reads(server: Server, jobs: Sequence[Job], generator: LoadGenerator) -> dict[str, Any]:
    """How often a warm loadTable reads the database, by the server's own count."""
    once = Plan(server.port, list(jobs), connections=1)
    generator.run(once)
    before = database_reads(server.port)
    generator.run(once)
    reads, loads = (new - old for new, old in zip(database_reads(server.port), before, strict=True))
    assert loads == len(jobs), f"{loads:g} loads were counted, {len(jobs)} were made"
    return {"reads_per_load": reads / loads}


def summary(prefix: str, suffix: str, rounds: Sequence[Round]) -> dict[str, Any]:
    """The figures of one server, medians of its rounds."""
    waits = [one.all_waits for one in rounds]
    figures: dict[str, Any] = {
        f"{prefix}_rps{suffix}": statistics.median(one.per_second for one in rounds),
        f"{prefix}_p50_ms{suffix}": statistics.median(percentile(one, 0.50) for one in waits) * 1e3,
        f"{prefix}_p99_ms{suffix}": statistics.median(percentile(one, 0.99) for one in waits) * 1e3,
        f"{prefix}_cpu_us{suffix}": statistics.median(one.server_cpu_us for one in rounds),
        f"{prefix}_client_cpu_us{suffix}": statistics.median(one.client_cpu_us for one in rounds),
        f"{prefix}_failed{suffix}": sum(one.failed for one in rounds),
    }
    failures = sorted({failure for one in rounds for failure in one.failures})
    if failures:
        figures[f"{prefix}_failures{suffix}"] = failures[:3]
    return figures


def ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    """Of neighbouring rounds, in the middle."""
    pairs = zip(ours, theirs, strict=True)
    return statistics.median(one.per_second / other.per_second for one, other in pairs)


def database_reads(port: int) -> tuple[float, float]:
    """All reads by loads of tables so far, and the number of those loads."""
    lines = ask(port, "GET", "/metrics").decode().splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if line[:1] != "#")
    name = "headgate_request_database_reads"
    labels = f'{{method="GET",route="{ROUTE}"}}'
    return float(samples[f"{name}_sum{labels}"]), float(samples[f"{name}_count{labels}"])
