"""Metrics reports: gathered, stored a second later, kept per table, newest first."""

import asyncio
import json
import logging

import pytest

from headgate.catalog import reports as reports_module
from headgate.catalog.calls import Caller
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.reports import REPORTS, Reports, reports_pointer
from headgate.errors import TableNotFound
from headgate.limits import REPORTS_FLUSH_SECONDS, REPORTS_PER_TABLE_MAX
from headgate.model.names import Identifier
from headgate.testing.faults import Fault
from headgate.testing.kernels import entries, turns
from tests.unit.catalog.lakes import METALAKE, SCHEMA, Node, World, call

T, U = Identifier(("a",), "t"), Identifier(("a",), "u")


def report(number: int) -> bytes:
    return json.dumps({"report-type": "scan-report", "number": number}).encode()


async def numbers(node: Node, table: Identifier = T, reports: Reports | None = None) -> list[int]:
    listed = await (reports or node.reports).list(await node.opened(), table)
    return [json.loads(one.report)["number"] for one in listed]


async def test_reports_are_kept_by_table_newest_first(node: Node) -> None:
    """Who sent it and when is kept too."""
    await node.table("t")
    await node.table("u")
    mine = call()._replace(caller=Caller("me"))
    for number in range(3):
        await node.reports.add(await node.lake.open(mine), T, report(number))
    await node.reports.add(await node.opened(), U, report(9))

    assert await numbers(node) == [2, 1, 0]
    assert await numbers(node, U) == [9]
    [first, *_] = await node.reports.list(await node.opened(), T)
    assert (first.principal, first.received_ms) == ("me", node.lake.now_ms())


async def test_reports_are_stored_together_after_a_second(world: World, node: Node) -> None:
    """Many reports are one commit, and it is not one of the catalog's own pointer."""
    await node.table()
    world.rig.backend.reset()
    for number in range(5):
        await node.reports.add(await node.opened(), T, report(number))
    await turns(5)
    assert world.rig.backend.calls["commit"] == 0
    world.rig.clock.advance(REPORTS_FLUSH_SECONDS * 1_000)
    await turns(50)

    assert world.rig.backend.calls["commit"] == 1
    assert await numbers(await world.node()) == [4, 3, 2, 1, 0]


async def test_what_comes_while_others_are_stored_is_stored_next(world: World, node: Node) -> None:
    """It does not wait for yet another report."""
    await node.table()
    await node.reports.add(await node.opened(), T, report(0))

    async def add_another() -> None:
        await node.reports.add(await node.opened(), T, report(1))

    world.rig.faults.crash_at("before_commit", add_another)
    for _ in range(2):
        await turns(50)
        world.rig.clock.advance(REPORTS_FLUSH_SECONDS * 1_000)
        await turns(50)

    assert not node.reports._waiting
    assert await numbers(node) == [1, 0]


async def test_only_the_newest_are_kept(world: World, node: Node) -> None:
    """The oldest go; those that would go at once are not even stored."""
    await node.table()
    for number in range(REPORTS_PER_TABLE_MAX - 1):
        await node.reports.add(await node.opened(), T, report(number))
    await node.reports.flush()
    world.rig.backend.reset()
    for number in range(1_000, 1_000 + 2 * REPORTS_PER_TABLE_MAX):
        await node.reports.add(await node.opened(), T, report(number))
    await node.reports.flush()

    last = 1_000 + 2 * REPORTS_PER_TABLE_MAX - 1
    assert await numbers(node) == list(range(last, last - REPORTS_PER_TABLE_MAX, -1))
    assert world.rig.backend.rows["commit"] < 1.5 * REPORTS_PER_TABLE_MAX


async def test_a_table_without_reports_has_none(node: Node) -> None:
    """Nothing was ever stored for this catalog."""
    await node.table()

    assert await numbers(node) == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "namespaces/a/tables/t"),
        ("DELETE", "namespaces/a/tables/t?purgeRequested=true"),
        ("POST", "namespaces/a/tables/t/unregister"),
    ],
)
async def test_reports_of_a_dropped_table_are_gone(node: Node, method: str, path: str) -> None:
    """Those that are stored and those that wait; one of the same name is another table."""
    await node.table()
    await node.table("u")
    for table in (T, U):
        await node.reports.add(await node.opened(), table, report(0))
    await node.reports.flush()
    await node.reports.add(await node.opened(), T, report(1))
    await node.send(method, path)
    with pytest.raises(TableNotFound):
        await node.reports.list(await node.opened(), T)
    with pytest.raises(TableNotFound):
        await node.reports.add(await node.opened(), T, report(2))
    await node.table()

    assert await numbers(node) == []
    opened = await node.opened()
    assert len(await entries(opened.realm, reports_pointer(opened.catalog.id), REPORTS)) == 1


async def test_a_catalog_without_reports_has_none_to_forget(world: World, node: Node) -> None:
    """A drop costs no second commit then."""
    await node.table()
    await node.delete("namespaces/a/tables/t")
    before = await world.state()
    await node.reports.flush()

    assert await world.state() == before


async def test_what_waits_is_stored_at_the_end(world: World, node: Node) -> None:
    """A server that stops in order loses nothing."""
    await node.table()
    await node.reports.add(await node.opened(), T, report(0))
    await node.reports.close()
    await (await world.node()).reports.close()

    assert await numbers(await world.node()) == [0]


async def test_what_is_being_stored_at_the_end_is_stored(world: World, node: Node) -> None:
    """A stop waits for it: it cuts short only the wait for more."""
    await node.table()
    await node.reports.add(await node.opened(), T, report(0))
    closing: list[asyncio.Task[None]] = []

    async def close_now() -> None:
        closing.append(asyncio.create_task(node.reports.close()))
        await turns(5)

    world.rig.faults.crash_at("before_create_pointers", close_now)
    await turns(5)
    world.rig.clock.advance(REPORTS_FLUSH_SECONDS * 1_000)
    await turns(50)
    await asyncio.gather(*closing)

    assert len(closing) == 1
    assert await numbers(await world.node()) == [0]


async def test_who_stops_listening_does_not_stop_the_storing(world: World, node: Node) -> None:
    """A request that lists reports stores them first, and it may be ended meanwhile."""
    await node.table()
    await node.reports.add(await node.opened(), T, report(0))
    listing = asyncio.create_task(numbers(node))

    async def end_it() -> None:
        listing.cancel()
        await turns(5)

    world.rig.faults.crash_at("before_create_pointers", end_it)
    with pytest.raises(asyncio.CancelledError):
        await listing
    await node.reports.close()

    assert await numbers(await world.node()) == [0]


async def test_one_catalog_in_trouble_takes_no_reports_of_others(
    world: World, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """What could not be stored is lost, and the log says so."""
    caplog.set_level(logging.WARNING)
    await node.table()
    place = f"{world.folder.as_posix()}/x"
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "x", place, {}))
    await node.made("namespaces", {"namespace": ["a"]}, catalog="x")
    await node.made("namespaces/a/tables", {"name": "t", "schema": SCHEMA}, catalog="x")
    await node.reports.add(await node.opened("x"), T, report(1))
    await node.reports.add(await node.opened(), T, report(2))
    world.rig.faults.schedule("create_pointers", Fault.UNAVAILABLE)
    await node.reports.flush()

    assert "1 metrics reports were not stored" in caplog.text
    assert await numbers(node) == [2]
    assert await node.reports.list(await node.opened("x"), T) == []


async def test_a_server_that_only_reads_stores_none(world: World, node: Node) -> None:
    """Clients send reports all the same; the table must exist."""
    await node.table()
    reading = Reports(node.lake, stored=False)
    before = await world.state()
    await reading.add(await node.opened(), T, report(0))
    await reading.close()
    with pytest.raises(TableNotFound):
        await reading.add(await node.opened(), U, report(0))

    assert await world.state() == before


async def test_too_many_at_once_push_out_the_oldest(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of reports does not fill the memory."""
    monkeypatch.setattr(reports_module, "REPORTS_WAITING_MAX", 3)
    await node.table()
    reports = Reports(node.lake)
    opened = await node.opened()
    await asyncio.gather(*(reports.add(opened, T, report(number)) for number in range(5)))
    await reports.close()

    assert len(await numbers(node, reports=reports)) == 3


async def test_large_reports_push_out_the_oldest(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits is bounded by its bytes, too; what was stored makes room again."""
    monkeypatch.setattr(reports_module, "REPORTS_WAITING_BYTES_MAX", 3 * len(report(0)) + 1)
    await node.table()
    opened = await node.opened()
    for numbered in (range(5), range(5, 7)):
        for number in numbered:
            await node.reports.add(opened, T, report(number))
        await node.reports.flush()

    assert await numbers(node) == [6, 5, 4, 3, 2]
