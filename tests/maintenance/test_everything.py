"""A store in which everything was done: after a sweep all is there, and nothing else."""

import asyncio

from headgate.catalog.entities import CATALOG_TYPES
from headgate.ids import time_ms
from headgate.kernel.head import Head
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import Pointer
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.purge.jobs import PURGE_TYPES
from headgate.testing.kernels import reachable_pages
from tests.authorization.guarded import GuardedWorld
from tests.maintenance.life import live, readings, rows

ALL_TYPES = (*CATALOG_TYPES, *PURGE_TYPES, *MAINTENANCE_TYPES)
ALWAYS_THERE = {"node-lease", "format-level"}


async def swept(kernel: Kernel) -> Run:
    """Sweep without any grace, when the present millisecond is over."""
    now_ms = kernel.clock.wall_ms()
    while kernel.clock.wall_ms() == now_ms:
        kernel.clock.pause()
    running = Running(kernel, Order(by="test", holder="test:1", grace_ms=0))
    await running.begin()
    return await running.complete()


async def test_after_a_sweep_all_is_there_and_nothing_else(world: GuardedWorld) -> None:
    """Every operation of both protocols, identities, purges and their history, repeated calls,
    reports; read by a node that knows nothing yet."""
    node = await world.guarded()
    kernel = await world.rig.open(types=ALL_TYPES)
    await live(node, kernel)
    before, worked = await readings(await world.guarded()), await rows(kernel)
    run = await swept(kernel)

    assert run.failures == ()
    assert run.counts.rows_deleted > 50
    assert await readings(await world.guarded()) == before
    assert await rows(kernel) == worked
    assert len(worked) == 1
    assert await unreferenced(kernel, run) == []
    again = await swept(kernel)
    assert (again.failures, again.counts.left) == ((), 0)
    assert await readings(await world.guarded()) == before


async def unreferenced(kernel: Kernel, run: Run) -> list[tuple[str, str, int]]:
    """Rows that were there when the run began and that no head leads to, found without the table of
    references: an id that an entry refers to stands in its key or value, eight bytes long."""
    pointers = [one async for batch in kernel.backend.scan_pointers() for one in batch]
    needed: dict[str, set[int]] = {}
    told: dict[str, bytearray] = {}
    for pointer in pointers:
        if pointer.value:
            needed.setdefault(pointer.realm, set()).update(await _leads_to(kernel, pointer))
            told.setdefault(pointer.realm, bytearray()).extend(await _entries(kernel, pointer))
    return [
        (row.realm, row.type, row.id)
        async for batch in kernel.backend.scan_rows()
        for row in batch
        if row.type not in ALWAYS_THERE
        and time_ms(row.id) < run.started_ms
        and row.id not in needed[row.realm]
        and (row.type in {"page", "head", "changes"} or _bytes(row.id) not in told[row.realm])
    ]


async def _leads_to(kernel: Kernel, pointer: Pointer) -> set[int]:
    """Its commits, the pages of the current one, and its marks."""
    found = set(await reachable_pages(kernel, pointer.realm, pointer.value))
    id = pointer.value
    while id:
        [head] = [await kernel.store.get(pointer.realm, id, Head)]
        found |= {id, head.spilled, *head.marks.values()}
        id = head.tail[0] if head.tail else 0
        await asyncio.sleep(0)
    return found


async def _entries(kernel: Kernel, pointer: Pointer) -> bytes:
    head = await open_head(kernel.store, pointer.realm, pointer.value)
    return b"".join(
        [
            key + b"|" + value + b"|"
            for index in head.head.roots
            async for key, value in head.index(index).scan()
        ]
    )


def _bytes(id: int) -> bytes:
    return id.to_bytes(8, "big")
