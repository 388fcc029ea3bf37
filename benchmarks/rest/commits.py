"""Commits: small ones to many tables at once, and one by one to a table with a long history."""

import json
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.rest.jobs import NUMBER, Job, Round, job
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.loads import SUFFIXES, summary
from benchmarks.rest.metadata import SNAPSHOT_FIRST, register, schema, snapshot, table_uuid
from benchmarks.rest.scale import Scale
from benchmarks.rest.servers import Server
from benchmarks.stores import say

NAMESPACE, HISTORIES = "commits", "histories"
CONNECTIONS = 16
LONG = 1_000_000  # the number of the table with a long history
WARM_UP_SHARE = 0.5  # of the time for loads, by which the virtual machine is warm already


def prepare(server: Server, scale: Scale) -> list[Job]:
    """Empty tables, and a commit for each that sets a property to a value it never had.

    There are so many that no connection comes to a table which another is still committing to.
    """
    say(f"{server.name}: {scale.tables} tables to commit to")
    server.make_namespace(NAMESPACE)
    jobs = []
    for number in range(scale.tables):
        name = f"table_{number:04}"
        server.ask("POST", f"/namespaces/{NAMESPACE}/tables", {"name": name, "schema": schema()})
        updates = [{"action": "set-properties", "updates": {"benchmark": NUMBER}}]
        path = f"{server.base}/namespaces/{NAMESPACE}/tables/{name}"
        jobs.append(job("POST", path, {"requirements": [], "updates": updates}, label="commit"))
    return jobs


def measure_commits(
    generator: LoadGenerator, scale: Scale, servers: Sequence[tuple[Server, list[Job]]]
) -> dict[str, Any]:
    """Set-properties commits, in rounds that alternate."""
    plans = [
        Plan(server.port, jobs, CONNECTIONS, scale.seconds, pid=server.pid)
        for server, jobs in servers
    ]
    for plan in plans:
        generator.run(plan._replace(seconds=scale.warm_up_seconds * WARM_UP_SHARE))
    rounds: list[list[Round]] = [[] for _ in plans]
    for turn in range(scale.rounds):
        for (server, _), plan, seen in zip(servers, plans, rounds, strict=True):
            seen.append(generator.run(plan))
            say(f"commit round {turn + 1}, {server.name}: {seen[-1].per_second:,.0f} /s")
    figures: dict[str, Any] = {}
    for (server, _), seen in zip(servers, rounds, strict=True):
        figures |= summary("commit", SUFFIXES[server.name], seen)
    pairs = zip(*rounds, strict=True)
    figures["commit_ratio"] = statistics.median(
        ours.per_second / theirs.per_second for ours, theirs in pairs
    )
    return figures


def measure_histories(generator: LoadGenerator, scale: Scale, server: Server) -> dict[str, Any]:
    """One client that appends: to tables with one snapshot, and to a table with very many."""
    say(f"{server.name}: commits to a table with {scale.snapshots:,} snapshots")
    server.make_namespace(HISTORIES)
    long = register(server, HISTORIES, "long", LONG, scale.snapshots)
    short = [
        register(server, HISTORIES, f"short_{number}", LONG + 1 + number, 1)
        for number in range(scale.commits + 1)
    ]
    many = [
        _append(server, long, LONG, scale.snapshots + number) for number in range(scale.commits + 1)
    ]
    one = [_append(server, path, LONG + 1 + at, 1) for at, path in enumerate(short)]
    figures: dict[str, Any] = {}
    rounds = {"commit_ms_10k_snapshots": many, "commit_ms_1_snapshot": one}
    for jobs in rounds.values():  # the first finds nothing in memory
        _check(generator.run(Plan(server.port, jobs[:1], 1)))
    for key, jobs in rounds.items():
        seen = generator.run(Plan(server.port, jobs[1:], 1, pid=server.pid))
        _check(seen)
        figures[key] = statistics.median(seen.all_waits) * 1e3
        figures[f"{key.replace('_ms_', '_cpu_ms_')}"] = seen.server_cpu_us / 1e3
    found = json.loads(server.ask("GET", long))["metadata"]["snapshots"]
    assert len(found) == scale.snapshots + len(many), "all appends are there"
    ratio = figures["commit_ms_10k_snapshots"] / figures["commit_ms_1_snapshot"]
    return figures | {"commit_snapshots_ratio": ratio}


def _append(server: Server, path: str, number: int, snapshots: int) -> Job:
    """The commit that a client appends with, to a table with so many snapshots."""
    name = path.rpartition("/")[2]
    new = snapshot(server.location(f"{HISTORIES}/{name}"), snapshots + 1)
    body = {
        "requirements": [
            {"type": "assert-table-uuid", "uuid": table_uuid(number)},
            {
                "type": "assert-ref-snapshot-id",
                "ref": "main",
                "snapshot-id": SNAPSHOT_FIRST + snapshots,
            },
        ],
        "updates": [
            {"action": "add-snapshot", "snapshot": new},
            {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch"}
            | {"snapshot-id": new["snapshot-id"]},
        ],
    }
    return job("POST", server.base + path, body, label="append")


def _check(seen: Round) -> None:
    if seen.failed:
        raise RuntimeError(f"a commit failed: {next(iter(seen.failures))}")
