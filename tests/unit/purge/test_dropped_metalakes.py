"""Dropped metalakes: they are gone when their last file is, whoever stops where."""

import shutil
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog, list_catalogs
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import looking_into
from headgate.catalog.metalakes import drop_metalake
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import LocationTaken, RealmNotActive, Unavailable
from headgate.kernel.realms import Realm
from headgate.purge.draining import Draining
from tests.unit.catalog.lakes import METALAKE, Node, World
from tests.unit.purge.containers import (
    ANN,
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


@pytest.mark.parametrize("whole", [False, True])
async def test_a_drop_that_stops_anywhere_is_completed_by_another_server(
    world: World, *, whole: bool
) -> None:
    """Of a catalog, or of its whole metalake: after each of its steps, up to the last."""
    node, other = await world.node(), await world.node()
    for steps in range(20):
        metalake = f"m{steps}" if whole else METALAKE
        if whole:
            await node.kernel.realms.create(metalake)
        warehouse = f"{world.folder.as_posix()}/{steps}"
        made = await create_catalog(
            node.kernel, metalake, CatalogEntity(0, f"c{steps}", warehouse, {})
        )
        catalog = f"{metalake}.{made.name}"
        await node.made("namespaces", {"namespace": ["a"]}, catalog=catalog)
        await node.made(
            "namespaces/a/tables",
            {"name": "t", "schema": {"type": "struct", "fields": []}},
            catalog=catalog,
        )
        realm = await node.kernel.realms.get(metalake)
        live = stop_after(node.kernel, steps)
        has_stopped = False
        try:
            if whole:
                await drop_metalake(node.lake, Call(CatalogName(metalake, ""), ANN), force=True)
            else:
                call = Call(CatalogName(metalake, made.name), ANN)
                await remove_catalog(node.kernel, realm, call, made, force=True)
            await Draining(node.kernel).make_one()
        except Stopped:
            has_stopped = True
        live()
        if not steps:
            continue  # nothing was done
        await Draining(other.kernel).make_one()

        [job] = [live for live in await jobs(other) if live.catalog == made.id]
        assert (job.job.created_by, job.roots) == ("ann", (warehouse,))
        await end_jobs(other)
        await Draining(other.kernel).make_one()
        assert await jobs(other) == []
        if whole:
            assert realm.id not in [one.id for one in await other.kernel.realms.list()]
        else:
            assert made not in await list_catalogs(other.kernel, metalake)
            assert await dropped_catalogs(other.kernel, realm.id) == []
        if not has_stopped:
            return
    pytest.fail("it never came to its end")


async def test_a_dropped_metalake_is_gone_when_its_last_file_is(node: Node) -> None:
    """All its catalogs are drained, and then it is cleared away."""
    await fill(node)
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "empty", "/empty", {}))
    realm = await the_realm(node)
    await drop_metalake(node.lake, Call(CatalogName(METALAKE, ""), ANN), force=True)
    drain = Draining(node.kernel)
    assert await drain.make_one()

    assert await tables(node) == ["a.b.u", "a.t"]
    assert {(one.metalake, one.job.created_by) for one in await jobs(node)} == {(METALAKE, "ann")}
    assert [one.id for one in await node.kernel.realms.list()] == [realm.id]
    await end_jobs(node)
    await drain.make_one()
    assert await node.kernel.realms.list() == []
    assert await drain.make_one() is False


@pytest.mark.parametrize("force", [False, True])
async def test_a_metalake_dropped_after_its_catalog_waits_for_the_files(
    node: Node, *, force: bool
) -> None:
    """The catalog was dropped by one and the metalake, which has none any more, by another."""
    await node.table()
    await drop_main(node)
    if not force:
        await node.kernel.realms.deactivate(METALAKE)
    bob = Call(CatalogName(METALAKE, ""), Caller("bob"))
    assert await drop_metalake(node.lake, bob, force=force)
    drain = Draining(node.kernel)
    await drain.make_one()

    assert [live.job.created_by for live in await jobs(node)] == ["ann"]
    await end_jobs(node)
    await drain.make_one()
    assert await node.kernel.realms.list() == []


async def test_the_places_of_a_dropped_metalake_are_taken_until_then(node: Node) -> None:
    """Whoever wants one is told that it was dropped, until a server drained it; while files are
    left there the place is nobody else's."""
    await node.table()
    await node.kernel.realms.create("other")
    [main] = await list_catalogs(node.kernel, METALAKE)
    again = CatalogEntity(0, "again", main.warehouse, {})
    await drop_metalake(node.lake, Call(CatalogName(METALAKE, ""), ANN), force=True)
    for _ in range(2):
        with pytest.raises(LocationTaken, match=r"catalog default\.main was dropped"):
            await create_catalog(node.kernel, "other", again)
        await Draining(node.kernel).make_one()
    await end_jobs(node)
    await Draining(node.kernel).make_one()
    with pytest.raises(LocationTaken, match="whose files may still be there"):
        await create_catalog(node.kernel, "other", again, looking_into(node.storage))
    shutil.rmtree(main.warehouse)
    Path(main.warehouse).mkdir()

    await create_catalog(node.kernel, "other", again, looking_into(node.storage))


async def test_what_is_switched_off_waits(node: Node) -> None:
    """Its dropped catalogs are drained when it is on again."""
    await node.table()
    await drop_main(node)
    await node.kernel.realms.deactivate(METALAKE)
    assert await Draining(node.kernel).make_one() is False
    assert await jobs(node) == []
    await node.kernel.realms.activate(METALAKE)
    await Draining(node.kernel).make_one()

    assert await tables(node) == ["a.t"]


async def test_a_metalake_that_is_switched_off_meanwhile_does_not_hold_up_others(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that fails in any other way."""
    await node.table()
    await drop_main(node)
    await node.kernel.realms.create("zzz")
    looked: list[str] = []

    async def failing(self: Draining, realm: Realm, *_: object) -> bool:
        looked.append(realm.name)
        raise RealmNotActive("it is off") if realm.name == METALAKE else LocationTaken("odd")

    with monkeypatch.context() as patch:
        patch.setattr(Draining, "_drain", failing)
        assert await Draining(node.kernel).make_one()

    assert looked == [METALAKE, "zzz"]


async def test_a_database_that_is_away_ends_the_round(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other metalakes are away with it: whoever calls tries again later."""
    monkeypatch.setattr(Draining, "_drain", AsyncMock(side_effect=Unavailable("away")))

    with pytest.raises(Unavailable):
        await Draining(node.kernel).make_one()


async def test_a_metalake_that_comes_back_has_what_was_not_closed(node: Node) -> None:
    """An operator activates it while it is drained: what serves nobody any more goes on going."""
    await node.table()
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "zoo", "/zoo", {}))
    realm = await the_realm(node)
    await drop_metalake(node.lake, Call(CatalogName(METALAKE, ""), ANN), force=True)
    live = stop_after(node.kernel, 2)  # one that tries whether the metalake is in use
    with pytest.raises(Stopped):
        await Draining(node.kernel).make_one()
    live()
    back = await node.kernel.realms.activate(realm.id)
    await Draining(node.kernel).make_one()

    assert [one.name for one in await list_catalogs(node.kernel, back.name)] == ["zoo"]
    assert await tables(node) == ["a.t"]
    assert await keys(node, realm.id, CATALOG_POINTER, "dropped") != []
