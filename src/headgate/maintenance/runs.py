"""Records of sweeps: what each did, kept under a pointer of the system."""

import msgspec

from headgate.catalog.references import MAINTENANCE, RUNS
from headgate.kernel.draft import Draft
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.kernel.tree import Tree
from headgate.limits import SWEEP_FAILURE_CHARS_MAX, SWEEP_FAILURES_KEPT, SWEEP_RUNS_KEPT

RUNS_KEY = PointerKey(SYSTEM_REALM, MAINTENANCE)
_ID_BYTES = 8


class Counts(msgspec.Struct, rename="kebab"):
    """What a run saw and did, so far."""

    realms: int = 0
    """That were swept."""
    marked: int = 0
    """Objects that are in use, or were when the grace began."""
    scanned: int = 0
    """Rows that were looked at."""
    live: int = 0
    """Rows of what is marked."""
    young: int = 0
    """Rows that are too young to be judged."""
    left: int = 0
    """Rows of realms that were not swept, and of types that this program does not know."""
    rows_deleted: int = 0
    pointers_deleted: int = 0
    realms_purged: int = 0
    fences: int = 0
    """Empty commits that were put on pointers before rows were deleted."""


class Run(msgspec.Struct, frozen=True):
    """A run as it is stored. It only gains fields: older programs leave them out."""

    by: str
    """Who started it: an operator, or a server."""
    engine: str
    """What does it: a process, or Spark."""
    started_ms: int
    grace_ms: int
    is_dry: bool = False
    """It only counts what it would delete."""
    ended_ms: int = 0
    """0 while it runs, and for ever if it was killed."""
    counts: Counts = msgspec.field(default_factory=Counts)
    is_whole: bool = True
    """Everything was swept, not only what an operator named."""
    failures: tuple[str, ...] = ()
    """What was left alone, and why."""


_decoder = msgspec.msgpack.Decoder(Run)


async def begin_run(kernel: Kernel, id: int, run: Run) -> None:
    """Remember that a run begins, and forget the oldest ones."""
    await kernel.backend.create_pointers(SYSTEM_REALM, [MAINTENANCE])

    def attempt(draft: Draft) -> None:
        index = draft.index(RUNS)
        keys = [key for key, _ in index.scan()]
        for key in keys[: max(len(keys) + 1 - SWEEP_RUNS_KEPT, 0)]:
            index.remove(key)
        index.put(_key(id), msgspec.msgpack.encode(run))

    await kernel.committer.commit(RUNS_KEY, attempt)


async def end_run(kernel: Kernel, id: int, run: Run) -> Run:
    """Remember what a run did."""
    words = [one[:SWEEP_FAILURE_CHARS_MAX] for one in run.failures[:SWEEP_FAILURES_KEPT]]
    more = len(run.failures) - len(words)
    told = (*words, f"and {more} more") if more else tuple(words)
    ended = msgspec.structs.replace(run, ended_ms=kernel.clock.wall_ms(), failures=told)

    def attempt(draft: Draft) -> None:
        draft.index(RUNS).put(_key(id), msgspec.msgpack.encode(ended))

    await kernel.committer.commit(RUNS_KEY, attempt)
    return ended


async def list_runs(kernel: Kernel) -> list[tuple[int, Run]]:
    """All runs that are remembered, by their ids, the newest first."""
    [value] = await kernel.pointers.read([RUNS_KEY])
    head = await open_head(kernel.store, SYSTEM_REALM, value)

    def find(tree: Tree) -> list[tuple[int, Run]]:
        return [(int.from_bytes(key, "big"), _decoder.decode(value)) for key, value in tree.scan()]

    return (await look(head.index(RUNS), find))[::-1]


def _key(id: int) -> bytes:
    return id.to_bytes(_ID_BYTES, "big")
