"""A process that commits all the time and says what was acknowledged, to be killed at any moment.

    python -m headgate.testing.crash_writer STORE NAME CALLERS

It says "node <id>" once it is open, then "<caller> <count>" for each acknowledged commit. Each
commit changes several entries of several indexes, a mark, and stores an object: `read_state` tells
whether all of them are there. It ends when its standard input does.
"""

import asyncio
import os
import random
import sys
import threading
from functools import partial

import msgspec

from headgate.errors import RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Foreign
from headgate.kernel.records import PointerKey
from headgate.limits import ROW_BYTES_MAX
from headgate.testing.callers import create_realm
from headgate.testing.nodes import make_node

REALM = "crash"
POINTER = "work"
LATEST = ("left", "right")
"""Indexes from a caller to its latest count."""
HISTORY = "history"
"""The index from each caller's counts to the object stored with it."""
FENCE = "fence"
LARGE_EACH = 40  # counts: such an object takes several rows


class State(msgspec.Struct, frozen=True):
    """What one head holds."""

    head: HeadView
    latest: list[dict[str, int]]
    """What each index of LATEST, and last the marks, say."""
    history: dict[tuple[str, int], int]
    """The object of each caller's each count."""


async def write(store: str, name: str, callers: int) -> None:
    """Commit until standard input ends."""
    async with make_node(store) as kernel:
        _say(f"node {kernel.ids.node}")
        realm = await create_realm(kernel, REALM, POINTER)
        key = PointerKey(realm.id, POINTER)
        stopped = asyncio.create_task(_end_of_input())
        running = [
            asyncio.create_task(_run(kernel, key, f"{name}-{caller}")) for caller in range(callers)
        ]
        await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
        for task in [stopped, *running]:
            task.cancel()
        for end in await asyncio.gather(*running, return_exceptions=True):
            if not isinstance(end, asyncio.CancelledError):
                raise end or AssertionError("a caller ended")


async def read_state(kernel: Kernel) -> State | None:
    """What is stored now, all of one head; None if no writer has come so far.

    The pointer is moved first: no swap that a dead writer left behind can land from then on.
    """
    try:
        realm = await kernel.realms.get(REALM)
    except RealmNotFound:
        return None
    realm = await create_realm(kernel, realm.name, POINTER)
    await kernel.realm(realm.id).commit(POINTER, lambda draft: draft.mark(FENCE, draft.seq))
    [head] = await kernel.realm(realm.id).heads(POINTER)
    marks = {name: value for name, value in head.head.marks.items() if name != FENCE}
    latest = [
        {name.decode(): int(value) async for name, value in head.index(index).scan()}
        for index in LATEST
    ]
    history = {}
    async for name, value in head.index(HISTORY).scan():
        caller, count = name.decode().split(" ")
        history[caller, int(count)] = int(value)
    return State(head, [*latest, marks], history)


def content(caller: str, count: int) -> Foreign:
    """The object that belongs to this count."""
    noise = random.Random(f"{caller} {count}")
    size = 2 * ROW_BYTES_MAX if count % LARGE_EACH == 0 else noise.randrange(2000)
    return Foreign("crash-content", noise.randbytes(size))


async def _run(kernel: Kernel, key: PointerKey, caller: str) -> None:
    """Commit one count after the other, from the one that is stored."""
    [head] = await kernel.realm(key.realm).heads(key.name)
    count = head.head.marks.get(caller, 0)
    while True:
        count += 1
        await kernel.realm(key.realm).commit(key.name, partial(_count_up, caller, count))
        _say(f"{caller} {count}")


def _count_up(caller: str, count: int, draft: Draft) -> None:
    """The attempt: everything that belongs to a count, in one commit."""
    stored = draft.marks.get(caller, 0)
    assert stored == count - 1, f"{caller} counts {count} and {stored} is stored"
    for index in LATEST:
        draft.index(index).put(caller.encode(), str(count).encode())
    id = draft.stage(content(caller, count))
    draft.index(HISTORY).put(f"{caller} {count}".encode(), str(id).encode())
    draft.mark(caller, count)
    draft.note({"caller": caller, "count": count})


async def _end_of_input() -> None:
    """Wait for it in a thread that does not keep the process when it fails."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


def _say(line: str) -> None:
    """One write: what was said stays said when the process is killed."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
