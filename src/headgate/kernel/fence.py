"""Fences: empty commits after which nothing that was assembled earlier can be committed.

A swap succeeds only while its pointer has the value that the swap expects. So one empty commit is
enough to refuse for good whatever was assembled before it and is late: on a node that was stopped,
or on its way to the database.
"""

from headgate.errors import CommitTimedOut, NotFound
from headgate.ids import time_ms
from headgate.kernel.assemble import assemble
from headgate.kernel.draft import Draft
from headgate.kernel.index import PageShelf, open_head
from headgate.kernel.lane import BEATEN, Tools
from headgate.kernel.records import EMPTY, Outcome, PointerKey
from headgate.kernel.swap import swap_head


async def fence(tools: Tools, key: PointerKey, since_ms: int) -> bool:
    """Make sure that the head of a pointer was made at this time or later; whether that took a
    commit.

    Sealed and EMPTY pointers are fenced too. A pointer that does not exist needs no fence: a swap
    does not create it.
    """
    deadline = tools.clock.seconds() + tools.timeout_seconds
    while True:
        [current] = await tools.pointers.read([key])
        if current is None or not needs_fence(current, since_ms):
            return False
        try:
            if await _put(tools, key, current, deadline) is Outcome.APPLIED:
                return True
        except NotFound:
            if await tools.pointers.read([key]) == [None]:  # its realm is being purged
                return False
            raise
        if tools.clock.seconds() >= deadline:
            raise CommitTimedOut(
                f"pointer {key.name!r} of realm {key.realm!r} is not fenced",
                why=BEATEN,
                fix="Try again in a moment",
            )


def needs_fence(head: int, since_ms: int) -> bool:
    """Whether a swap that expects this value may have been assembled before this time."""
    return head == EMPTY or time_ms(head) < since_ms


async def _put(tools: Tools, key: PointerKey, current: int, deadline: float) -> Outcome:
    """Commit nothing on top of this head: the same indexes, marks and seal, and no change."""
    store = tools.store
    base = await open_head(store, key.realm, current)
    shelf = PageShelf(store, key.realm)
    draft = Draft(base, shelf, tools.ids, store.types, tools.clock.wall_ms())
    assembled = assemble(draft, store.types, tools.ids)
    tools.statistics.fences += 1
    try:
        return await swap_head(store, tools.clock, key, assembled, deadline)
    finally:
        tools.tell(key)
