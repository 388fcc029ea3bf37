"""Dropped catalogs: nothing in them is forgotten, whoever stops where."""

import asyncio

import pytest

from headgate.catalog.catalogs import create_catalog, list_catalogs
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import LOCATIONS, NAMES
from headgate.errors import LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.records import PointerKey
from headgate.limits import DRAIN_NAMES_PER_COMMIT
from headgate.purge import draining, emptying
from headgate.purge.draining import Draining
from tests.unit.catalog.dropping import HOUR_MS, drop
from tests.unit.catalog.lakes import METALAKE, Node, World
from tests.unit.purge.containers import (
    Stopped,
    drop_main,
    end_jobs,
    fill,
    jobs,
    keys,
    stop_after,
    tables,
    the_realm,
)


async def test_the_tables_of_a_dropped_catalog_become_jobs(node: Node) -> None:
    """Under their full names, by who dropped the catalog; all else just goes."""
    await fill(node)
    gone = await drop_main(node)
    left = await Draining(node.kernel).make_one()

    assert left
    assert await tables(node) == ["a.b.u", "a.t"]
    found = [(live.catalog_name, live.roots, live.job) for live in await jobs(node)]
    assert {(name, roots) for name, roots, _ in found} == {("main", gone.locations)}
    assert {(job.created_by, job.request) for *_, job in found} == {("ann", "r1")}
    assert {(job.not_before_ms, job.purger) for *_, job in found} == {(0, "async")}
    assert await keys(node, (await the_realm(node)).id, head_pointer(gone.id), NAMES) == []


async def test_a_place_is_free_when_the_last_job_has_ended(node: Node) -> None:
    """Not before, and then without a trace of the catalog."""
    await fill(node)
    gone, drain = await drop_main(node), Draining(node.kernel)
    again = CatalogEntity(0, "again", gone.warehouse, {})
    await drain.make_one()
    with pytest.raises(LocationTaken, match="was dropped"):
        await create_catalog(node.kernel, METALAKE, again)
    await end_jobs(node)

    assert not await drain.make_one()
    await create_catalog(node.kernel, METALAKE, again)
    realm = (await the_realm(node)).id
    assert await dropped_catalogs(node.kernel, realm) == []
    assert await keys(node, realm, head_pointer(gone.id), LOCATIONS) == []


async def test_what_is_purged_by_others_is_handed_to_them(node: Node) -> None:
    """As if each table had been dropped."""
    await node.table()
    await drop_main(node)
    await Draining(node.kernel, "auditing").make_one()

    assert [live.job.purger for live in await jobs(node)] == ["auditing"]


async def test_jobs_that_were_there_go_on_and_need_not_wait(node: Node) -> None:
    """Nobody can undo a drop in a catalog that is no more."""
    await node.table()
    await drop(node, grace_ms=HOUR_MS)
    await node.delete("namespaces/a")
    await drop_main(node)
    await Draining(node.kernel).make_one()

    [live] = await jobs(node)
    assert (str(live.job.table), live.job.begun) == ("a.t", True)


async def test_an_end_that_stops_half_way_is_completed(world: World, node: Node) -> None:
    """The last job is gone and the catalog is not: any server forgets it."""
    other = await world.node()
    await node.table()
    await drop_main(node)
    await Draining(node.kernel).make_one()
    await end_jobs(node)
    live = stop_after(node.kernel, 0)
    with pytest.raises(Stopped):
        await Draining(node.kernel).make_one()
    live()
    assert await Draining(other.kernel).make_one() is False

    assert await dropped_catalogs(node.kernel, (await the_realm(node)).id) == []


async def test_a_catalog_that_was_only_closed_is_forgotten(node: Node) -> None:
    """Whoever dropped it stopped then: its tables are purged in the name of that one."""
    await node.table()
    [main] = await list_catalogs(node.kernel, METALAKE)
    live = stop_after(node.kernel, 1)
    with pytest.raises(Stopped):
        await drop_main(node)
    live()
    assert await list_catalogs(node.kernel, METALAKE) == [main]
    await Draining(node.kernel).make_one()

    assert await list_catalogs(node.kernel, METALAKE) == []
    assert [(one.job.created_by, one.job.request) for one in await jobs(node)] == [("ann", "r1")]


async def test_what_an_older_program_closed_is_forgotten_too(node: Node) -> None:
    """It did not say who it was."""
    [main] = await list_catalogs(node.kernel, METALAKE)
    realm = await the_realm(node)
    await node.kernel.realm(realm.id).commit(head_pointer(main.id), Draft.seal)
    assert await Draining(node.kernel).make_one() is False

    assert await list_catalogs(node.kernel, METALAKE) == []
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "new", main.warehouse, {}))


async def test_what_is_in_use_is_left_alone(world: World, node: Node) -> None:
    """However often it is looked at, and whatever is done to it meanwhile."""
    drain = Draining(node.kernel)
    await node.table()
    for name in ("u", "v"):
        before = await world.state()
        assert await drain.make_one() is False
        assert await world.state() == before
        await node.table(name)


async def test_servers_that_drain_at_once_do_no_harm(world: World, node: Node) -> None:
    """Each table becomes one job, however many commits it takes."""
    others = [await world.node() for _ in range(2)]
    many = [f"t{number}" for number in range(DRAIN_NAMES_PER_COMMIT + 10)]
    await asyncio.gather(*(node.table(name) for name in many))
    gone = await drop_main(node)
    await asyncio.gather(*(Draining(one.kernel).make_one() for one in (node, *others)))

    assert await tables(node) == sorted(f"a.{name}" for name in many)
    realm = (await the_realm(node)).id
    assert await keys(node, realm, head_pointer(gone.id), NAMES) == []
    await end_jobs(node)
    await asyncio.gather(*(Draining(one.kernel).make_one() for one in (node, *others)))
    assert await dropped_catalogs(node.kernel, realm) == []


async def test_tables_are_moved_some_at_a_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit takes a few names, and no more jobs are live than are easily looked through."""
    monkeypatch.setattr(emptying, "DRAIN_NAMES_PER_COMMIT", 2)
    monkeypatch.setattr(draining, "DRAIN_JOBS_MAX", 4)
    for number in range(7):
        await node.table(f"t{number}")
    gone, drain = await drop_main(node), Draining(node.kernel)
    for expected in (5, 2, 0):
        assert await drain.make_one() is (expected > 0)
        assert len(await jobs(node)) == expected
        await end_jobs(node)

    realm = await the_realm(node)
    log = node.kernel.log.oldest_first(PointerKey(realm.id, head_pointer(gone.id)))
    taken = [
        sum(entry.index == NAMES and entry.kind == "removed" for entry in group.entries)
        async for one in log
        for group in one.groups
    ]
    assert max(taken) == 2


async def test_a_table_that_cannot_be_read_does_not_hold_up_the_others(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told of once, and neither it nor its namespace is forgotten."""
    for name in ("t", "u", "v"):
        await node.table(name)
    entry = (await node.opened()).look(
        lambda names: names.find(names.path(("a",))[0].id, b"t", "u")
    )
    lost = await entry
    assert lost is not None
    realm = await the_realm(node)
    gone, drain = await drop_main(node), Draining(node.kernel)
    await node.kernel.store.delete(realm.id, [lost.object])
    for _ in range(2):
        assert await drain.make_one()

    assert await tables(node) == ["a.t", "a.v"]
    assert len(await keys(node, realm.id, head_pointer(gone.id), NAMES)) == 2
    assert caplog.text.count("u in dropped catalog main stays") == 1
