"""Metalakes: whole or not at all, gone at once, and cleared away by any node."""

import asyncio
from typing import Any

import msgspec
import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.change_records import records_of
from headgate.catalog.changes import ChangeLog
from headgate.catalog.compiling import METALAKE_MARK, OWNER_MARK
from headgate.catalog.entities import MetalakeEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_catalogs import (
    NewCatalog,
    alter_catalog,
    create_catalog,
    drop_catalog,
    switch_catalog,
)
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.metalake_rounds import clear_metalakes
from headgate.catalog.metalakes import (
    HALF_MADE,
    Metalake,
    alter_metalake,
    create_metalake,
    drop_metalake,
    list_metalakes,
    switch_metalake,
)
from headgate.catalog.principals import USER, find_principal
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import (
    CatalogNotFound,
    HeadgateError,
    MetalakeExists,
    MetalakeInUse,
    MetalakeNotFound,
    MetalakeNotInUse,
    Unavailable,
)
from headgate.kernel.realms import DROPPED, DROPPED_BY, REALMS_KEY, RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import HALF_MADE_MS_MAX
from tests.unit.catalog.change_pages import since, told
from tests.unit.catalog.lakes import Node, World

ANN = Caller("ann")
SHOP = Call(CatalogName("shop", ""), ANN)


async def make(lake: Lake, call: Call = SHOP) -> Metalake:
    return await create_metalake(lake, call, "things", {"a": "1"})


async def names(lake: Lake) -> list[str]:
    return [one.realm.name for one in await list_metalakes(lake, ANN)]


async def test_whoever_creates_a_metalake_is_its_first_user_and_owns_it(node: Node) -> None:
    """Also where rights are not checked: they may be later."""
    made = await make(node.lake)
    opened = await node.lake.open_metalake(SHOP)

    creator = await find_principal(opened.principals, USER, "ann")
    assert creator is not None
    assert opened.root == made.entity
    assert (opened.root.owner, opened.root.created_by) == (creator.id, "ann")
    [root] = await opened.realm.heads("root")
    assert root.head.marks[OWNER_MARK] == creator.id
    assert (await root.get(root.head.marks[METALAKE_MARK], MetalakeEntity)) == made.entity


async def test_a_metalake_that_is_half_made_is_nowhere_to_be_seen(world: World) -> None:
    """Whatever step the maker stopped at; whoever asks for the name again gets it."""
    node = await world.node()
    realm = await node.kernel.realms.reserve("shop", {HALF_MADE: "ann"})
    for state in (RealmState.CREATED, RealmState.INITIALIZING):
        await node.kernel.realms.move(realm.id, state)
        assert await names(node.lake) == ["default"]
        for inactive in (False, True):
            with pytest.raises(MetalakeNotFound):
                await node.lake.open_metalake(SHOP, inactive=inactive)
    made = await make(node.lake)

    assert made.realm.id != realm.id
    assert await names(node.lake) == ["default", "shop"]


async def test_a_maker_whose_place_was_taken_is_told_so(world: World) -> None:
    """It may have been slow and not dead: then only one of both gets the metalake."""
    slow, quick = await world.node(), await world.node()
    realms = slow.kernel.realms
    realm = await realms.reserve("shop", {HALF_MADE: "bob"})
    await realms.set_up(realm)
    made = await make(quick.lake)

    with pytest.raises(HeadgateError):
        await slow.kernel.unserved.fill(realm.id, "root", lambda draft: draft.mark(OWNER_MARK, 1))
    with pytest.raises(HeadgateError):
        await realms.move(realm.id, RealmState.ACTIVE)
    assert [one.realm.id for one in await list_metalakes(slow.lake, ANN)][1:] == [made.realm.id]


async def test_of_many_who_make_the_same_metalake_one_does(world: World) -> None:
    """All others are told that it is there."""
    nodes = [await world.node() for _ in range(4)]
    results = await asyncio.gather(*(make(one.lake) for one in nodes), return_exceptions=True)

    made = [one for one in results if isinstance(one, Metalake)]
    assert len(made) == 1
    assert sum(isinstance(one, MetalakeExists) for one in results) == 3
    assert (await nodes[0].lake.open_metalake(SHOP)).root == made[0].entity


async def test_what_an_operator_began_is_left_to_it(node: Node) -> None:
    """`headgate realm activate` completes it."""
    await node.kernel.realms.reserve("shop")

    with pytest.raises(MetalakeExists):
        await make(node.lake)
    await clear_metalakes(node.kernel)
    assert (await node.kernel.realms.get("shop")).state is RealmState.CREATED


async def test_another_node_clears_away_what_was_never_finished(world: World) -> None:
    """After a while: before, its maker may just be slow."""
    node, other = await world.node(), await world.node()
    await node.kernel.realms.reserve("shop", {HALF_MADE: "ann"})
    await clear_metalakes(other.kernel)
    assert (await node.kernel.realms.get("shop")).state is RealmState.CREATED
    world.rig.clock.advance(HALF_MADE_MS_MAX + 1)
    await clear_metalakes(other.kernel)

    assert [one.name for one in await node.kernel.realms.list()] == ["default"]


async def test_a_dropped_metalake_is_cleared_away_by_any_node(world: World) -> None:
    """Its name is free before that, and the new one of the same name stays."""
    node, other = await world.node(), await world.node()
    first = await make(node.lake)
    assert await drop_metalake(node.lake, SHOP, force=True)
    assert not await drop_metalake(other.lake, SHOP, force=True)
    again = await make(other.lake)
    left = await node.kernel.realms.get(first.realm.id)
    assert (left.state, left.properties[DROPPED]) == (RealmState.INACTIVE, "shop")
    await asyncio.gather(clear_metalakes(node.kernel), clear_metalakes(other.kernel))

    assert [one.id for one in await node.kernel.realms.list()][1:] == [again.realm.id]


async def test_a_clearing_that_stopped_half_way_is_completed(node: Node) -> None:
    """It can stop before any of its steps."""
    for state in (RealmState.PURGING, RealmState.PURGED):
        made = await make(node.lake)
        await drop_metalake(node.lake, SHOP, force=True)
        await node.kernel.realms.move(made.realm.id, RealmState.PURGING)
        await node.kernel.realms.move(made.realm.id, state)
        await clear_metalakes(node.kernel)

        assert [one.name for one in await node.kernel.realms.list()] == ["default"]


@pytest.mark.parametrize("dropped", [False, True])
async def test_a_dropped_metalake_waits_until_its_files_are_deleted(
    node: Node, *, dropped: bool
) -> None:
    """Those of its catalogs, also of dropped ones: nobody else knows where they are."""
    await node.table()
    default = Call(CatalogName("default", "main"), ANN)
    if dropped:
        assert await drop_catalog(node.lake, await node.lake.open_metalake(default), force=True)
    await drop_metalake(node.lake, default, force=True)
    await clear_metalakes(node.kernel)

    [left] = await node.kernel.realms.list()
    assert left.state is RealmState.INACTIVE
    assert left.properties[DROPPED_BY] == "ann"


async def test_a_switch_is_seen_on_every_node_at_the_next_request(world: World) -> None:
    """Off and on."""
    node, other = await world.node(), await world.node()
    await make(node.lake)
    for on in (False, True):
        opened = await node.lake.open_metalake(SHOP, inactive=True)
        await switch_metalake(node.lake, opened, on=on)
        if on:
            await other.lake.open_metalake(SHOP)
        else:
            with pytest.raises(MetalakeNotInUse, match="not in use: shop: it was switched off"):
                await other.lake.open_metalake(SHOP)


async def test_a_rename_with_other_changes_is_told_as_two(node: Node) -> None:
    """They are kept in two places, and each has a log of its own."""
    await make(node.lake)
    cursor = await ChangeLog(node.kernel).now()
    opened = await node.lake.open_metalake(SHOP)
    await alter_metalake(node.lake, opened, lambda _: MetalakeEntity("other"), "store")

    assert told(await since(node.kernel, cursor)) == [
        ("rename", "metalake", ("shop",)),
        ("alter", "metalake", ("store",)),
    ]


async def test_a_rename_that_is_refused_changes_nothing(world: World) -> None:
    """Neither the name nor the rest."""
    node = await world.node()
    await make(node.lake)
    before = await world.state()
    opened = await node.lake.open_metalake(SHOP)
    with pytest.raises(MetalakeExists):
        await alter_metalake(node.lake, opened, lambda _: MetalakeEntity("other"), "default")

    assert await world.state() == before


async def test_all_that_is_done_to_a_metalake_is_in_the_log(node: Node) -> None:
    """With the name of who did it."""
    await make(node.lake)
    opened = await node.lake.open_metalake(SHOP)
    await alter_metalake(node.lake, opened, lambda old: old, "store")
    renamed = Call(CatalogName("store", ""), ANN)
    await drop_metalake(node.lake, renamed, force=True)
    commits = [commit async for commit in node.kernel.log.oldest_first(REALMS_KEY)]
    notes: list[Any] = [commit.groups[0].note for commit in commits]

    assert [(note["do"], note["name"]) for note in notes if "do" in note] == [
        ("rename", ["shop"]),
        ("drop", ["store"]),
    ]
    assert {note["by"] for note in notes if note.get("id") == opened.state.id and "by" in note} == {
        "ann"
    }


async def test_a_dropped_metalake_is_dropped_once_in_the_change_log(node: Node) -> None:
    """Clearing it away later is no change of anybody."""
    made = await make(node.lake)
    await drop_metalake(node.lake, SHOP, force=True)
    await clear_metalakes(node.kernel)
    commits = [commit async for commit in node.kernel.log.oldest_first(REALMS_KEY)]
    records = [
        (record.do, record.name)
        for commit in commits
        for realm, record in records_of(commit)
        if realm == made.realm.id
    ]

    assert records == [("create", ("shop",)), ("drop", ("shop",))]


async def test_a_store_that_fails_leaves_what_can_be_cleared_away(world: World) -> None:
    """Whatever it fails at, the next try succeeds."""
    node = await world.node()
    fill = node.kernel.unserved.fill
    failing = {"principals", "root"}

    async def fail(id: str, pointer: str, attempt: object) -> object:
        if pointer in failing:
            failing.remove(pointer)
            raise Unavailable("the store is away")
        return await fill(id, pointer, attempt)  # type: ignore[arg-type]

    node.kernel.unserved.fill = fail  # type: ignore[method-assign, assignment]
    for _ in range(2):
        with pytest.raises(Unavailable):
            await make(node.lake)
    await make(node.lake)

    assert await names(node.lake) == ["default", "shop"]
    assert len(await node.kernel.realms.list()) == 2


async def test_a_drop_that_comes_too_late_is_refused(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody switched it on, or took it away, after it was looked at."""
    await make(node.lake)
    opened = await node.lake.open_metalake(SHOP)
    await switch_metalake(node.lake, opened, on=False)
    stale = await node.lake.open_metalake(SHOP, inactive=True)
    await switch_metalake(node.lake, opened, on=True)

    async def as_it_was(_call: Call, *, inactive: bool = False) -> OpenedMetalake:
        return stale

    with monkeypatch.context() as patch:
        patch.setattr(node.lake, "open_metalake", as_it_was)
        with pytest.raises(MetalakeInUse):
            await drop_metalake(node.lake, SHOP)
        assert (await node.kernel.realms.get("shop")).state is RealmState.ACTIVE
        await node.kernel.realms.drop(stale.state.id)
        await clear_metalakes(node.kernel)
        assert not await drop_metalake(node.lake, SHOP)


async def test_a_metalake_that_was_dropped_meanwhile_stays_dropped(node: Node) -> None:
    """Who had looked at it before neither switches it on again nor gives it another name."""
    await make(node.lake)
    stale = await node.lake.open_metalake(SHOP)
    await drop_metalake(node.lake, SHOP, force=True)

    for on in (True, False):
        with pytest.raises(MetalakeNotFound):
            await switch_metalake(node.lake, stale, on=on)
    with pytest.raises(MetalakeNotFound):
        await alter_metalake(node.lake, stale, lambda old: old, "other")
    assert await names(node.lake) == ["default"]
    for name in ("shop", "other"):
        await make(node.lake, Call(CatalogName(name, ""), ANN))


async def test_a_catalog_that_was_made_anew_is_not_changed_by_an_old_call(node: Node) -> None:
    """Whoever might change the old one may not change the new one."""
    new = NewCatalog("files", "fileset", None, "", {})
    call = Call(CatalogName("default", "files"), ANN)
    await create_catalog(node.lake, await node.lake.open_metalake(call), CatalogPlaces(), new)
    stale = await node.lake.open_metalake(call)
    await drop_catalog(node.lake, stale, force=True)
    await create_catalog(node.lake, await node.lake.open_metalake(call), CatalogPlaces(), new)

    with pytest.raises(CatalogNotFound):
        await alter_catalog(node.lake, stale, lambda old: msgspec.structs.replace(old, comment="x"))
    with pytest.raises(CatalogNotFound):
        await switch_catalog(node.lake, stale, on=False)
    await drop_catalog(node.lake, stale, force=True)
    assert [one.name for one in await list_catalogs(node.kernel, "default")] == ["files", "main"]


async def test_switching_a_catalog_is_told_as_what_it_is(node: Node) -> None:
    """Once each time it makes a difference; other changes are others."""
    opened = await node.lake.open_metalake(Call(CatalogName("default", "main"), ANN))
    await alter_catalog(node.lake, opened, lambda old: msgspec.structs.replace(old, comment="x"))
    for on in (True, False, False, True):
        await switch_catalog(node.lake, opened, on=on)
    log = node.kernel.log.oldest_first(PointerKey(opened.realm.id, CATALOG_POINTER))
    told = [record.do async for commit in log for _, record in records_of(commit)]

    assert told[-3:] == ["alter", "disable", "enable"]
