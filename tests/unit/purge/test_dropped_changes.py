"""The change log of a dropped catalog: it is read until the last of its files is gone."""

from headgate.catalog.change_cursors import Cursor
from headgate.catalog.changes import ChangeLog
from headgate.catalog.openings import head_pointer
from headgate.kernel.records import PointerKey
from headgate.purge.draining import Draining
from headgate.purge.finishing import finish
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from tests.unit.catalog.change_pages import since
from tests.unit.catalog.lakes import Node
from tests.unit.purge.containers import drop_main, jobs, the_realm

DROPPED = ("drop", "catalog", "", ("main",))
PURGED = ("purge", "table", "main", ("a", "t"))
Told = list[tuple[str, str, str, tuple[str, ...]]]


async def told(node: Node, cursor: Cursor) -> Told:
    """What is told behind a cursor: what was done to what kind, in which catalog, to whom."""
    found = await since(node.kernel, cursor)
    return [(one.do, one.kind, one.catalog, one.name) for one in found]


async def finish_jobs(node: Node) -> None:
    """Let all files be gone."""
    for live in await jobs(node):
        await finish(node.kernel, live, JobRow(State.SUCCEEDED, attempts=1))


async def test_a_purge_is_told_of_after_its_catalog_was_dropped(node: Node) -> None:
    """Wherever reading went on from: before the drop, behind it, or at its end in between."""
    await node.table()
    log = ChangeLog(node.kernel)
    before = await log.now()
    await drop_main(node)
    behind, read = await log.now(), (await log.page(before, 100)).next
    await Draining(node.kernel).make_one()
    await finish_jobs(node)

    assert await told(node, before) == [DROPPED, PURGED]
    assert await told(node, behind) == await told(node, read) == [PURGED]


async def test_a_dropped_catalog_leaves_the_log_with_its_last_file(node: Node) -> None:
    """Its pointer is looked at no more, and what it told has still its name."""
    await node.table()
    log = ChangeLog(node.kernel)
    before = await log.now()
    gone = await drop_main(node)
    key = PointerKey((await the_realm(node)).id, head_pointer(gone.id))
    drain = Draining(node.kernel)
    await drain.make_one()
    assert key in (await log.page(before, 100)).next.positions
    await finish_jobs(node)
    await drain.make_one()

    assert key not in (await log.page(before, 100)).next.positions
    assert await told(node, before) == [DROPPED, PURGED]
