"""A sweep of a large realm never holds up the event loop of its server."""

import asyncio
import gc
from collections.abc import Callable

from headgate.kernel.draft import Draft
from headgate.testing.kernels import Rig, Thing
from tests.http.test_ten_milliseconds import WORK_SECONDS_MAX, Watch, slowness
from tests.unit.maintenance.stores import POINTER, THINGS, TYPES, sweep

COMMITS, EACH = 40, 500


def putting(number: int) -> Callable[[Draft], None]:
    """An attempt that stores many things."""

    def attempt(draft: Draft) -> None:
        for n in range(EACH):
            id = draft.stage(Thing("x"))
            draft.index(THINGS).put(b"%06d" % (n * COMMITS + number), id.to_bytes(8, "big"))

    return attempt


async def test_a_sweep_of_a_large_realm_works_for_ten_milliseconds_at_a_time(
    make_rig: Callable[[str], Rig],
) -> None:
    """Whatever it marks, sorts, scans and deletes: 20,000 things, and as many pages that were
    replaced."""
    async with make_rig("sqlite") as rig:
        kernel = await rig.open(types=TYPES)
        realm = kernel.realm((await kernel.realms.create("acme")).id)
        for number in range(COMMITS):
            await realm.commit(POINTER, putting(number))
        watch = Watch()
        gc.collect()
        gc.disable()  # a server collects seldom, and in between
        try:
            with watch.steps():
                await asyncio.sleep(0)  # the present step is not seen
                run = await sweep(kernel)
        finally:
            gc.enable()

    assert run.counts.marked > COMMITS * EACH
    assert run.counts.rows_deleted > 1_000
    assert watch.work < WORK_SECONDS_MAX * slowness()
