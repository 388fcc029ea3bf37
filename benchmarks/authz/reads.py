"""How often an authorized loadTable reads the database, by the server's own count."""

from collections.abc import Sequence
from typing import Any

from benchmarks.authz.nodes import ADMIN, Node, Nodes
from benchmarks.authz.store import LOADER, STRANGER
from benchmarks.rest.loads import database_reads
from benchmarks.stores import say


def measure_reads(nodes: Nodes, paths: Sequence[str], burdened: str) -> dict[str, Any]:
    """All nodes have just started; `burdened` is a user with very many grants.

    A cold authorization is that of a caller whose rights nobody has asked for, on a process where
    names and table are at hand: the administrator, who has no roles, has loaded them. The first
    load of a process finds these as well.
    """
    on, off, second = nodes
    _reads(on, ADMIN, paths)
    figures = {
        "reads_per_authorization_cold": _reads(on, LOADER, paths[:1]),
        "reads_cold_many_grants": _reads(on, burdened, paths[:1]),
        "reads_cold_process": _reads(second, LOADER, paths[:1]),
        "reads_cold_process_off": _reads(off, LOADER, paths[:1]),
        "reads_of_next_caller": _reads(on, STRANGER, paths[:1]),
        "reads_per_authorization_warm": _reads(on, LOADER, paths) / len(paths),
    }
    warm, cold = (figures[f"reads_per_authorization_{how}"] for how in ("warm", "cold"))
    say(f"database reads of an authorized load: {warm:g} warm, {cold:g} cold")
    return figures


def _reads(node: Node, user: str, paths: Sequence[str]) -> float:
    """Of these loads together."""
    before = _counted(node)
    for path in paths:
        node.ask(user, "GET", path)
    reads, loads = (new - old for new, old in zip(_counted(node), before, strict=True))
    assert loads == len(paths), f"{loads:g} loads were counted, {len(paths)} were made"
    return reads


def _counted(node: Node) -> tuple[float, float]:
    try:
        return database_reads(node.port)
    except KeyError:
        return 0.0, 0.0  # nothing was loaded yet
